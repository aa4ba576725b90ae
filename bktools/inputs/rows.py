"""A row is an entry, or it has a name: left out with a note, or part of the question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from operator import sub
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.assignment import other_days
from bktools.inputs.options import filled_fields, keeps_reports
from bktools.inputs.question import Choice
from bktools.inputs.reading import Reading
from bktools.inputs.table import Lines, Mask, Table
from bktools.inputs.values.amounts import Figures
from bktools.inputs.values.days import may_be_days

_SHOWN_CHARACTERS, _WORDS_OF_A_PATTERN, _LONGEST_PATTERN = 50, 3, 60
_FEW, _MANY_ROWS = 100, 5000


class _Kinds(NamedTuple):
    """Which rows are what; a row that is of none of the first five is an entry."""

    noted: Mask
    sums: Mask
    reports: Mask
    lacking: Mask
    without_date: Mask
    has_amount: Mask
    has_day: Mask


def _kinds(
    reading: Reading, money: Mapping[str, Figures], texts: Sequence[int], accounts: Sequence[int]
) -> _Kinds:
    table, is_ledger, filled = reading.table, reading.kind == "ledger", filled_fields(reading.options)
    keeps, none = keeps_reports(reading.options), np.zeros(len(table.lines), dtype=bool)
    no_day = ~may_be_days(reading.column("date"), reading.options) if reading.has("date") else none
    is_blank_day = reading.blank("date") & no_day if reading.has("date") else none
    has_amount = np.logical_or.reduce([figures.has_amount for figures in money.values()])
    # An entry whose amount is to be corrected.
    has_amount |= np.logical_or.reduce([figures.is_broken for figures in money.values()]) & ~no_day
    # An account opens so.
    columns = [figures.column for figures in money.values()] if no_day.any() else []
    is_nothing = [~cells.matches(column, "[1-9]") for column in columns]
    has_amount &= ~(no_day & np.logical_and.reduce(is_nothing))
    ranks, of_names = _ranks(table, texts), _ranks(table, accounts)
    # Where other rows have their account, a sum below them has its word.
    ranks = np.where(no_day, np.maximum(ranks, of_names), ranks)
    if no_day.any() and reading.has("date"):
        in_place_of_days = reading.column("date").filter(pa.array(no_day))
        ranks[no_day] = np.maximum(ranks[no_day], _ranks_of(in_place_of_days))
    says_report = ranks > terms.NO_REPORT
    is_noted = ~has_amount & (says_report | no_day | _has_balance_alone(reading))
    if is_ledger and reading.has("account_code") and not keeps:
        # What has neither a day nor an account is no posting, whatever its amount.
        is_noted |= no_day & reading.blank("account_code") & says_report
    # Nothing but amounts, as a sum below a table has them.
    amounts = [reading.places[field] for field in money]
    others = (column for place, column in enumerate(table.columns) if place not in amounts)
    is_sum = ~cells.any_filled(table, others) & has_amount & (not keeps)
    is_sum &= is_sum.sum() * 3 < len(is_sum)
    lacks = (no_day | _lacks(table, texts, says_report)) & says_report
    is_report = (lacks | ((ranks > terms.MAYBE) & (not is_ledger))) & (not keeps)
    if "date" in filled:
        is_blank_day = is_blank_day & cells.blank(filled_down(reading, "date"))
    named = np.select([is_noted, is_sum, is_report, ~has_amount, is_blank_day], [0, 1, 2, 3, 4], 5)
    noted, sums, reports, lacking, without_date = (named == number for number in range(5))
    return _Kinds(noted, sums, reports, lacking, without_date, has_amount, ~no_day)


def entries_only(reading: Reading, money: Mapping[str, Figures]) -> Mask:
    """Return the rows that are entries; all others are named in a note or a problem.

    A row without an amount is left out where it says a word of reports or has no day. A row with an amount is
    asked about where a cell begins with a word for a balance, or with another word of reports and the row
    lacks a cell that others have.
    """
    table, is_ledger = reading.table, reading.kind == "ledger"
    texts, accounts = _texts(reading)
    rows = _kinds(reading, money, texts, accounts)
    is_filled, no_date = "date" in filled_fields(reading.options), rows.without_date
    # So many are the further rows of a voucher or a day, and no command drops them.
    further = no_date & np.logical_or.accumulate(rows.has_day)
    are_further = further.sum() * (10 if is_ledger else 3) > len(no_date)
    if are_further or is_filled:
        # The first row of a voucher may have its day alone.
        rows = rows._replace(noted=rows.noted | rows.lacking, lacking=np.zeros_like(no_date))
    if reading.kind == "entries" and (rows.lacking | no_date).any():
        is_asked = are_further or bool(other_days(reading)) or "date" in reading.may_lack
        rows = _without_waiting(reading, money, rows, is_asked=is_asked)
        no_date = rows.without_date
    if is_ledger and rows.reports.any():
        are_proven = _add_up(money, rows.reports, ~np.logical_or.reduce(rows[:5]))
        rows = rows._replace(noted=rows.noted | are_proven, reports=rows.reports & ~are_proven)
    for code, noted in (
        ("rows_without_amount", rows.noted & ~rows.has_amount),
        ("rows_of_a_report", rows.noted & rows.has_amount),
    ):
        reading.note_rows(code, noted, rows=_shown(table, noted))
    reading.ask_of_rows("sum_rows", rows.sums, [table.skip(rows.sums)])
    if rows.reports.any():
        days = [reading.places["date"]] if reading.has("date") else []
        report_texts = _report_texts(table, [*days, *texts, *accounts], rows.reports)
        pattern = _pattern(table, report_texts, rows.reports, rows.noted)
        choices: list[Choice] = [pattern or table.skip(rows.reports), {"skip_rows": "none"}]
        reading.ask_of_rows("report_rows", rows.reports, choices, values=[text[:40] for text in report_texts])
    reading.ask_of_rows("rows_lack_amount", rows.lacking, [table.skip(rows.lacking)])
    choices = [_further_rows(reading, no_date)]
    if further.any() and is_filled:
        # No row of these vouchers has a date.
        choices = []
    elif not are_further:
        # A row with an amount may be an entry that waits for its day; most rows of a file are no such ones.
        choices = other_days(reading)
        choices += [table.skip(no_date)] if no_date.sum() * 2 <= len(no_date) else []
    # What is filled down without a proof may be the day of another voucher.
    is_doubtful = len(choices) == 1
    reading.ask_of_rows("rows_without_date", no_date, choices, is_doubtful=is_doubtful)
    entries: Mask = ~np.logical_or.reduce(rows[:5])
    return entries


def _add_up(money: Mapping[str, Figures], totals: Mask, entries: Mask) -> Mask:
    """Return which of these rows are the sum of the entries above, up to another total or to the top."""
    columns = [
        np.array([value or Decimal() for value in own.values(own.own_mark)[0].to_pylist()])
        for own in money.values()
    ]
    sums = [np.cumsum(column * entries) for column in columns]
    begins, are_proven = [[Decimal() for _ in sums]], np.zeros_like(totals)
    for row in np.flatnonzero(totals).tolist():
        ends, stated = [own[row] for own in sums], [own[row] for own in columns]
        are_proven[row] = any([*map(sub, ends, begin)] == stated for begin in begins)
        begins.append(ends)
    return are_proven


def _without_waiting(
    reading: Reading, money: Mapping[str, Figures], rows: _Kinds, *, is_asked: bool
) -> _Kinds:
    """Return the kinds of rows where entries that wait for their amount or their day are entries, and noted.

    They fill each other column which all entries fill, and say whose they are: no sum does.
    """
    places, entries = reading.places, ~np.logical_or.reduce(rows[:5])
    names = [places[field] for field in ("id", "supplier", "category_id") if reading.has(field)][:1]
    blank = [cells.blank(column) for column in reading.table.columns if names]
    full = [place for place, own in enumerate(blank) if entries.any() and not own[entries].any()]
    for kind, code, lacks in (
        ("lacking", "entries_without_amount", [*money]),
        ("without_date", "entries_without_date", [] if is_asked else ["date"]),
    ):
        waiting = getattr(rows, kind) & bool(full and lacks)
        for place in {*full, *names}.difference(map(places.get, lacks)):
            waiting &= ~blank[place]
        reading.note_rows(code, waiting)
        rows = rows._replace(**{kind: getattr(rows, kind) & ~waiting})
    return rows


def _has_balance_alone(reading: Reading) -> Mask:
    """Return the rows of a ledger with something in a column of balances, as an account opens."""
    columns = [reading.seen(place) for place in reading.free()] if reading.kind == "ledger" else []
    return cells.any_filled(reading.table, [column.cells for column in columns if column.says_balance])


def _further_rows(reading: Reading, no_date: Mask) -> Choice:
    """Return the option that fills all fields which only the first of several rows has, as it has the day."""
    beside = ("voucher_id", "document_number") if reading.kind == "ledger" else ()
    blank = {field: reading.blank(field) for field in filter(reading.has, beside)}
    fields = [field for field, own in blank.items() if own[no_date].all() and not own[0]]
    return {"fill_down": ",".join(["date", *fields])}


def _texts(reading: Reading) -> tuple[list[int], list[int]]:
    """Return the columns that may say that a row is one of a report, and those of a ledger's accounts."""
    accounts = ("account_name", "account_code") if reading.kind == "ledger" else ()
    names = [reading.places[field] for field in filter(reading.has, accounts)]
    known = {*names, *map(reading.places.get, ("date", "currency", "amount", "debit", "credit"))}
    return [place for place in range(len(reading.table.columns)) if place not in known], names


