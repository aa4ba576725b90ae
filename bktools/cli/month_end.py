"""`bktools month-end`: the whole close, step by step, each step said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bktools.caller import command
from bktools.cli.exits import Exit
from bktools.cli.loading import Profile
from bktools.cli.options import (
    READS_ENTRIES_BESIDE_CHART,
    READS_FILE,
    Apply,
    Chart,
    Column,
    Company,
    Delimiter,
    Encoding,
    EntryColumn,
    EntryDateFormat,
    EntryDecimal,
    EntryDelimiter,
    EntryEncoding,
    EntrySheet,
    Environment,
    OthersExport,
    Sandbox,
    Sheet,
    conversation,
    the_company,
)
from bktools.cli.options import columns as to_columns
from bktools.cli.tables import counted, counts
from bktools.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

    from bktools.export import ExportPlan
    from bktools.reports.month_end import Close
    from bktools.service import Service


def month_end(
    sandbox: Sandbox = False,
    apply: Apply = False,
    chart: Chart = None,
    entries: Annotated[
        Path | None, typer.Option("--entries", help="The accounting entries: CSV, TSV, Excel or Parquet.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder to write; month-end-YYYY-MM by default.")] = None,
    month: Annotated[
        str | None,
        typer.Option("--month", help="The month to close, as 2026-10. Default: the last full month that has entries."),
    ] = None,
    company: Company = None,
    environment: Environment = None,
    column: Column = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    entry_column: EntryColumn = None,
    entry_delimiter: EntryDelimiter = None,
    entry_encoding: EntryEncoding = None,
    entry_sheet: EntrySheet = None,
    entry_decimal: EntryDecimal = None,
    entry_date_format: EntryDateFormat = None,
    max_entries: Annotated[int, typer.Option("--max-entries", min=1, help="Entries of an export job at most.")] = 500,
    wait: Annotated[
        float, typer.Option("--wait", min=0, help="Seconds to wait while an export job of the company is in progress.")
    ] = 300.0,
    others_export: OthersExport = False,
    profile: Profile = "excel",
) -> None:
    """Close a month: load, reconcile, create accounts, export the entries that are ready, write the folder.

    Without --apply everything is planned and nothing is written to the service. Run twice with --apply, the second run
    creates nothing twice.

    Example: bktools month-end --sandbox --apply
    """
    from bktools.frames.delimited import profile_named
    from bktools.reports.closing import MONTH, close_month

    if month is not None and not MONTH.match(month):
        raise ArgumentError("--month", "must be a month such as 2026-10", month)
    profile_named(profile)
    files = _Files(
        chart,
        entries,
        {"columns": to_columns(column), "delimiter": delimiter, "encoding": encoding, "sheet": sheet},
        {
            "columns": to_columns(entry_column, "--entry-column"),
            "delimiter": entry_delimiter,
            "encoding": entry_encoding,
            "sheet": entry_sheet,
            "decimal": entry_decimal,
            "date_format": entry_date_format,
        },
    )
    with conversation(environment, sandbox=sandbox, company=company) as service:
        known = the_company(service)
        note = " (embedded service: not real books)" if service.settings.is_sandbox else ""
        typer.echo(f"Month-end of company {known} · {service.settings.environment}{note}\n")
        read_chart, read_entries = files.read(service, known)
        with command({"month": "--month"}):
            close = close_month(
                read_chart,
                read_entries,
                month=month,
                company=known,
                folder=out,
                apply=apply,
                max_entries=max_entries,
                wait=wait,
                others_export=others_export,
                profile=profile,
                seen=_said(),
                service=service,
            )
    _say_not_done(close)
    typer.echo(f"\nWritten to {close.folder}/")
    if close.kept is not None:
        typer.echo(f"The close that was there is kept as {close.kept}/")
    if not apply:
        typer.echo("Nothing was written to the service: run again with --apply to do it.")
    elif _is_incomplete(close):
        raise typer.Exit(Exit.INCOMPLETE)


@dataclass(frozen=True)
class _Files:
    """What is read, and with which arguments of the readers."""

    chart: Path | None
    entries: Path | None
    chart_as: dict[str, Any]
    entries_as: dict[str, Any]

    def read(self, service: Service, company: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return chart and entries; the sample files of the sandbox where none is named."""
        from bktools.cli.reconcile import recognised, sample_files
        from bktools.inputs.chart_of_accounts import read_chart_of_accounts
        from bktools.inputs.entries import read_entries
        from bktools.tables.load import load_categories, load_employees

        chart, entries = self.chart, self.entries
        if chart is None or entries is None:
            samples = sample_files(service)
            chart, entries = chart or samples[0], entries or samples[1]
        with command(READS_FILE):
            read_chart = read_chart_of_accounts(chart, company=company, **self.chart_as)
        _say("chart", recognised(read_chart))
        with command(READS_ENTRIES_BESIDE_CHART):
            read = read_entries(
                entries,
                required=("category_id",),
                company=company,
                categories=load_categories(company, progress=False, service=service),
                employees=load_employees(company, progress=False, service=service),
                **self.entries_as,
            )
        _say("entries", recognised(read))
        return read_chart, read


