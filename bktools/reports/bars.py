"""Draws the bar charts of all pictures: one large, others small beneath it, black on white, for a paper."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bktools.consoles import in_notebook
from bktools.errors import ArgumentError
from bktools.frames.sums import total
from bktools.visible import visible_line, width
from bktools.wording import LANGUAGES, Sentence, Words, words
from bktools.wording.numbers import capitalized

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The colours have one meaning in every picture: blue is done, orange waits for somebody, and grey is neither.
# The colours differ in lightness, too, for a print without colours.
PAGE, INK = "#FFFFFF", "#1F1F1F"
DONE, WAITING, NEUTRAL = "#14588F", "#D9771B", "#5C6670"
# Stripes in place of a full bar: not done yet, or not known.
STRIPES = "//////"

# How a part of the bars is drawn: its colour, and its pattern.
Look = tuple[str, str]

# The most bars of the large chart and of a small one, and small charts.
LARGE_BARS, SMALL_BARS, SMALL_CHARTS = 10, 5, 4

# Sizes in inches. All of a picture is seen at once on a page of 100 pixels an inch.
WIDTH, MARGIN, GAP = 10.0, 0.3, 0.4
TITLE, LEGEND, HEADING, LINE = 0.4, 0.36, 0.36, 0.24
LARGE_BAR, SMALL_BAR = 0.3, 0.36
LETTER, SMALL_LETTER = 0.088, 0.078
LONGEST_NAME, LONGEST_LINE = 36, 110
# Points of the title, and its letters that fit in one line.
TITLE_SIZE, LONGEST_TITLE = 13, 74

# DejaVu comes with matplotlib and has Latin, Greek, Cyrillic, Hebrew and Arabic; the others draw the letters
# that it lacks.
FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans CJK TC",
    "Noto Sans CJK KR",
    "Source Han Sans",
    "Yu Gothic",
    "Hiragino Sans",
    "Microsoft YaHei",
    "PingFang SC",
    "Malgun Gothic",
    "Apple SD Gothic Neo",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Noto Emoji",
    "Segoe UI Emoji",
    "Segoe UI Symbol",
    "Arial Unicode MS",
)


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart of horizontal bars, with a line above and one beneath them, and a text at the end of each bar.

    `bars` are exact numbers: a row per bar, by name, the first on top, and a column per part of the bars.
    """

    heading: str
    bars: pd.DataFrame
    figures: Sequence[str]
    note: str = ""

    def height(self, bar: float) -> float:
        """Return the height of the bars, each as high as `bar`, and of the note."""
        return bar * max(len(self.bars), 1) + LINE * bool(self.note)


def chart(
    heading: str,
    bars: pd.DataFrame,
    figures: Sequence[str],
    shown: Callable[[Any], str],
    texts: Words,
    *,
    is_large: bool = True,
    latest: bool = False,
) -> Chart:
    """Return a chart of the first or latest bars; its note has the others' sum, formatted by `shown`."""
    most = LARGE_BARS if is_large else SMALL_BARS
    if (left := len(bars) - most) <= 0:
        return Chart(heading, bars, figures)
    others = bars.iloc[:left] if latest else bars.iloc[most:]
    drawn = slice(left, None) if latest else slice(most)
    amount = shown(total(others.to_numpy().ravel()))
    note = texts("report.picture.earlier" if latest else "report.picture.more", count=left, amount=amount)
    return Chart(heading, bars.iloc[drawn], figures[drawn], note)


def titled(title: str, about: str) -> str:
    """Return the heading of a picture: month, company and subject; the title's other lines stay below."""
    first, *others = title.splitlines() or [""]
    first = f"{first}: {about}" if first else about
    return "\n".join([capitalized(first), *others])


def words_of(language: str | None) -> Words:
    """Return the words of a picture in a language, by default the configured one."""
    if language not in (None, *LANGUAGES):
        raise ArgumentError("language", Sentence("rule.one_of", choices=", ".join(LANGUAGES)), language)
    return words(language)


def checked(value: Any, argument: str, kind: type, source: str) -> Any:
    """Return the argument of a picture; refuse another type, and name `source`, whose result is needed."""
    if not isinstance(value, kind):
        facts = {"kind": kind.__name__, "source": source, "is": type(value).__name__}
        raise ArgumentError(argument, Sentence("rule.result_of", **facts))
    return value


