"""Frames on a screen: as many columns as fit, and a note of the others. A pipe gets the whole frame."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from bktools.cli.formats import is_number, texts_of, with_units
from bktools.consoles import laid_out, room
from bktools.wording.numbers import counted

if TYPE_CHECKING:
    import pandas as pd


def counts(values: Iterable[str]) -> str:
    """Return the count of each value, the most frequent first; empty without values."""
    return ", ".join(f"{count:,} {value}" for value, count in Counter(values).most_common())


def in_order(frame: pd.DataFrame, column: str, values: Iterable[str]) -> pd.DataFrame:
    """Return the rows in the order of a column's values; others last."""
    ranks = {value: rank for rank, value in enumerate(values)}
    return frame.sort_values(
        column, key=lambda cells: cells.map(ranks).fillna(len(ranks)), kind="stable", ignore_index=True
    )


def show(frame: pd.DataFrame, *, most: int = 50, whole: str = "| cat") -> None:
    """Print a frame: on a terminal what fits, elsewhere every row and column, separated by tabs.

    `whole` is what to add to the command so that it shows everything, for the note.
    """
    if sys.stdout.isatty():
        if frame.empty:
            typer.echo("none")
        else:
            _show_fitted(frame, most, room(), whole)
    else:
        exact = with_units(frame)
        cells = [[name, *texts_of(exact[name], "")] for name in frame.columns]
        typer.echo("\n".join("\t".join(row) for row in zip(*cells, strict=True)))


def _show_fitted(frame: pd.DataFrame, most: int, columns: int | None, whole: str) -> None:
    names = list(frame.columns)
    exact = with_units(frame.head(most))
    texts = [texts_of(exact[name], ",") for name in names]
    # A value without spaces is a word, a code or an ID to copy: it is shown whole or not at all.
    words = [place for place, values in enumerate(texts) if not any(" " in text for text in values)]
    numbers = [place for place, name in enumerate(names) if is_number(frame[name])]
    rows = list(zip(*texts, strict=True))
    lines, shown = laid_out(rows, columns, headings=names, whole=words, to_the_right=numbers)
    typer.echo("\n".join(lines))
    notes = [
        f"… and {counted(len(frame) - most, 'more row')}" if len(frame) > most else "",
        f"left out: {', '.join(names[shown:])}" if names[shown:] else "",
    ]
    if any(notes):
        typer.echo(f"{'; '.join(filter(None, notes))} (all of it: {whole})")
