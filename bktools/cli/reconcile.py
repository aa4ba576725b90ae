"""`bktools reconcile`: the chart of accounts against the service."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import bktools
from bktools.cli import options, reading, results
from bktools.cli.exits import Exit
from bktools.cli.options import option
from bktools.contract import rules
from bktools.wording import words

if TYPE_CHECKING:
    from bktools.reconcile import Reconciliation

FAIL_ON = {"error": ("error",), "warning": ("error", "warning")}


def reconcile(
    books: options.Company,
    text: results.Text,
    chart: Path | None = reading.CHART,
    mapping: list[str] | None = reading.MAPPING,
    folder: Path | None = option("--out FOLDER", "Also write the tables as CSV here; see --profile."),
    profile: str = options.PROFILE,
    fail_on: str | None = option("--fail-on error|warning", "Exit 11 on findings of this severity or worse."),
) -> Exit:
    """Compare the ERP's chart with the accounts known here. Nothing is written.

    Categories without an account, or on an unknown or archived one, are findings, too.

    Example: bktools reconcile --chart chart_of_accounts.csv --fail-on error
    """
    failing = FAIL_ON[rules.one_of("fail_on", fail_on, FAIL_ON)] if fail_on else ()
    with books.connected() as service:
        reconciliation = reconciled(service, chart, mapping, text.say)
    findings, actions = reconciliation.findings, reconciliation.actions
    numbers = {str(action): int(count) for action, count in actions["action"].value_counts().items()}
    if folder is not None:
        reconciliation.to_csv(folder, profile)
    text.report(
        str(reconciliation),
        words()("command.written_to", folder=folder) if folder else "",
        accounts=numbers,
        actions=actions,
        findings=findings,
        not_compared=reconciliation.unchecked,
        another_chart=reconciliation.another_chart or None,
        written_to=folder,
    )
    return Exit.FINDINGS if findings["severity"].isin(failing).any() else Exit.DONE


def reconciled(
    service: bktools.Service, chart: Path | None, mapping: list[str] | None, say: Callable[[str], object]
) -> Reconciliation:
    """Read a chart, say how it was read, and return its reconciliation with the known accounts."""
    company = rules.company_of(service.settings)
    file = chart or reading.samples(service, "--chart")[0]
    accounts = reading.read(bktools.read_chart_of_accounts, "chart", file, mapping, company=company)
    say(reading.recognised(accounts.attrs["bktools"]))
    categories = bktools.load_categories(company, service=service)
    return bktools.reconcile_accounts(accounts, bktools.load_accounts(company, service=service), categories)
