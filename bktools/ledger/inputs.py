"""The two frames of a match as Arrow tables, checked, and the SQL that gives both the same columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import ArgumentError, InputError
from bktools.frames import schema
from bktools.frames.engine import scannable

# States of a batch whose entries may be in the ledger; entries of other batches were not sent, or refused.
SENT = ("ACCEPTED", "UNKNOWN", "SENDING")

# The type of each column that is used, by frame. A column of nulls alone fits every type.
TEXTS = ("entry_id", "batch_id", "company_id", "state", "account_code", "currency", "supplier", "description")
USED: Mapping[str, Mapping[str, str]] = {
    "exported": dict.fromkeys((*TEXTS, "document_number"), "text") | {"date": "a date", "amount": "an exact number"},
    "ledger": dict.fromkeys(("account_code", "currency", "text", "document_number", "voucher_id"), "text")
    | {"date": "a date", "amount": "an exact number"},
}
IS_KIND: Mapping[str, Callable[[pa.DataType], bool]] = {
    "text": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind),
    "a date": lambda kind: pa.types.is_date(kind) or pa.types.is_timestamp(kind),
    "an exact number": lambda kind: pa.types.is_decimal(kind) or pa.types.is_integer(kind),
}

# The columns whose texts are compared.
TEXTS_OF = {"exported": ("supplier", "description"), "ledger": ("text",)}

# An entry ID in a document number or a text.
ENTRY_ID = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
LENGTH_OF_AN_ID = 36
LONGEST_AMOUNT = 38


@dataclass(frozen=True)
class Inputs:
    """The frames as they are matched.

    Attributes
    ----------
    exported : pyarrow.Table
        The entries that may be in the ledger, with `entry_id` and all their other columns.
    ledger : pyarrow.Table
        The postings, with all their columns.
    unchecked : tuple of str
        What is not compared, and why.
    compared : frozenset of str
        The columns that both frames have.
    rows : dict
        By side, "entries" and "postings", the columns of its view, with the number of the row.
    """

    exported: pa.Table
    ledger: pa.Table
    unchecked: tuple[str, ...]
    compared: frozenset[str]
    rows: dict[str, pa.Table] = field(default_factory=dict)

    @property
    def money(self) -> pa.DataType:
        """The type of the amounts on both sides."""
        return self.ledger.schema.field("amount").type

    def texts(self, side: str, places: Iterable[int]) -> dict[int, str | None]:
        """Return the text of rows of one side, "exported" or "ledger", by their places."""
        table = self.exported if side == "exported" else self.ledger
        names = [name for name in TEXTS_OF[side] if _has(table, name)]
        wanted = list(places)
        columns = [table.column(name).take(pa.array(wanted, schema.COUNT)).to_pylist() for name in names]
        rows = zip(*columns, strict=True) if columns else ((),) * len(wanted)
        return {place: " ".join(filter(None, row)) or None for place, row in zip(wanted, rows, strict=True)}


def read(exported: Any, ledger: Any) -> Inputs:
    """Return both frames as Arrow tables; raise when one cannot be matched."""
    entries, postings = _table(exported, "exported"), _table(ledger, "ledger")
    if "entry_id" not in entries.column_names and "id" in entries.column_names:
        names = ["entry_id" if name == "id" else name for name in entries.column_names]
        entries = entries.rename_columns(names)
    for name, table, needed in (
        ("exported", entries, ["entry_id"]),
        ("ledger", postings, ["account_code", "date", "amount"]),
    ):
        missing = [column for column in needed if column not in table.column_names]
        if missing:
            source = "load_export_jobs(entries=True)" if name == "exported" else "read_general_ledger"
            raise InputError(
                f"needs the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}: give it as {source} returns it",
                source=name,
            )
    entries, postings = _in_one_scale(_typed(entries, "exported"), _typed(postings, "ledger"))
    for name, table, column in (
        ("exported", entries, "entry_id"),
        *(("ledger", postings, column) for column in ("account_code", "date", "amount")),
    ):
        gaps = table.column(column).null_count
        if gaps:
            raise InputError(f"column {column} is empty in {gaps:,} row{'s' if gaps > 1 else ''}: fill it", source=name)
    entries, left_out = _sent(entries)
    _refuse_companies(entries)
    compared = frozenset(name for name in postings.column_names if _has(entries, name) and _has(postings, name))
    return Inputs(entries, postings, (*_not_compared(entries, postings), *left_out), compared)


def _table(frame: Any, name: str) -> pa.Table:
    if frame is None:
        raise ArgumentError(name, "must be a frame: give an empty one if there are no rows")
    table: Any = scannable(frame, name)
    table = schema.plain(table if isinstance(table, pa.Table) else table.to_table(), name)
    # Arrow takes no rows of the texts of Polars.
    return table.cast(pa.schema([field.with_type(_plainer(field.type)) for field in table.schema]))


def _plainer(kind: pa.DataType) -> pa.DataType:
    return schema.TEXT if pa.types.is_string_view(kind) else kind


def _typed(table: pa.Table, name: str) -> pa.Table:
    """Return a table with one type for all texts and dates that are used; raise where a type is of no use."""
    for column, wanted in USED[name].items():
        if column not in table.column_names:
            continue
        place = table.column_names.index(column)
        kind = table.schema.field(column).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if not (pa.types.is_null(kind) or IS_KIND[wanted](kind)):
            why = " (a number has lost its leading zeros)" if wanted == "text" and pa.types.is_integer(kind) else ""
            raise InputError(f"column {column} must be {wanted}, is {kind}{why}", source=name)
        if wanted == "a date":
            table = table.set_column(place, column, pc.cast(table.column(place), schema.DATE, safe=False))
        elif wanted == "text":
            table = table.set_column(place, column, pc.cast(table.column(place), schema.TEXT))
    return table


def _in_one_scale(*tables: pa.Table) -> Iterator[pa.Table]:
    """Yield the tables with the decimals of the finest amount: Arrow compares no others exactly."""
    kinds = [table.schema.field("amount").type for table in tables if "amount" in table.column_names]
    scale = max((getattr(kind, "scale", 0) for kind in kinds), default=0)
    for name, table in zip(USED, tables, strict=True):
        if "amount" not in table.column_names:
            yield table
            continue
        place = table.column_names.index("amount")
        try:
            amounts = pc.cast(table.column(place), pa.decimal128(LONGEST_AMOUNT, scale))
        except pa.ArrowInvalid:
            raise InputError(
                f"column amount has more than {LONGEST_AMOUNT - scale} digits before the decimal mark", source=name
            ) from None
        yield table.set_column(place, "amount", amounts)


def _sent(entries: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return the entries that may have been booked, and a phrase about the others."""
    if "state" not in entries.column_names:
        return entries, []
    was_sent = pc.is_in(entries.column("state"), pa.array([*SENT, None], schema.TEXT))
    others = entries.filter(pc.invert(was_sent))
    states = ", ".join(sorted(set(others.column("state").to_pylist())))
    return entries.filter(was_sent), [
        f"{len(others):,} entries of batches that were not sent ({states})"
    ] if states else []


