"""`bktools reconcile`: the chart of accounts against the service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import bktools
from bktools.cli import files, options, results
from bktools.cli.exits import Exit
from bktools.cli.options import fail_on_option, option

if TYPE_CHECKING:
    from bktools.reconcile import Reconciliation

FAIL_ON = {"error": ("error",), "warning": ("error", "warning")}


@results.lists
def reconcile(
    chart: files.Chart,
    connection: options.ConnectsToCompany,
    out: Path | None = option(
        "--out FOLDER", "Folder for the findings as CSV; see --profile.", section=options.OUTPUT
    ),
    profile: str = options.PROFILE,
    fail_on: str | None = fail_on_option(
        "error or warning: exit 11 when there are findings of this severity or worse.", FAIL_ON
    ),
) -> Exit:
    """Compare the ERP's chart with the accounts known here. Nothing is written.

    Categories without an account, or on an unknown or archived one, are findings, too.

    Example: bktools reconcile --chart chart_of_accounts.csv --fail-on error
    """
    reconciliation = reconciled(connection, chart)
    findings, actions = reconciliation.findings, reconciliation.actions
    numbers = {str(action): int(count) for action, count in actions["action"].value_counts().items()}
    results.report(str(reconciliation), accounts=numbers, actions=actions, findings=findings, written_to=out)
    if out is not None:
        reconciliation.to_csv(out, profile)
        results.say(f"written to {out}")
    return Exit.FINDINGS if fail_on and findings["severity"].isin(FAIL_ON[fail_on]).any() else Exit.DONE


def reconciled(connection: options.CompanyOptions, chart: files.FileOptions) -> Reconciliation:
    """Read a chart, print how it was read, and return its reconciliation with the known accounts."""
    service, company = connection.service, connection.company_id
    accounts = chart.or_sample(service).read(bktools.read_chart_of_accounts, company=company)
    results.say(files.recognised(accounts.attrs["bktools"]))
    categories = bktools.load_categories(company, service=service)
    return bktools.reconcile_accounts(accounts, bktools.load_accounts(company, service=service), categories)
