"""Draws the bar charts of all plots: labelled, readable without colour, on a light and on a dark page."""

from __future__ import annotations

import decimal
import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bktools.consoles import in_notebook
from bktools.errors import ArgumentError
from bktools.reports.colours import INK, LIGHT_INK, colours, ink_on
from bktools.visible import visible_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

WIDTH = 10.0
FEWEST_PLACES = 3
SHOWN_GROUPS = 20
LONGEST_LABEL = 36
LONGEST_LINE = 105

# A figure stands in a part of a bar that is at least as wide as its letters, in shares of the axes.
LETTER = 0.014
# DejaVu comes with matplotlib and has Latin, Greek, Cyrillic, Hebrew and Arabic; the others draw the letters that it lacks.
FONTS = (
    "DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans CJK TC", "Noto Sans CJK KR", "Source Han Sans",
    "Yu Gothic", "Hiragino Sans", "Microsoft YaHei", "PingFang SC", "Malgun Gothic", "Apple SD Gothic Neo",
    "Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Segoe UI Emoji", "Segoe UI Symbol", "Arial Unicode MS",
)  # fmt: skip
# The part of bars that have no parts.
MONEY = "amount"
# Digits of sums: more than any decimal has.
DIGITS = 80


@dataclass(frozen=True, eq=False)
class Panel:
    """A bar chart beside others, as the arguments of `draw`."""

    counts: pd.DataFrame
    title: str
    unit: str
    note: str = ""
    shown: Callable[[Any], str] = "{:,}".format
    cumulated: bool = False


def height(groups: int, parts: int) -> float:
    """Return the height of a figure in inches, with room for the groups and for a legend of the parts."""
    return 1.5 + max(0.3 * max(groups, FEWEST_PLACES), 0.2 * parts)


def axes_for(ax: Axes | None, groups: int, parts: int) -> Axes:
    """Return the given axes, or those of a new figure with room for the groups."""
    return ax if ax is not None else new_figure((WIDTH, height(groups, parts))).add_subplot()


def new_figure(size: tuple[float, float]) -> Figure:
    """Return a transparent figure.

    Where pyplot is in use, the figure is pyplot's, which a notebook shows, and a script that calls `show`. Elsewhere it
    has no window and no global state: save it with `ax.figure.savefig(path)`.
    """
    if "matplotlib.pyplot" in sys.modules or in_notebook():
        import matplotlib.pyplot as plt

        made: Figure = plt.figure(figsize=size, layout="constrained", facecolor="none")
        return made
    return figure_of_its_own(size)