def _refuse_companies(entries: pa.Table) -> None:
    if "company_id" in entries.column_names:
        companies = pc.unique(entries.column("company_id").drop_null())
        count = len(pc.unique(pc.ascii_lower(companies)))
        if count > 1:
            raise ArgumentError(
                "exported", f"holds {count} companies and a ledger is of one: give the entries of one company"
            )


def _not_compared(entries: pa.Table, postings: pa.Table) -> list[str]:
    needed = {"account_code": "accounts", "date": "dates", "amount": "amounts", "currency": "currencies"}
    phrases = [
        f"{noun}: {name} {column}"
        for column, noun in needed.items()
        for name, table in (("the exported entries have no", entries), ("the ledger has no", postings))
        if not _has(table, column)
    ]
    if not (_has(entries, "description") or _has(entries, "supplier")):
        phrases.append("texts: the exported entries have no description and no supplier")
    if not _has(postings, "text"):
        phrases.append("texts: the ledger has no text")
    if not _has(postings, "voucher_id"):
        phrases.append("net and tax in several postings: the ledger has no voucher_id")
    return phrases


def show(connection: duckdb.DuckDBPyConnection, inputs: Inputs) -> None:
    """Make the views `entries` and `postings`, with the columns that are matched: SQL of them is the same for both.

    Raises
    ------
    InputError
        When an entry is given more than once.
    """
    used = [name for name in (*USED["exported"], "split_line") if _has(inputs.exported, name)]
    inputs.rows["entries"] = _numbered(inputs.exported.select(used))
    connection.register("exported_rows", inputs.rows["entries"])
    connection.execute(f"CREATE VIEW entries AS {view_of(inputs, 'entries', 'exported_rows')}")
    _refuse_repeated(
        connection,
        "entry_id" if _is_plain(inputs.exported.column("entry_id")) else "id",
        are_split=_has(inputs.exported, "split_line")
        and schema.number_of_entries(inputs.exported) < len(inputs.exported),
    )
    used = [name for name in USED["ledger"] if _has(inputs.ledger, name)]
    ledger = _numbered(inputs.ledger.select(used))
    connection.register("given_ledger", ledger)
    connection.execute(f"CREATE TABLE named AS {_named(inputs)}")
    # Entries are searched only where a posting has what may be an ID.
    has_ids = connection.execute("SELECT count(*) > 0 FROM named").fetchall()[0][0]
    ids = connection.execute(f"FROM named {'SEMI JOIN entries ON word = id' if has_ids else ''}").fetchnumpy()
    documents = connection.execute(_in_texts(inputs)).fetchnumpy()
    for name, found in (("named", ids), ("word", documents)):
        ledger = ledger.append_column(name, _spread(found, len(ledger)))
    inputs.rows["postings"] = ledger
    connection.register("ledger_rows", ledger)
    connection.execute(f"CREATE VIEW postings AS {view_of(inputs, 'postings', 'ledger_rows')}")


