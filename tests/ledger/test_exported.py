"""Exported entries of some months beside their file, and the months that are not shown."""

from __future__ import annotations

from decimal import Decimal

from csv_worlds import ledger_of
from worlds import exported

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


def test_a_file_fills_what_the_journal_lacks():
    """Amounts, document numbers and cost centres come from the file, by ID and line; what was sent stays."""
    entries = exported(3).assign(split_line=[0, 1, 2])
    entries.loc[2, "entry_id"] = entries.loc[1, "entry_id"]
    sent = entries.drop(columns=["amount", "account_code"]).assign(description=["Bahn", None, None])
    file = file_of(entries, document_number=["R1", "R2", "R3"], id=entries["entry_id"].str.upper())
    file["cost_centre"] = ["100", None, "300"]
    filled, changed = entries_of.with_file(sent, file.iloc[::-1])
    assert changed == set()
    assert filled["entry_id"].tolist() == entries["entry_id"].tolist()
    assert filled["amount"].tolist() == [100.0, 107.0, -114.0]
    assert filled["account_code"].tolist() == entries["account_code"].tolist()
    assert filled["document_number"].tolist() == ["R1", "R2", "R3"]
    assert filled["cost_centre"].dropna().tolist() == ["100", "300"]
    assert filled["description"].tolist() == ["Bahn", *entries["description"][1:]]


def test_a_changed_entry_is_compared_as_the_file_has_it():
    """It has the amount and the account of the file; the others stay as they were sent."""
    sent = exported(3)
    file = file_of(sent, account_code="4999")
    file.loc[1, "amount"] = Decimal("108.50")
    filled, changed = entries_of.with_file(sent, file)
    assert changed == {sent["entry_id"][1].lower()}
    assert filled["amount"].tolist() == [sent["amount"][0], Decimal("108.50"), sent["amount"][2]]
    assert filled["account_code"].tolist() == [sent["account_code"][0], "4999", sent["account_code"][2]]


def test_a_voucher_dated_back_opens_no_month():
    """A month that only one voucher was dated back into is not shown, and its entries are counted."""
    postings = ledger_of("a_voucher_dated_back_into_the_month_before")
    assert entries_of.months_of(postings) == ("2026-10", "2026-10")
    earlier = exported(2).assign(period="2026-09")
    assert len(entries_of.of_other_months(earlier, postings, None, ENGLISH)) == 1


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
    assert other.startswith("1 entry of September 2026, which is not in the ledger")
