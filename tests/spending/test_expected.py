"""`expected_entries`: what comes each month is named when it has not come, and hardly anything else."""

from __future__ import annotations

import random
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from world_files import lines_of

from bktools import expected_entries
from bktools.errors import ArgumentError, InputError


def _frame(rows) -> pd.DataFrame:
    suppliers, days, amounts = zip(*rows, strict=True)
    frame = pd.DataFrame({"supplier": suppliers, "date": pd.to_datetime([*days]), "currency": "EUR"})
    frame["amount"] = pd.array([Decimal(amount) for amount in amounts], pd.ArrowDtype(pa.decimal128(38, 2)))
    return frame


def _rows(cell: str) -> list[list[str]]:
    return [row.split(" ") for row in cell.split("; ") if row]


# A line a promise: entries (supplier, day, amount), and what is expected of October.
PROMISES = lines_of("spending/expected.csv")


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise["promise"])
def test_what_is_expected(promise):
    """What comes each month is named with its state and its usual amount."""
    shown = expected_entries(_frame(_rows(promise["entries"])), "2026-10")
    rows = zip(shown["supplier"], shown["state"], shown["amount"], strict=True)
    assert [[supplier, state, Decimal(repr(amount))] for supplier, state, amount in rows] == [
        [supplier, state, Decimal(amount)] for supplier, state, amount in _rows(promise["expected"])
    ]


def test_the_last_three_amounts_and_the_usual_day():
    """An entry that has not come shows its last three amounts, newest first, and its usual day."""
    rows = [
        ("Strom", f"2026-{month:02}-28", amount) for month, amount in ((6, "300"), (7, "310"), (9, "290"))
    ]
    (row,) = expected_entries(_frame(rows), "2026-10").to_dict("records")
    assert (row["amount_1"], row["amount_2"], row["amount_3"]) == (290, 310, 300)
    assert row["expected_on"] == pd.Timestamp("2026-10-28")
    assert pd.isna(row["came_on"])


def test_what_is_no_month_or_has_no_supplier_is_refused():
    """Without a month, or a column that tells entries apart, nothing is expected."""
    with pytest.raises(ArgumentError, match="month"):
        expected_entries(_frame([("Bahn", "2026-06-02", "90")]), "October")
    with pytest.raises(InputError, match="no column supplier"):
        expected_entries(_frame([("Bahn", "2026-06-02", "90")]).drop(columns="supplier"), "2026-10")


MONTHS = [f"2026-{month:02}" for month in range(1, 12)]


def _history(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what came in eleven months, and the recurring entries, a tenth of them hidden from May on."""
    made = random.Random(seed)
    rows, recurring = [], []
    for number in range(60):
        day, amount = made.randint(4, 24), made.randint(2_000, 90_000)
        for month in MONTHS:
            moved, cents = day + made.randint(-3, 3), round(amount * made.uniform(0.92, 1.08))
            row = (f"S{number}", f"{month}-{moved:02}", f"{cents / 100:.2f}")
            hidden = month >= "2026-05" and made.random() < 0.1
            recurring.append((row[0], month, hidden))
            rows += [] if hidden else [row]
    for month in MONTHS:
        for _ in range(200):
            supplier = made.choice(["S1", "S2", *(f"O{other}" for other in range(80))])
            rows.append(
                (supplier, f"{month}-{made.randint(1, 28):02}", f"{made.randint(500, 90_000) / 100:.2f}")
            )
    return _frame(rows), pd.DataFrame(recurring, columns=["supplier", "month", "is_hidden"])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_most_of_what_was_hidden_is_named_and_little_else(seed: int):
    """Six months, a tenth hidden: at least 80% are named, and at most one false for two true; by pandas."""
    entries, recurring = _history(seed)
    figures = []
    for month in MONTHS[4:10]:
        shown = expected_entries(
            entries[entries["date"] < pd.Timestamp(f"{month}-01") + pd.DateOffset(months=1)], month
        )
        named = shown.loc[shown["state"] == "missing", "supplier"].value_counts()
        hidden = recurring.loc[(recurring["month"] == month) & recurring["is_hidden"], "supplier"]
        true = sum(supplier in named for supplier in hidden)
        figures.append((month, len(hidden), true, int(named.sum()) - true))
    print(f"month, hidden, named, false: {figures}")
    _, hidden, true, false = map(sum, zip(*((0, *row[1:]) for row in figures), strict=True))
    assert true >= 0.8 * hidden
    assert false <= true / 2
