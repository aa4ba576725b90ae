"""The steps of a close, which `close_month` calls in their order, from its arguments to its record."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.close.actions import IDS_OF_STEP, MONTH_OF_STEP, TO_BE_ARCHIVED, UNKNOWN, StepResults
from bktools.close.entries import CHANGED, unsent
from bktools.contract import rules
from bktools.errors import ArgumentError, PlanError
from bktools.export import ExportPlan
from bktools.export.checks import CLEARED
from bktools.export.findings import require_category_ids
from bktools.findings.check import ERROR, EXPORTED
from bktools.frames.schema import Month
from bktools.frames.sums import has_currency
from bktools.frames.tables import described, in_memory, months_in, source_of, texts_of, typed, with_column
from bktools.journal.accounts import accounts_in, companies_in_charts
from bktools.journal.folders import clearing
from bktools.journal.periods import CLOSED, approve, record_close, require_begun, state_of
from bktools.journal.right_journal import first_export_question
from bktools.journal.statements import record_first_export
from bktools.journal.writable import WritableJournal
from bktools.ledger.inputs import options_of, postings_in
from bktools.reconcile import Reconciliation
from bktools.service import Service
from bktools.settings import Settings, require_writable
from bktools.snapshots.tables import load_categories, load_employees
from bktools.spending.expected import LEAST
from bktools.spending.rates import ExchangeRates, amounts_without_rate, in_own_currency, keep_rates
from bktools.wording import Sentence, Words


@dataclass(frozen=True)
class CloseScope:
    """What every step of a close needs: the month of which company, in which journal, and who closes it.

    `seen` is called with the name and the result of each step.
    """

    service: Service
    journal: WritableJournal
    company: str
    period: str
    apply: bool
    by: str
    words: Words
    seen: Callable[[str, Any], None]

    @property
    def settings(self) -> Settings:
        """The settings of the service."""
        return self.service.settings


def ledger_of(ledger: pd.DataFrame | None) -> pa.Table | None:
    """Return the postings of a ledger, if there is one; refuse options that no ledger has."""
    if ledger is None:
        return None
    options_of(ledger)
    return postings_in(ledger)


def month_to_close(entries: pa.Table, month: Month | None, now: dt.datetime, *, is_approved: bool) -> str:
    """Return the month of a close, by default the only month of the entries that has ended.

    Refuse entries whose dates are no dates, a month that has not begun, and the approval of one that has not
    ended.
    """
    months = sorted(months_in(entries).unique().drop_null().to_pylist())
    # The month is taken from the calendar of this machine, not from UTC.
    today = now.astimezone()
    current = f"{today:%Y-%m}"
    period = _only_month(months, current) if month is None else rules.month("month", month)
    require_begun(period, today)
    if period == current and is_approved:
        raise ArgumentError("approved_by", Sentence("rule.month_not_ended", month=current))
    return period


def _only_month(months: Sequence[str], current: str) -> str:
    """Return the only month that has ended, or the current one where none has; else ask."""
    likely = [month for month in months if month < current] or [month for month in months if month == current]
    if len(likely) != 1:
        code = "rule.which_month" if months else "rule.month_without_dates"
        raise ArgumentError("month", Sentence(code, months=", ".join(months)))
    return likely[0]


def require_writable_books(settings: Settings, chart: pa.Table, ledger: pa.Table | None) -> None:
    """Refuse to write where a setting forbids it, and beside a ledger with none of the chart's accounts.

    Such a ledger cannot show what is booked already.
    """
    require_writable(settings)
    if ledger is None:
        return
    accounts = {text for name in ("code", "external_id") for text in texts_of(chart, name)}
    if accounts.isdisjoint(ledger["account_code"].unique().to_pylist()):
        source = source_of(ledger).get("source") or "frame"
        raise PlanError(Sentence("submit.ledger_without_accounts", source=source))


def settle_first_export(scope: CloseScope, *, confirmed: bool) -> str:
    """Refuse a closed month, record a person's word on a first export, or return a dry run's question."""
    journal = scope.journal
    if scope.apply:
        journal.require_open(scope.company, [scope.period])
        if confirmed:
            record_first_export(journal, scope.company, by=scope.by)
    question = first_export_question(journal, scope.company)
    if question is None:
        return ""
    if scope.apply:
        raise question
    scope.seen("question", str(question))
    return str(question)


def rates_of_month(scope: CloseScope, entries: pa.Table, rates: ExchangeRates | None) -> ExchangeRates | None:
    """Return the rates of the month with the company's own currency; an applied close keeps them.

    Refuse rates that lack one for a day of the month, before anything is written to the service. An entry
    without a currency that exists is held back, and has no rate.
    """
    if rates is None:
        return None
    of_month = entries.filter(pc.and_(pc.equal(months_in(entries), scope.period), has_currency(entries)))
    rates = rates.into(scope.settings.currency, of_month)
    in_own_currency(of_month, rates)
    if scope.apply:
        keep_rates(rates, scope.settings, scope.company, scope.period)
    return rates


def tables_of_service(
    scope: CloseScope, entries: pa.Table, **given: pd.DataFrame | None
) -> dict[str, pa.Table]:
    """Return categories, employees and accounts as of now; categories and employees may be `given`.

    A table that the plan could not use is refused here, before anything is written to the service.
    """
    tables = {"accounts": known_accounts(scope)}
    for name, load in (("categories", load_categories), ("employees", load_employees)):
        frame: pd.DataFrame | None = given[name]
        if frame is None:
            frame = load(scope.company, refresh=True, service=scope.service)
        scope.seen(name, frame)
        tables[name] = in_memory(frame, name)
        typed(tables[name], name)
    require_category_ids(typed(entries, "entries"))
    return tables


def known_accounts(scope: CloseScope) -> pa.Table:
    """Return the accounts that are known here, with the companies of the charts that were created."""
    companies = {"companies_in_charts": companies_in_charts(scope.journal)}
    return described(accounts_in(scope.journal, scope.company), companies)


def in_chart(accounts: pa.Table, after: Reconciliation) -> pa.Table:
    """Return accounts with whether the ERP's active chart has those that categories are on."""
    coverage = after.table("coverage")
    gone = coverage.filter(pc.equal(coverage["state"], TO_BE_ARCHIVED))["account_id"]
    return with_column(accounts, "in_chart", pc.invert(pc.is_in(accounts["id"], gone.combine_chunks())))


