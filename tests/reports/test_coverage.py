"""Pictures of coverage: the figures are those of the table, with one company and with 300."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import polars as pl
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


def test_categories_of_a_close(close: Close):
    """Each state of a company has a bar with its count: covered first in blue, others by number."""
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


def test_no_category_is_a_sentence(close: Close):
    """A reconciliation without categories is drawn as a sentence, without a company."""
    nothing = close.after.table("coverage").slice(0, 0)
    axes = bktools.plot_coverage(replace(close.after, _listed=lambda _: nothing))
    texts = [text.get_text() for text in axes.figure.texts]
    assert texts == ["Categories and their accounts", "There are no categories."]
    assert _labels(axes) == []


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
        "frame = pd.DataFrame({'supplier': ['a', 'b'], 'amount': [Decimal(1), Decimal(2)], 'currency': "
        "'EUR'})\n"
        "spent = bktools.spend(frame, 'supplier')\n"
        "bktools.plot_spend(spent)\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "import matplotlib; matplotlib.use('agg'); import matplotlib.pyplot as plt\n"
        "axes = bktools.plot_spend(spent)['EUR']\n"
        "assert plt.get_fignums() == [axes.figure.number]\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
