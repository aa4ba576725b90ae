"""Pictures of coverage: the figures are those of the table, with one company and with 300."""

from __future__ import annotations

import subprocess
import sys

from matplotlib.colors import to_hex

import bktools
from bktools.close.close import Close
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
