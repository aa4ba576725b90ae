"""Rates of exchange that a person gives: amounts of every currency in the company's own. None is guessed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools import disk
from bktools.currencies import MINOR_UNITS, USUAL
from bktools.errors import ArgumentError, InputError
from bktools.frames.delimited import csv_of
from bktools.frames.schema import DIGITS, TEXT
from bktools.frames.sums import HOME, has_no_rate, money_of
from bktools.frames.tables import amounts_of, days_and_amounts, days_of, text_of, with_column
from bktools.inputs.values.currencies import own_currency
from bktools.settings import Settings
from bktools.wording import Sentence
from bktools.wording.words import NO_CURRENCY

RATE_COLUMNS = ("date", "currency", "rate")
# The day of a rate that holds on every day.
ALWAYS = dt.date.min

c = pl.col

# A day, a currency, and its rate from this day on.
Row = tuple[dt.date, str, Decimal]


@dataclass(frozen=True)
class ExchangeRates:
    """What one unit of each currency is worth in the company's own: rows by currency, then by day.

    `own` is the company's own currency, None where `into` has not been asked yet.
    """

    rows: tuple[Row, ...]
    own: str | None = None

    def into(self, own: str | None, *tables: pa.Table) -> ExchangeRates:
        """Return the rates with the company's own currency.

        Where it is None, it is the currency of the tables that has no rate, or the one whose rate is 1.

        Raises
        ------
        InputError
            When several currencies have no rate.
        """
        texts = (text_of(rows, "currency").to_pylist() for rows in tables if "currency" in rows.column_names)
        return replace(self, own=own or self.own or _own({*chain(*texts)}, self.rows))

    @property
    def table(self) -> pa.Table:
        """The rates as a file of them has them."""
        days, currencies, rates = zip(*self.rows, strict=True)
        dated = pa.array([None if day == ALWAYS else day for day in days], pa.date32())
        return pa.table([dated, pa.array(currencies, TEXT), pa.array(rates)], RATE_COLUMNS)


def rates_of(rates: Any) -> ExchangeRates:
    """Return rates that were given as a mapping, or as a CSV or Excel file; `ExchangeRates` as they are.

    Raises
    ------
    ArgumentError
        When the argument is neither, or a rate is not a number above zero.
    InputError
        When the file cannot be read, or leaves something open, such as the column of the rates.
    """
    if isinstance(rates, ExchangeRates):
        return rates
    if isinstance(rates, Mapping):
        rows = [(ALWAYS, *_checked(currency, rate)) for currency, rate in rates.items()]
    elif isinstance(rates, str | Path):
        rows = _rows_of_file(rates)
    else:
        raise ArgumentError("rates", Sentence("rule.rates"), type(rates).__name__)
    rows = sorted({*rows}, key=lambda row: (row[1], row[0]))
    for (day, currency, _), later in pairwise(rows):
        if later[:2] == (day, currency):
            raise ArgumentError("rates", Sentence("rule.two_rates", currency=currency, day=day))
    return ExchangeRates(tuple(rows))


def in_own_currency(rows: pa.Table, rates: ExchangeRates, undated: dt.date | None = None) -> pa.Table:
    """Return rows `with_home`, whose amounts all have a rate.

    Raises
    ------
    InputError
        When the rate of an amount is missing.
    """
    rows = with_home(rows, rates, undated)
    without_rate = pc.and_(pc.is_null(rows[HOME]), pc.is_valid(amounts_of(rows)))
    for place in pc.indices_nonzero(without_rate).to_pylist()[:1]:
        currency, day = text_of(rows, "currency")[place].as_py(), days_of(rows)[place].as_py() or undated
        if currency is None:
            raise InputError(Sentence("error.no_currency_for_rate"))
        code = "no_rate" if day else "no_rate_without_date"
        raise InputError(Sentence(f"error.{code}", currency=currency, day=day))
    return rows


def with_home(rows: pa.Table, rates: ExchangeRates | None, undated: dt.date | None = None) -> pa.Table:
    """Return rows with `home_amount`, each amount in the company's own currency, and `home_currency`.

    Each amount is rounded to the currency's units, and null where amount or rate are missing. An amount
    without a day has the rate of the day `undated`. Without rates the rows stay.
    """
    if rates is None:
        return rows
    own = str(rates.own)
    units = MINOR_UNITS.get(own, USUAL)
    others = [(ALWAYS, own, Decimal(1)), *(row for row in rates.rows if row[1] != own)]
    known = pl.DataFrame(others, ["day", "currency", "rate"], orient="row").sort("day")
    entries = days_and_amounts(rows, ("currency",)).with_columns(c.day.fill_null(undated or ALWAYS))
    # With the decimals of both the product is exact.
    scales = [kind.scale for kind in (entries.schema["amount"], known.schema["rate"])]  # type: ignore[attr-defined]
    exact = pl.Decimal(DIGITS, sum(scales))
    product = (c.amount.cast(exact) * c.rate.cast(exact)).round(units, mode="half_away_from_zero")
    home = (
        entries.with_row_index("row")
        .sort("day")
        .join_asof(known, on="day", by="currency", check_sortedness=False)
        .sort("row")
        .select(product.cast(pl.Decimal(DIGITS, units)))
    )
    currencies = pa.repeat(pa.scalar(own, TEXT), len(rows))
    return with_column(with_column(rows, HOME, home.to_series().to_arrow()), "home_currency", currencies)


def is_converted(rows: pa.Table) -> bool:
    """Whether each amount that can have a rate has one in the company's own currency, too."""
    return HOME in rows.column_names and not amounts_without_rate(rows.filter(pc.invert(has_no_rate(rows))))


