"""`bktools month-end`: the whole close, step by step, each step said."""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bktools.caller import command
from bktools.cli.exits import Exit
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
    Environment,
    Sandbox,
    conversation,
    the_company,
)
from bktools.cli.options import columns as to_columns
from bktools.cli.tables import counted, counts
from bktools.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

    from bktools.reports.month_end import Close
    from bktools.service import Service

MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])\Z")


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
        typer.Option("--month", help="The month closed, as 2026-10; the last one of the entries by default."),
    ] = None,
    company: Company = None,
    environment: Environment = None,
    column: Column = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    entry_column: EntryColumn = None,
    entry_delimiter: EntryDelimiter = None,
    entry_encoding: EntryEncoding = None,
    entry_decimal: EntryDecimal = None,
    entry_date_format: EntryDateFormat = None,
    max_entries: Annotated[int, typer.Option("--max-entries", min=1, help="Entries of an export job at most.")] = 500,
    wait: Annotated[
        float, typer.Option("--wait", min=0, help="Seconds to wait while an export job of the company is in progress.")
    ] = 300.0,
    profile: Annotated[str, typer.Option("--profile", help="Of the CSV files: excel, excel-eu or machine.")] = "excel",
) -> None:
    """Close a month: load, reconcile, create accounts, export the entries that are ready, write the folder.

    Without --apply everything is planned and nothing is written to the service. Run twice with --apply, the second run
    creates nothing twice.

    Example: bktools month-end --sandbox --apply
    """
    if month is not None and not MONTH.match(month):
        raise ArgumentError("--month", "must be a month such as 2026-10", month)
    _check_profile(profile)
    files = _Files(
        chart,
        entries,
        {"columns": to_columns(column), "delimiter": delimiter, "encoding": encoding},
        {
            "columns": to_columns(entry_column, "--entry-column"),
            "delimiter": entry_delimiter,
            "encoding": entry_encoding,
            "decimal": entry_decimal,
            "date_format": entry_date_format,
        },
    )
    with conversation(environment, sandbox=sandbox, company=company) as service:
        close, folder = _close(
            service, files, month=month, out=out, apply=apply, max_entries=max_entries, wait=wait, profile=profile
        )
    _say_not_done(close)
    typer.echo(f"\nWritten to {folder}{'/' if folder.is_dir() else ''}")
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

        chart, entries = self.chart, self.entries
        if chart is None or entries is None:
            samples = sample_files(service)
            chart, entries = chart or samples[0], entries or samples[1]
        with command(READS_FILE):
            read_chart = read_chart_of_accounts(chart, company=company, **self.chart_as)
        _say("chart", recognised(read_chart))
        with command(READS_ENTRIES_BESIDE_CHART):
            read = read_entries(entries, required=("category_id",), **self.entries_as)
        _say("entries", recognised(read))
        return read_chart, read