def draw(
    charts: Sequence[Chart], *, title: str, looks: Mapping[str, Look], figure: Figure | None, note: str = ""
) -> list[Axes]:
    """Draw the first chart large and at most four others small beneath it; return their axes.

    Lines of the title after the first are small, as is the note beneath the picture. `looks` has the parts of
    the bars in the order of the legend; a picture with one part has no legend. Without a figure a new one is
    made; its size is set.
    """
    from matplotlib.text import Text

    large, *small = charts
    used = [part for part in looks if any(part in chart.bars.columns for chart in charts)]
    first, *below = [drawable(line, LONGEST_LINE) for line in title.splitlines()] or [""]
    notes = [drawable(line, LONGEST_LINE) for line in note.splitlines()]
    legend = _legend(used) if len(used) > 1 else []
    smaller = HEADING + GAP + max(chart.height(SMALL_BAR) for chart in small) if small else 0
    larger = HEADING + large.height(LARGE_BAR)
    above = TITLE + LINE * len(below) + LEGEND * (1 + max((row for *_, row in legend), default=-1))
    height = 2 * MARGIN + above + larger + smaller + LINE * len(notes)
    figure = _new_figure() if figure is None else figure
    figure.set_size_inches((WIDTH, height))
    figure.set_facecolor(PAGE)
    figure.set_layout_engine("none")
    top = height - MARGIN
    size = min(TITLE_SIZE, TITLE_SIZE * LONGEST_TITLE / max(width(first), 1))
    _write(figure, first, MARGIN, top, size=size, weight="bold")
    top -= TITLE
    for line in below:
        _write(figure, line, MARGIN, top + 0.08, size=9)
        top -= LINE
    for part, (text, left, row) in zip(used, legend, strict=False):
        _box(figure, left, top - LEGEND * row, looks[part])
        _write(figure, text, left + 0.25, top - LEGEND * row, size=9)
    top = height - MARGIN - above
    axes = [_large_chart(figure, large, top, looks)]
    top -= larger + GAP
    columns = max(len(small), 3)
    room = (WIDTH - 2 * MARGIN - GAP * (columns - 1)) / columns
    for place, chart in enumerate(small):
        axes.append(_small_chart(figure, chart, (MARGIN + place * (room + GAP), top, room), looks))
    for place, line in enumerate(notes):
        _write(figure, line, MARGIN, MARGIN + LINE * (len(notes) - place), size=8)
    for text_of_figure in figure.findobj(Text):
        # A dollar sign in a name begins no formula.
        text_of_figure.set_parse_math(False)
        text_of_figure.set_fontfamily(_installed())
    return axes


def _legend(parts: Iterable[str]) -> list[tuple[str, float, int]]:
    """Return the text of each part, its place from the left, and its row: a row is as wide as the page."""
    legend, left, row = [], MARGIN, 0
    for text in (drawable(part, LONGEST_NAME) for part in parts):
        room = 0.55 + LETTER * width(text)
        if left + room > WIDTH:
            left, row = MARGIN, row + 1
        legend.append((text, left, row))
        left += room
    return legend