def figure_of_its_own(size: tuple[float, float]) -> Figure:
    """Return a transparent figure without a window and without global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained", facecolor="none")
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


def draw_panels(panels: Sequence[Panel], figure: Figure | None, *, groups: str) -> list[Axes]:
    """Draw charts below each other, each with a scale of its own, in a new figure or in the given one."""
    arranged = [_arranged(panel.counts, panel.title) for panel in panels]
    heights = [height(min(len(counts), SHOWN_GROUPS + 1), len(counts.columns)) for counts, _ in arranged]
    # A part has one colour in all of them.
    parts = [str(part) for panel in panels for part in panel.counts.columns]
    size = (WIDTH, sum(heights))
    if figure is None:
        figure = new_figure(size)
    figure.set_size_inches(size)
    places = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    return [
        draw(
            panel.counts, ax, title=panel.title, unit=panel.unit, groups=groups, note=panel.note, shown=panel.shown,
            cumulated=panel.cumulated, together=parts,
        )
        for panel, ax in zip(panels, places, strict=True)
    ]  # fmt: skip


def draw(
    counts: pd.DataFrame,
    ax: Axes | None,
    *,
    title: str,
    unit: str,
    groups: str,
    note: str = "",
    shown: Callable[[Any], str] = "{:,}".format,
    cumulated: bool = False,
    together: Sequence[str] = (),
) -> Axes:
    """Draw a horizontal bar for each row, in parts for its columns; a single row has a bar for each part.

    A single bar would show nothing: a sentence stands in its place.

    Parameters
    ----------
    counts : DataFrame
        Numbers: a row a group, the most important first, and a column a part. Each part has the colour of its name.
    ax : Axes, optional
        Where to draw.
    title, unit : str
        Heading, and the unit of the bars' length.
    groups : str
        Name of the groups, in the plural. Those after the first 20 are one line of text, such as "and 280 other
        companies", because their bar would dwarf the others.
    note : str
        Text beneath the picture.
    shown : callable
        Formats the total of a bar, which is written at its end.
    cumulated : bool
        Whether to draw a line of the share that each bar makes of all, together with those above it.
    together : sequence of str
        All parts of the picture, if this is one of several charts.
    """
    arranged, title = _arranged(counts, title)
    hues = colours([*together, *map(str, counts.columns)])
    is_turned, counts = len(counts) == 1 < len(arranged), arranged
    in_parts = len(counts.columns) > 1
    bounded, others = counts.iloc[:SHOWN_GROUPS], counts.iloc[SHOWN_GROUPS:]
    ax = axes_for(ax, len(bounded) + bool(len(others)), len(counts.columns))
    names = [str(name) for name in bounded.index]
    if len(others):
        names.append(f"and {len(others):,} other {groups}")
    sentence = "nothing to show"
    if len(names) > 1 or in_parts:
        looks = [[hues[str(name if is_turned else part)] for name in bounded.index] for part in bounded.columns]
        low, high = _draw_bars(ax, bounded, looks, shown, has_ends=not cumulated)
        if cumulated:
            high = _draw_cumulated(ax, list(counts.to_numpy().ravel()), shown)
        # Room for the totals at the ends of the bars.
        room = (0.35 if cumulated else 0.16) * (high - low)
        ax.set_xlim(low - room if low else 0, high + room)
        if len(others):
            _write(ax, f"{shown(total(others.to_numpy().ravel()))} together", (0, len(bounded)), style="italic")
    elif names:
        # The only part of the only group; a sum of money has no parts.
        name = ", ".join(filter(None, [*names, *(str(part) for part in counts.columns if part != MONEY)]))
        sentence, names = f"{unit}: {shown(total(counts.to_numpy().ravel()))} ({drawable(name, LONGEST_LINE)})", []
    whole = all(kind.kind in "iub" for kind in counts.dtypes)
    _finish(ax, names, title=title, note=note, unit=unit, sentence=sentence, whole=whole)
    if in_parts and ax.get_legend_handles_labels()[0]:
        # Beside the bars, where it covers none.
        legend = ax.legend(
            frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0, fontsize="small",
            labelcolor=INK,
        )  # fmt: skip
        _lettered(legend.get_texts())
    return ax


def _arranged(counts: pd.DataFrame, title: str) -> tuple[pd.DataFrame, str]:
    """Return a chart without empty parts; the parts of a single row are rows, and its name, if any, is in the title."""
    there = counts.loc[:, [any(counts[part]) for part in counts.columns]] if len(counts) > 0 else counts
    if len(there) == 1 < len(there.columns):
        return there.T, f"{title}: {counts.index[0]}" if counts.index[0] else title
    return (there if len(there.columns) else counts), title


def total(amounts: Iterable[Any]) -> Any:
    """Return the exact sum of numbers."""
    with decimal.localcontext(prec=DIGITS):
        return sum(amount for amount in amounts if amount == amount)  # noqa: PLR0124 - not a number


def _draw_bars(
    ax: Axes, bounded: pd.DataFrame, looks: Sequence[Sequence[str]], shown: Callable[[Any], str], *, has_ends: bool
) -> tuple[float, float]:
    """Draw each part after the one before it, negative ones to the left of zero; return where the bars end."""
    places = range(len(bounded))
    ends = {1: [0.0] * len(bounded), -1: [0.0] * len(bounded)}
    written = []
    for part, hues in zip(bounded.columns, looks, strict=True):
        values = [float(value) for value in bounded[part]]
        starts = [ends[1 if value >= 0 else -1][place] for place, value in zip(places, values, strict=True)]
        ax.barh(
            places, values, left=starts, color=hues, edgecolor="white", linewidth=0.5,
            label=drawable(str(part), LONGEST_LABEL),
        )  # fmt: skip
        for place, value in zip(places, values, strict=True):
            ends[1 if value >= 0 else -1][place] += value
            written.append((starts[place] + value / 2, place, value, shown(bounded[part].iloc[place]), hues[place]))
    low, high = min([0, *ends[-1]]), max([1e-9, *ends[1]])
    shared = [sum(map(bool, bounded.iloc[place])) > 1 for place in places]
    for middle, place, value, text, hue in written:
        if shared[place] and abs(value) > LETTER * (len(text) + 1) * (high - low):
            _write(ax, text, (middle, place), offset=0, ha="center", color=ink_on(hue))
    for place in places if has_ends else ():
        _write(ax, shown(total(bounded.iloc[place])), (ends[1][place], place))
    return low, high


def _draw_cumulated(ax: Axes, amounts: Sequence[Any], shown: Callable[[Any], str]) -> float:
    """Draw the sum of each bar and those above it, on the scale of the bars; return the sum of all."""
    places = range(min(len(amounts), SHOWN_GROUPS))
    whole = float(total(amounts))
    sums = [float(total(amounts[: place + 1])) for place in places]
    ax.plot(sums, places, color=INK, marker="o", markersize=4, linewidth=1.2)
    for place in places:
        _write(ax, f"{shown(amounts[place])} · {sums[place] / whole:.0%}", (whole, place), offset=8)
    return whole


def _write(ax: Axes, text: str, place: tuple[float, float], *, offset: float = 4, **looks: Any) -> None:
    looks = {"color": INK, "va": "center", "fontsize": "small"} | looks
    ax.annotate(text, place, (offset, 0), textcoords="offset points", **looks)


def _finish(ax: Axes, names: list[str], *, title: str, note: str, unit: str, sentence: str, whole: bool) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ax.set_facecolor("none")
    ax.set_yticks(range(len(names)), [drawable(name, LONGEST_LABEL) for name in names])
    # A single bar is centred, and as high as one of three.
    middle, half = (len(names) - 1) / 2, max(len(names), FEWEST_PLACES) / 2 + 0.1
    ax.set_ylim(middle + half, middle - half)
    ax.set_xlabel(drawable(unit, LONGEST_LINE), color=INK)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=whole))
    heading = ax.set_title(drawable(title, LONGEST_LINE), loc="left", fontsize=11, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["bottom", "left"]].set_color(INK)
    ax.tick_params(colors=INK)
    ax.tick_params(axis="x", labelcolor=LIGHT_INK)
    if not names:
        ax.spines[:].set_visible(False)
        ax.set_xticks([])
        ax.text(0.0, 0.5, sentence, transform=ax.transAxes, va="center", color=INK)
        ax.xaxis.label.set_visible(False)
    if note:
        below = "\n".join(drawable(line, LONGEST_LINE) for line in note.splitlines())
        ax.annotate(
            below, (0, 0), (0, -38 if names else -12), xycoords="axes fraction", textcoords="offset points", va="top",
            fontsize="small", color=INK,
        )  # fmt: skip
    _lettered([*ax.get_yticklabels(), heading, ax.xaxis.label, *ax.texts])


def _lettered(texts: Iterable[Text]) -> None:
    """Give texts the installed fonts; a dollar sign in a name begins no formula."""
    for text in texts:
        text.set_parse_math(False)
        text.set_fontfamily(_installed())


@functools.cache
def _installed() -> list[str]:
    from matplotlib.font_manager import fontManager

    there = {font.name for font in fontManager.ttflist}
    return [name for name in FONTS if name in there]


def drawable(text: str, longest: int) -> str:
    r"""Return text as one line of at most `longest` letters; control characters and direction marks are escapes."""
    line = visible_line(" ".join(text.split()))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
