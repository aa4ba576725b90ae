"""Snapshots shared as Delta tables: one table for each noun, and the table `snapshots`, which lists them.

Delta keeps the two promises. A commit is one object that is created only if it does not exist, so a snapshot is there
completely or not at all, and simultaneous publishers lose nothing. Each commit also carries a number of its publisher:
of two commits with the same number, one fails, so no snapshot is published twice.

Rows are committed before the line that lists them. Publishing after a kill in between adds only the missing line.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools import disk
from bktools.caller import install_command
from bktools.errors import ArgumentError, ConfigurationError, StorageError
from bktools.settings import SANDBOX, Settings
from bktools.store.folder import FolderStore
from bktools.store.history import History, Query, Snapshot
from bktools.visible import visible_line

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

log = logging.getLogger("bktools")

LIST = "snapshots"

# The same types as in frames, which this room does not import.
_TEXT = pa.large_string()
_INSTANT = pa.timestamp("us", tz="UTC")

# Columns before those of the noun.
ORIGIN = pa.schema(
    [
        pa.field("environment", _TEXT),
        pa.field("service", _TEXT),
        pa.field("filters", _TEXT),
        pa.field("fetched_at", _INSTANT),
        pa.field("snapshot", _TEXT),
    ]
)
LISTED = pa.schema(
    [
        *ORIGIN,
        pa.field("table", _TEXT),
        pa.field("company_id", _TEXT),
        pa.field("rows", pa.int64()),
        pa.field("complete", pa.bool_()),
        pa.field("verified", pa.list_(_TEXT)),
        pa.field("complaints", pa.list_(_TEXT)),
        pa.field("content", _TEXT),
    ]
)

# Times that other processes of this cache folder may publish first, and times that other publishers may commit first.
ATTEMPTS = 20
COMMITS = 100

# Rows of a part of a file that can be read without the others.
ROWS_IN_A_PART = 16_384

_SECRET_NAME = re.compile("key|secret|token|password|credential|sas", re.IGNORECASE)
_CLOUDS = ("AWS_", "AZURE_", "GOOGLE_")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m|↳")


@dataclass(frozen=True)
class Published:
    """What was published of one noun: its table and address, the new snapshots and their rows, and the earlier ones."""

    table: str
    snapshots: int
    rows: int
    already_there: int
    uri: str


@dataclass(frozen=True)
class _Item:
    """A snapshot with the query of its rows, and its id in the shared tables."""

    id: str
    query: Query
    snapshot: Snapshot


class DeltaStore:
    """Snapshots of one service in Delta tables, on object storage or in a folder.

    Parameters
    ----------
    settings : Settings
        The environment. Unlike a `FolderStore`, the tables are shared by all who can read them.
    uri : str
        Folder of the tables, such as s3://bucket/prefix, or a path.
    storage_options : mapping, optional
        Options of the object storage, as `deltalake` takes them. Default: from the environment, such as AWS_REGION.
    """

    def __init__(self, settings: Settings, uri: str, storage_options: Mapping[str, str] | None = None) -> None:
        self._settings = settings
        self._uri = uri.rstrip("/")
        self._options = dict(storage_options or {})
        # Opened once for all reads.
        self._tables: dict[str, DeltaTable | None] = {}

    def publish(self, store: FolderStore) -> list[Published]:
        """Append the snapshots of a store that are not there yet; return the result for each noun.

        Raises
        ------
        ArgumentError
            When the tables hold snapshots of the sandbox and the store holds those of a service, or the reverse.
        StorageError
            When the storage refuses, or a snapshot is damaged. What was committed before stays.
        """
        items = [
            _Item(_id(self._settings, query, snapshot), query, snapshot)
            for query in store.queries()
            for snapshot in store.history(query).snapshots
        ]
        items.sort(key=lambda item: (_table(item.query), item.snapshot.time))
        return [
            self._repeated(functools.partial(self._publish, table, list(found), store))
            for table, found in groupby(items, key=lambda item: _table(item.query))
        ]

    def history(self, query: Query) -> History:
        """Return the published snapshots of a query, by the time they were fetched."""
        found = self._listed.get((_table(query), query.narrowed_to.get("company_id"), _filters(query)), ())
        return History(query if found else None, tuple(found))

    def read(self, query: Query, snapshot: Snapshot) -> Iterator[pa.Table]:
        """Yield the rows of a published snapshot in portions; raise `StorageError` unless all of them are there."""
        count = 0
        if snapshot.rows:
            with self._errors():
                name = _table(query)
                if name not in self._tables:
                    self._tables[name] = self._open(name)
                table = self._tables[name]
                # The time leaves out other files, and other parts of a file, without reading them.
                is_of = (pc.field("fetched_at") == _instant(snapshot)) & (
                    pc.field("snapshot") == _id(self._settings, query, snapshot)
                )
                for batch in () if table is None else table.to_pyarrow_dataset().to_batches(filter=is_of):
                    count += batch.num_rows
                    yield pa.Table.from_batches([batch]).drop_columns(ORIGIN.names)
        if count != snapshot.rows:
            raise StorageError(
                f"the snapshot of {snapshot.fetched_at} in {self._uri} has {count} rows instead of {snapshot.rows}: the "
                "table was changed after it was published"
            )

    @cached_property
    def _listed(self) -> dict[tuple[str, str | None, str], list[Snapshot]]:
        """The published snapshots of this service by table, company and filters, read once for a load."""
        found: dict[tuple[str, str | None, str], list[Snapshot]] = {}
        with self._errors():
            table = self._open(LIST)
            rows = [] if table is None else _rows(table, pc.field("service") == self._settings.identity).to_pylist()
        for row in sorted(rows, key=lambda row: row["fetched_at"]):
            snapshot = Snapshot(
                fetched_at=row["fetched_at"].isoformat(),
                rows=row["rows"],
                verified=tuple(row["verified"]),
                complaints=tuple(row["complaints"]),
                file=row["content"],
            )
            found.setdefault((row["table"], row["company_id"], row["filters"]), []).append(snapshot)
        return found

    def _publish(self, noun: str, items: Sequence[_Item], store: FolderStore) -> Published:
        lines = self._opened(LIST, LISTED)
        listed = _rows(lines, None, ["snapshot", "service"])
        self._refuse_mixed(listed["service"].to_pylist())
        known = set(listed["snapshot"].to_pylist())
        # Read first, so that a damaged snapshot is an error before anything is written.
        pending = [item for item in items if item.id not in known and _is_whole(item, store)]
        if pending:
            self._append_rows(noun, [item for item in pending if item.snapshot.rows], store)
            self._append(lines, self._lines(pending).to_reader(), store.publisher)
        rows = sum(item.snapshot.rows for item in pending)
        log.info("%s published to %s: snapshots %d, rows %d", noun, self._uri, len(pending), rows)
        return Published(noun, len(pending), rows, len(items) - len(pending), f"{self._uri}/{noun}")

    def _append_rows(self, noun: str, items: Sequence[_Item], store: FolderStore) -> None:
        if not items:
            return
        columns = next(store.read(items[0].query, items[0].snapshot)).schema
        schema = pa.schema([*ORIGIN, *(field.with_nullable(nullable=True) for field in columns)])
        table = self._opened(noun, schema)
        # A publisher that was killed may have committed the rows without listing them.
        is_recent = pc.field("fetched_at") >= _instant(items[0].snapshot)
        is_there = is_recent & pc.field("snapshot").isin([item.id for item in items])
        there = set(_rows(table, is_there, ["snapshot"])["snapshot"].to_pylist())
        missing = [item for item in items if item.id not in there]
        if missing:
            batches = (batch for item in missing for batch in self._batches(item, schema, store))
            self._append(table, pa.RecordBatchReader.from_batches(schema, batches), store.publisher)

    def _batches(self, item: _Item, schema: pa.Schema, store: FolderStore) -> Iterator[pa.RecordBatch]:
        origin = self._origin(item)
        for rows in store.read(item.query, item.snapshot):
            fixed = [pa.repeat(pa.scalar(origin[field.name], field.type), rows.num_rows) for field in ORIGIN]
            yield from pa.table([*fixed, *rows.columns], schema=schema).to_batches()

    def _lines(self, items: Iterable[_Item]) -> pa.Table:
        return pa.Table.from_pylist(
            [
                self._origin(item)
                | {
                    "table": _table(item.query),
                    "company_id": item.query.narrowed_to.get("company_id"),
                    "rows": item.snapshot.rows,
                    "complete": item.snapshot.complete,
                    "verified": item.snapshot.verified,
                    "complaints": item.snapshot.complaints,
                    "content": item.snapshot.file,
                }
                for item in items
            ],
            LISTED,
        )

    def _origin(self, item: _Item) -> dict[str, Any]:
        return {
            "environment": self._settings.environment,
            "service": self._settings.identity,
            "filters": _filters(item.query),
            "fetched_at": item.snapshot.time,
            "snapshot": item.id,
        }

    def _append(self, table: DeltaTable, rows: pa.RecordBatchReader, publisher: str) -> None:
        deltalake = _deltalake()
        number = (table.transaction_version(publisher) or 0) + 1
        properties: CommitProperties = deltalake.CommitProperties(
            app_transactions=[deltalake.Transaction(publisher, number)], max_commit_retries=COMMITS
        )
        parts = deltalake.WriterProperties(compression="ZSTD", max_row_group_size=ROWS_IN_A_PART)
        deltalake.write_deltalake(
            table, rows, mode="append", schema_mode="merge", commit_properties=properties, writer_properties=parts
        )

    def _refuse_mixed(self, listed: Iterable[str]) -> None:
        services = {*listed, self._settings.identity}
        if SANDBOX in services and len(services) > 1:
            raise ArgumentError(
                "uri", "must be another one for the sandbox: nobody should find its data beside real books", self._uri
            )

    def _open(self, name: str) -> DeltaTable | None:
        deltalake = _deltalake()
        try:
            found: DeltaTable = deltalake.DeltaTable(f"{self._uri}/{name}", storage_options=self._options or None)
        except deltalake.exceptions.TableNotFoundError:
            return None
        return found

    def _opened(self, name: str, schema: pa.Schema) -> DeltaTable:
        """Return a table, created when it is missing."""
        found = self._open(name)
        if found is not None:
            return found
        if "://" not in self._uri:
            disk.private_folder(Path(self._uri))
        deltalake = _deltalake()
        created: DeltaTable = deltalake.DeltaTable.create(
            f"{self._uri}/{name}",
            schema=deltalake.Schema.from_arrow(schema),
            mode="ignore",
            storage_options=self._options or None,
        )
        return created

    def _repeated(self, publish: Callable[[], Published]) -> Published:
        """Publish again from the start while other processes commit first."""
        failed = _deltalake().exceptions.CommitFailedError
        with self._errors():
            for _ in range(ATTEMPTS - 1):
                try:
                    return publish()
                except failed as error:
                    log.info("another process published to %s first (%s): looking again", self._uri, _one_line(error))
            return publish()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of the storage into one line without credentials."""
        deltalake = _deltalake()
        try:
            yield
        except (deltalake.exceptions.DeltaError, pa.ArrowException, OSError) as error:
            if isinstance(error, StorageError):
                raise
            raise StorageError(
                f"the shared snapshots in {self._uri} cannot be used: {self._told(error)}; is the address right, and are "
                "the credentials of the storage set?"
            ) from None

    def _told(self, error: Exception) -> str:
        given = [
            *self._options.items(),
            *((name, text) for name, text in os.environ.items() if name.startswith(_CLOUDS)),
        ]
        text = _one_line(error)
        for name, secret in given:
            if _SECRET_NAME.search(name) and secret:
                text = text.replace(secret, "…")
        return text


