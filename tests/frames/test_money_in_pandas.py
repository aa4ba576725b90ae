"""Money at the edge of pandas: float64 in frames, decimals inside, and each amount is the file's."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bktools
from bktools import spend
from bktools.currencies import MINOR_UNITS
from bktools.errors import ArgumentError, InputError
from bktools.frames.delimited import csv_of
from bktools.frames.money import decimals, floats, longest
from bktools.frames.tables import in_memory

IDS = [f"00000000-0000-4000-8000-{number:012d}" for number in range(30)]
COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"


def _amount(currency: str) -> st.SearchStrategy[tuple[str, Decimal]]:
    units = MINOR_UNITS[currency]
    return st.integers(-(10**15) + 1, 10**15 - 1).map(lambda whole: (currency, Decimal(whole).scaleb(-units)))


AMOUNTS = st.lists(st.sampled_from(sorted(MINOR_UNITS)).flatmap(_amount), min_size=1, max_size=30)


def _column(values: list, kind: pa.DataType | None = None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


def _entries_of(folder: Path, ids: list[str], company: str, rows: list[tuple[str, Decimal]]) -> pd.DataFrame:
    """Return approved entries of October with these amounts, as they are read from a file."""
    lines = [
        f"{one},{company},2026-10-01,{amount:f},{currency},approved,{amount:f} {currency}"
        for one, (currency, amount) in zip(ids, rows, strict=True)
    ]
    file = folder / "entries.csv"
    file.write_text(
        "\n".join(["id,company_id,date,amount,currency,status,supplier", *lines]), encoding="utf-8"
    )
    return bktools.read_entries(file, decimal=".")


@given(AMOUNTS)
def test_a_float_is_the_decimal_that_was_read(rows):
    """Amounts of up to 15 digits, of any currency, go to floats and come back as the same decimals."""
    currencies, amounts = map(list, zip(*rows, strict=True))
    out = floats(_column(amounts, pa.decimal128(38, 4)))
    assert [Decimal(repr(value)) for value in out.to_pylist()] == amounts
    assert decimals(out, _column(currencies)).to_pylist() == amounts


@given(AMOUNTS)
def test_amounts_survive_the_way_through_pandas_and_a_plan(tmp_path_factory, rows):
    """Through filter, sort, concat, merge, groupby, plan and CSV, amounts are the same decimals."""
    folder = tmp_path_factory.mktemp("amounts")
    entries = _entries_of(folder, IDS[: len(rows)], COMPANY, rows)
    expected = {IDS[place]: amount for place, (_, amount) in enumerate(rows)}
    assert str(entries["amount"].dtype) == "float64"
    about = entries.attrs
    entries = entries.sort_values("amount", ascending=False)
    half = entries["amount"] > entries["amount"].median()
    entries = pd.concat([entries[half], entries[~half]], ignore_index=True)
    entries = entries.merge(pd.DataFrame({"id": IDS, "number": range(len(IDS))}), on="id")
    entries["amount"] = entries.groupby("id")["amount"].transform("sum")
    entries.attrs = about
    plan = bktools.compose_export_jobs(entries)
    planned = [row for table in (plan.rows, plan.held) for row in table.to_pylist()]
    assert {row["id"]: row["amount"] for row in planned} == expected
    buffer = io.BytesIO()
    csv_of(entries, "machine")(buffer)
    written = pd.read_csv(io.BytesIO(buffer.getvalue()), dtype="str")
    assert {row.id: Decimal(row.amount) for row in written.itertuples()} == expected
    decimals_of = {row.id: -Decimal(row.amount).as_tuple().exponent for row in written.itertuples()}
    assert decimals_of == {IDS[at]: MINOR_UNITS[currency] for at, (currency, _) in enumerate(rows)}


@pytest.mark.parametrize(
    ("value", "currency", "exact"),
    [
        (0.1 + 0.2, "EUR", "0.30"),
        (0.1 + 0.2, None, "0.30"),
        (1200.0, "JPY", "1200"),
        (12.345, "KWD", "12.345"),
        (12.345, "EUR", "12.345"),
        (1 / 3, "EUR", "0.33333333"),
        (0.5, "JPY", "0.5"),
        (-0.000000001, "EUR", "0"),
        (0.00000002, "EUR", "0.00000002"),
    ],
)
def test_what_comes_back_from_a_calculation(value: float, currency: str | None, exact: str):
    """Less than a millionth of a unit off is that unit; other amounts keep all their digits."""
    assert decimals(_column([value]), _column([currency], pa.string())).to_pylist() == [Decimal(exact)]


def test_other_floats_and_gaps():
    """A float32 has the digits of its own text, a gap is null, and a column that is no money stays."""
    assert decimals(_column([1234.56, None], pa.float32()), None).to_pylist() == [Decimal("1234.56"), None]
    table = in_memory(pd.DataFrame({"amount": [1.5, np.nan], "score": [0.25, 1.0]}))
    assert table.to_pydict() == {"amount": [Decimal("1.50"), None], "score": [0.25, 1.0]}
    assert in_memory(pl.DataFrame({"amount": [0.3]}).to_arrow())["amount"].to_pylist() == [Decimal("0.30")]


@pytest.mark.parametrize("value", [12345678901234567.0, float("inf"), 1e300])
def test_floats_that_are_no_amount(value: float):
    """A float of more digits than it keeps is refused, with the way out."""
    with pytest.raises(InputError, match=r"amount .* has more digits than the 15 .*money=.decimal"):
        in_memory(pd.DataFrame({"amount": [value], "currency": ["EUR"]}))


def test_longer_amounts(tmp_path: Path):
    """A file with an amount of more than 15 digits is read as decimals alone, and goes through whole."""
    file = tmp_path / "entries.csv"
    file.write_text(
        f"id,company_id,date,amount,currency\n{IDS[0]},{COMPANY},2026-10-24,12345678901234.56,EUR\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError, match=r"amount 12345678901234.56 has more than the 15 .*money=.decimal"):
        bktools.read_entries(file)
    with pytest.raises(ArgumentError, match="money must be one of float, decimal"):
        bktools.read_entries(file, money="exact")
    entries = bktools.read_entries(file, money="decimal")
    assert entries["amount"].to_list() == [Decimal("12345678901234.56")]
    assert spend(entries, [])["amount"].to_list() == [Decimal("12345678901234.56")]
    buffer = io.BytesIO()
    csv_of(bktools.compose_export_jobs(entries).entries, "machine")(buffer)
    assert b"12345678901234.56" in buffer.getvalue()
    assert longest(_column([Decimal("1234567890123.40")], pa.decimal128(38, 2))) is None
