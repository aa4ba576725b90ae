"""Checks columns of amounts against the other columns of the file, and leaves out rows that are no entries or postings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.inputs import amounts, cells, sides, words
from bktools.inputs.cells import leave_out, question
from bktools.inputs.columns import Reading
from bktools.inputs.table import Table

_LEAST_STEPS = 3
_FIRST_ROWS = 2000


def contradictions(reading: Reading, amount: pa.ChunkedArray, *, side: str) -> Iterator[InputError]:
    """Yield the problems that the file's other columns show with its column of amounts.

    What the caller said is not asked again. `side` is the field of the word for debit or credit: `sign` of entries,
    `side` of a ledger.
    """
    table, taken = reading.table, reading.heading("amount")
    if side not in reading.places and not reading.is_settled(side) and sides.is_one_sided(amount):
        of_money = side == "sign"
        beside = (place for place in reading.free() if sides.mention_both(table, place, of_money=of_money))
        if (place := next(beside, None)) is not None:
            heading = table.headings[place]
            yield question(
                table,
                f"all amounts of {taken!r} have one sign, and {heading!r} beside them says debit or credit (if it does"
                f" not, set {leave_out(side)}): name it with",
                {side: heading},
            )
    head = table.head(_FIRST_ROWS)
    sums = _numbers(head, reading.places["amount"])
    added_up = (place for place in reading.free() if _rise_by(sums, _numbers(head, place)))
    if (place := next(added_up, None)) is not None:
        heading = table.headings[place]
        yield question(
            table,
            f"{taken!r} is the running sum of {heading!r}, not the amount: name the amount with",
            {"amount": heading},
        )


def lone_half(reading: Reading) -> Iterator[InputError]:
    """Yield a problem where a column for debit or credit alone has amounts in rows that have none in the amount's column."""
    for side, other in (("debit", "credit"), ("credit", "debit")):
        if not reading.has(side) or side in reading.vocabulary.chosen:
            continue
        rows = cells.matches(reading.column(side), r"[1-9]") & ~cells.matches(reading.column("amount"), r"[1-9]")
        if rows.any():
            heading, amount = reading.heading(side), reading.heading("amount")
            yield question(
                reading.table,
                f"{heading!r} has amounts where {amount!r} has none ({cells.lines_of(reading.table, rows)}); the two"
                " could be debit and credit: name them with",
                {other: amount, side: heading, "amount": ""},
                int(reading.table.lines[rows][0]),
            )


def running_balance(reading: Reading, amount: pa.ChunkedArray) -> str | None:
    """Return the heading of the column that adds the amounts up, in whatever sign, None without one."""
    head, steps = reading.table.head(_FIRST_ROWS), amount.slice(0, _FIRST_ROWS).to_pylist()
    return next((head.headings[place] for place in reading.free() if _rise_by(_numbers(head, place), steps)), None)


def _rise_by(balances: Sequence[Decimal | None], steps: Sequence[Decimal | None]) -> bool:
    """Whether numbers rise from row to row by these amounts, downwards or upwards."""
    numbers = [number for number in balances if number is not None]
    if not _LEAST_STEPS < len(numbers) == len(steps):
        return False
    rises = [later - earlier for earlier, later in pairwise(numbers)]
    moves = [step or Decimal() for step in steps]
    if sum(move != 0 for move in moves) < _LEAST_STEPS:
        return False
    downwards, upwards = moves[1:], [-move for move in moves[:-1]]
    return any(rises in (way, [-move for move in way]) for way in (downwards, upwards))


def _numbers(table: Table, place: int) -> Sequence[Decimal | None]:
    """Return the numbers of a column, none where it is not one of amounts."""
    if cells.matches(cells.trimmed(table.columns[place]), r"^[^\pL]*$|^\S{0,3} ?[\d.,' ()-]+ ?\S{0,3}$").all():
        with suppress(InputError):
            return [*amounts.amounts(table, place, None).to_pylist()]
    return []


def keep_rows(
    reading: Reading, what: str, identities: Sequence[str], *, lacks_all: bool, others: Sequence[int] = ()
) -> None:
    """Leave out the rows that are none of `what`, which notes count.

    These rows have a broken cell, hold nothing (in fields and the other columns), repeat the headings, or are totals,
    balances and lines of a report: such a row lacks all of the fields that tell rows apart, or without `lacks_all` one
    of them, and has a cell that begins with a word for it, such as Total.
    """
    if reading.rows_with is not None:
        remark = f"rows left out that hold nothing under {reading.table.headings[reading.rows_with]!r}"
        reading.skip({remark: cells.blank(reading.table.columns[reading.rows_with])}, what)
    places = reading.places.values()
    reading.skip_broken()
    if places or others:
        reading.table = cells.without_blank_rows(reading.table, places, others=others)
    if not places or not (lacks_all or reading.has(*identities)):
        return
    table = reading.table
    again = are_headings(table, places)
    is_report = np.zeros(len(table.lines), dtype=bool)
    lacking = [_lacks(reading.column(field)) for field in identities if reading.has(field)]
    both = np.logical_and if lacks_all else np.logical_or
    if lacking and (rows := both.reduce(lacking)).any():
        is_report[rows] = np.logical_or.reduce([says_report(column) for column in table.rows(rows).columns])
    remarks = {
        "rows skipped as headings that are repeated": again,
        f"rows skipped as totals or lines of a report, not {what}": is_report & ~again,
    }
    reading.skip(remarks, what)


def are_headings(table: Table, places: Collection[int]) -> cells.Mask:
    """Return the rows that repeat the headings of these columns."""
    again = [cells.mask(pc.equal(table.columns[place], table.headings[place])) for place in places]
    repeated: cells.Mask = np.logical_and.reduce(again)
    return repeated


def _lacks(column: pa.ChunkedArray) -> cells.Mask:
    """Return where a cell is empty, or says that its row is one of a report."""
    lacks = cells.blank(column)
    wordy = ~lacks & ~cells.matches(column, r"\d")
    if wordy.any():
        lacks[wordy] = says_report(column.filter(pa.array(wordy)))
    return lacks


def says_report(column: pa.ChunkedArray) -> cells.Mask:
    """Return where a cell begins with a word for a total, a balance or a line of a report."""
    return cells.mask(words.begin(column, words.TOTALS | words.values("footer")))