def amounts_without_rate(rows: pa.Table) -> dict[str, Decimal | None]:
    """Return the sums by currency of amounts that rates were given for and that have none."""
    if HOME not in rows.column_names:
        return {}
    is_left = pc.and_(pc.is_null(rows[HOME]), pc.is_valid(rows["amount"]))
    return {currency: money.amount for currency, money in money_of(rows.filter(is_left)).items()}


def in_home(rows: pa.Table) -> pa.Table:
    """Return rows `with_home`, with these amounts and their currency in place of those that were paid."""
    rows = with_column(with_column(rows, "amount", rows[HOME]), "currency", rows["home_currency"])
    return rows.drop_columns([HOME, "home_currency"])


def keep_rates(rates: ExchangeRates, settings: Settings, company: str, month: str) -> Path:
    """Keep the rates of a company's month, for the next close of it."""
    path = _path_of(settings, company, month)
    with disk.storage_errors(path):
        disk.private_folder(path.parent)
    return disk.write_whole(path, csv_of(rates.table, "machine"))


def kept_rates(settings: Settings, company: str, month: str) -> ExchangeRates | None:
    """Return the rates that were kept for a company's month, None where there are none."""
    path = _path_of(settings, company, month)
    return rates_of(path) if path.is_file() else None


def _path_of(settings: Settings, company: str, month: str) -> Path:
    return settings.state_dir / "rates" / f"{company}-{month}.csv"


def _own(currencies: set[str | None], rates: Sequence[Row]) -> str:
    """Return the company's own currency: the one without a rate, else the one whose rate is always 1.

    Where several have no rate, it is the configured one, if that is one of them.
    """
    with_rate = {currency for _, currency, _ in rates}
    without = sorted({currency or NO_CURRENCY for currency in currencies} - with_rate)
    if len(without) > 1 and (configured := own_currency()) in without:
        return str(configured)
    if len(without) > 1:
        raise InputError(Sentence("error.no_rates", currencies=", ".join(without)))
    own = without or [*(with_rate - {currency for _, currency, rate in rates if rate != 1})]
    if len(own) != 1:
        raise InputError(Sentence("error.no_own_rate"))
    return own[0]


def _rows_of_file(path: str | Path) -> list[Row]:
    # Amounts of a frame need no reader of files.
    from bktools.inputs.readers.rates import read_rates

    rates = read_rates(path)
    days = rates["date"] if "date" in rates else [None] * len(rates)
    return [
        (ALWAYS if pd.isna(day) else day.date(), currency, rate)
        for day, currency, rate in zip(days, rates["currency"], rates["rate"], strict=True)
    ]


def _checked(currency: object, written: object) -> tuple[str, Decimal]:
    """Return a currency and its rate as they are used; refuse others."""
    try:
        rate = Decimal(str(written))
    except InvalidOperation:
        rate = Decimal(0)
    if not isinstance(currency, str) or not rate.is_finite() or rate <= 0:
        raise ArgumentError("rates", Sentence("rule.rate_number"), f"{currency}, {written}")
    return currency.strip().upper(), rate
