"""Rows that are no entries or postings: repeated headings, totals, balances, and other report lines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal

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

# Fields whose texts stand beside a word for a balance, too.
_BESIDE_A_WORD = ("date", "account_code", "account_name", "currency", "sign", "side", "company_id")
_BALANCES = words.values("balance")
_ALONE = words.TOTALS | _BALANCES | words.values("turnover")
_REPORT = words.TOTALS | _BALANCES | words.values("footer")


def keep_rows(
    reading: Reading, what: str, identities: Sequence[str], *, lacks_all: bool, others: Sequence[int] = ()
) -> None:
    """Leave out the rows that are none of `what`, which notes count.

    These rows have a broken cell, hold nothing (in fields and the other columns), repeat the headings, or are
    totals, balances and lines of a report: such a row lacks all of the fields that tell rows apart, or
    without `lacks_all` one of them, and has a cell that begins with a word for it, such as Total.
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
    columns = [numbers_of(reading.table, reading.places[field]) for field in MONEY if field in reading.places]
    is_total = ~np.logical_or.reduce([_says_balance(column) for column in reading.table.columns]) & rows
    if any(not _adds_up(columns, rows, int(row)) for row in np.flatnonzero(is_total)):
        return None
    if not is_ledger or not (rows & ~is_total).any():
        return "skip"
    with_all, without = (_sum(columns, chosen) for chosen in (np.ones_like(rows), ~rows))
    if with_all == 0:
        return "keep"
    return "skip" if without == 0 else None


def _adds_up(columns: Sequence[Sequence[Decimal | None]], rows: cells.Mask, row: int) -> bool:
    """Whether a row's amounts are sums of rows above: of all, or of those since the last such row."""
    before = np.flatnonzero(rows[:row])
    begins = {0, int(before[-1]) + 1 if len(before) else 0}
    stated = [(column[row], column) for column in columns if column and column[row]]
    return bool(stated) and any(
        all(
            amount == sum((column[at] or Decimal() for at in range(begin, row) if not rows[at]), Decimal())
            for amount, column in stated
        )
        for begin in begins
    )


def _sum(columns: Sequence[Sequence[Decimal | None]], chosen: cells.Mask) -> Decimal:
    """Return the debits less the credits, or the sum of the amounts, of the chosen rows."""
    signs = (1, -1)
    sums = [
        sum((column[at] or Decimal() for at in np.flatnonzero(chosen).tolist()), Decimal())
        for column in columns
        if column
    ]
    return sum((sign * amount for sign, amount in zip(signs, sums, strict=False)), Decimal())


def _are_nothing_but_a_word(reading: Reading) -> cells.Mask:
    """Return the rows whose only text is a word for a balance or total.

    Accounts, dates and currencies do not count.
    """
    table = reading.table
    passed_over = {reading.places[field] for field in _BESIDE_A_WORD if field in reading.places}
    alone = np.ones(len(table.lines), dtype=bool)
    says = np.zeros(len(table.lines), dtype=bool)
    for place, column in enumerate(table.columns):
        if place in passed_over or not alone.any():
            continue
        is_text = cells.matches(column, r"\pL{4}") & alone
        is_word = is_text & words.may_begin(column, "total", "balance", "turnover")
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
