"""Pictures of coverage: the figures are those of the table, with three companies and with 300, and nothing is left behind."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure

import bktools
from bktools.errors import ArgumentError
from bktools.frames.schema import ACCOUNTS
from bktools.reports.close import Close


def _labels(axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def _figures(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def _drawn(axes) -> float:
    return sum(bar.get_width() for bar in axes.patches)


def _covered(close: Close, companies: int) -> bktools.Reconciliation:
    """Return a reconciliation of so many companies: each has a covered category, and every second one an open one, too."""
    rows = [
        (f"{place:08x}-0000", state)
        for place in range(companies)
        for state in ("covered", "no_account")[: 1 + place % 2]
    ]
    return replace(close.after, coverage=pd.DataFrame(rows, columns=["company_id", "state"]))


def test_categories_of_a_close(close: Close):
    """For one company each state has a bar, with the counts of the table; the company is in the title."""
    states = close.after.coverage["state"].str.replace("_", " ").value_counts()
    axes = bktools.plot_coverage(close.after)
    assert dict(zip(_labels(axes), _figures(axes), strict=True)) == {
        state: f"{count:,}" for state, count in states.items()
    }
    assert [bar.get_width() for bar in axes.patches] == [states[name] for name in _labels(axes)]
    company = close.company[:8]
    assert axes.get_title("left") == f"Categories and their accounts: company {company}"
    assert bktools.plot_coverage(close.after, title="October").get_title("left") == f"October: company {company}"


def test_a_sentence_stands_in_the_place_of_one_bar(close: Close):
    """A single bar shows nothing: the count, the group and the part are a sentence, and there are no axes."""
    axes = bktools.plot_coverage(_covered(close, 1))
    assert _figures(axes) == ["categories: 1 (company 00000000, covered)"]
    assert (len(axes.patches), _labels(axes), list(axes.get_xticks())) == (0, [], [])
    assert _figures(bktools.plot_coverage(_covered(close, 0))) == ["nothing to show"]


@pytest.mark.parametrize("companies", [2, 21, 300])
def test_few_and_many_groups(close: Close, companies: int):
    """At most twenty bars, the rest told as a number, every label readable, none over another, the legend beside them."""
    found = _covered(close, companies)
    axes = bktools.plot_coverage(found)
    assert len(_labels(axes)) == min(companies, 20) + (companies > 20)
    others = found.coverage["company_id"].nunique() - 20
    assert (_labels(axes)[-1] == f"and {others} other companies") == (companies > 20)
    told = [int(text.removesuffix(" together")) for text in _figures(axes) if text.endswith("together")]
    assert _drawn(axes) + sum(told) == len(found.coverage)
    axes.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert not any(one.overlaps(other) for one, other in itertools.pairwise(boxes))
    assert all(box.x0 >= 0 for box in boxes)
    assert axes.get_legend().get_window_extent().x0 > axes.get_window_extent().x1


def test_wrong_things_are_refused(close: Close):
    """A frame in place of a result is an error that says what is needed."""
    with pytest.raises(ArgumentError, match="must be a Reconciliation, as reconcile_accounts returns it"):
        bktools.plot_coverage(close.categories)


def test_lazy_frames_are_drawn(close: Close):
    """Frames of another engine are drawn as those of pandas are."""
    frames = [close.chart, ACCOUNTS.empty_table().to_pandas(), close.categories]
    expected = bktools.plot_coverage(bktools.reconcile_accounts(*frames))
    drawn = bktools.plot_coverage(bktools.reconcile_accounts(*(pl.from_pandas(frame).lazy() for frame in frames)))
    assert len(_figures(drawn)) > 0
    assert (_labels(drawn), _figures(drawn), _drawn(drawn)) == (_labels(expected), _figures(expected), _drawn(expected))


def test_axes_given_are_drawn_on(close: Close):
    """`ax=` is the one returned, and its figure has no other."""
    axes = Figure().add_subplot()
    assert bktools.plot_coverage(close.after, axes) is axes
    assert axes.figure.axes == [axes]


def test_no_window_and_no_state_outside_of_notebooks():
    """A script that never asked for pyplot gets a figure of its own; one that did gets pyplot's."""
    code = (
        "import sys, pandas as pd, bktools\n"
        "from decimal import Decimal\n"
        "frame = pd.DataFrame({'supplier': ['a', 'b'], 'amount': [Decimal(1), Decimal(2)], 'currency': 'EUR'})\n"
        "spent = bktools.spend(frame, 'supplier')\n"
        "bktools.plot_spend(spent)\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "import matplotlib; matplotlib.use('agg'); import matplotlib.pyplot as plt\n"
        "axes = bktools.plot_spend(spent)['EUR']\n"
        "assert plt.get_fignums() == [axes.figure.number]\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
