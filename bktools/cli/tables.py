"""Frames on a screen: one line a row, cut to the terminal's width with a note. A pipe gets the whole frame."""

from __future__ import annotations

import re
import shutil
import sys
from itertools import accumulate
from typing import TYPE_CHECKING

import typer

from bktools.cli.formats import is_number, texts_of
from bktools.visible import width as _width
from bktools.visible import width_of

if TYPE_CHECKING:
    import pandas as pd

GAP = "  "
CUT = "…"

# Characters that tell one UUID from another in a table.
SHOWN_OF_A_UUID = 8
# The narrowest width that text is cut to.
LEAST_WIDTH = 20

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def counts(values: pd.Series) -> str:
    """Return the count of each value, the most frequent first; empty without values."""
    return ", ".join(f"{count:,} {value}" for value, count in values.value_counts().items())


def show(frame: pd.DataFrame, *, most: int = 50, whole: str = "| cat") -> None:
    """Print a frame: on a terminal the part that fits, elsewhere every row and column, separated by tabs.

    Parameters
    ----------
    frame : DataFrame
        Its columns, the most useful ones first.
    most : int
        Rows that a terminal gets.
    whole : str
        Addition to the command that shows everything, for the note.
    """
    if sys.stdout.isatty():
        if frame.empty:
            typer.echo("none")
        else:
            _show_fitted(frame, most, shutil.get_terminal_size((120, 24)).columns, whole)
    else:
        cells = [[name, *texts_of(frame[name], "")] for name in frame.columns]
        typer.echo("\n".join("\t".join(row) for row in zip(*cells, strict=True)))


def _show_fitted(frame: pd.DataFrame, most: int, room: int, whole: str) -> None:
    full = {name: texts_of(frame[name].head(most), ",") for name in frame.columns}
    short = full
    if sum(_needed(full).values()) + len(GAP) * (len(full) - 1) > room:
        short = {name: [_short(text) for text in texts] for name, texts in full.items()}
    # A value without spaces is a word, a code or an ID to copy: it is shown whole or not at all.
    prose = [name for name, texts in full.items() if any(" " in text for text in texts)]
    widths = _widths(_needed(short), prose, room)
    shown = {name: [_cut(text, width) for text in short[name]] for name, width in widths.items()}
    padded = [
        [_padded(cell, width, right=is_number(frame[name])) for cell in (_cut(name, width), *shown[name])]
        for name, width in widths.items()
    ]
    typer.echo("\n".join(GAP.join(row).rstrip() for row in zip(*padded, strict=True)))
    left_out = ", ".join(name for name in full if name not in shown)
    cut = ", ".join(name for name in shown if shown[name] != full[name])
    notes = [
        f"… and {counted(len(frame) - most, 'more row')}" if len(frame) > most else "",
        f"left out: {left_out}" if left_out else "",
        f"cut: {cut}" if cut else "",
    ]
    if any(notes):
        typer.echo(f"{'; '.join(filter(None, notes))} (all of it: {whole})")


def _widths(needed: dict[str, int], prose: list[str], room: int) -> dict[str, int]:
    """Return how wide each column is shown: the widest prose is cut first, then the last column is left out."""
    widths = dict(needed)
    while sum(widths.values()) + len(GAP) * (len(widths) - 1) > room:
        # Of two equally wide columns, the later one.
        widest = max((name for name in reversed(prose) if name in widths), key=widths.__getitem__, default=None)
        if widest is not None and widths[widest] > LEAST_WIDTH:
            widths[widest] -= 1
        elif len(needed) > 1:
            # Start again: the other columns may use its room.
            return _widths(dict(list(needed.items())[:-1]), prose, room)
        else:
            break
    return widths


def _needed(columns: dict[str, list[str]]) -> dict[str, int]:
    return {name: max(map(_width, [name, *texts])) for name, texts in columns.items()}


def _short(text: str) -> str:
    return text[:SHOWN_OF_A_UUID] + CUT if _UUID.fullmatch(text) else text


def _cut(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    ends = accumulate(map(width_of, text))
    return text[: sum(end < width for end in ends)] + CUT


def _padded(text: str, width: int, *, right: bool) -> str:
    spaces = " " * (width - _width(text))
    return spaces + text if right else text + spaces
