"""`versus`: exact differences of two sides, by any key, with the entries that make them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bktools
from bktools import spend, versus
from bktools.errors import ArgumentError, InputError
from bktools.spending.differences import differences
from bktools.spending.sums import lines_of

ENTRIES = st.lists(
    st.tuples(
        st.sampled_from(["Bahn", "Hôtel", None]),
        st.sampled_from(["EUR", "JPY", None]),
        st.none() | st.integers(-(10**9), 10**9),
    ),
    max_size=20,
)


def _frame(rows) -> pd.DataFrame:
    columns = pd.DataFrame(rows, columns=["supplier", "currency", "units"])
    columns = columns.astype({"supplier": "str", "currency": "str"})
    return columns.assign(amount=columns.pop("units").astype("float64") / 100)


def _plainly(rows) -> dict[tuple[str, str], Decimal]:
    sums = defaultdict(Decimal)
    for supplier, currency, units in rows:
        sums[supplier or "no supplier", currency or "no currency"] += Decimal(units or 0).scaleb(-2)
    return sums


@given(ENTRIES, ENTRIES)
def test_differences_are_those_of_a_plain_loop(this, that):
    """Each group whose sums differ has both and the exact difference, the largest first."""
    now, before = _plainly(this), _plainly(that)
    changes = versus(_frame(this), _frame(that), by="supplier")
    expected = {
        key: (now.get(key, 0), before.get(key, 0))
        for key in {**now, **before}
        if now.get(key, 0) != before.get(key, 0)
    }
    got = {(row.supplier, row.currency): row for row in changes.itertuples()}
    assert got.keys() == expected.keys()
    for key, (new, old) in expected.items():
        row = got[key]
        exact = [Decimal(repr(value)) for value in (row.this, row.that, row.difference)]
        assert exact == [new, old, new - old]
    for _, group in changes.groupby("currency"):
        assert group["difference"].abs().is_monotonic_decreasing


OCTOBER = pd.DataFrame(
    {
        "date": pd.to_datetime(["2026-10-01", "2026-10-02", "2026-10-03"]),
        "supplier": ["Rent AG", "Bahn", "Hotel"],
        "category_id": ["c1", "c2", "c2"],
        "category_name": ["Rent", "Travel", "Travel"],
        "amount": [900.0, 80.0, 120.1],
        "currency": ["EUR"] * 3,
    }
)
NOVEMBER = OCTOBER.assign(
    date=OCTOBER["date"] + pd.DateOffset(months=1),
    supplier=["Rent AG", "Bahn", "Fair"],
    category_name=["Rent", "Trips", "Trips"],
    amount=[900.0, 80.0, 2000.2],
)


def test_drivers_are_the_entries_that_differ():
    """A renamed category is one group; common entries are no drivers, equal groups have no row."""
    (row,) = versus(NOVEMBER, OCTOBER).to_dict("records")
    assert (row["category_name"], row["category_id"], row["difference"]) == ("Trips", "c2", 1880.1)
    assert row["percent"] == 939.6
    assert row["drivers"] == "2026-11-03 Fair +2,000.20"
    assert versus(OCTOBER, NOVEMBER)["drivers"].to_list() == ["2026-11-03 Fair \N{MINUS SIGN}2,000.20"]


def test_a_supplier_of_both_sides_drives_by_what_it_has_more_or_less():
    """A bill by use that came in both months is not named with its whole amount."""
    suppliers = ["Iberdrola", "Canal", "Fair", "Iberdrola"]
    last = OCTOBER.iloc[[0] * 4].assign(supplier=suppliers, amount=[2000.0, 407.64, 9.0, 267.0])
    now = NOVEMBER.iloc[[0] * 2].assign(supplier=suppliers[:2], amount=[2178.44, 365.53])
    (row,) = versus(now, last).to_dict("records")
    texts = ["Iberdrola -88.56", "Canal -42.11", "2026-10-01 Fair -9.00"]
    assert row["drivers"].replace("\N{MINUS SIGN}", "-") == "; ".join(texts)
    assert row["difference"] == -139.67


DAYS = st.sampled_from(["2026-10-05", "2026-10-20", "2026-11-05"])
OF_ONE_PRICE = st.lists(st.tuples(DAYS, st.sampled_from([833.33, 12.0, -12.0])), max_size=6)


@given(OF_ONE_PRICE, OF_ONE_PRICE)
def test_each_driver_is_an_entry_with_its_own_day(now, last):
    """Equal amounts of one supplier keep their days, and no entry is named twice."""
    sides = [pd.DataFrame(rows, columns=["date", "amount"]) for rows in (now, last)]
    sides = [
        rows.assign(date=pd.to_datetime(rows["date"]), supplier="Aviva", currency="EUR") for rows in sides
    ]
    entries = Counter((f"{row.date:%Y-%m-%d}", row.amount) for row in sides[0].itertuples())
    entries += Counter((f"{row.date:%Y-%m-%d}", -row.amount) for row in sides[1].itertuples())
    named = Counter()
    for driver in "; ".join(versus(*sides, by=[])["drivers"]).split("; "):
        if match := re.fullmatch(r"(\d{4}-\d\d-\d\d) Aviva (\S+)", driver):
            named[match[1], float(match[2].replace("\N{MINUS SIGN}", "-"))] += 1
    assert named <= entries


def test_a_supplier_of_several_entries_drives_by_their_sum():
    """Beside a budget no entry of the three is cancelled; one entry alone has its day."""
    bills = pd.DataFrame({"date": pd.date_range("2026-06-05", periods=3, freq="MS") + pd.Timedelta(days=4)})
    bills = bills.assign(supplier="Aviva", amount=833.33, currency="EUR", account_code="433")
    one = bills.head(1).assign(supplier="Bahn", amount=1164.04)
    budget = pd.DataFrame({"account_code": ["433"], "amount": [100.0]})
    drivers = versus(pd.concat([one, bills]), budget, by="account_code")["drivers"].item()
    assert drivers == "Aviva +2,499.99; 2026-07-05 Bahn +1,164.04"


@pytest.mark.parametrize("sums_of", ["this", "that", "both"])
def test_sums_of_spend_give_the_same_differences(sums_of: str):
    """Frames of `spend` in place of entries have the same differences, and no entries to name."""
    by = ["category", "supplier"]
    this = spend(NOVEMBER, by) if sums_of in {"this", "both"} else NOVEMBER
    that = spend(OCTOBER, by) if sums_of in {"that", "both"} else OCTOBER
    columns = ["category_name", "this", "that", "difference", "percent"]
    pd.testing.assert_frame_equal(versus(this, that)[columns], versus(NOVEMBER, OCTOBER)[columns])
    assert (versus(this, that)["drivers"].item() == "") == (sums_of != "that")


def test_a_budget_is_compared_by_name(tmp_path: Path):
    """A budget without IDs and currency matches names in any case; its own groups have rows, too."""
    file = tmp_path / "budget.csv"
    file.write_text("Category;Amount\nrent;1.000,50\nTRIPS;2.080,20\nGifts;50,00\n", encoding="utf-8")
    changes = versus(NOVEMBER, bktools.read_entries(file))
    assert changes[["category_name", "difference", "percent"]].to_numpy().tolist() == [
        ["Rent", -100.5, -10.0],
        ["Gifts", -50.0, -100.0],
    ]
    assert versus(NOVEMBER, bktools.read_entries(file), by=[])["that"].to_list() == [3130.7]


def test_the_lines_of_a_split_entry_are_one():
    """They are counted once on each side, with the whole amount."""
    lines = pd.DataFrame({"id": ["a", "a", "b"], "split_line": [1, 2, 0], "amount": [1.0, 2.0, 4.0]})
    lines = lines.assign(supplier="Bahn", currency="EUR")
    [row] = differences([lines_of(rows, "supplier") for rows in (lines, lines.tail(1))], None).to_dicts()
    assert [row[name] for name in ("entries_this", "entries_that", "this", "that")] == [2, 1, 7, 4]


def test_spellings_of_a_name_are_one_group():
    """Capitals, spaces, a sharp s and the two forms of an accent tell no suppliers apart."""
    sides = (
        pd.DataFrame({"supplier": names, "amount": 5.0, "currency": "EUR"})
        for names in (["Café", "Straße 1"], ["CAFE\u0301", "strasse  1"])
    )
    assert len(versus(*sides, by="supplier")) == 0


def test_the_threshold_leaves_small_differences_out():
    """A threshold by amount or share; the rest is counted, and a new group always counts."""
    by_supplier = versus(NOVEMBER, OCTOBER, by="supplier", threshold=500)
    assert by_supplier["supplier"].to_list() == ["Fair"]
    assert by_supplier.attrs["bktools"]["below_threshold"] == 1
    by_share = versus(NOVEMBER, OCTOBER, by="supplier", threshold="100%")
    assert by_share["supplier"].to_list() == ["Fair", "Hotel"]
    with pytest.raises(ArgumentError, match="threshold must be an amount such as 500, or a share such as 5%"):
        versus(NOVEMBER, OCTOBER, threshold="much")


def test_bad_input_is_one_line(tmp_path: Path):
    """A budget without a currency beside several currencies, or without the key, is refused."""
    both = NOVEMBER.assign(currency=["EUR", "EUR", "USD"])
    budget = pd.DataFrame({"category_name": ["Rent"], "amount": [1.0]})
    with pytest.raises(InputError, match="this has EUR, USD") as error:
        versus(both, budget)
    assert error.value.source == "that"
    assert versus(both, budget.assign(currency="EUR"))["that"].to_list() == [1.0, 0.0, 0.0]
    with pytest.raises(InputError, match="that: the entries have no supplier"):
        versus(NOVEMBER, budget, by="supplier")
    file = tmp_path / "budget.csv"
    file.write_text("Category;Amount\nRent;1,00\n", encoding="utf-8")
    for this, by in ((both, "category"), (NOVEMBER, "supplier")):
        with pytest.raises(InputError) as error:
            versus(this, bktools.read_entries(file), by=by)
        assert error.value.source == "budget.csv"


CATEGORIES = pd.DataFrame({"id": ["i1", "i2", "i3"], "name": ["Rent", "Trips", "trips"]})
EMPLOYEES = pd.DataFrame({"id": ["i1"], "first_name": ["Ada"], "last_name": ["King"]})


def _beside_a_budget(budget: dict[str, list[str]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return each group of three entries beside a budget by its key, and the budget."""
    key = next(iter(budget)).removesuffix("_name")
    ids = {f"{key}_id": ["i1", None, "i2"], f"{key}_name": ["As the file has it", None, "Trips"]}
    entries = pd.DataFrame(
        {"amount": [2.0, 3.0, 4.0], "currency": "EUR", "date": pd.Timestamp("2026-10-05")} | ids
    )
    frame = pd.DataFrame(budget).assign(amount=1.0, currency="EUR")
    return versus(entries, frame, key, categories=CATEGORIES, employees=EMPLOYEES, every=True), frame


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"category_name": ["Rent", "Travel"]}, 'names in category_name: "Travel"'),
        ({"category_name": ["TRIPS", "Rent"]}, 'names in category_name: "TRIPS" is the name of several'),
        ({"employee_name": ["Ada"]}, 'names in employee_name: "Ada"'),
    ],
)
def test_a_budget_that_names_none_or_several_is_refused(budget, message):
    """It would be compared with the wrong entries."""
    with pytest.raises(InputError, match=message) as error:
        _beside_a_budget(budget)
    assert (error.value.code, error.value.source) == ("budget_names", "that")


