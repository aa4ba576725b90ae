"""What the formats that are reports share: their headings, their rows, and the amount of a row."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal

from bktools.inputs.amounts import EACH, money, number
from bktools.inputs.table import Grid
from bktools.inputs.words import normal

# The lines of a report's title.
_HEAD = 20
_CODE = re.compile(r"(\d[\d.\-]*)\s*[·:-]?\s+(.+)")


def columns_named(
    grid: Grid, named: Mapping[str, Sequence[str]], needed: Collection[str], never: Collection[str] = ()
) -> tuple[int, dict[str, int]] | None:
    """Return the row with the needed headings and the column of each name, None where no row has them."""
    for top, row in enumerate(grid.head[:_HEAD]):
        own = [normal(cell) for cell in row]
        # The first of a name's headings that the row has.
        places = {
            name: own.index(text) for name, texts in named.items() for text in texts[::-1] if text in own
        }
        if {*needed} <= places.keys() and not {*never} & {*own}:
            return top, places
    return None


def rows_of(grid: Grid, first: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the cells of each row from a place of the head on, all of one width."""
    columns = [column.slice(first).to_pylist() for column in grid.columns]
    for line, *texts in zip(grid.lines[first:].tolist(), *columns, strict=True):
        yield line, [text.strip() for text in texts]


def amount_of(texts: Sequence[str], places: Mapping[str, int]) -> Decimal | None:
    """Return the amount of a row, debit less credit where it has two columns; None without any."""
    pair = [("debit", 1), ("credit", -1)] if {"debit", "credit"} <= places.keys() else [("amount", 1)]
    amounts = [
        sign * value
        for name, sign in pair
        if (cell := money(texts[places[name]])) and cell.digits and (value := number(cell, EACH)) is not None
    ]
    return sum(amounts, Decimal()) if amounts else None


def account_parts(text: str) -> tuple[str, str]:
    """Return code and name of an account, such as 1010 Checking; without a code the name stands for it."""
    parts = _CODE.fullmatch(text)
    return (parts[1], parts[2]) if parts else (text, text)