def _said() -> Callable[[str, Any], None]:
    """Return what says each step of a close as it ends."""

    def of_plan(plan: ExportPlan) -> None:
        ready = f"{counted(len(plan.entries), 'entry', 'entries')} ready in {counted(len(plan.batches), 'job')}"
        _say("export plan", f"{ready}, {len(plan.not_ready)} not ready")
        for currency, amount in plan.amounts.items():
            _say("", f"{currency} {amount:,}")

    steps: dict[str, Callable[[Any], None]] = {
        "month": lambda chosen: _say("month", chosen),
        "categories": lambda frame: _say("categories", f"{len(frame)} rows"),
        "employees": lambda frame: _say("employees", f"{len(frame)} rows"),
        "reconciled": lambda found: _say("reconcile", _verbs(found.actions)),
        "created": lambda frame: _say("accounts", counts(frame["outcome"]) or "none"),
        "remaining": lambda found: _say("findings", counts(found.findings["severity"]) or "none"),
        "plan": of_plan,
        "jobs": lambda frame: _say("export jobs", counts(frame["outcome"]) or "none"),
    }
    return lambda step, result: steps[step](result)


def _say(step: str, text: str) -> None:
    typer.echo(f"  {step:<12} {text}")


def _verbs(actions: pd.DataFrame) -> str:
    order = ("create", "update", "archive", "unarchive", "none")
    found = actions["action"].value_counts()
    named = {"none": "right as they are"}
    return (
        ", ".join(f"{found[verb]} {named.get(verb, f'to {verb}')}" for verb in order if verb in found) or "no accounts"
    )


def _say_not_done(close: Close) -> None:
    lines = []
    # What may have been booked comes first.
    if close.applied:
        open_jobs = close.jobs[close.jobs["outcome"] != "ACCEPTED"].sort_values(
            "outcome", key=lambda outcomes: outcomes != "UNKNOWN", kind="stable"
        )
        lines += [
            f"       batch {row['batch_id']} {row['outcome']}: {row['message']}"
            for row in open_jobs.head(5).to_dict("records")
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
        for row in refused.head(5).to_dict("records")
    ]
    reasons = close.plan.not_ready["message"].value_counts()
    lines += [f"{count:>6} {'entry' if count == 1 else 'entries'}: {message}" for message, count in reasons.items()]
    if close.left_out:
        lines.append(f"{close.left_out:>6} entries are dated after {close.period}")
    lines += [f"       not checked: {phrase}" for phrase in close.plan.unchecked]
    if lines:
        typer.echo("\nNot done, and why:")
        for line in lines:
            typer.echo(line)


def _is_incomplete(close: Close) -> bool:
    return bool(
        (close.jobs["outcome"] != "ACCEPTED").any() or close.accounts["outcome"].isin(["REJECTED", "UNKNOWN"]).any()
    )