@pytest.mark.parametrize(
    ("budget", "ids"),
    [
        ({"category_name": ["rent", "no category"]}, ["i1", ""]),
        ({"category_name": ["Travel"], "category_id": ["i2"]}, ["i2"]),
        ({"employee_name": ["Ada  king"]}, ["i1"]),
    ],
)
def test_a_budget_is_compared_by_the_id_of_its_name(budget, ids):
    """In any spelling, and by the ID of the budget where it has one."""
    rows, frame = _beside_a_budget(budget)
    of_rows = rows[next(name for name in rows.columns if name.endswith("_id"))].fillna("")
    planned = {one: amount for one, amount in zip(of_rows, rows["that"], strict=True) if amount}
    assert planned == dict(zip(ids, frame["amount"], strict=True))


def test_a_budget_with_unclear_names_says_what_tells_them_apart(tmp_path: Path):
    """All lines of a name are named, the account and the group of equal ones, and what is similar."""
    file = tmp_path / "budget.csv"
    file.write_text("Category;Amount\nTrips;1,00\nRent;2,00\nRrent;3,00\ntrips;4,00\nTrips;5,00\n", "utf-8")
    categories = CATEGORIES.assign(category_group_id=["g1", "g1", "g2"], account_id=["a1", "a1", "a2"])
    accounts = pd.DataFrame({"id": ["a1", "a2"], "code": ["4210", "4660"], "external_id": ["x", "y"]})
    accounts["name"] = "Cost"
    budget = bktools.read_entries(file, categories=categories)
    with pytest.raises(InputError) as error:
        versus(NOVEMBER, budget, categories=categories, accounts=accounts)
    ids = "i2 (account 4210) (group g1), i3 (account 4660) (group g2)"
    assert [error.value.facts["names"][place]["lines"] for place in (0, 1, 2)] == [["2", "6"], ["4"], ["5"]]
    several = f"is the name of several, of which it needs the ID: {ids}"
    remarks = (
        f"'Trips' (lines 2, 6) {several}; 'Rrent' (line 4) (did you mean Rent?); 'trips' (line 5) {several}"
    )
    assert remarks in str(error.value).replace('"', "'")
    assert error.value.source == "budget.csv"


