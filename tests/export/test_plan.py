"""What a plan shows, and writes."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hand_made import COMPANY

from bktools import compose_export_jobs
from bktools.errors import PlanError

EXACT = pd.ArrowDtype(pa.decimal128(38, 2))


def test_the_currency_of_most_entries_is_first(entries):
    """The currency of most waiting entries stands first and decides the order, not the alphabet."""
    waits = {"approved": [False, False, False, True], "category_id": [None] * 4}
    plan = compose_export_jobs(entries(4, currency=["USD", "USD", "CHF", "USD"], **waits))
    values = dict(zip(plan.needs_action["check"], plan.needs_action["value"], strict=True))
    assert values == {"not_approved": "USD 20.20, CHF 10.10", "no_category": "USD 10.10"}


def test_amounts_are_exact_and_by_currency(entries):
    """Sums of more digits than a Decimal context keeps; an entry without amount or currency is not ready."""
    large, cent = Decimal("123456789012345678901234567890.12"), Decimal("0.01")
    amounts = pd.array([large, cent, None, None, cent], dtype=EXACT)
    plan = compose_export_jobs(entries(5, amount=amounts, currency=["USD", "USD", "USD", "CHF", None]))
    assert plan.amounts == {"USD": Decimal("123456789012345678901234567890.13")}
    assert plan.not_ready["reason"].to_list() == ["no_amount", "no_amount", "no_currency"]
    assert "ready: USD 123,456,789,012,345,678,901,234,567,890.13\n" in repr(plan)
    assert compose_export_jobs(entries(2, currency=["USD", "EUR"])).amounts == {
        "EUR": Decimal("10.10"),
        "USD": Decimal("10.10"),
    }
    whole = compose_export_jobs(entries(2, amount=[1, 2])).amounts
    assert (whole, {type(value) for value in whole.values()}) == ({"EUR": Decimal(3)}, {Decimal})
    assert compose_export_jobs(entries(1).drop(columns="amount")).amounts == {}


def test_what_it_shows_is_escaped(entries):
    """A notebook shows counts and batches; text of the entries is no markup."""
    plan = compose_export_jobs(entries(3, approved=[True, True, False]))
    assert "2 entries ready in 1 batch, 1 not ready" in repr(plan)
    assert plan.batches["batch_id"][0] in plan._repr_html_()
    assert "<script" not in compose_export_jobs(entries(1, currency=["<script>"]))._repr_html_()


def test_an_unknown_batch_is_refused(entries):
    """There is no request for a batch that is not in the plan."""
    with pytest.raises(PlanError, match="no batch"):
        compose_export_jobs(entries(1)).request("0" * 20)


CATEGORIES = pd.DataFrame(
    {"id": ["c1"], "company_id": [COMPANY], "archived": [False], "account_id": ["a1"], "name": ["Travel"]}
)
ACCOUNTS = pd.DataFrame(
    {"id": ["A1"], "archived": [False], "code": ["0400"], "external_id": ["x"], "name": ["Fares"]}
)
EMPLOYEES = pd.DataFrame({"id": ["e1"], "first_name": ["Ada"], "last_name": ["Lovelace"], "email": ["a@b.c"]})


def test_names_and_money_come_first(entries, tmp_path):
    """Ready and held-back entries have names beside IDs in frames and files; batches stay."""
    frame = entries(
        3, category_id=["C1", "c1", "c9"], employee_id=["e1", None, "e1"], description=["x", "y", "z"]
    )
    unnamed = {"categories": CATEGORIES.drop(columns="name"), "accounts": ACCOUNTS[["id", "archived"]]}
    plan = compose_export_jobs(frame, categories=CATEGORIES, accounts=ACCOUNTS, employees=EMPLOYEES)
    money = "date amount currency description category_name account_code account_name employee_name"
    assert " ".join(plan.entries.columns[:8]) == " ".join(plan.not_ready.columns[:8]) == money
    assert plan.entries.columns[-1] == "employee_id"
    assert plan.entries["category_name"].to_list() == ["Travel"] * 2
    assert plan.entries["account_code"].to_list() == ["0400"] * 2
    assert plan.entries["employee_name"].fillna("").to_list() == ["Ada Lovelace", ""]
    assert plan.not_ready["employee_name"].to_list() == ["Ada Lovelace"]
    assert plan.rows.column_names == list(plan.entries.columns)
    assert " ".join(pd.read_csv(plan.to_csv(tmp_path)[2]).columns[:8]) == money
    before = compose_export_jobs(frame, **unnamed, employees=EMPLOYEES[["id"]])
    assert not before.entries["account_code"].notna().any()
    assert before.plan_id != plan.plan_id, "the ID covers what the journal keeps"
