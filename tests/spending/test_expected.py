"""`expected_entries`: what comes each month is named when it has not come, and hardly anything else."""

from __future__ import annotations

import calendar
import datetime as dt
import random
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from bktools import expected_entries
from bktools.errors import ArgumentError, InputError

MONTHS = ["2026-05", "2026-06", "2026-07", "2026-08", "2026-09", "2026-10"]


def _frame(rows) -> pd.DataFrame:
    suppliers, days, amounts = zip(*rows, strict=True)
    frame = pd.DataFrame({"supplier": suppliers, "date": pd.to_datetime([*days]), "currency": "EUR"})
    frame["amount"] = pd.array([Decimal(amount) for amount in amounts], pd.ArrowDtype(pa.decimal128(38, 2)))
    return frame


# Promise, entries (supplier, day, amount), and what is expected of October: supplier, state, amount.
PROMISES = [
    (
        "three of the four months before are enough",
        [("Bahn", "2026-06-02", "90"), ("Bahn", "2026-08-02", "90"), ("Bahn", "2026-09-03", "90")],
        [("Bahn", "missing", "90")],
    ),
    ("two months are no habit", [("Bahn", "2026-08-02", "90"), ("Bahn", "2026-09-02", "90")], []),
    (
        "a subscription that came is not missing, on another day and dearer neither",
        [("Zoom", f"2026-{month:02}-10", "14.99") for month in (7, 8, 9)] + [("Zoom", "2026-10-21", "19.99")],
        [("Zoom", "came", "14.99")],
    ),
    (
        "a charge of the last day of each month has that of the month",
        [("Miete", day, "2400") for day in ("2026-06-30", "2026-07-31", "2026-08-31", "2026-09-30")],
        [("Miete", "missing", "2400")],
    ),
    (
        "a charge that is booked on the first of the month after is late",
        [("Strom", f"2026-{month:02}-28", amount) for month, amount in ((7, "310"), (8, "355"), (9, "290"))]
        + [("Strom", "2026-11-02", "330"), ("Strom", "2026-11-28", "335")],
        [("Strom", "late", "310")],
    ),
    (
        "two subscriptions of one supplier are two",
        [("Adobe", f"2026-{month:02}-05", amount) for month in (7, 8, 9) for amount in ("24", "60")]
        + [("Adobe", "2026-10-05", "60")],
        [("Adobe", "missing", "24"), ("Adobe", "came", "60")],
    ),
    (
        "two equal subscriptions of one supplier are two",
        [("SIM", f"2026-{month:02}-05", "10") for month in (7, 8, 9) for _ in range(2)]
        + [("SIM", "2026-10-05", "10")],
        [("SIM", "missing", "10"), ("SIM", "came", "10")],
    ),
    (
        "purchases of any day and amount are no habit",
        [("Taxi", "2026-07-03", "18"), ("Taxi", "2026-08-19", "44"), ("Taxi", "2026-09-11", "9")],
        [],
    ),
    (
        "a credit is not the charge",
        [("Telekom", f"2026-{month:02}-15", "80") for month in (7, 8, 9)]
        + [("Telekom", "2026-10-15", "-80")],
        [("Telekom", "missing", "80")],
    ),
]


@pytest.mark.parametrize(
    ("rows", "expected"), [row[1:] for row in PROMISES], ids=[row[0] for row in PROMISES]
)
def test_what_is_expected(rows, expected):
    """What comes each month is named with its state and its usual amount."""
    shown = expected_entries(_frame(rows), "2026-10")
    assert [*zip(shown["supplier"], shown["state"], shown["amount"].map(str), strict=True)] == [
        (supplier, state, str(float(amount))) for supplier, state, amount in expected
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


def history(seed: int) -> tuple[list[tuple[str, str, str]], list[set[str]]]:
    """Return entries of six months, and which of 40 monthly charges are hidden in each of the last two.

    Beside them: cards used on any day, quarterly and yearly charges, prices that rise, and suppliers that
    begin or end.
    """
    chance = random.Random(seed)
    rows, hidden = [], [set(), set()]
    for number in range(40):
        day, amount = (
            chance.randint(1, 28),
            chance.choice([9, 15, 29, 49, 120, 400, 2400]) * chance.uniform(1, 2),
        )
        is_by_use, grows_in = chance.random() < 0.3, chance.choice([None] * 9 + [3])
        for place, month in enumerate(MONTHS):
            year, number_of_month = map(int, month.split("-"))
            days = calendar.monthrange(year, number_of_month)[1]
            on = min(max(1, day + chance.randint(-2, 3)), days)
            amount *= 1.08 if place == grows_in else 1
            own = amount * (chance.uniform(0.9, 1.1) if is_by_use else 1)
            if place >= 4 and chance.random() < 0.1:
                hidden[place - 4].add(f"monthly {number}")
            else:
                rows.append((f"monthly {number}", f"{month}-{on:02}", f"{own:.2f}"))
    for number in range(60):
        for _ in range(chance.randint(1, 8)):
            day = dt.date(2026, 5, 1) + dt.timedelta(days=chance.randrange(183))
            rows.append((f"card {number % 35}", day.isoformat(), f"{chance.uniform(5, 300):.2f}"))
    for number in range(8):
        rows += [(f"quarterly {number}", f"{month}-12", "500.00") for month in MONTHS[number % 3 :: 3]]
    for number in range(4):
        rows += [(f"ended {number}", f"{month}-07", "33.00") for month in MONTHS[:2]]
    return rows, hidden


def test_hidden_entries_of_a_generated_history_are_named():
    """Of the monthly charges that are hidden, four in five are named, with one false for two true at most."""
    named = right = hidden_ones = 0
    for seed in range(10):
        rows, hidden = history(seed)
        for month, missing in zip(MONTHS[4:], hidden, strict=True):
            until = [row for row in rows if row[1][:7] <= month]
            shown = expected_entries(_frame(until), month)
            of_month = {*shown.loc[shown["state"] == "missing", "supplier"]}
            named, right, hidden_ones = (
                named + len(of_month),
                right + len(of_month & missing),
                hidden_ones + len(missing),
            )
    print(f"named {named}, of these hidden {right}, of {hidden_ones} hidden ones")
    assert right >= 0.8 * hidden_ones
    assert named - right <= right / 2


def test_what_is_no_month_or_has_no_supplier_is_refused():
    """Without a month, or a column that tells entries apart, nothing is expected."""
    with pytest.raises(ArgumentError, match="month"):
        expected_entries(_frame([("Bahn", "2026-06-02", "90")]), "October")
    with pytest.raises(InputError, match="no column supplier"):
        expected_entries(_frame([("Bahn", "2026-06-02", "90")]).drop(columns="supplier"), "2026-10")