def view_of(inputs: Inputs, side: str, rows: str) -> str:
    """Return the query of the columns that are matched, for all rows of a side or for some of them."""
    return f"SELECT {columns_of(inputs, side)} FROM {rows}"


def columns_of(inputs: Inputs, side: str, prefix: str = "") -> str:
    """Return the SQL of the columns that are matched; a column that is not compared is constant.

    Parameters
    ----------
    inputs : Inputs
        The frames.
    side : str
        "entries" or "postings".
    prefix : str
        Of the names of the columns that are read, and of those that are returned.
    """
    is_entries = side == "entries"
    table = inputs.exported if is_entries else inputs.ledger

    def text(name: str) -> str:
        return f"nullif(trim({prefix}{name}), '')" if _has(table, name) else "NULL::VARCHAR"

    # An unknown currency is not even that of another unknown one.
    unknown = "?" if is_entries else "??"
    compared = {
        "account": ("account_code", text("account_code"), "''"),
        "currency": ("currency", f"coalesce(upper({text('currency')}), '{unknown}')", "''"),
        "date": ("date", f"{prefix}date", "DATE '1970-01-01'"),
    }
    columns = {
        "no": f"{prefix}no",
        "amount": f"{prefix}amount" if _has(table, "amount") else f"NULL::DECIMAL(38, {inputs.money.scale})",
        **{name: value if source in inputs.compared else same for name, (source, value, same) in compared.items()},
        "id": f"lower(trim({prefix}entry_id))" if is_entries else f"{prefix}named",
        "document": f"lower({text('document_number')})",
    }
    if is_entries:
        columns["batch"] = text("batch_id")
        if _has(table, "split_line"):
            columns["split_line"] = f"{prefix}split_line"
    else:
        columns["document"] = f"coalesce({prefix}word, {columns['document']})"
        columns["voucher"] = text("voucher_id")
    return ", ".join(f"{value} AS {prefix}{name}" for name, value in columns.items())


