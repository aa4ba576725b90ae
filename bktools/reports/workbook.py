"""The close's workbook: figures first, then what is to be done, then entries and reference data; it prints on few pages.

The sheet "to do" comes back: its columns to fill in are read by `bktools.read_fixes`.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from bktools.close.actions import IDS, Action
from bktools.close.close import Close
from bktools.close.entries import HELD
from bktools.close.figures import ALL
from bktools.frames.codes import sentence
from bktools.frames.excel import too_large, width_of
from bktools.frames.names import IDENTIFIERS
from bktools.reports import grid
from bktools.reports.grid import Book, Money, Share, Value
from bktools.reports.pictures import MONEY
from bktools.wording.numbers import shown

CLOSE, TO_DO, LINES = "close", "to do", "lines"
# The other sheets: their tables, and the columns that come first and are printed; of the others all names are.
CHART = "chart"
TABLES = {
    "entries": (
        "fate", "reason", "date", "supplier", "description", "category_name", "account_code", "employee_name", "amount",
        "currency",
    ),
    "changes": (
        "table", "change", "about", "before", "after", "currency", "amount_before", "amount_after", "difference", "share",
        "drivers",
    ),
    "coverage": ("name", "external_id", "account_name", "state", "archived"),
    CHART: (),
}  # fmt: skip
# The headings of the columns to fill in, and of the identity of a line.
NEW_ACCOUNT, NOTE, LINE_ID = "new account", "note", "line id"
# Between code and name of an account to choose.
BETWEEN = " · "
FORMAT = "bktools to do 1"
FILL, CLOSED = (
    {"bg_color": colour, "border": 1, "border_color": "#DDDDDD", **grid.WRAPPED} for colour in (grid.PALE, grid.GREY)
)
# Currencies with a column on the first sheet's page; others have theirs beside the page.
PRINTED_CURRENCIES = 6
LABEL, AMOUNT = 58, 14
# Columns with codes, which are written as words.
CODES = ("reason", "state")


def workbook_of(close: Close, pictures: Mapping[str, bytes] | None = None) -> bytes:
    """Return the workbook of a close; the same close gives the same bytes.

    Of the PNG pictures, by the name of their file, that of the money is on the first sheet.
    """
    import xlsxwriter

    tables = {name: close.tables[name] for name in TABLES if len(close.tables.get(name, ()))}
    omitted = {name: why for name, table in tables.items() if (why := too_large(table))}
    labels = [] if CHART in omitted else _labels(close)
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True, "strings_to_urls": False}) as workbook:
        workbook.set_properties({"title": close.title, "created": close.run.begun_at})
        book = Book(workbook, close.title, f"begun {close.run.begun_at:%Y-%m-%d %H:%M} UTC")
        _first(book, close, omitted, (pictures or {}).get(MONEY))
        _to_do(book, close, has_list=bool(labels))
        for name, table in tables.items():
            if name not in omitted:
                _listing(book, name, table, labels if name == CHART else [])
        _lines(book, close)
    return file.getvalue()


def label_of(code: str | None, external_id: str, name: str | None) -> str:
    """Return an account as a person chooses it: code (the external ID without one) and name."""
    return BETWEEN.join(filter(None, (code or external_id, name)))


def _first(book: Book, close: Close, omitted: Mapping[str, str], picture: bytes | None) -> None:
    """Write one page: what became of the month, against the last one, what to do first, who has to act, the jobs."""
    sheet = book.grid(CLOSE, grid.NAVY, [LABEL, 10, *[AMOUNT] * len(close.figures.currencies)])
    sheet.write([f"Month-end {close.period}"], grid.TITLE)
    sheet.write([f"{close.name}{BETWEEN}{close.title_state}"], grid.HEADING)
    if close.environment == "sandbox":
        sheet.write(["sandbox: invented data, no real books"], grid.NOTE)
    for title, rows, total in _blocks(close):
        if rows:
            sheet.skip()
            sheet.write([title], grid.HEADING)
            # The amounts of two months have no number of entries.
            counts = "" if all(row[1] is None for row in rows) else "entries"
            sheet.table(["", counts, *close.figures.currencies], rows)
            if total:
                sheet.write(total, grid.TOTAL)
    sheet.skip()
    created = (f"{count:,} {outcome.lower()}" for outcome, count in close.run.outcomes("created").items())
    sheet.write([f"prepared by: {close.run.prepared_by}"], grid.NOTE)
    sheet.write([f"accounts of this run: {', '.join(created) or 'none'}"], grid.NOTE)
    sheet.write([f"not checked: {'; '.join(close.run.unchecked) or 'nothing'}"], grid.NOTE)
    for name, why in omitted.items():
        sheet.write([f"{name}: only in its CSV file: it {why}"], grid.NOTE)
    if picture is not None:
        sheet.skip()
        sheet.picture(picture, f"Exported and held back in {close.period}")
    sheet.page(2 + min(len(close.figures.currencies), PRINTED_CURRENCIES))


def _blocks(close: Close) -> Iterator[tuple[str, list[list[Value]], list[Value]]]:
    """Yield the title, the rows and the total of each table of the first sheet; one without rows is not written."""

    def row(label: str, entries: int | None, amounts: Mapping[str, Decimal]) -> list[Value]:
        return [(label, grid.WRAPPED), entries, *(Money(amounts.get(name), name) for name in close.figures.currencies)]

    def rows(lines: Iterable[tuple[str, Any]]) -> list[list[Value]]:
        return [row(label, line.entries, line.amounts) for label, line in lines]

    fates = {line["fate"]: line for line in close.statement if not line["reason"]}
    total, held = fates.pop(ALL), fates.get(HELD)
    [whole] = rows([(total.label, total)])
    yield "Entries and amounts", rows((line.label, line) for line in fates.values()), whole
    against: list[list[Value]] = []
    if lines := {line.currency: line for line in close.figures.against}:
        for label, side in ((close.last_month, "before"), (close.period, "now"), ("change", "change")):
            against.append(row(label, None, {name: getattr(line, side) for name, line in lines.items()}))
        shares = {name: Share(line.share) for name, line in lines.items()}
        against.append(["%", None, *map(shares.get, close.figures.currencies)])
    yield f"Exported and ready, against {close.last_month}", against, []
    first = [(f"{action.to_do}: {action.about} ({action.role})", action) for action in close.actions[:3]]
    yield "What to do first", rows(first), []
    roles = [(f"{line.role} (errors: {line.errors:,}, warnings: {line.warnings:,})", line) for line in close.by_role]
    yield f"Who has to act (see the sheet {TO_DO!r})", rows(roles), []
    reasons = [(line.label, line) for line in close.statement if line["fate"] == HELD and line["reason"]]
    yield "Held back, by reason", rows(reasons), rows([(HELD, held)])[0] if held else []
    yield f"Export jobs of {close.period}", rows((_job(job.keys), job) for job in close.figures.jobs), []


def _job(keys: Mapping[str, Any]) -> str:
    sent = f"{keys['sent_at']:%Y-%m-%d %H:%M} UTC, {keys['sent_by']}" if keys["sent_at"] else "not sent"
    return f"{sent}: {keys['fate']}"


# The columns of the sheet to fill in: title, width, and the cell of an action. Those of its identity follow.
COLUMNS: tuple[tuple[str, float, Callable[[Action], Value]], ...] = (
    ("severity", 9, lambda action: (action.severity, grid.WRAPPED)),
    ("who", 18, lambda action: (action.who, grid.WRAPPED)),
    ("to do", 28, lambda action: (action.to_do, grid.WRAPPED)),
    ("about", 44, lambda action: (action.about, grid.WRAPPED)),
    ("why", 36, lambda action: (action.why, grid.WRAPPED)),
    ("entries", 8, lambda action: action.entries or None),
    ("amount", 15, lambda action: _amounts(action.amounts)[0]),
    ("currency", 9, lambda action: _amounts(action.amounts)[1]),
    (NEW_ACCOUNT, 32, lambda action: (None, FILL if action.wants_account else CLOSED)),
    (NOTE, 24, lambda _: (None, FILL)),
    ("command", 12, lambda action: action.command or None),
    ("check", 12, lambda action: action.cause),
)
# As many of them are printed.
PRINTED = 10


def _to_do(book: Book, close: Close, *, has_list: bool) -> None:
    """Write the sheet to fill in: one row an action, and the identity of each row."""
    titles = [title for title, *_ in COLUMNS] + [name.replace("_", " ") for name in IDS] + [LINE_ID]
    sheet = book.grid(TO_DO, grid.RED, [*(width for _, width, _ in COLUMNS), *[12] * (len(IDS) + 1)])
    rows = [
        [*(cell(one) for *_, cell in COLUMNS), *map(one.ids.get, IDS), one.key(close.company, close.period)]
        for one in close.actions
    ]
    written, place = sheet.table(titles, rows), titles.index(NEW_ACCOUNT)
    for row, action in zip(written, close.actions, strict=True):
        if action.wants_account and has_list:
            sheet.sheet.data_validation(row, place, row, place, CHOICE)
    sheet.listing(len(titles), printed=PRINTED)


def _listing(book: Book, name: str, table: pa.Table, labels: Sequence[str]) -> None:
    """Write a table of its own sheet: the columns of `TABLES` first, identifiers last and beside the printed page."""
    filled = [column for column in table.column_names if {*table[column].unique().to_pylist()} - {None, ""}]
    first = [column for column in TABLES[name] if column in filled]
    names = [column for column in filled if column not in first and not _is_identifier(column)]
    order = [*first, *names, *(column for column in filled if column not in (*first, *names))]
    rows = [[_value(row, column) for column in order] for row in table.select(order).to_pylist()]
    titles = [column.removesuffix("_name").replace("_", " ") for column in order]
    widths = [width_of(title, (_text(row[place]) for row in rows), grid.WIDEST) for place, title in enumerate(titles)]
    if labels:
        titles, widths = [*titles, "account to choose"], [*widths, grid.WIDEST]
        rows = [[*row, label] for row, label in itertools.zip_longest(rows, labels)]
    sheet = book.grid(name, grid.QUIET, widths)
    written = sheet.table(titles, rows)
    if labels:
        sheet.define(CHOICES, written[: len(labels)], len(titles) - 1)
    sheet.listing(len(titles), printed=len(first) or len(names))


def _lines(book: Book, close: Close) -> None:
    """Write a hidden sheet with the identity of the file and of its lines, so that a missing line is noticed."""
    facts = {
        "fact": "value", "format": FORMAT, "company_id": close.company, "environment": close.environment,
        "period": close.period, "begun_at": close.run.begun_at.isoformat(),
    }  # fmt: skip
    sheet = book.grid(LINES, grid.QUIET, [10, grid.WIDEST])
    for pair in facts.items():
        sheet.write(pair)
    for action in close.actions:
        sheet.write(("line", f"{action.key(close.company, close.period)} {action.about}"))
    sheet.sheet.hide()


def _amounts(amounts: Mapping[str, Decimal]) -> list[Value]:
    """Return amount and currency; amounts of several currencies stand below each other as text."""
    if len(amounts) == 1:
        [(currency, amount)] = amounts.items()
        return [Money(amount, currency), (currency, {"indent": 1})]
    texts = "\n".join(shown(amount, currency) for currency, amount in amounts.items())
    right, beside = ({**look, **grid.WRAPPED} for look in ({"align": "right"}, {"indent": 1}))
    return [(texts or None, right), ("\n".join(amounts) or None, beside)]


def _labels(close: Close) -> list[str]:
    """Return the active accounts of the chart as a person chooses them."""
    chart = close.tables[CHART].select(["code", "external_id", "name", "archived"])
    rows = chart.sort_by([("code", "ascending"), ("external_id", "ascending")]).to_pylist()
    active = (row for row in rows if row["external_id"] and not row["archived"])
    return [label_of(row["code"], row["external_id"], row["name"]) for row in active]


def _value(row: Mapping[str, Any], column: str) -> Value:
    value = row[column]
    if isinstance(value, Decimal):
        return Share(value) if column == "share" else Money(value, row.get("currency"))
    return sentence(value) if column in CODES and value else value


def _text(value: Value) -> str:
    return shown(*value) if isinstance(value, Money) else "" if value is None else str(value)


def _is_identifier(name: str) -> bool:
    return name in IDENTIFIERS or name.endswith(("_id", "_url"))


# The name of the cells with the accounts to choose: on the sheet of the chart, after its own columns.
CHOICES = "accounts_to_choose"
CHOICE = {
    "validate": "list",
    "source": f"={CHOICES}",
    "error_title": "Unknown account",
    "error_message": "Choose an active account of the chart from the list.",
    "input_message": "Choose the account that the category shall have.",
}
