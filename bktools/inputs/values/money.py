"""What entries and ledgers share: their rows, days, signed amounts and currencies.

Where no amount has a minus, its side says its sign. Where some have one, the file may be read in two ways:
the amounts have signs of their own, or a minus reverses a posting of its side. They have their own where all
of one side have a minus and none of the other; else the vouchers of a ledger decide.
A minus in few amounts of each side reverses; all else is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import permutations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import setting
from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.assignment import MONEY, ask_amount, ask_column, ask_of_totals, candidates, other_days
from bktools.inputs.fields import Column, fields_of, most, side_of
from bktools.inputs.options import keeps_reports
from bktools.inputs.question import Choice
from bktools.inputs.reading import Reading
from bktools.inputs.rows import entries_only, fill_down
from bktools.inputs.table import Mask
from bktools.inputs.values.amounts import LONGEST, Figures, decimal_mark, is_not_zero, money
from bktools.inputs.values.currencies import only_currency, only_of_headings, read_currency, settle_foreign
from bktools.inputs.values.days import SERIAL, is_serial, lacks_year, parsed, read_days

_ZERO = Decimal()
# Days without marks, such as 220126, which an option alone reads.
_SHORT_DAYS = ("%d%m%y", "%m%d%y", "%y%m%d")
# A minus in at most such a share of the amounts of each side reverses.
_REVERSALS = 0.2
# A heading that a side's word is flagged by, such as is_income.
_FLAG = re.compile(r"(?i)(?:is|es|ist|est)[ _]?(.+)")
# Digits of amounts in hundredths.
_LONGEST_MINOR = 30
# A share of negative amounts that says how the file signs spending.
_MOSTLY = 0.8


def read_money(reading: Reading, own_currency: str | None) -> None:
    """Read `date`, `amount` and `currency` into the result, and the sums of both sides.

    A format says how they are written: a cell that is written otherwise is an `InputError`.
    """
    fields = _find_money(reading) if reading.books is None else [*filter(reading.has, MONEY)]
    if reading.has("currency"):
        named = {text.strip() for text in cells.unique(reading.column("currency")) if text.strip()}
        only = named.pop() if len(named) == 1 else ""
        reading.table = replace(reading.table, currency=only or reading.table.currency * (not named))
    if not fields and reading.asked.get("amount") != "":
        return
    if reading.books is None and not _keep_entries(reading, fields):
        return
    read_date(reading)
    if not fields:
        return
    figures = {name: Figures.at(reading.table, reading.places[name]) for name in fields}
    values = _read_values(reading, figures, own_currency)
    amount, halves = _signed(reading, figures, values)
    reading.result["amount"] = _turned(reading, amount).cast(pa.decimal128(LONGEST, amount.type.scale))
    # The sides that a format states sums of.
    reading.totals = [
        one if isinstance(one.counted, Decimal) else one._replace(counted=total(halves[one.counted]))
        for one in reading.totals
    ]
    if reading.books is None:
        settle_foreign(reading, only_of_headings(reading, figures) or own_currency)
    read_currency(reading, figures, own_currency)


def _find_money(reading: Reading) -> list[str]:
    """Return the fields of the amounts that have a column; without any, they are asked for."""
    asked = reading.asked
    if "date" not in {*reading.places, *reading.may_lack} and asked.get("date") != "":
        ask_column(reading, "date")
    named = [*filter(reading.has, MONEY)]
    _leave_no_amounts(reading, named)
    # Debit and credit say more than one column.
    if reading.has("debit", "credit") and not reading.is_asked("amount"):
        reading.leave("amount")
    elif reading.has("amount"):
        reading.leave("debit", "credit")
    # One side alone is the amount, unless another column may be the other side.
    is_half = reading.has("debit") != reading.has("credit") and bool(_other_sides(reading))
    if not any(map(reading.has, MONEY)) or (is_half and not {"debit", "credit"} & asked.keys()):
        # Without an amount in the currency of the books, one in another currency may be it.
        reading.leave(*MONEY, "foreign_amount")
        if asked.get("amount") != "":
            # Where a heading is known and its cells are no amounts, the cells may have moved.
            ask_amount(reading, is_doubtful=bool(named) and not any(map(reading.has, named)))
    if reading.has("amount"):
        ask_of_totals(reading)
    fields = [*filter(reading.has, MONEY)]
    if fields == ["amount"] and not reading.has("side") and not reading.is_asked("side"):
        ask_side(reading)
    return fields


def _other_sides(reading: Reading) -> list[int]:
    return [place for place in candidates(reading, "credit") if not reading.seen(place).says_another_amount]


def _leave_no_amounts(reading: Reading, named: list[str]) -> None:
    """Leave columns whose cells are no amounts, and pairs that are accounts or balances, or say nothing."""
    for name in named:
        column = reading.seen(reading.places[name])
        if column.filled and not column.are_amounts(0.5) and not reading.is_asked(name):
            reading.note("no_amounts", heading=column.heading, value=column.filled[0][:20])
            reading.leave(name)
    if reading.has("debit", "credit") and not reading.is_asked("debit"):
        are_empty = all(cells.are_blank(reading.column(name)) for name in ("debit", "credit"))
        if _have_both_amounts(reading) or (are_empty and reading.has("amount")):
            reading.leave("debit", "credit")


def _have_both_amounts(reading: Reading) -> bool:
    rows = list(zip(reading.sample("debit"), reading.sample("credit"), strict=True))
    return sum(is_not_zero(debit) and is_not_zero(credit) for debit, credit in rows) * 2 > len(rows)


def _keep_entries(reading: Reading, fields: Sequence[str]) -> bool:
    """Keep the rows that are entries; return whether there are any."""
    figures = {name: Figures.at(reading.table, reading.places[name]) for name in fields}
    keep = entries_only(reading, figures) if figures else np.ones(len(reading.table.lines), dtype=bool)
    if reading.options.get("fill_down"):
        fill_down(reading)
    if reading.has("side", "amount"):
        keep &= without_skipped_sides(reading, keep)
    if keep.any():
        reading.table = reading.table.rows(keep)
    elif not reading.problems:
        reading.problems.ask("no_entries")
    return bool(keep.any())


def read_date(reading: Reading) -> None:
    """Read the days of a table."""
    if not reading.has("date"):
        return
    place, options, column = reading.places["date"], reading.options, reading.column("date")
    if reading.books is not None:
        days, bad = read_days(column, reading.books.date_format)
        reading.refuse("date", reading.blank("date"), "empty_date")
        reading.refuse("date", bad, "no_date")
    elif not options.get("date_format") and most(reading.sample("date"), is_serial, 1):
        days, bad = read_days(column, SERIAL)
        reading.note("days_as_numbers", value=column[0].as_py(), day=str(days[0].as_py()))
        reading.ask_of_rows("broken_date", bad, value=column[int(bad.argmax())].as_py())
    else:
        # Rows that are left out tell the order of day and month, too.
        whole = reading.whole[place : place + 1]
        form, year = options.get("date_format"), options.get("year")
        days, bad = read_days(column, form, year, problems=reading.problems, others=whole)
        if bad.any() and not reading.problems.has("date_format"):
            _ask_of_no_days(reading, bad, cells.unique(column.filter(pa.array(bad))))
    reading.result["date"] = days
    others = [one.heading for one in map(reading.seen, reading.free()) if _is_another_day(reading, one)]
    if others and reading.books is None and not reading.is_asked("date"):
        reading.note("day_of_several", heading=reading.heading("date"), names=others)


def _is_another_day(reading: Reading, column: Column) -> bool:
    """Whether another column than the one that is read has days, by its heading and its cells."""
    return "date" in fields_of(terms.bare(column.heading), reading.kind) and column.are_days()


def _ask_of_no_days(reading: Reading, bad: Mask, texts: list[str]) -> None:
    """Ask about cells that are no days: the year, what is to be corrected, or rows that are no entries."""
    without_year = [text for text in texts if lacks_year(text) and not reading.options.get("year")]
    broken = [text for text in texts if text.strip()[:1].isdigit() or re.match(cells.LACKS_VALUE, text)]
    if without_year:
        reading.ask_of_rows("year", bad, value=without_year[0], option="year")
    elif broken:
        forms = [form for form in _SHORT_DAYS if all(parsed(text, form) for text in texts)]
        choices: list[Choice] = [{"date_format": form} for form in forms]
        reading.ask_of_rows("not_a_date" if forms else "broken_date", bad, choices, value=broken[0])
    else:
        no_days: Choice = {"columns": {"date": ""}}
        choices = [no_days] * (reading.kind == "entries") if bad.all() else [reading.table.skip(bad)]
        if keeps_reports(reading.options):
            # Who keeps the rows of a report leaves none of them out.
            choices = []
        # A row with an amount may be an entry that waits for its day.
        choices = [*other_days(reading), *choices]
        is_doubtful = len(choices) == 1
        reading.ask_of_rows("not_a_date", bad, choices, value=texts[0], is_doubtful=is_doubtful)


def _read_values(
    reading: Reading, figures: dict[str, Figures], own_currency: str | None
) -> dict[str, pa.ChunkedArray]:
    """Return the unsigned columns of amounts; cells that are none are problems."""
    books, problems = reading.books, reading.problems
    if books is not None:
        decimal = books.decimal
        neither = np.logical_and.reduce([own.blank for own in figures.values()])
        reading.refuse(next(iter(figures)), neither, "no_amount")
    else:
        currency = only_currency(reading, figures, own_currency)
        free = (column for column in map(reading.seen, reading.free()) if column.are_amounts(1))
        beside = (Figures.of(column.cells) for column in free)
        stated = reading.options.get("decimal")
        decimal = stated or decimal_mark([*figures.values()], currency, problems, beside)
        if not decimal and not problems.has("decimal_marks"):
            reading.note("each_decimal_mark")
    values = {}
    for name, own in figures.items():
        values[name], bad = own.values(decimal)
        if books is None and reading.seen(reading.places[name]).says("minor_unit") and not own.marks:
            hundredth = pa.scalar(Decimal("0.01"))
            values[name] = pc.multiply(values[name].cast(pa.decimal128(_LONGEST_MINOR, 0)), hundredth)
            reading.note("minor_unit", heading=reading.heading(name))
        if books is not None:
            reading.refuse(name, bad | own.residues, "other_amount", decimal=decimal)
        reading.note_rows("residues", own.residues, heading=reading.heading(name))
        if bad.any() and not problems.has("decimal"):
            _ask_of_bad(reading, name, bad)
    return values


def _ask_of_bad(reading: Reading, name: str, bad: Mask) -> None:
    """Ask about cells that are no amounts: rows without days may be left out, all others are corrected."""
    text = reading.column(name)[int(bad.argmax())].as_py()
    choices = [] if "date" in reading.result else [reading.table.skip(bad)]
    code = "not_an_amount" if choices else "broken_amount"
    reading.ask_of_rows(code, bad, choices, field=name, heading=reading.heading(name), value=text)


def _turned(reading: Reading, amount: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return amounts with the other sign where a report, or an option, has it."""
    if reading.turned:
        is_turned = pa.array(np.isin(reading.table.lines, [*reading.turned]))
        amount = pc.if_else(is_turned, pc.negate(amount), amount)
    if reading.options.get("negate"):
        amount = pc.negate(amount)
        reading.note("negated")
    negative = _count(pc.less(amount, pa.scalar(_ZERO, amount.type)))
    if reading.kind == "entries" and negative > _MOSTLY * len(amount):
        # As a bank signs what is paid; the sums of spending would be negative.
        reading.note("mostly_negative", count=negative, of=len(amount), option=setting("negate", True))
    return amount


