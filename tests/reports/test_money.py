"""Pictures of money: a chart a currency, exact figures, and every amount drawn or told."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import bktools
from bktools.close.close import Close
from bktools.errors import ArgumentError, InputError
from bktools.reports.bars import DONE


@pytest.fixture
def entries(samples: tuple[Path, Path]) -> pd.DataFrame:
    return bktools.read_entries(samples[1])


def _labels(axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def _figures(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def _written(axes) -> list[str]:
    """Return the texts of the whole picture outside of its charts: title, legend, headings, notes."""
    return [text.get_text() for text in axes.figure.texts]


def _ends(axes) -> dict[str, float]:
    """Return the length of each bar of a large chart, all its parts together, by name."""
    lengths = dict.fromkeys(_labels(axes), 0.0)
    for bar in axes.patches:
        lengths[_labels(axes)[round(bar.get_y() + bar.get_height() / 2)]] += bar.get_width()
    return {name: round(length, 4) for name, length in lengths.items()}


def _spent(*rows: tuple, by="supplier", **options) -> pd.DataFrame:
    columns = ["supplier", "date", "currency", "amount"]
    frame = pd.DataFrame([(*row[:3], Decimal(row[3])) for row in rows], columns=columns)
    return bktools.spend(frame.assign(date=pd.to_datetime(frame["date"])), by, **options)


def _waiting(plan: bktools.ExportPlan, *currencies: str) -> pd.DataFrame:
    """Return the entries that are held back; a duplicate and an entry of another company are left out."""
    held = plan.not_ready[~plan.not_ready["reason"].isin(["duplicate", "other_company"])]
    return held[held["currency"].isin(currencies)] if currencies else held


def test_the_own_currency_is_large_and_each_has_its_decimals():
    """The company's currency is first, with shares and counts; each currency has its decimals."""
    rows = [(name, "2026-10-01", code, "1234.5") for code in ("EUR", "KWD", "JPY") for name in ("a", "b")]
    rows = [(*row[:3], "1200") if row[2] == "JPY" else row for row in rows]
    charts = bktools.plot_spend(_spent(*rows), currency="KWD")
    assert {code: _figures(ax) for code, ax in charts.items()} == {
        "KWD": ["1,234.500 · 50% · 1 entry"] * 2,
        "EUR": ["a", "1,234.50", "b", "1,234.50"],
        "JPY": ["a", "1,200", "b", "1,200"],
    }
    sums = ["KWD 2,469.000", "EUR 2,469.00", "JPY 2,400"]
    assert _written(charts["JPY"]) == ["October 2026: spend by supplier", *sums]
    assert len({ax.get_xlim() for ax in charts.values()}) == 2
    large, small, _ = (ax.get_position() for ax in charts["KWD"].figure.axes)
    assert large.width > 2 * small.width


def test_bars_are_the_sums_and_namesakes_stay_apart():
    """Each group has the bar of its sum, credits to the left; categories with one name have IDs."""
    ids, names = ["aaaaaaaa-1", "bbbbbbbb-2", "c"], ["Travel", "Travel", "<b>Meals</b>"]
    frame = pd.DataFrame({"category_id": ids, "currency": "EUR", "amount": [*map(Decimal, (5, 3, -2))]})
    names = pd.DataFrame({"id": ids, "name": names, "account_id": None})
    axes = bktools.plot_spend(bktools.spend(frame, categories=names, shares=True))["EUR"]
    assert _ends(axes) == {"Travel (aaaaaaaa)": 5, "Travel (bbbbbbbb)": 3, "<b>Meals</b>": -2}
    assert _figures(axes) == ["5.00 · 62% · 1 entry", "3.00 · 38% · 1 entry", "\N{MINUS SIGN}2.00 · 1 entry"]


