"""Checks columns of amounts against the other columns of the file."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from bktools.errors import InputError
from bktools.inputs import cells, sides, words
from bktools.inputs.cells import leave_out, question
from bktools.inputs.columns import Reading
from bktools.inputs.running_sums import numbers_of, rise_by

_FIRST_ROWS = 2000


def contradictions(reading: Reading, amount: pa.ChunkedArray, *, side: str) -> Iterator[InputError]:
    """Yield the problems that the file's other columns show with its column of amounts.

    What the caller said is not asked again. `side` is the field of the word for debit or credit: `sign` of
    entries, `side` of a ledger.
    """
    table, taken = reading.table, reading.heading("amount")
    if side not in reading.places and not reading.is_settled(side) and sides.is_one_sided(amount):
        of_money = side == "sign"
        means = words.headings("means_of_payment")
        free = [place for place in reading.free() if not words.are_inside(table.headings[place], means)]
        beside = (place for place in free if sides.mention_both(table, place, of_money=of_money))
        if (place := next(beside, None)) is not None:
            heading = table.headings[place]
            yield question(
                table,
                f"all amounts of {taken!r} have one sign, and {heading!r} beside them says debit or credit",
                {side: cells.heading_of(table, place)},
                details=[f"If it does not: {leave_out(side)}"],
            )
    head = table.head(_FIRST_ROWS)
    sums = numbers_of(head, reading.places["amount"])
    added_up = (place for place in reading.free() if rise_by(sums, numbers_of(head, place)))
    if (place := next(added_up, None)) is not None:
        heading = table.headings[place]
        yield question(
            table,
            f"{taken!r} is the running sum of {heading!r}, not the amount",
            {"amount": cells.heading_of(table, place)},
        )


def lone_half(reading: Reading) -> Iterator[InputError]:
    """Yield a problem where one column for debit or credit has amounts and the amount's column has none."""
    for side, other in (("debit", "credit"), ("credit", "debit")):
        if not reading.has(side) or side in reading.vocabulary.chosen:
            continue
        rows = cells.matches(reading.column(side), r"[1-9]") & ~cells.matches(
            reading.column("amount"), r"[1-9]"
        )
        if rows.any():
            heading, amount = reading.heading(side), reading.heading("amount")
            yield question(
                reading.table,
                f"{heading!r} has amounts where {amount!r} has none "
                f"({cells.lines_of(reading.table, rows)}); the two could be debit and credit",
                {other: amount, side: heading, "amount": ""},
                int(reading.table.lines[rows][0]),
            )


def running_balance(reading: Reading, amount: pa.ChunkedArray) -> tuple[str | None, bool]:
    """Return the heading of the column that adds the amounts up, None without one, and whether it falls."""
    head, steps = reading.table.head(_FIRST_ROWS), amount.slice(0, _FIRST_ROWS).to_pylist()
    for place in reading.free():
        balances = numbers_of(head, place)
        for sign in (1, -1):
            if rise_by(balances, steps, (sign,)):
                return head.headings[place], sign < 0
    return None, False
