"""`run_close`: the close, step by step, on one opened journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.close.actions import StepResults, actions_of, waiting_by_role
from bktools.close.changes import as_entries, large_changes, months_between
from bktools.close.close import Close, CloseRun
from bktools.close.entries import EXPORTED, HELD, IN_BOOKS, entries_of
from bktools.close.figures import GROUPS, spent_rows, spent_table
from bktools.close.record import PeriodRecord, record_in, verified_months
from bktools.close.recurring import recurring
from bktools.close.request import CloseRequest, table_of
from bktools.export import ExportPlan, compose_export_jobs
from bktools.findings.check import ERROR
from bktools.frames.columns import days_of
from bktools.frames.incoming import arrow_of, described, source_of
from bktools.frames.schema import ACCOUNTS, TEXT
from bktools.frames.sums import HOME, NOTHING, money_of
from bktools.journal.accounts import accounts_in, companies_in_charts
from bktools.journal.export_jobs import known_before
from bktools.journal.periods import (
    CLOSED,
    approve,
    held_back,
    record_close,
    sent_entries,
    state_of,
)
from bktools.journal.right_journal import first_export
from bktools.journal.statements import record_first_export
from bktools.journal.writable import WritableJournal
from bktools.journal.writing import open_for_writing
from bktools.reconcile import Reconciliation, reconcile_accounts
from bktools.settings import require_writable
from bktools.snapshots.tables import load_categories, load_employees
from bktools.spending.budgets import keys_of_budget, with_ids
from bktools.spending.differences import versus
from bktools.spending.rates import converted, in_own_currency, keep_rates
from bktools.spending.sums import KEYS
from bktools.submit.accounts import create_with
from bktools.submit.export_jobs import submit

# Of what was spent in the month in the company's own currency: a smaller change is in the CSV file alone.
LISTED_SHARE = Decimal("0.01")


def run_close(request: CloseRequest) -> Close:
    """Load, reconcile, create accounts, export the entries that are ready, and return the month."""
    settings = request.service.settings
    if request.apply:
        require_writable(settings)
    with open_for_writing(settings) as journal:
        question = begin(request, journal)
        home = home_currency(request)
        tables = loaded(request)
        budget = named_budget(request, tables)
        chart = reconciled(request, journal, tables)
        before = known_before(journal, request.company)
        plan = composed(request, tables, chart, before)
        apply, wait, period = request.apply, request.wait, request.period
        sent_now = submit(journal, plan, request.service, apply=apply, wait=wait, period=period)
        jobs = request.step("jobs", sent_now)
        # What was sent by now, also in this run.
        history = None if request.apply else before["history"]
        sent = sent_entries(journal, request.company, history, {plan.plan_id: request.prepared_by})
        entries = entries_of(plan, request.period, sent, jobs, request.words, frozenset(chart.assumed))
        entries = with_home_amounts(request, entries, home)
        stays_open = recorded(request, journal, plan, entries)
        record, last_month, of_months = months_of(request, journal, chart, entries, sent)
        spent, _ = spent_rows(entries, of_months["counted_before"]["id"])
        results = step_results(request, journal, chart, plan, entries, sent, jobs)
        actions = actions_of(results)
        sources = {name: source_of(table) for name, table in {**tables, "accounts": chart.accounts}.items()}
        name = settings.title_of(request.company)
        close = Close(
            period=request.period,
            environment=settings.environment,
            company=request.company,
            company_name="" if name == request.company else name,
            currency=results.own,
            actions=actions,
            home_currency=home,
            by_role=waiting_by_role(results, actions),
            words=request.words,
            record=record,
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
                sources=sources,
                unchecked=_unchecked(request, chart, plan),
            ),
            tables={
                **tables,
                "accounts": chart.accounts,
                "entries": entries,
                "coverage": chart.after.table("coverage"),
                **budget_of(request, budget, spent),
                **({"rates": request.rates.table} if request.rates else {}),
                **of_months,
            },
        )
        return request.step("close", close)


def begin(request: CloseRequest, journal: WritableJournal) -> str:
    """Refuse a closed month, and a first export that nobody answered for; return a dry run's question."""
    if request.apply:
        journal.require_open(request.company, [request.period])
        if request.first_export:
            record_first_export(journal, request.company, by=request.prepared_by)
    question = first_export(journal, request.company)
    if question and request.apply:
        raise question
    if question:
        request.step("question", str(question))
    return str(question or "")


