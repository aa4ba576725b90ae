"""`close_month`: the whole close, step by step, from the files read to the folder written."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, SupportsIndex, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import name_of, setting
from bktools.connection import service_or_default
from bktools.contract import rules
from bktools.errors import ArgumentError, InputError, StorageError
from bktools.export import compose_export_jobs
from bktools.frames.delimited import profile_named
from bktools.frames.schema import TEXT, Month
from bktools.journal.accounts import load_accounts
from bktools.journal.export_jobs import load_export_jobs
from bktools.journal.journal import Journal
from bktools.journal.periods import approve, named, record_close
from bktools.journal.records import this_user
from bktools.reconcile import reconcile_accounts
from bktools.close.changes import changes_since_last_close
from bktools.reports.close import Close
from bktools.reports.month_end import (
    check_target,
    earlier_close,
    planned_beside,
    require_closed,
    write_month_end,
)
from bktools.close.record import record_of
from bktools.service import Service
from bktools.snapshots.tables import load_categories, load_employees
from bktools.submit import create_accounts, submit_export_jobs

Result = TypeVar("Result")

# A month with less than this share of the busiest month's entries is not closed by default: its dates may be mistyped.
LEAST_SHARE = 0.05
SHOWN_MONTHS = 3


def close_month(
    chart: pd.DataFrame,
    entries: pd.DataFrame,
    *,
    month: Month | None = None,
    company: str | None = None,
    categories: pd.DataFrame | None = None,
    employees: pd.DataFrame | None = None,
    folder: str | Path | None = None,
    apply: bool = False,
    max_entries: SupportsIndex = 500,
    wait: float | dt.timedelta = 300.0,
    others_export: bool = False,
    by: str | None = None,
    approved_by: str | None = None,
    before_month_end: bool = False,
    new_chart: bool = False,
    profile: str = "excel",
    seen: Callable[[str, Any], None] | None = None,
    service: Service | None = None,
) -> Close:
    """Close a month: load, reconcile, create accounts, export the entries that are ready, write the folder.

    Parameters
    ----------
    chart : DataFrame
        The ERP's chart of accounts, as `read_chart_of_accounts` returns it.
    entries : DataFrame
        As `read_entries` returns it; those dated after the month wait for the next close.
    month : str, Period, date or datetime, optional
        As 2026-10. By default the last month that has ended and has entries, where a month with less than a twentieth
        of the busiest month's entries does not count; the current month where none has ended. A month that has not
        begun is refused, also for a dry run, because nothing of it can be closed yet.
    company : str, optional
        UUID of the company; the configured one by default.
    categories, employees : DataFrame, optional
        As `load_categories` and `load_employees` return them for the company with `refresh=True`; loaded so by default.
    folder : str or Path, optional
        Folder for the report, the tables, the workbook, the pictures, the files that were read and the manifest;
        `month-end-2026-10` by default. An earlier close in this folder is kept beside it. A dry run is written beside a
        close that was applied, in `month-end-2026-10.planned`.
    apply : bool
        True to create accounts and send export jobs; by default everything is planned and nothing is written to the
        service. Safe to re-run: completed steps are skipped.
    max_entries : int
        Entries of an export job at most, 1 or more.
    wait : float or timedelta
        Seconds to wait, for each batch, while an export job of the company is in progress.
    others_export : bool
        True where people also export by hand, as in `submit_export_jobs`.
    by : str, optional
        Name of the person who prepares the close; kept permanently with an applied close. The system's user by default.
    approved_by : str, optional
        Name of the person who approves it. With `apply` the period is closed, unless a batch of it is not sent or has an
        unknown outcome: then nothing can be sent into it any more, until it is reopened.
    before_month_end : bool
        True to approve a month that has not ended.
    new_chart : bool
        True when the company really has the chart that looks like another company's, see `create_accounts`.
    profile : str
        Of the CSV files, see `to_csv`.
    seen : callable, optional
        Called with the name and the result of each step as it ends: month (a sentence, where it was chosen by
        default), categories, employees, reconciled, created, remaining, plan, jobs, record.
    service : Service, optional
        By default the one the configuration describes.

    Returns
    -------
    Close
        The results of all steps, the `record` of the month from the journal, and the `folder` with the files.

    Raises
    ------
    ArgumentError, InputError
        When an argument breaks a rule, the month has not begun, the folder holds other files than a close, or, with
        `apply`, the chart looks like another company's; nothing is sent.
    ServiceError, JournalError, StorageError
        When a step fails. The journal has the completed steps, and a second run resumes after them. With `apply`, also
        when the period is closed, or a file of an earlier close is open in Excel; then nothing is sent.

    Notes
    -----
    The interface, sections 2.1, 2.4, 4.2 and 4.3.

    Examples
    --------
    >>> import bktools, tempfile
    >>> with bktools.Sandbox() as service, tempfile.TemporaryDirectory() as folder:
    ...     chart = bktools.read_chart_of_accounts("data/chart_of_accounts.csv", company=service.settings.company)
    ...     entries = bktools.read_entries("data/accounting_entries.csv")
    ...     close = bktools.close_month(chart, entries, folder=f"{folder}/october", service=service)
    ...     written = sorted(path.name for path in close.folder.iterdir())
    >>> close.period, close.applied, written[0]
    ('2026-10', False, 'accounts_created.csv')
    """
    begun_at = dt.datetime.now(dt.UTC)
    service = service_or_default(service)
    company = _company(company, service)
    profile_named(profile)
    prepared_by = this_user() if by is None else named("by", by)
    approved_by = None if approved_by is None else named("approved_by", approved_by)
    apply = rules.flag("apply", apply)
    # The month is the one on the calendar of whoever closes it.
    today = begun_at.astimezone()
    period = month_of(entries, today) if month is None else rules.month("month", month)
    _require_month(
        period, today, is_approved=approved_by is not None, is_early=rules.flag("before_month_end", before_month_end)
    )
    in_period = _up_to(entries, period)
    # Arguments and folders are checked before anything is sent.
    target = Path(folder or f"month-end-{period}")
    target = target if apply else planned_beside(target)
    check_target(target)
    require_closed(target)
    if apply:
        with Journal(service.settings) as journal:
            journal.require_open(company, [period])

    steps = _Steps(seen)
    if month is None and seen is not None:
        seen("month", _chosen(entries, period))
    categories = steps.run(
        "categories",
        lambda: load_categories(company, refresh=True, service=service) if categories is None else categories,
    )
    employees = steps.run(
        "employees", lambda: load_employees(company, refresh=True, service=service) if employees is None else employees
    )
    known = load_accounts(company, service=service)
    before = steps.run("reconciled", lambda: reconcile_accounts(chart, known, categories))
    created = steps.run("created", lambda: create_accounts(before, apply=apply, new_chart=new_chart, service=service))
    accounts = load_accounts(company, service=service)
    after = steps.run("remaining", lambda: reconcile_accounts(chart, accounts, categories) if apply else before)
    # Of all companies: an entry sent for another company is not sent again.
    history = load_export_jobs(entries=True, service=service)
    plan = steps.run(
        "plan",
        lambda: compose_export_jobs(
            entries,
            selection=in_period.to_list(),
            categories=categories,
            accounts=accounts,
            employees=employees,
            history=history,
            company=company,
            period=period,
            currency=service.settings.currency,
            max_entries=max_entries,
        ),
    )
    jobs = steps.run(
        "jobs",
        lambda: submit_export_jobs(
            plan, apply=apply, wait=wait, others_export=others_export, period=period, service=service
        ),
    )
    stays_open = ""
    if apply:
        with Journal(service.settings) as journal:
            accepted = jobs.loc[jobs["outcome"] == "ACCEPTED", "batch_id"]
            record_close(
                journal,
                company,
                period,
                plan_id=plan.plan_id,
                prepared_by=prepared_by,
                approved_by=approved_by,
                not_ready=plan.not_ready,
                exported=plan.rows.filter(pc.is_in(plan.rows.column("batch_id"), pa.array(accepted, TEXT))),
            )
            if approved_by is not None:
                stays_open = approve(journal, company, period, plan_id=plan.plan_id, by=approved_by)
    record = steps.run("record", lambda: record_of(period, company, service=service))
    closed = Close(
        period=period,
        environment=service.settings.environment,
        company=company,
        applied=apply,
        begun_at=begun_at,
        categories=categories,
        employees=employees,
        chart=chart,
        entries=entries,
        before=before,
        after=after,
        accounts=created,
        plan=plan,
        jobs=jobs,
        history=load_export_jobs(company, service=service),
        left_out=int((~in_period).sum()),
        times=steps.seconds,
        prepared_by=prepared_by,
        approved_by=approved_by,
        stays_open=stays_open,
        record=record,
        known=accounts,
        sent=history,
        changes=changes_since_last_close(record, service=service),
    )
    kept = earlier_close(target)
    try:
        folder = write_month_end(closed, target, profile)
    except StorageError as error:
        if not apply:
            raise
        raise StorageError(f"{error}; {_sent(jobs)} recorded in the journal, and nothing is sent twice") from error
    return replace(closed, folder=folder, kept=kept)


class _Steps:
    """Times each step and passes its result to the `seen` callback."""

    def __init__(self, seen: Callable[[str, Any], None] | None) -> None:
        self.seconds: dict[str, float] = {}
        self._seen = seen

    def run(self, name: str, work: Callable[[], Result]) -> Result:
        begin = time.perf_counter()
        result = work()
        self.seconds[name] = time.perf_counter() - begin
        if self._seen is not None:
            self._seen(name, result)
        return result


def _company(company: str | None, service: Service) -> str:
    company = company or service.settings.company
    if company is None:
        raise ArgumentError("company", "must name the company to close (or set BKTOOLS_COMPANY)")
    return rules.company_id("company", company, service.settings.company_names)


def _require_month(period: str, today: dt.datetime, *, is_approved: bool, is_early: bool) -> None:
    """Refuse a month that has not begun, and the approval of one that has not ended unless the caller says so."""
    current = f"{today:%Y-%m}"
    if period > current:
        raise ArgumentError(name_of("month"), f"must have begun: today is {today:%Y-%m-%d}", period)
    if period == current and is_approved and not is_early:
        raise ArgumentError(
            name_of("approved_by"),
            f"closes {period}, which has not ended: approve it when it has, or say that it is meant with "
            f"{setting('before_month_end', value=True)}",
        )


def month_of(entries: pd.DataFrame, today: dt.datetime) -> str:
    """Return the month to close: never decided by a few entries, and never in the future."""
    if "date" not in entries.columns or entries["date"].isna().all():
        raise ArgumentError(name_of("month"), "must be given: the entries have no dates")
    counts = _months(entries).value_counts()
    current = f"{today:%Y-%m}"
    past = counts[counts.index <= current]
    if past.empty:
        first = counts.index.min()
        raise ArgumentError(
            name_of("month"), f"must be given: no entry is dated in {current} or before, the first month is {first}"
        )
    ended = past[past.index < current]
    likely = past if ended.empty else ended
    return str(likely.index[likely >= likely.max() * LEAST_SHARE].max())


def _chosen(entries: pd.DataFrame, period: str) -> str:
    """Return a sentence with the chosen month and the number of entries in other months."""
    counts = _months(entries).value_counts().sort_index()
    others = [f"{count:,} of {month}" for month, count in counts[counts.index != period].items()]
    more = f" and {len(others) - SHOWN_MONTHS} more months" if len(others) > SHOWN_MONTHS else ""
    # The latest months first: their entries wait for the next close, or their dates are mistyped.
    outside = f"; other entries: {', '.join(others[: -SHOWN_MONTHS - 1 : -1])}{more}" if others else ""
    return f"{period}, by the dates of the entries{outside} (another: {setting('month', 'YYYY-MM')})"


def _sent(jobs: pd.DataFrame) -> str:
    count = int((jobs["outcome"] == "ACCEPTED").sum())
    return f"{count:,} export {'job was' if count == 1 else 'jobs were'} sent and {'is' if count == 1 else 'are'}"


def _up_to(entries: pd.DataFrame, period: str) -> pd.Series:
    """Return a mask of the entries dated in the month or before it."""
    if "date" not in entries.columns:
        return entries["id"].notna()
    later: pd.Series = _dates(entries).dt.strftime("%Y-%m") > period
    return ~later


def _months(entries: pd.DataFrame) -> pd.Series:
    months: pd.Series = _dates(entries).dropna().dt.strftime("%Y-%m")
    return months


def _dates(entries: pd.DataFrame) -> pd.Series:
    if not pd.api.types.is_datetime64_any_dtype(entries["date"]):
        raise InputError("the column date of the entries holds no dates: read them with read_entries")
    return entries["date"]
