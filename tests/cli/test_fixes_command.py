"""`bktools fixes`: from a filled-in workbook to the list for whoever does it, and to what is done."""

from __future__ import annotations

import csv
from contextlib import closing
from pathlib import Path
from typing import Any

from filling import Rows, column, filled

import bktools
from bktools.sandbox.server import DATABASE
from bktools.sandbox.store import Store
from bktools.sandbox.world import World


def _line(rows: Rows, check: str, at: int = 0) -> list[Any]:
    return [row for row in rows if row[column(rows, "code")] == check and row[column(rows, "category id")]][
        at
    ]


def _set_account(category_id: str, account_id: str, *, sandbox: Path) -> None:
    """Give a category another account, as somebody does in the service's user interface."""
    with bktools.connect("sandbox") as service:
        known = bktools.load_categories(refresh=True, service=service).set_index("id").loc[category_id]
    with closing(Store(sandbox / DATABASE, World())) as store:
        store.remove_category(category_id)
        category = {
            "companyId": known["company_id"],
            "categoryGroupId": known["category_group_id"],
            "name": known["name"],
        }
        store.add_category(
            {"id": category_id, **category, "archived": False, "accountId": account_id, "taxCodeId": None}
        )


def test_the_round_trip(run, tmp_path: Path):
    """Filled in, checked, handed on as CSV; a fix made in the service is then reported as done."""
    assert run("month-end", "--sandbox", "--apply", "--out", "october").returncode in {0, 10}
    with bktools.connect("sandbox") as service:
        sandbox, company = service.settings.state_dir, service.settings.company
        known = bktools.load_accounts(company, service=service)
    account, other = (known[known["state"] == "CREATED"].iloc[place] for place in (0, 1))
    label = f"{account['code']} · {account['name']}"
    named: list[list[Any]] = []

    def change(rows: Rows) -> None:
        for at, text in enumerate((label, other["code"], label, "9999")):
            line = _line(rows, "no_account", at)
            line[column(rows, "new account")] = text
            named.append([line[column(rows, name)] for name in ("about", "category id")])

    path = filled(tmp_path / "here" / "october" / "month-end.xlsx", tmp_path / "filled.xlsx", change)
    read = run("fixes", path, "--output", "fixes.csv", "--sandbox")
    assert read.returncode == 10
    assert f"{named[3][0]}: The account '9999' is not among the accounts bktools knows" in read.stderr
    assert "3 open, 1 not valid" in read.stderr
    with (tmp_path / "here" / "fixes.csv").open(encoding="utf-8-sig", newline="") as file:
        listed = list(csv.DictReader(file))
    assert [row["about"] for row in listed] == [about for about, _ in named[:3]]
    assert listed[0]["message"] == f"Set the account of the category to {label} in the service"

    _set_account(named[0][1], str(account["id"]), sandbox=sandbox)
    _set_account(named[1][1], str(account["id"]), sandbox=sandbox)
    later = run("fixes", path, "--sandbox")
    rows = [dict(zip(*pair, strict=True)) for pair in _table(later.stdout)]
    assert {row["about"]: row["outcome"] for row in rows} == {
        named[0][0]: "done",
        named[1][0]: "done differently",
        named[2][0]: "open",
    }
    assert all(row["account_now"] == label for row in rows if row["outcome"] != "open")


def _table(printed: str) -> list[tuple[list[str], list[str]]]:
    head, *rows = [line.split("\t") for line in printed.splitlines() if "\t" in line]
    return [(head, row) for row in rows]
