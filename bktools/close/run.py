"""`run_close`: the close, step by step, on one opened journal."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, SupportsIndex, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.close.actions import Actions
from bktools.close.changes import Threshold, months_between, threshold_of
from bktools.close.close import Close, Run
from bktools.close.entries import HELD, entries_of
from bktools.close.figures import currencies_of, sums_of
from bktools.close.month import month_of, require_dates, require_month, why_this_month
from bktools.close.record import record_in
from bktools.contract import rules
from bktools.contract.accounts import CompanyInFile
from bktools.errors import ArgumentError
from bktools.export import ExportPlan, compose_export_jobs
from bktools.frames.engine import described, source_of
from bktools.frames.schema import ACCOUNTS, Month, to_arrow
from bktools.journal.accounts import accounts_in, companies_in_charts
from bktools.journal.export_jobs import history_of
from bktools.journal.journal import Journal
from bktools.journal.periods import approve, named, record_close, sent_entries
from bktools.journal.records import this_user
from bktools.reconcile import Reconciliation, reconcile_accounts
from bktools.service import Service
from bktools.snapshots.tables import load_categories, load_employees
from bktools.submit.accounts import create_with
from bktools.submit.export_jobs import submit_with

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Request:
    """What a close is asked for; see `close_month`. `Request.checked` makes one from its arguments."""

    chart: pd.DataFrame
    entries: pd.DataFrame
    month: str
    company: str
    categories: pd.DataFrame | None
    employees: pd.DataFrame | None
    apply: bool
    max_entries: SupportsIndex
    wait: float | dt.timedelta
    others_export: bool
    prepared_by: str
    approved_by: str | None
    new_chart: bool
    threshold: Threshold | None
    begun_at: dt.datetime
    # A sentence about a month that was chosen by default, "" for one that was given.
    why_this_month: str

    @classmethod
    def checked(
        cls,
        service: Service,
        *,
        entries: pd.DataFrame,
        month: Month | None,
        company: str | None,
        apply: bool,
        by: str | None,
        approved_by: str | None,
        before_month_end: bool,
        threshold: str | float | Decimal | None,
        **others: Any,
    ) -> Request:
        """Return a request whose arguments keep their rules.

        Raises
        ------
        ArgumentError, InputError
            When one does not, or the month has not begun, or it is to be approved and has not ended.
        """
        begun_at = dt.datetime.now(dt.UTC)
        company = company or service.settings.company
        if company is None:
            raise ArgumentError("company", "must name the company to close (or set BKTOOLS_COMPANY)")
        company = rules.company_id("company", company, service.settings.company_names)
        prepared_by = this_user() if by is None else named("by", by)
        approved_by = None if approved_by is None else named("approved_by", approved_by)
        # The month is taken from the calendar of this machine, not from UTC.
        today = begun_at.astimezone()
        require_dates(entries)
        period = month_of(entries, today) if month is None else rules.month("month", month)
        is_early = rules.flag("before_month_end", before_month_end)
        require_month(period, today, is_approved=approved_by is not None, is_early=is_early)
        return cls(
            entries=entries,
            month=period,
            company=company,
            apply=rules.flag("apply", apply),
            prepared_by=prepared_by,
            approved_by=approved_by,
            threshold=threshold_of(threshold),
            begun_at=begun_at,
            why_this_month=why_this_month(entries, period) if month is None else "",
            **others,
        )


def run_close(request: Request, service: Service, seen: Callable[[str, Any], None] | None = None) -> Close:
    """Close a month: load, reconcile, create accounts, export the entries that are ready, and return the month.

    Parameters
    ----------
    request : Request
        What is asked for.
    service : Service
        The service; its journal is opened once.
    seen : callable, optional
        Called with the name and the result of each step as it ends: month (a sentence, where it was chosen by default),
        categories, employees, reconciled, created, remaining, plan, jobs, close.

    Raises
    ------
    ArgumentError, InputError, ServiceError, JournalError, StorageError
        As `close_month` does.
    """
    with Journal(service.settings) as journal:
        if request.apply:
            journal.require_open(request.company, [request.month])
        return _Steps(request, service, journal, seen).close()


class _Steps:
    """The steps of a close; each is timed, and its result is passed to the `seen` callback."""

    def __init__(
        self, request: Request, service: Service, journal: Journal, seen: Callable[[str, Any], None] | None
    ) -> None:
        self._request, self._service, self._journal = request, service, journal
        self._seen = seen or (lambda _step, _result: None)
        self._seconds: dict[str, float] = {}
        self._environment = service.settings.environment

    def close(self) -> Close:
        request, company, month = self._request, self._request.company, self._request.month
        if request.why_this_month:
            self._seen("month", request.why_this_month)
        categories = self._loaded("categories", request.categories, load_categories)
        employees = self._loaded("employees", request.employees, load_employees)
        chart, entries = _as_table(request.chart), _as_table(request.entries)
        charts = companies_in_charts(self._journal)
        before = self._step("reconciled", lambda: reconcile_accounts(chart, self._accounts(charts), categories))
        created = self._step(
            "created",
            lambda: create_with(
                self._journal,
                before,
                before.table("actions"),
                apply=request.apply,
                new_chart=request.new_chart,
                service=self._service,
            ),
        )
        accounts = self._accounts(charts)
        after = self._step(
            "remaining", lambda: reconcile_accounts(chart, accounts, categories) if request.apply else before
        )
        assumed = self._assumed(before, created)
        # Of all companies: an entry sent for another company is not sent again.
        history = history_of(self._journal, "sent")
        compose = partial(
            compose_export_jobs,
            entries,
            categories=categories,
            accounts=_with_planned(accounts, assumed.values()),
            employees=employees,
            company=company,
            period=month,
            currency=self._service.settings.currency,
            max_entries=request.max_entries,
        )
        plan = self._step("plan", lambda: compose(history=self._as_history(history)))
        jobs = self._step(
            "jobs",
            lambda: submit_with(
                self._journal,
                plan,
                apply=request.apply,
                wait=request.wait,
                others_export=request.others_export,
                period=month,
                service=self._service,
            ),
        )
        persons = {plan.plan_id: request.prepared_by} if request.apply else {}
        sent = sent_entries(self._journal, company, None if request.apply else history, persons)
        findings = plan.findings_table.to_pylist()
        rows = entries_of(plan, month, sent, jobs, findings, frozenset(assumed))
        stays_open = self._record_close(plan, rows, jobs) if request.apply else ""
        record = record_in(self._journal, month, company, self._environment, sent)
        own = self._service.settings.currency or next(
            iter(currencies_of((one.money for one in sums_of(rows)), None)), None
        )
        actions = Actions(
            rows,
            findings=_of_month(findings, history, month, lambda rest: compose(history=self._as_history(rest))),
            coverage=after.table("coverage").to_pylist(),
            accounts=after.table("findings").to_pylist(),
            jobs=jobs if request.apply else [],
            created=created,
            doubts=self._doubts(sent),
            own=own,
            import_accounts=self._journal.command("accounts import FILE"),
        )
        listed = actions.all()
        tables = {"categories": categories, "employees": employees, "chart": chart, "accounts": accounts}
        sources = {name: source_of(table) for name, table in {**tables, "entries": entries}.items()}
        last = _last_month(sent, month)
        tables |= {"entries": rows, "coverage": after.table("coverage"), "last": last}
        if len(last) and len(record.tables["events"]):
            earlier = record_in(self._journal, last["sent_in"][0].as_py(), company, self._environment, sent)
            tables["changes"] = months_between(earlier, record, accounts, self._service, request.threshold)
        run = Run(
            applied=request.apply,
            begun_at=request.begun_at,
            times=self._seconds,
            prepared_by=request.prepared_by,
            approved_by=request.approved_by,
            stays_open=stays_open,
            plan=plan,
            jobs=jobs,
            created=created,
            unchecked=(*after.unchecked, *plan.unchecked),
            sources=sources,
        )
        name = self._service.settings.name_of(company)
        close = Close(
            period=month,
            environment=self._environment,
            company=company,
            company_name="" if name == company else name,
            currency=own,
            actions=listed,
            by_role=actions.by_role(listed),
            record=record,
            before=before,
            after=after,
            run=run,
            tables=tables,
        )
        self._seen("close", close)
        return close

    def _step(self, name: str, work: Callable[[], Result]) -> Result:
        begin = time.perf_counter()
        result = work()
        self._seconds[name] = time.perf_counter() - begin
        self._seen(name, result)
        return result

    def _loaded(self, name: str, frame: pd.DataFrame | None, load: Callable[..., pd.DataFrame]) -> pa.Table:
        company, service = self._request.company, self._service
        loaded = self._step(name, lambda: load(company, refresh=True, service=service) if frame is None else frame)
        return _as_table(loaded)

    def _accounts(self, charts: Mapping[str, CompanyInFile]) -> pa.Table:
        return described(accounts_in(self._journal, self._request.company), {"companies_in_charts": charts})

    def _as_history(self, sent: pa.Table) -> pa.Table:
        return described(sent, {"journal": self._journal.id})

    def _assumed(self, before: Reconciliation, created: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """Return the account of each category whose account becomes known when the planned ones are created.

        Which of them have the account of a category is not known before they are created, so a dry run assumes it of all.
        """
        if self._request.apply or not created or (before.another_chart and not self._request.new_chart):
            return {}
        return {
            row["category_id"]: row["account_id"]
            for row in before.table("coverage").to_pylist()
            if row["state"] == "unknown_account"
        }

    def _record_close(self, plan: ExportPlan, entries: pa.Table, outcomes: Sequence[dict[str, Any]]) -> str:
        """Write the close to the journal, and close the period where it is approved; return why it stays open."""
        request, journal = self._request, self._journal
        accepted = [job["batch_id"] for job in outcomes if job["outcome"] == "ACCEPTED"]
        record_close(
            journal,
            request.company,
            request.month,
            plan_id=plan.plan_id,
            prepared_by=request.prepared_by,
            approved_by=request.approved_by,
            held_back=entries.filter(pc.equal(entries["fate"], HELD)),
            exported=plan.rows.filter(pc.is_in(plan.rows["batch_id"], pa.array(accepted, pa.large_string()))),
        )
        if request.approved_by is None:
            return ""
        return approve(journal, request.company, request.month, plan_id=plan.plan_id, by=request.approved_by)

    def _doubts(self, sent: pa.Table) -> dict[str, str]:
        """Return the command that resolves it, by batch of the company whose outcome is unknown."""
        command = 'export resolve {} --outcome accepted|released --evidence "..." --by NAME'
        batches = sent.filter(pc.equal(sent["state"], "UNKNOWN"))["batch_id"].unique().to_pylist()
        return {batch: self._journal.command(command.format(batch)) for batch in batches}


def _of_month(
    findings: list[dict[str, Any]], history: pa.Table, month: str, compose: Callable[[pa.Table], ExportPlan]
) -> list[dict[str, Any]]:
    """Return the findings of all entries of the month, also of those that it exported: those of a first run.

    In a plan, an entry that was exported has no other findings, so those of this month are checked as if they were not.
    """
    is_accepted = pc.and_(pc.equal(history["period"], month), pc.equal(history["state"], "ACCEPTED"))
    is_accepted = pc.fill_null(is_accepted, False)
    if not pc.any(is_accepted).as_py():
        return findings
    exported = {*history.filter(is_accepted)["entry_id"].to_pylist()}
    again = compose(history.filter(pc.invert(is_accepted))).findings_table.to_pylist()
    return [*findings, *(row for row in again if row["id"] in exported and row["severity"] != "error")]


def _with_planned(accounts: pa.Table, assumed: Iterable[str]) -> pa.Table:
    """Return accounts with those that become known with the planned ones."""
    rows = [{"id": account, "archived": False, "state": "PLANNED"} for account in sorted({*assumed})]
    planned = pa.Table.from_pylist(rows, pa.schema([field.with_nullable(True) for field in ACCOUNTS]))
    return pa.concat_tables([accounts.cast(planned.schema), planned]) if rows else accounts


def _last_month(sent: pa.Table, month: str) -> pa.Table:
    """Return the entries of the last month before this one that exported something, as a table of entries."""
    accepted = sent.filter(pc.equal(sent["state"], "ACCEPTED"))
    earlier = accepted.filter(pc.fill_null(pc.less(accepted["period"], month), False))
    last = earlier.filter(pc.equal(earlier["period"], pc.max(earlier["period"])))
    names = {"entry_id": "id", "period": "sent_in"}
    return last.rename_columns([names.get(name, name) for name in last.column_names])


def _as_table(frame: pd.DataFrame) -> pa.Table:
    """Return a frame as an Arrow table that says where its rows came from."""
    return described(to_arrow(frame), source_of(frame))
