"""What the verdict promises, each in the smallest world that shows it."""

from __future__ import annotations

import pytest
from csv_worlds import NAMES, entries_of, ledger_of, match_of, wrong

from bktools import match_ledger


@pytest.mark.parametrize("name", NAMES)
def test_each_entry_has_a_status_that_an_accountant_would_accept(name):
    """And nobody is told to book again what was reversed: the reversal may be right."""
    match = match_of(name)
    assert [*wrong(match.entries)] == []
    is_reversed = match.findings["reason"] == "reversed"
    assert {*match.findings["to_do"][is_reversed]} <= {"Look up why it was reversed"}


@pytest.mark.parametrize("name", NAMES)
def test_a_verdict_does_not_depend_on_the_order_of_the_rows(name):
    """A ledger sorted by account, each account in any order, says the same of each entry and total."""
    postings = ledger_of(name).sample(frac=1, random_state=7).sort_values("account_code", kind="stable")
    shuffled, match = match_ledger(entries_of(name), postings), match_of(name)
    assert shuffled.postings["amount"].tolist() == [float(amount) for amount in postings["amount"]]
    assert shuffled.totals.equals(match.totals)
    names = ["status", "reason", "days_late", "booked_voucher_id", "booked_account_code", "booked_amount"]
    names = [column for column in names if column in match.entries]
    assert shuffled.entries[names].equals(match.entries[names])
