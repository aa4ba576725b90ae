"""Money at the edge of pandas: decimals inside, float64 in a frame; each float is the decimal that was read.

A float64 keeps 15 digits, so the shortest text of a float is the decimal that it was made of. An amount that
comes back is the nearest whole number of its currency's units (such as cents) when it is less than a
millionth of a unit off, so that 0.1 + 0.2 is 0.30. Any other amount keeps its digits, and has too many
decimals.
"""

from __future__ import annotations

from collections.abc import Collection
from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.currencies import MINOR_UNITS, USUAL
from bktools.errors import ArgumentError, InputError
from bktools.wording import Sentence

# The digits that a float64 keeps, and the digits of Arrow's decimals.
FLOAT_DIGITS, DIGITS = 15, 38
# The part of a unit that sums of floats may be off, and decimals beyond the unit read of other amounts.
TOLERANCE, BEYOND = 1e-6, 6
# No amount is as large.
LARGEST = 10.0**27
# Forms of amounts that a reader makes.
FORMS = ("float", "decimal")

_TEXT = pa.large_string()
# No decimal of Arrow has more digits.
_WIDE = Context(prec=76)
_FINEST = max(MINOR_UNITS.values())
_POWERS = 10.0 ** np.arange(_FINEST + 1)
# The value of the smallest coin, by its decimals.
_COINS = pa.array([Decimal(1).scaleb(-places) for places in range(_FINEST + 1)], pa.decimal128(5, _FINEST))
# Columns of money whose name does not say "amount".
_NAMES = {
    *("this", "that", "difference", "current", "available"),
    *("exported", "of_other_months", "foreign", "ledger", "on_other_accounts", "not_from_export"),
}


def check_form(money: str) -> None:
    """Refuse a form of amounts that is none of FORMS."""
    if money not in FORMS:
        raise ArgumentError("money", Sentence("rule.one_of", choices=", ".join(FORMS)), money)


def is_money(name: str) -> bool:
    """Whether floats of a column with this name are amounts."""
    return "amount" in name or name in _NAMES


def currency_column(name: str, columns: Collection[str]) -> str | None:
    """Return the column with the currencies of a column of amounts; None where there is none."""
    own = name.replace("amount", "currency")
    return next((column for column in (own, "currency") if column != name and column in columns), None)


def units_of(currencies: pa.ChunkedArray | None, rows: int) -> npt.NDArray[np.int64]:
    """Return the number of decimals of each row's currency, the usual two where it is unknown."""
    try:
        texts = pa.nulls(rows, _TEXT) if currencies is None else pc.cast(currencies, _TEXT)
    except pa.ArrowException:  # no text, which the function that needs currencies refuses
        texts = pa.nulls(rows, _TEXT)
    codes = pa.chunked_array([texts] if isinstance(texts, pa.Array) else texts.chunks, _TEXT).combine_chunks()
    codes = codes.dictionary_encode("encode")
    units = [MINOR_UNITS.get(str(code).upper(), USUAL) for code in codes.dictionary.to_pylist()]
    of_rows: npt.NDArray[np.int64] = np.array(units, np.int64)[codes.indices.to_numpy()]
    return of_rows


def floats(amounts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return decimals as float64, each exactly its decimal; None where one has more than 15 digits."""
    if not _are_short(amounts):
        # By their text: Arrow's own cast of a decimal is not always the nearest float.
        return None if longest(amounts) is not None else pc.cast(pc.cast(amounts, pa.string()), pa.float64())
    # Polars divides two whole numbers that floats keep, so the quotient is the nearest float.
    exact = pl.Series(pc.cast(amounts, pa.decimal128(DIGITS, amounts.type.scale)))
    return pa.chunked_array([exact.cast(pl.Float64).to_arrow()], pa.float64())


def longest(amounts: pa.ChunkedArray) -> Decimal | None:
    """Return the first amount with more digits than a float64 keeps, None without one."""
    if _are_short(amounts):
        return None
    known = (amount for amount in amounts.to_pylist() if amount is not None)
    return next((amount for amount in known if digits(amount) > FLOAT_DIGITS or abs(amount) >= LARGEST), None)


def decimals(
    amounts: pa.ChunkedArray, currencies: pa.ChunkedArray | None, name: str = "amount"
) -> pa.ChunkedArray:
    """Return floats as decimals by the digits of their currencies; the scale is that of the finest amount.

    Raises
    ------
    InputError
        When a number is infinite, or has more than 15 digits, which a float does not keep.
    """
    if amounts.type != pa.float64():
        # The digits of a smaller float are those of its own text.
        amounts = pc.cast(pc.cast(amounts, pa.float32()), pa.string()).cast(pa.float64())
    values = np.asarray(pc.fill_null(amounts, np.nan).to_numpy())
    units = units_of(currencies, len(values))
    powers = np.take(_POWERS, units)
    with np.errstate(invalid="ignore", over="ignore"):
        whole = np.rint(values * powers)
        # Whole numbers of this size are exact, so the quotient is the float nearest to the decimal.
        is_small = np.abs(whole) < 10.0**FLOAT_DIGITS
        is_whole = is_small & (np.abs(values - whole / powers) < TOLERANCE / powers)
    is_odd = ~is_whole & ~np.isnan(values)
    for value in values[~is_small & ~np.isnan(values)].tolist():
        if abs(value) >= LARGEST or digits(Decimal(repr(value))) > FLOAT_DIGITS:
            facts = {"name": name, "value": repr(value), "most": FLOAT_DIGITS}
            raise InputError(Sentence("error.digits_of_float", **facts))
    odd = [
        _WIDE.normalize(_WIDE.quantize(Decimal(repr(value)), Decimal(1).scaleb(-int(places) - BEYOND)))
        for value, places in zip(values[is_odd].tolist(), units[is_odd], strict=True)
    ]
    used = np.unique(units[is_whole]).tolist() or ([] if odd else [USUAL])
    scale = max([*used, *(-int(value.as_tuple().exponent) for value in odd)])
    coins = pa.array(np.where(is_whole, whole, 0).astype(np.int64), mask=~is_whole).cast(pa.decimal128(19, 0))
    exact = pc.multiply(coins, _COINS.take(pa.array(units))).cast(pa.decimal128(DIGITS, scale))
    if odd:
        exact = pc.replace_with_mask(exact, pa.array(is_odd), pa.array(odd, exact.type))
    return pa.chunked_array([exact])


def with_decimals(table: pa.Table) -> pa.Table:
    """Return a table whose amounts are decimals; columns that are no money stay."""
    for place, field in enumerate(table.schema):
        if pa.types.is_floating(field.type) and is_money(field.name):
            currency = currency_column(field.name, table.column_names)
            exact = decimals(
                table.column(place), None if currency is None else table.column(currency), field.name
            )
            table = table.set_column(place, field.name, exact)
    return table


def _are_short(amounts: pa.ChunkedArray) -> bool:
    """Whether all amounts have at most 15 digits, zeros at their end included."""
    ends = pc.min_max(amounts).as_py()
    limit = Decimal(10) ** (FLOAT_DIGITS - amounts.type.scale)
    return ends["max"] is None or bool(max(abs(ends["min"]), abs(ends["max"])) < limit)


def digits(amount: Decimal) -> int:
    """Return how many digits an amount has, without zeros at its ends."""
    return len(_WIDE.normalize(amount).as_tuple().digits)