def total(column: pa.ChunkedArray) -> Decimal:
    """Return the sum of amounts."""
    return pc.sum(column.cast(pa.decimal128(LONGEST, column.type.scale))).as_py() or Decimal()


def ask_side(reading: Reading) -> None:
    """Ask about a column of sides without a known heading, beside amounts that all have one sign."""
    if any((amount := money(cell)) and amount.sign < 0 for cell in reading.sample("amount")):
        return
    beside = [reading.seen(place) for place in candidates(reading, "side")]
    choices: list[Choice] = [{"columns": {"side": column.heading}} for column in beside]
    if not beside:
        beside = [column for column in map(reading.seen, reading.free()) if _may_say_sides(column)]
        choices = [
            {"columns": {"side": column.heading}, "sides": dict(zip(kinds, ("debit", "credit"), strict=True))}
            for column in beside
            for kinds in permutations(dict.fromkeys(map(str.strip, column.sample)))
            if side_of(kinds[0]) != "credit" and side_of(kinds[1]) != "debit"
        ]
    if beside:
        headings = [column.heading for column in beside]
        reading.problems.ask("side", [*choices, {"columns": {"side": ""}}], headings=headings)


def _may_say_sides(column: Column) -> bool:
    """Whether each cell is one of two words, of which one is a side, or whose heading says a side."""
    kinds = {cell.strip() for cell in column.sample}
    flag = _FLAG.fullmatch(column.heading)
    if flag and terms.normal(flag[1]) in terms.headings("debit", "credit", "money_in", "money_out"):
        return len(kinds) == 2
    are_two = len(kinds) == 2 and "" not in kinds and len(column.sample) > 3
    says_sides = column.is_headed("side", "side_in_letters", "entry_type") or any(map(side_of, kinds))
    return are_two and says_sides


