"""The close's workbook: steps to do, then figures, entries and reference data; prints on few pages.

The sheet "to do" comes back: its columns to fill in are read by `bktools.read_fixes`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from bktools.close.actions import ENTRY, IDS, Action, Thing
from bktools.close.close import Close
from bktools.close.sentences import Step, detail_of, name_of, step_of
from bktools.frames.excel import too_large, width_of
from bktools.frames.names import IDENTIFIERS
from bktools.reports import sheets
from bktools.reports.sheets import Book, Money, Share, Value
from bktools.wording import Words
from bktools.wording.numbers import percent

# The hidden sheet has this name in every language; the others have theirs in the wording.
LINES = "bktools"
# The other sheets: their tables, and the columns that come first and are printed; of others all names are.
FIGURES = "figures"
TABLES = {
    FIGURES: "fate reason currency entries amount home_amount",
    "entries": "fate reason date supplier description category_name account_code employee_name amount "
    "currency home_amount",
    "changes": "table change about before after currency amount_before amount_after difference percent "
    "drivers",
    "budget": "about currency spent budget difference percent drivers",
    "expected": "month state supplier category_name expected_on currency amount amount_1 amount_2 amount_3 "
    "came_on",
    "coverage": "name external_id account_name state archived",
    "chart": "",
}
# The beginning of the names of columns from the file.
OF_FILE = "file_"
# Between code and name of an account.
BETWEEN = " · "
FORMAT = "bktools to do 3"
FILL, CLOSED = (
    {"bg_color": colour, "border": 1, "border_color": "#DDDDDD", **sheets.WRAPPED}
    for colour in (sheets.PALE, sheets.GREY)
)
# The sections of the words for codes, by column.
CODES = {name: name for name in ("fate", "change", "status", "severity")}
CODES |= {"reason": "entry", "table": "change", "who": "role"}
# The same of columns that mean something else on a sheet.
OF_SHEETS = {
    "changes": {"field": "field"},
    "coverage": {"state": "state"},
    "expected": {"state": "expected"},
    "findings": {"check": "status", "reason": "ledger", "state": "outcome"},
    "open_groups": {"reason": "ledger"},
    "matched": {"reason": "ledger", "state": "outcome"},
}
# Entries of an action with different reasons have as many rows; the sheet of entries has all of them.
SHOWN_ENTRIES = 20
BOLD = {"bold": True}
QUIET = {"font_color": "#777777"}
# A digit of this font has the seven pixels that widths are counted in: no program stretches a picture.
OPTIONS = {
    "in_memory": True,
    "strings_to_urls": False,
    "default_format_properties": {"font_name": "Arial", "font_size": 10},
}


def workbook_of(close: Close) -> bytes:
    """Return the workbook of a close; the same close gives the same bytes."""
    import xlsxwriter

    words = close.words
    known = {**close.tables, FIGURES: close.figures.table, "budget": close.tables.get("all_budget", ())}
    smaller = close.changed.get("below_threshold")
    notes = {"changes": words("report.below_threshold", count=smaller, file="changes.csv")} if smaller else {}
    tables = {name: known[name] for name in TABLES if len(known.get(name, ()))}
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, OPTIONS) as workbook:
        workbook.set_properties({"title": close.title, "created": close.run.begun_at})
        book = Book(workbook, close.title, words("report.workbook.begun", moment=close.run.begun_at), words)
        _to_do(book, close)
        for name, table in tables.items():
            if why := too_large(table):
                title = words(f"report.sheet.{name}")
                sheet = book.sheet(title, sheets.RED, [110])
                sheet.write([words("report.workbook.only_in_csv", sheet=title, why=why)])
                sheet.page(1)
            else:
                totals = close.tables.get(f"{name}_total")
                listing(book, name, table, TABLES[name].split(), totals=totals, note=notes.get(name))
        _identity(book, close)
    return file.getvalue()


def account_label(code: str | None, external_id: str, name: str | None) -> str:
    """Return an account as a person names it: code (the external ID without one) and name."""
    return BETWEEN.join(filter(None, (code or external_id, name)))


# The columns of the sheet to fill in, with widths: those that are printed, then, after an amount per currency
# to add up, those for programs.
PRINTED = {
    "severity": 9,
    "who": 15,
    "to_do": 26,
    "about": 34,
    "why": 26,
    "entries": 9,
    "value": 17,
    "new_account": 24,
    "note": 20,
}
FOR_PROGRAMS = {"command": 12, "check_code": 12}


def _to_do(book: Book, close: Close) -> None:
    """Write the sheet to fill in: a row an action, with a row beneath it for each of several things."""
    words, currencies = close.words, close.figures.currencies
    widths = [*PRINTED.values(), *[12] * len(currencies), *FOR_PROGRAMS.values(), *[12] * len(IDS)]
    sheet = book.sheet(words("report.sheet.to_do"), sheets.RED, widths)
    titles = [
        *(words(f"report.column.{name}") for name in PRINTED),
        *currencies,
        *(words(f"report.column.{name}") for name in (*FOR_PROGRAMS, *IDS)),
    ]
    lines = list(lines_of(close))
    written = sheet.table(titles, [line.cells for line in lines])
    sheet.fold(row for row, line in zip(written, lines, strict=True) if line.is_beneath)
    sheet.listing(len(titles), printed=len(PRINTED))


class Line(NamedTuple):
    """A row of the sheet to fill in: its cells, and whether it is beneath another one."""

    cells: list[Value]
    is_beneath: bool


def lines_of(close: Close) -> Iterator[Line]:
    """Yield a line for each action, then one for each of its things where there are several."""
    for action in close.actions:
        step = step_of(close.words, action)
        several = action.things if len(action.things) > 1 else ()
        yield _line(close, action, step, action)
        for place, thing in enumerate(several):
            about, why = name_of(close.words, thing), detail_of(close.words, action, thing)
            if thing.kind != ENTRY or (why and place < SHOWN_ENTRIES):
                yield _line(close, action, step._replace(about=about, why=why), thing)


def _line(close: Close, action: Action, step: Step, value: Action | Thing) -> Line:
    words, is_beneath = close.words, value is not action
    # A step has its numbers apart, so that a column of them can be added up; a thing has its own as text.
    amounts = {} if is_beneath else value.amounts
    look = {**sheets.WRAPPED, **(QUIET if is_beneath else BOLD)}
    is_asked = action.wants_account and "category_id" in value.ids
    cells: list[Value] = [
        (words.name("severity", action.severity), look),
        (step.who, look),
        (step.to_do, look),
        (step.about, sheets.WRAPPED),
        (step.why or None, sheets.WRAPPED),
        None if is_beneath else value.entries or None,
        (_values(words, value), {**sheets.WRAPPED, **sheets.RIGHT}),
        (None, FILL if is_asked else CLOSED),
        (None, FILL),
        *(Money(amounts.get(name), name) for name in close.figures.currencies),
        action.command or None,
        action.code,
        *map(value.ids.get, IDS),
    ]
    return Line(cells, is_beneath)


def _values(words: Words, value: Action | Thing) -> str | None:
    """Return the amount of each currency on a line of its own, of a category or account with its entries."""
    lines = [words.money({name: amount}) for name, amount in value.amounts.items()]
    if isinstance(value, Thing) and value.kind != ENTRY and value.entries:
        lines = [words.counted(value.entries, "entry"), *lines]
    return "\n".join(lines) or None


def listing(
    book: Book,
    name: str,
    table: pa.Table,
    columns: Sequence[str],
    *,
    totals: pa.Table | None = None,
    note: str | None = None,
) -> None:
    """Write a table on a sheet: some columns first, identifiers last, beside the printed page.

    Below it are rows of `totals`, and a note.
    """
    filled = [
        column
        for column in table.column_names
        if column != "facts" and {*table[column].unique().to_pylist()} - {None, ""}
    ]
    first = [column for column in columns if column in filled]
    names = [column for column in filled if column not in first and not _is_identifier(column)]
    order = [*first, *names, *(column for column in filled if column not in (*first, *names))]
    words = book.words
    codes = CODES | OF_SHEETS.get(name, {})
    blank = dict.fromkeys(order)
    rows, sums = (
        [[_value(blank | row, column, words, codes) for column in order] for row in lines]
        for lines in (table.select(order).to_pylist(), totals.to_pylist() if totals is not None else ())
    )
    titles = [_heading(words, column) for column in order]
    # A column of the file may have the heading of another one.
    titles = [
        words("report.workbook.of_file", column=title) if title in titles[:place] else title
        for place, title in enumerate(titles)
    ]
    if "percent" in order and Share(None) in (cell for row in rows for cell in row):
        titles[order.index("percent")] += f" ({words('report.not_meaningful')})"
    widths = [
        width_of(title, (_text(row[place], words) for row in (*rows, *sums)), sheets.WIDEST)
        for place, title in enumerate(titles)
    ]
    # A text that is longer than the widest column goes on in a second line where it is printed.
    wraps = [place < len(first) and width >= sheets.WIDEST for place, width in enumerate(widths)]
    for row in rows:
        row[:] = [
            (cell, sheets.WRAPPED) if isinstance(cell, str) and wraps[place] else cell
            for place, cell in enumerate(row)
        ]
    sheet = book.sheet(words(f"report.sheet.{name}"), sheets.QUIET, widths)
    sheet.table(titles, rows)
    for row in sums:
        sheet.write(row, BOLD)
    if note:
        sheet.write([note], sheets.NOTE)
    sheet.listing(len(titles), printed=len(first) or len(names))


def _identity(book: Book, close: Close) -> None:
    """Write a hidden sheet that identifies the file."""
    facts = {
        "fact": "value",
        "format": FORMAT,
        "company_id": close.company,
        "environment": close.environment,
        "period": close.period,
        "language": close.words.language,
    }
    sheet = book.sheet(LINES, sheets.QUIET, [10, sheets.WIDEST])
    for pair in facts.items():
        sheet.write(pair)
    sheet.worksheet.hide()


def _heading(words: Words, column: str) -> str:
    """Return the heading of a column: its words, or the file's own words for a column of the file."""
    key = f"report.column.{column}"
    if column.startswith(OF_FILE) and words.has(f"report.column.{column.removeprefix(OF_FILE)}"):
        return words("report.workbook.of_file", column=words(f"report.column.{column.removeprefix(OF_FILE)}"))
    return words(key) if words.has(key) else column.replace("_", " ")


def _value(row: Mapping[str, Any], column: str, words: Words, codes: Mapping[str, str]) -> Value:
    value = row[column]
    if column == "percent" and row.get("difference") is not None:
        return Share(value)
    if isinstance(value, Decimal):
        return Money(value, row.get("currency"))
    return words.name(codes[column], value) if codes.get(column) and value else value


def _text(value: Value, words: Words) -> str:
    if isinstance(value, Share):
        return percent(value.percent, words.language)
    return words.amount(*value) if isinstance(value, Money) else "" if value is None else str(value)


def _is_identifier(name: str) -> bool:
    return name in IDENTIFIERS or name.endswith(("_id", "_url"))
