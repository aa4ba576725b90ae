"""`compose_export_jobs`: from a selection of entries to a plan."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.errors import InputError
from bktools.export.plan import ExportOptions, ExportPlan, batch_digest, plan_digest
from bktools.export.readiness import MESSAGES, unchecked, with_reason
from bktools.export.selection import selected
from bktools.frames.engine import collect, lazy_frames
from bktools.frames.schema import to_arrow, to_pandas

REQUIRED = ("id", "company_id")
NEEDED = {
    "categories": ("id", "company_id", "archived", "account_id"),
    "accounts": ("id", "archived"),
    "employees": ("id",),
    "history": ("entry_id", "state"),
}


def compose_export_jobs(
    entries: pd.DataFrame,
    *,
    selection: Any = None,
    categories: pd.DataFrame | None = None,
    accounts: pd.DataFrame | None = None,
    employees: pd.DataFrame | None = None,
    history: pd.DataFrame | None = None,
    company: str | None = None,
    max_entries: int = 500,
    employee_id: str | None = None,
    is_interactive: bool = True,
    vendor_based_bookkeeping: bool = False,
) -> ExportPlan:
    """Return a plan of export jobs from a selection of accounting entries. Nothing is sent or written.

    Parameters
    ----------
    entries : DataFrame
        As `read_entries` returns it: id and company_id, and what it has of date, amount, currency, category_id,
        employee_id, approved.
    selection : DataFrame, Series or list, optional
        A filtered frame of entries, a boolean mask with a value a row, or entry IDs; all by default.
    categories : DataFrame, optional
        As `load_categories` returns it.
    accounts : DataFrame, optional
        As `load_accounts` returns it.
    employees : DataFrame, optional
        As `load_employees` returns it.
    history : DataFrame, optional
        As `load_export_jobs(entries=True)` returns it.
    company : str, optional
        UUID of the one company to export; all companies of the entries by default.
    max_entries : int
        Entries of a batch at most, 1 or more.
    employee_id : str, optional
        UUID of the employee who initiates the jobs.
    is_interactive : bool
        False for background jobs that need no user.
    vendor_based_bookkeeping : bool
        The interface's option of that name.

    Returns
    -------
    ExportPlan
        Batches of one company each, by date, then ID; what is not ready, with the reason; totals. What was not given
        is not checked, and `plan.unchecked` says so. The same input gives the same batches with the same IDs.

    Raises
    ------
    ArgumentError, InputError
        When an argument breaks a rule, a column is missing, or the selection names entries that are not there.

    Notes
    -----
    Export jobs: interface, section 4.2.

    Examples
    --------
    >>> import bktools, pandas as pd
    >>> entries = pd.DataFrame({
    ...     "id": ["123e4567-e89b-42d3-a456-426614174000", "not-an-id"],
    ...     "company_id": ["9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d"] * 2,
    ... })
    >>> plan = bktools.compose_export_jobs(entries)
    >>> len(plan.batches), plan.not_ready["reason"].to_list()
    (1, ['not_a_uuid'])
    """
    size = rules.whole_number("max_entries", max_entries, smallest=1)
    company = None if company is None else rules.uuid_text("company", company)
    options = ExportOptions(
        None if employee_id is None else rules.uuid_text("employee_id", employee_id),
        rules.flag("is_interactive", is_interactive),
        rules.flag("vendor_based_bookkeeping", vendor_based_bookkeeping),
    )
    _require(entries, "entries", REQUIRED)
    beside = {"categories": categories, "accounts": accounts, "employees": employees, "history": history}
    for name, frame in beside.items():
        if frame is not None:
            _require(frame, name, NEEDED[name])
    if categories is not None:
        _require(entries, "entries", ("category_id",))

    rows = _numbered(to_arrow(selected(entries, selection)))
    lazy, *others = lazy_frames(rows, *beside.values())
    checked = collect(with_reason(lazy, company=company, **dict(zip(beside, others, strict=True))))
    is_ready = pc.is_null(checked.column("reason"))
    ready = _in_order(checked.filter(is_ready).drop_columns(["reason"]))
    not_ready = _explained(_in_order(checked.filter(pc.invert(is_ready))))

    batch_ids, batches = _batches(ready, size, options)
    ready = ready.append_column("batch_id", pa.array(batch_ids, pa.large_string()))
    provenance = dict(entries.attrs.get("bktools", {}))
    return ExportPlan(
        batches=to_pandas(batches, provenance),
        entries=to_pandas(ready, provenance),
        not_ready=to_pandas(not_ready, provenance),
        totals=to_pandas(_totals(ready), provenance),
        options=options,
        unchecked=unchecked(rows.column_names, **beside),
        plan_id=plan_digest(batches.column("batch_id").to_pylist(), options),
        provenance=provenance,
    )


def _require(frame: pd.DataFrame, name: str, columns: tuple[str, ...]) -> None:
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise InputError(
            f"the {name} have no column {missing[0]}; they have {', '.join(map(str, frame.columns)) or 'none'}"
        )


def _numbered(rows: pa.Table) -> pa.Table:
    if "line" in rows.column_names:
        return rows
    return rows.append_column("line", pa.array(range(1, rows.num_rows + 1), pa.int64()))


def _in_order(rows: pa.Table) -> pa.Table:
    """Sort as entries are sent: by company, then date, then ID."""
    keys = [name for name in ("company_id", "date", "id", "line") if name in rows.column_names]
    return rows.sort_by([(name, "ascending") for name in keys])


def _explained(rows: pa.Table) -> pa.Table:
    messages = [MESSAGES[reason] for reason in rows.column("reason").to_pylist()]
    return rows.append_column("message", pa.array(messages, pa.large_string()))


def _batches(ready: pa.Table, size: int, options: ExportOptions) -> tuple[list[str], pa.Table]:
    ids = ready.column("id").to_pylist()
    companies = ready.column("company_id").to_pylist()
    dates = ready.column("date").to_pylist() if "date" in ready.column_names else [None] * len(ids)
    of_entry: list[str] = []
    found: list[dict[str, Any]] = []
    start = 0
    while start < len(ids):
        end = start
        while end < len(ids) and end - start < size and companies[end] == companies[start]:
            end += 1
        batch_id = batch_digest(companies[start], ids[start:end], options)
        of_entry += [batch_id] * (end - start)
        known = [date for date in dates[start:end] if date is not None]
        found.append(
            {
                "batch_id": batch_id,
                "company_id": companies[start],
                "entries": end - start,
                "first_date": min(known, default=None),
                "last_date": max(known, default=None),
            }
        )
        start = end
    schema = pa.schema(
        {
            "batch_id": pa.large_string(),
            "company_id": pa.large_string(),
            "entries": pa.int64(),
            "first_date": pa.date32(),
            "last_date": pa.date32(),
        }
    )
    # A date with a time of day is a date here.
    for row in found:
        for name in ("first_date", "last_date"):
            row[name] = row[name].date() if hasattr(row[name], "date") else row[name]
    return of_entry, pa.Table.from_pylist(found, schema=schema)


def _totals(ready: pa.Table) -> pa.Table:
    keys = [name for name in ("company_id", "currency", "category_id") if name in ready.column_names]
    sums = [("id", "count")] + ([("amount", "sum")] if "amount" in ready.column_names else [])
    grouped = ready.group_by(keys).aggregate(sums)
    names = {"id_count": "entries", "amount_sum": "amount"}
    grouped = grouped.rename_columns([names.get(name, name) for name in grouped.column_names])
    return grouped.sort_by([(name, "ascending") for name in keys])
