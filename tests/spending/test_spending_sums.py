"""`spend`: sums are exact, of one currency each, and nothing is lost."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bktools import read_entries, spend, versus
from bktools.errors import ArgumentError, InputError

MONEY = pa.decimal128(38, 3)
SUPPLIERS = ["Bahn", "bahn", "<b>Hôtel</b>", "=1+1", "会議費", "no supplier", "", " ", None]
DAYS = ["2026-09-30", "2026-10-01", "2026-10-31", None]

ENTRIES = st.lists(
    st.tuples(
        st.sampled_from(SUPPLIERS),
        st.sampled_from(DAYS),
        st.sampled_from(["EUR", "JPY", None]),
        st.none() | st.decimals(-1_000_000, 1_000_000, places=3),
    ),
    max_size=30,
)


def _frame(rows) -> pa.Table:
    suppliers, days, currencies, amounts = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [])
    return pa.table(
        {
            "supplier": pa.array(suppliers, pa.string()),
            "date": pa.array([day and pd.Timestamp(day).date() for day in days], pa.date32()),
            "currency": pa.array(currencies, pa.string()),
            "amount": pa.array(amounts, MONEY),
        }
    )


def _plainly(rows) -> dict[tuple, tuple[int, Decimal | None]]:
    """Return count and sum of each supplier, month and currency, in the plainest way."""
    groups = defaultdict(list)
    for supplier, day, currency, amount in rows:
        groups[((supplier or "").strip() and supplier) or None, day and day[:7], currency].append(amount)
    sums = {}
    for key, amounts in groups.items():
        known = [amount for amount in amounts if amount is not None]
        sums[key] = (len(amounts), sum(known) if known else None)
    return sums


def _plain_share(amount: Decimal | None, amounts: list[Decimal]) -> Fraction | None:
    """Return the share of a row among those of its currency that have the sign of the total."""
    whole = sum(amounts)
    same = [other for other in amounts if other * whole > 0]
    return Fraction(amount) / Fraction(sum(same)) if amount is not None and amount * whole > 0 else None


@given(ENTRIES)
def test_sums_are_those_of_a_plain_loop(rows):
    """Each group of each currency has count and exact sum once; a missing value is its own group."""
    found = spend(_frame(rows), ["supplier", "month"])
    names = ("no supplier", "no month", "no currency")
    expected = sorted(
        (*(value or name for value, name in zip(key, names, strict=True)), count, amount is None, amount or 0)
        for key, (count, amount) in _plainly(rows).items()
    )
    got = sorted(
        (*row[:4], pd.isna(row.amount), 0 if pd.isna(row.amount) else Decimal(repr(row.amount)))
        for row in found[["supplier", "month", "currency", "entries", "amount"]].itertuples(index=False)
    )
    assert got == expected


@given(ENTRIES)
def test_shares_and_order(rows):
    """Shares follow the documented rule to four digits; the largest of the total's sign can be first."""
    found = spend(_frame(rows), "supplier", shares=True)
    sizes = found.groupby("currency", sort=False)["entries"].sum()
    assert list(sizes) == sorted(sizes, reverse=True)
    for _, group in found.groupby("currency", sort=False):
        known = [None if pd.isna(amount) else Decimal(repr(amount)) for amount in group["amount"]]
        amounts = [amount for amount in known if amount is not None]
        for amount, share in zip(known, group["share"], strict=True):
            expected = _plain_share(amount, amounts)
            assert pd.isna(share) if expected is None else abs(share - float(100 * expected)) <= 0.5001e-2
    for _, group in spend(_frame(rows), "supplier", largest_first=True).groupby("currency", sort=False):
        amounts = group["amount"].dropna().to_list()
        sign = -1 if sum(Decimal(repr(amount)) for amount in amounts) < 0 else 1
        assert amounts == sorted(amounts, key=lambda amount: -sign * amount)
        assert not any(pd.isna(group["amount"].iloc[: len(amounts)]))


