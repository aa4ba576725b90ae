"""Where text goes that a person reads (a terminal, a notebook, a log), and text that fits there."""

from __future__ import annotations

import io
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

from bktools.caller import is_command
from bktools.visible import printable, unbroken, visible_line, width

GAP = "  "
INDENT = "  "
# Columns of a console whose width is not known.
USUAL_WIDTH = 80
# The narrowest width of a column of text, and of a terminal.
LEAST_WIDTH = 14
LEAST_ROOM = 40
# The longest word that is never broken: an identifier with a comma.
LONGEST_WORD = 38


def in_notebook() -> bool:
    """Whether this process is the kernel of a Jupyter notebook; importing IPython alone does not count."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def room() -> int | None:
    """Return the width of a line in columns: a terminal's, 80 in a notebook; None for files and logs."""
    # A program without a console has no standard output.
    if sys.stdout is not None and sys.stdout.isatty():
        return max(shutil.get_terminal_size((USUAL_WIDTH, 24)).columns, LEAST_ROOM)
    return USUAL_WIDTH if in_notebook() else None


def readable(text: str) -> str:
    """Return lines that are safe to print; long ones go on in the next line, indented.

    Lines of a command stay whole, because they may be copied.
    """
    columns = None if is_command() else room()
    return printable(
        text if columns is None else "\n".join(_folded(each, columns) for each in text.split("\n"))
    )


def _folded(line: str, columns: int) -> str:
    indent = line[: len(line) - len(line.lstrip(" "))] + "    "
    wrap = textwrap.TextWrapper(
        columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return wrap.fill(unbroken(line)) if width(line) > columns else line


def laid_out(
    rows: Sequence[Sequence[str]],
    columns: int | None,
    *,
    headings: Sequence[str] = (),
    whole: Collection[int] = (),
    to_the_right: Collection[int] = (),
) -> tuple[list[str], int]:
    """Return the lines of a table, and how many columns it has: nothing is cut.

    Where lines are too long, texts go on in the next line of their column, but not those of the columns
    `whole` and `to_the_right`. Where this is not enough, the last columns are left out.

    Parameters
    ----------
    rows : sequence of sequences of str
        The cells.
    columns : int or None
        Width of the terminal; None for lines of any width.
    headings : sequence of str
        One a column; empty for a table without headings.
    whole : collection of int
        Places of columns whose texts are codes or identifiers to copy.
    to_the_right : collection of int
        Places of columns of numbers.
    """
    lines = [*([headings] if headings else []), *rows]
    if not lines:
        return [], 0
    texts_of = [*zip(*lines, strict=True)]
    needed = [max(map(width, texts)) for texts in texts_of]
    kept = {*whole, *to_the_right}
    least = [wide if place in kept else _least(texts_of[place]) for place, wide in enumerate(needed)]
    ends = [end + len(GAP) * place for place, end in enumerate(accumulate(least))]
    # The first column stays in any case: a terminal that is narrower breaks its lines.
    shown = sum(columns is None or end <= columns for end in ends[1:]) + 1
    widths = needed if columns is None else _widths(least[:shown], needed, columns - ends[shown - 1])
    return _drawn([line[:shown] for line in lines], widths, to_the_right), shown


def _least(texts: Collection[str]) -> int:
    """Return the least width of a column of texts. Only very long words are broken, so IDs can be copied."""
    longest = max((width(word) for text in texts for word in text.split()), default=0)
    return min(max(map(width, texts)), max(LEAST_WIDTH, min(longest, LONGEST_WORD)))


def _widths(least: Sequence[int], needed: Sequence[int], spare: int) -> list[int]:
    """Return the widths of columns, each at most as wide as needed; the spare room is divided equally."""
    widths = list(least)
    for turn, place in enumerate(sorted(range(len(least)), key=lambda place: needed[place] - least[place])):
        more = max(min(needed[place] - least[place], spare // (len(least) - turn)), 0)
        widths[place] += more
        spare -= more
    return widths


def _drawn(lines: Iterable[Sequence[str]], widths: Sequence[int], to_the_right: Collection[int]) -> list[str]:
    """Return the lines of a table whose columns have these widths; longer texts go on in the next line."""
    # Most programs print no table.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Rich's versions differ in whether the width of the last column has its padding: gaps are columns here.
    table = Table(box=None, pad_edge=False, padding=0, show_header=False)
    for place, wide in enumerate(widths):
        table.add_column(justify="right" if place in to_the_right else "left", width=wide, overflow="fold")
        table.add_column(width=len(GAP))
    for line in lines:
        table.add_row(*(part for text in line for part in (Text(text), GAP)))
    console = Console(
        width=sum(widths) + len(GAP) * len(widths),
        file=io.StringIO(),
        color_system=None,
        force_terminal=False,
        legacy_windows=False,
    )
    with console.capture() as capture:
        console.print(table)
    return [line.rstrip() for line in capture.get().removesuffix("\n").split("\n")]


def listed(
    rows: Iterable[Sequence[object]],
    columns: int | None = None,
    *,
    indent: str = "",
    to_the_right: Collection[int] = (),
) -> list[str]:
    """Return rows as lines with aligned columns; texts of the last column go on in the next line."""
    cells = [[visible_line(str(value)) for value in row] for row in rows]
    if not cells:
        return []
    last = len(cells[0]) - 1
    own = None if columns is None else columns - len(indent)
    lines, shown = laid_out(cells, own, whole=range(last), to_the_right=to_the_right)
    if shown <= last:
        # Too narrow for columns.
        lines, _ = laid_out(cells, None, to_the_right=to_the_right)
    return [indent + line for line in lines]