def loaded(request: CloseRequest) -> dict[str, pa.Table]:
    """Return the tables that the close reads: those of the files, and those of the service as of now."""
    tables = {"entries": request.entries, "chart": request.chart}
    for name, load in (("categories", load_categories), ("employees", load_employees)):
        frame: pd.DataFrame | None = request.loaded[name]
        if frame is None:
            frame = load(request.company, refresh=True, service=request.service)
        tables[name] = table_of(request.step(name, frame), name)
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
    assumed : mapping of str to str
        Of a dry run: the account of each category whose account becomes known with the planned ones. Which of
        them get a category's account is unknown before they are created, so all of them are assumed.
    """

    before: Reconciliation
    after: Reconciliation
    created: list[dict[str, Any]]
    accounts: pa.Table
    assumed: Mapping[str, str]


def reconciled(
    request: CloseRequest, journal: WritableJournal, tables: Mapping[str, pa.Table]
) -> ReconciledChart:
    """Compare the chart with the service, and create the accounts that are missing."""
    chart, categories = tables["chart"], tables["categories"]
    companies = {"companies_in_charts": companies_in_charts(journal)}
    known = described(accounts_in(journal, request.company), companies)
    before = request.step("reconciled", reconcile_accounts(chart, known, categories))
    created = create_with(
        journal,
        before,
        before.table("actions"),
        apply=request.apply,
        new_chart=request.new_chart,
        service=request.service,
    )
    request.step("created", created)
    accounts = described(accounts_in(journal, request.company), companies)
    after = reconcile_accounts(chart, accounts, categories) if request.apply else before
    assumed: dict[str, str] = {}
    if not request.apply and created and (request.new_chart or not before.doubts):
        coverage = before.table("coverage").to_pylist()
        assumed = {
            row["category_id"]: row["account_id"] for row in coverage if row["state"] == "unknown_account"
        }
    return ReconciledChart(before, request.step("remaining", after), created, accounts, assumed)


def composed(
    request: CloseRequest,
    tables: Mapping[str, pa.Table],
    chart: ReconciledChart,
    before: Mapping[str, Any],
) -> ExportPlan:
    """Return the export jobs of the month, without what was sent before."""
    plan = compose_export_jobs(
        tables["entries"],
        categories=tables["categories"],
        accounts=_with_planned(chart.accounts, chart.assumed.values()),
        employees=tables["employees"],
        **before,
        company=request.company,
        period=request.period,
        currency=request.service.settings.currency,
        max_entries=request.max_entries,
        ledger=request.ledger,
    )
    return request.step("plan", plan)


def recorded(request: CloseRequest, journal: WritableJournal, plan: ExportPlan, entries: pa.Table) -> str:
    """Write the close to the journal, and close the period if approved; return why it stays open."""
    if not request.apply:
        return ""
    # Entries that the ledger has already belong to the month, too: its record has them.
    is_unsent = pc.is_in(entries["fate"], pa.array([HELD, IN_BOOKS], TEXT))
    record_close(
        journal,
        request.company,
        request.period,
        plan_id=plan.plan_id,
        prepared_by=request.prepared_by,
        approved_by=request.approved_by,
        held_back=entries.filter(is_unsent),
    )
    if request.approved_by is None:
        return ""
    return approve(journal, request.company, request.period, plan_id=plan.plan_id, by=request.approved_by)


def months_of(
    request: CloseRequest,
    journal: WritableJournal,
    chart: ReconciledChart,
    of_month: pa.Table,
    sent: pa.Table,
) -> tuple[PeriodRecord, str, dict[str, pa.Table]]:
    """Return the record of the month, the last month before it that exported anything, and tables of both.

    The tables are last (entries of the last month, with their fates), earlier (entries of all months before),
    counted_before (the IDs of entries that they held back), expected (what comes every month and is missing),
    verified (the last verification of each month), and where there is a last month, changes since then: the
    large ones, and all_changes. `of_month` are the entries of the month.
    """
    environment = request.service.settings.environment
    record = record_in(journal, request.period, request.company, environment, sent)
    entries = as_entries(sent)
    held = as_entries(held_back(journal, request.company, sent))
    exported = _before(entries.filter(pc.equal(entries["state"], "ACCEPTED")), request.period)
    earlier = pa.concat_tables([part.select(GROUPS) for part in (exported, _before(held, request.period))])
    is_counted = pc.less(held["first_held_in"], request.period)
    last = str(pc.max(exported["sent_in"]).as_py() or "")
    tables = {
        "earlier": earlier,
        "counted_before": held.filter(is_counted).select(["id"]),
        "last": spent_table(last, entries, held),
        "expected": recurring(of_month, entries, held, request.period, last),
        "verified": verified_months(journal, request.company),
    }
    if last and len(record.tables["events"]):
        before = record_in(journal, last, request.company, environment, sent)
        changes = months_between(before, record, chart.accounts, request.service, request.words)
        spent, _ = spent_rows(of_month, tables["counted_before"]["id"])
        is_large = request.is_large_change or _large_share(request, spent)
        tables |= {"all_changes": changes, "changes": large_changes(changes, is_large)}
    return record, last, tables


def _large_share(request: CloseRequest, spent: pa.Table) -> Callable[[Mapping[str, Any]], bool]:
    """Return whether a change is `LISTED_SHARE` of what was spent in the company's currency, or more.

    A change in another currency is as large as its rate of the month's end makes it, and small without one.
    """
    own = request.service.settings.currency or next(iter(money_of(spent)), None)
    money = money_of(spent, own).get(own or "", NOTHING)
    least = LISTED_SHARE * abs(money.amount or Decimal(0))
    end = days_of(spent).drop_null()
    last_day = pc.max(end).as_py() if len(end) else None

    def is_large(row: Mapping[str, Any]) -> bool:
        rate = request.rates.at(row["currency"], last_day) if request.rates else None
        rate = Decimal(1) if row["currency"] == own else rate
        return rate is not None and bool(abs(row["difference"]) * rate >= least)

    return is_large


def home_currency(request: CloseRequest) -> str | None:
    """Return the currency into which amounts are converted, None without rates; keep the rates of the month.

    Refuse rates that lack one for a day of the month, before anything is written to the service.
    """
    if request.rates is None:
        return None
    settings = request.service.settings
    month = pc.utf8_slice_codeunits(pc.cast(days_of(request.entries), pa.string()), 0, len("2026-10"))
    of_month = request.entries.filter(pc.fill_null(pc.equal(month, request.period), False))
    _, own = in_own_currency(of_month, request.rates, settings.currency)
    keep_rates(request.rates, settings, request.company, request.period)
    return own


def with_home_amounts(request: CloseRequest, entries: pa.Table, home: str | None) -> pa.Table:
    """Return entries with their amount in the company's own currency, where rates were given."""
    if request.rates is None or home is None:
        return entries
    amounts = converted(entries, request.rates, home)
    currencies = pa.repeat(pa.scalar(home, TEXT), len(entries))
    return entries.append_column(HOME, amounts).append_column("home_currency", currencies)


