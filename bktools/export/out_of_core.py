"""Composes a plan of entries that do not fit in memory, into a folder.

DuckDB decides, in little memory, over the columns that the checks read; the rows with all their columns stay in Arrow and go
to their places through files. The queries are those of a plan in memory, so that the plan is the same.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bktools import disk
from bktools.errors import StorageError
from bktools.export import checks, findings
from bktools.export.batches import batch_ids, batches_of
from bktools.export.plan import ExportOptions, ExportPlan, plan_digest
from bktools.export.plan_file import FRAMES, HEAD, head_bytes, head_of, plan_in, sha256_of
from bktools.export.selection import as_ids, as_mask, refuse_missing, selected
from bktools.export.stored import GROUP, StoredTable
from bktools.export.tables import arrow_of, chosen, numbered, opened, readable, typed
from bktools.frames.cluster import is_spark, native
from bktools.frames.engine import engine_on_disk, pieces, repeated_digests
from bktools.frames.names import in_reading_order, with_names
from bktools.frames.schema import TEXT

# Memory for DuckDB; Arrow and Python take about as much besides.
MEMORY = "500MB"
# Rows read at a time, and rows sorted at a time.
PIECE, BUCKET = 131_072, 262_144
# Number of amounts whose medians are computed at a time.
AMOUNTS = 1_000_000
PLACE = "place in the plan"
PACKED = pa.ipc.IpcWriteOptions(compression="lz4")

Pieces: TypeAlias = Callable[[], Iterator[pa.Table]]
Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]


def composed_to(
    folder: Path,
    entries: Any,
    selection: Any,
    frames: Mapping[str, Any],
    asked: Mapping[str, Any],
    size: int,
    options: ExportOptions,
    about: Mapping[str, Any],
) -> ExportPlan:
    """Compose a plan into a new folder; the arguments are those of `compose_export_jobs`, checked.

    The folder is complete or missing, and only its owner can read it.
    """
    if folder.exists():
        raise StorageError(f"{folder} exists already: choose another folder for the plan, or remove it first")
    with disk.storage_errors(folder):
        work = disk.private_folder(disk.temporary(folder.absolute().parent))
        try:
            for part in ("plan", "tables", "buckets"):
                disk.private_folder(work / part)
            head = _compose(work, _read(_in_files(entries, work), selection), frames, asked, size, options, about)
            disk.replace(work / "plan", folder)
            disk.folder_to_disk(folder.absolute().parent)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return plan_in(folder, head)


def _in_files(entries: Any, work: Path) -> Any:
    """Return entries, those of a cluster as Parquet that the cluster writes; it must share the folder."""
    if not is_spark(entries):
        return entries
    native(entries).write.parquet(str(work / "source"))
    return work / "source"


def _read(entries: Any, selection: Any) -> Pieces:
    """Return a function that yields the selected entries, typed, with their line numbers."""
    found = opened(entries, "entries")
    if isinstance(found, pa.Table):
        rows = selected(typed(found, "entries"), selection, entries)
        return lambda: pieces(rows, PIECE)
    # A mask is refused, because the rows of a file have no order.
    as_mask(selection, entries)
    wanted = None if selection is None else as_ids(selection)

    def read() -> Iterator[pa.Table]:
        first = 1
        with readable(entries, "entries"):
            for piece in pieces(found, PIECE):
                rows = typed(piece, "entries")
                rows = rows if "line" in rows.column_names else numbered(rows, "line", first=first)
                first += len(rows)
                yield rows if wanted is None else rows.filter(pc.is_in(pc.ascii_lower(rows["id"]), value_set=wanted))

    if wanted is not None:
        known = [pc.unique(pc.ascii_lower(rows["id"])).cast(TEXT) for rows in read()]
        refuse_missing(wanted, pa.chunked_array(known, TEXT))
    return read


def _compose(
    work: Path,
    read: Pieces,
    frames: Mapping[str, Any],
    asked: Mapping[str, Any],
    size: int,
    options: ExportOptions,
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the files of a plan, and return the content of its plan.json."""
    known = {name: frame for name, frame in frames.items() if frame is not None}
    given = {name: arrow_of(frame, name) for name, frame in known.items() if name != "history"}

    def prepared() -> Iterator[pa.Table]:
        return (findings.prepared(rows, given) for rows in read())

    def named(rows: pa.Table) -> pa.Table:
        rows = with_names(rows, **given)
        return rows.select(in_reading_order(rows.column_names))

    plan, names = work / "plan", findings.names_of(next(prepared()), known, asked)
    with engine_on_disk("compose_export_jobs", work / "tables", memory=MEMORY) as connection, findings.unknown_types():
        for name, table in {**given, "currencies": findings.CURRENCIES}.items():
            connection.register(name, table)
        if "history" in known:
            rows = pieces(opened(known["history"], "history"), PIECE)
            _fill(connection, "history", (chosen(piece, "history") for piece in rows))
        connection.execute(checks.MACROS)

        def decide(name: str, query_of: Callable[[set[str]], str]) -> None:
            query, values = findings.query_of_checks(query_of, names, given.get("accounts"), asked)
            if f"({checks.USUAL})" in query:
                _add_usual(connection)
                query = query.replace(f"({checks.USUAL})", "usual_amounts")
            # The order of the rows of a table is that of the query.
            connection.execute(f"CREATE TABLE {name} AS {query}", values)

        _load(connection, prepared, findings.read_columns)
        decide("decided", checks.reasons_query)
        batches = _write_batches(connection, prepared, named, size, options, work)
        _write_held(connection, prepared, named, work)
        entries, held = (StoredTable(plan / f"{name}.parquet") for name in ("entries", "not_ready"))

        def composed() -> Iterator[pa.Table]:
            yield from entries.pieces()
            for rows in held.pieces():
                yield rows.append_column("batch_id", pa.nulls(len(rows), TEXT))

        def stored() -> Iterator[pa.Table]:
            return map(findings.without_added, composed())

        _load(connection, stored, lambda rows, first: findings.with_texts(findings.read_columns(rows, first), rows))
        decide("found", checks.findings_query)
        _write_findings(connection, composed, work)
    head = head_of(
        {f"{name}.parquet": sha256_of(plan / f"{name}.parquet") for name in (*FRAMES, "findings")},
        options=options,
        plan_id=plan_digest(batches.column("batch_id").to_pylist(), options),
        unchecked=list(checks.unchecked(names)),
        made_for="",
        made_by="",
        **about,
    )
    disk.replace_content(plan / HEAD, head_bytes(head))
    return head


