"""Entries that come again after their export: changed, or under another ID."""

from __future__ import annotations

import json
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hand_made import CATEGORY, entries_of, entry_id

from bktools import compose_export_jobs

MEALS = "00000000-0000-4000-8000-0000000000c2"


def amounts(*texts: str) -> pd.Series:
    return pd.Series([Decimal(text) for text in texts], dtype=pd.ArrowDtype(pa.decimal128(12, 2)))


def bought(first: int = 0) -> pd.DataFrame:
    """Return two entries with all facts."""
    return entries_of(2).assign(
        id=[entry_id(first), entry_id(first + 1)],
        date=pd.to_datetime(["2026-10-05", "2026-10-06"]),
        amount=amounts("1203.73", "88.00"),
        category_id=CATEGORY,
        supplier=["ACME", "Müller"],
        cost_centre="200",
        tax_code="V19",
    )


def sent(entries: pd.DataFrame, state: str = "ACCEPTED") -> pd.DataFrame:
    """Return the history of entries in a batch of this state."""
    return entries.rename(columns={"id": "entry_id"}).assign(state=state, batch_id="b1", period="2026-10")


def reasons(entries: pd.DataFrame, before: pd.DataFrame) -> list[str]:
    """Return why entries are not ready beside what was sent."""
    return compose_export_jobs(entries, history=sent(before)).not_ready["reason"].to_list()


CHANGES = [
    ({"amount": amounts("1213.73", "88.00")}, "amount 1,203.73 → 1,213.73"),
    ({"currency": ["USD", "EUR"]}, "currency EUR → USD"),
    ({"date": pd.to_datetime(["2026-10-07", "2026-10-06"])}, "date 2026-10-05 → 2026-10-07"),
    ({"category_id": [MEALS.upper(), CATEGORY]}, f"category {CATEGORY} → {MEALS}"),
    ({"tax_code": [None, "V19"]}, "tax code V19 → nothing"),
    ({"supplier": ["ACME GmbH", "Müller"]}, "supplier ACME → ACME GmbH"),
    ({"cost_centre": ["900", "200"]}, "cost centre 200 → 900"),
    (
        {"amount": amounts("1000.00", "88.00"), "tax_code": ["V7", "V19"]},
        "amount 1,203.73 → 1,000.00, tax code V19 → V7",
    ),
]


@pytest.mark.parametrize(("change", "text"), CHANGES, ids=[text for _, text in CHANGES])
def test_a_changed_entry_is_an_error_with_before_and_after(change, text):
    """What was exported is compared with what comes again; the error names both."""
    plan = compose_export_jobs(bought().assign(**change), history=sent(bought()))
    assert sorted(plan.not_ready["reason"]) == ["changed_since_export", "exported"]
    (error,) = plan.findings.query("check == 'changed_since_export'").to_dict("records")
    assert (error["severity"], error["message"]) == ("error", f"Exported with other data: {text}")


@pytest.mark.parametrize(
    "unchanged",
    [
        lambda entries: entries,
        lambda entries: entries.drop(columns=["supplier", "tax_code", "category_id", "cost_centre"]),
        lambda entries: entries.assign(amount=entries["amount"].astype(pd.ArrowDtype(pa.decimal128(20, 4)))),
        lambda entries: entries.assign(supplier=[" ACME", "Müller "], description="new", project="4711"),
    ],
    ids=["equal", "fewer columns", "more decimals", "spaces and more columns"],
)
def test_the_same_data_is_no_change(unchanged):
    """What either side lacks is not compared; decimals, spaces and other columns are no change."""
    assert reasons(unchanged(bought()), bought()) == ["exported"] * 2
    assert reasons(unchanged(bought()), bought()[["id", "company_id"]]) == ["exported"] * 2


@pytest.mark.parametrize("state", ["ACCEPTED", "UNKNOWN"])
def test_the_same_facts_under_another_id_are_a_warning(state):
    """A reissued entry is compared with what was sent, also in doubt; in one file, it is held back."""
    history, copies = sent(bought(), state), bought(first=10).assign(supplier=["acme ", "Schmidt"])
    plan = compose_export_jobs(copies, history=history, month="2026-11")
    (changes,) = plan.findings.query("check == 'suspected_second_export'").to_dict("records")
    assert (changes["severity"], len(plan.entries)) == ("warning", 2)
    assert all(text in changes["message"] for text in ("2026-10-05", "ACME", "2026-10"))
    file = pd.concat([bought(), copies], ignore_index=True)
    held = compose_export_jobs(file, history=history).not_ready.set_index("id")
    assert (held.loc[copies["id"][0], "reason"], len(held)) == ("sent_under_another_id", 3)
    # Until a person says that both were bought.
    both_bought = compose_export_jobs(file, history=history, not_booked=[copies["id"][0]])
    assert set(both_bought.entries["id"]) == set(copies["id"])


# The categories and the amounts of the lines of one entry that comes again, and its change.
LINES = [
    ([CATEGORY, MEALS], ["10.00", "6.50"], ["amount", "lines"]),
    ([MEALS, CATEGORY], ["10.00", "5.50"], ["lines"]),
    ([CATEGORY, MEALS], ["10.00", "5.50"], []),
]


@pytest.mark.parametrize(
    ("categories", "texts", "changed"), LINES, ids=["amount", "swapped", "another order"]
)
def test_the_lines_of_a_split_entry_are_compared(categories, texts, changed):
    """A changed line is an error of its entry; another order is no change."""
    lines = bought().assign(id=entry_id(0), date=pd.Timestamp("2026-10-05"), split_line=[1, 2], split_lines=2)
    before = lines.assign(category_id=[CATEGORY, MEALS], amount=amounts("10.00", "5.50"), supplier="Hotel")
    again = before.assign(category_id=categories, amount=amounts(*texts)).iloc[::-1]
    plan = compose_export_jobs(again, history=sent(before))
    errors = plan.findings.query("check == 'changed_since_export'")
    assert len(errors) == (2 if changed else 0)
    fields = [[change["field"] for change in json.loads(facts)["changes"]] for facts in errors["facts"]]
    assert fields == [changed] * len(errors)
