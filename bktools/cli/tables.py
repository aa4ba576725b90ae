"""Frames in a terminal: as wide as it is, with what was cut said."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    import pandas as pd


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def counts(values: pd.Series) -> str:
    """Return how often each value occurs, the most frequent first; empty where there is none."""
    return ", ".join(f"{count} {value}" for value, count in values.value_counts().items())


def show(frame: pd.DataFrame, *, most: int = 50) -> None:
    """Print a frame as a table."""
    if frame.empty:
        typer.echo("none")
        return
    width = shutil.get_terminal_size((120, 24)).columns
    typer.echo(frame.head(most).to_string(index=False, na_rep="", line_width=width, max_colwidth=60))
    if len(frame) > most:
        typer.echo(f"… and {len(frame) - most} more rows")
