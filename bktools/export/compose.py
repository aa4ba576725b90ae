"""`compose_export_jobs`: from a selection of entries to a plan."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.contract.rules import UUID_REGEX
from bktools.errors import ArgumentError, InputError
from bktools.export.batches import batched, days_of, in_order
from bktools.export.identity import Array, Identity, coded, identity, is_lower
from bktools.export.plan import ExportOptions, ExportPlan, plan_digest, totals_of
from bktools.export.readiness import MESSAGES, OWN, REASON, unchecked, with_reason
from bktools.export.rows import compact
from bktools.export.selection import arrow_of, as_ids, as_mask, in_memory, mask_values, refuse_missing, typed
from bktools.frames.engine import collect, lazy_frames
from bktools.frames.schema import to_pandas

# Number of a row, beside columns that have names of their own.
ROW = OWN + "row"

# What a plan says of an entry: entries that were in a plan before say it anew.
SAID = ("batch_id", "reason", "message")

# What the checks look at; the other columns stay where they are.
CHECKED = ("id", "company_id", "category_id", "employee_id", "approved")
REQUIRED = ("id", "company_id")
NEEDED = {
    "categories": ("id", "company_id", "archived", "account_id"),
    "accounts": ("id", "archived"),
    "employees": ("id",),
    "history": ("entry_id", "state"),
}


def compose_export_jobs(
    entries: Any,
    *,
    selection: Any = None,
    categories: Any = None,
    accounts: Any = None,
    employees: Any = None,
    history: Any = None,
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
        As `load_export_jobs(entries=True)` returns it. The plan then belongs to that journal: another one refuses it.
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
    if entries is None:
        raise ArgumentError("entries", "must be a frame of accounting entries, as read_entries returns it")
    size = rules.whole_number("max_entries", max_entries, smallest=1)
    company = None if company is None else rules.uuid_text("company", company)
    options = ExportOptions(
        None if employee_id is None else rules.uuid_text("employee_id", employee_id),
        rules.flag("is_interactive", is_interactive),
        rules.flag("vendor_based_bookkeeping", vendor_based_bookkeeping),
    )
    beside = {"categories": categories, "accounts": accounts, "employees": employees, "history": history}
    rows, found = _told(entries, selection, company, beside)
    rows = _with_lower_ids(rows)
    days = days_of(rows)
    numbers = identity(rows.column("id"))
    names, companies = coded(rows.column("company_id"))
    reasons = _reasons(rows, numbers, _are_uuids(names)[companies], found)

    is_ready = pc.is_null(reasons).to_numpy(zero_copy_only=False)
    order, begins = in_order(numbers.by_id[is_ready[numbers.by_id]], companies, days)
    not_ready = _explained(rows, reasons, np.flatnonzero(~is_ready))
    # What is made next is as large as the entries: nothing that is not needed lies beside it.
    del numbers, reasons, companies, is_ready
    pa.default_memory_pool().release_unused()
    ready = compact(rows, order)
    batches, batch_ids = batched(ready, begins, days[order], size, options)
    ready = ready.append_column("batch_id", batch_ids)
    provenance = dict(entries.attrs.get("bktools", {})) if isinstance(entries, pd.DataFrame) else {}
    return ExportPlan(
        batches=to_pandas(batches, provenance),
        rows=ready,
        not_ready=to_pandas(not_ready, provenance),
        totals=to_pandas(totals_of(ready), provenance),
        options=options,
        unchecked=unchecked(rows.column_names, **beside),
        plan_id=plan_digest(batches.column("batch_id").to_pylist(), options),
        provenance=provenance,
        journal=_journal_of(history),
    )


def _journal_of(history: Any) -> str:
    """Return the identity of the journal that a history was read from, "" where it does not say."""
    return str(getattr(history, "attrs", {}).get("bktools", {}).get("journal", ""))


def _told(entries: Any, selection: Any, company: str | None, beside: dict[str, Any]) -> tuple[pa.Table, pa.Table]:
    """Return the rows selected, numbered, and which of them are held back (`row`, `reason`)."""
    beside = {name: arrow_of(frame, name) if in_memory(frame) else frame for name, frame in beside.items()}
    if in_memory(entries):
        rows = _selected(entries, selection)
        narrow = _numbered(rows.select([name for name in CHECKED if name in rows.column_names]), ROW)
        lazy, *others = lazy_frames(narrow, *beside.values())
    else:
        lazy, *others = lazy_frames(entries, *beside.values())
        lazy = _without_own(lazy)
    frames = dict(zip(beside, others, strict=True))
    _require_columns(lazy, frames)
    if in_memory(entries):
        told = with_reason(lazy, company=company, **frames).filter(~nw.col(REASON).is_null())
        return rows, collect(told.select(ROW, REASON))
    wanted = None if selection is None else _ids_for_lazy(selection, entries)
    if wanted is not None:
        lazy = lazy.filter(nw.col("id").str.to_lowercase().is_in(wanted.to_pylist()))
    rows = typed(collect(with_reason(lazy, company=company, **frames)), "entries")
    if wanted is not None:
        refuse_missing(wanted, pc.ascii_lower(rows.column("id")))
    reasons = _numbered(rows.select([REASON]), ROW)
    return rows.drop_columns([REASON]), reasons.filter(pc.is_valid(reasons.column(REASON)))


def _without_own(entries: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Return entries without what a plan says of them; what is found out joins them under names of its own."""
    names = entries.collect_schema().names()
    taken = [name for name in names if name.startswith(OWN)]
    if taken:
        raise InputError(f"the entries have a column {taken[0]}: names that begin with {OWN} are taken, rename it")
    return entries.drop([name for name in names if name in SAID])


