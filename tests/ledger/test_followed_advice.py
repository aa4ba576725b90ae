"""Advice that was followed in the ledger, in any words and on any later day, is gone next time."""

from __future__ import annotations

import pandas as pd
import pytest
from worlds import booking, exported, ledger, plainly_booked

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
