"""The first steps of somebody who knows pandas: each works on exact amounts, or with one argument."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import matplotlib as mpl
import pytest

from bktools import compose_export_jobs, read_entries
from bktools.errors import ArgumentError, InputError

PLAIN = ["1204.50", "-12.30", "88.05", "3000.00"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of four entries in two currencies."""
    lines = [
        f"123e4567-e89b-42d3-a456-42661417400{place},9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d,{amount},{currency}"
        for place, (amount, currency) in enumerate(zip(PLAIN, ["EUR", "EUR", "CHF", "CHF"], strict=True))
    ]
    path = tmp_path / "entries.csv"
    path.write_text("\n".join(["id,company_id,amount,currency", *lines]), encoding="utf-8")
    return path


def test_exact_amounts_are_added_grouped_and_compared(path: Path):
    """Sums, groups, comparisons, sorting and pivots work on decimals, and stay exact."""
    entries = read_entries(path)
    by_currency = entries.groupby("currency")["amount"].sum()
    assert by_currency.to_dict() == {"CHF": 3088.05, "EUR": 1192.2}
    assert entries["amount"].sum() == 4280.25
    assert entries.loc[entries["amount"] > 100, "amount"].tolist() == [1204.5, 3000.0]
    assert entries.sort_values("amount")["amount"].iloc[0] == -12.3
    pivot = entries.pivot_table(index="currency", values="amount", aggfunc="max")
    assert pivot["amount"].tolist() == [3000.0, 1204.5]


def test_describe_nlargest_cumsum_hist_and_groups(path: Path):
    """All five first steps work, on the series and on the frame."""
    mpl.use("agg")
    entries = read_entries(path)
    amounts = entries["amount"]
    assert amounts.describe()["max"] == 3000
    assert entries.describe().loc["mean", "amount"] == pytest.approx(4280.25 / 4)
    assert amounts.nlargest(2).tolist() == entries.nlargest(2, "amount")["amount"].tolist() == [3000, 1204.5]
    assert amounts.cumsum().tolist() == pytest.approx([1204.5, 1192.2, 1280.25, 4280.25])
    assert entries.groupby("currency")["amount"].cumsum().tolist() == pytest.approx(
        [1204.5, 1192.2, 88.05, 3088.05]
    )
    assert sum(bar.get_height() for bar in amounts.plot.hist().patches) == 4
    assert entries.groupby("currency")["amount"].sum().to_dict() == pytest.approx(
        {"CHF": 3088.05, "EUR": 1192.2}
    )


def test_both_forms_of_amounts_are_the_same_amounts(path: Path):
    """Only the type of the amounts differs, the source is kept, and plans have the same entries."""
    exact, floats = read_entries(path, money="decimal"), read_entries(path)
    assert exact["amount"].tolist() == [Decimal(amount) for amount in PLAIN]
    assert floats["amount"].tolist() == [float(amount) for amount in PLAIN]
    assert floats.drop(columns="amount").equals(exact.drop(columns="amount"))
    assert floats.attrs["bktools"] == exact.attrs["bktools"]
    plans = [compose_export_jobs(entries) for entries in (exact, floats)]
    assert plans[0].rows.equals(plans[1].rows)
    assert plans[0].held.equals(plans[1].held)
    with pytest.raises(ArgumentError, match="money must be 'float' or 'decimal'"):
        read_entries(path, money="exact")


def test_an_amount_that_a_float_does_not_keep(tmp_path: Path):
    """An amount of more than 15 digits is refused with the way, and is exact as a decimal."""
    path = tmp_path / "entries.csv"
    path.write_text("date,amount\n2026-10-01,12345678901234.56\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"12345678901234.56 has more than the 15 digits .*money=.decimal"):
        read_entries(path)
    assert read_entries(path, money="decimal")["amount"].tolist() == [Decimal("12345678901234.56")]


def test_a_file_without_amounts(tmp_path: Path):
    """The form of amounts changes nothing of a file without amounts."""
    path = tmp_path / "entries.csv"
    path.write_text(
        "id,company_id\n123e4567-e89b-42d3-a456-426614174000,9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d\n",
        encoding="utf-8",
    )
    assert read_entries(path, money="decimal").equals(read_entries(path))
