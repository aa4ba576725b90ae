"""Advice that was followed in the ledger, in any words and on any later day, is gone next time."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pytest
from worlds import MONEY, booking, exported, ledger, plainly_booked

from bktools import match_ledger

LATER = pd.Timestamp("2026-11-24")
END = [{"account_code": "1200", "description": "Bank", "date": pd.Timestamp("2026-12-31")}]


def books(entries, *changes, without=()):
    postings = plainly_booked(entries.drop(index=list(without)))
    for change in changes:
        postings += change
    return ledger([*postings, *booking(99, END[0], amount=1)])


def entry(entries, number):
    return entries.iloc[number].to_dict()


def by_hand(number, row, **changes):
    """Return a voucher as a person books it, weeks later, in words of their own."""
    return booking(number, row | {"description": "correction by hand"}, date=LATER, **changes)


CASES = {
    # The error, and what the advice says: in postings.
    "missing": (lambda _: [], lambda row: by_hand(70, row)),
    "booked_twice": (
        lambda row: booking(60, row) + booking(61, row),
        lambda row: by_hand(70, row, amount=-row["amount"]),
    ),
    "another_account": (
        lambda row: booking(60, row, account="6540"),
        lambda row: by_hand(70, row, account="6540", amount=-row["amount"]) + by_hand(71, row),
    ),
    "another_amount": (
        lambda row: booking(60, row, amount=row["amount"] + 9),
        lambda row: by_hand(70, row, amount=-row["amount"] - 9) + by_hand(71, row),
    ),
    "reversed": (
        lambda row: (
            booking(60, row)
            + booking(61, row, amount=-row["amount"], date=row["date"] + pd.Timedelta(days=2))
        ),
        lambda row: by_hand(70, row),
    ),
}


@pytest.mark.parametrize("status", CASES)
def test_followed_advice_is_gone(status):
    """What the advice says is done in the ledger; then the entry is there, and nothing is advised."""
    error, correction = CASES[status]
    entries = exported(12)
    row = entry(entries, 5)
    wrong = match_ledger(entries, books(entries, error(row), without=[5]))
    assert wrong.entries["status"].tolist()[5] == status
    right = match_ledger(entries, books(entries, error(row), correction(row), without=[5]))
    assert right.entries["status"].tolist()[5] in ("booked", "another_date")
    assert set(right.entries["status"].drop(5)) == {"booked"}
    assert set(right.findings["check"]) <= {"another_date"}


def test_another_cost_centre():
    """The cost centre is corrected in the ledger: then the entry is booked, and nothing is advised."""
    entries = exported(12).assign(cost_centre="100")
    right = books(entries).assign(cost_centre="100")
    wrong = right.assign(cost_centre=right["cost_centre"].mask(right["voucher_id"] == "A 6", "200"))
    assert match_ledger(entries, wrong).findings["check"].tolist() == ["another_cost_centre"]
    assert match_ledger(entries, right).findings["check"].tolist() == []


def test_a_voucher_that_was_looked_up():
    """A posting without text leaves an entry undecided; once a person looked, the entry is missing."""
    entries = exported(12)
    row = entry(entries, 5)
    later = row["date"] + pd.Timedelta(days=2)
    ledger_ = books(
        entries, booking(60, row | {"description": ""}, amount=row["amount"] + 40, date=later), without=[5]
    )
    open_ = match_ledger(entries, ledger_).findings
    assert open_["reason"].tolist() == ["may_be_in"]
    assert match_ledger(entries, ledger_, explained=["A 60"]).findings["reason"].tolist() == ["missing"]


@pytest.mark.parametrize("anew", ["2026-10-08", "2026-10-31"])
def test_another_month(anew):
    """An entry in another month is taken back and booked in its own by hand: then its month is right."""
    entries = exported(12)
    row = entry(entries, 5)
    wrong = booking(60, row, date="2026-11-04")
    found = match_ledger(entries, books(entries, wrong, without=[5])).findings
    assert found["reason"].tolist() == ["another_month"]
    back = by_hand(70, row, amount=-row["amount"])
    again = booking(71, row | {"description": "correction by hand"}, date=anew)
    right = match_ledger(entries, books(entries, wrong, back, again, without=[5]))
    assert right.entries["booked_voucher_id"].tolist()[5] == "A 71"
    assert set(right.findings["reason"]) <= {"another_date"}


def sums(entries, *changes, without=(), twice=()):
    """Return a ledger of sums by account and day, without some entries and with others twice."""
    booked = pd.concat([entries.drop(index=list(without)), entries.loc[list(twice)]])
    days = booked.groupby(["account_code", "date"], as_index=False)["amount"].sum()
    rows = days.assign(description="Expenses").to_dict("records")
    postings = [posting for number, row in enumerate(rows, 1) for posting in booking(number, row)]
    for change in changes:
        postings += change
    return ledger([*postings, *booking(99, END[0], amount=1)])


def test_a_sum_that_differs():
    """Two errors of a sum are corrected in the ledger, each by a voucher or both by one: then the entries are
    in the sum.
    """
    entries = exported(24)
    entries["date"] = [pd.Timestamp(2026, 10, 3 + number // 6) for number in range(24)]
    entries["account_code"] = [("5800", "4930")[number % 2] for number in range(24)]
    amounts = [
        Decimal("100.37") + Decimal("17.31") * number + Decimal(number**2) / 100 for number in range(24)
    ]
    entries["amount"] = pd.array(amounts, dtype=MONEY)
    omitted, doubled = entry(entries, 6), entry(entries, 8)
    found = match_ledger(entries, sums(entries, without=[6], twice=[8]))
    assert set(found.findings["reason"]) == {"sum_differs"}
    each = by_hand(70, omitted) + by_hand(71, doubled, amount=-doubled["amount"])
    both = by_hand(70, omitted, amount=omitted["amount"] - doubled["amount"])
    for correction in (each, both):
        right = match_ledger(entries, sums(entries, correction, without=[6], twice=[8]))
        assert set(right.entries["status"]) == {"in_a_sum"}
        assert len(right.findings) == 0


def test_several_fit():
    """A person looked up which of two equal entries a posting is of, and says so in its text; the other one
    is booked by hand.
    """
    entries = exported(12)
    for number in (4, 7):
        entries.loc[number, ["amount", "account_code", "description"]] = [Decimal("18.50"), "5800", "Taxi"]
    own, other = entry(entries, 4), entry(entries, 7)
    day = own["date"] + pd.Timedelta(days=13)
    found = match_ledger(entries, books(entries, booking(60, own, date=day), without=[4, 7])).findings
    assert found["reason"].tolist() == ["several_fit", "several_fit"]
    named = booking(60, own | {"description": f"Taxi {own['entry_id']}"}, date=day)
    looked_up = match_ledger(entries, books(entries, named, without=[4, 7]))
    assert looked_up.entries["status"].tolist()[4::3] == ["another_date", "missing", "booked"]
    corrected = match_ledger(entries, books(entries, named, by_hand(70, other), without=[4, 7]))
    assert corrected.entries["status"].tolist()[4::3] == ["another_date", "another_date", "booked"]
