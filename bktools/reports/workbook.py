"""The close's workbook: figures first, then what is to be done, then entries and reference data; it prints on few pages.

The sheet "to do" comes back: its columns to fill in are read by `bktools.read_fixes`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import pandas as pd

from bktools import disk
from bktools.close import Close
from bktools.frames.currencies import shown
from bktools.frames.names import IDENTIFIERS
from bktools.frames.schema import to_arrow
from bktools.reports.excel import too_large
from bktools.reports.grid import (
    GREY,
    HEADING,
    NARROWEST,
    NAVY,
    NOTE,
    PALE,
    QUIET,
    RED,
    TITLE,
    WIDEST,
    WRAPPED,
    Book,
    Money,
    Share,
    Value,
)  # fmt: skip
from bktools.reports.pictures import MONEY
from bktools.reports.to_do import IDS

CLOSE, TO_DO, ENTRIES, CHANGES, CATEGORIES, CHART, LINES = (
    "close", "to do", "entries", "changes", "categories", "chart", "lines",
)  # fmt: skip
# The headings of the columns to fill in, and of the identity of a line.
NEW_ACCOUNT, NOTE_TO_FILL, LINE_ID = "new account", "note", "line id"
# Between code and name of an account to choose.
BETWEEN = " · "
FORMAT = "bktools to do 1"
FILL, CLOSED = ({"bg_color": colour, "border": 1, "border_color": "#DDDDDD", **WRAPPED} for colour in (PALE, GREY))
# Currencies with a column on the first sheet's page; others have theirs beside the page.
PRINTED_CURRENCIES = 6
LABEL, AMOUNT = 58, 14

# Columns of the entries by heading: those that are printed, then those beside the page.
PRINTED = (
    "fate", "reason", "date", "supplier", "description", "category_name", "account_code", "employee_name", "amount",
    "currency",
)  # fmt: skip
# Columns with codes that are written as words.
CODES = ("reason", "state")


def write_close(close: Close, path: Path, pictures: Mapping[str, bytes] | None = None) -> Path:
    """Write the workbook of a close; the same close gives the same bytes."""

    def write(file: IO[bytes]) -> None:
        import xlsxwriter

        with xlsxwriter.Workbook(file, {"in_memory": True, "strings_to_urls": False}) as workbook:
            workbook.set_properties({"title": close.title, "created": close.run.begun_at})
            book = Book(workbook, close.title, f"begun {close.run.begun_at:%Y-%m-%d %H:%M} UTC")
            tables = {
                ENTRIES: (close.entries, PRINTED),
                CHANGES: (close.changes, None),
                CATEGORIES: (getattr(close, "by_category_frame", None), None),
                CHART: (close.chart, None),
            }
            omitted = {
                name: f"only in its CSV file: it {why}"
                for name, (frame, _) in tables.items()
                if frame is not None and (why := too_large(frame))
            }
            _first(book, close, omitted, (pictures or {}).get(MONEY))
            labels = [] if CHART in omitted else _labels(close)
            _to_do(book, close, has_list=bool(labels))
            for name, (frame, columns) in tables.items():
                if frame is not None and not frame.empty and name not in omitted:
                    _listing(book, name, frame, columns or (), labels if name == CHART else [])
            _lines(book, close)

    return disk.write_whole(path, write)


def label_of(code: str | None, external_id: str, name: str | None) -> str:
    """Return an account as a person chooses it: code (the external ID without one) and name."""
    return BETWEEN.join(filter(None, (code or external_id, name)))


def _first(book: Book, close: Close, omitted: Mapping[str, str], picture: bytes | None) -> None:
    """Write one page: what became of the month, against the last one, what to do first, who has to act, the jobs."""
    currencies = close.currencies
    grid = book.grid(CLOSE, NAVY, [LABEL, 10, *[AMOUNT] * len(currencies)])
    grid.sheet.hide_gridlines(2)
    grid.sheet.set_portrait()
    grid.write([f"Month-end {close.period}"], TITLE)
    grid.write([f"{close.company_label}{BETWEEN}{close.state_label}"], HEADING)
    if close.environment == "sandbox":
        grid.write(["sandbox: invented data, no real books"], NOTE)

    def table(title: str, titles: Sequence[str], rows: Iterable[Sequence[Value]]) -> range:
        grid.skip()
        grid.write([title], HEADING)
        return grid.table(titles, rows)

    def cells(label: str, entries: int | None, amounts: Mapping[str, Decimal]) -> list[Value]:
        return [(label, WRAPPED), entries, *(Money(amounts.get(currency), currency) for currency in currencies)]

    lines = [line for line in close.statement if not line.reason]
    held = [line for line in close.statement if line.reason and line.fate == "held back"]
    titles = ["", "entries", *currencies]
    rows = table("Entries and amounts", titles, [cells(line.label, line.entries, line.amounts) for line in lines[:-1]])
    grid.total(rows, cells(lines[-1].label, lines[-1].entries, lines[-1].amounts))
    if close.against:
        of = {line.currency: line for line in close.against}
        before, now, change = (
            {name: getattr(line, part) for name, line in of.items()} for part in ("before", "now", "change")
        )
        rows = [
            cells(close.last_month_period, None, before),
            cells(close.period, None, now),
            cells("change", None, change),
        ]
        shares = [Share(of[name].share) if name in of else None for name in currencies]
        table(f"Exported, against {close.last_month_period}", ["", "", *currencies], [*rows, ["%", None, *shares]])
    first = [(f"{action.to_do}: {action.about} ({action.role})", action) for action in close.actions[:3]]
    table("What to do first", titles, [cells(text, action.entries, action.amounts) for text, action in first])
    roles = [cells(f"{line.role}: {line.actions:,} to do", line.entries, line.amounts) for line in close.by_role]
    table(f"Who has to act (see the sheet {TO_DO!r})", titles, roles)
    if held:
        rows = table("Held back, by reason", titles, [cells(line.label, line.entries, line.amounts) for line in held])
        whole = next(line for line in lines if line.fate == held[0].fate)
        grid.total(rows, cells(whole.label, whole.entries, whole.amounts))
    jobs = [(f"{job.sent_at:%Y-%m-%d %H:%M} UTC, {job.sent_by}: {job.outcome.lower()}", job) for job in close.jobs]
    table(f"Export jobs of {close.period}", titles, [cells(text, job.entries, job.amounts) for text, job in jobs])
    grid.skip()
    for name, value in (*close.run_facts, *omitted.items()):
        grid.write([f"{name}: {value}"], NOTE)
    if picture is not None:
        grid.skip()
        grid.picture(picture, f"Exported and held back in {close.period}")
    grid.sheet.print_area(0, 0, grid.row, 1 + min(len(currencies), PRINTED_CURRENCIES))
    grid.sheet.fit_to_pages(1, 1)


def _to_do(book: Book, close: Close, *, has_list: bool) -> None:
    """Write the sheet to fill in: one row an action, and the identity of each row."""
    titles = ["severity", "who", "to do", "about", "why", "entries", "amount", "currency", NEW_ACCOUNT, NOTE_TO_FILL]
    identity = ["check", *(name.replace("_", " ") for name in IDS), LINE_ID]
    grid = book.grid(TO_DO, RED, [9, 18, 28, 44, 36, 8, 15, 9, 32, 24, *[12] * len(identity)])
    rows = grid.table([*titles, *identity], (
        [
            *((text, WRAPPED) for text in (action.severity, action.role, action.to_do, action.about, action.why)),
            action.entries or None,
            *_amounts(action.amounts),
            (None, FILL if action.wants_account else CLOSED),
            (None, FILL),
            action.check,
            *(action.ids.get(name) for name in IDS),
            action.key(close.company, close.period),
        ]
        for action in close.actions
    ))  # fmt: skip
    for row, action in zip(rows, close.actions, strict=True):
        if action.wants_account and has_list:
            place = titles.index(NEW_ACCOUNT)
            grid.sheet.data_validation(row, place, row, place, CHOICE)
    grid.listing(len(titles) + len(identity))
    grid.print(len(titles))


def _listing(book: Book, name: str, frame: pd.DataFrame, first: Sequence[str], labels: Sequence[str]) -> None:
    """Write a table of its own sheet: the named columns first, identifiers last and beside the printed page."""
    table = to_arrow(frame, f"the table {name!r}")
    filled = [column for column in table.column_names if table.column(column).null_count < len(table)]
    order = [*(column for column in first if column in filled), *(column for column in filled if column not in first)]
    order.sort(key=_is_identifier)
    rows = [[_value(row, column) for column in order] for row in table.select(order).to_pylist()]
    titles = [_title(column) for column in order]
    widths = [_width(title, (row[place] for row in rows)) for place, title in enumerate(titles)]
    if labels:
        titles.append("account to choose")
        widths.append(WIDEST)
        rows = [[*row, label] for row, label in itertools.zip_longest(rows, labels)]
    grid = book.grid(name, QUIET, widths)
    written = grid.table(titles, rows)
    if labels:
        from xlsxwriter.utility import xl_range_abs

        place = len(titles) - 1
        cells = xl_range_abs(written[0], place, written[0] + len(labels) - 1, place)
        book.book.define_name(CHOICES, f"={name}!{cells}")
    grid.listing(len(titles))
    grid.print(len(first) or sum(not _is_identifier(column) for column in order))


def _lines(book: Book, close: Close) -> None:
    """Write a hidden sheet with the identity of the file and of its lines, so that a missing line is noticed."""
    facts = [
        ("fact", "value"),
        ("format", FORMAT),
        ("company_id", close.company),
        ("environment", close.environment),
        ("period", close.period),
        ("begun_at", close.run.begun_at.isoformat()),
        *(("line", f"{action.key(close.company, close.period)} {action.about}") for action in close.actions),
    ]
    grid = book.grid(LINES, QUIET, [10, WIDEST])
    for pair in facts:
        grid.write(pair)
    grid.sheet.hide()


def _amounts(amounts: Mapping[str, Decimal]) -> list[Value]:
    """Return amount and currency; amounts of several currencies stand below each other as text."""
    if len(amounts) == 1:
        [(currency, amount)] = amounts.items()
        return [Money(amount, currency), (currency, {"indent": 1})]
    texts = "\n".join(shown(amount, currency) for currency, amount in amounts.items())
    return [(texts or None, {"align": "right", **WRAPPED}), ("\n".join(amounts) or None, {"indent": 1, **WRAPPED})]


def _labels(close: Close) -> list[str]:
    """Return the active accounts of the chart as a person chooses them."""
    active = close.chart[~close.chart["archived"].fillna(value=False).astype(bool)]
    rows = to_arrow(active[["code", "external_id", "name"]].sort_values(["code", "external_id"])).to_pylist()
    return [label_of(row["code"], row["external_id"], row["name"]) for row in rows if row["external_id"]]


def _value(row: Mapping[str, Any], column: str) -> Value:
    value = row[column]
    if isinstance(value, Decimal):
        return Share(value) if column == "share" else Money(value, row.get("currency"))
    return value.replace("_", " ") if column in CODES and value is not None else value


def _title(column: str) -> str:
    return column.removesuffix("_name").replace("_", " ")


def _width(title: str, values: Iterable[Value]) -> int:
    texts = (shown(*value) if isinstance(value, Money) else str(value) for value in values if value is not None)
    longest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    # The arrow of the filter covers three characters of the heading.
    return min(max(longest + 1, len(title) + 3, NARROWEST), WIDEST)


def _is_identifier(name: str) -> bool:
    return (name in IDENTIFIERS or name.endswith(("_id", "_url"))) and name != "external_id"


# The name of the cells with the accounts to choose: on the sheet of the chart, after its own columns.
CHOICES = "accounts_to_choose"
CHOICE = {
    "validate": "list",
    "source": f"={CHOICES}",
    "error_title": "Unknown account",
    "error_message": "Choose an active account of the chart from the list.",
    "input_message": "Choose the account that the category shall have.",
}
