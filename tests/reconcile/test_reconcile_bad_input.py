"""Text that spreadsheets, terminals and queries trip over goes through to the letter."""

import pandas as pd
import pytest
import reconcile_reference as reference
import reconcile_world as world
from reconcile_engines import in_pandas

from bktools.frames import schema
from bktools.reconcile import reconcile_accounts

NASTY = [
    'O\'Brien "and" sons',
    "two\nlines\r\nand a\ttab",
    "🧾 receipts",
    "חשבון בנק",
    "\u202eright to left",
    "=1+1",
    "+1",
    "-1",
    "@home",
    "'; DROP TABLE chart; --",
    "{}",
    "100 %",
    "0 1 2",
    "back\\slash",
    " spaces ",
    "e\u0301",
    "é",
]


def nasty():
    """Return a chart whose codes and names are all of these, beside accounts that have other names or are missing."""
    rows = world.plain()
    company = rows["chart"][0]["company_id"]
    chart = [
        {"company_id": company, "external_id": f"{text}#{number}", "code": text, "name": text, "archived": False}
        | {"tax_code_external_id": text}
        for number, text in enumerate(NASTY)
    ]
    known = [row | {"id": f"id {text}", "state": "CREATED"} for row, text in zip(chart, NASTY, strict=True)][::2]
    known = [row | {"name": row["name"] + "!"} for row in known]
    categories = [
        {"id": f"category {text}", "company_id": company, "category_group_id": "group", "name": text}
        | {"archived": False, "account_id": f"id {text}", "tax_code_id": text}
        for text in NASTY
    ]
    return {"chart": rows["chart"] + chart, "accounts": rows["accounts"] + known, "categories": categories}


def test_every_text_comes_back_to_the_letter(engine):
    """Quotes, line breaks, emoji, right-to-left text and formulas are neither lost nor changed, in IDs or values."""
    rows = nasty()
    result = reconcile_accounts(**engine.frames(world.tables(rows)))
    findings, actions, coverage = reference.reconcile(**rows)
    found = engine.rows(result.findings)
    assert reference.in_order(row[:-4] for row in found) == reference.in_order(findings)
    assert reference.in_order(engine.rows(result.actions)) == reference.in_order(actions)
    assert reference.in_order(engine.rows(result.coverage)) == reference.in_order(coverage)
    assert all(len(row[-4].splitlines()) == 1 for row in found)
    created = {row[5] for row in engine.rows(result.actions) if row[3] == "create"}
    assert created == set(NASTY[1::2])


@pytest.mark.parametrize("empty", ["chart", "accounts", "categories"])
def test_one_empty_frame(empty):
    """Without a chart nothing is compared and nothing archived; without accounts all is created."""
    engine, rows = in_pandas(), world.plain() | {empty: []}
    result = reconcile_accounts(**engine.frames(world.tables(rows)))
    findings, actions, coverage = reference.reconcile(**rows)
    assert reference.in_order(row[:-4] for row in engine.rows(result.findings)) == reference.in_order(findings)
    assert reference.in_order(engine.rows(result.actions)) == reference.in_order(actions)
    assert reference.in_order(engine.rows(result.coverage)) == reference.in_order(coverage)


def test_many_rows_lose_nothing():
    """Of many accounts every one has a verb, and what differs is found, no more and no less."""
    rows = 50_000
    ids = pd.Series(range(rows)).astype("str").str.zfill(8).astype("str")
    chart = pd.DataFrame({"company_id": "company-z", "external_id": ids, "code": ids, "name": ids, "archived": False})
    chart = chart.astype({"company_id": "str"})
    accounts = chart.assign(state="CREATED", id=ids).iloc[::-1].reset_index(drop=True)
    accounts.loc[accounts["external_id"] == "00012345", "name"] = "other"
    chart = chart[chart["external_id"] != "00044321"]
    accounts = accounts[accounts["external_id"] != "00029999"]
    categories = schema.to_pandas(world.tables(world.plain())["categories"]).iloc[:0]
    result = reconcile_accounts(chart, accounts, categories)
    found = result.findings[["check", "external_id"]].to_numpy().tolist()
    assert found == [
        ["missing_in_erp", "00044321"],
        ["missing_in_service", "00029999"],
        ["name_differs", "00012345"],
    ]
    assert result.actions["action"].value_counts().to_dict() == {
        "none": rows - 3,
        "archive": 1,
        "create": 1,
        "update": 1,
    }
    assert result.actions["external_id"].tolist() == ids.tolist()
