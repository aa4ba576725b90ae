"""The columns in which entries and postings are compared, written alike on both sides, and their digests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.frames import schema
from bktools.frames.codes import counted
from bktools.frames.engine import repeated_digests
from bktools.ledger.inputs import Inputs, has_values

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Digests: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

# Odd numbers, whose bits are evenly distributed, by which digests are multiplied.
MULTIPLIER, LAST_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
# The longer side of a step is first cut down to the rows that may agree, where it is so many times as long.
MANY_TIMES = 8

# An entry ID in a document number or a text.
ENTRY_ID = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
LENGTH_OF_AN_ID = 36
# The currency of postings that have none; that of entries without one is another.
UNKNOWN_CURRENCY = "??"

# Postings with the document number of an entry in their text, but not as their own. A short number, or a word without a
# digit, may be anything.
DOCUMENTS_IN_TEXTS = r"""
SELECT no, min(word) AS word FROM (
    SELECT no, unnest(string_split_regex(lower(text), '[\s,;()]+')) AS word FROM ledger_texts
    WHERE coalesce(document, '') NOT IN (SELECT document FROM entries WHERE document IS NOT NULL)
) SEMI JOIN entries ON word = document
WHERE strlen(word) >= 4 AND regexp_matches(word, '[0-9]')
GROUP BY no
"""
# Postings that name an entry by its ID, in the document number or the text.
NAMED_IDS = f"""
SELECT no, lower(regexp_extract(concat_ws(' ', document, text), '{ENTRY_ID}')) AS word FROM ledger_texts
WHERE strlen(document) >= {LENGTH_OF_AN_ID} OR strlen(text) >= {LENGTH_OF_AN_ID}
"""


def comparable(connection: duckdb.DuckDBPyConnection, inputs: Inputs) -> tuple[pa.Table, pa.Table]:
    """Return the columns of entries and postings that are compared; the connection has both by these names.

    Both have the number of the row (`no`), account, amount, currency, date and document, and the entry's ID: a posting
    has the one that it names. Entries have their batch and line, postings their voucher. A column that only one side has
    is the same in every row.

    Raises
    ------
    InputError
        When an entry is there more than once.
    """
    entries = _alike(inputs, inputs.exported, "?") | {
        "id": pc.ascii_lower(pc.ascii_trim_whitespace(inputs.exported.column("entry_id"))),
        "batch": _distinct(inputs.exported, "batch_id", _trimmed),
    }
    if has_values(inputs.exported, "split_line"):
        entries["split_line"] = inputs.exported.column("split_line")
    postings = _alike(inputs, inputs.ledger, UNKNOWN_CURRENCY) | {
        "voucher": _text(inputs.ledger, "voucher_id", _trimmed)
    }
    connection.register("entries", pa.table(entries))
    _refuse_repeated(connection, *(["split_line"] if "split_line" in entries else []), "id")
    texts = {"no": postings["no"], "document": postings["document"], "text": _text(inputs.ledger, "text")}
    connection.register("ledger_texts", pa.table(texts))
    connection.execute(f"CREATE TABLE named AS {NAMED_IDS}")
    # Entries are searched only where a posting may have an ID.
    has_ids = connection.execute("SELECT count(*) > 0 FROM named").fetchall()[0][0]
    ids = connection.execute(f"FROM named {'SEMI JOIN entries ON word = id' if has_ids else ''}").fetchnumpy()
    postings["id"] = _at(ids, len(inputs.ledger))
    if has_values(inputs.exported, "document_number") and has_values(inputs.ledger, "text"):
        words = connection.execute(DOCUMENTS_IN_TEXTS).fetchnumpy()
        postings["document"] = pc.coalesce(_at(words, len(inputs.ledger)), postings["document"])
    connection.register("postings", pa.table(postings))
    return pa.table(entries), pa.table(postings)


def _alike(inputs: Inputs, table: pa.Table, unknown_currency: str) -> dict[str, Any]:
    """Return the columns that both sides have. Two unknown currencies are not the same one."""
    count = len(table)

    def currencies(texts: pa.Array) -> pa.Array:
        return pc.fill_null(pc.utf8_upper(_trimmed(texts)), unknown_currency)

    columns = {"no": pa.array(np.arange(count))}
    for name, source, change in (("account", "account_code", _trimmed), ("currency", "currency", currencies)):
        is_compared = source in inputs.compared
        columns[name] = _distinct(table, source, change) if is_compared else _repeated("", schema.TEXT, count)
    has_amounts = has_values(table, "amount")
    columns["amount"] = table.column("amount") if has_amounts else pa.nulls(count, inputs.money)
    columns["date"] = table.column("date") if "date" in inputs.compared else _repeated(0, schema.DATE, count)
    columns["document"] = _text(table, "document_number", lambda texts: pc.utf8_lower(_trimmed(texts)))
    return columns


def _repeated(value: object, kind: pa.DataType, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), count)


def _text(table: pa.Table, name: str, change: Callable[..., Any] = lambda texts: texts) -> Any:
    """Return a column of texts, changed; null where the table lacks it."""
    return change(table.column(name)) if has_values(table, name) else pa.nulls(len(table), schema.TEXT)


def _distinct(table: pa.Table, name: str, change: Callable[[pa.Array], pa.Array]) -> Any:
    """Return a column of texts that repeat: each text is changed, and later compared, once."""
    # Older pyarrow makes no empty array with a dictionary.
    if not len(table) or not has_values(table, name):
        return pa.nulls(len(table), schema.TEXT)
    encoded = table.column(name).combine_chunks()
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    texts = change(encoded.dictionary)
    if texts.null_count or len(texts.unique()) < len(texts) or encoded.null_count:
        return change(encoded.cast(schema.TEXT)).dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices, texts)


def _trimmed(texts: Any) -> Any:
    """Return texts without spaces around them; null where nothing is left."""
    texts = pc.ascii_trim_whitespace(texts)
    is_empty = pc.equal(pc.binary_length(texts), 0)
    return pc.if_else(is_empty, None, texts) if pc.any(is_empty).as_py() else texts


def _at(words: Mapping[str, Any], count: int) -> pa.Array:
    """Return a column with the words of some rows, null for the others."""
    rows = np.full(count, -1)
    rows[words["no"]] = np.arange(len(words["no"]))
    return pa.array(list(words["word"]), schema.TEXT).take(pa.array(rows, mask=rows < 0))


def _refuse_repeated(connection: duckdb.DuckDBPyConnection, *key: str) -> None:
    """Refuse entries that are there twice; of a split entry each line is there once."""
    if not len(repeated_digests(connection, "entries", *key)):
        return
    query = f"SELECT id FROM entries GROUP BY {', '.join(key)} HAVING count(*) > 1 ORDER BY id"
    repeated = connection.execute(query).fetchall()
    if repeated:
        raise InputError(
            f"has {counted(len(repeated), 'entry', 'entries')} more than once, such as"
            f" {repeated[0][0]}: give each entry once",
            source="exported",
        )


@dataclass(frozen=True)
class Keys:
    """Some rows by number, with a digest of the columns that must agree, and days: 0 where they need not agree."""

    rows: Numbers
    digests: Digests
    days: Numbers

    def only(self, wanted: Flags) -> Keys:
        """Return some of the rows."""
        return self if wanted.all() else Keys(self.rows[wanted], self.digests[wanted], self.days[wanted])

    def on(self, offset: int) -> Digests:
        """Return digests with the days, some days earlier; two's complement wraps around."""
        return self.digests + (self.days - offset).astype(np.uint64) * MULTIPLIER

    def cut(self, other_side: Keys) -> Keys:
        """Return the rows that may agree with one of the other side, if this side is much longer."""
        if len(other_side.rows) * MANY_TIMES >= len(self.rows):
            return self
        return self.only(pc.is_in(pa.array(self.digests), pa.array(other_side.digests)).to_numpy(zero_copy_only=False))


