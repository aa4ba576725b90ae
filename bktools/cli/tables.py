"""Frames on a screen: as many columns as fit, and a note of the others. A pipe gets the whole frame."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from bktools.cli.formats import is_number, texts_of, with_units
from bktools.consoles import laid_out, room
from bktools.wording import LANGUAGES, Words, words

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
    texts = words()
    if sys.stdout.isatty():
        if frame.empty:
            typer.echo(texts("command.none"))
        else:
            _show_fitted(frame, most, room(), whole)
    else:
        exact = with_units(frame)
        cells = [
            [_heading(texts, name), *texts_of(exact[name], "", texts.language)] for name in frame.columns
        ]
        typer.echo("\n".join("\t".join(row) for row in zip(*cells, strict=True)))


def _show_fitted(frame: pd.DataFrame, most: int, columns: int | None, whole: str) -> None:
    says = words()
    names = [_heading(says, name) for name in frame.columns]
    exact = with_units(frame.head(most))
    texts = [texts_of(exact[name], ",", says.language) for name in frame.columns]
    # A value without spaces is a word, a code or an ID to copy: it is shown whole or not at all.
    unbroken = [place for place, values in enumerate(texts) if not any(" " in text for text in values)]
    numbers = [place for place, name in enumerate(frame.columns) if is_number(frame[name])]
    rows = list(zip(*texts, strict=True))
    lines, shown = laid_out(rows, columns, headings=names, whole=unbroken, to_the_right=numbers)
    typer.echo("\n".join(lines))
    notes = [
        says("command.more_rows", count=len(frame) - most) if len(frame) > most else "",
        says("command.left_out", names=", ".join(names[shown:])) if names[shown:] else "",
    ]
    if any(notes):
        typer.echo(says("command.all_of_it", notes="; ".join(filter(None, notes)), way=whole))


def _heading(texts: Words, name: str) -> str:
    """Return the heading of a column: in English its own name, which programs know it by."""
    key = f"report.column.{name}"
    return texts(key) if texts.language != LANGUAGES[0] and texts.has(key) else name
