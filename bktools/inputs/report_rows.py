"""Rows that are no entries or postings: repeated headings, totals, balances, and other report lines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal
from operator import add

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import name_of, setting
from bktools.errors import ArgumentError
from bktools.inputs import cells, words
from bktools.inputs.columns import Reading
from bktools.inputs.running_sums import numbers_of
from bktools.inputs.signed_amounts import MONEY
from bktools.inputs.table import Table
from bktools.inputs.words import normal

# Fields whose texts stand beside a word for a balance, too.
_BESIDE_A_WORD = ("date", "account_code", "account_name", "currency", "sign", "side", "company_id")
_BALANCES = words.values("balance")
_ALONE = words.TOTALS | _BALANCES | words.values("turnover")
_REPORT = words.TOTALS | _BALANCES | words.values("footer")
_MOST = 0.5


def keep_rows(
    reading: Reading, what: str, identities: Sequence[str], *, lacks_all: bool, others: Sequence[int] = ()
) -> None:
    """Leave out the rows that are none of `what`, which notes count.

    These rows have a broken cell, hold nothing (in fields and the other columns), repeat the headings, or are
    lines of a report (`report_lines`).
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
    again = are_headings(reading.table, places)
    remarks = {
        "rows skipped as headings that are repeated": again,
        f"rows skipped as totals or lines of a report, not {what}": (
            report_lines(reading, identities, lacks_all=lacks_all) & ~again
        ),
    }
    reading.skip(remarks, what)


def report_lines(reading: Reading, identities: Sequence[str], *, lacks_all: bool) -> cells.Mask:
    """Return the rows that are totals, balances or other lines of a report.

    Such a row lacks all of the fields that tell rows apart, or without `lacks_all` one of them, and has a
    cell that begins with a word for it, such as Total. A supplier's name may begin so, too: a row with an
    amount is a total only where the cell is the word alone, the name of another cell follows the word, or
    the amount adds up those above.
    """
    table = reading.table
    columns = [reading.column(field) for field in identities if reading.has(field)]
    both = np.logical_and if lacks_all else np.logical_or
    lines = np.zeros(len(table.lines), dtype=bool)
    rows = both.reduce([_lacks(column) for column in columns]) if columns else lines
    if rows.any():
        lines[rows] = np.logical_or.reduce([says_report(column) for column in table.rows(rows).columns])
    with_amount = lines & has_amount(reading)
    if not with_amount.any():
        return lines
    doubtful = with_amount.copy()
    doubtful[with_amount] = ~_are_shown(reading, columns, with_amount)
    if doubtful.any():
        doubtful &= ~_add_up(_money(reading), with_amount)
    return lines & ~doubtful


def has_amount(reading: Reading) -> cells.Mask:
    """Return the rows in which a column of money holds something."""
    blank = [reading.blank(field) for field in MONEY if reading.has(field)]
    return ~np.logical_and.reduce(blank) if blank else np.zeros(len(reading.table.lines), dtype=bool)


def _are_shown(reading: Reading, identities: Sequence[pa.ChunkedArray], rows: cells.Mask) -> cells.Mask:
    """Return which of the rows are lines of a report by their texts alone."""
    chosen = pa.array(rows)
    shown = [
        # A cell that begins so is no date and no code of an account.
        says_report(column.filter(chosen))
        for column in identities
        if (cells.matches(column, r"\d") | cells.blank(column)).mean() > _MOST
    ]
    for column in reading.table.columns:
        few = column.filter(chosen)
        names = {normal(text) for text in pc.unique(column).to_pylist()} if says_report(few).any() else set()
        shown.append(cells.mask(words.are_alone(few, _REPORT, names)))
    are_shown: cells.Mask = np.logical_or.reduce(shown)
    return are_shown


