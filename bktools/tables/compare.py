"""`compare_categories`: the changes between two snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.schema import TEXT, Moment, to_arrow, to_pandas
from bktools.service import Service
from bktools.tables.load import load_categories
from bktools.tables.read import Company

# Field and the word for its change.
CHANGES = {
    "name": "renamed",
    "archived": "archived",
    "account_id": "mapped",
    "tax_code_id": "tax code",
    "category_group_id": "regrouped",
    "metadata": "metadata",
}

COLUMNS = pa.schema(
    {
        "change": TEXT,
        "id": TEXT,
        "company_id": TEXT,
        "name": TEXT,
        "field": TEXT,
        "before": TEXT,
        "after": TEXT,
    }
)


def compare_categories(
    before: Moment, after: Moment | None = None, *, company: Company = None, service: Service | None = None
) -> pd.DataFrame:
    """Return the changes of categories between two snapshots.

    Parameters
    ----------
    before, after : str, date, datetime or Period
        The newest snapshots at the end of these days (UTC) or at these instants. Default for `after`: the current
        categories.
    company : str, UUID or iterable of them, optional
        As in `load_categories`.
    service : Service, optional
        Default: the configured one.

    Returns
    -------
    DataFrame
        One row per change: change (added, removed, renamed, archived, unarchived, mapped, tax code, regrouped,
        metadata), category_id, company_id, name, field, before, after (text, null for none).

    Raises
    ------
    SnapshotNotFoundError
        When there is no snapshot up to that time.
    ServiceError
        When the current categories must be loaded and the service does not return them.

    Notes
    -----
    Bookkeeping categories: interface, section 2.1. Only snapshots taken here can be compared.

    Examples
    --------
    >>> import bktools, datetime
    >>> with bktools.Sandbox() as service:
    ...     loaded = bktools.load_categories(service=service)
    ...     moment = datetime.datetime.now(datetime.UTC)
    ...     len(bktools.compare_categories(moment, service=service))
    0
    """
    old = load_categories(company, as_of=before, service=service)
    new = load_categories(company, as_of=after, service=service)
    changes = differences(to_arrow(old), to_arrow(new), CHANGES).rename_columns({"id": "category_id"})
    provenance = {
        "environment": new.attrs["bktools"]["environment"],
        "before": old.attrs["bktools"]["fetched_at"],
        "after": new.attrs["bktools"]["fetched_at"],
        "rows": changes.num_rows,
    }
    return to_pandas(changes, provenance)


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
        before, after = _text(known_before[field]), _text(known_after[field])
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


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(TEXT)