def _numbered(table: pa.Table) -> pa.Table:
    """Return a table with the numbers of its rows; texts that repeat are compared once, as a dictionary."""
    for name in ("account_code", "currency"):
        if name in table.column_names:
            place = table.column_names.index(name)
            table = table.set_column(place, name, pc.dictionary_encode(table.column(place)))
    return table.append_column("no", pa.array(np.arange(len(table))))


def _spread(found: Mapping[str, Any], count: int) -> pa.Array:
    """Return a column with the texts that were found for some rows, null for the others."""
    places = np.full(count, -1)
    places[found["no"]] = np.arange(len(found["no"]))
    return pa.array(list(found["word"]), schema.TEXT).take(pa.array(places, mask=places < 0))


def _is_plain(texts: pa.ChunkedArray) -> bool:
    """Whether texts have no capital letter and no space, as IDs of the service; so they need not be made comparable."""
    for chunk in texts.chunks:
        content = np.frombuffer(chunk.buffers()[2] or b"", np.uint8)
        # Bytes of the capitals of other alphabets are above those of all ASCII characters.
        if ((content <= ord(" ")) | (content > ord("~")) | ((content >= ord("A")) & (content <= ord("Z")))).any():
            return False
    return True


def _refuse_repeated(connection: duckdb.DuckDBPyConnection, column: str, *, are_split: bool) -> None:
    """Refuse entries that are given twice; of a split entry each line is given once."""
    by = f"{column}, split_line" if are_split else column
    # Sorting digests takes a fraction of the time of counting texts.
    source = "entries" if column == "id" else "exported_rows"
    digests = np.sort(connection.execute(f"SELECT hash({by}) AS digest FROM {source}").fetchnumpy()["digest"])
    if not (digests[1:] == digests[:-1]).any():
        return
    by = by.replace("entry_id", "id")
    repeated = connection.execute(f"SELECT id FROM entries GROUP BY {by} HAVING count(*) > 1 ORDER BY id").fetchall()
    if repeated:
        raise InputError(
            f"has {len(repeated):,} entr{'y' if len(repeated) == 1 else 'ies'} more than once, such as"
            f" {repeated[0][0]}: give each entry once",
            source="exported",
        )


def _named(inputs: Inputs) -> str:
    """Return the query of the postings that may name an entry by its ID, in the document number or the text."""
    names = [name for name in ("document_number", "text") if _has(inputs.ledger, name)]
    is_long = " OR ".join(f"strlen({name}) >= {LENGTH_OF_AN_ID}" for name in names) or "false"
    texts = f"concat_ws(' ', {', '.join(names)})" if names else "''"
    return f"SELECT no, lower(regexp_extract({texts}, '{ENTRY_ID}')) AS word FROM given_ledger WHERE {is_long}"


def _in_texts(inputs: Inputs) -> str:
    """Return the query of the postings with the document number of an entry in their text, but not as their own."""
    if not (_has(inputs.exported, "document_number") and _has(inputs.ledger, "text")):
        return "SELECT 0 AS no, '' AS word WHERE false"
    own = "lower(trim(document_number))" if _has(inputs.ledger, "document_number") else "''"
    # A short number, or a word without a digit, may be anything.
    return f"""
        SELECT no, min(word) AS word FROM (
            SELECT no, unnest(string_split_regex(lower(text), '[\\s,;()]+')) AS word FROM given_ledger
            WHERE coalesce({own}, '') NOT IN (SELECT document FROM entries WHERE document IS NOT NULL)
        ) SEMI JOIN entries ON word = document
        WHERE strlen(word) >= 4 AND regexp_matches(word, '[0-9]')
        GROUP BY no
    """


def _has(table: pa.Table, name: str) -> bool:
    """Whether a table has a column with a value; the journal has all columns, empty where nothing was kept."""
    return name in table.column_names and (not len(table) or table.column(name).null_count < len(table))
