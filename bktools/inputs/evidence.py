"""Checks columns of amounts against the other columns of the file, and leaves out rows that are no entries or postings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.inputs import amounts, cells, sides, words
from bktools.inputs.cells import leave_out, question
from bktools.inputs.columns import Vocabulary
from bktools.inputs.table import Table

_LEAST_STEPS = 3
_FIRST_ROWS = 2000


def contradictions(
    table: Table, places: Mapping[str, int], amount: pa.ChunkedArray, vocabulary: Vocabulary, *, side: str
) -> Iterator[InputError]:
    """Yield the problems that the file's other columns show with its amounts.

    What the caller said is not asked again. `side` is the field of the word for debit or credit: `sign` of entries,
    `side` of a ledger.
    """
    if "amount" not in places:
        return
    unread, taken = _unread(table, places), table.headings[places["amount"]]
    if side not in places and side not in vocabulary.chosen and sides.is_one_sided(amount):
        of_money = side == "sign"
        beside = (table.headings[place] for place in unread if sides.mention_both(table, place, of_money=of_money))
        if (heading := next(beside, None)) is not None:
            yield question(
                f"all amounts of {taken!r} have one sign, and {heading!r} beside them says debit or credit (if it does"
                f" not, set {leave_out(side)}): name it with",
                table.source,
                {side: heading},
            )
    added_up = (table.headings[place] for place in unread if _is_running_sum(table, places["amount"], of=place))
    if (heading := next(added_up, None)) is not None:
        yield question(
            f"{taken!r} is the running sum of {heading!r}, not the amount: name the amount with",
            table.source,
            {"amount": heading},
        )


def lone_half(table: Table, places: Mapping[str, int], vocabulary: Vocabulary) -> Iterator[InputError]:
    """Yield a problem where a column for debit or credit alone has amounts in rows that have none in the amount's column."""
    for side in ({"debit", "credit"} & places.keys()) - vocabulary.chosen.keys():
        column, amount = (table.columns[places[field]] for field in (side, "amount"))
        rows = cells.matches(column, r"[1-9]") & ~cells.matches(amount, r"[1-9]")
        if rows.any():
            other = "credit" if side == "debit" else "debit"
            yield question(
                f"{table.headings[places[side]]!r} has amounts where {table.headings[places['amount']]!r} has none"
                f" ({cells.lines_of(table, rows)}); the two could be debit and credit: name them with",
                table.source,
                {other: table.headings[places["amount"]], side: table.headings[places[side]], "amount": ""},
                int(table.lines[rows][0]),
            )


def running_balance(table: Table, places: Mapping[str, int], amount: pa.ChunkedArray) -> str | None:
    """Return the heading of the column that adds the amounts up, in whatever sign, None without one."""
    steps = amount.slice(0, _FIRST_ROWS).to_pylist()
    return next((table.headings[place] for place in _unread(table, places) if _adds_up(table, place, steps)), None)


def _unread(table: Table, places: Mapping[str, int]) -> list[int]:
    return [place for place in range(len(table.headings)) if place not in places.values()]


def _is_running_sum(table: Table, place: int, *, of: int) -> bool:
    steps = _numbers(table.head(_FIRST_ROWS), of)
    return steps is not None and _adds_up(table, place, steps)


def _adds_up(table: Table, place: int, steps: Sequence[Decimal | None]) -> bool:
    """Whether a column rises from row to row by these amounts, downwards or upwards."""
    balances = _numbers(table.head(_FIRST_ROWS), place)
    if balances is None or None in balances or len(balances) <= _LEAST_STEPS:
        return False
    rises = [later - earlier for earlier, later in pairwise(balances)]
    moves = [step or Decimal() for step in steps]
    if sum(move != 0 for move in moves) < _LEAST_STEPS:
        return False
    downwards, upwards = moves[1:], [-move for move in moves[:-1]]
    return any(rises in (way, [-move for move in way]) for way in (downwards, upwards))


def _numbers(table: Table, place: int) -> Sequence[Decimal] | None:
    column = table.columns[place]
    if not cells.matches(cells.trimmed(column), r"^[^\pL]*$|^\S{0,3} ?[\d.,' ()-]+ ?\S{0,3}$").all():
        return None
    try:
        numbers: Sequence[Decimal] = amounts.amounts(table, place, None).to_pylist()
    except InputError:
        # Not a column of amounts.
        return None
    return numbers


def without_report_rows(
    table: Table, places: Mapping[str, int], needed: Collection[str], notes: list[str], *, what: str, lacks_all: bool
) -> Table:
    """Return the rows without headings that are repeated, totals, balances and lines of a report; a note counts them.

    Such a row lacks all of the needed fields, or without `lacks_all` one of them, and has a cell that begins with a
    word for it, such as Total. `what` says what the other rows are, for the note.
    """
    if not places:
        return table
    again = are_headings(table, places.values())
    is_report = np.zeros(len(table.lines), dtype=bool)
    lacking = [_lacks(table.columns[places[field]]) for field in needed if field in places]
    both = np.logical_and if lacks_all else np.logical_or
    if lacking and (rows := both.reduce(lacking)).any():
        few = table.rows(rows)
        is_report[rows] = np.logical_or.reduce([says_report(column) for column in few.columns])
    notes += cells.counted(
        table,
        {
            "rows skipped as headings that are repeated": again,
            f"rows skipped as totals or lines of a report, not {what}": is_report & ~again,
        },
    )
    return some_rows(table, ~(is_report | again), what)


def rows_with(table: Table, place: int | None, notes: list[str], what: str) -> Table:
    """Return the rows that hold something in a column that the caller named for this; a note counts the others."""
    if place is None:
        return table
    empty = cells.blank(table.columns[place])
    notes += cells.counted(table, {f"rows left out that hold nothing under {table.headings[place]!r}": empty})
    return some_rows(table, ~empty, what)


def are_headings(table: Table, places: Collection[int]) -> cells.Mask:
    """Return the rows that repeat the headings of these columns."""
    again = [cells.mask(pc.equal(table.columns[place], table.headings[place])) for place in places]
    repeated: cells.Mask = np.logical_and.reduce(again)
    return repeated


def some_rows(table: Table, rows: cells.Mask, what: str) -> Table:
    """Return the rows of a mask; without any, an error says that the file has no rows of this kind."""
    if not rows.any():
        raise InputError(f"no row below the headings is one of {what}", source=table.source, line=table.heading_line)
    return table.rows(rows)


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