def _ranks(table: Table, texts: Sequence[int]) -> Lines:
    """Return how surely the texts of each row are those of a report."""
    ranks = np.zeros(len(table.lines), dtype=np.int64)
    for place in texts:
        column = table.columns[place]
        if len(column) and cells.matches(column.slice(0, _FEW), rules.UUID_REGEX).all():
            # IDs are no words, and take the longest.
            continue
        rows = _may_begin(column)
        if rows.any():
            texts_of_rows = column.filter(pa.array(rows))
            ranks[rows] = np.maximum(ranks[rows], _ranks_of(texts_of_rows))
    return ranks


def _ranks_of(column: pa.ChunkedArray) -> Lines:
    ranks: Lines = cells.each(column, terms.report_rank, schema.COUNT).to_numpy()
    return ranks


def _may_begin(column: pa.ChunkedArray) -> Mask:
    """Return the cells that may begin with a word of a report."""
    if len(column) > _MANY_ROWS:
        return cells.matches(column, terms.report_pattern())
    # A long pattern takes longer to prepare than a short column to look through.
    return cells.mask(cells.each(column, lambda text: terms.report_rank(text) > terms.NO_REPORT, schema.FLAG))


def _lacks(table: Table, texts: Sequence[int], says_report: Mask) -> Mask:
    """Return the rows that lack a text which all rows without words of reports have."""
    lacks = np.zeros(len(says_report), dtype=bool)
    for place in texts if says_report.any() and not says_report.all() else ():
        blank = cells.blank(table.columns[place])
        if blank.sum() <= says_report.sum():
            lacks |= blank
    return lacks