def sides_of(reading: Reading) -> pa.ChunkedArray:
    """Return what the column of sides says: debit, credit, skip, or "" where it says none of them."""
    own = {terms.normal(word): side for word, side in reading.options.get("sides", {}).items()}
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
    sides, column = sides_of(reading), cells.trimmed(reading.column("side"))
    is_unknown = keep & cells.mask(pc.equal(sides, ""))
    for text in cells.unique(column.filter(pa.array(is_unknown))):
        rows = is_unknown & cells.mask(pc.equal(column, text))
        # An empty cell is an entry of the side that has no word.
        choices = [{"sides": {text: side}} for side in (*["skip"] * bool(text), "debit", "credit")]
        reading.ask_of_rows("side_unknown", rows, choices, word=text, heading=reading.heading("side"))
    is_skipped = cells.mask(pc.equal(sides, "skip"))
    reading.note_rows("sides_skipped", keep & is_skipped, heading=reading.heading("side"))
    return ~is_skipped


def _signed(
    reading: Reading, figures: Mapping[str, Figures], values: Mapping[str, pa.ChunkedArray]
) -> tuple[pa.ChunkedArray, dict[str, pa.ChunkedArray]]:
    """Return the signed amounts, and the debits and credits that they are made of, if there are two sides."""
    sides = None
    if "amount" in values:
        sides = sides_of(reading) if reading.has("side") else figures["amount"].texts_of("side")
        if sides is None:
            return values["amount"], {}
    kind = pa.decimal128(LONGEST - 1, max(column.type.scale for column in values.values()))
    zero, empty = pa.scalar(_ZERO, kind), reading.constant(_ZERO, kind)
    amounts = {name: pc.fill_null(column.cast(kind), zero) for name, column in values.items()}
    debit, credit = amounts.get("debit", empty), amounts.get("credit", empty)
    if sides is not None:
        is_credit, amount = pc.equal(sides, "credit"), amounts["amount"]
        debit, credit = pc.if_else(is_credit, zero, amount), pc.if_else(is_credit, amount, zero)
    else:
        both = cells.mask(pc.and_(pc.not_equal(debit, zero), pc.not_equal(credit, zero)))
        if reading.options.get("net"):
            reading.note_rows("net", both)
        else:
            reading.ask_of_rows("both_sides", both, [{"net": True}] if "date" in reading.result else [])
    own, turned, halves = (
        pc.add(debit, credit),
        pc.subtract(debit, credit),
        {"debit": debit, "credit": credit},
    )
    if _have_own_signs(reading, own, turned, halves):
        return own, {"debit": debit, "credit": pc.negate(credit)}
    return turned, halves


