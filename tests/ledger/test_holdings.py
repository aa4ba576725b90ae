"""What the books hold already of entries that were not sent: in every style, three in ten are booked."""

from __future__ import annotations

import random

import erps
import pandas as pd
import pytest
from erps import STYLES, world

from bktools.ledger.holdings import holdings


def partly_booked(name, seed, *, has_history):
    """Return entries, which of them are booked, the ledger, and the earlier month's entries, if any."""
    style, pick = STYLES[name], random.Random(seed)
    made = world(seed, style, 300, 0, months=2 if has_history else 1)
    first = min(row["month"] for row in made.rows)
    fresh = [number for number, row in enumerate(made.rows) if not has_history or row["month"] != first]
    omitted = {number: "omitted" for number in fresh if pick.random() > 0.3}
    postings = erps._Books(random.Random(seed), style, [dict(row) for row in made.rows]).booked(omitted)
    kinds = {field.name: field.type for field in made.ledger.schema}
    entries = made.entries.take(fresh).rename_columns(["id", *made.entries.column_names[1:]])
    before = (
        made.entries.take([number for number in range(300) if number not in {*fresh}])
        if has_history
        else None
    )
    return entries, [number not in omitted for number in fresh], erps._table(postings, kinds), before


@pytest.mark.parametrize(
    "name", ["entry, tax", "supplier and day", "account and day, tax", "day, tax pooled", "batch", "month"]
)
def test_what_is_booked_is_not_sent_again(name):
    """With the month before, each booked entry is held, or may be; most single entries are not there."""
    entries, is_booked, ledger, before = partly_booked(name, 0, has_history=True)
    found = holdings(entries, ledger, exported=before)
    assert found.is_style_known
    held = found.table["held"].to_pylist()
    assert [place for place, booked in enumerate(is_booked) if booked and held[place] == "not_there"] == []
    if name == "entry, tax":
        others = [held[place] for place, booked in enumerate(is_booked) if not booked]
        assert others.count("not_there") >= 0.7 * len(others)
        assert "held" not in others


def test_where_to_look_is_said():
    """An entry that is held names its voucher and posting; the rows are in the order of the entries."""
    entries, is_booked, ledger, _ = partly_booked("entry, tax", 0, has_history=False)
    table = holdings(entries, ledger).table
    assert len(table) == len(entries)
    for booked, row in zip(is_booked, table.to_pylist(), strict=True):
        assert (row["held"] == "held") == booked
        if row["held"] == "held":
            assert ledger["voucher_id"][row["posting"]].as_py() == row["voucher"]


def test_what_a_person_says_of_a_ledger_is_used():
    """The style and the sign that a ledger was read with are its habits, when the books are asked."""
    entries, _, ledger, before = partly_booked("month", 0, has_history=True)
    frame = ledger.to_pandas(types_mapper=pd.ArrowDtype)
    frame.attrs["bktools"] = {"style": "account_day", "reverse_sign": True}
    found = holdings(entries, frame, exported=before)
    assert (found.habits["style"], found.habits["sign"]) == ("account_day", -1)


def test_a_ledger_of_unknown_style_holds_nothing():
    """Where the ledger shows nothing of how it books, each row is not there, and that is said."""
    entries, _, ledger, _ = partly_booked("entry, tax", 0, has_history=False)
    found = holdings(entries, ledger.slice(0, 0))
    assert not found.is_style_known
    assert set(found.table["held"].to_pylist()) == {"not_there"}
