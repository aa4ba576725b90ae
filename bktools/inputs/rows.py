"""A row is an entry, or it has a name: left out with a note, or part of the question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.frames import schema
from bktools.inputs import cells, words
from bktools.inputs.amounts import Figures
from bktools.inputs.days import may_be_days
from bktools.inputs.notes import Note, note
from bktools.inputs.options import Options
from bktools.inputs.question import Choice, Problems
from bktools.inputs.table import Mask, Table

_SHOWN, _SHOWN_CHARACTERS, _WORDS_OF_A_PATTERN = 4, 50, 3
_FEW, _MANY_ROWS = 100, 5000


def entries_only(
    table: Table,
    places: dict[str, int],
    money: dict[str, Figures],
    kind: str,
    options: Options,
    problems: Problems,
    notes: list[Note],
) -> Mask:
    """Return the rows that are entries; all others are named in a note or a problem.

    A row without an amount is left out where it says a word of reports or has no day. A row with an amount is
    asked about where a cell begins with a word for a balance, or with another word of reports and the row
    lacks a cell that others have.
    """
    count = len(table.lines)
    none = np.zeros(count, dtype=bool)
    has_amount = np.logical_or.reduce([none, *(figures.has_amount for figures in money.values())])
    is_broken = np.logical_or.reduce([none, *(figures.is_broken for figures in money.values())])
    no_day = ~may_be_days(table.columns[places["date"]], options) if "date" in places else none
    # An entry whose amount is to be corrected.
    has_amount = has_amount | (is_broken & ~no_day)
    is_account_open = (
        kind == "ledger" and "account_code" in places and "account_code" not in options.filled_fields
    )
    no_account = cells.blank(table.columns[places["account_code"]]) if is_account_open else none
    texts = _texts(table, places, kind)
    ranks = _ranks(table, texts)
    lacks = (no_day | no_account | _lacks(table, texts, ranks)) & (ranks > words.NO_REPORT)
    is_noted = ~has_amount & ((ranks > words.NO_REPORT) | no_day)
    is_report = ~is_noted & (ranks > words.NO_REPORT) & (lacks | ((ranks > words.MAYBE) & (kind != "ledger")))
    open_rows = ~is_noted & ~is_report
    is_lacking = open_rows & ~has_amount
    no_date = open_rows & has_amount & no_day
    if "date" in places:
        no_date &= cells.blank(table.columns[places["date"]]) & ("date" not in options.filled_fields)
    if is_noted.any():
        lines = table.lines_of(is_noted)
        notes.append(
            note("rows_without_amount", count=len(lines), lines=lines[:_SHOWN], rows=_shown(table, is_noted))
        )
    if options.keeps_reports:
        is_report = none
    if is_report.any():
        said = _said(table, texts, is_report)
        choices: list[Choice] = [
            table.skip(is_report),
            *_pattern(table, said, is_report),
            {"skip_rows": "none"},
        ]
        problems.ask("report_rows", choices, **_facts(table, is_report), values=[text[:40] for text in said])
    if is_lacking.any():
        _ask_of_lacking(table, places, money, is_lacking, problems)
    if no_date.any():
        fill: list[Choice] = [{"fill_down": "date"}] if not no_date[0] and no_date.sum() * 10 > count else []
        choices = [table.skip(no_date), {"columns": {"date": ""}}, *fill]
        problems.ask("rows_without_date", choices, **_facts(table, no_date))
    entries: Mask = ~(is_noted | is_report | is_lacking | no_date)
    return entries


def _facts(table: Table, rows: Mask) -> dict[str, Any]:
    lines = table.lines_of(rows)
    return {"count": len(lines), "lines": lines[:_SHOWN]}


def _texts(table: Table, places: dict[str, int], kind: str) -> list[int]:
    """Return the columns that may say that a row is one of a report."""
    known = {places.get(field) for field in ("date", "currency", "amount", "debit", "credit")}
    known |= {places.get(field) for field in ("account_name", "account_code")} if kind == "ledger" else set()
    return [place for place in range(len(table.columns)) if place not in known]


def _ranks(table: Table, texts: Sequence[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return how surely the texts of each row are those of a report."""
    ranks = np.zeros(len(table.lines), dtype=np.int64)
    for place in texts:
        column = table.columns[place]
        if len(column) and cells.matches(column.slice(0, _FEW), rules.UUID_REGEX).all():
            # IDs are no words, and take the longest.
            continue
        rows = _may_begin(column)
        if rows.any():
            said = column.filter(pa.array(rows))
            own = cells.each(said, words.report_rank, schema.COUNT).to_numpy()
            ranks[rows] = np.maximum(ranks[rows], own)
    return ranks


