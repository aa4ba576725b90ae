"""The changes between two tables: rows that came or went, and each field that differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.schema import TEXT

COLUMNS = pa.schema(dict.fromkeys(("change", "id", "company_id", "name", "field", "before", "after"), TEXT))


def differences(old: pa.Table, new: pa.Table, words: Mapping[str, str]) -> pa.Table:
    """Return one row per change between two tables, ordered by row, then by field.

    Parameters
    ----------
    old, new : pyarrow.Table
        Rows with an `id` that is there once, `company_id`, `name`, and the fields to compare.
    words : mapping of str to str
        The fields, and the word for a change of each.

    Returns
    -------
    pyarrow.Table
        The columns `COLUMNS`: change ("added", "removed", or a word), id, company_id, name, field, before, after.
    """
    places = pc.index_in(old["id"], new["id"])
    known_before = old.filter(pc.is_valid(places))
    known_after = new.take(places.drop_null())
    found = [
        _rows("removed", old.filter(pc.is_null(places))),
        _rows("added", new.filter(pc.invert(pc.is_in(new["id"], old["id"])))),
    ]
    for field, word in words.items():
        before, after = known_before[field].cast(TEXT), known_after[field].cast(TEXT)
        # A null differs from a text and equals a null.
        differs = pc.fill_null(pc.not_equal(before, after), pc.xor(pc.is_null(before), pc.is_null(after)))
        change = pc.if_else(pc.equal(after, "false"), "unarchived", word) if field == "archived" else word
        found.append(_rows(change, known_after, field, before, after).filter(differs))
    changes = pa.concat_tables(found)
    order = pa.array([list(words).index(field) if field else -1 for field in changes["field"].to_pylist()], pa.int8())
    return changes.append_column("order", order).sort_by([("id", "ascending"), ("order", "ascending")]).drop("order")


def _rows(change: Any, about: pa.Table, field: str | None = None, before: Any = None, after: Any = None) -> pa.Table:
    """Return the rows of one kind of change; a single value is repeated for each row."""
    columns = [change, about["id"], about["company_id"], about["name"], field, before, after]
    return pa.table(
        [
            column if isinstance(column, pa.ChunkedArray) else pa.repeat(pa.scalar(column, TEXT), about.num_rows)
            for column in columns
        ],
        schema=COLUMNS,
    )
