"""Bars and their colours: readable on a light and a dark page, and without colour."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from bktools.export.checks import CHECKS
from bktools.reports import bars
from bktools.reports.colours import COLOURS, INK, LIGHT_INK, PALETTE, colours, ink_on


def _draw(counts: pd.DataFrame, **looks):
    return bars.draw(counts, None, title="$5 of $6", unit="n", groups="names", **looks)


def _labels(axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def _brightness(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG 2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _contrast(one: str, other: str) -> float:
    low, high = sorted([_brightness(one), _brightness(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("page", ["#FFFFFF", "#111111"])
def test_ink_and_colours_are_seen_on_every_page(page: str):
    """Texts have a contrast of 4 to a white and to a dark page, bars of 2.7, and figures in bars of 4 to the bar."""
    assert all(_contrast(ink, page) > 4 for ink in (INK, LIGHT_INK))
    assert all(_contrast(colour, page) > 2.7 for colour in {*PALETTE, *COLOURS.values()})
    inks = {"black": "#000000", "white": "#FFFFFF"}
    assert all(_contrast(colour, inks[ink_on(colour)]) > 4 for colour in {*PALETTE, *COLOURS.values()})


def test_pictures_are_transparent():
    """Figure and axes have no background, and no text is black or white."""
    axes = _draw(pd.DataFrame({"a": [10, 2], "b": [1, 0]}, index=["x", "y"]), note="below")
    assert axes.get_facecolor()[3] == axes.figure.get_facecolor()[3] == 0
    assert axes.xaxis.label.get_color() == axes._left_title.get_color() == axes.get_yticklabels()[0].get_color() == INK
    assert [to_hex(text.get_color()).upper() for text in axes.get_legend().get_texts()] == [INK] * 2
    # The figure in a part of a bar is black or white, whatever reads better on the part.
    assert [text.get_text() for text in axes.texts if text.get_color() != INK] == ["10", "1"]


def test_a_meaning_has_one_colour():
    """A name has its colour whatever stands beside it and in which order, and so in another process."""
    names = ["not approved", "exported", "no account", "Acme", "会議費"]
    whole = colours(names)
    assert len(set(whole.values())) == len(names)
    assert colours(reversed(names)) == whole
    assert all(colours([name])[name] == whole[name] for name in names)
    code = f"from bktools.reports.colours import colours; print(colours({names[3:]!r}) == { {name: whole[name] for name in names[3:]}!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
    reasons = [reason.name.replace("_", " ") for reason in CHECKS]
    known = [name for name in reasons if name in COLOURS]
    assert len({COLOURS[name] for name in known}) == len(known) >= 16
    axes = _draw(pd.DataFrame({"ready": [1, 2], "covered": [3, 4]}, index=["x", "y"]))
    assert [bar.get_facecolor() for bar in axes.containers[0]] == [
        bar.get_facecolor()
        for bar in _draw(pd.DataFrame({"exported": [1, 1], "ready": [1, 2]}, index=["x", "y"])).containers[1]
    ]


def test_more_names_than_colours():
    """Two names of a picture share a colour only when there are more names than colours."""
    names = [f"name {number}" for number in range(len(PALETTE) + 5)]
    assert len(set(colours(names[: len(PALETTE)]).values())) == len(PALETTE)
    assert len(colours(names)) == len(names)


def test_parts_are_told_apart_without_colour():
    """Parts stand in the order of the legend, with their figures in them where there is room, and without hatching."""
    counts = pd.DataFrame({"a": [40, 1], "b": [60, 30], "nothing": [0, 0]}, index=["x", "y"])
    axes = _draw(counts)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(0, 40), (0, 1), (40, 60), (1, 30)]
    assert [text.get_text() for text in axes.texts] == ["40", "60", "30", "100", "31"]
    assert not any(bar.get_hatch() for bar in axes.patches)


def test_one_group_has_a_bar_a_part():
    """The parts of a single group are bars of their own colours, and the group is in the title."""
    axes = _draw(pd.DataFrame({"error": [3], "warning": [5]}, index=["Acme"]))
    assert (_labels(axes), axes.get_title("left")) == (["error", "warning"], "$5 of $6: Acme")
    assert axes.get_legend() is None
    both = _draw(pd.DataFrame({"error": [3, 1], "warning": [5, 1]}, index=["x", "y"]))
    assert [bar.get_facecolor() for bar in axes.patches] == [
        both.containers[part][0].get_facecolor() for part in (0, 1)
    ]


def test_names_are_drawn_as_they_stand():
    """Dollar signs are no formulas, a newline no second line, control characters and direction marks are escapes."""
    names = ["$a$ and $b$", "two\nlines", "x" * 80, "\x1b[31mred\u202eevil", "<script>"]
    axes = _draw(pd.DataFrame({"n": range(1, 6)}, index=names))
    axes.figure.draw_without_rendering()
    assert _labels(axes) == [
        "$a$ and $b$", "two lines", f"{'x' * (bars.LONGEST_LABEL - 1)}…", r"\x1b[31mred\u202eevil", "<script>",
    ]  # fmt: skip
    assert not any(text.get_parse_math() for text in [*axes.get_yticklabels(), axes._left_title, *axes.texts])


def test_cumulated_shares_are_drawn_on_the_scale_of_the_bars():
    """The line ends at the sum of all bars, those that are not drawn included, with the share that each point makes."""
    amounts = [Decimal(number) for number in range(30, 0, -1)]
    axes = _draw(pd.DataFrame({"amount": amounts}, index=[f"n{number}" for number in range(30)]), cumulated=True)
    line = axes.lines[0]
    assert list(line.get_xdata()[:3]) == [30, 59, 87]
    assert len(line.get_xdata()) == bars.SHOWN_GROUPS
    assert [text.get_text() for text in axes.texts[:2]] == ["30 · 6%", "29 · 13%"]
    assert "55 together" in [text.get_text() for text in axes.texts]


def test_sums_are_exact():
    """The sum of a bar has every digit, more than Python's decimals have by themselves."""
    large = Decimal("12345678901234567890123456789012345.01")
    assert bars.total([large, large, Decimal("0.01")]) == Decimal("24691357802469135780246913578024690.03")
