"""Draws the bar charts of all plots: labelled, readable without colour, for 3 groups or for 300."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bktools.errors import ArgumentError
from bktools.progress import in_notebook

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

WIDTH = 10.0
FEWEST_PLACES = 3
SHOWN_GROUPS = 20
LONGEST_LABEL = 36
LONGEST_LINE = 105

# Okabe and Ito's colours, which colour-blind readers can distinguish; the hatches distinguish them in print.
Look = tuple[str, str]
LOOKS: tuple[Look, ...] = (
    ("#0072B2", ""), ("#E69F00", "//"), ("#009E73", ".."), ("#CC79A7", "\\\\"),
    ("#56B4E9", "xx"), ("#D55E00", "--"), ("#F0E442", "oo"),
)  # fmt: skip
# The look of a part that needs no attention.
QUIET: Look = ("#BBBBBB", "")

# DejaVu comes with matplotlib and has Latin, Greek, Cyrillic, Hebrew and Arabic; the others depend on the machine.
FONTS = (
    "DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Source Han Sans", "Yu Gothic", "Hiragino Sans",
    "Microsoft YaHei", "PingFang SC", "Malgun Gothic", "Noto Sans Devanagari", "Noto Sans Thai", "Arial Unicode MS",
)  # fmt: skip


def height(groups: int, parts: int) -> float:
    """Return the height of a figure in inches, with room for the groups and for a legend of the parts."""
    return 1.3 + max(0.3 * max(groups, FEWEST_PLACES), 0.2 * parts)


def axes_for(ax: Axes | None, groups: int, parts: int) -> Axes:
    """Return the given axes, or those of a new figure with room for the groups.

    Where pyplot is in use, the figure is pyplot's, which a notebook shows, and a script that calls `show`. Elsewhere it
    has no window and no global state: save it with `ax.figure.savefig(path)`.
    """
    if ax is not None:
        return ax
    size = (WIDTH, height(groups, parts))
    if "matplotlib.pyplot" in sys.modules or in_notebook():
        import matplotlib.pyplot as plt

        made: Axes = plt.figure(figsize=size, layout="constrained").add_subplot()
        return made
    return figure_of_its_own(size).add_subplot()  # type: ignore[no-any-return]


def figure_of_its_own(size: tuple[float, float]) -> Any:
    """Return a figure without a window and without global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def checked(given: Any, argument: str, kind: type, source: str) -> Any:
    """Return the argument of a plot; refuse another type, and name `source`, whose result is needed."""
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
    looks: Mapping[str, Look] | None = None,
    shown: Callable[[Any], str] = "{:,}".format,
    empty: str = "nothing to show",
) -> Axes:
    """Draw a horizontal bar for each row, in parts for its columns.

    Parameters
    ----------
    counts : DataFrame
        Numbers: a row a group, the most important first, and a column a part.
    ax : Axes, optional
        Where to draw.
    title, unit : str
        Heading, and the unit of the bars' length.
    groups : str
        Name of the groups, in the plural. Those after the first 20 are one line of text, such as "and 280 other
        companies", because their bar would dwarf the others.
    note : str
        A second line below the title.
    looks : mapping, optional
        Colour and hatch of a part, such as `QUIET`; the other parts get `LOOKS` in turn.
    shown : callable
        Formats the total of a bar, which is written at its end.
    empty : str
        Text to show when there is no group.
    """
    bounded, others = counts.iloc[:SHOWN_GROUPS], counts.iloc[SHOWN_GROUPS:]
    ax = axes_for(ax, len(bounded) + bool(len(others)), len(counts.columns))
    places = range(len(bounded))
    ends = {1: [0.0] * len(bounded), -1: [0.0] * len(bounded)}
    own, others_look = looks or {}, itertools.cycle(LOOKS)
    for part in bounded.columns:
        colour, hatch = own.get(str(part)) or next(others_look)
        values = [float(value) for value in bounded[part]]
        if not any(values):
            continue
        # Negative values extend to the left of zero.
        starts = [ends[1 if value >= 0 else -1][place] for place, value in zip(places, values, strict=True)]
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
    # Room for the totals at the ends of the bars.
    ax.set_xlim(low - 0.12 * (high - low) if low else 0, high + 0.12 * (high - low))
    names = [str(name) for name in bounded.index]
    if len(others):
        names.append(f"and {len(others):,} other {groups}")
        total = shown(others.to_numpy().sum())
        ax.annotate(
            f"{total} together", (0, len(bounded)), (4, 0), textcoords="offset points", va="center", style="italic"
        )
    _finish(ax, names, title=title, note=note, unit=unit, empty=empty)
    if (own or len(counts.columns) > 1) and ax.get_legend_handles_labels()[0]:
        # Beside the bars, where it covers none.
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0, fontsize="small")
    return ax


def _finish(ax: Axes, names: list[str], *, title: str, note: str, unit: str, empty: str) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    ax.set_yticks(range(len(names)), [readable(name) for name in names])
    # A single bar is centred, and as high as one of three.
    middle, half = (len(names) - 1) / 2, max(len(names), FEWEST_PLACES) / 2 + 0.1
    ax.set_ylim(middle + half, middle - half)
    ax.set_xlabel(readable(unit))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    heading = ax.set_title(
        "\n".join(readable(line, LONGEST_LINE) for line in (title, note) if line), loc="left", fontsize=11
    )
    ax.spines[["top", "right"]].set_visible(False)
    # A dollar sign in a name does not begin a formula.
    for text in (*ax.get_yticklabels(), heading, ax.xaxis.label):
        text.set_parse_math(False)
        text.set_fontfamily(list(_fonts()))
    if not names:
        ax.text(0.5, 0.5, empty, transform=ax.transAxes, ha="center", va="center")
        ax.set_xticks([])


def readable(text: str, longest: int = LONGEST_LABEL) -> str:
    """Return text for a label: one line, shortened, with a box for each letter that no installed font has."""
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