def test_two_periods_of_one_frame():
    """A quarter beside the one before: each group's sums as pandas has them."""
    days = pd.date_range("2026-04-01", "2026-09-30", freq="D")
    suppliers = [f"s{number % 5}" for number in range(len(days))]
    frame = pd.DataFrame({"date": days, "currency": "EUR", "supplier": suppliers})
    frame["amount"] = [float(number % 13) for number in range(len(days))]
    third, second = (
        frame[frame["date"].dt.quarter == quarter].groupby("supplier")["amount"].sum().to_dict()
        for quarter in (3, 2)
    )
    options = {"by": "supplier", "period": "2026-Q3", "before": "2026-Q2"}
    found = versus(frame, frame, every=True, **options).set_index("supplier")
    assert (found["this"].to_dict(), found["that"].to_dict()) == (third, second)
    drivers = versus(frame, frame, language="de", **options)["drivers"]
    assert drivers.str.contains(r"\.2026 \+12,00").any()
    assert not drivers.str.contains(r"s\d", regex=True).any()


def test_drivers_by_supplier_do_not_repeat_the_supplier():
    """They have what tells the supplier's entries apart; beside a budget by supplier, too."""
    frame = pd.DataFrame({"date": pd.to_datetime(["2026-10-05", "2026-11-07"]), "currency": "EUR"})
    frame = frame.assign(supplier="Adobe", description=["Stock", None], amount=[20.0, 500.0])
    of_months = versus(frame, frame, "supplier", period="2026-11", before="2026-10")
    assert of_months["drivers"].item() == "2026-11-07 +500.00"
    budget = pd.DataFrame({"supplier": ["Adobe"], "amount": [100.0]})
    of_budget = versus(frame, budget, "supplier")["drivers"].item()
    assert of_budget == "2026-11-07 +500.00; 2026-10-05 Stock +20.00"


@pytest.mark.parametrize(
    ("before", "now", "percent"),
    [
        ("100", "70.3", -29.7),
        ("100", "0", -100.0),
        ("100", "1100", 1000.0),
        ("0", "100", None),
        ("-100", "50", None),
        ("0.01", "100", None),
    ],
)
def test_a_percentage_is_of_a_base_that_says_something(before, now, percent):
    """Not of nothing, of a credit, or of a base near zero; people read a sign with a note."""
    this, that = (
        pd.DataFrame({"supplier": ["a"], "amount": [Decimal(one)], "currency": "EUR"})
        for one in (now, before)
    )
    changes = bktools.versus(this, that, by="supplier")
    assert changes["percent"].astype("object").where(changes["percent"].notna(), None).to_list() == [percent]
    assert ("n/m" in str(bktools.show(changes))) == (percent is None)
