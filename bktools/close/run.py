"""`run_close`: the close, step by step, on one opened journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.close.actions import UNKNOWN, StepResults, actions_of, totals_by_role
from bktools.close.beside import (
    budget_tables,
    months_before,
    named_budget,
    with_kept_rates,
)
from bktools.close.close import Close, CloseRun
from bktools.close.entries import entries_of, unsent
from bktools.close.record import record_in
from bktools.close.request import CloseRequest, table_with_source
from bktools.errors import PlanError
from bktools.export import ExportPlan, compose_export_jobs
from bktools.export.checks import CLEARED
from bktools.export.findings import require_category_ids
from bktools.findings.check import ERROR, EXPORTED
from bktools.frames.columns import texts_of
from bktools.frames.incoming import described, source_of
from bktools.frames.sums import money_of
from bktools.frames.typed import typed
from bktools.journal.accounts import accounts_in, companies_in_charts
from bktools.journal.export_jobs import earlier_exports
from bktools.journal.folders import NOT_BOOKED
from bktools.journal.periods import CLOSED, approve, record_close, sent_entries, state_of
from bktools.journal.right_journal import first_export_question
from bktools.journal.statements import record_first_export
from bktools.journal.writable import WritableJournal
from bktools.journal.writing import open_for_writing
from bktools.reconcile import Reconciliation, reconcile_accounts
from bktools.settings import require_writable
from bktools.snapshots.tables import load_categories, load_employees
from bktools.spending.expected import LEAST
from bktools.spending.rates import with_home
from bktools.submit.accounts import create_with
from bktools.submit.export_jobs import submit
from bktools.wording import Sentence


def run_close(request: CloseRequest) -> Close:
    """Load, reconcile, create accounts, compose, submit, record; return the month: figures and actions."""
    settings = request.service.settings
    if request.apply:
        require_writable(settings)
        refuse_other_ledger(request)
    with open_for_writing(settings) as journal:
        question = settle_first_export(request, journal)
        request = with_kept_rates(request)
        tables = load_tables(request)
        budget = named_budget(request, {**tables, "accounts": accounts_in(journal, request.company)})
        chart = reconcile_and_create(request, journal, tables)
        earlier = earlier_exports(journal, request.company)
        plan = compose(request, tables, chart, earlier)
        jobs = submit(
            journal,
            plan,
            request.service,
            apply=request.apply,
            wait=request.wait,
            month=request.period,
            by=request.prepared_by,
        )
        request.seen("jobs", jobs)
        # What was sent by now, also in this run.
        history = None if request.apply else earlier["history"]
        sent = sent_entries(journal, request.company, history, {plan.plan_id: request.prepared_by})
        entries = entries_of(plan, request.period, sent, jobs, request.words)
        entries = with_home(entries, request.rates)
        stays_open = record_and_approve(request, journal, plan, entries)
        of_month = record_in(journal, request.period, request.company, settings.environment, sent)
        last_month, months = months_before(request, journal, of_month, chart.accounts, entries, sent)
        results = step_results(request, journal, chart, plan, entries, sent, jobs)
    actions = actions_of(results)
    read = {**tables, "accounts": chart.accounts}
    asked = {} if request.ledger is None else {"ledger": request.ledger}
    name = settings.title_of(request.company)
    close = Close(
        period=request.period,
        environment=settings.environment,
        company=request.company,
        company_name="" if name == request.company else name,
        currency=results.own,
        actions=actions,
        home_currency=request.rates.own if request.rates else None,
        by_role=totals_by_role(results, actions),
        words=request.words,
        record=of_month,
        last_month=last_month,
        before=chart.before,
        after=chart.after,
        run=CloseRun(
            applied=request.apply,
            begun_at=request.begun_at,
            prepared_by=request.prepared_by,
            approved_by=request.approved_by,
            stays_open=stays_open,
            question=question,
            plan=plan,
            jobs=jobs,
            created=chart.created,
            sources={name: source_of(table) for name, table in {**read, **asked}.items()},
            unchecked=_unchecked(request, chart, plan, months["expected"]),
        ),
        tables={
            **read,
            "entries": entries,
            "coverage": chart.after.table("coverage"),
            **budget_tables(request, budget, entries, months["counted_before"]["id"], read),
            **({"rates": request.rates.table} if request.rates else {}),
            **months,
        },
    )
    request.seen("close", close)
    return close


def refuse_other_ledger(request: CloseRequest) -> None:
    """Refuse a ledger with none of the chart's accounts: it cannot show what is booked already."""
    if request.ledger is None:
        return
    accounts = {text for name in ("code", "external_id") for text in texts_of(request.chart, name)}
    if accounts.isdisjoint(request.ledger["account_code"].unique().to_pylist()):
        source = source_of(request.ledger).get("source") or "frame"
        raise PlanError(Sentence("submit.ledger_without_accounts", source=source))


def settle_first_export(request: CloseRequest, journal: WritableJournal) -> str:
    """Refuse a closed month, record a person's word on a first export, or return a dry run's question."""
    if request.apply:
        journal.require_open(request.company, [request.period])
        if request.first_export:
            record_first_export(journal, request.company, by=request.prepared_by)
    question = first_export_question(journal, request.company)
    if question and request.apply:
        raise question
    if question:
        request.seen("question", str(question))
    return str(question or "")


def load_tables(request: CloseRequest) -> dict[str, pa.Table]:
    """Return the tables that the close reads: those of the files, and those of the service as of now.

    One that the plan could not use is refused here, before anything is written to the service.
    """
    tables = {"entries": request.entries, "chart": request.chart}
    for name, load in (("categories", load_categories), ("employees", load_employees)):
        frame: pd.DataFrame | None = request.loaded[name]
        if frame is None:
            frame = load(request.company, refresh=True, service=request.service)
        request.seen(name, frame)
        tables[name] = table_with_source(frame, name)
    require_category_ids(typed(tables["entries"], "entries"))
    for name in ("categories", "employees"):
        typed(tables[name], name)
    return tables


