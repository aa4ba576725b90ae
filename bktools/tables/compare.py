"""`compare_categories`: what changed between two snapshots."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.frames.schema import TEXT, to_arrow, to_pandas
from bktools.service import Service
from bktools.tables.load import Company, load_categories

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
        "category_id": TEXT,
        "company_id": TEXT,
        "name": TEXT,
        "field": TEXT,
        "before": TEXT,
        "after": TEXT,
    }
)

Moment = str | dt.date | dt.datetime


def compare_categories(
    before: Moment, after: Moment | None = None, *, company: Company = None, service: Service | None = None
) -> pd.DataFrame:
    """Return what changed in the categories between two snapshots.

    Parameters
    ----------
    before, after : str, date or datetime
        The newest snapshots at the end of these days (UTC) or at these instants; `after` is the newest load by default.
    company : str, UUID or iterable of them, optional
        As in `load_categories`.
    service : Service, optional
        By default the one the configuration describes.

    Returns
    -------
    DataFrame
        One row a change: change (added, removed, renamed, archived, unarchived, mapped, tax code, regrouped,
        metadata), category_id, company_id, name, field, before, after (text, null for none).

    Raises
    ------
    SnapshotNotFoundError
        When there is no snapshot of that time.
    ServiceError
        When the newest state has to be loaded and cannot be.

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
    old_rows = {row["id"]: row for row in to_arrow(old).to_pylist()}
    new_rows = {row["id"]: row for row in to_arrow(new).to_pylist()}
    rows: list[dict[str, Any]] = []
    for category_id in sorted(old_rows.keys() | new_rows.keys()):
        rows += _changes(old_rows.get(category_id), new_rows.get(category_id))
    provenance = {
        "environment": new.attrs["bktools"]["environment"],
        "before": old.attrs["bktools"]["fetched_at"],
        "after": new.attrs["bktools"]["fetched_at"],
        "rows": len(rows),
    }
    return to_pandas(pa.Table.from_pylist(rows, schema=COLUMNS), provenance)


def _changes(old: dict[str, Any] | None, new: dict[str, Any] | None) -> list[dict[str, Any]]:
    known = new or old
    assert known is not None
    about = {"category_id": known["id"], "company_id": known["company_id"], "name": known["name"]}
    if old is None or new is None:
        word = "added" if old is None else "removed"
        return [{"change": word, **about, "field": None, "before": None, "after": None}]
    found = []
    for field, word in CHANGES.items():
        if old[field] != new[field]:
            change = "unarchived" if field == "archived" and not new[field] else word
            found.append(
                {"change": change, **about, "field": field, "before": _text(old[field]), "after": _text(new[field])}
            )
    return found


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)
