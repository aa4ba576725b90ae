"""`bktools month-end`: the whole close, with a line for each step."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bktools
from bktools.cli import options, reading, results
from bktools.cli.exits import Exit
from bktools.cli.options import option
from bktools.contract import rules
from bktools.wording import Words, words
from bktools.wording.numbers import number

if TYPE_CHECKING:
    from bktools.close.close import Close
    from bktools.export import ExportPlan
    from bktools.reconcile import Reconciliation

Say = Callable[[str], None]

# By the word of --fail-on.
FAIL_ON: dict[str, Callable[[Close], bool]] = {
    "held": lambda close: any(line["fate"] == "held_back" for line in close.figures.statement),
    "error": lambda close: close.severities["error"] > 0,
    "warning": lambda close: any(close.severities.values()),
}


@dataclass(frozen=True)
class Arguments:
    """The options that are arguments of `close_month`, by the same names."""

    apply: bool = options.APPLY
    month: str | None = options.month("The month, such as 2026-10; by default the only one that has ended.")
    max_entries: int = options.MAX_ENTRIES
    wait: float = options.WAIT
    first_export: bool = options.FIRST_EXPORT
    by: str | None = option(
        "--by NAME", "Who prepares the close; kept permanently. By default the system's user."
    )
    approved_by: str | None = option(
        "--approved-by NAME", "Who approves it; with --apply this closes the period."
    )
    new_chart: bool = options.NEW_CHART
    threshold: str | None = options.THRESHOLD
    rates: Path | None = options.RATES
    folder: Path | None = option("--out FOLDER", "Folder to write; by default month-end-YYYY-MM.")
    profile: options.Profile = "excel"


def month_end(
    arguments: Arguments,
    books: options.Company,
    text: results.Text,
    chart: reading.Chart = None,
    entries: reading.Entries = None,
    ledger: reading.AskedLedger = None,
    exported_at: dt.datetime | None = options.EXPORTED_AT,
    mapping: reading.MappingOption = None,
    budget: Path | None = option(
        "--budget FILE", "The month's budget: columns such as category, or account, and amount."
    ),
    company_name: str | None = option(
        "--company-name NAME", "The company's full name, for titles; kept for the next closes."
    ),
    fail_on: str | None = option(
        "--fail-on SEVERITY",
        "Exit 11 when entries are held back (held), or something is to be done (error, or warning "
        "and worse).",
        callback=options.one_of("fail_on", FAIL_ON),
    ),
) -> Exit:
    """Close a month: reconcile, create accounts, export, report.

    Entries that are ready are exported; the others are listed with the reasons and wait for the next close.
    Everything is written to a folder. Without --apply, nothing is written to the service. Safe to re-run:
    completed steps are skipped.

    Example: bktools month-end --sandbox --apply
    """
    from bktools.close.sentences import step_of
    from bktools.connection import keep_company_name
    from bktools.journal.export_jobs import open_questions

    say = text.say
    with books.connected() as service:
        company_id = rules.company_of(service.settings)
        if company_name is not None:
            service.settings = keep_company_name(service.settings, company_id, company_name)
        settings = service.settings
        for question in open_questions(company_id, service=service):
            say(f"{question}\n")
        texts = words()
        place = texts("report.sandbox") if settings.is_sandbox else settings.environment
        say(f"{texts('report.terminal.head', name=settings.title_of(company_id), environment=place)}\n")
        if chart is None or not entries:
            sample = reading.samples(service, "--chart and --entries")
            chart, entries = chart or sample[0], entries or [sample[1]]
        accounts = reading.read(bktools.read_chart_of_accounts, "chart", chart, mapping, company=company_id)
        say(_line(texts, "chart", reading.recognised(accounts.attrs["bktools"])))
        # Loaded once: names in the entries are looked up in them, and the close is made from them.
        tables = reading.tables_of(service, company_id, refresh=True)
        rows = reading.read_entries(entries, mapping, company_id, tables, required=("category_id",))
        say(_line(texts, "entries", reading.recognised(rows.attrs["bktools"])))
        close = bktools.close_month(
            accounts,
            rows,
            ledger=reading.read_ledger(ledger, mapping, exported_at),
            company=company_id,
            categories=tables["categories"],
            employees=tables["employees"],
            budget=None if budget is None else reading.read_entries([budget], mapping, company_id, tables),
            seen=partial(_say_step, say, texts),
            service=service,
            **vars(arguments),
        )
    _say_to_do(say, close)
    if missing := missing_in(close):
        say(f"\n{missing}")
    _say_persons(say, close, is_named=arguments.by is not None)
    _say_where(say, close)
    questions = [
        f"{step.about}: {step.to_do}: {action.command}"
        for action in close.actions
        if action.code == "in_doubt" and (step := step_of(close.words, action))
    ]
    text.report(
        **close.for_programs,
        folder=close.folder,
        earlier_folder=close.earlier_folder,
        outcome_unknown=questions,
    )
    if questions or (arguments.apply and close.run.is_incomplete):
        return Exit.INCOMPLETE
    return Exit.FINDINGS if fail_on is not None and FAIL_ON[fail_on](close) else Exit.DONE


def missing_in(close: Close) -> str:
    """Return what comes every month and is missing in a line, "" where nothing is."""
    from bktools.close.sentences import valued

    suppliers = [*dict.fromkeys(close.missing["supplier"].to_pylist())]
    value = valued(close.words, close.accrual)
    return close.words("report.terminal.missing", value=value, suppliers=suppliers) if suppliers else ""


def _say_where(say: Say, close: Close) -> None:
    """Say where the close was written, and what was not done."""
    from bktools.journal.folders import command_for

    texts = close.words
    if not close.company_name and not close.is_sandbox:
        say(texts("report.terminal.no_name"))
    say(f"\n{texts('report.terminal.written', folder=close.folder)}")
    if close.earlier_folder:
        say(texts("report.terminal.earlier", folder=close.earlier_folder))
    if not close.run.applied:
        planned = "planned_closed" if close.record.state == "CLOSED" else "planned"
        reopen = command_for(close.environment, f"periods reopen {close.period}", close.company)
        say(texts(f"report.terminal.{planned}", command=reopen))


def _say_persons(say: Say, close: Close, *, is_named: bool) -> None:
    run, texts = close.run, close.words
    line = texts(f"report.terminal.{'prepared' if is_named else 'prepared_by_user'}", by=run.prepared_by)
    if run.approved_by:
        key = "approved_by_same" if run.approved_by == run.prepared_by else "approved"
        line = texts(f"report.terminal.{key}", prepared=line, by=run.approved_by)
    if run.applied and run.approved_by:
        line = f"{line}; {run.stays_open or texts('report.terminal.closed', month=close.period)}"
    say(f"\n{line}")


def _plan(plan: ExportPlan, texts: Words) -> str:
    from bktools.frames.sums import number_of_entries

    count = number_of_entries(plan.rows)
    if not count:
        return texts("report.terminal.nothing_to_send")
    return texts("report.terminal.to_send", entries=count, jobs=len(plan.batches))


def _figures(close: Close, texts: Words) -> str:
    first, *others = close.lines
    return "\n".join([first, *(_line(texts, "", line) for line in others)])


def _actions(reconciliation: Reconciliation, texts: Words) -> str:
    counts = Counter(reconciliation.table("actions")["action"].to_pylist())
    parts = [texts(f"report.account_action.{action}", count=count) for action, count in counts.most_common()]
    return ", ".join(parts) or texts("report.none")


def _outcomes(rows: list[dict[str, Any]], texts: Words) -> str:
    counts = Counter(row["outcome"].lower() for row in rows).most_common()
    parts = [f"{number(count, texts.language)} {texts.name('outcome', outcome)}" for outcome, count in counts]
    return ", ".join(parts) or texts("report.none")


def _rows(frame: Any, texts: Words) -> str:
    return texts.counted(len(frame), "row")


# By step of a close: the function that formats its result.
STEPS: dict[str, Callable[[Any, Words], str]] = {
    "question": lambda text, _: str(text),
    "categories": _rows,
    "employees": _rows,
    "reconciled": _actions,
    "created": _outcomes,
    "plan": _plan,
    "jobs": _outcomes,
    "close": _figures,
}


def _say_step(say: Say, texts: Words, step: str, result: Any) -> None:
    if step in STEPS:
        say(_line(texts, "" if step == "question" else step, STEPS[step](result, texts)))


def _line(texts: Words, step: str, text: str) -> str:
    return f"  {texts(f'report.terminal.{step}') if step else '':<12} {text}"


# Things to do in a terminal, at most; the report has all of them.
SHOWN_ACTIONS = 8


def _say_to_do(say: Say, close: Close) -> None:
    from bktools.close.sentences import step_of, valued
    from bktools.reconcile.reconciliation import doubt_in_words

    texts, report = close.words, f"{close.folder}/report.html"
    errors, warnings = close.severities["error"], close.severities["warning"]
    lines = [f"\n{texts('report.terminal.to_do', errors=errors, warnings=warnings)}"]
    if close.before.doubts and not close.run.applied:
        lines.append(f"  {doubt_in_words(close.before.doubts, texts)}")
    own = [action for action in close.actions if not action.is_apart]
    for action in own[:SHOWN_ACTIONS]:
        step = step_of(texts, action)
        lines.append(
            f"  {texts('report.terminal.action', who=step.who, to_do=step.to_do)} ({valued(texts, action)})"
        )
        lines += [f"      {text}" for text in (step.about, step.why, action.command) if text]
    more, apart = len(own) - SHOWN_ACTIONS, len(close.actions) - len(own)
    lines += [f"  {texts('report.terminal.more', count=more, file=report)}"] if more > 0 else []
    lines += [f"  {texts('report.terminal.apart', count=apart, file=report)}"] if apart else []
    lines += [f"  {texts('report.terminal.not_checked', phrase=phrase)}" for phrase in close.run.unchecked]
    if len(lines) > 1:
        say("\n".join(lines))
    if close.changed:
        not_compared = [
            texts("report.terminal.not_compared", phrase=one) for one in close.changed["not_compared"]
        ]
        lines = [*close.changed["headline"], *not_compared] or [texts("report.terminal.nothing_changed")]
        head = texts("report.terminal.since", month=close.last_month)
        say("\n".join([f"\n{head}", *(f"  {line}" for line in lines)]))
