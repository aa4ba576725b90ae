"""Rates of exchange: what one unit of each currency is worth in the company's own, by day or always."""

from __future__ import annotations

from functools import partial
from os import PathLike

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.assignment import ask_column, candidates
from bktools.inputs.headings import opened
from bktools.inputs.raw.source import Source
from bktools.inputs.reading import Reading, read_by_steps
from bktools.inputs.values.amounts import Figures
from bktools.inputs.values.money import read_date

_RATES = pa.schema([("date", schema.DATE), ("currency", schema.TEXT), ("rate", schema.MONEY)])


def read_rates(path: str | PathLike[str]) -> pd.DataFrame:
    """Return the rates of a file: `date`, null for rates of every day, `currency` and an exact `rate`.

    A file that leaves something open, such as the order of day and month, is a `QuestionError`; a cell that
    is no rate is an `InputError`.
    """
    begin = partial(opened, Source(path, "rates"))
    return read_by_steps(begin, [_find_columns, _read], {}, _RATES, money="decimal")


def _find_columns(reading: Reading) -> None:
    # A file may have no days, but none of an unknown heading is passed over.
    is_dated = reading.has("date") or bool(candidates(reading, "date"))
    for name in ("date", "currency", "rate") if is_dated else ("currency", "rate"):
        if not reading.has(name):
            ask_column(reading, name)


def _read(reading: Reading) -> None:
    reading.table = cells.without_blank_rows(reading.table, [*reading.places.values()])
    if reading.has("date") and not reading.blank("date").all():
        reading.refuse("date", reading.blank("date"), "empty_rate_day")
        read_date(reading)
    codes = cells.each(reading.column("currency"), _code, schema.TEXT)
    reading.refuse("currency", cells.mask(pc.is_null(codes)), "no_currency")
    figures = Figures.at(reading.table, reading.places["rate"])
    rates, bad = figures.values(figures.own_mark)
    is_above_zero = pc.greater(rates, pa.scalar(0, rates.type))
    reading.refuse("rate", bad | ~cells.mask(is_above_zero), "no_rate")
    reading.result |= {"currency": codes, "rate": rates}


def _code(text: str) -> str | None:
    codes = terms.currencies_of(text)
    return codes[0] if len(codes) == 1 else None
