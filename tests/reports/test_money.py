"""Pictures of money: a chart a currency, exact figures, and every amount drawn or told."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import pandas as pd
import pytest
from matplotlib.figure import Figure

import bktools
from bktools.errors import ArgumentError, InputError
from bktools.reports.close import Close


def _labels(axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def _figures(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def _ends(axes) -> dict[str, float]:
    """Return the length of each bar, all its parts together, by name."""
    lengths = dict.fromkeys(_labels(axes), 0.0)
    for bar in axes.patches:
        lengths[_labels(axes)[round(bar.get_y() + bar.get_height() / 2)]] += bar.get_width()
    return {name: round(length, 4) for name, length in lengths.items()}


def _spent(*rows: tuple, by="supplier") -> pd.DataFrame:
    columns = ["supplier", "date", "currency", "amount"]
    frame = pd.DataFrame([(*row[:3], Decimal(row[3])) for row in rows], columns=columns)
    return bktools.spend(frame.assign(date=pd.to_datetime(frame["date"])), by)


def test_each_currency_has_its_own_chart_and_decimals():
    """One chart a currency, with its own scale; yen have no decimals, euros two, dinars three."""
    rows = [(name, "2026-10-01", code, "1234.5") for code in ("EUR", "KWD", "JPY") for name in ("a", "b")]
    rows = [(*row[:3], "1200") if row[2] == "JPY" else row for row in rows]
    charts = bktools.plot_spend(_spent(*rows))
    assert {code: _figures(ax) for code, ax in charts.items()} == {
        "EUR": ["1,234.50"] * 2, "JPY": ["1,200"] * 2, "KWD": ["1,234.500"] * 2,
    }  # fmt: skip
    assert charts["JPY"].get_title("left") == "Spend in JPY by supplier: 2,400"
    assert len({ax.get_xlim() for ax in charts.values()}) == 2
    assert list(charts["EUR"].figure.axes) == list(charts.values())


def test_bars_are_the_sums_and_namesakes_stay_apart():
    """Each group has the bar of its sum, credits to the left; two categories of one name are told apart by ID."""
    frame = pd.DataFrame({
        "category_id": ["aaaaaaaa-1", "bbbbbbbb-2", "c"], "currency": ["EUR"] * 3,
        "amount": [Decimal(5), Decimal(3), Decimal(-2)],
    })  # fmt: skip
    names = pd.DataFrame({"id": frame["category_id"], "name": ["Travel", "Travel", "<b>Meals</b>"], "account_id": None})
    axes = bktools.plot_spend(bktools.spend(frame, categories=names))["EUR"]
    assert _ends(axes) == {"Travel (aaaaaaaa)": 5, "Travel (bbbbbbbb)": 3, "<b>Meals</b>": -2}


def test_many_currencies_and_groups_are_told():
    """After six currencies and twenty groups the others are text, with their exact sums."""
    codes = ["EUR", "USD", "CHF", "SEK", "NOK", "DKK", "JPY", "KWD"]
    rows = [("x", "2026-10-01", code, "1.5") for place, code in enumerate(codes) for _ in range(9 - place)]
    rows += [(f"s{number}", "2026-10-01", "EUR", f"{number + 100}.25") for number in range(25)]
    charts = bktools.plot_spend(_spent(*rows))
    assert list(charts) == codes[:6]
    assert _figures(charts["DKK"])[-1] == "not drawn: JPY 4.5, KWD 3.000"
    assert _labels(charts["EUR"])[-1] == "and 6 other groups"
    assert f"{100.25 + 101.25 + 102.25 + 103.25 + 104.25 + 13.5:,.2f} together" in _figures(charts["EUR"])


def test_months_are_in_order_with_those_without_spend():
    """Months follow each other, an empty one has an empty bar, what has no date is last; parts are the other key."""
    rows = [("a", "2026-10-01", "EUR", "7"), ("b", "2026-08-15", "EUR", "2"), ("a", "2026-08-20", "EUR", "1"),
            ("a", None, "EUR", "4")]  # fmt: skip
    axes = bktools.plot_spend(_spent(*rows, by=["month", "supplier"]), "months")["EUR"]
    assert _ends(axes) == {"2026-08": 3, "2026-09": 0, "2026-10": 7, "no month": 4}
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    plain = bktools.plot_spend(_spent(*rows, by="month"), "months")["EUR"]
    assert _ends(plain) == _ends(axes)
    assert plain.get_legend() is None


def test_of_many_months_the_latest_are_drawn():
    """Twenty months at most are drawn, the others are told; one wrong date does not make hundreds of empty months."""
    rows = [("a", f"{year}-{month:02}-01", "EUR", "1") for year in (2024, 2025) for month in range(1, 13)]
    axes = bktools.plot_spend(_spent(*rows, by="month"), "months")["EUR"]
    assert (_labels(axes)[0], _labels(axes)[-1], len(_labels(axes))) == ("2024-05", "2025-12", 20)
    assert _figures(axes)[-1] == "not drawn: earlier months, 4.00"
    far = bktools.plot_spend(_spent(*rows[:2], ("a", "2062-10-01", "EUR", "1"), by="month"), "months")["EUR"]
    assert _labels(far) == ["2024-01", "2024-02", "2062-10"]


def test_the_seventh_part_is_among_the_others():
    """Six parts have a colour of their own; the others are one part with their sum."""
    rows = [(f"s{number}", "2026-10-01", "EUR", f"{number}") for number in range(1, 10)]
    axes = bktools.plot_spend(_spent(*rows, by=["month", "supplier"]), "months")["EUR"]
    assert _ends(axes) == {"s9": 9, "s8": 8, "s7": 7, "s6": 6, "s5": 5, "s4": 4, "others": 6}


def test_pareto_ends_at_the_whole():
    """Bars by size, and the share that each makes with those above it; credits are told, not drawn."""
    axes = bktools.plot_spend(
        _spent(("a", None, "EUR", "60"), ("b", None, "EUR", "30"), ("c", None, "EUR", "10"), ("d", None, "EUR", "-5")),
        "pareto",
    )["EUR"]
    assert _ends(axes) == {"a": 60, "b": 30, "c": 10}
    assert list(axes.lines[0].get_xdata()) == [60, 90, 100]
    assert _figures(axes) == [
        "60.00 · 60%", "30.00 · 90%", "10.00 · 100%",
        "not drawn, of the other sign or without a share: 1 groups, -5.00",
    ]  # fmt: skip
    assert axes.get_title("left").endswith("95.00")


def test_one_group_is_a_sentence():
    """One group, and no group, are told in words in every kind of chart."""
    spent = _spent(("a", "2026-10-01", "EUR", "60"), by=["month", "supplier"])
    for kind in ("bars", "pareto", "months"):
        axes = bktools.plot_spend(spent, kind)["EUR"]
        assert (len(axes.patches), len(axes.lines)) == (0, 0)
        assert _figures(axes)[0].startswith("EUR: 60.00 (2026-10")
        assert "Nothing to show" in [ax.get_title("left") for ax in bktools.plot_spend(spent.iloc[:0], kind).values()]


def test_money_of_a_plan_is_whole(close: Close):
    """Ready and held back, by reason, add up to the amounts of all entries of a currency."""
    charts = bktools.plot_money(close.plan)
    exact = close.entries.groupby("currency")["amount"].sum()
    assert set(charts) == set(exact.index)
    for currency, axes in charts.items():
        drawn = _ends(axes)
        assert sum(drawn.values()) == pytest.approx(float(exact[currency]))
        assert _labels(axes)[0] == "ready"
        assert drawn["ready"] == pytest.approx(float(close.plan.amounts[currency]))
        held = close.plan.not_ready[close.plan.not_ready["currency"] == currency]
        sums = held.groupby("reason")["amount"].sum()
        assert {name.replace("_", " "): pytest.approx(float(amount)) for name, amount in sums.items()} == {
            name: amount for name, amount in drawn.items() if name != "ready"
        }


def test_what_was_sent_is_exported(close: Close):
    """Batches that the service accepted are exported; one that is in doubt is not; colours follow the meaning."""
    charts = bktools.plot_money(close.plan, jobs=close.jobs)
    assert set(close.jobs["outcome"]) == {"ACCEPTED"}
    assert {_labels(axes)[0] for axes in charts.values()} == {"exported"}
    doubted = close.jobs.assign(outcome=["UNKNOWN", *close.jobs["outcome"].iloc[1:]])
    axes = bktools.plot_money(close.plan, jobs=doubted)["EUR"]
    batch = (
        close.plan.entries.query("currency == 'EUR'").groupby("batch_id")["amount"].sum()[doubted["batch_id"].iloc[0]]
    )
    assert _ends(axes)["in doubt"] == pytest.approx(float(batch))
    places = {name: place for place, name in enumerate(_labels(axes))}
    held = charts["EUR"].patches[_labels(charts["EUR"]).index("not approved")].get_facecolor()
    assert axes.patches[places["not approved"]].get_facecolor() == held


def test_ages_have_values_beside_counts(close: Close):
    """What is held back is drawn by age: the number of entries first, then the value in each currency."""
    day = dt.date(2026, 11, 12)
    charts = bktools.plot_money(close.plan, "age", as_of=day)
    held = close.plan.not_ready
    ages = (pd.Timestamp(day) - held["date"]).dt.days.map(
        lambda days: "8 to 30 days" if days <= 30 else "31 to 60 days"
    )
    assert _ends(charts.pop("entries")) == ages.value_counts().to_dict()
    assert set(charts) == set(held["currency"])
    for currency, axes in charts.items():
        chosen = held["currency"] == currency
        sums = held[chosen].groupby(ages[chosen])["amount"].sum()
        drawn = {age: amount for age, amount in _ends(axes).items() if amount}
        assert drawn == {age: pytest.approx(float(amount)) for age, amount in sums.items()}


def test_ages_are_counted_to_the_day(close: Close):
    """Each entry that is held back is in the group of its age, once; one age alone is drawn by reason."""
    counts = bktools.plot_money(close.plan, "age", as_of=dt.date(2026, 10, 31))["entries"]
    days = (pd.Timestamp("2026-10-31") - close.plan.not_ready["date"]).dt.days
    assert _ends(counts) == {"0 to 7 days": (days <= 7).sum(), "8 to 30 days": (days > 7).sum()}
    later = bktools.plot_money(close.plan, "age", as_of=dt.date(2027, 10, 31))["entries"]
    assert later.get_title("left").endswith(": over 90 days")
    reasons = close.plan.not_ready["reason"].str.replace("_", " ").value_counts()
    drawn = _ends(later)
    assert drawn.pop("other reasons") == reasons.iloc[6:].sum()
    assert drawn == reasons.iloc[:6].to_dict()
    undated = replace(close.plan, not_ready=close.plan.not_ready.drop(columns="date"))
    assert bktools.plot_money(undated, "age")["entries"].get_title("left").endswith(": no date")


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "America/New_York"])
def test_ages_of_dates_in_a_zone(close: Close, zone: str | None):
    """Dates with a time zone are the days that batches are dated with, to the evening of `as_of` itself."""
    late = pd.to_datetime(["2026-10-31 23:30"] * len(close.entries)).tz_localize(zone)
    plan = bktools.compose_export_jobs(close.entries.assign(date=late))
    assert plan.batches["last_date"].max() == pd.Timestamp("2026-10-31")
    for as_of in (dt.date(2026, 10, 31), dt.datetime(2026, 10, 31, 8, tzinfo=dt.UTC)):
        axes = bktools.plot_money(plan, "age", as_of=as_of)["entries"]
        assert axes.get_title("left").endswith(": 0 to 7 days")
        assert axes.patches == [] or sum(_ends(axes).values()) == len(plan.not_ready)


def test_months_have_what_was_exported_and_held_back(close: Close):
    """Each month of the entries has a bar of their value, in parts that add up to what is exported and held back."""
    entries = close.entries.copy()
    entries.loc[entries.index[::3], "date"] -= pd.DateOffset(months=1)
    plan = bktools.compose_export_jobs(entries, categories=close.categories, company=close.company)
    charts = bktools.plot_money(plan, "month")
    amounts = entries.groupby([entries["currency"], entries["date"].dt.strftime("%Y-%m")])["amount"].sum()
    for currency, axes in charts.items():
        assert _labels(axes) == ["2026-09", "2026-10"]
        assert _ends(axes) == {month: pytest.approx(float(amount)) for month, amount in amounts[currency].items()}
    parts = {text.get_text() for text in charts["EUR"].get_legend().get_texts()}
    assert {"ready", "not approved"} <= parts


def test_a_title_of_ones_own(close: Close):
    """`title=` heads each chart, before its currency."""
    spent = bktools.spend(close.plan.entries, "supplier")
    charts = bktools.plot_spend(spent, title="October")
    assert {text.get_title("left").partition(":")[0] for text in charts.values()} == {
        f"October in {currency}" for currency in charts
    }
    for by in ("reason", "month", "age"):
        charts = bktools.plot_money(close.plan, by, title="October")
        assert all(axes.get_title("left").startswith("October") for axes in charts.values())


def test_a_given_figure_is_drawn_on(close: Close):
    """The charts are in the figure that is given, which gets room for them."""
    figure = Figure()
    charts = bktools.plot_money(close.plan, figure=figure)
    assert list(figure.axes) == list(charts.values())
    assert figure.get_figheight() > 2 * len(charts)


def test_wrong_things_are_refused(close: Close):
    """Another kind, another frame, a plan without amounts: one line that says what is needed."""
    spent = _spent(("a", None, "EUR", "1"))
    with pytest.raises(ArgumentError, match="kind must be one of bars, pareto, months"):
        bktools.plot_spend(spent, "pie")
    with pytest.raises(InputError, match="no column 'month': give what spend"):
        bktools.plot_spend(spent, "months")
    with pytest.raises(InputError, match="no column 'currency': give what spend"):
        bktools.plot_spend(pd.DataFrame({"a": [1]}))
    with pytest.raises(ArgumentError, match="spend must be a DataFrame, as spend returns it, not list"):
        bktools.plot_spend([])
    with pytest.raises(ArgumentError, match="plan must be an ExportPlan"):
        bktools.plot_money(spent)
    with pytest.raises(ArgumentError, match="as_of must be a date"):
        bktools.plot_money(close.plan, "age", as_of="yesterday evening")
    with pytest.raises(ArgumentError, match="by must be 'reason', 'age' or 'month'"):
        bktools.plot_money(close.plan, "size")
    bare = replace(close.plan, rows=close.plan.rows.drop_columns(["amount"]))
    with pytest.raises(ArgumentError, match="must be made from entries with amounts and currencies"):
        bktools.plot_money(bare)
