"""Exported entries of some months beside their file: gaps of the journal, split lines, changes."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pytest
from worlds import exported

from bktools.errors import InputError
from bktools.ledger import exported as entries_of
from bktools.wording import words

ENGLISH = words("en")


def file_of(entries, **changes):
    """Return entries as they are read from a file."""
    return (
        entries.rename(columns={"entry_id": "id"})
        .drop(columns=["batch_id", "state", "sent_at"])
        .assign(**changes)
    )


def test_an_entry_without_an_amount_has_all_lines_of_the_file():
    """Two entries lack facts in the journal; every line of the split one is taken with its own."""
    entries = exported(3)
    sent = entries.head(2).assign(split_line=0)[["entry_id", "batch_id", "state", "split_line"]]
    lines = file_of(entries, split_line=[1, 0, 2])
    lines.loc[2, "id"] = lines.loc[0, "id"]
    filled = entries_of.with_file(sent, lines, ENGLISH)
    assert filled["split_line"].tolist() == [1, 2, 0]
    assert filled["entry_id"].tolist() == [lines["id"][number] for number in (0, 0, 1)]
    assert filled["amount"].tolist() == [Decimal(100), Decimal(-114), Decimal(107)]
    assert filled["account_code"].tolist() == ["5800", "4930", "5810"]


def test_lines_that_are_not_said_to_be_parts_are_refused():
    """An entry on two lines with different data is refused with the option; a repeated line is once."""
    entries = exported(2)
    twice = file_of(pd.concat([entries, entries.tail(1)]))
    assert len(entries_of.with_file(entries.head(2), twice, ENGLISH)) == 2
    twice.iloc[2, list(twice.columns).index("amount")] = Decimal(3)
    with pytest.raises(InputError, match=r"1 exported entry is on several lines .* give --split-lines"):
        entries_of.with_file(entries, twice, ENGLISH)


def test_what_changed_since_the_export_is_said():
    """What was sent stays what is compared; another value in the file stands beside it."""
    entries = exported(2).assign(category_id=["c1", "c1"], category_name="Travel")
    changed = file_of(
        entries, amount=[Decimal("100.00"), Decimal("-170.5")], category_id=["C1", "c2"], category_name="Car"
    )
    filled = entries_of.with_file(entries, changed, ENGLISH)
    assert filled["amount"].tolist() == entries["amount"].tolist()
    said = filled["changed_since_export"].tolist()
    assert pd.isna(said[0])
    assert said[1] == "amount -107.00 → -170.50; category Travel → Car"


def test_months_that_are_not_shown_are_counted():
    """A named month counts the entries without one; a ledger's months count those of other months."""
    entries = exported(3).assign(period=["2026-10", "2026-09", None])
    entries.loc[2, "date"] = None
    postings = exported(2)
    assert entries_of.months_of(postings) == ("2026-10", "2026-10")
    assert entries_of.of_other_months(entries, postings, "2026-10", ENGLISH) == (
        ENGLISH("match.no_month", count=1),
    )
    (other,) = entries_of.of_other_months(entries, postings, None, ENGLISH)
    assert other.startswith("1 entry of 2026-09, a month that is not in the ledger")