def _selected(entries: Any, selection: Any) -> pa.Table:
    rows = arrow_of(entries, "entries")
    rows = rows.drop_columns([name for name in SAID if name in rows.column_names])
    _require(rows.column_names, "entries", REQUIRED)
    if "line" not in rows.column_names:
        rows = _numbered(rows, "line", first=1)
    if selection is None:
        return rows
    mask = as_mask(selection, entries)
    if mask is not None:
        return rows.filter(pa.array(mask))
    wanted = as_ids(selection)
    ids = pc.ascii_lower(pc.cast(rows.column("id"), pa.large_string()))
    refuse_missing(wanted, ids)
    return rows.filter(pc.is_in(ids, value_set=wanted))


def _ids_for_lazy(selection: Any, entries: Any) -> pa.Array:
    if mask_values(selection) is not None:
        raise InputError(f"a mask does not select from a {type(entries).__name__}, whose rows have no order: filter it")
    return as_ids(selection)


def _require(columns: list[str], name: str, needed: tuple[str, ...]) -> None:
    missing = [column for column in needed if column not in columns]
    if missing:
        found = ", ".join(column for column in columns if column != ROW)
        raise InputError(f"the {name} have no column {missing[0]}; they have {found or 'none'}")


def _require_columns(entries: nw.LazyFrame[Any], beside: dict[str, Any]) -> None:
    names = entries.collect_schema().names()
    _require(names, "entries", REQUIRED)
    for name, frame in beside.items():
        if frame is not None:
            _require(frame.collect_schema().names(), name, NEEDED[name])
    if beside["categories"] is not None:
        _require(names, "entries", ("category_id",))


def _numbered(rows: pa.Table, name: str, *, first: int = 0) -> pa.Table:
    return rows.append_column(name, pa.array(np.arange(first, first + rows.num_rows)))


def _with_lower_ids(rows: pa.Table) -> pa.Table:
    """Return the rows with entry and company IDs as they are sent: the same UUID is the same text."""
    for name in REQUIRED:
        index = rows.schema.get_field_index(name)
        text = pc.cast(rows.column(name), pa.large_string())
        if not is_lower(text):
            text = pc.ascii_lower(text)
        rows = rows.set_column(index, name, text)
    return rows


def _reasons(rows: pa.Table, numbers: Identity, has_company: Array, found: pa.Table) -> pa.Array:
    """Return the reason of each row, null for those that are ready; the first of several is told."""
    names = list(MESSAGES)
    code = np.full(rows.num_rows, len(names), dtype=np.int8)
    code[found.column(ROW).to_numpy()] = pc.index_in(found.column(REASON), value_set=pa.array(names)).to_numpy()
    repeated = numbers.repeated()
    is_copy, is_conflict = _copies(rows, repeated)
    code[repeated[is_copy]] = names.index("duplicate")
    code[repeated[is_conflict]] = names.index("conflicting")
    code[~has_company] = names.index("no_company")
    code[~numbers.is_uuid] = names.index("not_a_uuid")
    return pa.DictionaryArray.from_arrays(pa.array(code, mask=code == len(names)), pa.array(names))


def _are_uuids(texts: Array) -> Array:
    """Return which texts are UUIDs, and False at the end, which is what the place -1 of no text takes."""
    right = pc.match_substring_regex(pa.array(texts, pa.large_string()), UUID_REGEX)
    return np.append(right.to_numpy(zero_copy_only=False), [False]).astype(bool)


def _rows_of(rows: pa.Table, places: Array) -> pa.Table:
    """Return a few rows, as they stand; `take` would make whole columns one piece first."""
    mask = np.zeros(rows.num_rows, dtype=bool)
    mask[places] = True
    return rows.filter(pa.array(mask))


def _copies(rows: pa.Table, repeated: Array) -> tuple[Array, Array]:
    """Return which of the rows with a repeated ID repeat another row, and which contradict another row."""
    taken = _rows_of(rows, repeated).to_pandas(types_mapper=pd.ArrowDtype)
    if "line" in taken:
        # The first in the file is the one that is exported, in whatever order the analyst put them.
        taken = taken.sort_values("line", kind="stable")
    content = taken.drop(columns="line", errors="ignore")
    is_copy = content.duplicated()
    versions = content.loc[~is_copy, "id"].value_counts()
    is_conflict = content["id"].isin(versions.index[versions > 1])
    return is_copy.sort_index().to_numpy(dtype=bool), is_conflict.sort_index().to_numpy(dtype=bool)


def _explained(rows: pa.Table, reasons: pa.Array, held: Array) -> pa.Table:
    """Return the rows that are not ready, with reason and message, in the order of companies, dates and IDs."""
    told = reasons.take(pa.array(held))
    messages = pa.array([MESSAGES[name] for name in reasons.dictionary.to_pylist()], pa.large_string())
    table = _rows_of(rows, held)
    table = table.append_column("reason", told.cast(pa.large_string()))
    table = table.append_column("message", messages.take(told.indices))
    keys = [name for name in ("company_id", "date", "id", "line") if name in table.column_names]
    return table.sort_by([(name, "ascending") for name in keys])
