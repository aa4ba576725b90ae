"""The columns in which entries and postings are compared, written alike on both sides, and their digests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.frames import schema
from bktools.frames.engine import repeated_digests
from bktools.ledger.inputs import Inputs, has_values
from bktools.wording.numbers import counted

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

# An entry ID in a document number or a text.
ENTRY_ID = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
LENGTH_OF_AN_ID = 36
# The currency of postings that have none; that of entries without one is another.
UNKNOWN_CURRENCY = "??"

# Postings with the document number of an entry in their text, but not as their own. A short number, or a word without a
# digit, may be anything.
DOCUMENTS_IN_TEXTS = r"""
SELECT no, min(word) AS word FROM (
    SELECT no, unnest(string_split_regex(lower(text), '[\s,;()]+')) AS word FROM postings
    WHERE coalesce(document, '') NOT IN (SELECT document FROM entries WHERE document IS NOT NULL)
) SEMI JOIN entries ON word = document
WHERE strlen(word) >= 4 AND regexp_matches(word, '[0-9]')
GROUP BY no
"""
# Postings that name an entry by its ID, in the document number or the text.
NAMED_IDS = f"""
SELECT no, lower(regexp_extract(concat_ws(' ', document, text), '{ENTRY_ID}')) AS word FROM postings
WHERE strlen(document) >= {LENGTH_OF_AN_ID} OR strlen(text) >= {LENGTH_OF_AN_ID}
"""


@dataclass(frozen=True)
class Sides(Inputs):
    """The frames, and the columns in which their rows are compared.

    Both sides have the number of the row (`no`), account, amount, currency, date, document and text, and the entry's ID:
    a posting has the one that it names. Entries have their batch and line, postings their voucher. A column that only
    one side has is the same in every row.
    """

    entries: pa.Table
    postings: pa.Table


def comparable(connection: duckdb.DuckDBPyConnection, inputs: Inputs) -> Sides:
    """Return the frames with the columns in which they are compared; the connection has entries and postings."""
    texts = [_text(inputs.exported, name) for name in ("supplier", "description")]
    entries = _alike(inputs, inputs.exported, "?") | {
        "id": pc.ascii_lower(pc.ascii_trim_whitespace(inputs.exported.column("entry_id"))),
        "batch": _text(inputs.exported, "batch_id", _trimmed),
        "text": pc.binary_join_element_wise(*texts, pa.scalar(" ", schema.TEXT), null_handling="replace"),
    }
    if has_values(inputs.exported, "split_line"):
        entries["split_line"] = inputs.exported.column("split_line")
    postings = _alike(inputs, inputs.ledger, UNKNOWN_CURRENCY) | {
        "voucher": _text(inputs.ledger, "voucher_id", _trimmed),
        "text": _text(inputs.ledger, "text"),
    }
    connection.register("entries", pa.table(entries))
    _refuse_repeated(connection, *(["split_line"] if "split_line" in entries else []), "id")
    connection.register("postings", pa.table(postings))
    connection.execute(f"CREATE TABLE named AS {NAMED_IDS}")
    # Entries are searched only where a posting may have an ID.
    has_ids = connection.execute("SELECT count(*) > 0 FROM named").fetchall()[0][0]
    ids = connection.execute(f"FROM named {'SEMI JOIN entries ON word = id' if has_ids else ''}").fetchnumpy()
    postings["id"] = _at(ids, len(inputs.ledger))
    if has_values(inputs.exported, "document_number") and has_values(inputs.ledger, "text"):
        words = connection.execute(DOCUMENTS_IN_TEXTS).fetchnumpy()
        postings["document"] = pc.coalesce(_at(words, len(inputs.ledger)), postings["document"])
    connection.register("postings", pa.table(postings))
    return Sides(**vars(inputs), entries=pa.table(entries), postings=pa.table(postings))


def _alike(inputs: Inputs, table: pa.Table, unknown_currency: str) -> dict[str, Any]:
    """Return the columns that both sides have. Two unknown currencies are not the same one."""
    count = len(table)
    columns = {"no": pa.array(np.arange(count))}
    for name, source in (("account", "account_code"), ("currency", "currency")):
        is_compared = source in inputs.compared
        columns[name] = _text(table, source, _trimmed) if is_compared else _repeated("", schema.TEXT, count)
    if "currency" in inputs.compared:
        columns["currency"] = pc.fill_null(pc.utf8_upper(columns["currency"]), unknown_currency)
    has_amounts = has_values(table, "amount")
    columns["amount"] = table.column("amount") if has_amounts else pa.nulls(count, inputs.money)
    columns["date"] = table.column("date") if "date" in inputs.compared else _repeated(0, schema.DATE, count)
    columns["document"] = _text(table, "document_number", lambda texts: pc.utf8_lower(_trimmed(texts)))
    columns["account_name"] = _text(table, "account_name", lambda texts: pc.cast(texts, schema.TEXT))
    return columns


def _repeated(value: object, kind: pa.DataType, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), count)


def _text(table: pa.Table, name: str, change: Callable[..., Any] = lambda texts: texts) -> Any:
    """Return a column of texts, changed; null where the table lacks it."""
    return change(table.column(name)) if has_values(table, name) else pa.nulls(len(table), schema.TEXT)


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