def test_months_are_in_order_with_those_without_spend():
    """Months follow each other, an empty one has an empty bar, no date is last; parts are the other key."""
    rows = [
        ("a", "2026-10-01", "EUR", "7"),
        ("b", "2026-08-15", "EUR", "2"),
        ("a", "2026-08-20", "EUR", "1"),
        ("a", None, "EUR", "4"),
    ]
    axes = bktools.plot_spend(_spent(*rows, by=["month", "supplier"]))["EUR"]
    assert _ends(axes) == {"2026-08": 3, "2026-09": 0, "2026-10": 7, "no month": 4}
    title = "August 2026 to October 2026: spend by month and supplier"
    assert _written(axes) == [title, "a", "b", "EUR 14.00"]
    plain = bktools.plot_spend(_spent(*rows, by="month"))["EUR"]
    assert _ends(plain) == _ends(axes)
    assert len(_written(plain)) == 2


def test_money_of_a_plan_is_whole(close: Close):
    """Ready and held back, by reason, add up to all entries; what is only ready is not exported."""
    charts = {}
    plan = close.run.plan
    exact = pd.concat([plan.entries, _waiting(plan)]).groupby("currency")["amount"].sum()
    for currency in exact.index:
        charts = bktools.plot_money(close.run.plan, currency=currency)
        assert set(charts) == set(exact.index)
        drawn = _ends(charts[currency])
        assert sum(drawn.values()) == pytest.approx(float(exact[currency]))
        assert drawn.pop("ready") == pytest.approx(float(close.run.plan.amounts[currency]))
        sums = _waiting(plan, currency).groupby("reason")["amount"].sum().abs().sort_values(ascending=False)
        assert list(drawn) == [name.replace("_", " ") for name in sums.index]
        assert [abs(amount) for amount in drawn.values()] == [pytest.approx(float(amount)) for amount in sums]
    everything = pd.concat([plan.entries, _waiting(plan)])
    assert list(bktools.plot_money(plan)) == list(everything["currency"].value_counts().index)
    title, *legend = _written(charts["EUR"])
    assert title == f"October 2026, company {close.company[:8]}: ready and held back"
    assert legend[:2] == ["ready", "held back"]
    assert not any("exported" in text for text in (title, *legend))


def test_money_that_arrived():
    """A match with the ledger is drawn by what is booked, missing, different, or not compared."""
    ids = [f"e{number}" for number in range(4)]
    day, amounts = pd.Timestamp("2026-10-03"), [Decimal(n) for n in (42, 17, 8, 5)]
    exported = pd.DataFrame({"entry_id": ids, "amount": amounts, "currency": ["EUR"] * 3 + ["JPY"]})
    exported = exported.assign(batch_id="b", account_code="5800", date=day)
    postings = pd.DataFrame({"account_code": ["5800", "1930", "5800", "1930"], "amount": [42, -42, 9, -9]})
    postings = postings.assign(currency="EUR", voucher_id=["A 7", "A 7", "A 8", "A 8"], date=day)
    match = bktools.match_ledger(exported, postings)
    axes = bktools.plot_money(match, title="October 2026, Muster GmbH")["EUR"]
    drawn = _ends(axes)
    assert drawn.pop("arrived") == 42
    assert sum(drawn.values()) == 25
    assert _written(axes)[0].startswith("October 2026, Muster GmbH: arrived")
    assert to_hex(axes.patches[0].get_facecolor()).upper() == DONE


def test_wrong_things_are_refused(close: Close):
    """Another frame, or a plan without amounts, is one line with the need. A given figure is used."""
    figure = Figure()
    charts = bktools.plot_money(close.run.plan, figure=figure)
    assert list(figure.axes) == list(charts.values())
    spent = _spent(("a", None, "EUR", "1"))
    with pytest.raises(InputError, match="no column 'currency': give the frame that spend"):
        bktools.plot_spend(pd.DataFrame({"a": [1]}))
    with pytest.raises(ArgumentError, match=r"spend must be what spend returns .DataFrame., not list"):
        bktools.plot_spend([])
    with pytest.raises(ArgumentError, match="entries must be an ExportPlan, a LedgerMatch"):
        bktools.plot_money(spent)
    rows, held = (table.drop_columns("amount") for table in (close.run.plan.rows, close.run.plan.held))
    bare = replace(close.run.plan, rows=rows, held=held)
    with pytest.raises(ArgumentError, match="must have amounts and currencies"):
        bktools.plot_money(bare)
