"""Debit or credit: what a column, a word beside an amount, or one of two columns says of its sign.

Where no amount has a minus, its side says its sign. Where some have one, the file may be read in two ways:
the amounts have signs of their own, or a minus reverses a posting of its side. They have their own where all
of one side have a minus and none of the other; else the vouchers of a ledger decide.
A minus in few amounts of each side reverses; all else is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import permutations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.assignment import candidates
from bktools.inputs.columns import Column, side_of
from bktools.inputs.fields import says_kind
from bktools.inputs.question import Choice
from bktools.inputs.reading import Reading
from bktools.inputs.table import Mask
from bktools.inputs.values.amounts import LONGEST, Figures, money

_ZERO = Decimal()
# The share of vouchers that proves the signs.
_BALANCED = 0.5
# A minus in at most such a share of the amounts of each side reverses.
_REVERSALS = 0.2


def ask_side(reading: Reading) -> None:
    """Ask about a column of sides without a known heading, beside amounts that all have one sign."""
    if any((amount := money(cell)) and amount.sign < 0 for cell in reading.sample("amount")):
        return
    beside = [reading.seen(place) for place in candidates(reading, "side")]
    choices: list[Choice] = [{"columns": {"side": column.heading}} for column in beside]
    if not beside:
        columns = map(reading.seen, reading.free())
        beside = [column for column in columns if _may_say_sides(column)]
        if reading.kind == "ledger":
            beside = [column for column in beside if not all(map(says_kind, column.filled))]
        choices = [
            {"columns": {"side": column.heading}, "sides": dict(zip(kinds, ("debit", "credit"), strict=True))}
            for column in beside
            for kinds in permutations(dict.fromkeys(map(str.strip, column.sample)))
        ]
    if beside:
        headings = [column.heading for column in beside]
        reading.problems.ask("side", [*choices, {"columns": {"side": ""}}], headings=headings)


def _may_say_sides(column: Column) -> bool:
    """Whether each cell is one of two words, of which one is a side, or whose heading says a side."""
    kinds = {cell.strip() for cell in column.sample}
    are_two = len(kinds) == 2 and "" not in kinds and len(column.sample) > 3
    says_sides = column.is_headed("side", "side_in_letters", "entry_type") or any(map(side_of, kinds))
    return are_two and says_sides


def _sides(reading: Reading) -> pa.ChunkedArray:
    own = {terms.normal(word): side for word, side in (reading.options.get("sides") or {}).items()}
    if any(terms.normal(text) == "md" for text in reading.sample("side")):
        # The two sides of Czech books: beside MD, D is the credit.
        own = {"d": "credit", **own}
    return cells.each(
        reading.column("side"),
        lambda text: own.get(terms.normal(text)) or own.get(text.strip()) or side_of(text),
        schema.TEXT,
    )


def without_skipped_sides(reading: Reading, keep: Mask) -> Mask:
    """Return the rows whose side is not left out; words that are no side are problems."""
    sides, column = _sides(reading), cells.trimmed(reading.column("side"))
    is_unknown = keep & cells.mask(pc.equal(sides, ""))
    for text in cells.unique(column.filter(pa.array(is_unknown))):
        rows = is_unknown & cells.mask(pc.equal(column, text))
        # An empty cell is an entry of the side that has no word.
        choices = [{"sides": {text: side}} for side in (*["skip"] * bool(text), "debit", "credit")]
        reading.ask_of_rows("side_unknown", rows, choices, word=text, heading=reading.heading("side"))
    is_skipped = cells.mask(pc.equal(sides, "skip"))
    reading.note_rows("sides_skipped", keep & is_skipped, heading=reading.heading("side"))
    return ~is_skipped


def with_sides(
    reading: Reading, figures: dict[str, Figures], values: dict[str, pa.ChunkedArray]
) -> tuple[pa.ChunkedArray, tuple[pa.ChunkedArray, pa.ChunkedArray]]:
    """Return the signed amounts, and the debits and credits whose totals a file may state."""
    if "amount" in values:
        amount = values["amount"]
        sides = _sides(reading) if "side" in reading.places else figures["amount"].texts_of("side")
        zero = pa.scalar(_ZERO, amount.type)
        if sides is not None:
            is_credit = pc.equal(sides, "credit")
            halves = [pc.if_else(pc.equal(sides, side), amount, zero) for side in ("debit", "credit")]
            turned = pc.if_else(is_credit, pc.negate(amount), amount)
            amount = amount if _have_own_signs(reading, amount, turned, halves) else turned
        return amount, (pc.max_element_wise(amount, zero), pc.negate(pc.min_element_wise(amount, zero)))
    debit, credit = _pair(reading, values)
    own, turned = pc.add(debit, credit), pc.subtract(debit, credit)
    if _have_own_signs(reading, own, turned, (debit, credit)):
        return own, (debit, pc.negate(credit))
    return turned, (debit, credit)


def _pair(reading: Reading, values: dict[str, pa.ChunkedArray]) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return debits and credits, zero where a cell is empty; rows that have both are asked about."""
    first = next(iter(values.values()))
    kind = pa.decimal128(LONGEST - 1, max(column.type.scale for column in values.values()))
    zero = pa.scalar(_ZERO, kind)
    empty = pa.chunked_array([pa.repeat(zero, len(first))])
    debit, credit = (
        pc.fill_null(values[side].cast(kind), zero) if side in values else empty
        for side in ("debit", "credit")
    )
    both = cells.mask(pc.and_(pc.not_equal(debit, zero), pc.not_equal(credit, zero)))
    if reading.options.get("net"):
        reading.note_rows("net", both)
    else:
        reading.ask_of_rows("both_sides", both, [{"net": True}] if "date" in reading.result else [])
    return debit, credit


