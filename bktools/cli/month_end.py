"""`bktools month-end`: the whole close, with a line for each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import bktools
from bktools.cli import files, options, results
from bktools.cli.exits import Exit
from bktools.cli.options import option
from bktools.cli.tables import counts
from bktools.frames.codes import counted

if TYPE_CHECKING:
    from bktools.close.close import Close
    from bktools.export import ExportPlan
    from bktools.reconcile import Reconciliation


# By the word of --fail-on.
FAIL_ON: dict[str, Callable[[Close], bool]] = {
    "held": lambda close: any(line["fate"] == "held back" for line in close.statement),
    "error": lambda close: close.severities["error"] > 0,
    "warning": lambda close: any(close.severities.values()),
}
OUT = option("--out FOLDER", "Folder to write; by default month-end-YYYY-MM.", section=options.OUTPUT)


@dataclass(frozen=True)
class Arguments:
    """The options that `close_month` takes as its arguments."""

    apply: bool = options.APPLY
    month: str | None = options.month_option("The month, such as 2026-10; by default the last full one with entries.")
    max_entries: int = options.MAX_ENTRIES
    wait: float = options.WAIT
    others_export: bool = options.OTHERS_EXPORT
    by: str | None = option("--by NAME", "Who prepares the close; kept permanently. By default the system's user.")
    approved_by: str | None = option("--approved-by NAME", "Who approves it; with --apply this closes the period.")
    before_month_end: bool = option(
        "--before-month-end", "With --approved-by: approve a month that has not ended.", False
    )
    new_chart: bool = options.NEW_CHART
    threshold: str | None = options.CHANGES_FROM
    folder: Path | None = OUT
    profile: str = options.PROFILE


@results.lists
def month_end(
    chart: files.Chart,
    entries: files.EntriesBesideChart,
    connection: options.ConnectsToCompany,
    arguments: Annotated[Arguments, options.Group(Arguments)],
    fail_on: str | None = options.fail_on_option(
        "Exit 11 when entries are held back (held), or something is to be done (error, or warning and worse).", FAIL_ON
    ),
) -> Exit:
    """Close a month: reconcile, create accounts, export, report.

    Entries that are ready are exported; the others are listed with the reasons and wait for the next close. Everything is
    written to a folder. Without --apply, nothing is written to the service. Safe to re-run: completed steps are skipped.

    Example: bktools month-end --sandbox --apply
    """
    from bktools.journal.export_jobs import open_questions

    service, company = connection.service, connection.company_id
    for question in open_questions(company, service=service):
        results.say(f"outcome unknown: {question}\n")
    note = " (embedded service: not real books)" if service.settings.is_sandbox else ""
    results.say(f"Month-end of company {company} · {service.settings.environment}{note}\n")
    chart, entries = (file.or_sample(service, "--chart and --entries") for file in (chart, entries))
    accounts = chart.read(bktools.read_chart_of_accounts, company=company)
    results.say(_line("chart", files.recognised(accounts.attrs["bktools"])))
    # Loaded once: names in the entries are looked up in them, and the close is made from them.
    tables = files.tables_of(service, company, refresh=True)
    rows = files.read_entries(entries, company, tables, required=("category_id",))
    results.say(_line("entries", files.recognised(rows.attrs["bktools"])))
    if arguments.apply:
        files.refuse_in_question(entries, rows)
    close = bktools.close_month(
        accounts, rows, company=company, categories=tables["categories"], employees=tables["employees"],
        **vars(arguments), seen=_say_step, service=service,
    )  # fmt: skip
    _say_to_do(close)
    _say_persons(close, is_named=arguments.by is not None)
    questions = [
        f"{action.about}: {action.to_do}: {action.command}" for action in close.actions if action.cause == "in_doubt"
    ]
    is_closed = close.record.state == "CLOSED"
    again = f"bktools periods reopen {close.period} comes first, because the period is closed"
    results.report(
        f"\nWritten to {close.folder}/",
        f"The earlier close is kept as {close.earlier_folder}/" if close.earlier_folder else "",
        ""
        if arguments.apply
        else f"Nothing was written to the service: {again if is_closed else 'run again with --apply to do it'}.",
        **_facts_of(close),
        outcome_unknown=questions,
    )
    if questions or (arguments.apply and close.run.is_incomplete):
        return Exit.INCOMPLETE
    return Exit.FINDINGS if fail_on is not None and FAIL_ON[fail_on](close) else Exit.DONE


def _say_persons(close: Close, *, is_named: bool) -> None:
    run = close.run
    prepared = f"Prepared by {run.prepared_by}" + ("" if is_named else " (the system's user; --by names a person)")
    same = ", the person who prepared it" if run.approved_by == run.prepared_by else ""
    approved = f", approved by {run.approved_by}{same}" if run.approved_by else ""
    state = ""
    if run.applied and run.approved_by:
        state = f"; {run.stays_open}" if run.stays_open else f"; the period {close.period} is closed"
    results.say(f"\n{prepared}{approved}{state}")


def _plan(plan: ExportPlan) -> str:
    from bktools.frames.sums import number_of_entries

    count, jobs = number_of_entries(plan.rows), counted(len(plan.batches), "job")
    return f"{counted(count, 'entry', 'entries')} to send in {jobs}" if count else "nothing to send"


def _figures(close: Close) -> str:
    first, *others = close.lines
    return "\n".join([first, *(_line("", line) for line in others)])


def _actions(reconciliation: Reconciliation) -> str:
    actions = reconciliation.table("actions")["action"].to_pylist()
    return counts("unchanged" if action == "none" else f"to {action}" for action in actions) or "no accounts"


def _outcomes(rows: list[dict[str, Any]]) -> str:
    return counts(row["outcome"] for row in rows) or "none"


# By step of a close: its name, and a function that formats its result.
STEPS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "month": ("month", str),
    "categories": ("categories", lambda frame: f"{len(frame)} rows"),
    "employees": ("employees", lambda frame: f"{len(frame)} rows"),
    "reconciled": ("reconcile", _actions),
    "created": ("accounts", _outcomes),
    "plan": ("export plan", _plan),
    "jobs": ("export jobs", _outcomes),
    "close": ("figures", _figures),
}


def _say_step(step: str, result: Any) -> None:
    if step in STEPS:
        name, text = STEPS[step]
        results.say(_line(name, text(result)))


def _line(step: str, text: str) -> str:
    return f"  {step:<12} {text}"


# Things to do in a terminal, at most; the report has all of them.
SHOWN_ACTIONS = 8


def _say_to_do(close: Close) -> None:
    errors, warnings = close.severities["error"], close.severities["warning"]
    lines = [f"\nTo do: {counted(errors, 'error')}, {counted(warnings, 'warning')}"]
    if close.before.another_chart and not close.run.applied:
        lines.append(f"  {close.before.another_chart}")
    for action in close.actions[:SHOWN_ACTIONS]:
        lines.append(f"  {action.who}: {action.to_do}: {action.about}: {action.why}")
        lines += [f"      {', '.join(action.texts)}"] if action.entries else []
        lines += [f"      {action.command}"] if action.command else []
    more = len(close.actions) - SHOWN_ACTIONS
    lines += [f"  and {more:,} more: {close.folder}/report.html has all of them"] if more > 0 else []
    lines += [f"  not checked: {phrase}" for phrase in close.run.unchecked]
    if len(lines) > 1:
        results.say("\n".join(lines))
    if close.changed:
        lines = [*close.changed["headline"], *(f"not compared: {phrase}" for phrase in close.changed["not_compared"])]
        results.say(
            "\n".join([f"\nSince {close.last_month}:", *(f"  {line}" for line in lines or ["nothing changed"])])
        )


def _facts_of(close: Close) -> Mapping[str, Any]:
    run = close.run
    return {
        "period": close.period,
        "environment": close.environment,
        "company": close.company,
        "company_name": close.company_name or None,
        "state": close.state,
        "approved_by": close.approved_by,
        **close.for_programs,
        "applied": run.applied,
        "prepared_by": run.prepared_by,
        "stays_open": run.stays_open or None,
        "folder": close.folder,
        "earlier_folder": close.earlier_folder,
        "accounts": run.outcomes("created"),
        "jobs": run.jobs,
        "plan_id": run.plan.plan_id,
        "not_checked": run.unchecked,
    }