def _load(
    connection: duckdb.DuckDBPyConnection, rows: Pieces, read_columns: Callable[[pa.Table, int], pa.Table]
) -> None:
    """Make the tables that the queries of the checks read: entries, suspects, contents."""
    _fill(connection, "entries", _counted(rows, read_columns))
    connection.register("repeated", repeated_digests(connection, "entries", "id"))
    connection.execute("CREATE OR REPLACE TABLE suspects AS FROM entries SEMI JOIN repeated ON hash(id) = digest")
    places = np.sort(_rows(connection, "suspects"))
    _fill(connection, "contents", (_among(piece, places) for piece in _counted(rows, findings.contents)))


def _add_usual(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the table of what is usual in each category, some categories at a time."""
    (count,) = connection.table("entries").count("*").fetchall()[0]
    for part, query in enumerate(checks.usual_queries(1 + count // AMOUNTS)):
        connection.execute(f"{'INSERT INTO usual_amounts' if part else 'CREATE TABLE usual_amounts AS'} {query}")


def _counted(rows: Pieces, columns_of: Callable[[pa.Table, int], pa.Table]) -> Iterator[pa.Table]:
    first = 0
    for piece in rows():
        yield columns_of(piece, first)
        first += len(piece)


def _among(rows: pa.Table, places: Numbers) -> pa.Table:
    first = rows["row"][0].as_py() if len(rows) else 0
    begin, end = np.searchsorted(places, [first, first + len(rows)])
    return rows.take(pa.array(places[begin:end] - first))


def _fill(connection: duckdb.DuckDBPyConnection, name: str, rows: Iterable[pa.Table]) -> None:
    """Make a table of rows in parts, of which there is at least one."""
    parts = iter(rows)
    first = next(parts)
    batches = (batch for part in itertools.chain([first], parts) for batch in part.to_batches())
    connection.register("parts", pa.RecordBatchReader.from_batches(first.schema, batches))
    connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM parts")
    connection.unregister("parts")


def _write_batches(
    connection: duckdb.DuckDBPyConnection,
    rows: Pieces,
    named: Callable[[pa.Table], pa.Table],
    size: int,
    options: ExportOptions,
    work: Path,
) -> pa.Table:
    """Write the ready entries with their batches, and the batches; return the batches."""
    order = _rows(connection, "decided WHERE reason IS NULL")
    batches: list[pa.Table] = []

    def composed() -> Iterator[pa.Table]:
        for ready in _whole_batches(_in_order(rows(), order, work / "buckets"), size):
            whole = ready.append_column("batch_id", batch_ids(ready, size, options))
            batches.append(batches_of(whole))
            yield named(whole)

    _write(work / "plan" / "entries.parquet", composed())
    _write(work / "plan" / "batches.parquet", batches)
    return pa.concat_tables(batches)


def _whole_batches(ready: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """Yield entries in the order of sending so that no batch is in two tables; at least one table."""
    left: pa.Table | None = None
    for more in ready:
        rows = more if left is None else pa.concat_tables([left, more])
        company = rows["company_id"][-1] if len(rows) else None
        # The last company may go on in the next table, so only its full batches are complete.
        ends_here = len(rows) - pc.sum(pc.equal(rows["company_id"], company)).as_py() if len(rows) else 0
        whole = ends_here + (len(rows) - ends_here) // size * size
        if whole:
            yield rows.slice(0, whole)
        left = rows.slice(whole)
    assert left is not None
    yield left


def _write_held(
    connection: duckdb.DuckDBPyConnection, rows: Pieces, named: Callable[[pa.Table], pa.Table], work: Path
) -> None:
    """Write the entries that are not ready with reason and message, by company, date and ID."""
    # The day of an entry decides, and its time is shown in order.
    has_times = any(field.name == "date" and pa.types.is_timestamp(field.type) for field in next(rows()).schema)
    if has_times:
        times = _counted(rows, lambda piece, first: numbered(piece.select(["date"]), "row", first=first))
        _fill(connection, "times", times)
    joined, date = ("JOIN times USING (row)", "date") if has_times else ("", "day")
    connection.execute(
        f"CREATE TABLE held AS SELECT row, reason, message FROM decided JOIN entries USING (row) {joined} "
        f"WHERE reason IS NOT NULL ORDER BY company_id, {date}, id, line, row"
    )
    order = _rows(connection, "held")

    def composed() -> Iterator[pa.Table]:
        begin = 0
        for held in _in_order(rows(), order, work / "buckets"):
            told = _slice(connection, "reason, message", "held", begin, len(held))
            begin += len(held)
            with_reason = held.append_column("reason", told["reason"].cast(TEXT))
            yield named(with_reason.append_column("message", told["message"].cast(TEXT)))

    _write(work / "plan" / "not_ready.parquet", composed())


def _write_findings(connection: duckdb.DuckDBPyConnection, composed: Pieces, work: Path) -> None:
    """Write the findings, most severe first, each with the named columns of its entry."""
    order = _rows(connection, "found")

    def told() -> Iterator[pa.Table]:
        begin = 0
        shown = (piece.select(findings.named(piece.column_names)) for piece in composed())
        for entries in _in_order(shown, order, work / "buckets"):
            found = _slice(connection, "place, about, message, to_do", "found", begin, len(entries))
            begin += len(entries)
            yield findings.findings_table(found, entries)

    _write(work / "plan" / "findings.parquet", told())


def _rows(connection: duckdb.DuckDBPyConnection, table: str) -> Numbers:
    # 32 bits take half of the memory of 64.
    return np.asarray(connection.execute(f"SELECT row::INTEGER AS row FROM {table}").fetchnumpy()["row"])


def _slice(connection: duckdb.DuckDBPyConnection, columns: str, table: str, begin: int, count: int) -> pa.Table:
    return connection.sql(
        f"SELECT {columns} FROM {table} WHERE rowid >= {begin} AND rowid < {begin + count} ORDER BY rowid"
    ).to_arrow_table()


def _in_order(rows: Iterable[pa.Table], order: Numbers, folder: Path) -> Iterator[pa.Table]:
    """Yield rows in an order, some at a time, through one file for each part; at least one table.

    Parameters
    ----------
    rows : iterable of pyarrow.Table
        Rows in parts.
    order : array
        The number of the row at each place; a row may have several places, or none.
    folder : path
        A folder for the files.
    """
    places = np.argsort(order, kind="stable").astype(np.int32)
    wanted = order[places]
    files: dict[int, pa.ipc.RecordBatchStreamWriter] = {}
    first = 0
    with contextlib.ExitStack() as opened_files:
        for piece in rows:
            empty = piece.slice(0, 0)
            begin, end = np.searchsorted(wanted, [first, first + len(piece)])
            targets = places[begin:end]
            for bucket in np.unique(targets // BUCKET).tolist():
                mine = targets // BUCKET == bucket
                part = piece.take(pa.array(wanted[begin:end][mine] - first))
                part = pa.table(
                    [*part.columns, pa.array(targets[mine])], schema=part.schema.append(pa.field(PLACE, pa.int32()))
                )
                if bucket not in files:
                    file = opened_files.enter_context(disk.exclusive(folder / f"{bucket}.arrow"))
                    files[bucket] = opened_files.enter_context(pa.ipc.new_stream(file, part.schema, options=PACKED))
                files[bucket].write_table(part)
            first += len(piece)
    if not files:
        yield empty
    for bucket in sorted(files):
        path = folder / f"{bucket}.arrow"
        with pa.OSFile(str(path)) as file:
            table = pa.ipc.open_stream(file).read_all()
        path.unlink()
        yield table.take(pc.sort_indices(table[PLACE])).drop_columns([PLACE])


def _write(path: Path, tables: Iterable[pa.Table]) -> None:
    """Write tables to a Parquet file that only you can read."""
    with disk.exclusive(path) as file, contextlib.ExitStack() as closing:
        writer: pq.ParquetWriter | None = None
        for table in tables:
            if writer is None:
                writer = closing.enter_context(pq.ParquetWriter(file, table.schema, compression="zstd"))
            writer.write_table(table, row_group_size=GROUP)
        closing.close()
        disk.to_disk(file)
