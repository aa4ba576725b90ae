"""`Closing`: the close, step by step, on one opened journal."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, SupportsIndex, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import name_of, setting
from bktools.close.actions import Actions
from bktools.close.changes import as_entries, months_between
from bktools.close.close import Close, Run
from bktools.close.entries import HELD, entries_of
from bktools.close.figures import GROUPS
from bktools.close.record import record_in
from bktools.connection import company_named, words_for
from bktools.contract import rules
from bktools.errors import ArgumentError, InputError
from bktools.export import ExportPlan, compose_export_jobs
from bktools.findings.check import ERROR
from bktools.frames.incoming import arrow_of, described, source_of
from bktools.frames.schema import ACCOUNTS, Month
from bktools.frames.sums import money_of, threshold_of
from bktools.journal.accounts import accounts_in, companies_in_charts
from bktools.journal.export_jobs import history_of
from bktools.journal.periods import approve, held_back, record_close, sent_entries
from bktools.journal.records import this_user
from bktools.journal.right_journal import first_export
from bktools.journal.statements import not_booked, record_first_export
from bktools.journal.writing import open_for_writing
from bktools.reconcile import Reconciliation, reconcile_accounts
from bktools.service import Service
from bktools.snapshots.tables import load_categories, load_employees
from bktools.submit.accounts import create_with
from bktools.submit.export_jobs import Submission
from bktools.wording import Words

Result = TypeVar("Result")

# A month with less than this share of the busiest month is not closed by default: dates may be mistyped.
LEAST_SHARE = 0.05
SHOWN_MONTHS = 3


@dataclass(eq=False)
class Closing:
    """A close that is to be made, with the arguments of `close_month`, which are checked; `run` makes it.

    Raises
    ------
    ArgumentError, InputError
        When an argument breaks a rule, the month has not begun, or it is to be approved and has not ended.
    """

    service: Service
    chart: pd.DataFrame
    entries: pd.DataFrame
    month: Month | None
    company: str | None
    categories: pd.DataFrame | None
    employees: pd.DataFrame | None
    ledger: pd.DataFrame | None
    apply: bool
    max_entries: SupportsIndex
    wait: float | dt.timedelta
    first_export: bool
    by: str | None
    approved_by: str | None
    before_month_end: bool
    new_chart: bool
    threshold: str | float | Decimal | None
    language: str | None
    seen: Callable[[str, Any], None] | None

    def __post_init__(self) -> None:
        settings = self.service.settings
        company = self.company or settings.company
        if company is None:
            raise ArgumentError("company", "must name the company to close (or set BKTOOLS_COMPANY)")
        self.company_id = company_named(company, settings)
        if rules.flag("first_export", self.first_export) and self.by is None:
            raise ArgumentError(
                name_of("first_export"), f"needs {setting('by')}: who says that nobody exported before"
            )
        self.prepared_by = this_user() if self.by is None else rules.a_name("by", self.by)
        self.approved_by = None if self.approved_by is None else rules.a_name("approved_by", self.approved_by)
        self.begun_at = dt.datetime.now(dt.UTC)
        self.apply = rules.flag("apply", self.apply)
        self.tables = _as_table(self.chart, "chart"), _as_table(self.entries, "entries")
        # The month is taken from the calendar of this machine, not from UTC.
        today = self.begun_at.astimezone()
        if "date" in self.entries and not pd.api.types.is_datetime64_any_dtype(self.entries["date"]):
            raise InputError("the column date of the entries holds no dates: read them with read_entries")
        self.period = (
            month_of(self.entries, today) if self.month is None else rules.month("month", self.month)
        )
        is_early = rules.flag("before_month_end", self.before_month_end)
        current = f"{today:%Y-%m}"
        if self.period > current:
            raise ArgumentError(name_of("month"), f"must have begun: today is {today:%Y-%m-%d}", self.period)
        if self.period == current and self.approved_by is not None and not is_early:
            raise ArgumentError(
                name_of("approved_by"),
                f"closes {current}, which has not ended: approve it when it has, "
                f"or say that it is meant with {setting('before_month_end', value=True)}",
            )
        self.is_large_change = threshold_of(self.threshold)
        self.words = words_for(self.language, settings)

    def run(self) -> Close:
        """Load, reconcile, create accounts, export the entries that are ready, and return the month."""
        with open_for_writing(self.service.settings) as self._journal:
            if self.apply:
                self._journal.require_open(self.company_id, [self.period])
                if self.first_export:
                    record_first_export(self._journal, self.company_id, by=self.prepared_by)
                if question := first_export(self._journal, self.company_id):
                    raise question
            return self._closed()

    def _closed(self) -> Close:
        company, month, service, journal = self.company_id, self.period, self.service, self._journal
        settings = service.settings
        if self.month is None:
            self._step("month", why_this_month, self.entries, month, self.words)
        categories = self._loaded("categories", self.categories, load_categories)
        employees = self._loaded("employees", self.employees, load_employees)
        chart, entries = self.tables
        charts = {"companies_in_charts": companies_in_charts(journal)}
        accounts = described(accounts_in(journal, company), charts)
        before = self._step("reconciled", reconcile_accounts, chart, accounts, categories)
        created = self._step(
            "created",
            create_with,
            journal,
            before,
            before.table("actions"),
            apply=self.apply,
            new_chart=self.new_chart,
            service=service,
        )
        accounts = described(accounts_in(journal, company), charts)
        after = self._step(
            "remaining", lambda: reconcile_accounts(chart, accounts, categories) if self.apply else before
        )
        assumed = self._assumed(before, created)
        # The history of all companies: an entry sent for another company is not sent again.
        history = history_of(journal, "sent")
        elsewhere, cleared = journal.exported_elsewhere(company), not_booked(journal, company)

        def compose(sent: pa.Table) -> ExportPlan:
            return compose_export_jobs(
                entries,
                categories=categories,
                accounts=_with_planned(accounts, assumed.values()),
                employees=employees,
                history=described(sent, {"journal": journal.id}),
                company=company,
                period=month,
                currency=settings.currency,
                max_entries=self.max_entries,
                ledger=self.ledger,
                exported_elsewhere=[*elsewhere],
                not_booked=[*cleared],
            )

        plan = self._step("plan", compose, history)
        submission = Submission(
            journal,
            plan,
            service,
            apply=self.apply,
            wait=self.wait,
            period=month,
        )
        jobs = self._step("jobs", submission.rows)
        persons = {plan.plan_id: self.prepared_by} if self.apply else {}
        sent = sent_entries(journal, company, None if self.apply else history, persons)
        rows = entries_of(plan, month, sent, jobs, self.words, frozenset(assumed))
        stays_open = self._recorded(plan, rows) if self.apply else ""
        record = record_in(journal, month, company, settings.environment, sent)
        own = settings.currency or next(iter(money_of(rows)), None)
        coverage = after.table("coverage")
        in_doubt = sent.filter(pc.equal(sent["state"], "UNKNOWN"))["batch_id"].unique().to_pylist()
        actions = Actions(
            rows,
            findings=_of_month(plan, history, month, compose),
            coverage=coverage.to_pylist(),
            accounts=after.table("findings").to_pylist(),
            jobs=jobs if self.apply else [],
            created=created,
            own=own,
            unknown_outcomes={batch: journal.settling(batch, company) for batch in in_doubt},
            import_accounts=journal.command("accounts import FILE", company),
        )
        listed = actions.all()
        tables = {"categories": categories, "employees": employees, "chart": chart, "accounts": accounts}
        sources = {name: source_of(table) for name, table in {**tables, "entries": entries}.items()}
        earlier_entries = _before(sent.filter(pc.equal(sent["state"], "ACCEPTED")), month)
        last = earlier_entries.filter(
            pc.equal(earlier_entries["sent_in"], pc.max(earlier_entries["sent_in"]))
        )
        waiting = _before(held_back(journal, company, sent), month)
        earlier_groups = pa.concat_tables([part.select(GROUPS) for part in (earlier_entries, waiting)])
        tables |= {"entries": rows, "coverage": coverage, "last": last, "earlier": earlier_groups}
        if len(last) and len(record.tables["events"]):
            earlier = record_in(journal, last["sent_in"][0].as_py(), company, settings.environment, sent)
            tables["changes"] = months_between(
                earlier, record, accounts, service, self.is_large_change, self.words
            )
        name = settings.name_of(company)
        unchecked = [self.words(f"not_compared.{code}") for code in after.not_compared]
        unchecked += [self.words.name("unchecked", code) for code in plan.unchecked]
        run = Run(
            applied=self.apply,
            begun_at=self.begun_at,
            prepared_by=self.prepared_by,
            approved_by=self.approved_by,
            stays_open=stays_open,
            plan=plan,
            jobs=jobs,
            created=created,
            sources=sources,
            unchecked=tuple(unchecked),
        )
        return self._step(
            "close",
            Close,
            period=month,
            environment=settings.environment,
            company=company,
            company_name="" if name == company else name,
            currency=own,
            actions=listed,
            by_role=actions.by_role(listed),
            words=self.words,
            record=record,
            before=before,
            after=after,
            run=run,
            tables=tables,
        )

    def _step(self, name: str, work: Callable[..., Result], *values: Any, **options: Any) -> Result:
        result = work(*values, **options)
        if self.seen is not None:
            self.seen(name, result)
        return result

    def _loaded(self, name: str, frame: pd.DataFrame | None, load: Callable[..., pd.DataFrame]) -> pa.Table:
        load = load if frame is None else lambda *_, **_options: frame
        return _as_table(self._step(name, load, self.company_id, refresh=True, service=self.service), name)

    def _assumed(self, before: Reconciliation, created: list[dict[str, Any]]) -> dict[str, str]:
        """Return the account of each category whose account becomes known when the planned ones are created.

        Which of them get a category's account is unknown before they are created; a dry run assumes all of
        them.
        """
        if self.apply or not created or (before.doubts and not self.new_chart):
            return {}
        unknown = (row for row in before.table("coverage").to_pylist() if row["state"] == "unknown_account")
        return {row["category_id"]: row["account_id"] for row in unknown}

    def _recorded(self, plan: ExportPlan, entries: pa.Table) -> str:
        """Write the close to the journal, and close the period if approved; return why it stays open."""
        record_close(
            self._journal,
            self.company_id,
            self.period,
            plan_id=plan.plan_id,
            prepared_by=self.prepared_by,
            approved_by=self.approved_by,
            held_back=entries.filter(pc.equal(entries["fate"], HELD)),
        )
        if self.approved_by is None:
            return ""
        return approve(self._journal, self.company_id, self.period, plan_id=plan.plan_id, by=self.approved_by)


def _of_month(
    plan: ExportPlan, history: pa.Table, month: str, compose: Callable[[pa.Table], ExportPlan]
) -> list[dict[str, Any]]:
    """Return the findings of all entries of the month, also of those that it exported: those of a first run.

    An exported entry has no other findings in a plan, so this month's are checked as if not exported.
    """
    findings: list[dict[str, Any]] = plan.found.to_pylist()
    is_accepted = pc.and_(pc.equal(history["period"], month), pc.equal(history["state"], "ACCEPTED"))
    is_accepted = pc.fill_null(is_accepted, False)
    if not pc.any(is_accepted).as_py():
        return findings
    exported = {*history.filter(is_accepted)["entry_id"].to_pylist()}
    again = compose(history.filter(pc.invert(is_accepted))).found.to_pylist()
    return [*findings, *(row for row in again if row["id"] in exported and row["severity"] != ERROR)]


def _with_planned(accounts: pa.Table, assumed: Iterable[str]) -> pa.Table:
    """Return accounts with those that become known with the planned ones."""
    rows = [{"id": account, "archived": False, "state": "PLANNED"} for account in sorted({*assumed})]
    planned = pa.Table.from_pylist(rows, pa.schema([field.with_nullable(True) for field in ACCOUNTS]))
    return pa.concat_tables([accounts.cast(planned.schema), planned]) if rows else accounts


def _before(rows: pa.Table, month: str) -> pa.Table:
    """Return entries of the journal that are of the months before this one, as a table of entries."""
    return as_entries(rows.filter(pc.fill_null(pc.less(rows["period"], month), False)))


def _as_table(frame: pd.DataFrame, name: str) -> pa.Table:
    return described(arrow_of(frame, name), source_of(frame))


def month_of(entries: pd.DataFrame, today: dt.datetime) -> str:
    """Return the month to close: never decided by a few entries, and never in the future."""
    counts = _counts(entries)
    if counts.empty:
        raise ArgumentError(name_of("month"), "must be given: the entries have no dates")
    current = f"{today:%Y-%m}"
    past = counts[counts.index <= current]
    if past.empty:
        first = counts.index.min()
        raise ArgumentError(
            name_of("month"),
            f"must be given: no entry is dated in {current} or before, the first month is {first}",
        )
    ended = past[past.index < current]
    likely = past if ended.empty else ended
    return str(likely.index[likely >= likely.max() * LEAST_SHARE].max())


def why_this_month(entries: pd.DataFrame, period: str, words: Words) -> str:
    """Return a sentence with the chosen month and the number of entries in other months."""
    counts = _counts(entries)
    # The latest months first: their entries wait for the next close, or their dates are mistyped.
    others = [
        words("report.terminal.of_month", count=count, month=month)
        for month, count in counts[counts.index != period][::-1].items()
    ]
    outside = words.listed(others, most=SHOWN_MONTHS) or None
    way = setting("month", "YYYY-MM")
    return words("report.terminal.chosen_month", period=period, others=outside, way=way)


def _counts(entries: pd.DataFrame) -> pd.Series:
    """Return the number of entries of each month, the earliest first."""
    if "date" not in entries.columns:
        return pd.Series(dtype="int64")
    months: pd.Series = entries["date"].dropna().dt.strftime("%Y-%m").value_counts().sort_index()
    return months
