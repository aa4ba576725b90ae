"""Amounts with their sign, debit positive: from a word beside each, or from columns of debit and credit."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from bktools.inputs import amounts, cells, sides, words
from bktools.inputs.cells import leave_out, option, question
from bktools.inputs.columns import Reading
from bktools.inputs.words import normal

_MANY = 0.2
MONEY = ("amount", "debit", "credit")


def read_columns(
    reading: Reading, read: Callable[..., pa.ChunkedArray], decimal: str | None
) -> dict[str, pa.ChunkedArray]:
    """Return the columns of amounts as a function reads them; none where one of them cannot be read."""
    for field in MONEY:
        reading.read(field, read, decimal)
    are_read = all(field in reading.result for field in MONEY if field in reading.places)
    return {field: reading.result[field] for field in MONEY if field in reading.places and are_read}


def by_word(reading: Reading, amount: pa.ChunkedArray, side: str) -> pa.ChunkedArray:
    """Return amounts with the sign that a word beside them says; a note tells which way the sign goes.

    The field of the word is `sign` of entries, `side` of a ledger. A cell that says neither side is an
    `InputError`, and so are words and signs that contradict each other.
    """
    table, heading = reading.table, reading.heading(side)
    is_entry, is_settled = side == "sign", side in reading.chosen
    way_out = f" (or leave it out: {leave_out(side)})" if is_entry else ""
    is_debit_or_null = sides.debits(table, reading.places[side], of_money=is_entry, way_out=way_out)
    unsaid = cells.mask(pc.and_(pc.is_null(is_debit_or_null), pc.is_valid(amount)))
    reading.refuse(side, unsaid, f"must say debit or credit beside an amount{way_out}")
    is_debit, zero = cells.mask(is_debit_or_null), pa.scalar(0, amount.type)
    is_negative, is_zero = cells.mask(pc.less(amount, zero)), cells.mask(pc.equal(amount, zero), null=True)
    wrong = ~is_zero & (is_negative == is_debit)
    # A few negative amounts are reversals; many have a sign that the word does not say.
    keep_signs = bool(is_negative.any() and wrong.mean() > _MANY)
    is_opposite = bool((is_zero | wrong).all() and is_negative.any() and not is_negative.all())
    if is_entry and not is_settled and is_opposite:
        # As in a bank's own books: negative is what goes out, which the word says, too.
        reading.notes.append(
            f"amounts are turned: {heading!r} says that negative ones are debits, which are spending"
        )
        return pc.negate(amount)
    if is_entry and not is_settled and normal(heading) in words.headings("of_a_bank"):
        raise question(
            table,
            f"{heading!r} is a column of bank statements, where a debit is money that leaves the account "
            "and is read as positive",
            {side: "" if keep_signs else heading},
        )
    if is_negative.any():
        if not wrong.any():
            reading.notes.append(f"amounts have the sign that {heading!r} says already")
            return amount
        disagree = (
            f"{heading!r} says debit or credit, and amounts have signs of their own, which do not agree"
        )
        line = int(table.lines[wrong][0])
        if (is_zero | wrong).all():
            # Money that goes out is negative there, as in a bank's own books.
            spending = "negative" if is_entry else None
            raise table.error(f"{disagree} in any row", line, columns={side: ""}, spending=spending)
        if not is_settled:
            words_or_signs = [option(side, heading), leave_out(side)]
            raise question(
                table,
                f"{disagree} ({cells.lines_of(table, wrong)}); negative amounts may be reversals",
                {side: "" if keep_signs else heading},
                line,
                details=[
                    f"Or take the sign of the words: {words_or_signs[0]}"
                    if keep_signs
                    else f"Or keep the signs as they are: {words_or_signs[1]}"
                ],
            )
        reading.notes.append(f"negative amounts read as reversals of the side that {heading!r} says")
    # A format says it itself.
    if side not in table.places:
        reading.notes.append(f"{heading!r} gives amounts their sign: debit is positive, credit negative")
    return pc.if_else(pa.array(is_debit), amount, pc.negate(amount))


def of_pair(
    reading: Reading, debit: pa.ChunkedArray, credit: pa.ChunkedArray, *, least_negative: int = 1
) -> pa.ChunkedArray:
    """Return debits less credits, null where both are empty; refuse a column where all get one sign.

    Where one of the columns is negative, in so many rows at least, and most of the other is positive, the
    sign only says the side once more.
    """
    debit, credit = _without_signs_of_sides(reading, debit, credit, least_negative)
    scale = max(debit.type.scale, credit.type.scale)
    # Wide enough for a difference of the largest amounts.
    wide_kind = pa.decimal256(amounts.LONGEST + 2, scale)
    wide = [pc.fill_null(side, 0).cast(wide_kind) for side in (debit, credit)]
    neither = pc.and_(pc.is_null(debit), pc.is_null(credit))
    kind = pa.decimal128(amounts.LONGEST, scale)
    result = pc.if_else(neither, pa.scalar(None, kind), pc.subtract(*wide).cast(kind))
    has_both = all(are_not_zero(side).any() for side in (debit, credit))
    if has_both and sides.is_one_sided(result):
        raise reading.table.error(
            f"{reading.heading('debit')!r} and {reading.heading('credit')!r} have signs of their own, "
            "with which all amounts are on one side: write both columns without signs, "
            f"or name one column of signed amounts with {option('amount')}"
        )
    return result


def _without_signs_of_sides(
    reading: Reading, debit: pa.ChunkedArray, credit: pa.ChunkedArray, least_negative: int
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    sides_of = {"debit": debit, "credit": credit}
    negative = {
        field: int(pc.sum(pc.less(side, pa.scalar(0, side.type))).as_py() or 0)
        for field, side in sides_of.items()
    }
    filled = {field: int(are_not_zero(side).sum()) for field, side in sides_of.items()}
    for field, other in (("debit", "credit"), ("credit", "debit")):
        is_negative = negative[field] == filled[field] >= least_negative
        if is_negative and filled[other] > 2 * negative[other]:
            reading.notes.append(
                f"{reading.heading(field)!r} has negative amounts: their sign only says the side"
            )
            sides_of[field] = pc.negate(sides_of[field])
    return sides_of["debit"], sides_of["credit"]


def are_not_zero(amount: pa.ChunkedArray) -> cells.Mask:
    """Return where an amount is neither empty nor zero."""
    return cells.mask(pc.not_equal(amount, pa.scalar(0, amount.type)))


def agree(signed_amount: pa.ChunkedArray, amount: pa.ChunkedArray) -> bool:
    """Whether two columns say the same amounts, whatever signs the second one has."""
    kind = pa.decimal256(2 * amounts.LONGEST, max(signed_amount.type.scale, amount.type.scale))
    left, right = (pc.abs(pc.fill_null(side, 0).cast(kind)) for side in (signed_amount, amount))
    return bool(pc.all(pc.equal(left, right)).as_py())
