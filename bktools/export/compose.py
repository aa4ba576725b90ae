"""`compose_export_jobs`: from a selection of entries to a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, SupportsIndex

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.export.findings import Checked, Checker, Naming, arguments_of
from bktools.export.plan import ExportOptions, ExportPlan, batch_digest, plan_digest
from bktools.export.selection import selected
from bktools.export.spark import CheckedByWorkers, checked_by_workers
from bktools.frames.names import in_reading_order, with_names
from bktools.frames.schema import TEXT, Month
from bktools.frames.tables import is_spark, source_of, typed
from bktools.wording import Sentence

# The frames that name what entries have IDs of.
NAMING = ("categories", "accounts", "employees")


def compose_export_jobs(
    entries: Any,
    *,
    selection: Any = None,
    categories: Any = None,
    accounts: Any = None,
    employees: Any = None,
    history: Any = None,
    ledger: Any = None,
    exported_elsewhere: Iterable[str] | Mapping[str, str | None] = (),
    maybe_booked: Iterable[str] = (),
    not_booked: Iterable[str] = (),
    company: str | None = None,
    month: Month | None = None,
    currency: str | None = None,
    max_entries: SupportsIndex = 500,
    employee_id: str | None = None,
    is_interactive: bool = True,
    vendor_based_bookkeeping: bool = False,
) -> ExportPlan:
    """Return a plan of export jobs for a selection of accounting entries. Nothing is sent or written.

    Parameters
    ----------
    entries : DataFrame
        As `read_entries` returns it: id, company_id; optional date, amount, currency, category_id,
        employee_id, approved. Every frame may be of pandas, Polars, Arrow, DuckDB or PySpark, or the path of
        a Parquet file.
    selection : DataFrame, Series, list or path, optional
        A filtered frame of entries, a boolean mask with a value for each row, or entry IDs. Default: all
        entries.
    categories : DataFrame, optional
        As `load_categories` returns it.
    accounts : DataFrame, optional
        As `load_accounts` returns it; a column `in_chart` is False for those that the ERP's chart does not
        have: what is on them is held back.
    employees : DataFrame, optional
        As `load_employees` returns it.
    history : DataFrame, optional
        As `load_export_jobs(entries=True)` returns it. The plan can then be submitted only with that journal.
    ledger : DataFrame, optional
        The company's general ledger, as `read_general_ledger` returns it. An entry that is proven to be in it
        is held back (`already_booked`), and so is one that a free posting on its account may be of, by its
        amount (`maybe_booked`). `plan.unchecked` names a ledger that does not show how it books, and one that
        cannot be compared, because it has no account of the entries: it is refused when the plan is applied.
    exported_elsewhere : iterable of str, or mapping
        IDs of entries that are known to be exported outside of this journal; they are held back. A mapping
        has the voucher of each that an earlier ledger held, "" where it has no name; others have None.
    maybe_booked : iterable of str, or mapping
        IDs of entries that a posting of an earlier ledger may be of, and that posting; they are held back,
        whatever `ledger` shows of the entries that are left, unless they are in `not_booked`.
    not_booked : iterable of str
        IDs of entries that a person found not to be booked: what a posting of the ledger may be of, or what
        has the data of a sent entry of the file, is sent all the same.
    company : str, optional
        UUID of the only company to export. Default: all companies of the entries.
    month : str, Period, date or datetime, optional
        The month to export, such as "2026-10". Later entries wait for their own month; earlier ones get a
        warning.
    currency : str, optional
        The company's own currency, such as "EUR". Entries in another one are counted in `plan.findings`.
    max_entries : int
        Largest number of entries in a batch, 1 or more.
    employee_id : str, optional
        UUID of the employee who initiates the jobs.
    is_interactive : bool
        False for background jobs that need no user.
    vendor_based_bookkeeping : bool
        The interface's option of that name.

    Returns
    -------
    ExportPlan
        Batches of one company each, ordered by date, then ID; entries that are not ready, with the reason;
        totals. The entries have category_name, account_code, account_name and employee_name where the frames
        were given. A check that needs a missing frame is skipped, and `plan.unchecked` lists it. The same
        input gives the same batches with the same IDs.

        Entries in a PySpark frame are checked by the workers, which must have bktools, and collected: the
        plan has all of them and must fit in memory here. With a history they are checked here. Filter such a
        frame instead of giving a selection.

    Raises
    ------
    ArgumentError, InputError
        When an argument breaks a rule, a column is missing, or the selection names unknown entries.

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
        raise ArgumentError("entries", Sentence("rule.entries_frame"))
    size = rules.whole_number("max_entries", max_entries, smallest=1)
    options = ExportOptions(
        None if employee_id is None else rules.uuid_text("employee_id", employee_id),
        rules.flag("is_interactive", is_interactive),
        rules.flag("vendor_based_bookkeeping", vendor_based_bookkeeping),
    )
    arguments, provenance = arguments_of(company=company, month=month, currency=currency), source_of(entries)
    beside = {"categories": categories, "accounts": accounts, "employees": employees, "history": history}
    frames = {name: typed(frame, name) for name, frame in beside.items() if frame is not None}
    by_hand = {"elsewhere": exported_elsewhere, "maybe_booked": maybe_booked, "not_booked": not_booked}
    for name, known in by_hand.items():
        ids = rules.unique_uuids("exported_elsewhere" if name == "elsewhere" else name, known)
        vouchers = [*known.values()] if isinstance(known, Mapping) else [None] * len(ids)
        frames[name] = pa.table({"id": pa.array(ids, TEXT), "voucher": pa.array(vouchers, TEXT)})
    checker = Checker(frames, arguments)
    if is_spark(entries):
        for name, other in (("selection", selection), ("ledger", ledger)):
            if other is not None:
                raise ArgumentError(name, Sentence(f"rule.{name}_of_spark"))
    # Names are looked up for the rows that are shown, in their order: that of the file would be copied twice.
    named = partial(with_names, **{name: frame for name, frame in frames.items() if name in NAMING})
    checked: Checked | CheckedByWorkers
    # Whether an entry was sent under another ID depends on all entries, so that no worker can say it.
    if not is_spark(entries) or history is not None:
        rows = selected(typed(entries, "entries"), selection, entries)
        checked = checker.check(rows)
        if ledger is not None:
            checked = checked.asked(rows, named, ledger, history, arguments.own_currency)
    else:
        rows, checked = checked_by_workers(entries, checker)
    ready, held = _composed(rows, named, checked.order, size, options)
    ready, held = (part.select(in_reading_order(part.column_names)) for part in (ready, held))
    return ExportPlan(
        rows=ready,
        held=held,
        plan_id=plan_digest(ready.column("batch_id").unique().to_pylist(), options, ready),
        options=options,
        unchecked=checked.unchecked,
        provenance=provenance,
        journal=str(source_of(history).get("journal", "")),
        books=dict(checked.books),
        _find=partial(checked.find, rows, named),
    )


