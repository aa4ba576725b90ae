"""`expected_entries`: what comes each month is named when it has not come, and hardly anything else."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from itertools import compress

import pandas as pd
import pyarrow as pa
import pytest
from world_files import lines_of

from bktools import expected_entries
from bktools.errors import ArgumentError, InputError


def _frame(rows) -> pd.DataFrame:
    suppliers, days, amounts, *categories = zip(*rows, strict=True)
    frame = pd.DataFrame({"supplier": suppliers, "date": pd.to_datetime([*days]), "currency": "EUR"})
    frame["category_id"] = categories[0] if categories else "C"
    frame["amount"] = pd.array([Decimal(amount) for amount in amounts], pd.ArrowDtype(pa.decimal128(38, 2)))
    return frame


def _rows(cell: str) -> list[list[str]]:
    return [row.split(" ") for row in cell.split("; ") if row]


# A day on which the months of all tests have ended.
AFTER = dt.date(2027, 1, 1)
# A line a promise: entries (supplier, day, amount, in some lines category), and what is expected of October.
PROMISES = lines_of("spending/expected.csv")


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise["promise"])
def test_what_is_expected(promise):
    """What comes each month is named with its state and its usual amount."""
    shown = expected_entries(_frame(_rows(promise["entries"])), "2026-10", as_of=AFTER)
    rows = zip(shown["supplier"], shown["state"], shown["amount"], strict=True)
    assert [[supplier, state, Decimal(repr(amount))] for supplier, state, amount in rows] == [
        [supplier, state, Decimal(amount)] for supplier, state, amount in _rows(promise["expected"])
    ]


@pytest.mark.parametrize("kind", [str, dt.date.fromisoformat, dt.datetime.fromisoformat, pd.Timestamp])
@pytest.mark.parametrize(
    ("as_of", "last_day", "state"),
    [
        ("2026-10-05", "2026-10-05", "due"),
        ("2026-10-06", "2026-10-06", "missing"),
        ("2026-10-20", "2026-10-04", "due"),
        ("2026-11-01", "2026-10-04", "missing"),
    ],
)
def test_nothing_is_missing_before_its_usual_day_has_passed(kind, as_of, last_day, state):
    """It is due until its day has passed, and while the month is not over, until a later day has entries."""
    rows = [("Strom", f"2026-{month:02}-05", "310") for month in (7, 8, 9)]
    shown = expected_entries(_frame([*rows, ("Bahn", last_day, "7")]), "2026-10", as_of=kind(as_of))
    assert shown["state"].tolist() == [state]


def test_what_is_no_month_or_has_no_supplier_is_refused():
    """Without a month, or a column that tells entries apart, nothing is expected."""
    with pytest.raises(ArgumentError, match="month"):
        expected_entries(_frame([("Bahn", "2026-06-02", "90")]), "October")
    with pytest.raises(InputError, match="no column supplier"):
        expected_entries(_frame([("Bahn", "2026-06-02", "90")]).drop(columns="supplier"), "2026-10")


# Supplier, day and amount; a world returns what recurs, and what does not.
Row = tuple[str, str, str]
World = Callable[[random.Random], tuple[list[Row], list[Row]]]
MONTHS = [f"2026-{month:02}" for month in range(1, 12)]


def _by_use(made: random.Random) -> tuple[list[Row], list[Row]]:
    """Bills by use, up to an eighth more or less; 200 other entries a month, some of the same suppliers."""
    recurring, others = [], []
    for number in range(60):
        day, amount = made.randint(4, 24), made.randint(2_000, 90_000)
        for month in MONTHS:
            moved, cents = day + made.randint(-3, 3), round(amount * made.uniform(0.92, 1.08))
            recurring.append((f"S{number}", f"{month}-{moved:02}", f"{cents / 100:.2f}"))
    for month in MONTHS:
        for _ in range(200):
            supplier = made.choice(["S1", "S2", *(f"O{other}" for other in range(80))])
            day = f"{month}-{made.randint(1, 28):02}"
            others.append((supplier, day, f"{made.randint(500, 90_000) / 100:.2f}"))
    return recurring, others


def _subscriptions(made: random.Random) -> tuple[list[Row], list[Row]]:
    """Fixed prices of which some rise, beside suppliers that come up to fifty times a month."""
    recurring, others = [], []
    for number in range(45):
        day, cents, rise = made.randint(1, 28), round(made.lognormvariate(9, 1)), made.randint(3, 30)
        for place, month in enumerate(MONTHS):
            price = cents if place < rise else cents * 1.12
            recurring.append((f"S{number}", f"{month}-{day:02}", f"{price / 100:.2f}"))
    for month in MONTHS:
        for _ in range(150):
            supplier = f"O{min(int(made.paretovariate(0.7)), 150)}"
            cents = made.lognormvariate(8.5, 1.2)
            others.append((supplier, f"{month}-{made.randint(1, 28):02}", f"{cents / 100:.2f}"))
    return recurring, others


def _contracts_that_end(made: random.Random) -> tuple[list[Row], list[Row]]:
    """Contracts of which each month one in thirty ends and another begins, beside chance entries."""
    recurring, others = [], []
    contracts = [(f"S{number}", made.randint(3, 26), made.randint(900, 90_000)) for number in range(60)]
    for place, month in enumerate(MONTHS):
        for name, day, cents in contracts:
            price = round(cents * made.uniform(0.97, 1.03)) / 100
            recurring.append((name, f"{month}-{day + made.randint(-2, 2):02}", f"{price:.2f}"))
        for number in made.sample(range(60), 2):
            new = (f"S{number} {place}", made.randint(3, 26), made.randint(900, 90_000))
            contracts[number] = new
        for _ in range(150):
            supplier = f"O{min(int(made.paretovariate(0.7)), 150)}"
            cents = made.lognormvariate(8.5, 1.2)
            others.append((supplier, f"{month}-{made.randint(1, 28):02}", f"{cents / 100:.2f}"))
    return recurring, others


@pytest.mark.parametrize(
    ("world", "least"), [(_by_use, 0.8), (_subscriptions, 0.8), (_contracts_that_end, 0.75)]
)
def test_most_of_what_was_hidden_is_named_and_little_else(world: World, least: float):
    """Six months of four companies, a tenth hidden: most are named, and at most one false for two true.

    Where contracts end, one that was hidden in the month before, too, cannot be told from one that ended.
    """
    count = true = false = 0
    for seed in range(1, 5):
        made = random.Random(seed)
        recurring, others = world(made)
        is_hidden = [day >= "2026-05" and made.random() < 0.1 for _, day, _ in recurring]
        came = [row for row, hidden in zip(recurring, is_hidden, strict=True) if not hidden]
        entries, hidden = _frame(came + others), _frame(list(compress(recurring, is_hidden)))
        for month in MONTHS[4:10]:
            ends = pd.Timestamp(f"{month}-01") + pd.DateOffset(months=1)
            shown = expected_entries(entries[entries["date"] < ends], month, as_of=AFTER)
            named = shown.loc[shown["state"] == "missing", "supplier"].to_list()
            suppliers = {*hidden.loc[hidden["date"].dt.strftime("%Y-%m") == month, "supplier"]}
            count += len(suppliers)
            true += len(suppliers & {*named})
            false += len(named) - len(suppliers & {*named})
    print(f"{world.__name__}: {count} hidden, {true} named, {false} false")
    assert true >= least * count
    assert false <= true / 2