def record_and_approve(
    scope: CloseScope, plan: ExportPlan, entries: pa.Table, approved_by: str | None
) -> str:
    """Write the close to the journal, and close the period if approved; return why it stays open."""
    if not scope.apply:
        return ""
    journal, company, month = scope.journal, scope.company, scope.period
    persons: dict[str, Any] = {"prepared_by": scope.by, "approved_by": approved_by}
    # Entries that the ledger has already belong to the month, too: its record has them.
    record_close(journal, company, month, plan_id=plan.plan_id, held_back=unsent(entries), **persons)
    return "" if approved_by is None else approve(journal, company, month, by=approved_by)


def step_results(
    scope: CloseScope,
    after: Reconciliation,
    created: list[dict[str, Any]],
    plan: ExportPlan,
    entries: pa.Table,
    sent: pa.Table,
    jobs: list[dict[str, Any]],
    own: str | None,
) -> StepResults:
    """Return what asks for steps; `own` is the company's own currency."""
    in_doubt = sent.filter(pc.equal(sent["state"], "UNKNOWN"))["batch_id"].unique().to_pylist()
    clear = scope.journal.command(clearing([IDS_OF_STEP]), scope.company)
    file = scope.words("placeholder.file")
    correct = (
        f"verify --ledger {file} --entries {file} --month {MONTH_OF_STEP} --record --by NAME --reason TEXT"
    )
    return StepResults(
        entries,
        findings=_findings(scope, plan, entries),
        accounts=after.table("findings").to_pylist(),
        jobs=jobs if scope.apply else [],
        created=created,
        unknown_outcomes={batch: scope.journal.resolve_command(batch, scope.company) for batch in in_doubt},
        own=own,
        commands={
            UNKNOWN: _import_accounts(scope),
            CHANGED: scope.journal.command(correct, scope.company),
            **dict.fromkeys(CLEARED, clear),
        },
    )


def _import_accounts(scope: CloseScope) -> str:
    """Return the command that imports the account list, which the sandbox has as a sample."""
    if not scope.settings.is_sandbox:
        return scope.journal.command(f"accounts import {scope.words('placeholder.file')}", scope.company)
    command = scope.journal.command("accounts import data/accounts.csv", scope.company)
    return f"bktools sandbox sample-data data && {command}"


def _findings(scope: CloseScope, plan: ExportPlan, entries: pa.Table) -> list[dict[str, Any]]:
    """Return the findings of entries, in which one of a closed month has a cause of its own.

    Entries that the month exported in an earlier run have what was found when it did.
    """
    is_exported = pc.equal(entries["fate"], EXPORTED)
    exported = {*entries.filter(is_exported)["id"].to_pylist()} & {*plan.held["id"].to_pylist()}
    rows = plan.finding_facts.to_pylist()
    if exported:
        earlier = plan.findings_before_sending(exported).to_pylist()
        rows += [row for row in earlier if row["severity"] != ERROR]
    late = [f"{row['date']:%Y-%m}" if row["check"] == "earlier_period" else "" for row in rows]
    closed = {month for month in {*late} if state_of(scope.journal, scope.company, month)[0] == CLOSED}
    pairs = zip(rows, late, strict=True)
    return [row | {"check": "closed_period"} if month in closed else row for row, month in pairs]


def unchecked_by(
    scope: CloseScope, after: Reconciliation, plan: ExportPlan, entries: pa.Table, expected: pa.Table
) -> tuple[str, ...]:
    """Return what was not compared and not checked, because a column, a rate or a month is missing."""
    words, known = scope.words, source_of(expected)["months_known"]
    texts = [words(f"not_compared.{code}") for code in after.not_compared]
    texts += [words.name("unchecked", code) for code in plan.unchecked]
    texts += [words("not_compared.missing", least=LEAST, known=known)] if known < LEAST else []
    without_rate = amounts_without_rate(entries)
    texts += [words("not_compared.home", amounts=without_rate)] if without_rate else []
    return tuple(texts)
