"""Pictures of coverage: the figures are those of the table, with one company and with 300."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pyarrow as pa
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import bktools
from bktools.close.close import Close
from bktools.errors import ArgumentError
from bktools.frames.schema import ACCOUNTS
from bktools.reports.bars import DONE, WAITING


def _labels(axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def _figures(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def _title(axes) -> str:
    return axes.figure.texts[0].get_text()


def _covered(close: Close, companies: int) -> bktools.Reconciliation:
    """Return a reconciliation of so many companies: each has a covered category, and every second one an open one, too."""
    rows = [
        (f"{place:08x}-0000", state)
        for place in range(companies)
        for state in ("covered", "no_account")[: 1 + place % 2]
    ]
    companies_and_states = pa.table({"company_id": [row[0] for row in rows], "state": [row[1] for row in rows]})
    return replace(close.after, _listed=lambda _: companies_and_states)


def test_categories_of_a_close(close: Close):
    """For one company each state has a bar with its count: the covered blue and first, the others by their number."""
    states = close.after.coverage["state"].str.replace("_", " ").value_counts()
    axes = bktools.plot_coverage(close.after)
    drawn = dict(zip(_labels(axes), _figures(axes), strict=True))
    assert drawn == {state: f"{count:,}" for state, count in states.items()}
    assert _labels(axes) == ["covered", *(name for name in states.index if name != "covered")]
    colours = [to_hex(bar.get_facecolor()).upper() for bar in axes.patches]
    assert colours == [DONE] + [WAITING] * (len(states) - 1)
    assert _title(axes) == f"Company {close.company[:8]}: categories and their accounts"
    named = bktools.plot_coverage(close.after, title="October 2026, Muster GmbH")
    assert _title(named) == "October 2026, Muster GmbH: categories and their accounts"


@pytest.mark.parametrize("companies", [0, 1, 2, 21, 300])
def test_few_and_many_companies(close: Close, companies: int):
    """At most ten bars, the rest told as a number, every label readable; the companies with open ones come first."""
    coverage = _covered(close, companies)
    axes = bktools.plot_coverage(coverage)
    assert len(_labels(axes)) == min(companies, 10)
    told = [int(text.split(": ")[1].split()[0]) for text in _figures(axes) if text.startswith("and ")]
    assert sum(bar.get_width() for bar in axes.patches) + sum(told) == len(coverage.table("coverage"))
    axes.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert not any(one.overlaps(other) for one, other in itertools.pairwise(boxes))
    assert all(text == "1, 1" for text in _figures(axes)[: companies // 2][:10])
    sentence = "There are no categories." if not companies else f"{len(coverage.table('coverage')):,} categories"
    assert sentence in [text.get_text() for text in axes.figure.texts]


def test_wrong_things_are_refused(close: Close):
    """A frame in place of a result is an error that says what is needed."""
    with pytest.raises(ArgumentError, match="must be a Reconciliation, as reconcile_accounts returns it"):
        bktools.plot_coverage(close.entries)


def test_lazy_frames_are_drawn_in_the_figure_that_is_passed(close: Close):
    """Frames of another engine are drawn as those of pandas are, in a figure of one's own."""
    frames = [close.tables["chart"], ACCOUNTS.empty_table(), close.tables["categories"]]
    expected = bktools.plot_coverage(bktools.reconcile_accounts(*frames))
    own = Figure()
    lazy = bktools.reconcile_accounts(*(pl.from_arrow(frame).lazy() for frame in frames))
    drawn = bktools.plot_coverage(lazy, figure=own)
    assert own.axes == [drawn]
    assert (_labels(drawn), _figures(drawn)) == (_labels(expected), _figures(expected))
    assert len(_figures(drawn)) > 0


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
