"""Where text goes that a person reads (a terminal, a notebook, a log), and text that fits there."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Sequence
from itertools import accumulate
from operator import add

from bktools.caller import is_command
from bktools.visible import printable, width, width_of

GAP = "  "
CUT = "…"
# Columns of a console whose width is not known.
USUAL_WIDTH = 80
# The narrowest width that a column of text is cut to, and the fewest columns that lines are folded to.
LEAST_WIDTH = 14
LEAST_ROOM = 40


def in_notebook() -> bool:
    """Whether this process is the kernel of a Jupyter notebook; importing IPython alone does not count."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def room() -> int | None:
    """Return how many columns a line may have: those of a terminal, 80 in a notebook; None for files, logs and commands.

    Commands fit their own tables.
    """
    if is_command():
        return None
    # A program without a console has no standard output.
    if sys.stdout is not None and sys.stdout.isatty():
        return max(shutil.get_terminal_size((USUAL_WIDTH, 24)).columns, LEAST_ROOM)
    return USUAL_WIDTH if in_notebook() else None


def readable(text: str) -> str:
    """Return lines that are safe to print; where they would be too long, they go on in the next line, indented."""
    columns = room()
    lines = text.split("\n")
    return printable("\n".join(lines if columns is None else (_folded(line, columns) for line in lines)))


def table_lines(
    columns: Sequence[Sequence[str]], right: Collection[int], prose: Collection[int], room: int | None
) -> tuple[list[str], list[int]]:
    """Return a table's lines, and the widths of its columns: the first ones, as many as there is room for (None: all).

    `columns` has the cells of each, with its heading. `right` and `prose` are the places of those that stand to the
    right, and of those whose text may be cut: the widest text is cut first, then the last column is left out.
    """
    widths = [max(map(width, cells)) for cells in columns]
    while room is not None and sum(widths) + len(GAP) * (len(widths) - 1) > room:
        cuttable = (place for place in reversed(range(len(widths))) if place in prose)
        widest = max(cuttable, key=widths.__getitem__, default=None)
        if widest is not None and widths[widest] > LEAST_WIDTH:
            widths[widest] -= 1
        elif len(widths) > 1:
            # Start again: the other columns may use its room.
            return table_lines(columns[:-1], right, prose, room)
        else:
            break
    padded = []
    for place, (column, wide) in enumerate(zip(columns, widths, strict=True)):
        cells = [cut(cell, wide) for cell in column]
        spaces = [" " * (wide - width(cell)) for cell in cells]
        padded.append(map(add, spaces, cells) if place in right else map(add, cells, spaces))
    return [GAP.join(line).rstrip() for line in zip(*padded, strict=True)], widths


def cut(text: str, columns: int) -> str:
    """Return a text that is no wider than this."""
    if width(text) <= columns:
        return text
    return text[: sum(end < columns for end in accumulate(map(width_of, text)))] + CUT


def _folded(line: str, columns: int) -> str:
    """Return a line as several that fit, broken between words; a word without room stays whole."""
    if width(line) <= columns:
        return line
    indent = line[: len(line) - len(line.lstrip(" "))]
    first, *words = line.removeprefix(indent).split(" ")
    lines = [indent + first]
    for word in words:
        longer = f"{lines[-1]} {word}"
        if width(longer) <= columns:
            lines[-1] = longer
        else:
            lines.append(f"{indent}    {word}")
    return "\n".join(each.rstrip() for each in lines)
