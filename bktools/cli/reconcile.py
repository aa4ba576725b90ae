"""`bktools reconcile`: the chart of accounts against the service."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bktools.caller import command
from bktools.cli import options, results
from bktools.cli.exits import Exit
from bktools.cli.mappings import remembered
from bktools.errors import ArgumentError

if TYPE_CHECKING:
    from bktools.reconcile import Reconciliation
    from bktools.service import Service

FAIL_ON = {"error": ("error",), "warning": ("error", "warning")}


@results.lists
def reconcile(
    chart: options.Chart = None,
    company: options.Company = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    column: options.Column = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    save_mapping: options.SaveMapping = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            rich_help_panel=options.OUTPUT,
            help="Folder for the findings as CSV; see --profile.",
        ),
    ] = None,
    profile: options.Profile = "excel",
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            metavar="SEVERITY",
            help="error or warning: exit 11 when there are findings of this severity or worse.",
            autocompletion=options.one_of(lambda: FAIL_ON),
        ),
    ] = None,
) -> None:
    """Compare the ERP's chart with the accounts known here. Nothing is written.

    Categories without an account, or on an unknown or archived one, are findings, too.

    Example: bktools reconcile --chart chart_of_accounts.csv --fail-on error
    """
    if fail_on is not None and fail_on not in FAIL_ON:
        raise ArgumentError("--fail-on", f"must be one of {', '.join(FAIL_ON)}", fail_on)
    with options.connected(environment, sandbox=sandbox, company=company) as service:
        found = reconciled(service, chart, options.columns(column), delimiter, encoding, sheet, save_mapping)
    results.say(str(found))
    actions = {str(action): int(count) for action, count in found.actions["action"].value_counts().items()}
    results.result(accounts=actions, actions=found.actions, findings=found.findings, written_to=out)
    if out is not None:
        found.to_csv(out, profile)
        results.say(f"written to {out}")
    if fail_on and found.findings["severity"].isin(FAIL_ON[fail_on]).any():
        raise typer.Exit(Exit.FINDINGS)


def reconciled(
    service: Service,
    chart: Path | None,
    columns: dict[str, str] | None,
    delimiter: str | None,
    encoding: str | None,
    sheet: str | None,
    save_mapping: str | None,
) -> Reconciliation:
    """Read a chart, print how it was read, and return its reconciliation with the known accounts."""
    from bktools.inputs.chart_of_accounts import read_chart_of_accounts
    from bktools.journal.accounts import load_accounts
    from bktools.reconcile import reconcile_accounts
    from bktools.snapshots.tables import load_categories

    company = options.the_company(service)
    path = chart or sample_files(service, "--chart")[0]
    given = {"columns": columns, "delimiter": delimiter, "encoding": encoding, "sheet": sheet}
    with (
        results.readable(path) as file,
        command(options.READS_FILE),
        remembered("chart", file, given, save_mapping) as read_as,
    ):
        frame = read_chart_of_accounts(file, company=company, **read_as)
    results.say(recognised(frame.attrs["bktools"]))
    categories = load_categories(company, service=service)
    return reconcile_accounts(frame, load_accounts(company, service=service), categories)


def sample_files(service: Service, asked: str = "--chart and --entries") -> tuple[Path, Path]:
    """Return the sample files of the sandbox; with another environment, refuse the missing option."""
    from bktools.sandbox.sample import write_sample_data

    if not service.settings.is_sandbox:
        raise ArgumentError(asked, "must be given: sample files are for the sandbox alone")
    return write_sample_data(service.settings.state_dir / "sample-data")


def recognised(about: Mapping[str, Any]) -> str:
    """Return the description of a file that was read, from `frame.attrs["bktools"]`."""
    # A heading equal to the field's name is left out.
    columns = [f"{heading} → {field}" for field, heading in about["columns"].items() if heading != field]
    form = [f"{name} {about[name]!r}" for name in ("delimiter", "encoding") if about.get(name)]
    notes = "".join(f"\n                 note: {note}" for note in about["notes"])
    return f"{about['rows']} rows of {Path(about['source']).name} ({', '.join([*form, *columns])}){notes}"
