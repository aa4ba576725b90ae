"""Sums of entries: each entry once, each currency by itself, every digit."""

from __future__ import annotations

from decimal import Decimal

import polars as pl
import pyarrow as pa
import pytest

from bktools.errors import InputError
from bktools.frames.sums import (
    Money,
    money_of,
    number_of_entries,
    shares_of,
    summed,
    sums_of,
    threshold_of,
    total,
)

ROWS = pa.table(
    {
        "id": ["a", "b", "B", "b", "c", None],
        "split_line": [0, 1, 2, 3, None, 0],
        "reason": ["x", "x", "x", "y", "y", "y"],
        "amount": pa.array(
            [Decimal(2), Decimal(4), Decimal(8), Decimal(16), None, Decimal(32)], pa.decimal128(9, 2)
        ),
        "currency": ["EUR", "EUR", "EUR", "EUR", "", None],
    }
)


@pytest.mark.parametrize("name", ["id", "entry_id"])
def test_a_split_entry_is_counted_once(name: str):
    """The lines of an entry count once in each group that has any of them, wherever the first is."""
    rows = ROWS.rename_columns({"id": name})
    assert number_of_entries(rows) == 4
    assert number_of_entries(rows.slice(2, 2)) == 1
    counts = {row["reason"]: row["entries"] for row in summed(rows, "reason").to_dicts()}
    assert counts == {"x": 2, "y": 3}


def test_currencies_are_never_added():
    """The own currency is first, then that of most entries; no currency has a line of its own."""
    assert money_of(ROWS) == {"EUR": Money(2, Decimal(30)), "no currency": Money(2, Decimal(32))}
    both = pa.concat_tables([ROWS, ROWS.slice(0, 1).set_column(4, "currency", [["USD"]])])
    assert list(money_of(both, "USD")) == ["USD", "EUR", "no currency"]
    assert [part["reason"] for part in sums_of(ROWS, "reason", own="EUR")] == ["y", "x"]
    assert money_of(ROWS.slice(0, 0)) == {}
    assert money_of(ROWS.select(["id"])) == {"no currency": Money(6, None)}


def test_sums_have_every_digit():
    """No sum or share is rounded to Python's digits, and an amount that could make one wrap is refused."""
    large = Decimal("9999999999999999.99")
    rows = pa.table({"amount": pa.array([large] * 20, pa.decimal128(38, 4)), "currency": ["EUR"] * 20})
    exact = Decimal("199999999999999999.80")
    assert money_of(rows)["EUR"].amount == total([large] * 20 + [None]) == exact
    longer = pa.table({"amount": pa.array([large, Decimal("0.001")], pa.decimal128(38, 4))})
    with pytest.raises(InputError, match="the amounts need more than 18 digits"):
        money_of(longer)
    shares = shares_of([Decimal(3), Decimal(-1), None, Decimal(1)])
    assert shares == [Decimal("0.75"), None, None, Decimal("0.25")]
    with pytest.raises(InputError, match="amount must be an exact number, is double"):
        money_of(pa.table({"amount": [0.1], "currency": ["EUR"]}))


@pytest.mark.parametrize(
    ("threshold", "difference", "percent", "is_large"),
    [
        (None, "0.01", None, True),
        ("500", "-500", "1", True),
        ("500", "499.99", None, False),
        ("5%", "1", "-5.0", True),
        ("5%", "9999", "4.9", False),
        # A group that had nothing before has no percentage.
        ("5%", "1", None, True),
    ],
)
def test_a_threshold_is_an_amount_or_a_share(threshold, difference, percent, is_large):
    """The amount, or the share of the amount before, itself is large enough, whatever the sign."""
    row = {"difference": Decimal(difference), "percent": percent and Decimal(percent)}
    rows = pl.DataFrame([row], {"difference": pl.Decimal(38, 2), "percent": pl.Decimal(38, 1)})
    assert rows.select(threshold_of(threshold)).item() == is_large
