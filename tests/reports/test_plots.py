"""Plots: the figures are those of the tables, with three groups and with 300, and nothing is left behind."""

from __future__ import annotations

import datetime as dt
import itertools
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure

import bktools
from bktools.errors import ArgumentError, InputError
from bktools.frames.schema import ACCOUNTS
from bktools.reports.month_end import Close


def _labels(axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def _figures(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def _drawn(axes) -> float:
    return sum(bar.get_width() for bar in axes.patches)


def _changes(companies: int) -> pd.DataFrame:
    rows = [
        (f"{place:08x}-0000", kind) for place in range(companies) for kind in ("mapped", "renamed")[: 1 + place % 2]
    ]
    return pd.DataFrame(rows, columns=["company_id", "change"])


def _drawn_in(axes) -> dict[str, str]:
    """Return the figure that is written at each bar, by name."""
    return dict(zip(_labels(axes), _figures(axes), strict=True))


def test_accounts_and_categories_of_a_close(close: Close):
    """For one company each action and each state has a bar, with the counts of the reconciliation's tables."""
    states = close.after.coverage["state"].str.replace("_", " ").value_counts()
    covered = bktools.plot_coverage(close.after)
    assert _drawn_in(covered) == {state: f"{count:,}" for state, count in states.items()}
    assert [bar.get_width() for bar in covered.patches] == [states[name] for name in _labels(covered)]
    company = close.company[:8]
    assert covered.get_title("left") == f"Categories and their accounts: company {company}"


def test_a_sentence_stands_in_the_place_of_one_bar(close: Close):
    """A single bar shows nothing: the count, the group and the part are a sentence, and there are no axes."""
    axes = bktools.plot_reconciliation(close.before)
    assert set(close.before.actions["action"]) == {"create"}
    assert _figures(axes) == [f"accounts: {len(close.before.actions)} (company {close.company[:8]}, create)"]
    assert (len(axes.patches), _labels(axes), list(axes.get_xticks())) == (0, [], [])
    changes = pd.DataFrame({"company_id": ["<b>$x$</b>"] * 3, "change": ["mapped"] * 3})
    assert _figures(bktools.plot_changes(changes)) == ["changes: 3 (company <b>$x$</, mapped)"]


@pytest.mark.parametrize("companies", [2, 3, 21, 300])
def test_few_and_many_groups(companies: int):
    """At most twenty bars, the rest told as a number, every label readable and none over another."""
    changes = _changes(companies)
    axes = bktools.plot_changes(changes)
    shown = min(companies, 20)
    assert len(_labels(axes)) == shown + (companies > 20)
    others = changes["company_id"].value_counts().iloc[20:].sum()
    assert (f"{others} together" in _figures(axes)) == (companies > 20)
    assert _drawn(axes) + others == len(changes)
    axes.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert not any(one.overlaps(other) for one, other in itertools.pairwise(boxes))
    assert all(box.x0 >= 0 for box in boxes)


def test_one_company_is_drawn_by_kind_of_change():
    """With a single company the kinds are the bars; with no change at all the plot says so."""
    axes = bktools.plot_changes(pd.DataFrame({"company_id": ["a"] * 3, "change": ["x", "y", "x"]}))
    assert _drawn_in(axes) == {"x": "2", "y": "1"}
    assert "no changes" in _figures(bktools.plot_changes(_changes(0)))
    with pytest.raises(InputError, match="no column 'change'"):
        bktools.plot_changes(pd.DataFrame({"a": []}))


def test_legends_cover_nothing(close: Close):
    """The legend of every plot stands beside the axes, not on a bar or its figure."""
    for axes in (bktools.plot_changes(_changes(3)), bktools.plot_ageing(close.plan, as_of=dt.date(2026, 11, 12))):
        axes.figure.draw_without_rendering()
        assert axes.get_legend().get_window_extent().x0 > axes.get_window_extent().x1


def test_value_is_of_one_currency(close: Close):
    """Amounts of two currencies are never added; the title has the exact sum and what is not drawn."""
    entries = close.plan.entries
    for currency in ("EUR", "CHF"):
        axes = bktools.plot_export_value(close.plan, currency=currency, categories=close.categories)
        exact = entries.loc[entries["currency"] == currency, "amount"].sum()
        assert axes.get_title("left") == f"Value of entries ready for export: {currency} {exact:,.2f}"
        yen = entries.loc[entries["currency"] == "JPY", "amount"].sum()
        assert any(text.startswith("not drawn: ") and f"JPY {yen:,.0f}" in text for text in _figures(axes))
    names = set(close.categories["name"])
    assert set(_labels(axes)) & names
    with pytest.raises(ArgumentError, match="currency must be one of the plan's: EUR"):
        bktools.plot_export_value(close.plan, currency="XXX")


def _ends(axes) -> dict[str, int]:
    """Return the length of each bar, all its parts together, by name."""
    lengths = dict.fromkeys(range(len(_labels(axes))), 0)
    for bar in axes.patches:
        lengths[round(bar.get_y() + bar.get_height() / 2)] += bar.get_width()
    return {name: int(lengths[place]) for place, name in enumerate(_labels(axes))}


def test_ages_are_counted_to_the_day(close: Close):
    """Each entry that is not ready is in the group of its age, once."""
    axes = bktools.plot_ageing(close.plan, as_of=dt.date(2026, 10, 31))
    days = (pd.Timestamp("2026-10-31") - close.plan.not_ready["date"]).dt.days
    assert _ends(axes) == {"0 to 7 days": int((days <= 7).sum()), "8 to 30 days": int((days > 7).sum())}
    later = bktools.plot_ageing(close.plan, as_of=dt.date(2027, 10, 31))
    reasons = close.plan.not_ready["reason"].str.replace("_", " ").value_counts()
    expected = {name: f"{count}" for name, count in reasons.iloc[:6].items()}
    assert {name: text for name, text in _drawn_in(later).items() if name != "other reasons"} == expected
    assert later.get_title("left").endswith(": over 90 days")
    undated = replace(close.plan, not_ready=close.plan.not_ready.drop(columns="date"))
    assert bktools.plot_ageing(undated).get_title("left").endswith(": no date")


def test_wrong_things_are_refused(close: Close):
    """A frame in place of a result is an error that says what is needed."""
    for plot in (
        bktools.plot_reconciliation, bktools.plot_coverage, bktools.plot_ageing, bktools.plot_export_value,
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=r"must be an? \w+, as \w+ returns it, not DataFrame"):
            plot(close.categories)
    with pytest.raises(ArgumentError, match="changes must be a DataFrame, as compare_categories returns it, not list"):
        bktools.plot_changes([])
    with pytest.raises(ArgumentError, match="as_of must be a date"):
        bktools.plot_ageing(close.plan, as_of="yesterday evening")


def test_lazy_reconciliations_are_drawn(close: Close):
    """Frames of another engine are collected and drawn as those of pandas are."""
    frames = [close.chart, ACCOUNTS.empty_table().to_pandas(), close.categories]
    in_memory = bktools.reconcile_accounts(*frames)
    lazy = bktools.reconcile_accounts(*(pl.from_pandas(frame).lazy() for frame in frames))
    for plot in (bktools.plot_reconciliation, bktools.plot_coverage):
        drawn, expected = plot(lazy), plot(in_memory)
        assert len(_figures(drawn)) > 0
        assert (_labels(drawn), _figures(drawn), _drawn(drawn)) == (
            _labels(expected), _figures(expected), _drawn(expected),
        )  # fmt: skip


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "America/New_York"])
def test_ages_of_dates_in_a_zone(close: Close, zone: str | None):
    """Dates with a time zone are the days that batches are dated with, to the evening of `as_of` itself."""
    late = pd.to_datetime(["2026-10-31 23:30"] * len(close.entries)).tz_localize(zone)
    plan = bktools.compose_export_jobs(close.entries.assign(date=late))
    assert plan.batches["last_date"].max() == pd.Timestamp("2026-10-31")
    for as_of in (dt.date(2026, 10, 31), dt.datetime(2026, 10, 31, 8, tzinfo=dt.UTC)):
        axes = bktools.plot_ageing(plan, as_of=as_of)
        assert axes.get_title("left") == "Entries not ready, by age on 2026-10-31: 0 to 7 days"
        assert _drawn(axes) == len(plan.not_ready)


def test_axes_given_are_drawn_on(close: Close):
    """`ax=` is the one returned, and its figure has no other."""
    axes = Figure().add_subplot()
    assert bktools.plot_ageing(close.plan, ax=axes) is axes
    assert axes.figure.axes == [axes]


def test_no_window_and_no_state_outside_of_notebooks():
    """A script that never asked for pyplot gets a figure of its own; one that did gets pyplot's."""
    code = (
        "import sys, pandas as pd, bktools\n"
        "frame = pd.DataFrame({'company_id': ['a'], 'change': ['mapped']})\n"
        "bktools.plot_changes(frame)\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "import matplotlib; matplotlib.use('agg'); import matplotlib.pyplot as plt\n"
        "axes = bktools.plot_changes(frame)\n"
        "assert plt.get_fignums() == [axes.figure.number]\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
