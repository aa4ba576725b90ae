"""Where text goes that a person reads (a terminal, a notebook, a log), and text that fits there."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate

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


def laid_out(
    cells: Sequence[Sequence[str]], columns: int | None, *, prose: Collection[int], to_the_right: Collection[int]
) -> tuple[list[str], dict[int, int]]:
    """Return the lines of a table, given by column with its heading first, and the width of each column that is shown.

    Where lines are too long, texts of the columns `prose` are cut, the widest first; then the last column is left out.
    """
    needed = {place: max(map(width, texts)) for place, texts in enumerate(cells)}
    widths = needed if columns is None else _fitting(needed, prose, columns)
    padded = [
        [_cell(text, wide, at_the_end=place in to_the_right) for text in cells[place]] for place, wide in widths.items()
    ]
    return [GAP.join(row).rstrip() for row in zip(*padded, strict=True)], widths


def _cell(text: str, columns: int, *, at_the_end: bool) -> str:
    """Return a text that is as wide as its column: cut, or with spaces."""
    if width(text) > columns:
        text = text[: sum(end < columns for end in accumulate(map(width_of, text)))] + CUT
    spaces = " " * (columns - width(text))
    return spaces + text if at_the_end else text + spaces


def _fitting(needed: Mapping[int, int], prose: Collection[int], columns: int) -> dict[int, int]:
    widths = dict(needed)
    while sum(widths.values()) + len(GAP) * (len(widths) - 1) > columns:
        widest = max((place for place in reversed(widths) if place in prose), key=widths.__getitem__, default=None)
        if widest is not None and widths[widest] > LEAST_WIDTH:
            widths[widest] -= 1
        elif len(widths) > 1:
            # Start again: the other columns may use its room.
            return _fitting(dict(list(needed.items())[:-1]), prose, columns)
        else:
            break
    return widths


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
