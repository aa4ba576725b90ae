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

Say = Callable[[str], None]

# The width of the names of steps.
LONGEST_STEP = 14
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
    by: str | None = option("--by NAME", "Who prepares it; kept permanently. By default the system's user.")
    approved_by: str | None = option("--approved-by NAME", "Who approves it; --apply then closes the month.")
    new_chart: bool = options.NEW_CHART
    threshold: str | None = options.THRESHOLD
    rates: Path | None = options.RATES
    folder: Path | None = option("--out FOLDER", "Folder to write; by default month-end-YYYY-MM.")
    profile: str = options.PROFILE


def month_end(
    arguments: Arguments,
    books: options.Company,
    text: results.Text,
    chart: Path | None = reading.CHART,
    entries: list[Path] | None = reading.ENTRIES,
    ledger: list[Path] | None = reading.ASKED_LEDGER,
    exported_at: dt.datetime | None = options.EXPORTED_AT,
    mapping: list[str] | None = reading.MAPPING,
    budget: Path | None = option("--budget FILE", "The month's budget: a category or account, and amount."),
    company_name: str | None = option("--company-name NAME", "The company's full name, for titles; kept."),
    fail_on: str | None = option("--fail-on held|error|warning", "Exit 11 when something is left to do."),
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
    from bktools.reports.html import terminal

    if fail_on is not None:
        rules.one_of("fail_on", fail_on, FAIL_ON)
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
            budget=budget and reading.read_entries([budget], mapping, company_id, tables, must_fit=True),
            seen=partial(_say_step, say, texts),
            service=service,
            **vars(arguments),
        )
    say(terminal(close))
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
    return Exit.FINDINGS if fail_on and FAIL_ON[fail_on](close) else Exit.DONE


def _line(texts: Words, step: str, text: str) -> str:
    name = texts(f"report.terminal.{step}") if step else ""
    return f"  {name:<{LONGEST_STEP}} {text}".replace("\n", "\n" + " " * (LONGEST_STEP + 3))


def _say_step(say: Say, texts: Words, step: str, result: Any) -> None:
    """Say what a step of a close resulted in."""
    import pyarrow.compute as pc

    from bktools.frames.sums import number_of_entries

    match step:
        case "question":
            say(_line(texts, "", str(result)))
            return
        case "categories" | "employees":
            line = texts.counted(len(result), "row")
        case "reconciled":
            counts = Counter(result.table("actions")["action"].to_pylist()).most_common()
            line = ", ".join(texts(f"report.account_action.{code}", count=count) for code, count in counts)
        case "created" | "jobs":
            counts = Counter(row["outcome"].lower() for row in result).most_common()
            line = ", ".join(
                f"{number(count, texts.language)} {texts.name('outcome', code)}" for code, count in counts
            )
        case "plan":
            entries = number_of_entries(result.rows)
            key = "to_send" if entries else "nothing_to_send"
            line = texts(f"report.terminal.{key}", entries=entries, jobs=len(result.batches))
            is_waiting = pc.equal(result.held["reason"], "unknown_account")
            if waiting := number_of_entries(result.held.filter(is_waiting)):
                line = f"{line}; {texts('report.terminal.unknown_accounts', count=waiting)}"
        case "close":
            line = "\n".join(result.lines)
        case _:
            return
    say(_line(texts, step, line or texts("report.none")))