CATEGORIES = pd.DataFrame(
    {"id": ["c1", "c2", "c3"], "name": ["Travel", "Travel", "Meals"], "account_id": ["a1", "a1", None]},
    dtype="str",
)
ACCOUNTS = pd.DataFrame(
    {"id": ["a1"], "code": ["0400"], "external_id": ["0400"], "name": ["Bank"]}, dtype="str"
)
EMPLOYEES = pd.DataFrame(
    [("e1", "Ada", "Lovelace", "a@b.c"), ("e2", "Ada", "Lovelace", "d@e.f")],
    columns=["id", "first_name", "last_name", "email"],
    dtype="str",
)
NAMED = pa.table(
    {
        "category_id": ["c1", "C1", "c2", "c3", "c9", None],
        "employee_id": ["e1", "E1", "e2", "e9", None, None],
        "currency": ["EUR"] * 6,
        "amount": pa.array([1, 2, 4, 8, 16, 32], pa.decimal128(38, 2)),
    }
)


def _amounts(frame: pd.DataFrame, *columns: str) -> dict[tuple[str, ...], int]:
    return {tuple(row[:-1]): int(row[-1]) for row in frame[[*columns, "amount"]].to_numpy()}


def test_names_are_shown_and_namesakes_stay_apart():
    """Groups are those of the IDs, in any spelling, with their names; an unknown one is named by its ID."""
    by_category = spend(NAMED, categories=CATEGORIES)
    assert list(by_category.columns) == ["category_name", "currency", "entries", "amount", "category_id"]
    assert _amounts(by_category.fillna({"category_id": ""}), "category_name", "category_id") == {
        ("no category", ""): 32,
        ("unknown category c9…", "c9"): 16,
        ("Meals", "c3"): 8,
        ("Travel", "c2"): 4,
        ("Travel", "c1"): 3,
    }
    by_account = _amounts(
        spend(NAMED, "account", categories=CATEGORIES, accounts=ACCOUNTS), "account_code", "account_name"
    )
    assert by_account == {("no account", ""): 56, ("0400", "Bank"): 7}
    by_employee = spend(NAMED, "employee", employees=EMPLOYEES)
    assert _amounts(by_employee.fillna(""), "employee_name", "employee_id") == {
        ("no employee", ""): 48,
        ("unknown employee e9…", "e9"): 8,
        ("Ada Lovelace", "e2"): 4,
        ("Ada Lovelace", "e1"): 3,
    }
    assert spend(NAMED)["category_name"].tolist() == ["c1", "c2", "c3", "c9", "no category"]
    largest = spend(NAMED, largest_first=True)["category_name"].tolist()
    assert largest == ["no category", "c9", "c3", "c2", "c1"]


def test_keys_come_in_their_order():
    """Months, numbers, dates and texts are in order, a missing one is last."""
    frame = pd.DataFrame(
        {
            "date": pd.to_datetime(["2026-11-02", "2026-09-30", "2026-10-01", None]),
            "quarter": [10, 9, 2, 10],
            "supplier": ["b", "a", "B", None],
            "amount": [1.0, 2.0, 3.0, 4.0],
            "currency": "EUR",
        }
    )
    assert spend(frame, "month")["month"].to_list() == ["2026-09", "2026-10", "2026-11", "no month"]
    assert spend(frame, "quarter")["quarter"].to_list() == ["2", "9", "10"]
    assert spend(frame, "supplier")["supplier"].to_list() == ["a", "B", "b", "no supplier"]
    within = spend(frame, ["quarter", "supplier"], shares=True)
    assert within["share"].to_list() == [100.0, 100.0, 20.0, 80.0]


def test_any_column_and_no_column():
    """Any column is a key, as text: dates are ISO, flags are words; without keys, a row a currency."""
    frame = pd.DataFrame(
        {
            "Amount": ["x", "y", "y"],
            "select": [True, False, None],
            "paid": pd.to_datetime(["2026-10-01", None, "2026-10-02"]),
            "company_id": ["k"] * 3,
            "cost_centre": ["7", "7", " "],
            "amount": [3, 2, 1],
            "currency": ["JPY"] * 3,
        }
    )
    assert _amounts(spend(frame, ["Amount", "paid"]), "Amount", "paid") == {
        ("x", "2026-10-01"): 3,
        ("y", "no paid"): 2,
        ("y", "2026-10-02"): 1,
    }
    assert _amounts(spend(frame, "cost_centre"), "cost_centre") == {("7",): 5, ("no cost centre",): 1}
    assert _amounts(spend(frame, "company"), "company_id") == {("k",): 6}
    assert spend(frame, "select")["select"].tolist() == ["false", "true", "no select"]
    total = spend(frame, [], shares=True)
    assert total.to_dict("records") == [{"currency": "JPY", "entries": 3, "amount": 6.0, "share": 100.0}]