@dataclass(frozen=True, eq=False)
class ReconciledChart:
    """The chart of accounts beside the service.

    Parameters
    ----------
    before, after : Reconciliation
        Before and after accounts were created; the same in a dry run.
    created : list of rows
        The outcome of each account that was, or would be, created.
    accounts : pyarrow.Table
        The accounts that are known here now.
    """

    before: Reconciliation
    after: Reconciliation
    created: list[dict[str, Any]]
    accounts: pa.Table


def reconcile_and_create(
    request: CloseRequest, journal: WritableJournal, tables: Mapping[str, pa.Table]
) -> ReconciledChart:
    """Compare the chart with the service, and create the accounts that are missing."""
    chart, categories = tables["chart"], tables["categories"]
    companies = {"companies_in_charts": companies_in_charts(journal)}
    known = described(accounts_in(journal, request.company), companies)
    before = reconcile_accounts(chart, known, categories)
    request.seen("reconciled", before)
    created = create_with(journal, before, request.service, apply=request.apply, new_chart=request.new_chart)
    request.seen("created", created)
    accounts = described(accounts_in(journal, request.company), companies)
    after = reconcile_accounts(chart, accounts, categories) if request.apply else before
    request.seen("remaining", after)
    return ReconciledChart(before, after, created, accounts)


def compose(
    request: CloseRequest,
    tables: Mapping[str, pa.Table],
    chart: ReconciledChart,
    earlier: Mapping[str, Any],
) -> ExportPlan:
    """Return the export jobs of the month, without what was sent before."""
    plan = compose_export_jobs(
        tables["entries"],
        categories=tables["categories"],
        accounts=chart.accounts,
        employees=tables["employees"],
        **earlier,
        company=request.company,
        month=request.period,
        currency=request.service.settings.currency,
        max_entries=request.max_entries,
        ledger=request.ledger,
    )
    request.seen("plan", plan)
    return plan


def record_and_approve(
    request: CloseRequest, journal: WritableJournal, plan: ExportPlan, entries: pa.Table
) -> str:
    """Write the close to the journal, and close the period if approved; return why it stays open."""
    if not request.apply:
        return ""
    # Entries that the ledger has already belong to the month, too: its record has them.
    record_close(
        journal,
        request.company,
        request.period,
        plan_id=plan.plan_id,
        prepared_by=request.prepared_by,
        approved_by=request.approved_by,
        held_back=unsent(entries),
    )
    if request.approved_by is None:
        return ""
    return approve(journal, request.company, request.period, by=request.approved_by)


def step_results(
    request: CloseRequest,
    journal: WritableJournal,
    chart: ReconciledChart,
    plan: ExportPlan,
    entries: pa.Table,
    sent: pa.Table,
    jobs: list[dict[str, Any]],
) -> StepResults:
    """Return what asks for steps: of entries also what was found in those that this month has exported."""
    findings = [*plan.finding_facts.to_pylist(), *_of_exported(plan, entries)]
    in_doubt = sent.filter(pc.equal(sent["state"], "UNKNOWN"))["batch_id"].unique().to_pylist()
    return StepResults(
        entries,
        findings=_with_closed_months(request, journal, findings),
        accounts=chart.after.table("findings").to_pylist(),
        jobs=jobs if request.apply else [],
        created=chart.created,
        unknown_outcomes={batch: journal.resolve_command(batch, request.company) for batch in in_doubt},
        own=request.service.settings.currency or next(iter(money_of(entries)), None),
        commands={
            UNKNOWN: _import_accounts(request, journal),
            **dict.fromkeys(CLEARED, journal.command(NOT_BOOKED, request.company)),
        },
    )


def _import_accounts(request: CloseRequest, journal: WritableJournal) -> str:
    """Return the command that imports the account list, which the sandbox has as a sample."""
    if not request.service.settings.is_sandbox:
        return journal.command("accounts import FILE", request.company)
    command = journal.command("accounts import data/accounts.csv", request.company)
    return f"bktools sandbox sample-data data && {command}"


def _of_exported(plan: ExportPlan, entries: pa.Table) -> list[dict[str, Any]]:
    """Return what was found in the entries that the month exported in an earlier run, when it did."""
    is_exported = pc.equal(entries["fate"], EXPORTED)
    exported = [*{*entries.filter(is_exported)["id"].to_pylist()} & {*plan.held["id"].to_pylist()}]
    rows = plan.findings_before_sending(exported).to_pylist() if exported else []
    return [row for row in rows if row["severity"] != ERROR]


def _with_closed_months(
    request: CloseRequest, journal: WritableJournal, findings: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return findings in which an entry of a closed month has a cause of its own."""

    @cache
    def is_closed(month: str) -> bool:
        return state_of(journal, request.company, month)[0] == CLOSED

    return [
        row | {"check": "closed_period"}
        if row["check"] == "earlier_period" and is_closed(f"{row['date']:%Y-%m}")
        else row
        for row in findings
    ]


def _unchecked(
    request: CloseRequest, chart: ReconciledChart, plan: ExportPlan, expected: pa.Table
) -> tuple[str, ...]:
    words, known = request.words, source_of(expected)["months_known"]
    missing = [words("not_compared.missing", least=LEAST, known=known)] if known < LEAST else []
    return (
        *(words(f"not_compared.{code}") for code in chart.after.not_compared),
        *(words.name("unchecked", code) for code in plan.unchecked),
        *missing,
    )