def _have_own_signs(
    reading: Reading, own: pa.ChunkedArray, turned: pa.ChunkedArray, halves: Sequence[pa.ChunkedArray]
) -> bool:
    """Whether the amounts have signs of their own, which their sides do not turn."""
    if stated := reading.options.get("signs"):
        return stated == "own"
    is_minus = [cells.mask(pc.less(half, pa.scalar(_ZERO, half.type))) for half in halves]
    if not np.logical_or.reduce(is_minus).any() or own.equals(turned):
        return False
    minus = [int(rows.sum()) for rows in is_minus]
    plus = [_count(pc.greater(half, pa.scalar(_ZERO, half.type))) for half in halves]
    # All of one side have a minus, and none of the other.
    agree = any(minus[one] and plus[1 - one] and not minus[1 - one] + plus[one] for one in (0, 1))
    is_own: bool | None = agree or None
    if not agree and reading.books is None:
        # Vouchers that balance as they stand have signs. A word on all lines of a voucher, such as Deposit,
        # turns it as a whole, and it balances also then.
        proven = (name for name, amount in ((True, own), (False, turned)) if _balance(reading, amount))
        is_own = next(proven, None) if reading.kind == "ledger" else None
        if is_own is None and any(
            count > _REVERSALS * (count + other) for count, other in zip(minus, plus, strict=True)
        ):
            choices: list[Choice] = [{"signs": "own"}, {"signs": "side"}]
            sums = {
                name: str(pc.sum(amount).as_py() or _ZERO)
                for name, amount in (("own", own), ("turned", turned))
            }
            reading.ask_of_rows("signs", np.logical_or.reduce(is_minus), choices, **sums)
    if is_own:
        reading.note("own_signs")
    return bool(is_own)


def _count(flags: pa.ChunkedArray) -> int:
    return int(pc.sum(flags).as_py() or 0)


def _balance(reading: Reading, amount: pa.ChunkedArray) -> bool:
    """Whether more than half of the vouchers, or of the days, balance."""
    keys = [reading.column(name) for name in ("date", "voucher_id") if reading.has(name)]
    if not keys:
        return False
    names = [str(number) for number in range(len(keys))]
    groups = pa.table([*keys, amount], [*names, "amount"]).group_by(names)
    sums = groups.aggregate([("amount", "sum")])["amount_sum"]
    return _count(pc.equal(sums, pa.scalar(_ZERO, sums.type))) > _BALANCED * len(sums)