def named_budget(request: CloseRequest, tables: Mapping[str, pa.Table]) -> pa.Table | None:
    """Return the budget with IDs, if there is one; refuse unclear names before the service is written to."""
    if request.budget is None:
        return None
    frames = {name: tables[name] for name in ("categories", "employees")}
    return with_ids(request.budget, keys_of_budget(request.budget), source="budget", **frames)


def budget_of(request: CloseRequest, budget: pa.Table | None, spent: pa.Table) -> dict[str, pa.Table]:
    """Return what was spent beside the budget, by the keys that the budget has; nothing without a budget."""
    if budget is None:
        return {}
    keys = keys_of_budget(budget)
    rows = arrow_of(versus(spent, budget, by=keys, every=True, language=request.words.language), "budget")
    place = rows.column_names.index("percent")
    share = pc.cast(pc.round(rows["percent"], 1), pa.decimal128(38, 1))
    rows = rows.set_column(place, "percent", share)
    # All are of one company. An ID stands in for a name that is not known.
    parts = [KEYS[key] for key in keys if key != "company"]
    labels = []
    for row in rows.to_pylist():
        known = [row[name] for names, _ in parts for name in names if row.get(name)]
        labels.append(" ".join(known or [row[one] for _, one in parts if one and row.get(one)]))
    rows = rows.add_column(0, "about", pa.array(labels, TEXT))
    sides = {"this": "spent", "that": "budget"}
    rows = rows.rename_columns([sides.get(name, name) for name in rows.column_names])
    is_large = request.is_large_change or _large_share(request, spent)
    large = pa.array([is_large(row) for row in rows.to_pylist()], pa.bool_())
    return {"all_budget": rows, "budget": rows.filter(large)}


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
        coverage=chart.after.table("coverage").to_pylist(),
        accounts=chart.after.table("findings").to_pylist(),
        jobs=jobs if request.apply else [],
        created=chart.created,
        unknown_outcomes={batch: journal.settling(batch, request.company) for batch in in_doubt},
        own=request.service.settings.currency or next(iter(money_of(entries)), None),
        import_accounts=journal.command("accounts import FILE", request.company),
    )


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
    closed: dict[str, bool] = {}
    for row in findings:
        if row["check"] == "earlier_period":
            month = f"{row['date']:%Y-%m}"
            if month not in closed:
                closed[month] = state_of(journal, request.company, month)[0] == CLOSED
            row["check"] = "closed_period" if closed[month] else row["check"]
    return findings


def _unchecked(request: CloseRequest, chart: ReconciledChart, plan: ExportPlan) -> tuple[str, ...]:
    words = request.words
    return (
        *(words(f"not_compared.{code}") for code in chart.after.not_compared),
        *(words.name("unchecked", code) for code in plan.unchecked),
    )


def _with_planned(accounts: pa.Table, assumed: Iterable[str]) -> pa.Table:
    """Return accounts with those that become known with the planned ones."""
    rows = [{"id": account, "archived": False, "state": "PLANNED"} for account in sorted({*assumed})]
    planned = pa.Table.from_pylist(rows, pa.schema([field.with_nullable(True) for field in ACCOUNTS]))
    return pa.concat_tables([accounts.cast(planned.schema), planned]) if rows else accounts


def _before(rows: pa.Table, month: str) -> pa.Table:
    """Return the entries of the journal that are of the months before this one."""
    return rows.filter(pc.fill_null(pc.less(rows["sent_in"], month), False))