def _have_own_signs(
    reading: Reading, own: pa.ChunkedArray, turned: pa.ChunkedArray, halves: Mapping[str, pa.ChunkedArray]
) -> bool:
    """Whether the amounts have signs of their own, which their sides do not turn."""
    if stated := reading.options.get("signs"):
        return bool(stated == "own")
    zero = pa.scalar(_ZERO, own.type)
    are_minus = [cells.mask(pc.less(half, zero)) for half in halves.values()]
    if not np.logical_or.reduce(are_minus).any() or own.equals(turned):
        return False
    (minus, plus), (other_minus, other_plus) = (
        (int(rows.sum()), _count(pc.greater(half, zero)))
        for rows, half in zip(are_minus, halves.values(), strict=True)
    )
    # All of one side have a minus, and none of the other.
    is_own = bool(
        (minus and other_plus and not plus + other_minus) or (plus and other_minus and not minus + other_plus)
    )
    is_open = not is_own and reading.books is None
    many = (minus > _REVERSALS * (minus + plus), other_minus > _REVERSALS * (other_minus + other_plus))
    if is_open and any(many):
        sums = {name: str(pc.sum(one).as_py() or _ZERO) for name, one in (("own", own), ("turned", turned))}
        choices: list[Choice] = [{"signs": "own"}, {"signs": "side"}]
        reading.ask_of_rows("signs", np.logical_or.reduce(are_minus), choices, **sums)
    if is_own:
        reading.note("own_signs")
    return is_own


def _count(flags: pa.ChunkedArray) -> int:
    return int(pc.sum(flags).as_py() or 0)