EURO = {"amount": [1], "currency": ["EUR"]}
KEYS = {"id": ["a"], "date": [None], "category_id": ["c"], "Project": ["x"]}


@pytest.mark.parametrize(
    ("frame", "by", "message"),
    [
        ({"currency": ["EUR"]}, "supplier", "no column amount; name the column of the amounts so: currency"),
        ({"amount": [1]}, "supplier", "no column currency.*assign.currency="),
        (EURO | {"amount": ["1,5"], "supplier": ["x"]}, "supplier", "must be an exact number, is text"),
        (EURO, "supplier", r"have no supplier: add them up by one of their columns"),
        (EURO, "account", "have no account: give categories and accounts"),
        (EURO, "month", "have no month: give them a date, or add them up by"),
        (EURO | KEYS, "project", "have no project: add them up by .* Project"),
        (EURO | {"date": ["1.2."]}, "month", "entries: column date must be a date, is text$"),
        (EURO | {"tags": [["a"]]}, "tags", "by which nothing can be grouped: make it text"),
    ],
)
def test_bad_input_is_one_line(frame: dict, by, message: str):
    """What is missing or not exact is named, with the way out."""
    amounts = [Decimal(value) if isinstance(value, int) else value for value in frame.get("amount", [])]
    with pytest.raises(InputError, match=message):
        spend(pd.DataFrame(frame | ({"amount": amounts} if amounts else {})), by)


@pytest.mark.parametrize(
    "by", [7, ["supplier", None], ["supplier", "supplier"], "amount", ["currency"], ["share"]]
)
def test_keys_are_names(by):
    """A key is the name of a column, once, and not of a column of the result."""
    with pytest.raises(ArgumentError, match="by must be different names of columns or of category, account"):
        spend(NAMED, by)


def test_what_a_close_would_not_export_is_counted_and_named():
    """Of lines with one ID the first counts, as in a close; entries that are not approved count, too."""
    entries = pd.DataFrame(
        {
            "id": ["a", "A", "b", "b", "b", None, None, "c", "C", "d", "d"],
            "split_line": [None, None, 1, 2, 1, None, None, None, None, 1, 2],
            "date": pd.to_datetime([*["2026-10-01"] * 10, "2026-10-02"]),
            "approved": [True, True, False, False, False, False, None, True, True, True, True],
            "amount": [1.1, 1.1, 2.2, 3.3, 2.2, 4.4, 5.5, 1.4, 1.5, 6.6, 7.7],
            "currency": ["EUR", "EUR", "EUR", "EUR", "EUR", "JPY", "JPY", "EUR", "EUR", "EUR", "EUR"],
        }
    )
    questionable = {
        "copy": {"entries": 2, "amounts": {"EUR": "3.30"}},
        "not_approved": {"entries": 2, "amounts": {"EUR": "5.50", "JPY": "4.40"}},
        "conflicting": {"entries": 2, "amounts": {"EUR": "9.20"}},
    }
    sums = spend(entries, [])
    plain = entries.drop(index=[1, 4, 8, 10]).groupby("currency")["amount"].sum().round(2).to_dict()
    assert dict(zip(sums["currency"], sums["amount"], strict=True)) == plain
    assert sums.attrs["bktools"]["questionable"] == questionable
    sides = versus(entries, entries.head(1), by=[]).attrs["bktools"]["questionable"]
    assert sides == {"this": questionable, "that": {}}


def test_a_key_may_be_the_heading_of_the_file(tmp_path):
    """A heading of the file names the field that was read from it, in `spend` and in `versus`."""
    path = tmp_path / "entries.csv"
    path.write_text("Datum;Betrag;Kostenstelle\n01.10.2026;5,00;IT\n02.10.2026;7,50;IT\n", encoding="utf-8")
    entries = read_entries(path, currency="EUR")
    assert spend(entries, "Kostenstelle").to_dict("list") == spend(entries, "cost_centre").to_dict("list")
    assert versus(entries, entries.head(1), by="Kostenstelle")["difference"].tolist() == [7.5]
