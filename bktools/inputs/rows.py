"""A row is an entry, or it has a name: left out with a note, or part of the question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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


def entries_only(reading: Reading, money: Mapping[str, Figures]) -> Mask:
    """Return the rows that are entries; all others are named in a note or a problem.

    A row without an amount is left out where it says a word of reports or has no day. A row with an amount is
    asked about where a cell begins with a word for a balance, or with another word of reports and the row
    lacks a cell that others have.
    """
    table, options, is_ledger = reading.table, reading.options, reading.kind == "ledger"
    none = np.zeros(len(table.lines), dtype=bool)
    has_amount = np.logical_or.reduce([none, *(figures.has_amount for figures in money.values())])
    is_broken = np.logical_or.reduce([none, *(figures.is_broken for figures in money.values())])
    no_day = ~may_be_days(reading.column("date"), options) if reading.has("date") else none
    # An entry whose amount is to be corrected.
    has_amount = has_amount | (is_broken & ~no_day)
    has_amount &= ~_are_zeros_without_day(reading, money, no_day)
    filled = filled_fields(options)
    is_account_open = is_ledger and reading.has("account_code") and "account_code" not in filled
    no_account = reading.blank("account_code") if is_account_open else none
    texts, names = _texts(reading)
    ranks = _ranks(table, texts)
    # Where other rows have their account, a sum below them has its word.
    of_names = _ranks(table, names)
    ranks[no_day] = np.maximum(ranks, np.where(of_names > terms.MAYBE, of_names, ranks))[no_day]
    says_report = ranks > terms.NO_REPORT
    lacks = (no_day | no_account | _lacks(table, texts, says_report)) & says_report
    is_noted = ~has_amount & (says_report | no_day | _has_balance_alone(reading))
    keeps = keeps_reports(options)
    is_sum = has_amount & _has_amounts_alone(reading, money)
    is_sum &= (is_sum.sum() * 3 < len(is_sum)) & (not keeps)
    is_report = ~is_noted & ~is_sum & (lacks | ((ranks > terms.MAYBE) & (not is_ledger)))
    is_report &= not keeps
    is_lacking = ~is_noted & ~is_report & ~has_amount
    no_date = ~is_noted & ~is_report & ~is_sum & has_amount & no_day
    if reading.has("date"):
        no_date &= cells.blank(filled_down(reading, "date") if "date" in filled else reading.column("date"))
    # So many are the further rows of a voucher or a day, and no command drops them.
    further = no_date & np.logical_or.accumulate(~no_day)
    are_further = further.sum() * (10 if is_ledger else 3) > len(no_date)
    if are_further or "date" in filled:
        # The first row of a voucher may have its day alone.
        is_noted, is_lacking = is_noted | is_lacking, none
    reading.note_rows("rows_without_amount", is_noted, rows=_shown(table, is_noted))
    reading.ask_of_rows("sum_rows", is_sum, [table.skip(is_sum)])
    if is_report.any():
        report_texts = _report_texts(table, [*texts, *names], is_report)
        left_out: Choice = _pattern(table, report_texts, is_report, is_noted) or table.skip(is_report)
        shown = [text[:40] for text in report_texts]
        reading.ask_of_rows("report_rows", is_report, [left_out, {"skip_rows": "none"}], values=shown)
    _ask_of_lacking(reading, money, is_lacking)
    choices: list[Choice] = [_further_rows(reading, no_date)]
    if further.any() and "date" in filled:
        # No row of these vouchers has a date.
        choices = []
    elif not are_further:
        # A row with an amount may be an entry that waits for its day; most rows of a file are no such ones.
        choices = other_days(reading)
        choices += [table.skip(no_date)] if no_date.sum() * 2 <= len(no_date) else []
    if not is_ledger and (no_date | ~has_amount).all():
        choices.append({"columns": {"date": ""}})
    is_doubtful = len(choices) == 1 and not are_further
    reading.ask_of_rows("rows_without_date", no_date, choices, is_doubtful=is_doubtful)
    entries: Mask = ~(is_noted | is_sum | is_report | is_lacking | no_date)
    return entries


def _are_zeros_without_day(reading: Reading, money: Mapping[str, Figures], no_day: Mask) -> Mask:
    """Return the rows with a text in place of a day, such as NA, beside zeros: an account opens so."""
    rows = no_day & ~cells.blank(reading.column("date")) if no_day.any() else no_day
    for figures in money.values() if rows.any() else ():
        rows &= figures.are_zeros()
    return rows


def _has_amounts_alone(reading: Reading, money: Mapping[str, Figures]) -> Mask:
    """Return the rows with nothing but amounts, as a sum below a table has them."""
    own = [reading.places[field] for field in money]
    others = [column for place, column in enumerate(reading.table.columns) if place not in own]
    return ~cells.any_filled(reading.table, others)


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
            own = cells.each(texts_of_rows, terms.report_rank, schema.COUNT).to_numpy()
            ranks[rows] = np.maximum(ranks[rows], own)
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
    for place in texts if says_report.any() else ():
        blank = cells.blank(table.columns[place])
        if blank.sum() <= says_report.sum():
            lacks |= blank
    return lacks


def _ask_of_lacking(reading: Reading, money: Mapping[str, Figures], rows: Mask) -> None:
    """Ask about entries without an amount; an error in a workbook's cell is to be corrected."""
    table, broken = reading.table, reading.table.broken() if rows.any() else {}
    wrong = {
        line: broken[line, place]
        for line in table.lines_of(rows)
        for place in [reading.places[field] for field in money]
        if (line, place) in broken
    }
    if wrong:
        is_wrong = np.isin(table.lines, [*wrong])
        reading.ask_of_rows("broken_cells", is_wrong, value=next(iter(wrong.values())))
    else:
        reading.ask_of_rows("rows_lack_amount", rows, [table.skip(rows)])


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