class Rows:
    """Rows of one side, such as the postings that no entry has yet; digests of their columns are computed once.

    Parameters
    ----------
    connection : DuckDBPyConnection
        Its `hash` gives the digests of texts.
    table : pyarrow.Table
        Columns as `comparable` returns them.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: pa.Table) -> None:
        self.table, self._connection = table, connection
        self._digests: dict[str, tuple[Digests, Flags]] = {}

    def __len__(self) -> int:
        return len(self.table)

    def numbers(self) -> Numbers:
        """Return the numbers of the rows in their whole table."""
        numbers: Numbers = self.table.column("no").to_numpy()
        return numbers

    def has(self, name: str) -> Flags:
        """Return for each row whether it has a value in a column."""
        return self._of(name)[1]

    def has_any(self, name: str) -> bool:
        """Return whether any row has a value in a column."""
        return bool(self.table.column(name).null_count < len(self))

    def some(self, wanted: Numbers, *names: str) -> dict[str, list[Any]]:
        """Return columns of the rows with these numbers, each as a list."""
        table = self.table.select(names)
        is_wanted = pc.is_in(self.table.column("no"), pa.array(wanted)) if len(wanted) else None
        columns: dict[str, list[Any]] = (table[:0] if is_wanted is None else table.filter(is_wanted)).to_pydict()
        return columns

    def keys(self, names: Sequence[str], wanted: Flags | None = None) -> Keys:
        """Return the keys of the rows that have a value in each of the columns, and are wanted."""
        chosen = np.ones(len(self), bool) if wanted is None else wanted
        digests, days = np.zeros(len(self), np.uint64), np.zeros(len(self), np.int64)
        for name in names:
            values, is_there = self._of(name)
            chosen = chosen & is_there
            if name == "date":
                days = values.astype(np.int64)
            else:
                digests = digests * MULTIPLIER + values
        return Keys(self.numbers(), digests, days).only(chosen)

    def _of(self, name: str) -> tuple[Digests, Flags]:
        if name not in self._digests:
            column = self.table.column({"size": "amount", "is_credit": "amount", "month": "date"}.get(name, name))
            column = column.combine_chunks()
            is_there = column.is_valid().to_numpy(zero_copy_only=False)
            self._digests[name] = self._digested(name, column), is_there
        return self._digests[name]

    def _digested(self, name: str, column: pa.Array) -> Digests:
        """Return a number a value, the same one for equal values; that of a null has no meaning."""
        digests: Digests
        if pa.types.is_dictionary(column.type):
            values = np.append(self._digested(name, column.dictionary), np.uint64(0))
            digests = values[pc.fill_null(column.indices, len(column.dictionary)).to_numpy()]
        elif pa.types.is_decimal(column.type):
            digests = _of_amounts(name, column)
        elif pa.types.is_date(column.type):
            days = pc.fill_null(column.cast(pa.int32()), 0).to_numpy()
            is_month = name == "month"
            digests = (days.astype("datetime64[D]").astype("datetime64[M]") if is_month else days).astype(np.uint64)
        else:
            self._connection.register("hashed", pa.table({"text": column}))
            hashes = self._connection.execute("SELECT hash(text) AS digest FROM hashed").fetchnumpy()
            digests = np.asarray(hashes["digest"])
        return digests


def _of_amounts(name: str, column: pa.Array) -> Digests:
    """Return digests of amounts, or of their size; for "is_credit" whether they are below zero."""
    # The two halves of each number in two's complement, the lower one first.
    halves = np.frombuffer(column.buffers()[1] or b"", np.uint64).reshape(-1, 2)
    low, high = halves[column.offset : column.offset + len(column)].T
    is_credit = high >> np.uint64(63)
    if name == "size":
        # A number below zero is negated: all bits change, and one is added.
        low, high = np.where(is_credit, [-low, ~high + (low == 0)], [low, high])
    digests: Digests = is_credit if name == "is_credit" else (low + high * MULTIPLIER) * LAST_MULTIPLIER
    return digests
