"""`close_month`: the whole close, from the files read to the folder written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, SupportsIndex

import pandas as pd

from bktools.close.actions import actions_of
from bktools.close.budget import budget_of, budget_tables, named_budget
from bktools.close.changes import changes_since, large_for_the_month
from bktools.close.close import Close, CloseRun
from bktools.close.entries import entries_of
from bktools.close.months import months_before
from bktools.close.record import record_in, verified_months
from bktools.close.steps import (
    CloseScope,
    in_chart,
    known_accounts,
    ledger_of,
    month_to_close,
    rates_of_month,
    record_and_approve,
    require_writable_books,
    settle_first_export,
    step_results,
    tables_of_service,
    unchecked_by,
)
from bktools.connection import service_or_default, words_for
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.export import compose_export_jobs
from bktools.frames.delimited import profile_named
from bktools.frames.names import with_names
from bktools.frames.schema import Month
from bktools.frames.sums import threshold_of
from bktools.frames.tables import in_memory, source_of
from bktools.journal.export_jobs import earlier_exports
from bktools.journal.periods import sent_entries
from bktools.journal.records import this_user
from bktools.journal.writing import open_for_writing
from bktools.reconcile import reconcile_accounts
from bktools.reports.folder import target_of, write_close
from bktools.service import Service
from bktools.spending.rates import kept_rates, rates_of, with_home
from bktools.submit.accounts import create_with
from bktools.submit.export_jobs import seconds_of, submit
from bktools.wording import Sentence


def close_month(
    chart: pd.DataFrame,
    entries: pd.DataFrame,
    *,
    month: Month | None = None,
    company: str | None = None,
    categories: pd.DataFrame | None = None,
    employees: pd.DataFrame | None = None,
    ledger: pd.DataFrame | None = None,
    folder: str | Path | Literal[False] | None = None,
    apply: bool = False,
    max_entries: SupportsIndex = 500,
    wait: float | dt.timedelta = 300.0,
    first_export: bool = False,
    by: str | None = None,
    approved_by: str | None = None,
    new_chart: bool = False,
    threshold: str | float | Decimal | None = None,
    rates: Any = None,
    budget: Any = None,
    language: str | None = None,
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
        As 2026-10. By default the only month of the entries that has ended, or the current one where none
        has; of several it must be given. A month that has not begun is refused, also for a dry run, because
        nothing of it can be closed yet.
    company : str, optional
        UUID or short name of the company; the configured one by default.
    categories, employees : DataFrame, optional
        As `load_categories` and `load_employees` return them for the company with `refresh=True`, the
        default.
    ledger : DataFrame, optional
        The company's general ledger, as `read_general_ledger` returns it: what it holds already is held back,
        and so is what a posting of it may be of, until somebody recorded that it is not booked.
    folder : str, Path or False, optional
        Folder for the report, the tables, the workbook, the pictures, the files that were read and the
        manifest; `month-end-2026-10` by default, with the company's name beside the close of another one. An
        earlier close in this folder is kept beside it. A dry run is written beside a close that was applied,
        in `month-end-2026-10.planned`. False writes no folder: the close is data alone.
    apply : bool
        True to create accounts and send export jobs; by default everything is planned and nothing is written
        to the service. Safe to re-run: completed steps are skipped, and the tables are those of the month.
    max_entries : int
        Entries of an export job at most, 1 or more.
    wait : float or timedelta
        Seconds that a company's job gets to end before its next batch, as in `submit_export_jobs`.
    first_export : bool
        True, with `by`, where nobody exported entries of the company before, on this computer or on any other
        one: asked once, before the first export from here.
    by : str, optional
        Name of the person who prepares the close; an applied close keeps it for ever. Default: the system's
        user.
    approved_by : str, optional
        Name of the person who approves it. With `apply` the period is closed, unless a batch of it is not
        sent or has an unknown outcome: then nothing can be sent into it any more, until it is reopened.
    new_chart : bool
        True when the company really has the chart that looks like another company's, see `create_accounts`.
    threshold : str, float or Decimal, optional
        The least change since the last close that has a row, such as 500 or "5%", as in `compare`. Default:
        1% of what was spent in the company's currency. All changes are in changes.csv.
    rates : mapping or path, optional
        What one unit of each currency is worth in the company's own, as in `spend`: the report then has all
        amounts in the company's own currency, too. An applied close keeps them for the next one.
    budget : DataFrame, optional
        The month's budget, as in `versus`: the columns of a key, such as `category_name`, and `amount`.
    language : str, optional
        Of the report, the workbook, the pictures, the to-do list and README.txt: "en" or "de"; the configured
        one by default. Codes, commands and the headings of the CSV files are English.
    profile : str
        Of the CSV files, see `to_csv`.
    seen : callable, optional
        Called with the name and the result of each step as it ends: question (of a dry run, before the first
        export of the company), categories, employees, reconciled, created, plan, jobs, close.
    service : Service, optional
        By default the one the configuration describes.

    Returns
    -------
    Close
        The month: `entries` with the fate of each, its figures and actions, what changed, the `record` from
        the journal, what is about this `run`, and the `folder` with the files. A dry run counts accounts that
        would be created as created: which categories they belong to is known only then.

    Raises
    ------
    ArgumentError, InputError
        When an argument breaks a rule, the month has not begun, the folder holds other files than a close,
        or, with `apply`, the chart looks like another company's; nothing is sent.
    ServiceError, JournalError, StorageError
        When a step fails. The journal has the completed steps, and a second run resumes after them. With
        `apply`, also when the period is closed; then nothing is sent.

    Notes
    -----
    The interface, sections 2.1, 2.4, 4.2 and 4.3.

    Examples
    --------
    >>> import bktools, tempfile
    >>> with bktools.Sandbox() as service, tempfile.TemporaryDirectory() as folder:
    ...     company = service.settings.company
    ...     chart = bktools.read_chart_of_accounts("data/chart_of_accounts.csv", company=company)
    ...     entries = bktools.read_entries("data/accounting_entries.csv")
    ...     close = bktools.close_month(chart, entries, folder=f"{folder}/october", service=service)
    ...     written = sorted(path.name for path in close.folder.iterdir())
    >>> close.period, close.state, written[0]
    ('2026-10', 'planned', 'README.txt')
    """
    profile_named(profile)
    service = service_or_default(service)
    settings, begun_at = service.settings, dt.datetime.now(dt.UTC)
    company, words = rules.company_of(settings, company), words_for(language, settings)
    if rules.flag("first_export", first_export) and by is None:
        raise ArgumentError("first_export", Sentence("rule.first_export_without_name"))
    by = this_user() if by is None else rules.a_name("by", by)
    approved_by = None if approved_by is None else rules.a_name("approved_by", approved_by)
    tables, erp_chart = {"entries": in_memory(entries, "entries")}, in_memory(chart, "chart")
    period = month_to_close(tables["entries"], month, begun_at, is_approved=approved_by is not None)
    max_entries, wait = rules.whole_number("max_entries", max_entries, smallest=1), seconds_of(wait)
    is_large = None if threshold is None else threshold_of(threshold)
    postings, budget = ledger_of(ledger), budget_of(budget, settings.currency)
    rates = kept_rates(settings, company, period) if rates is None else rates_of(rates)
    if rules.flag("apply", apply):
        require_writable_books(settings, erp_chart, postings)
    # Folders are checked before anything is sent, too.
    target = None if folder is False else target_of(folder, period, settings, company, applied=apply)
    with open_for_writing(settings) as journal:
        scope = CloseScope(service, journal, company, period, apply, by, words, seen or (lambda *_: None))
        question = settle_first_export(scope, confirmed=first_export)
        rates = rates_of_month(scope, tables["entries"], rates)
        # Load, reconcile, create accounts.
        tables |= tables_of_service(scope, tables["entries"], categories=categories, employees=employees)
        budget = named_budget(budget, period, tables, rates)
        before = after = reconcile_accounts(erp_chart, tables["accounts"], tables["categories"])
        scope.seen("reconciled", before)
        created = create_with(journal, before, service, apply=apply, new_chart=new_chart)
        scope.seen("created", created)
        if apply:
            tables["accounts"] = known_accounts(scope)
            after = reconcile_accounts(erp_chart, tables["accounts"], tables["categories"])
        # Compose, submit, record.
        earlier = earlier_exports(journal, company)
        plan = compose_export_jobs(
            **tables | {"accounts": in_chart(tables["accounts"], after)},
            **earlier,
            company=company,
            month=period,
            currency=settings.currency,
            max_entries=max_entries,
            ledger=postings,
        )
        scope.seen("plan", plan)
        jobs = submit(journal, plan, service, apply=apply, wait=wait, month=period, by=by)
        scope.seen("jobs", jobs)
        # What was sent by now, also in this run.
        sent = sent_entries(journal, company, {plan.plan_id: by})
        entries_of_month = with_home(entries_of(plan, period, sent, jobs, words), rates)
        stays_open = record_and_approve(scope, plan, entries_of_month, approved_by)
        # Figures and actions.
        record = record_in(journal, period, company, settings.environment, sent)
        last_month, figures, expected = months_before(scope, entries_of_month, sent, rates, begun_at)
        is_large = large_for_the_month(figures, rates) if is_large is None else is_large
        verified = verified_months(journal, company, sent)
        changes = changes_since(scope, last_month, record, tables["accounts"], sent, is_large)
        results = step_results(scope, after, created, plan, entries_of_month, sent, jobs, figures.own)
    actions, by_role = actions_of(results)
    read = {**tables, "chart": erp_chart, **({} if postings is None else {"ledger": postings})}
    close = Close(
        period=period,
        environment=settings.environment,
        company=company,
        company_name=settings.title_of(company),
        currency=figures.own,
        figures=figures,
        actions=actions,
        home_currency=rates and rates.own,
        by_role=by_role,
        words=words,
        record=record,
        last_month=last_month,
        before=before,
        after=after,
        run=CloseRun(
            applied=apply,
            begun_at=begun_at,
            prepared_by=by,
            approved_by=approved_by,
            stays_open=stays_open,
            question=question,
            plan=plan,
            jobs=jobs,
            created=created,
            sources={name: source_of(table) for name, table in read.items()},
            unchecked=unchecked_by(scope, after, plan, entries_of_month, expected),
        ),
        tables={
            **tables,
            "chart": erp_chart,
            "entries": entries_of_month,
            "coverage": after.table("coverage"),
            **changes,
            **budget_tables(budget, figures.spent_entries, tables, is_large, words),
            **({"rates": rates.table} if rates else {}),
            "expected": with_names(expected, categories=tables["categories"]),
            "verified": verified,
        },
    )
    scope.seen("close", close)
    return close if target is None else write_close(close, target, profile)
