"""Bars that every plot here draws: labelled, told apart without colour, and right with three groups and with 300."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from bktools.errors import ArgumentError
from bktools.figures import FEWEST_PLACES, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN_GROUPS = 20
LONGEST_LABEL = 34
LONGEST_LINE = 105

# Okabe and Ito's colours, told apart by colour-blind readers; the hatches tell them apart in print.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
HATCHES = ("", "//", "..", "\\\\", "xx", "--", "oo")
QUIET = "#BBBBBB"

# DejaVu comes with matplotlib and has Latin, Greek, Cyrillic, Hebrew, Arabic; the others are there or not.
FONTS = (
    "DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Source Han Sans", "Yu Gothic", "Hiragino Sans",
    "Microsoft YaHei", "PingFang SC", "Malgun Gothic", "Noto Sans Devanagari", "Noto Sans Thai", "Arial Unicode MS",
)  # fmt: skip


def checked(given: Any, argument: str, kind: type, source: str) -> Any:
    """Return what a plot was given, or refuse it with what is needed: what `source` returns."""
    if not isinstance(given, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise ArgumentError(
            argument, f"must be {article} {kind.__name__}, as {source} returns it, not {type(given).__name__}"
        )
    return given


def draw(
    counts: pd.DataFrame,
    ax: Axes | None,
    *,
    title: str,
    unit: str,
    groups: str,
    note: str = "",
    quiet: str | None = None,
    shown: Callable[[Any], str] = "{:,}".format,
) -> Axes:
    """Draw a horizontal bar for each row, in parts for its columns.

    Parameters
    ----------
    counts : DataFrame
        Numbers; the index names the groups, the most important first, the columns the parts.
    ax : Axes, optional
        Where to draw.
    title, unit : str
        Heading; what the length of a bar is.
    groups : str
        What the groups are, in the plural: those after the first 20 are summed up as "and 280 other companies", told
        but not drawn, because their bar would dwarf the others.
    note : str
        A second line below the title.
    quiet : str, optional
        The part that needs nobody's attention: grey.
    shown : callable
        How the total of a bar is written at its end.
    """
    bounded, others = counts.iloc[:SHOWN_GROUPS], counts.iloc[SHOWN_GROUPS:]
    ax = axes_for(ax, len(bounded) + bool(len(others)), len(counts.columns))
    places = range(len(bounded))
    ends = {1: [0.0] * len(bounded), -1: [0.0] * len(bounded)}
    looks = _looks(list(map(str, bounded.columns)), quiet)
    for part in bounded.columns:
        values = [float(value) for value in bounded[part]]
        if not any(values):
            continue
        # Credits go to the left of zero, on top of other credits.
        starts = [ends[1 if value >= 0 else -1][place] for place, value in zip(places, values, strict=True)]
        colour, hatch = looks[str(part)]
        ax.barh(
            places, values, left=starts, color=colour, hatch=hatch, edgecolor="white", linewidth=0.5, label=str(part)
        )
        for place, value in zip(places, values, strict=True):
            ends[1 if value >= 0 else -1][place] += value
    for place, total in zip(places, bounded.sum(axis="columns"), strict=True):
        ax.annotate(
            shown(total), (ends[1][place], place), (4, 0), textcoords="offset points", va="center", fontsize="small"
        )
    low, high = min([0, *ends[-1]]), max([1e-9, *ends[1]])
    # Room for the figures at the ends of the bars.
    ax.set_xlim(low - 0.12 * (high - low) if low else 0, high + 0.12 * (high - low))
    names = [str(name) for name in bounded.index]
    if len(others):
        names.append(f"and {len(others):,} other {groups}")
        total = shown(others.to_numpy().sum())
        ax.annotate(
            f"{total} together", (0, len(bounded)), (4, 0), textcoords="offset points", va="center", style="italic"
        )
    _finish(ax, names, title=title, note=note, unit=unit)
    if len(looks) > 1 and ax.get_legend_handles_labels()[0]:
        # Beside the bars, where it covers none.
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0, fontsize="small")
    return ax


def _looks(parts: list[str], quiet: str | None) -> Mapping[str, tuple[str, str]]:
    loud = [part for part in parts if part != quiet]
    looks = {part: (COLOURS[place % len(COLOURS)], HATCHES[place % len(HATCHES)]) for place, part in enumerate(loud)}
    return looks if quiet is None else looks | {quiet: (QUIET, "")}


def _finish(ax: Axes, names: list[str], *, title: str, note: str, unit: str) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    ax.set_yticks(range(len(names)), [readable(name) for name in names])
    # A single bar is centred, as high as one of three.
    middle, half = (len(names) - 1) / 2, max(len(names), FEWEST_PLACES) / 2 + 0.1
    ax.set_ylim(middle + half, middle - half)
    ax.set_xlabel(readable(unit))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    heading = ax.set_title(
        "\n".join(readable(line, LONGEST_LINE) for line in (title, note) if line), loc="left", fontsize=11
    )
    ax.spines[["top", "right"]].set_visible(False)
    # A dollar sign in a name is a dollar sign.
    for text in (*ax.get_yticklabels(), heading, ax.xaxis.label):
        text.set_parse_math(False)
        text.set_fontfamily(list(_fonts()))
    if not names:
        ax.text(0.5, 0.5, "nothing to show", transform=ax.transAxes, ha="center", va="center")
        ax.set_xticks([])


def readable(text: str, longest: int = LONGEST_LABEL) -> str:
    """Return text for a label: one line, not too long, with a box for what no font here can draw."""
    line = " ".join(text.split())
    short = line if len(line) <= longest else f"{line[: longest - 1]}…"
    known = _characters()
    return "".join(letter if ord(letter) in known else "□" for letter in short)


@functools.cache
def _fonts() -> tuple[str, ...]:
    from matplotlib.font_manager import fontManager

    there = {font.name for font in fontManager.ttflist}
    return tuple(name for name in FONTS if name in there)


@functools.cache
def _characters() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset().union(*(get_font(findfont(FontProperties(family=name))).get_charmap() for name in _fonts()))