def figure_of_its_own() -> Figure:
    """Return a figure without a window and without global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    FigureCanvasAgg(figure)
    return figure


def _new_figure() -> Figure:
    """Return a figure: that of pyplot where it is in use, for notebooks, and for scripts that call `show`."""
    if "matplotlib.pyplot" not in sys.modules and not in_notebook():
        return figure_of_its_own()
    import matplotlib.pyplot as plt

    made: Figure = plt.figure()
    return made


def _large_chart(figure: Figure, chart: Chart, top: float, looks: Mapping[str, Look]) -> Axes:
    """Draw bars with their names to the left and their figures at their ends."""
    names = [drawable(str(name), LONGEST_NAME) for name in chart.bars.index]
    label = LETTER * max(map(width, names), default=0) + 0.1
    right = LETTER * max(map(width, chart.figures), default=0) + 0.1
    box = (MARGIN + label, top, WIDTH - 2 * MARGIN - label - right)
    ax = _axes(figure, chart, box, LARGE_BAR, looks)
    _write(figure, drawable(chart.heading, LONGEST_LINE), MARGIN, top, size=11)
    ax.set_yticks(range(len(names)), names, color=INK, fontsize=9)
    ends = _draw_bars(ax, chart.bars, looks, height=0.62)
    for row, (end, text) in enumerate(zip(ends, chart.figures, strict=True)):
        ax.annotate(text, (end, row), (5, 0), textcoords="offset points", va="center", fontsize=9, color=INK)
    _write_beside(ax, 0, len(chart.bars) - 0.2, drawable(chart.note, LONGEST_LINE))
    return ax


def _small_chart(
    figure: Figure, chart: Chart, box: tuple[float, float, float], looks: Mapping[str, Look]
) -> Axes:
    """Draw thin bars, each below a line with its name and its figure."""
    left, top, room = box
    ax = _axes(figure, chart, (left, top + 0.06, room), SMALL_BAR, looks)
    _write(figure, drawable(chart.heading, int(room / LETTER)), left, top, size=10)
    _draw_bars(ax, chart.bars, looks, height=0.24, offset=0.22)
    for row, (name, text) in enumerate(zip(chart.bars.index, chart.figures, strict=True)):
        letters = max(int(room / SMALL_LETTER) - width(text) - 2, 4)
        _write_beside(ax, 0, row - 0.15, drawable(str(name), letters))
        _write_beside(ax, 1, row - 0.15, text, ha="right")
    _write_beside(ax, 0, len(chart.bars) - 0.2, drawable(chart.note, LONGEST_LINE))
    return ax


def _axes(
    figure: Figure, chart: Chart, box: tuple[float, float, float], bar: float, looks: Mapping[str, Look]
) -> Axes:
    """Return axes without lines, below the heading of a chart, with room for its bars."""
    left, top, room = box
    across, up = figure.get_size_inches()
    height = bar * max(len(chart.bars), 1)
    ax: Axes = figure.add_axes((left / across, (top - HEADING - height) / up, room / across, height / up))
    ax.set_frame_on(False)
    ax.xaxis.set_visible(False)
    ax.set_yticks([])
    ax.yaxis.set_tick_params(length=0)
    ax.set_ylim(max(len(chart.bars), 1) - 0.5, -0.5)
    assert set(chart.bars.columns) <= set(looks)
    return ax


def _draw_bars(
    ax: Axes, bars: pd.DataFrame, looks: Mapping[str, Look], *, height: float, offset: float = 0
) -> list[float]:
    """Draw each part after the one before, negative ones to the left of zero; return where bars end."""
    rows = range(len(bars))
    highs, lows = [0.0] * len(bars), [0.0] * len(bars)
    for part in (part for part in looks if part in bars.columns):
        values = [float(value) for value in bars[part]]
        drawn = [row for row in rows if values[row]]
        starts = [highs[row] if values[row] > 0 else lows[row] for row in drawn]
        ax.barh(
            [row + offset for row in drawn],
            [values[row] for row in drawn],
            height,
            left=starts,
            label=part,
            linewidth=0.8,
            **_filled(looks[part]),
        )
        highs = [high + max(value, 0) for high, value in zip(highs, values, strict=True)]
        lows = [low + min(value, 0) for low, value in zip(lows, values, strict=True)]
    low, high = min(lows, default=0), max(highs, default=0)
    ax.set_xlim(low, high if high > low else low + 1)
    if low < 0 and rows:
        # A piece beside each bar: in a small chart the names stand between them.
        above, below = ([row + offset + side * height for row in rows] for side in (-0.7, 0.7))
        ax.vlines([0.0] * len(rows), above, below, INK, linewidth=0.8)
    return highs


def _write_beside(ax: Axes, side: float, row: float, text: str, **looks: Any) -> None:
    """Write a line between bars, at the left (0) or the right side (1) of a chart."""
    if text:
        ax.text(
            side, row, text, transform=ax.get_yaxis_transform(), va="center", fontsize=8, color=INK, **looks
        )


def _write(figure: Figure, text: str, left: float, top: float, **looks: Any) -> None:
    """Write a line on the figure, below a height; its place is in inches from the left and the bottom."""
    across, up = figure.get_size_inches()
    figure.text(left / across, (top - 0.1) / up, text, va="center_baseline", color=INK, **looks)


def _box(figure: Figure, left: float, top: float, look: Look) -> None:
    from matplotlib.patches import Rectangle

    across, up = figure.get_size_inches()
    corner, size = (left / across, (top - 0.16) / up), (0.17 / across, 0.12 / up)
    figure.add_artist(Rectangle(corner, *size, transform=figure.transFigure, **_filled(look)))


def _filled(look: Look) -> dict[str, Any]:
    colour, pattern = look
    return {"edgecolor": colour, "hatch": pattern, "facecolor": PAGE if pattern else colour}


@functools.cache
def _installed() -> list[str]:
    from matplotlib.font_manager import fontManager

    there = {font.name for font in fontManager.ttflist}
    return [name for name in FONTS if name in there]


def drawable(text: str, longest: int) -> str:
    r"""Return text as one line of at most `longest` letters, with control and direction marks as escapes."""
    line = visible_line(" ".join(text.split()))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
