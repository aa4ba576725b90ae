"""Bars of all pictures: two colours with a meaning, readable text, names as they stand."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.colors import to_hex
from page import contrast

from bktools.reports import bars
from bktools.reports.bars import DONE, INK, NEUTRAL, PAGE, STRIPES, WAITING, Chart
from bktools.wording import words

LOOKS = {"exported": (DONE, ""), "ready": (DONE, STRIPES), "held back": (WAITING, "")}
COUNTS = pd.DataFrame({"held back": [40, 1], "exported": [60, -30]}, index=["x", "y"])


def _draw(*charts: pd.DataFrame, **options):
    made = [Chart("$5 of $6", counts, [f"{sum(row):,}" for row in counts.to_numpy()]) for counts in charts]
    return bars.draw(made, title="$1 and $2", looks=LOOKS, figure=None, **options)


def test_text_and_bars_are_seen():
    """Text is dark on white (4.5 at least), bars have a contrast of 3, and meanings differ in grey."""
    (ax,) = _draw(COUNTS, note="below")
    assert contrast(INK, PAGE) > 4.5
    assert all(contrast(colour, PAGE) >= 3 for colour in (DONE, WAITING, NEUTRAL))
    assert contrast(DONE, WAITING) > 2
    texts = [*ax.texts, *ax.get_yticklabels(), *ax.figure.texts]
    assert {to_hex(text.get_color()).upper() for text in texts} == {INK}
    assert to_hex(ax.figure.get_facecolor()).upper() == PAGE


def test_names_are_drawn_as_they_stand():
    """Dollar signs are no formulas, a newline is no line, control and direction marks are escapes."""
    names = ["$a$ and $b$", "two\nlines", "x" * 80, "\x1b[31mred\u202eevil", "<script>"]
    (ax,) = _draw(pd.DataFrame({"exported": range(1, 6)}, index=names))
    ax.figure.draw_without_rendering()
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "$a$ and $b$",
        "two lines",
        f"{'x' * (bars.LONGEST_NAME - 1)}…",
        r"\x1b[31mred\u202eevil",
        "<script>",
    ]
    assert not any(text.get_parse_math() for text in [*ax.get_yticklabels(), *ax.texts, *ax.figure.texts])


@pytest.mark.parametrize("groups", [0, 1, 40])
def test_everything_is_on_the_picture(groups: int):
    """No text is outside of the picture or over another, with any number of bars, on one page."""
    counts = pd.DataFrame(
        {"exported": range(groups, 0, -1)}, index=[f"a long name of {n}" for n in range(groups)]
    )
    charts = [
        bars.chart(
            "EUR",
            counts,
            [f"1,234,567.00 · {n:,} entries" for n in range(groups)],
            "{:,}".format,
            words("en"),
            is_large=is_large,
        )
        for is_large in (True, False, False, False, False)
    ]
    axes = bars.draw(
        charts,
        title=f"{'October 2026, ' * 7}Muster GmbH\nnot approved",
        looks=LOOKS,
        figure=None,
        note="not drawn: a\nand b",
    )
    figure = axes[0].figure
    figure.draw_without_rendering()
    page, texts = figure.bbox, [text for text in figure.texts if text.get_text()]
    for text in [*texts, *(text for ax in axes for text in (*ax.texts, *ax.get_yticklabels()))]:
        box = text.get_window_extent()
        assert page.x0 <= box.x0 < box.x1 <= page.x1, text.get_text()
        assert page.y0 <= box.y0 < box.y1 <= page.y1, text.get_text()
    boxes = [text.get_window_extent() for text in texts]
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])
    assert figure.get_figheight() < 8.3
    if groups == 40:
        assert [ax.texts[-1].get_text() for ax in axes[:2]] == ["and 30 more: 465", "and 35 more: 630"]
