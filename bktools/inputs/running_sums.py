"""Columns that add up the amounts of another one, such as the balance of an account."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import combinations, pairwise

from bktools.errors import InputError
from bktools.inputs import amounts, cells
from bktools.inputs.table import Table

_LEAST_STEPS, _MOST = 3, 0.9
_FIRST_ROWS = 200


def rise_by(
    balances: Sequence[Decimal | None], steps: Sequence[Decimal | None], signs: Sequence[int] = (1, -1)
) -> bool:
    """Whether numbers rise from row to row by these amounts, downwards or upwards, but for a few rows.

    With the sign -1 they fall by them.
    """
    if not _LEAST_STEPS < len(balances) == len(steps) or None in balances:
        return False
    rises = [
        later - earlier for earlier, later in pairwise(balances) if earlier is not None and later is not None
    ]
    moves = [step or Decimal() for step in steps]
    if sum(move != 0 for move in moves) < _LEAST_STEPS:
        return False
    downwards, upwards = moves[1:], [-move for move in moves[:-1]]
    return any(
        sum(rise == sign * move for rise, move in zip(rises, way, strict=True)) >= _MOST * len(rises)
        for way in (downwards, upwards)
        for sign in signs
    )


def running_sums(table: Table, places: Collection[int]) -> set[int]:
    """Return the columns that add up another one, or the difference of two, such as debit and credit."""
    head = table.head(_FIRST_ROWS)
    numbers = {place: own for place in places if (own := numbers_of(head, place)) and any(own)}
    balances = {place for place, own in numbers.items() if None not in own}
    pairs = {
        pair: [*zip(numbers[pair[0]], numbers[pair[1]], strict=True)] for pair in combinations(numbers, 2)
    }
    differences: dict[tuple[int, ...], Sequence[Decimal | None]] = {
        pair: [(left or Decimal()) - (right or Decimal()) for left, right in both]
        for pair, both in pairs.items()
        if not any(left and right for left, right in both)
    }
    steps: dict[tuple[int, ...], Sequence[Decimal | None]] = {
        **{(place,): own for place, own in numbers.items()},
        **differences,
    }
    return {
        place
        for place in balances
        if any(place not in own and rise_by(numbers[place], moves) for own, moves in steps.items())
    }


def balance_by(table: Table, place: int, sides: tuple[int, int]) -> bool:
    """Whether the debits and credits of rows with one value add up to zero, as those of a voucher do.

    The last value of the rows that are looked at may go on below them.
    """
    head = table.head(_FIRST_ROWS)
    values = head.columns[place].to_pylist()
    debit, credit = (numbers_of(head, side) for side in sides)
    sums: dict[str, Decimal] = {}
    for value, out, back in zip(values, debit, credit, strict=False):
        sums[value] = sums.get(value, Decimal()) + (out or Decimal()) - (back or Decimal())
    whole = [total for value, total in sums.items() if value != values[-1] or len(values) < _FIRST_ROWS]
    return len(whole) >= _LEAST_STEPS and sum(total == 0 for total in whole) >= _MOST * len(whole)


def numbers_of(table: Table, place: int) -> Sequence[Decimal | None]:
    """Return the numbers of a column, none where it is not one of amounts."""
    if cells.matches(
        cells.trimmed(table.columns[place]), r"^[^\pL]*$|^\S{0,3} ?[\d.,' ()-]+ ?\S{0,3}$"
    ).all():
        with suppress(InputError):
            return [*amounts.amounts(table, place, None).to_pylist()]
    return []
