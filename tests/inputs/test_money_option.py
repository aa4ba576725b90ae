"""Amounts as floats, or as decimals where they are asked for."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from bktools import compose_export_jobs, read_entries

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


def test_a_file_without_amounts(tmp_path: Path):
    """The form of amounts changes nothing of a file without amounts."""
    path = tmp_path / "entries.csv"
    path.write_text(
        "id,company_id\n123e4567-e89b-42d3-a456-426614174000,9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d\n",
        encoding="utf-8",
    )
    assert read_entries(path, money="decimal").equals(read_entries(path))
