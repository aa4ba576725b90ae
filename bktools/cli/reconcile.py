"""`bktools reconcile`: the chart of accounts against the service."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bktools.caller import command
from bktools.cli.exits import Exit
from bktools.cli.loading import Profile
from bktools.cli.options import (
    READS_FILE,
    Chart,
    Column,
    Company,
    Delimiter,
    Encoding,
    Environment,
    Sandbox,
    Sheet,
    conversation,
    one_of,
    the_company,
)
from bktools.cli.options import columns as to_columns
from bktools.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

    from bktools.reconcile import Reconciliation
    from bktools.service import Service

FAIL_ON = {"error": ("error",), "warning": ("error", "warning")}


def reconcile(
    chart: Chart = None,
    company: Company = None,
    environment: Environment = None,
    sandbox: Sandbox = False,
    column: Column = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the findings as CSV; see --profile.")] = None,
    profile: Profile = "excel",
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            help="error or warning: exit 11 when there are any.",
            autocompletion=one_of(lambda: FAIL_ON),
        ),
    ] = None,
) -> None:
    """Compare the ERP's chart of accounts with the accounts known here and the categories. Nothing is written.

    Example: bktools reconcile --chart chart_of_accounts.csv --fail-on error
    """
    from bktools.frames.delimited import profile_named

    if fail_on is not None and fail_on not in FAIL_ON:
        raise ArgumentError("--fail-on", f"must be one of {', '.join(FAIL_ON)}", fail_on)
    profile_named(profile)
    with conversation(environment, sandbox=sandbox, company=company) as service:
        found = reconciled(service, chart, to_columns(column), delimiter, encoding, sheet)
    typer.echo(str(found))
    if out is not None:
        found.to_csv(out, profile)
        typer.echo(f"written to {out}")
    if fail_on and found.findings["severity"].isin(FAIL_ON[fail_on]).any():
        raise typer.Exit(Exit.FINDINGS)


def reconciled(
    service: Service,
    chart: Path | None,
    columns: dict[str, str] | None,
    delimiter: str | None,
    encoding: str | None,
    sheet: str | None,
) -> Reconciliation:
    """Read a chart, show it as recognised, and return its reconciliation with what is known now."""
    from bktools.inputs.chart_of_accounts import read_chart_of_accounts
    from bktools.journal.accounts import load_accounts
    from bktools.reconcile import reconcile_accounts
    from bktools.tables.load import load_categories

    company = the_company(service)
    path = chart or sample_files(service, "--chart")[0]
    with command(READS_FILE):
        frame = read_chart_of_accounts(
            path, columns=columns, company=company, delimiter=delimiter, encoding=encoding, sheet=sheet
        )
    typer.echo(recognised(frame))
    categories = load_categories(company, service=service)
    return reconcile_accounts(frame, load_accounts(company, service=service), categories)


def sample_files(service: Service, asked: str = "--chart and --entries") -> tuple[Path, Path]:
    """Return the sample files of the sandbox's world; with another environment, say what must be given."""
    from bktools.sandbox.sample import write_sample_data

    if not service.settings.is_sandbox:
        raise ArgumentError(asked, "must be given: sample files are for the sandbox alone")
    return write_sample_data(service.settings.state_dir / "sample-data")


def recognised(frame: pd.DataFrame) -> str:
    """Return the lines that say what was recognised in the file that a frame was read from."""
    return taken_as(frame.attrs["bktools"])


def taken_as(about: Mapping[str, Any]) -> str:
    """Return the lines that say what a reader recognised."""
    # A heading that is the field's own name says nothing new.
    columns = [f"{heading} → {field}" for field, heading in about["columns"].items() if heading != field]
    form = [f"{name} {about[name]!r}" for name in ("delimiter", "encoding") if about.get(name)]
    notes = "".join(f"\n                 note: {note}" for note in about["notes"])
    return f"{about['rows']} rows of {Path(about['source']).name} ({', '.join([*form, *columns])}){notes}"
