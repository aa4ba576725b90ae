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

import ast
import importlib
import logging
from pathlib import Path
from typing import Any

from bktools import errors as errors

__version__ = "0.1.0"

# A program that sets up no logging hears nothing of ours.
logging.getLogger("bktools").addHandler(logging.NullHandler())

# The stub beside this file declares each name once, for type checkers, too.
_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_HOMES = {
    alias.name: f"{node.module}"
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom) and node.module != "bktools"
    for alias in node.names
}

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