def _may_begin(column: pa.ChunkedArray) -> Mask:
    """Return the cells that may begin with a word of a report."""
    if len(column) > _MANY_ROWS:
        return cells.matches(column, words.report_pattern())
    # A long pattern takes longer to prepare than a short column to look through.
    return cells.mask(cells.each(column, lambda text: words.report_rank(text) > words.NO_REPORT, schema.FLAG))


def _lacks(
    table: Table, texts: Sequence[int], ranks: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
) -> Mask:
    """Return the rows that lack a text which all rows without words of reports have."""
    lacks = np.zeros(len(ranks), dtype=bool)
    is_other = ranks == words.NO_REPORT
    if is_other.all():
        return lacks
    for place in texts:
        blank = cells.blank(table.columns[place])
        if blank.sum() <= (~is_other).sum():
            lacks |= blank
    return lacks


def _ask_of_lacking(
    table: Table, places: dict[str, int], money: dict[str, Figures], rows: Mask, problems: Problems
) -> None:
    """Ask about entries without an amount; an error in a workbook's cell is to be corrected."""
    broken = table.broken()
    wrong = [
        (line, broken[line, place])
        for line in table.lines_of(rows)
        for place in [places[field] for field in money]
        if (line, place) in broken
    ]
    if wrong:
        lines = [line for line, _ in wrong]
        problems.ask("broken_cells", count=len(lines), lines=lines[:_SHOWN], value=wrong[0][1])
    else:
        problems.ask("rows_lack_amount", [table.skip(rows)], **_facts(table, rows))


def _said(table: Table, texts: Sequence[int], rows: Mask) -> list[str]:
    """Return the different texts of reports in these rows."""
    flags = pa.array(rows)
    said = (text.strip() for place in texts for text in cells.unique(table.columns[place].filter(flags)))
    return list(dict.fromkeys(text for text in said if words.report_rank(text)))


def _pattern(table: Table, said: Sequence[str], rows: Mask) -> list[Choice]:
    """Return a pattern that just these rows contain, which a saved mapping needs: lines change each month."""
    starts = {" ".join(text.split()[:_WORDS_OF_A_PATTERN]) for text in said}
    pattern = "|".join(sorted(re.escape(start).replace("\\ ", " ") for start in starts))
    if ";" in pattern:
        return []
    found = np.zeros(len(table.lines), dtype=bool)
    for column in table.columns:
        found |= cells.matches(column, f"(?i){pattern}") if pattern else False
    return [{"skip_rows": pattern}] if (found == rows).all() else []


def _shown(table: Table, rows: Mask) -> str:
    """Return the first two of some rows in words."""
    first = np.flatnonzero(rows)[:2].tolist()
    texts = (
        " ".join(cell for column in table.columns if (cell := column[row].as_py().strip())) for row in first
    )
    return "; ".join(text[:_SHOWN_CHARACTERS] for text in texts)


def filled_down(table: Table, places: dict[str, int], options: Options) -> list[pa.ChunkedArray]:
    """Return the columns, with the cells above in the empty cells of fields that are filled down."""
    columns = list(table.columns)
    for field in options.filled_fields:
        if field in places:
            above = pc.fill_null_forward(cells.or_null(columns[places[field]]).combine_chunks())
            columns[places[field]] = pa.chunked_array([pc.fill_null(above, "")], schema.TEXT)
    return columns
