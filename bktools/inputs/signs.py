"""Columns beside an amount that give it its sign: one that says debit or credit, or one amount for each."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.inputs import amounts, cells, sides
from bktools.inputs.columns import leave_out, normal
from bktools.inputs.problems import kept
from bktools.inputs.table import Table

# Headings of bank statements: there a debit is money that leaves the account.
_OF_A_BANK = frozenset(
    {"creditdebet", "afbij", "debetcredit", "creditdebit", "transactiontype", "creditdebitindicator"}
)


def signed_amounts(
    table: Table, places: Mapping[str, int], decimal: str | None, notes: list[str], problems: list[InputError]
) -> pa.ChunkedArray | None:
    """Return the amounts with their sign, None where the file has none.

    Parameters
    ----------
    table : Table
        The file.
    places : mapping
        Field to column: `amount` and perhaps `sign`, or `debit` and `credit`.
    decimal : str, optional
        The decimal mark.
    notes : list of str
        Gets a line that says which way the sign goes.
    problems : list of InputError
        Gets what is wrong with one column where another one is read as well.

    Raises
    ------
    InputError
        When a cell is no amount or says neither side, a row has both a debit and a credit, or the signs contradict each other.
    """
    if "amount" in places:
        found = amounts.amounts(table, places["amount"], decimal)
        return _by_word(table, places, found, notes) if "sign" in places else found
    if "debit" in places and "credit" in places:
        return _by_column(table, places, decimal, notes, problems)
    return None


def _by_word(table: Table, places: Mapping[str, int], found: pa.ChunkedArray, notes: list[str]) -> pa.ChunkedArray:
    place = places["sign"]
    heading = table.headings[place]
    way_out = f" (or leave it out: {leave_out('sign')})"
    debits = sides.debits(table, place, sides.ENTRIES, way_out)
    unsaid = cells.mask(pc.and_(pc.is_null(debits), pc.is_valid(found)))
    cells.refuse(table, place, unsaid, f"must say debit or credit beside an amount{way_out}")
    is_debit = cells.mask(pc.fill_null(debits, fill_value=False))
    is_bank = normal(heading) in _OF_A_BANK
    is_negative = cells.mask(pc.less(found, pa.scalar(0, found.type)))
    if is_negative.any():
        if not ((is_negative == is_debit).all() or (is_negative == ~is_debit).all()):
            first = int(is_negative.argmax())
            raise InputError(
                f"{heading!r} says debit or credit, and amounts have signs of their own, which do not agree: keep the signs"
                f" as they are with {leave_out('sign')}",
                source=table.source,
                line=int(table.lines[first]),
            )
        notes.append(f"amounts have the sign that {heading!r} says already")
        return found
    turned = is_debit if is_bank else ~is_debit
    way = "money out (debit) is negative, as on a bank statement" if is_bank else "debit is positive, credit negative"
    notes.append(f"{heading!r} gives amounts their sign: {way}")
    return pc.if_else(pa.array(turned), pc.negate(found), found)


def _by_column(
    table: Table, places: Mapping[str, int], decimal: str | None, notes: list[str], problems: list[InputError]
) -> pa.ChunkedArray | None:
    found: list[pa.ChunkedArray] = []
    for field in ("debit", "credit"):
        with kept(problems):
            found.append(amounts.amounts(table, places[field], decimal))
    if len(found) < len(("debit", "credit")):
        return None
    debit, credit = found
    scale = max(debit.type.scale, credit.type.scale)
    kind = pa.decimal128(amounts.LONGEST, scale)
    debit, credit = debit.cast(kind), credit.cast(kind)
    zero = pa.scalar(0, kind)
    both = cells.mask(
        pc.and_(pc.not_equal(pc.fill_null(debit, zero), zero), pc.not_equal(pc.fill_null(credit, zero), zero))
    )
    cells.refuse(table, places["debit"], both, f"and {table.headings[places['credit']]!r} must not both hold an amount")
    notes.append(
        f"one amount of {table.headings[places['debit']]!r} (positive) and {table.headings[places['credit']]!r} (negative)"
    )
    is_credit = pc.or_(pc.is_null(debit), pc.and_(pc.equal(pc.fill_null(debit, zero), zero), pc.is_valid(credit)))
    return pc.if_else(is_credit, pc.negate(credit), debit)
