"""Text that spreadsheets, terminals and queries trip over goes through to the letter."""

import pandas as pd
import pytest
import reconcile_world as world

from bktools.frames import schema
from bktools.reconcile import reconcile_accounts


def test_every_text_comes_back_to_the_letter():
    """Quotes, line breaks, emoji, right-to-left text and formulas stay; messages are one line."""
    result = world.reconciled(world.nasty())
    assert all(len(message.splitlines()) == 1 for message in result.findings["message"])
    assert set(result.actions.loc[result.actions["action"] == "create", "name"]) == set(world.NASTY[1::2])


@pytest.mark.parametrize("empty", ["chart", "accounts", "categories"])
def test_one_empty_frame(empty):
    """Without a chart nothing is compared and nothing archived; without accounts all is created."""
    result = world.reconciled(world.plain() | {empty: []})
    expected = {
        "chart": ({"company_without_chart"}, {"none"}, 2),
        "accounts": ({"missing_in_service", "category_on_unknown_account"}, {"create"}, 0),
        "categories": (set(), {"none"}, 0),
    }
    covered = int((result.coverage["state"] == "covered").sum())
    found = (set(result.findings["check"]), set(result.actions["action"]), covered)
    assert found == expected[empty]


def test_many_rows_lose_nothing():
    """Of many accounts every one has a verb, and what differs is found, no more and no less."""
    rows = 50_000
    ids = pd.Series(range(rows)).astype("str").str.zfill(8).astype("str")
    chart = pd.DataFrame(
        {"company_id": "company-z", "external_id": ids, "code": ids, "name": ids, "archived": False}
    )
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
    counts = result.actions["action"].value_counts().to_dict()
    assert counts == {"none": rows - 3, "archive": 1, "create": 1, "update": 1}
    assert result.actions["external_id"].tolist() == ids.tolist()
