"""Bookkeeping service data in pandas: load, reconcile, export once, report.

The public names, by what they are for:

- connect: `connect`, `Service`, `Sandbox`, `check`
- load: `load_categories`, `load_employees`, `get_employee`, `get_balance`, `compare`
- read files: `read_chart_of_accounts`, `read_entries`, `read_general_ledger`
- work on accounts: `reconcile_accounts`, `create_accounts`, `import_accounts`, `load_accounts`,
  `Reconciliation`
- export once: `compose_export_jobs`, `pick_entries`, `submit_export_jobs`, `load_export_jobs`,
  `resolve_export_job`, `ExportPlan`, `Outcomes`
- close a month: `close_month`, `close_period`, `reopen_period`, `load_periods`, `record_of`, `PeriodRecord`,
  `read_fixes`, `check_fixes`
- see what arrived: `match_ledger`, `LedgerMatch`
- look at money: `spend`, `versus`, `expected_entries`, `show`, `plot_money`, `plot_spend`, `plot_coverage`
- hand over: `to_csv`, `to_excel`, `to_arrow`

`help(bktools.spend)` explains one with an example, `bktools.errors` has the tree of errors, and the command
`bktools guide` shows a page for each question. "The interface" in docstrings is the service's interface
document: its section 2 has the fields, 4 the operations, 5 authentication, 7 errors, 8 limits.

Names are loaded when they are first used, so `import bktools` is quick. `bktools.errors` is loaded at once,
because an `except` clause needs its class.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from bktools import errors as errors

__version__ = "0.1.0"

# A program that sets up no logging hears nothing of ours.
logging.getLogger("bktools").addHandler(logging.NullHandler())

if TYPE_CHECKING:
    from bktools.checkup import check
    from bktools.close.changes import compare
    from bktools.close.record import PeriodRecord, record_of
    from bktools.connection import Sandbox, connect
    from bktools.export import ExportPlan, compose_export_jobs
    from bktools.frames.arrow import to_arrow
    from bktools.frames.delimited import to_csv
    from bktools.frames.excel import to_excel
    from bktools.inputs.readers.chart import read_chart_of_accounts
    from bktools.inputs.readers.entries import read_entries
    from bktools.inputs.readers.ledger import read_general_ledger
    from bktools.journal.accounts import load_accounts
    from bktools.journal.export_jobs import load_export_jobs, resolve_export_job
    from bktools.journal.periods import close_period, load_periods, reopen_period
    from bktools.ledger import LedgerMatch, match_ledger
    from bktools.reconcile import Reconciliation, reconcile_accounts
    from bktools.reports.coverage import plot_coverage
    from bktools.reports.fixes import check_fixes, read_fixes
    from bktools.reports.money import plot_money, plot_spend
    from bktools.reports.month_end import close_month
    from bktools.service import Service
    from bktools.snapshots.tables import get_balance, get_employee, load_categories, load_employees
    from bktools.spending import expected_entries, spend, versus
    from bktools.submit import create_accounts, submit_export_jobs
    from bktools.submit.account_list import import_accounts
    from bktools.submit.outcomes import Outcomes
    from bktools.widgets.entries import pick_entries
    from bktools.widgets.show import show

# By module, its public names.
_NAMES = {
    "bktools.checkup": "check",
    "bktools.close.changes": "compare",
    "bktools.close.record": "PeriodRecord record_of",
    "bktools.connection": "Sandbox connect",
    "bktools.export": "ExportPlan compose_export_jobs",
    "bktools.frames.arrow": "to_arrow",
    "bktools.frames.delimited": "to_csv",
    "bktools.frames.excel": "to_excel",
    "bktools.inputs.readers.chart": "read_chart_of_accounts",
    "bktools.inputs.readers.entries": "read_entries",
    "bktools.inputs.readers.ledger": "read_general_ledger",
    "bktools.journal.accounts": "load_accounts",
    "bktools.journal.export_jobs": "load_export_jobs resolve_export_job",
    "bktools.journal.periods": "close_period load_periods reopen_period",
    "bktools.ledger": "LedgerMatch match_ledger",
    "bktools.reconcile": "Reconciliation reconcile_accounts",
    "bktools.reports.coverage": "plot_coverage",
    "bktools.reports.fixes": "check_fixes read_fixes",
    "bktools.reports.money": "plot_money plot_spend",
    "bktools.reports.month_end": "close_month",
    "bktools.service": "Service",
    "bktools.snapshots.tables": "get_balance get_employee load_categories load_employees",
    "bktools.spending": "expected_entries spend versus",
    "bktools.submit": "create_accounts submit_export_jobs",
    "bktools.submit.account_list": "import_accounts",
    "bktools.submit.outcomes": "Outcomes",
    "bktools.widgets.entries": "pick_entries",
    "bktools.widgets.show": "show",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

# In the order of the docstring, so that a reference keeps its groups: one line for each group.
__all__ = [  # noqa: RUF022
    "connect",
    "Service",
    "Sandbox",
    "check",
    "load_categories",
    "load_employees",
    "get_employee",
    "get_balance",
    "compare",
    "read_chart_of_accounts",
    "read_entries",
    "read_general_ledger",
    "reconcile_accounts",
    "create_accounts",
    "import_accounts",
    "load_accounts",
    "Reconciliation",
    "compose_export_jobs",
    "pick_entries",
    "submit_export_jobs",
    "load_export_jobs",
    "resolve_export_job",
    "ExportPlan",
    "Outcomes",
    "close_month",
    "close_period",
    "reopen_period",
    "load_periods",
    "record_of",
    "PeriodRecord",
    "read_fixes",
    "check_fixes",
    "match_ledger",
    "LedgerMatch",
    "spend",
    "versus",
    "expected_entries",
    "show",
    "plot_money",
    "plot_spend",
    "plot_coverage",
    "to_csv",
    "to_excel",
    "to_arrow",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'bktools' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # For completion: neither this file's imports nor the rooms that were imported meanwhile.
    return sorted([*__all__, "errors", *(name for name in globals() if name.startswith("__"))])
