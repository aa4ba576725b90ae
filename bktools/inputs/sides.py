"""Words for debit and credit beside an amount, and which columns hold them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import permutations
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bktools.inputs import cells, words
from bktools.inputs.table import Table
from bktools.inputs.words import normal

_HALF, _MOST, _LEAST_NEGATIVE = 0.5, 0.6, 3
_USUAL_LETTERS = ({"d", "c"}, {"s", "h"})


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
    by_letters = [
        (
            frozenset(map("".join, permutations(pair))),
            Sides(debit | {pair[0]}, (credit - {pair[0]}) | {pair[1]}),
        )
        for pair in (*words.pairs("letters"), *words.pairs("asked"))
    ]
    of_sage = (frozenset[str](), Sides(words.values("sage_debit"), words.values("sage_credit")))
    return by_letters if of_money else [*by_letters, of_sage]


def debits(table: Table, place: int, *, of_money: bool, way_out: str = "") -> pa.ChunkedArray:
    """Return true for debit, false for credit, null for an empty cell; refuse a cell that says neither.

    The column is read by the pair that its heading names, such as MD/D, else by the first that has most of
    its words. With `of_money`, words for money that goes out and comes in are sides, too; `way_out` is what
    else the user can do.
    """
    column = cells.or_null(cells.trimmed(table.columns[place]))
    best = _convention(table, place, of_money)
    meant = dict.fromkeys(best.credit, False) | dict.fromkeys(best.debit, True)
    result = words.in_column(column, meant)
    neither = cells.mask(pc.and_(pc.is_null(result), pc.is_valid(column)))
    cells.refuse(table, place, neither, f"must say debit or credit, such as D and C, S and H{way_out}")
    return result


def say_sides(table: Table, place: int, *, of_money: bool = True) -> bool:
    """Whether a column with a vague heading, such as Type, says debit or credit in each of its cells.

    One letter could be short for anything, such as C for card: letters count where both sides are there.
    """
    texts, best = _texts(table, place), _convention(table, place, of_money)
    is_clear = bool(texts & best.debit and texts & best.credit) or all(len(text) > 1 for text in texts)
    is_asked = texts in [{*pair} for pair in words.pairs("asked")]
    return bool(texts) and texts <= best.words and is_clear and not is_asked


def mention_both(table: Table, place: int, *, of_money: bool) -> bool:
    """Whether a column has words for debit and words for credit, in at least half of its cells.

    Single letters, which may name anything, count below a heading of sides or types, and where they are the
    usual ones.
    """
    best = _convention(table, place, of_money)
    texts = _texts(table, place)
    of_sides = frozenset().union(*map(words.headings, ("side", "side_in_letters", "entry_type")))
    are_letters = normal(table.headings[place]) in of_sides or texts in _USUAL_LETTERS
    telling = texts if texts <= best.words and are_letters else {text for text in texts if len(text) > 1}
    if not (telling & best.debit and telling & best.credit):
        return False
    filled = ~cells.blank(table.columns[place])
    return bool(cells.mask(words.are(table.columns[place], best.words))[filled].mean() >= _HALF)


def _texts(table: Table, place: int) -> set[str]:
    return {normal(text) for text in pc.unique(table.columns[place]).to_pylist()} - {""}


def _flags(heading: str, of_money: bool) -> list[Sides]:  # noqa: FBT001 - as above
    """Return what yes and no say under a heading that is one side's name, such as Expense? or is_credit.

    More words make another heading of it: a bank's charge is no side.
    """
    yes, no = words.values("yes"), words.values("no")
    name = normal(re.sub(r"(?i)^is[\s_]+|^is(?=[A-Z])", "", heading.strip()))
    is_debit, is_credit = (len(name) > 1 and name in side for side in _conventions(of_money)[0][1])
    return [Sides(yes, no) if is_debit else Sides(no, yes)] if is_debit != is_credit else []


def _convention(table: Table, place: int, of_money: bool) -> Sides:  # noqa: FBT001 - as above
    texts, heading = _texts(table, place), normal(table.headings[place])
    by_heading = [pair for headings, pair in _conventions(of_money) if heading in headings]
    by_heading += _flags(table.headings[place], of_money)
    conventions = [*by_heading, *(pair for _, pair in _conventions(of_money))]
    return max(conventions, key=lambda pair: len(texts & pair.words))


def are_mostly_negative(amount: pa.ChunkedArray) -> bool:
    """Whether all amounts but a few are negative, as spending is in some exports."""
    values = pc.drop_null(amount)
    zero = pa.scalar(0, amount.type)
    positive, negative = (
        int(pc.sum(side).as_py() or 0) for side in (pc.greater(values, zero), pc.less(values, zero))
    )
    return negative >= _LEAST_NEGATIVE and negative >= _MOST * (positive + negative)


def is_one_sided(amount: pa.ChunkedArray) -> bool:
    """Whether at least two amounts are there and all of them have one sign."""
    values = pc.drop_null(amount)
    zero = pa.scalar(0, amount.type)
    positive, negative = (
        int(pc.sum(side).as_py() or 0) for side in (pc.greater(values, zero), pc.less(values, zero))
    )
    return min(positive, negative) == 0 and max(positive, negative) > 1
