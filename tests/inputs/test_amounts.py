"""Amounts are exact, in the marks that the whole column shows."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bktools.errors import ArgumentError, InputError
from bktools.inputs.amounts import amounts
from bktools.inputs.table import Table

SPACES = {"nbsp": "\u00a0", "narrow": "\u202f"}


def read(texts, decimal=None, numeric=()):
    column = pa.chunked_array([pa.array(texts, pa.large_string())])
    lines = np.arange(2, len(texts) + 2)
    table = Table("f.csv", ("Amount",), [column], lines, 1, numeric=frozenset(numeric))
    return amounts(table, 0, decimal).to_pylist()


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1.234,56", "7"], ["1234.56", "7.00"]),
        (["1,234.56", "1,234"], ["1234.56", "1234.00"]),
        (["1 234,56"], ["1234.56"]),
        (["1\u00a0234\u00a0567,5"], ["1234567.5"]),
        (["1\u202f234,56"], ["1234.56"]),
        (["1'234.56", "1\u2019234.56"], ["1234.56", "1234.56"]),
        (["(12.50)", "12.50-", "-12.50", "\u221212.50", "- 12.50", "+12.50"], ["-12.50"] * 5 + ["12.50"]),
        (["(1.234,50)", "1.234,50-"], ["-1234.50", "-1234.50"]),
        (["12", "-3"], ["12", "-3"]),
        (["1 234", "12"], ["1234", "12"]),
        (["0.125"], ["0.125"]),
        (["1,234,567"], ["1234567"]),
        (["12.5", "1.234"], ["12.500", "1.234"]),
        ([",5", "0,25"], ["0.50", "0.25"]),
        (["1.5", ""], ["1.5", None]),
        (["12,50 €", "1.234,00 €", "-"], ["12.50", "1234.00", "0.00"]),
        (["$1,234.50", "-$5.00", "($7.25)", "$ 1.00"], ["1234.50", "-5.00", "-7.25", "1.00"]),
        (["12.50 EUR", "EUR 3.00", "4.00"], ["12.50", "3.00", "4.00"]),
        (["100.00 CR", "50.25", "7.00DR"], ["-100.00", "50.25", "7.00"]),
        (["0.1", "0.30000000000000000000000000004"], ["0.1", "0.30000000000000000000000000004"]),
        (["9" * 36 + ".99"], ["9" * 36 + ".99"]),
    ],
)
def test_amounts(texts, expected):
    """Each way of writing amounts is read exactly, with the largest scale of the column."""
    found = read(texts)
    assert found == [None if one is None else Decimal(one) for one in expected]
    assert len({one.as_tuple().exponent for one in found if one is not None}) == 1


@pytest.mark.parametrize("texts", [["1,234"], ["1.234", "12"], ["1.234", "-5.678"]])
def test_ambiguous_columns_ask(texts):
    """A column that could be thousands or decimals is not guessed: the option decides."""
    with pytest.raises(InputError, match=r"line 2: 'Amount' holds amounts .*read it with decimal='[.,]'"):
        read(texts)
    mark = "," if "," in texts[0] else "."
    assert read(texts, mark)[0] == Decimal("1.234")
    assert read(texts, ".,"[mark == "."])[0] == Decimal(1234)


@pytest.mark.parametrize("decimal", [None, ".", ","])
def test_cells_that_are_numbers_have_a_point(decimal):
    """The option is for texts: a mapping saved for a CSV file reads a workbook's numbers as they are."""
    assert read(["1.234", "12.5"], decimal, numeric=[0]) == [Decimal("1.234"), Decimal("12.500")]


@pytest.mark.parametrize(
    "text",
    ["12 34", "1.23.4", "twelve", "12 bottles", "--5", "(-5)", "5--", "1e3", ".", "1,23,4", "NaN", "\u0661"],
)
def test_what_is_no_amount_is_named(text):
    """A value that is no amount is named with its line."""
    with pytest.raises(InputError, match=r"line 3: 'Amount' must hold amounts"):
        read(["1.5", text])


@pytest.mark.parametrize(
    "texts", [["1.50 €", "$2.50"], ["1.00 EUR", "2.00 USD"], ["-5.00 CR", "1.00"], ["-"]]
)
def test_columns_that_do_not_agree_are_refused(texts):
    """Two currencies in one column, two signs at one amount, and dashes alone are no amounts."""
    with pytest.raises(InputError, match="must hold amounts"):
        read(texts)


def test_mixed_marks_are_refused():
    """Points on one line and commas on another are told with the lines of both."""
    with pytest.raises(InputError, match=r"mixes decimal marks: a point on line 2, a comma on line 3"):
        read(["1.50", "1,50"])


def test_too_many_digits_are_refused():
    """More digits than a decimal holds are refused, since Arrow would give another number."""
    with pytest.raises(InputError, match="at most 38 digits at a scale of 2"):
        read(["9" * 37 + ".99"])
    with pytest.raises(InputError, match="at most 38 digits at a scale of 2"):
        read(["0.01", "9" * 38])


def test_decimal_is_checked():
    """The decimal mark is a point or a comma, and the column must keep to it."""
    with pytest.raises(ArgumentError, match="decimal must be"):
        read(["1"], ";")
    with pytest.raises(InputError, match="must hold amounts whose decimal mark is ','"):
        read(["1.50"], ",")


@given(
    numbers=st.lists(st.decimals(-(10**12), 10**12, places=2), min_size=1, max_size=20),
    marks=st.sampled_from(
        [(",", "."), (".", ","), (" ", ","), ("\u202f", ","), ("'", "."), ("", "."), ("", ",")]
    ),
    negative=st.sampled_from(["-{}", "({})", "{}-", "\u2212{}"]),
)
def test_numbers_come_back(numbers, marks, negative):
    """What is written with any pair of marks and any sign comes back as the same decimal."""
    thousands, decimal = marks

    def written(number):
        text = f"{abs(number):,.2f}".translate({ord(","): thousands, ord("."): decimal})
        return negative.format(text) if number < 0 else text

    assert read([written(number) for number in numbers]) == numbers
