"""`month-end` and `export compose` ask the ledger before sending, in the style that a person says."""

from __future__ import annotations

import csv
import json
import uuid
from decimal import Decimal
from pathlib import Path

import pytest

from bktools.cli.exits import Exit

# Two entries a day, and what the ledger has of them: the sum of the first day, beside postings of others.
AMOUNTS = {
    "2026-10-01": ("11.50", "23.10"),
    "2026-10-02": ("31.70", "47.90"),
    "2026-10-05": ("58.30", "61.20"),
}
OTHERS = ("93.10", "77.77", "105.40", "240.15")


@pytest.fixture
def company(sandbox, access, run, monkeypatch):
    """A company of the sandbox, in variables, with a chart, six entries on 5800 and a ledger in files."""
    server = sandbox.server
    for name, value in access.items():
        monkeypatch.setenv(name, value)
    account = next(account for account in server.accounts() if not account.archived)
    Path("accounts.csv").write_text(
        f"id,external_id,code,name,company_id\n{account.id},{account.external_id},5800,Travel,{account.company_id}\n"
    )
    Path("chart.csv").write_text("code,name\n5800,Travel\n2990,Creditors\n")
    assert run("accounts", "import", "accounts.csv").returncode == Exit.DONE
    category = server.add_category("Travel", account_id=account.id)
    lines = [
        f"{uuid.uuid4()},{server.company_id},{date},{amount},EUR,{category},approved,Ticket {amount}"
        for date, amounts in AMOUNTS.items()
        for amount in amounts
    ]
    heading = "id,company_id,date,amount,currency,category_id,status,description"
    Path("entries.csv").write_text("\n".join([heading, *lines]))
    day, amounts = next(iter(AMOUNTS.items()))
    postings = [(day, sum(map(Decimal, amounts))), *(("2026-10-20", Decimal(other)) for other in OTHERS)]
    sides = [
        f"{code};{date};{sign * amount};EUR;Expenses;A {number}"
        for number, (date, amount) in enumerate(postings, 1)
        for code, sign in (("5800", 1), ("2990", -1))
    ]
    Path("ledger.csv").write_text("\n".join(["account;date;amount;currency;text;voucher", *sides]))


def month_end(run, *options):
    """Close the month, and return the voucher of each entry that is held back as booked, by its amount."""
    files = ("--chart", "chart.csv", "--entries", "entries.csv", "--month", "2026-10", "--out", "close")
    done = run("month-end", *files, *options)
    assert done.returncode == Exit.DONE, done.stderr
    return held("close/entries.csv")


def compose(run, *options):
    """Compose the export, and return the voucher of each entry that is held back as booked, by its amount."""
    folder = uuid.uuid4().hex
    done = run("export", "compose", "entries.csv", "--out", f"{folder}.plan", "--csv", folder, *options)
    assert done.returncode == Exit.DONE, done.stderr
    return held(f"{folder}/export_not_ready.csv")


def held(path):
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        rows = [*csv.DictReader(file)]
    booked = [row for row in rows if row["reason"] == "already_booked"]
    return {row["amount"]: json.loads(row["facts"])["voucher"] for row in booked}


@pytest.mark.parametrize("command", [month_end, compose])
def test_the_style_of_the_ledger_can_be_said(run, company, command):
    """A ledger that shows no style holds nothing back; in the style that a person says, it does."""
    ledger = ("--ledger", "ledger.csv")
    assert command(run, *ledger) == {}
    assert run("ledger ledger.csv --style account_day --save-mapping erp").returncode == Exit.DONE
    assert command(run, *ledger) == dict.fromkeys(("11.50", "23.10"), "A 1")
