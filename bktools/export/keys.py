"""How frames are joined: by texts in lower case, with each key once."""

from __future__ import annotations

import polars as pl

c = pl.col


def lower(name: str) -> pl.Expr:
    """Return a column of texts in lower case."""
    return c(name).str.to_lowercase()


def joined(rows: pl.DataFrame, other: pl.DataFrame, on: str | list[str]) -> pl.DataFrame:
    """Return rows with the columns of another frame that has each key once."""
    return rows.join(other, on=on, how="left", maintain_order="left", validate="m:1")
