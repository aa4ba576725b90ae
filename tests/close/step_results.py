"""What the steps of a close return, made by hand: entries, findings, and the actions made from them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa

from bktools.close.actions import Action, StepResults, actions_of
from bktools.close.entries import ENTRY_COLUMNS
from bktools.findings.check import SERVICE
from bktools.frames.sums import Sum

COMMANDS = {
    "unknown_account": "bktools accounts import FILE",
    "maybe_booked": "bktools export not-booked ENTRIES",
}


def entries_of(*rows: dict[str, Any]) -> pa.Table:
    """Return a table of entries: the columns of a row that are not given are null, and it is held back."""
    usual = {"fate": "held_back", "currency": "EUR", "split_line": 0}
    numbered = [usual | {"id": f"entry {number}", "line": number} | row for number, row in enumerate(rows)]
    return pa.Table.from_pylist(
        [{"amount": Decimal(row.pop("money", "1.00"))} | row for row in numbered], ENTRY_COLUMNS
    )


def finding(check: str, entry: int | None, **columns: Any) -> dict[str, Any]:
    """Return a finding of an entry by its number."""
    usual = {"check": check, "severity": "error", "who": SERVICE, "id": f"entry {entry}", "line": entry}
    return usual | {"facts": "{}", "category_id": None} | columns


def of_category(check: str, category: str, **columns: Any) -> dict[str, Any]:
    """Return a finding of a category by its name."""
    about = {"category_id": f"id of {category}", "about": category, "severity": "error"}
    return of_account(check, None, **about | columns)


def of_account(check: str, account: str | None, **columns: Any) -> dict[str, Any]:
    """Return a finding of an account."""
    names = dict.fromkeys(("about", "category_id", "account_id", "field", "erp_value", "service_value"))
    usual = {"check": check, "severity": "warning", "who": SERVICE, "external_id": account, "facts": "{}"}
    return usual | names | columns


def actions_and_roles(entries: pa.Table, **given: Any) -> tuple[tuple[Action, ...], tuple[Sum, ...]]:
    """Return the actions, and who has to act, where nothing is wrong but what is given."""
    usual: dict[str, Any] = dict.fromkeys(("findings", "accounts", "jobs", "created"), ())
    usual |= {"unknown_outcomes": {}, "own": "EUR", "commands": COMMANDS}
    return actions_of(StepResults(entries, **(usual | given)))


def made(entries: pa.Table, **given: Any) -> tuple[Action, ...]:
    """Return the actions of a close in which nothing is wrong but what is given."""
    return actions_and_roles(entries, **given)[0]
