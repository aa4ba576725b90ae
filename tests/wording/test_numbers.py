"""Currencies and the text of their amounts."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bktools.currencies import MINOR_UNITS
from bktools.wording.numbers import shown


def test_the_table_is_iso_4217():
    """Each currency has its decimals once, and what nobody is paid in is not there."""
    assert {
        code: MINOR_UNITS[code] for code in ("EUR", "USD", "JPY", "ISK", "KWD", "TND", "CLF", "HUF", "XAF")
    } == {"EUR": 2, "USD": 2, "JPY": 0, "ISK": 0, "KWD": 3, "TND": 3, "CLF": 4, "HUF": 2, "XAF": 0}
    # A code that stands in the table twice would make a count smaller.
    assert Counter(MINOR_UNITS.values()) == {0: 17, 2: 140, 3: 7, 4: 2}
    assert all(len(code) == 3 and code.isascii() and code.isupper() for code in MINOR_UNITS)
    assert not {"XXX", "XTS", "XAU", "XXQ", "DEM", "HRK"} & set(MINOR_UNITS)


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        ("1234.5", "EUR", "1,234.50"),
        ("-1234567.000", "EUR", "\N{MINUS SIGN}1,234,567.00"),
        ("1200.00", "JPY", "1,200"),
        ("1200.50", "JPY", "1,200.5"),
        ("1.5", "KWD", "1.500"),
        ("0.00001", "EUR", "0.00001"),
        ("-0.00", "EUR", "0.00"),
        ("1E+3", "JPY", "1,000"),
        ("7", "XXQ", "7.00"),
        ("7.125", None, "7.125"),
        ("9999999999999999999999999999999.999", "EUR", "9,999,999,999,999,999,999,999,999,999,999.999"),
    ],
)
def test_amounts_have_the_decimals_of_their_currency(amount: str, currency: str | None, text: str):
    """An amount has the decimals of its currency, more where it has more digits, and no digit is lost."""
    assert shown(Decimal(amount), currency) == text


def test_no_amount_is_no_text():
    """A missing amount is empty, whole numbers and floats are shown as they print."""
    assert [shown(nothing, "EUR") for nothing in (None, float("nan"), Decimal("NaN"), pd.NA)] == [""] * 4
    assert (shown(1000, "JPY"), shown(0.1, "EUR")) == ("1,000", "0.10")
    assert shown(pd.Series([Decimal("2.5")])[0], "USD") == "2.50"


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=5),
    st.sampled_from([*sorted(MINOR_UNITS), None, "?"]),
)
def test_the_text_is_the_amount(amount: Decimal, currency: str | None):
    """The text read as a number is the amount."""
    text = shown(amount, currency).replace(",", "").replace("\N{MINUS SIGN}", "-")
    assert Decimal(text) == amount
