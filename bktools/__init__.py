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

# For type checkers and editors, for which `name as name` exports a name.
# isort: off
if TYPE_CHECKING:
    from bktools.checkup import check as check
    from bktools.close.changes import compare as compare
    from bktools.close.record import PeriodRecord as PeriodRecord, record_of as record_of
    from bktools.connection import Sandbox as Sandbox, connect as connect
    from bktools.export import ExportPlan as ExportPlan, compose_export_jobs as compose_export_jobs
    from bktools.frames.arrow import to_arrow as to_arrow
    from bktools.frames.delimited import to_csv as to_csv
    from bktools.frames.excel import to_excel as to_excel
    from bktools.inputs.readers.accounts import read_chart_of_accounts as read_chart_of_accounts
    from bktools.inputs.readers.entries import read_entries as read_entries
    from bktools.inputs.readers.ledger import read_general_ledger as read_general_ledger
    from bktools.journal.accounts import load_accounts as load_accounts
    from bktools.journal.export_jobs import (
        load_export_jobs as load_export_jobs,
        resolve_export_job as resolve_export_job,
    )
    from bktools.journal.periods import (
        close_period as close_period,
        load_periods as load_periods,
        reopen_period as reopen_period,
    )
    from bktools.ledger import LedgerMatch as LedgerMatch, match_ledger as match_ledger
    from bktools.reconcile import Reconciliation as Reconciliation, reconcile_accounts as reconcile_accounts
    from bktools.reports.coverage import plot_coverage as plot_coverage
    from bktools.reports.fixes import check_fixes as check_fixes, read_fixes as read_fixes
    from bktools.reports.money import plot_money as plot_money, plot_spend as plot_spend
    from bktools.month_end import close_month as close_month
    from bktools.service import Service as Service
    from bktools.snapshots.tables import (
        get_balance as get_balance,
        get_employee as get_employee,
        load_categories as load_categories,
        load_employees as load_employees,
    )
    from bktools.spending import expected_entries as expected_entries, spend as spend, versus as versus
    from bktools.submit import create_accounts as create_accounts, submit_export_jobs as submit_export_jobs
    from bktools.submit.account_list import import_accounts as import_accounts
    from bktools.submit.outcome_frame import Outcomes as Outcomes
    from bktools.widgets.entries import pick_entries as pick_entries
    from bktools.widgets.show import show as show

# isort: on
# By module, its public names; the docstring groups them by what they are for.
_NAMES = {
    "bktools.connection": "connect Sandbox",
    "bktools.service": "Service",
    "bktools.checkup": "check",
    "bktools.snapshots.tables": "load_categories load_employees get_employee get_balance",
    "bktools.close.changes": "compare",
    "bktools.inputs.readers.accounts": "read_chart_of_accounts",
    "bktools.inputs.readers.entries": "read_entries",
    "bktools.inputs.readers.ledger": "read_general_ledger",
    "bktools.reconcile": "reconcile_accounts Reconciliation",
    "bktools.submit": "create_accounts submit_export_jobs",
    "bktools.submit.account_list": "import_accounts",
    "bktools.journal.accounts": "load_accounts",
    "bktools.export": "compose_export_jobs ExportPlan",
    "bktools.widgets.entries": "pick_entries",
    "bktools.journal.export_jobs": "load_export_jobs resolve_export_job",
    "bktools.submit.outcome_frame": "Outcomes",
    "bktools.month_end": "close_month",
    "bktools.journal.periods": "close_period reopen_period load_periods",
    "bktools.close.record": "record_of PeriodRecord",
    "bktools.reports.fixes": "read_fixes check_fixes",
    "bktools.ledger": "match_ledger LedgerMatch",
    "bktools.spending": "spend versus expected_entries",
    "bktools.widgets.show": "show",
    "bktools.reports.money": "plot_money plot_spend",
    "bktools.reports.coverage": "plot_coverage",
    "bktools.frames.delimited": "to_csv",
    "bktools.frames.excel": "to_excel",
    "bktools.frames.arrow": "to_arrow",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = list(_HOMES)


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