def leave_reports(reading: Reading, what: str, report_rows: str | None) -> None:
    """Leave out the rows with only a word for a balance or a total, a date and an amount, or ask for them.

    Such a row is a line of a report where its amount adds up rows above it, or where the ledger balances
    without it. A balance among entries is one in any case; a balance in a ledger may be the posting that
    opens the books. `report_rows` is the caller's answer: "skip" or "keep".
    """
    if report_rows not in (None, "skip", "keep"):
        raise ArgumentError(name_of("report_rows"), 'must be "skip" or "keep"', report_rows)
    if "date" not in reading.places or (reading.has("id") and not reading.blank("id").any()):
        return
    table = reading.table
    rows = _are_nothing_but_a_word(reading)
    if not rows.any():
        return
    row = int(rows.argmax())
    shown = (column.slice(row, 1) for column in table.columns)
    word = next(column[0].as_py() for column in shown if cells.mask(words.are_alone(column, _ALONE))[0])
    such = f"nothing but {cells.quoted(word.strip())} or the like, a date and an amount"
    answer = report_rows or _report_or_not(reading, rows, is_ledger=what == "postings")
    if answer == "keep":
        way = setting("report_rows", "skip")
        reading.notes += cells.counted(table, {f"{what} that hold {such} (leave them out with {way})": rows})
    elif answer == "skip":
        reading.skip(
            {f"rows skipped that hold {such} (read them with {setting('report_rows', 'keep')})": rows}, what
        )
    else:
        reading.problems.append(
            table.error(
                f"rows hold {such} ({cells.lines_of(table, rows)}), as sums in a report do; "
                "their amounts do not show it: leave them out, or read them with report rows kept",
                int(table.lines[row]),
                report_rows="skip" if what == "postings" else "keep",
            )
        )


def _report_or_not(reading: Reading, rows: cells.Mask, *, is_ledger: bool) -> str | None:
    """Return what amounts say of rows that look like report lines: skip, keep, or None for neither."""
    columns = _money(reading)
    is_total = ~np.logical_or.reduce([_says_balance(column) for column in reading.table.columns]) & rows
    if (is_total & ~_add_up(columns, rows)).any():
        return None
    if not is_ledger or not (rows & ~is_total).any():
        return "skip"
    with_all, without = (_sum(columns, chosen) for chosen in (np.ones_like(rows), ~rows))
    # Balances that add up to zero open the books by themselves.
    if with_all in (0, without):
        return "keep"
    return "skip" if without == 0 else None


def _money(reading: Reading) -> list[Sequence[Decimal | None]]:
    numbers = (numbers_of(reading.table, reading.places[field]) for field in MONEY if reading.has(field))
    return [column for column in numbers if column]


def _add_up(columns: Sequence[Sequence[Decimal | None]], rows: cells.Mask) -> cells.Mask:
    """Return which rows hold the sums of rows above: of all, or of those since the last such row."""
    agree = np.zeros_like(rows)
    of_all, since = ([Decimal()] * len(columns) for _ in range(2))
    for row in range(int(np.flatnonzero(rows)[-1]) + 1 if columns else 0):
        amounts = [column[row] or Decimal() for column in columns]
        if not rows[row]:
            of_all, since = ([*map(add, sums, amounts)] for sums in (of_all, since))
            continue
        agree[row] = any(amounts) and any(
            all(amount in (0, total) for amount, total in zip(amounts, sums, strict=True))
            for sums in (of_all, since)
        )
        since = [Decimal()] * len(columns)
    return agree


def _sum(columns: Sequence[Sequence[Decimal | None]], chosen: cells.Mask) -> Decimal:
    """Return the debits less the credits, or the sum of the amounts, of the chosen rows."""
    signs = (1, -1)
    sums = [
        sum((column[at] or Decimal() for at in np.flatnonzero(chosen).tolist()), Decimal())
        for column in columns
    ]
    return sum((sign * amount for sign, amount in zip(signs, sums, strict=False)), Decimal())


def _are_nothing_but_a_word(reading: Reading) -> cells.Mask:
    """Return the rows whose only text is a word for a balance or total.

    Accounts, dates and currencies do not count.
    """
    table = reading.table
    passed_over = {reading.places[field] for field in _BESIDE_A_WORD if field in reading.places}
    columns = [column for place, column in enumerate(table.columns) if place not in passed_over]
    begin = [cells.matches(column, words.beginnings("total", "balance", "turnover")) for column in columns]
    alone: cells.Mask = np.logical_or.reduce([*begin, np.zeros(len(table.lines), dtype=bool)])
    says = np.zeros(len(table.lines), dtype=bool)
    for column, may_be_word in zip(columns, begin, strict=True):
        if not alone.any():
            break
        is_text = cells.matches(column, r"\pL{4}") & alone
        is_word = is_text & may_be_word
        if is_word.any():
            is_word[is_word] = cells.mask(words.are_alone(column.filter(pa.array(is_word)), _ALONE))
        alone &= ~is_text | is_word
        says |= is_word
    return alone & says


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
    return cells.mask(words.begin(column, _REPORT))


def _says_balance(column: pa.ChunkedArray) -> cells.Mask:
    return cells.mask(words.begin(column, _BALANCES))