def _composed(
    rows: pa.Table,
    named: Naming,
    order: pl.DataFrame,
    size: int,
    options: ExportOptions,
) -> tuple[pa.Table, pa.Table]:
    """Return ready entries in the order of sending, with batch_id, and the others with reason and facts.

    `named` gives rows their names. `order` is as `Checked.order` has it. Entries that are not ready are in
    the order of company, date, ID and line.
    """
    is_ready = order["reason"].is_null()
    ready = named(rows.take(order["row"].filter(is_ready).to_arrow()))
    ready = ready.append_column("batch_id", _batch_ids(ready, size, options))
    reasons = order.filter(~is_ready).sort("row")
    held = named(rows.take(reasons["row"].to_arrow()))
    for name in ("reason", "facts"):
        held = held.append_column(name, pc.cast(reasons[name].to_arrow(), TEXT))
    keys = [name for name in ("company_id", "date", "id", "line") if name in rows.column_names]
    return ready, held.sort_by([(name, "ascending") for name in keys])


def _batch_ids(ready: pa.Table, size: int, options: ExportOptions) -> pa.Array:
    """Return the batch ID of each ready row. Rows are in the order of sending, lines of an entry together."""
    rows = pl.DataFrame(ready.select(["company_id", "id"]))
    rows = rows.with_columns(number=pl.col("id").rle_id().over("company_id") // size)
    keys = ["company_id", "number"]
    batches = rows.group_by(keys, maintain_order=True).agg(pl.col("id").unique(maintain_order=True))
    names = [batch_digest(company, ids, options) for company, _, ids in batches.iter_rows()]
    named = batches.select(keys).with_columns(batch_id=pl.Series(names, dtype=pl.String))
    return rows.join(named, on=keys, how="left", maintain_order="left")["batch_id"].to_arrow().cast(TEXT)
