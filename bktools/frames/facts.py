"""The facts of an entry as texts, by which it is compared with what was exported of it."""

from __future__ import annotations

import polars as pl


def plain(amount: pl.Expr) -> pl.Expr:
    """Return amounts as text without trailing zeros, so that amounts of two scales are compared exactly."""
    text = amount.cast(pl.String)
    return (
        pl.when(text.str.contains(".", literal=True))
        .then(text.str.strip_chars_end("0").str.strip_chars_end("."))
        .otherwise(text)
    )


def compared(fact: str, column: pl.Expr) -> pl.Expr:
    """Return a fact of entries, such as "date" or "category", as it is compared; null where it is unknown."""
    if fact == "amount":
        return plain(column)
    if fact == "date":
        column = column.cast(pl.Date)
    text = column.cast(pl.String).str.strip_chars()
    return pl.when(text != "").then(text.str.to_lowercase() if fact.startswith("category") else text)
