"""Debit or credit: by a word beside an amount, or by a column for each; amounts with their sign, debit positive."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import permutations
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs import amounts, cells, words
from bktools.inputs.cells import leave_out, option, question
from bktools.inputs.table import Table
from bktools.inputs.words import normal

_HALF = 0.5


class Sides(NamedTuple):
    """Words for debit and for credit, as `normal` makes them."""

    debit: frozenset[str]
    credit: frozenset[str]

    @property
    def words(self) -> frozenset[str]:
        """Of either side."""
        return self.debit | self.credit


@cache
def _conventions(of_money: bool) -> Sequence[tuple[frozenset[str], Sides]]:  # noqa: FBT001 - a key of the cache
    """Return the ways to read short words, each with the headings that name it, such as D/C."""
    debit = words.values("debit") | (words.values("money_out") if of_money else frozenset())
    credit = words.values("credit") | (words.values("money_in") if of_money else frozenset())
    return [
        (frozenset(map("".join, permutations(pair))), Sides(debit | {pair[0]}, (credit - {pair[0]}) | {pair[1]}))
        for pair in (*words.pairs("letters"), *words.pairs("asked"))
    ]


def debits(table: Table, place: int, *, of_money: bool, way_out: str = "") -> pa.ChunkedArray:
    """Return true for debit and false for credit, null where a cell is empty.

    Parameters
    ----------
    table : Table
        The file.
    place : int
        The column. It is read by the pair that its heading names, such as MD/D, else by the first one that has the most
        of its words.
    of_money : bool
        Whether words for money that goes out and comes in are sides, too.
    way_out : str
        For errors: what else the user can do.

    Raises
    ------
    InputError
        When a cell says neither.
    """
    column = cells.or_null(cells.trimmed(table.columns[place]))
    best = _convention(table, place, of_money)
    meant = dict.fromkeys(best.credit, False) | dict.fromkeys(best.debit, True)
    result = words.in_column(column, meant, schema.FLAG)
    neither = cells.mask(pc.and_(pc.is_null(result), pc.is_valid(column)))
    cells.refuse(table, place, neither, f"must say debit or credit, such as D and C, S and H{way_out}")
    return result


def say_sides(table: Table, place: int, *, of_money: bool = True) -> bool:
    """Whether a column whose heading may say anything, such as Type, says debit or credit in each of its cells.

    One letter alone could be short for anything, such as C for card: letters count where both sides are there.
    """
    texts, best = _texts(table, place), _convention(table, place, of_money)
    is_clear = bool(texts & best.debit and texts & best.credit) or all(len(text) > 1 for text in texts)
    is_asked = texts in [{*pair} for pair in words.pairs("asked")]
    return bool(texts) and texts <= best.words and is_clear and not is_asked


def mention_both(table: Table, place: int, *, of_money: bool) -> bool:
    """Whether a column has words for debit and words for credit, in at least half of its cells."""
    best = _convention(table, place, of_money)
    texts = _texts(table, place)
    telling = texts if texts <= best.words else {text for text in texts if len(text) > 1}
    if not (telling & best.debit and telling & best.credit):
        return False
    filled = ~cells.blank(table.columns[place])
    return bool(cells.mask(words.are(table.columns[place], best.words))[filled].mean() >= _HALF)


def _texts(table: Table, place: int) -> set[str]:
    return {normal(text) for text in pc.unique(table.columns[place]).to_pylist()} - {""}


def _flags(heading: str, of_money: bool) -> list[Sides]:  # noqa: FBT001 - as above
    """Return what yes and no say under a heading that names one side alone, such as Expense? or is_credit."""
    yes, no = words.values("yes"), words.values("no")
    both = _conventions(of_money)[0][1]
    is_debit, is_credit = (
        words.are_inside(heading, frozenset(word for word in side if len(word) > 1)) for side in both
    )
    return [Sides(yes, no) if is_debit else Sides(no, yes)] if is_debit != is_credit else []


def _convention(table: Table, place: int, of_money: bool) -> Sides:  # noqa: FBT001 - as above
    texts, heading = _texts(table, place), normal(table.headings[place])
    by_heading = [pair for headings, pair in _conventions(of_money) if heading in headings]
    by_heading += _flags(table.headings[place], of_money)
    conventions = [*by_heading, *(pair for _, pair in _conventions(of_money))]
    return max(conventions, key=lambda pair: len(texts & pair.words))


def signed(
    table: Table,
    places: Mapping[str, int],
    amount: pa.ChunkedArray,
    notes: list[str],
    *,
    side: str,
    chosen: Collection[str],
) -> pa.ChunkedArray:
    """Return amounts with the sign that a word beside them says, debit positive.

    Parameters
    ----------
    table : Table
        The file.
    places : mapping
        Field to column.
    amount : pyarrow.ChunkedArray
        The amounts as they are written.
    notes : list of str
        Gets a line that says which way the sign goes.
    side : str
        The field of the word: `sign` of entries, `side` of a ledger.
    chosen : collection of str
        Fields that the caller named.

    Raises
    ------
    InputError
        When a cell says neither side, or words and signs contradict each other.
    """
    place = places[side]
    heading = table.headings[place]
    is_entry = side == "sign"
    if is_entry and side not in chosen and normal(heading) in words.headings("of_a_bank"):
        raise question(
            f"{heading!r} is a column of bank statements, where a debit is money that leaves the account; entries are those"
            " of the service, of cards and expenses. To read debits as positive, name the column",
            table.source,
            {side: heading},
        )
    way_out = f" (or leave it out: {leave_out(side)})" if is_entry else ""
    is_debit_or_null = debits(table, place, of_money=is_entry, way_out=way_out)
    unsaid = cells.mask(pc.and_(pc.is_null(is_debit_or_null), pc.is_valid(amount)))
    cells.refuse(table, place, unsaid, f"must say debit or credit beside an amount{way_out}")
    is_debit = cells.mask(pc.fill_null(is_debit_or_null, fill_value=False))
    zero = pa.scalar(0, amount.type)
    is_negative, is_zero = cells.mask(pc.less(amount, zero)), cells.mask(pc.equal(amount, zero), null=True)
    if is_negative.any():
        if (is_zero | (is_negative == ~is_debit)).all():
            notes.append(f"amounts have the sign that {heading!r} says already")
            return amount
        wrong = ~is_zero & (is_negative == is_debit)
        line = int(table.lines[wrong][0])
        disagree = f"{heading!r} says debit or credit, and amounts have signs of their own, which do not agree"
        if (is_zero | wrong).all():
            raise question(f"{disagree} in any row: keep the signs as they are with", table.source, {side: ""}, line)
        if side not in chosen:
            raise question(
                f"{disagree} ({cells.lines_of(table, wrong)}): keep the signs as they are with {leave_out(side)}, or read"
                " negative amounts as reversals with",
                table.source,
                {side: heading},
                line,
            )
        notes.append(f"negative amounts read as reversals of the side that {heading!r} says")
    notes.append(f"{heading!r} gives amounts their sign: debit is positive, credit negative")
    return pc.if_else(pa.array(is_debit), amount, pc.negate(amount))


def of_pair(
    table: Table, places: Mapping[str, int], debit: pa.ChunkedArray, credit: pa.ChunkedArray
) -> pa.ChunkedArray:
    """Return debits less credits; null where both are empty.

    Raises
    ------
    InputError
        When both columns have amounts and all of them come out with one sign.
    """
    scale = max(debit.type.scale, credit.type.scale)
    # Wide enough for a difference of the largest amounts.
    wide_kind = pa.decimal256(amounts.LONGEST + 2, scale)
    wide = [pc.fill_null(side, 0).cast(wide_kind) for side in (debit, credit)]
    neither = pc.and_(pc.is_null(debit), pc.is_null(credit))
    kind = pa.decimal128(amounts.LONGEST, scale)
    result = pc.if_else(neither, pa.scalar(None, kind), pc.subtract(*wide).cast(kind))
    has_both = all(pc.any(pc.not_equal(side, pa.scalar(0, wide_kind))).as_py() for side in wide)
    if has_both and is_one_sided(result):
        both = " and ".join(repr(table.headings[places[field]]) for field in ("debit", "credit"))
        raise InputError(
            f"{both} have signs of their own, with which all amounts are on one side: write both columns without signs, or"
            f" name one column of signed amounts with {option('amount')}",
            source=table.source,
        )
    return result


def is_one_sided(amount: pa.ChunkedArray) -> bool:
    """Whether at least two amounts are there and all of them have one sign."""
    values = pc.drop_null(amount)
    zero = pa.scalar(0, amount.type)
    positive, negative = (int(pc.sum(side).as_py() or 0) for side in (pc.greater(values, zero), pc.less(values, zero)))
    return min(positive, negative) == 0 and max(positive, negative) > 1


def agree(signed_amount: pa.ChunkedArray, amount: pa.ChunkedArray) -> bool:
    """Whether two columns say the same amounts, whatever signs the second one has."""
    kind = pa.decimal256(2 * amounts.LONGEST, max(signed_amount.type.scale, amount.type.scale))
    left, right = (pc.abs(pc.fill_null(side, 0).cast(kind)) for side in (signed_amount, amount))
    return bool(pc.all(pc.equal(left, right)).as_py())
