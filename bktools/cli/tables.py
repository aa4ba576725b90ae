"""Frames on a screen: as many columns as fit, and a note of the others. A pipe gets the whole frame."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import typer

from bktools.progress import note
from bktools.wording import LANGUAGES, Words, words
from bktools.wording.numbers import number

if TYPE_CHECKING:
    import pandas as pd


def counts(values: Iterable[str]) -> str:
    """Return the count of each value, the most frequent first; empty without values."""
    language = words().language
    return ", ".join(f"{number(count, language)} {value}" for value, count in Counter(values).most_common())


def in_order(frame: pd.DataFrame, column: str, values: Iterable[str]) -> pd.DataFrame:
    """Return the rows in the order of a column's values; others last."""
    ranks = {value: rank for rank, value in enumerate(values)}
    return frame.sort_values(
        column, key=lambda cells: cells.map(ranks).fillna(len(ranks)), kind="stable", ignore_index=True
    )


def show(
    frame: pd.DataFrame,
    *,
    most: int = 50,
    whole: str = "| cat",
    titles: Mapping[str, str] | None = None,
) -> None:
    """Print a frame: on a terminal what fits, elsewhere every row and column, separated by tabs.

    `whole` is what to add to the command so that it shows everything, for the note; `titles` are headings by
    the names of columns.
    """
    from bktools.frames.incoming import in_memory
    from bktools.widgets.show import Shown, in_a_pipe

    texts, table = words(), in_memory(frame)
    names = table.column_names
    headings = {name: _heading(texts, name) for name in names} | {**(titles or {})}
    shown = Shown(names, table.slice(0, most), most, len(table), whole=whole, titles=headings)
    if sys.stdout.isatty():
        typer.echo(shown)
    else:
        lines = [[headings[name] for name in names], *in_a_pipe(table)]
        typer.echo("\n".join("\t".join(line) for line in lines))
        if shown.no_percent:
            note(shown.no_percent)


def _heading(texts: Words, name: str) -> str:
    """Return the heading of a column: in English its own name, which programs know it by."""
    key = f"report.column.{name}"
    return texts(key) if texts.language != LANGUAGES[0] and texts.has(key) else name