def _id(settings: Settings, query: Query, snapshot: Snapshot) -> str:
    """Return the id of a snapshot in shared tables: made of what they tell anyway, so it reveals nothing else."""
    parts = [settings.identity, query.canonical(), snapshot.time.isoformat(), snapshot.file]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _table(query: Query) -> str:
    return query.operation.removeprefix("search_")


def _filters(query: Query) -> str:
    """Return the filters besides the company as JSON; {} for the whole table."""
    return json.dumps(
        {name: value for name, value in query.narrowed_to.items() if name != "company_id"}, sort_keys=True
    )


def _instant(snapshot: Snapshot) -> pa.Scalar:
    return pa.scalar(snapshot.time, _INSTANT)


def _is_whole(item: _Item, store: FolderStore) -> bool:
    """Return True for a snapshot that can be read, False for one that was pruned meanwhile; raise for a damaged one."""
    try:
        sum(rows.num_rows for rows in store.read(item.query, item.snapshot))
    except StorageError:
        if item.snapshot in store.history(item.query).snapshots:
            raise
        return False
    return True


def _rows(table: DeltaTable, wanted: pc.Expression | None, columns: Sequence[str] | None = None) -> pa.Table:
    return table.to_pyarrow_dataset().to_table(filter=wanted, columns=columns)


def _one_line(error: Exception) -> str:
    return visible_line(" ".join(_COLOURS.sub(" ", str(error)).split()))


def _deltalake() -> Any:
    try:
        import deltalake
    except ImportError as error:
        raise ConfigurationError(
            f"shared snapshots need the package deltalake ({error}): {install_command('delta')}"
        ) from error
    return deltalake
