"""`bktools month-end`: the whole close, with a line for each step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bktools.caller import command
from bktools.cli import options, results
from bktools.cli.exits import Exit
from bktools.cli.mappings import remembered
from bktools.cli.tables import counted, counts
from bktools.contract import rules
from bktools.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

    from bktools.export import ExportPlan
    from bktools.reports.close import Close
    from bktools.reports.record import PeriodRecord


# Options by the argument that they set, for messages.
CLOSES = {
    "month": "--month",
    "by": "--by",
    "approved_by": "--approved-by",
    "before_month_end": "--before-month-end",
    "new_chart": "--new-chart",
}


@results.facts
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
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            metavar="SEVERITY",
            help="Exit 11 when entries are held back (held), or on findings of severity error, or warning and worse.",
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
    from bktools.reports.closing import close_month
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
                profile=profile,
                seen=_say_step,
                service=service,
            )
        doubts = open_questions(known, service=service)
    _say_not_done(close)
    _say_persons(close, is_named=by is not None)
    results.result(**_facts_of(close), outcome_unknown=doubts)
    results.say(f"\nWritten to {close.folder}/")
    if close.kept is not None:
        results.say(f"The earlier close is kept as {close.kept}/")
    if not apply:
        is_closed = close.record is not None and close.record.state == "CLOSED"
        again = (
            f"bktools periods reopen {close.period} comes first, because the period is closed"
            if is_closed
            else "run again with --apply to do it"
        )
        results.say(f"Nothing was written to the service: {again}.")
    if doubts or (apply and _is_incomplete(close)):
        raise typer.Exit(Exit.INCOMPLETE)
    if fail_on is not None and FAIL_ON[fail_on](close):
        raise typer.Exit(Exit.FINDINGS)


def _held(close: Close) -> bool:
    from bktools.journal.periods import NOT_WAITING

    return not close.plan.not_ready["reason"].isin(NOT_WAITING).all()


def _found(*severities: str) -> Callable[[Close], bool]:
    def has(close: Close) -> bool:
        # A plan that has findings of its own tells severity too.
        frames = (close.after.findings, getattr(close.plan, "findings", None))
        return any(frame["severity"].isin(severities).any() for frame in frames if frame is not None)

    return has


FAIL_ON: dict[str, Callable[[Close], bool]] = {
    "held": _held,
    "error": _found("error"),
    "warning": _found("error", "warning"),
}


def _say_persons(close: Close, *, is_named: bool) -> None:
    prepared = f"Prepared by {close.prepared_by}" + ("" if is_named else " (the system's user; --by names a person)")
    same = ", the person who prepared it" if close.approved_by == close.prepared_by else ""
    approved = f", approved by {close.approved_by}{same}" if close.approved_by else ""
    state = ""
    if close.applied and close.approved_by:
        state = f"; {close.stays_open}" if close.stays_open else f"; the period {close.period} is closed"
    results.say(f"\n{prepared}{approved}{state}")


def _plan(plan: ExportPlan) -> str:
    from bktools.frames.currencies import shown
    from bktools.frames.schema import number_of_entries

    is_before = plan.not_ready["reason"].isin(["exported", "changed_since_export"])
    before, not_ready = number_of_entries(plan.not_ready[is_before]), number_of_entries(plan.not_ready)
    if before and not len(plan.rows):
        return f"nothing new: {counted(before, 'entry', 'entries')} exported before, {not_ready - before} not ready"
    ready = f"{counted(number_of_entries(plan.rows), 'entry', 'entries')} ready in {counted(len(plan.batches), 'job')}"
    amounts = (_line("", f"{currency} {shown(amount, currency)}") for currency, amount in plan.amounts.items())
    return "\n".join([f"{ready}, {not_ready} not ready", *amounts])


def _record(record: PeriodRecord) -> str:
    first, *others = record.lines or ["nothing was sent or held back"]
    return "\n".join([f"{record.period} {record.state.lower()}: {first}", *(_line("", line) for line in others)])


# By step of a close: its name, and a function that formats its result.
STEPS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "month": ("month", str),
    "categories": ("categories", lambda frame: f"{len(frame)} rows"),
    "employees": ("employees", lambda frame: f"{len(frame)} rows"),
    "reconciled": ("reconcile", lambda found: _verbs(found.actions)),
    "created": ("accounts", lambda frame: counts(frame["outcome"]) or "none"),
    "remaining": ("findings", lambda found: counts(found.findings["severity"]) or "none"),
    "plan": ("export plan", _plan),
    "jobs": ("export jobs", lambda frame: counts(frame["outcome"]) or "none"),
    "record": ("record", _record),
}


def _say_step(step: str, result: Any) -> None:
    name, text = STEPS[step]
    results.say(_line(name, text(result)))


def _line(step: str, text: str) -> str:
    return f"  {step:<12} {text}"


def _verbs(actions: pd.DataFrame) -> str:
    order = ("create", "update", "archive", "unarchive", "none")
    found = actions["action"].value_counts()
    named = {"none": "unchanged"}
    return (
        ", ".join(f"{found[verb]} {named.get(verb, f'to {verb}')}" for verb in order if verb in found) or "no accounts"
    )


# Lines about single things of one kind, at most.
SHOWN_LINES = 5


def _say_not_done(close: Close) -> None:
    lines = [f"       {close.before.another_chart}"] if close.before.another_chart and not close.applied else []
    # Batches that may have been booked come first.
    if close.applied:
        open_jobs = close.jobs[close.jobs["outcome"] != "ACCEPTED"].sort_values(
            "outcome", key=lambda outcomes: outcomes != "UNKNOWN", kind="stable"
        )
        lines += [
            f"       batch {row['batch_id']} {row['outcome']}: {row['message']}"
            for row in open_jobs.head(SHOWN_LINES).to_dict("records")
        ]
    for verb in ("update", "archive", "unarchive"):
        count = int((close.after.actions["action"] == verb).sum())
        if count:
            noun = "account" if count == 1 else "accounts"
            lines.append(f"{count:>6} {noun} to {verb} by hand in the service: its interface can only create")
    exists = int((close.accounts["outcome"] == "EXISTS").sum())
    if exists:
        lines.append(
            f"{exists:>6} accounts exist in the service with different data: import the account list (bktools accounts import FILE)"
        )
    refused = close.accounts[close.accounts["outcome"].isin(["REJECTED", "UNKNOWN"])]
    lines += [
        f"       account {row['external_id']} {row['outcome']}: {row['message']}"
        for row in refused.head(SHOWN_LINES).to_dict("records")
    ]
    held = close.plan.not_ready
    findings = close.plan.findings
    changed = findings[findings["check"] == "changed_since_export"]
    lines += [f"       {row['about']}: {row['message']}" for row in changed.head(SHOWN_LINES).to_dict("records")]
    if len(changed):
        name = "entry was" if len(changed) == 1 else "entries were"
        lines.append(f"{len(changed):>6} {name} exported with other data: {changed['to_do'].iloc[0]}")
    # The record tells what was exported before.
    reasons = held.loc[~held["reason"].isin(["exported", "changed_since_export"]), "message"].value_counts()
    lines += [f"{count:>6} {'entry' if count == 1 else 'entries'}: {message}" for message, count in reasons.items()]
    if close.left_out:
        lines.append(f"{close.left_out:>6} entries are dated after {close.period}")
    lines += [f"       {message}" for message in close.after.not_created]
    lines += [f"       not checked: {phrase}" for phrase in close.unchecked]
    if lines:
        results.say("\n".join(["\nNot done, and why:", *lines]))


def _facts_of(close: Close) -> dict[str, Any]:
    return {
        "period": close.period,
        "environment": close.environment,
        "company": close.company,
        "applied": close.applied,
        "state": None if close.record is None else close.record.state,
        "stays_open": close.stays_open or None,
        "prepared_by": close.prepared_by,
        "approved_by": close.approved_by,
        "folder": close.folder,
        "earlier_folder": close.kept,
        "accounts": {str(outcome): int(count) for outcome, count in close.accounts["outcome"].value_counts().items()},
        "findings": {
            str(severity): int(count) for severity, count in close.after.findings["severity"].value_counts().items()
        },
        "plan_id": close.plan.plan_id,
        "entries": len(close.plan.rows),
        "amounts": close.plan.amounts,
        "jobs": close.jobs,
        "not_ready": {
            str(reason): int(count) for reason, count in close.plan.not_ready["reason"].value_counts().items()
        },
        "not_checked": close.unchecked,
    }


def _is_incomplete(close: Close) -> bool:
    return bool(
        close.stays_open
        or (close.jobs["outcome"] != "ACCEPTED").any()
        or close.accounts["outcome"].isin(["REJECTED", "UNKNOWN"]).any()
    )
