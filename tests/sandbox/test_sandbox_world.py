"""The world and the sample files: from a seed, the same bytes every time, and what a close has to face."""

from __future__ import annotations

import csv
import hashlib
import io
import uuid
from collections import Counter

from bktools.sandbox import write_sample_data
from bktools.sandbox.world import NAMES, World, chart_of_accounts, row_json

# Typed from a first run: they change only when the world is changed on purpose.
WORLD_DIGEST = "cd55afc2506d509b"
CHART_DIGEST = "cb858de5494c4610"
ENTRIES_DIGEST = "0d64b1ef838b95c3"


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def test_the_same_bytes_every_time():
    """A seed is a world, to the byte; another seed is another one."""

    def whole(world):
        lines = [repr(company) for company in world.all_companies]
        for number in range(world.companies):
            lines += map(repr, world.accounts(number))
            lines += map(row_json, world.categories_of(number))
            lines += map(row_json, world.employees_of(number))
        return "\n".join(lines).encode()

    assert digest(whole(World())) == WORLD_DIGEST
    assert whole(World(seed=2)) != whole(World())


def test_ids_are_uuids_and_unique():
    """Every id is a UUID of version 4 and stands for one thing."""
    world = World(companies=9)
    ids = [company.id for company in world.all_companies]
    for number in range(9):
        ids += [account.id for account in world.accounts(number)]
        ids += [row["id"] for row in (*world.categories_of(number), *world.employees_of(number))]
    assert len(set(ids)) == len(ids)
    # Nor do two employees share an address, however many there are.
    assert len({row["email"] for row in World(employees=100).employees_of(0)}) == 100
    assert all(str(uuid.UUID(id_)) == id_ and uuid.UUID(id_).version == 4 for id_ in ids)


def test_the_first_companys_categories():
    """The kinds of trouble a close has to find, in the numbers the documentation tells."""
    world = World()
    accounts = {account.id: account for account in world.accounts(0)}
    rows = list(world.categories_of(0))
    charted = {account.code for account in chart_of_accounts()}
    mapped = [accounts[row["accountId"]] for row in rows if row["accountId"]]
    assert len(rows) == 240
    assert sum(row["accountId"] is None for row in rows) == 20
    assert sum(row["archived"] for row in rows) == 8
    assert sum(account.archived for account in mapped) == 5
    assert sum(account.external_id not in charted for account in mapped) == 4
    assert [name for name, count in Counter(row["name"] for row in rows).items() if count > 1] == ["Flüge"]


def test_the_chart_against_the_service():
    """Which accounts of the ERP the service knows, knows otherwise, and has on its own."""
    chart = chart_of_accounts()
    assert Counter(account.in_service for account in chart) == {"=": 47, "~": 2, "": 44}
    assert all(len(account.code) == 6 and account.code.isdigit() for account in chart)
    assert len({account.code for account in chart}) == len(chart) == 93
    stored = {account.external_id: account for account in World().accounts(0)}
    alone = {code for code, *_ in NAMES["only_in_service"]}
    assert stored.keys() - {account.code for account in chart} == alone
    for account in chart:
        if account.in_service == "=":
            known = stored[account.code]
            assert (known.name, known.archived) == (account.name, account.active == "nein")
            assert (known.code, known.tax_code_external_id) == (account.code, account.tax_code or None)


def test_sample_files(tmp_path):
    """The files have the formats they claim, and the same bytes every time."""
    chart, entries = write_sample_data(tmp_path / "new")
    assert write_sample_data(tmp_path / "new") == (chart, entries)
    names = ["accounting_entries.csv", "chart_of_accounts.csv"]
    assert sorted(file.name for file in chart.parent.iterdir()) == names
    assert digest(chart.read_bytes()) == CHART_DIGEST
    assert digest(entries.read_bytes()) == ENTRIES_DIGEST
    text = chart.read_bytes().decode("utf-8")
    assert text.startswith("\ufeffKonto;Bezeichnung;Art;Steuerschlüssel;Aktiv\r\n")
    assert '"Sonstige Leistungen; EU (§ 13b UStG)"' in text
    assert ";Büroeinrichtung ;" in text
    assert text.count("\r\n") == text.count("\n") == 94


def test_sample_entries(tmp_path):
    """The entries hold what an export has to find, in the numbers the documentation tells."""
    _, file = write_sample_data(tmp_path)
    rows = list(csv.DictReader(io.StringIO(file.read_text("utf-8"), newline="")))
    world = World()
    categories = {row["id"] for row in world.categories_of(0)}
    employees = {row["id"] for row in world.employees_of(0)}
    assert len(rows) == 320
    assert len({row["entry_id"] for row in rows}) == 319
    assert rows[-1] == rows[99]
    assert Counter(row["status"] for row in rows) == {"approved": 305, "draft": 8, "in_review": 7}
    assert sum(row["category_id"] == "" for row in rows) == 1
    assert sum(row["category_id"] not in categories | {""} for row in rows) == 1
    assert sum(row["employee_id"] not in employees for row in rows) == 2
    assert Counter(row["company_id"] == world.all_companies[0].id for row in rows) == {True: 319, False: 1}
    assert {row["currency"] for row in rows} == {"EUR", "USD", "SEK", "JPY", "CHF"}
    assert all(("." in row["amount"]) != (row["currency"] == "JPY") for row in rows)
    assert 0 < sum(row["amount"].startswith("-") for row in rows) < 40
    assert len({row["description"] for row in rows}) == 319
    assert all(row["date"].startswith("2026-10-") for row in rows)
