"""What entries and ledgers share: their rows, days, signed amounts and currencies."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells
from bktools.inputs.assignment import MONEY, ask_amount, ask_column, ask_of_totals, candidates, other_days
from bktools.inputs.columns import most
from bktools.inputs.options import keeps_reports
from bktools.inputs.question import Choice
from bktools.inputs.reading import Reading
from bktools.inputs.rows import entries_only, fill_down
from bktools.inputs.table import Mask
from bktools.inputs.values.amounts import LONGEST, Figures, decimal_mark, is_not_zero
from bktools.inputs.values.currencies import only_currency, only_of_headings, read_currency, settle_foreign
from bktools.inputs.values.days import is_serial, lacks_year, parsed, read_days
from bktools.inputs.values.sides import ask_side, with_sides, without_skipped_sides

_EXAMPLE = dt.date(2026, 10, 31)


def find_money(reading: Reading) -> list[str]:
    """Return the fields of the amounts that have a column; without any, they are asked for."""
    places, columns = reading.places, reading.asked
    if "date" not in {*places, *reading.may_lack} and columns.get("date") != "":
        ask_column(reading, "date")
    named = [name for name in MONEY if name in places]
    for name in named:
        column = reading.seen(places[name])
        if column.filled and not column.are_amounts(0.5) and not reading.is_asked(name):
            reading.note("no_amounts", heading=column.heading, value=column.filled[0][:20])
            reading.leave(name)
    _choose_pair_or_amount(reading)
    is_half = sum(map(reading.has, MONEY)) == 1 and not reading.has("amount")
    if not any(map(reading.has, MONEY)) or (is_half and not {"debit", "credit"} & columns.keys()):
        # Without an amount in the currency of the books, one in another currency may be it.
        reading.leave(*MONEY, "foreign_amount")
        if columns.get("amount") != "":
            # Where a heading is known and its cells are no amounts, the cells may have moved.
            ask_amount(reading, is_doubtful=bool(named) and not any(map(reading.has, named)))
    if reading.has("amount"):
        ask_of_totals(reading)
    return [name for name in MONEY if name in places]


def _choose_pair_or_amount(reading: Reading) -> None:
    """Take debit and credit, which say more than one column, or the amount."""
    if reading.has("debit", "credit") and not reading.is_asked("debit"):
        are_empty = all(map(cells.are_blank, (reading.column("debit"), reading.column("credit"))))
        if _are_both_filled(reading) or (are_empty and reading.has("amount")):
            # They are accounts or balances, or say nothing.
            reading.leave("debit", "credit")
    if reading.has("debit", "credit") and not reading.is_asked("amount"):
        reading.leave("amount")
    elif reading.has("amount"):
        reading.leave("debit", "credit")


def _are_both_filled(reading: Reading) -> bool:
    rows = list(zip(reading.sample("debit"), reading.sample("credit"), strict=True))
    return sum(is_not_zero(debit) and is_not_zero(credit) for debit, credit in rows) * 2 > len(rows)


def _figures(reading: Reading, fields: Sequence[str]) -> dict[str, Figures]:
    numeric = reading.table.numeric
    return {
        name: Figures.of(reading.column(name), is_numeric=reading.places[name] in numeric) for name in fields
    }


def read_money(reading: Reading, own_currency: str | None) -> dict[str, Decimal]:
    """Read `date`, `amount` and `currency` into the result; return the sums of both sides."""
    fields = find_money(reading)
    if reading.has("currency"):
        named = {text.strip() for text in cells.unique(reading.column("currency")) if text.strip()}
        reading.table = replace(reading.table, currency=named.pop() if len(named) == 1 else "")
    if not fields and reading.asked.get("amount") != "":
        return {}
    if not reading.has("side") and fields == ["amount"] and not reading.is_asked("side"):
        ask_side(reading)
    figures, whole = _figures(reading, fields), reading.table
    keep = entries_only(reading, figures) if figures else np.ones(len(whole.lines), dtype=bool)
    if reading.options.get("fill_down"):
        fill_down(reading)
    if reading.has("side", "amount"):
        keep &= without_skipped_sides(reading, keep)
    if not keep.any():
        if not reading.problems:
            reading.problems.ask("no_entries")
        return {}
    reading.table = reading.table.rows(keep)
    read_date(reading, whole.columns)
    if not figures:
        return {}
    figures = figures if keep.all() else _figures(reading, fields)
    sums = _signed(reading, figures, _read_values(reading, figures, own_currency))
    settle_foreign(reading, only_of_headings(reading, figures) or own_currency)
    read_currency(reading, figures, own_currency)
    return sums


def read_stated(reading: Reading, decimal: str, date_format: str | None) -> dict[str, Decimal]:
    """Read `date` and `amount` of a format, which says how they are written; return the sums of both sides.

    A cell that is written otherwise is an `InputError`: the file is damaged.
    """
    table = reading.table
    fields = [name for name in MONEY if name in reading.places]
    if date_format is None:
        read_date(reading, table.columns)
        reading.raise_problems()
    else:
        column = cells.trimmed(reading.column("date"))
        days = cells.each(column, lambda text: parsed(text, date_format), schema.DATE)
        example = f"{_EXAMPLE:{date_format}}"
        # Python takes a day or a month of one digit, too.
        wrong = cells.mask(pc.is_null(days)) | cells.mask(pc.not_equal(pc.utf8_length(column), len(example)))
        reading.refuse("date", wrong, "no_date", example=example)
        reading.result["date"] = days
    figures = {name: Figures.of(reading.column(name)) for name in fields}
    values = {name: own.values(decimal) for name, own in figures.items()}
    neither = np.logical_and.reduce([own.blank for own in figures.values()])
    reading.refuse(fields[0], neither, "no_amount")
    for name, (_, bad) in values.items():
        reading.refuse(name, bad | figures[name].residues, "other_amount", decimal=decimal)
    return _signed(reading, figures, {name: column for name, (column, _) in values.items()})


def read_date(reading: Reading, all_columns: Sequence[pa.ChunkedArray]) -> None:
    """Read the days of a table; `all_columns` are those of rows that are left out, too."""
    if "date" not in reading.places:
        return
    place, options = reading.places["date"], reading.options
    column = reading.column("date")
    if not options.get("date_format") and most(reading.sample("date"), is_serial, 1):
        reading.problems.ask("date_serial", [{"date_format": "serial"}], value=column[0].as_py())
        return
    left_out = [reading.table.left_out[place]] if reading.table.left_out else []
    days, bad = read_days(column, [all_columns[place], *left_out], options, reading.problems)
    reading.result["date"] = days
    if bad.any() and not reading.problems.has("date_format"):
        _ask_of_no_days(reading, bad, cells.unique(column.filter(pa.array(bad))))


def _ask_of_no_days(reading: Reading, bad: Mask, texts: Sequence[str]) -> None:
    """Ask about cells that are no days: the year, what is to be corrected, or rows that are no entries."""
    without_year = [text for text in texts if lacks_year(text) and not reading.options.get("year")]
    broken = [text for text in texts if text.strip()[:1].isdigit()]
    if without_year:
        reading.ask_of_rows("year", bad, value=without_year[0], option="year")
    elif broken:
        reading.ask_of_rows("broken_date", bad, value=broken[0])
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
    currency = only_currency(reading, figures, own_currency)
    decimal = decimal_mark(list(figures.values()), reading.options, currency, reading.problems)
    if decimal == "each":
        reading.note("each_decimal_mark")
    values = {}
    for name, own in figures.items():
        values[name], bad = own.values(decimal)
        reading.note_rows("residues", own.residues, heading=reading.heading(name))
        if bad.any() and not reading.problems.has("decimal"):
            _ask_of_bad(reading, name, bad)
    return values


def _ask_of_bad(reading: Reading, name: str, bad: Mask) -> None:
    """Ask about cells that are no amounts: another column, or rows that are no entries; else correct them."""
    table = reading.table
    text = reading.column(name)[int(bad.argmax())].as_py()
    others = candidates(reading, "amount") if bad.sum() * 2 > len(bad) else []
    choices = [table.choice("amount", place) for place in others]
    if not choices and "date" not in reading.result:
        choices = [table.skip(bad)]
    code = "not_an_amount" if choices else "broken_amount"
    reading.ask_of_rows(code, bad, choices, field=name, heading=reading.heading(name), value=text)


def _signed(
    reading: Reading, figures: dict[str, Figures], values: dict[str, pa.ChunkedArray]
) -> dict[str, Decimal]:
    """Read one amount a row, positive for debit unless the file has its own signs; return both sums."""
    amount, both = with_sides(reading, figures, values)
    if reading.turned:
        is_turned = pa.array(np.isin(reading.table.lines, [*reading.turned]))
        amount = pc.if_else(is_turned, pc.negate(amount), amount)
    if reading.options.get("negate"):
        amount = pc.negate(amount)
        reading.note("negated")
    reading.result["amount"] = amount.cast(pa.decimal128(LONGEST, amount.type.scale))
    return {side: total(column) for side, column in zip(("debit", "credit"), both, strict=True)}


def total(column: pa.ChunkedArray) -> Decimal:
    """Return the sum of amounts."""
    return pc.sum(column.cast(pa.decimal128(LONGEST, column.type.scale))).as_py() or Decimal()