def _report_texts(table: Table, texts: Sequence[int], rows: Mask) -> list[str]:
    """Return the different texts of reports in these rows."""
    flags = pa.array(rows)
    own = (text.strip() for place in texts for text in cells.unique(table.columns[place].filter(flags)))
    return list(dict.fromkeys(text for text in own if terms.report_rank(text)))


def _pattern(table: Table, texts: Sequence[str], rows: Mask, noted: Mask) -> Choice | None:
    """Return a pattern that just these rows contain, which a saved mapping needs: lines change each month.

    It has the first words of their texts, or the first one where they are many; rows that are noted may
    contain it, too.
    """
    for count in (_WORDS_OF_A_PATTERN, 1):
        starts = {
            start.casefold(): start for text in reversed(texts) if (start := " ".join(text.split()[:count]))
        }
        pattern = "|".join(sorted(re.escape(start).replace("\\ ", " ") for start in starts.values()))
        if pattern and ";" not in pattern and len(pattern) <= _LONGEST_PATTERN:
            matching = [cells.matches(column, f"(?i){pattern}") for column in table.columns]
            if (np.logical_or.reduce(matching) == rows)[~noted].all():
                return {"skip_rows": pattern}
    return None


def _shown(table: Table, rows: Mask) -> str:
    """Return the first two of some rows in words."""
    first = np.flatnonzero(rows)[:2].tolist()
    texts = (
        " ".join(cell for column in table.columns if (cell := column[row].as_py().strip())) for row in first
    )
    return "; ".join(text[:_SHOWN_CHARACTERS] for text in texts)


def filled_down(reading: Reading, field: str) -> pa.ChunkedArray:
    """Return the cells of a field, empty ones as the cell above, but for that of another voucher."""
    column = reading.column(field)
    above = np.maximum.accumulate(np.where(cells.blank(column), -1, np.arange(len(column))))
    filled = pc.fill_null(column.take(pa.array(above, mask=above < 0)), "")
    if field == "voucher_id" or not reading.has("voucher_id"):
        return filled
    voucher = reading.or_null("voucher_id")
    is_of_another = pc.not_equal(voucher, voucher.take(pa.array(above, mask=above < 0)))
    return pc.if_else(pc.fill_null(is_of_another, False), column, filled)


def fill_down(reading: Reading) -> None:
    """Fill empty cells with the cell above, in fields that only the first of their rows has."""
    names = filled_fields(reading.options)
    for field in filter(reading.has, names):
        reading.put(field, filled_down(reading, field))
    reading.note("filled_down", names=list(names))
