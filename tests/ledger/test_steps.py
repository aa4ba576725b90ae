"""Steps of a match that only one kind of posting needs, each by the smallest frames in which no other step does its work."""

from __future__ import annotations

import pandas as pd
import pytest
from worlds import number_id

from bktools import match_ledger

# Entries: account, amount, day, document. Postings: voucher, account, amount, day, document. Then status and evidence.
CASES = {
    "a document with another amount, days later": (
        [("5800", 100, 3, "R-0001")],
        [("A 1", "5800", 90, 6, "R-0001")],
        [("another_amount", "document number and account")],
    ),
    "a document on another account, days later": (
        [("5800", 100, 3, "R-0001")],
        [("A 1", "5900", 100, 6, "R-0001")],
        [("another_account", "document number and amount")],
    ),
    "the sum of a day, booked the day after": (
        [("5800", 100, 3, None), ("5800", 50, 3, None), ("5800", 7, 20, None)],
        [("A 1", "5800", 150, 4, None)],
        [("another_date", "sum of account and day")] * 2 + [("missing", None)],
    ),
    "the sum of a day with tax, booked the day after": (
        [("5800", 100, 3, None), ("5800", 50, 3, None), ("5800", 7, 20, None)],
        [("A 1", "5800", 120, 4, None), ("A 1", "1570", 30, 4, None)],
        [("another_date", "sum of account and day")] * 2 + [("missing", None)],
    ),
    "two bookings that name the entry": (
        [("5800", 100, 3, None)],
        [("A 1", "5800", 100, 3, number_id(0)), ("A 2", "5800", 100, 30, number_id(0))],
        [("booked_twice", "entry ID")],
    ),
    "a booking that names the entry, with all else different": (
        [("5800", 100, 3, None)],
        [("A 1", "5900", 90, 30, number_id(0)), ("A 1", "1570", 9, 30, number_id(0))],
        [("another_amount", "entry ID")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_step_finds_its_postings(case):
    """The status of each entry, and the columns by which its posting was found."""
    ours, theirs, expected = CASES[case]
    entries = pd.DataFrame(ours, columns=["account_code", "amount", "day", "document_number"])
    postings = pd.DataFrame(theirs, columns=["voucher_id", "account_code", "amount", "day", "document_number"])
    for frame in (entries, postings):
        frame["date"] = [pd.Timestamp(2026, 10, day) for day in frame.pop("day")]
    match = match_ledger(entries.assign(entry_id=[number_id(number) for number in entries.index]), postings)
    found = match.entries[["status", "matched_by"]].astype("object")
    assert [*found.where(found.notna(), None).itertuples(index=False, name=None)] == expected
