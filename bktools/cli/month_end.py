"""`bktools month-end`: the whole close, with a line for each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bktools.caller import command
from bktools.cli import options, results
from bktools.cli.exits import Exit
from bktools.cli.mappings import remembered
from bktools.cli.tables import counted
from bktools.contract import rules
from bktools.errors import ArgumentError

if TYPE_CHECKING:
    from bktools.close.figures import Valued
    from bktools.export import ExportPlan
    from bktools.reports.month_end import Close


# Options by the argument that they set, for messages.
CLOSES = {
    "month": "--month",
    "by": "--by",
    "approved_by": "--approved-by",
    "before_month_end": "--before-month-end",
    "new_chart": "--new-chart",
    "threshold": "--from",
}


@results.lists
def month_end(
    sandbox: options.Sandbox = False,
    apply: options.Apply = False,
    chart: options.Chart = None,
    entries: Annotated[
        Path | None,
        typer.Option(
            "--entries",
            metavar="FILE",
            help="The accounting entries: CSV, TSV, Excel or Parquet; - is standard input.",
            rich_help_panel=options.ENTRIES,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            rich_help_panel=options.OUTPUT,
            help="Folder to write; month-end-YYYY-MM by default.",
        ),
    ] = None,
    month: Annotated[
        str | None,
        typer.Option(
            "--month",
            metavar="YYYY-MM",
            help="The month to close, as 2026-10. Default: the last full month that has entries.",
        ),
    ] = None,
    company: options.Company = None,
    environment: options.Environment = None,
    column: options.Column = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    save_mapping: options.SaveMapping = None,
    entry_column: options.EntryColumn = None,
    entry_delimiter: options.EntryDelimiter = None,
    entry_encoding: options.EntryEncoding = None,
    entry_sheet: options.EntrySheet = None,
    entry_decimal: options.EntryDecimal = None,
    entry_date_format: options.EntryDateFormat = None,
    split_lines: options.EntrySplitLines = False,
    save_entry_mapping: options.SaveEntryMapping = None,
    max_entries: options.MaxEntries = 500,
    wait: options.Wait = 300.0,
    others_export: options.OthersExport = False,
    profile: options.Profile = "excel",
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="NAME", help="Who prepares the close; kept permanently. Default: the system's user."
        ),
    ] = None,
    approved_by: Annotated[
        str | None,
        typer.Option("--approved-by", metavar="NAME", help="Who approves it; with --apply this closes the period."),
    ] = None,
    before_month_end: Annotated[
        bool, typer.Option("--before-month-end", help="With --approved-by: approve a month that has not ended.")
    ] = False,
    new_chart: options.NewChart = False,
    changes_from: options.ChangesFrom = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            metavar="SEVERITY",
            help="Exit 11 when entries are held back (held), or when something is to be done of severity error, or warning "
            "and worse.",
            autocompletion=options.one_of(lambda: FAIL_ON),
        ),
    ] = None,
) -> None:
    """Close a month: reconcile, create accounts, export, report.

    Entries that are ready are exported; the others are listed with the reasons. Everything is written to a folder. Without --apply everything is planned and nothing is written to the service. Safe to re-run with --apply: completed
    steps are skipped.

    Exit codes: 0 done, also with entries held back, which wait for the next close (--fail-on held makes it 11); 4 wrong
    input; 9 the journal refused, as in a closed period; 10 the outcome of an export job is unknown, or with --apply, a
    part was not done; 11 see --fail-on.

    Example: bktools month-end --sandbox --apply
    """
    if fail_on is not None and fail_on not in FAIL_ON:
        raise ArgumentError("--fail-on", f"must be one of {', '.join(FAIL_ON)}", fail_on)
    from bktools.cli.reconcile import recognised, sample_files
    from bktools.inputs.chart_of_accounts import read_chart_of_accounts
    from bktools.inputs.entries import read_entries
    from bktools.journal.export_jobs import open_questions
    from bktools.reports.month_end import close_month
    from bktools.snapshots.tables import load_categories, load_employees

    if month is not None:
        rules.month("--month", month)
    chart_as: dict[str, Any] = {
        "columns": options.columns(column),
        "delimiter": delimiter,
        "encoding": encoding,
        "sheet": sheet,
    }
    entries_as = options.reading(
        entry_column,
        entry_delimiter,
        entry_encoding,
        entry_sheet,
        entry_decimal,
        entry_date_format,
        "--entry-column",
        split_lines=split_lines,
    )
    with options.connected(environment, sandbox=sandbox, company=company) as service:
        known = options.the_company(service)
        doubts = open_questions(known, service=service)
        for doubt in doubts:
            results.say(f"outcome unknown: {doubt}\n")
        note = " (embedded service: not real books)" if service.settings.is_sandbox else ""
        results.say(f"Month-end of company {known} · {service.settings.environment}{note}\n")
        if chart is None or entries is None:
            samples = sample_files(service)
            chart, entries = chart or samples[0], entries or samples[1]
        with (
            results.readable(chart) as file,
            command(options.READS_FILE),
            remembered("chart", file, chart_as, save_mapping) as read_as,
        ):
            read_chart = read_chart_of_accounts(file, company=known, **read_as)
        results.say(_line("chart", recognised(read_chart.attrs["bktools"])))
        # Loaded once: names in the entries are looked up in them, and the close is made from them.
        categories = load_categories(known, refresh=True, service=service)
        employees = load_employees(known, refresh=True, service=service)
        with (
            results.readable(entries) as file,
            command(options.READS_ENTRIES_BESIDE_CHART),
            remembered("entries", file, entries_as, save_entry_mapping, "--save-entry-mapping") as read_as,
        ):
            read = read_entries(
                file,
                required=("category_id",),
                company=known,
                categories=categories,
                employees=employees,
                **read_as,
            )
        results.say(_line("entries", recognised(read.attrs["bktools"])))
        with command(CLOSES):
            close = close_month(
                read_chart,
                read,
                month=month,
                company=known,
                categories=categories,
                employees=employees,
                folder=out,
                apply=apply,
                max_entries=max_entries,
                wait=wait,
                others_export=others_export,
                by=by,
                approved_by=approved_by,
                before_month_end=before_month_end,
                new_chart=new_chart,
                threshold=changes_from,
                profile=profile,
                seen=_say_step,
                service=service,
            )
    _say_to_do(close)
    _say_persons(close, is_named=by is not None)
    doubts = [f"{one.about}: {one.to_do}: {one.command}" for one in close.actions if one.cause == "in_doubt"]
    results.result(**_facts_of(close), outcome_unknown=doubts)
    results.say(f"\nWritten to {close.folder}/")
    if close.earlier_folder is not None:
        results.say(f"The earlier close is kept as {close.earlier_folder}/")
    if not apply:
        again = (
            f"bktools periods reopen {close.period} comes first, because the period is closed"
            if close.record.state == "CLOSED"
            else "run again with --apply to do it"
        )
        results.say(f"Nothing was written to the service: {again}.")
    if doubts or (apply and _is_incomplete(close)):
        raise typer.Exit(Exit.INCOMPLETE)
    if fail_on is not None and FAIL_ON[fail_on](close):
        raise typer.Exit(Exit.FINDINGS)


FAIL_ON: dict[str, Callable[[Close], bool]] = {
    "held": lambda close: any(line["fate"] == "held back" for line in close.statement),
    "error": lambda close: close.severities["error"] > 0,
    "warning": lambda close: any(close.severities.values()),
}


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
    from bktools.frames.schema import number_of_entries

    count = number_of_entries(plan.rows)
    return (
        f"{counted(count, 'entry', 'entries')} to send in {counted(len(plan.batches), 'job')}"
        if count
        else "nothing to send"
    )


def _figures(close: Close) -> str:
    from bktools.reports.month_end import figures_of

    first, *others = figures_of(close)
    return "\n".join([first, *(_line("", line) for line in others)])


def _outcomes(rows: list[dict[str, Any]]) -> str:
    found = Counter(row["outcome"] for row in rows)
    return ", ".join(f"{count:,} {outcome}" for outcome, count in found.most_common()) or "none"


# By step of a close: its name, and a function that formats its result.
STEPS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "month": ("month", str),
    "categories": ("categories", lambda frame: f"{len(frame)} rows"),
    "employees": ("employees", lambda frame: f"{len(frame)} rows"),
    "reconciled": ("reconcile", lambda found: _verbs(found.table("actions")["action"].to_pylist())),
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


def _verbs(actions: list[str]) -> str:
    order = ("create", "update", "archive", "unarchive", "none")
    found, named = Counter(actions), {"none": "unchanged"}
    return (
        ", ".join(f"{found[verb]} {named.get(verb, f'to {verb}')}" for verb in order if verb in found) or "no accounts"
    )


# Things to do in a terminal, at most; the report has all of them.
SHOWN_ACTIONS = 8


def _say_to_do(close: Close) -> None:
    errors, warnings = close.severities["error"], close.severities["warning"]
    lines = [f"\nTo do: {counted(errors, 'error')}, {counted(warnings, 'warning')}"]
    if close.before.another_chart and not close.run.applied:
        lines.append(f"  {close.before.another_chart}")
    for one in close.actions[:SHOWN_ACTIONS]:
        who = f"{one.role} ({one.person})" if one.person else one.role
        lines.append(f"  {who}: {one.to_do}: {one.about}: {one.why}")
        lines += [f"      {text}" for text in (_value(one), one.command) if text]
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


def _value(one: Valued) -> str:
    from bktools.frames.currencies import shown

    amounts = (f"{currency} {shown(amount, currency)}" for currency, amount in one.amounts.items())
    return ", ".join([counted(one.entries, "entry", "entries"), *amounts]) if one.entries else ""


def _facts_of(close: Close) -> Mapping[str, Any]:
    from bktools.reports.folder import facts_of

    run = close.run
    return {
        "period": close.period,
        "environment": close.environment,
        "company": close.company,
        "company_name": close.company_name or None,
        "state": close.state,
        "approved_by": close.approved_by,
        **facts_of(close),
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


def _is_incomplete(close: Close) -> bool:
    unsent = {*close.run.outcomes("jobs")} - {"ACCEPTED"}
    return bool(close.run.stays_open or unsent or {*close.run.outcomes("created")} & {"REJECTED", "UNKNOWN"})