class _Clock:
    """Seconds a step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - begin


def _close(
    service: Service,
    files: _Files,
    *,
    month: str | None,
    out: Path | None,
    apply: bool,
    max_entries: int,
    wait: float,
    profile: str,
) -> tuple[Close, Path]:
    from bktools.export import compose_export_jobs
    from bktools.journal.accounts import load_accounts
    from bktools.journal.export_jobs import load_export_jobs
    from bktools.reconcile import reconcile_accounts
    from bktools.reports.month_end import Close, by_currency, check_target, write_month_end
    from bktools.submit import create_accounts, submit_export_jobs
    from bktools.tables.load import load_categories, load_employees

    begun_at = dt.datetime.now(dt.UTC)
    clock = _Clock()
    company = the_company(service)
    note = " (embedded service: not real books)" if service.settings.is_sandbox else ""
    typer.echo(f"Month-end of company {company} · {service.settings.environment}{note}\n")

    # Everything that can be wrong with files and folders is found before anything is sent.
    with clock.step("read files"):
        chart, entries = files.read(service, company)
    period = month or _month_of(entries)
    folder = out or Path(f"month-end-{period}")
    check_target(folder)
    in_period = _up_to(entries, period)

    with clock.step("load"):
        categories = load_categories(company, refresh=True, service=service)
        _say("categories", f"{len(categories)} rows")
        employees = load_employees(company, refresh=True, service=service)
        _say("employees", f"{len(employees)} rows")

    with clock.step("reconcile"):
        before = reconcile_accounts(chart, load_accounts(company, service=service), categories)
    _say("reconcile", _verbs(before.actions))

    with clock.step("create accounts"):
        accounts = create_accounts(before, apply=apply, service=service)
        known = load_accounts(company, service=service)
        after = reconcile_accounts(chart, known, categories) if apply else before
    _say("accounts", counts(accounts["outcome"]) or "none")
    _say("findings", counts(after.findings["severity"]) or "none")

    with clock.step("compose"):
        plan = compose_export_jobs(
            entries,
            selection=in_period.to_list(),
            categories=categories,
            accounts=known,
            employees=employees,
            history=load_export_jobs(company, entries=True, service=service),
            company=company,
            max_entries=max_entries,
        )
    ready = f"{counted(len(plan.entries), 'entry', 'entries')} ready in {counted(len(plan.batches), 'job')}"
    _say("export plan", f"{ready}, {len(plan.not_ready)} not ready")
    for currency, amount in by_currency(plan).items():
        _say("", f"{currency} {amount:,}")

    with clock.step("submit"):
        jobs = submit_export_jobs(plan, apply=apply, wait=wait, service=service)
    _say("export jobs", counts(jobs["outcome"]) or "none")

    close = Close(
        period=period,
        environment=service.settings.environment,
        company=company,
        applied=apply,
        begun_at=begun_at,
        categories=categories,
        employees=employees,
        chart=chart,
        entries=entries,
        before=before,
        after=after,
        accounts=accounts,
        plan=plan,
        jobs=jobs,
        left_out=int((~in_period).sum()),
        times=clock.seconds,
    )
    return close, write_month_end(close, folder, profile)


def _check_profile(profile: str) -> None:
    from bktools.reports.delimited import PROFILES

    if profile not in PROFILES:
        raise ArgumentError("--profile", f"must be one of {', '.join(PROFILES)}", profile)


def _month_of(entries: pd.DataFrame) -> str:
    if "date" not in entries.columns or entries["date"].isna().all():
        raise ArgumentError("--month", "must be given: the entries have no dates")
    return f"{entries['date'].max():%Y-%m}"


def _up_to(entries: pd.DataFrame, period: str) -> pd.Series:
    """Return which entries belong to the month or to one before it."""
    if "date" not in entries.columns:
        return entries["id"].notna()
    later: pd.Series = entries["date"].dt.strftime("%Y-%m") > period
    return ~later


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
    for verb in ("update", "archive", "unarchive"):
        count = int((close.after.actions["action"] == verb).sum())
        if count:
            noun = "account" if count == 1 else "accounts"
            lines.append(f"{count:>6} {noun} to {verb} by hand in the service: its interface can only create")
    exists = int((close.accounts["outcome"] == "EXISTS").sum())
    if exists:
        lines.append(
            f"{exists:>6} accounts exist in the service with another content, ids not told: bktools accounts import FILE"
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
    if close.applied:
        open_jobs = close.jobs[close.jobs["outcome"] != "ACCEPTED"]
        lines += [
            f"       batch {row['batch_id']} {row['outcome']}: {row['message']}"
            for row in open_jobs.head(5).to_dict("records")
        ]
    if lines:
        typer.echo("\nNot done, and why:")
        for line in lines:
            typer.echo(line)


def _is_incomplete(close: Close) -> bool:
    return bool(
        (close.jobs["outcome"] != "ACCEPTED").any() or close.accounts["outcome"].isin(["REJECTED", "UNKNOWN"]).any()
    )
