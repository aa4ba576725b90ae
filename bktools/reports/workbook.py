"""The close's workbook: figures, then steps to do, then entries and reference data; prints on few pages.

The sheet "to do" comes back: its columns to fill in are read by `bktools.read_fixes`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from bktools.close.actions import ENTRY, IDS, Action, Thing
from bktools.close.close import Close
from bktools.close.figures import ALL, LARGEST
from bktools.close.sentences import detail_of, label_of, name_of, step_of
from bktools.findings.check import HELD
from bktools.frames.excel import too_large, width_of
from bktools.frames.names import IDENTIFIERS
from bktools.frames.sums import HOME
from bktools.reports import grid
from bktools.reports.grid import Book, Grid, Money, Share, Value
from bktools.reports.pictures import MONEY
from bktools.wording import Words
from bktools.wording.numbers import capitalized, month, number, percent

# The hidden sheet has this name in every language; the others have theirs in the wording.
LINES = "bktools"
# The other sheets: their tables, and the columns that come first and are printed; of others all names are.
TABLES = {
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
# Between code and name of an account to choose.
BETWEEN = " · "
FORMAT = "bktools to do 3"
FILL, CLOSED = (
    {"bg_color": colour, "border": 1, "border_color": "#DDDDDD", **grid.WRAPPED}
    for colour in (grid.PALE, grid.GREY)
)
# Currencies with a column on the first sheet's page; others have theirs beside the page.
PRINTED_CURRENCIES = 6
LABEL, COUNT, AMOUNT = 46, 9, 12.5
# The sections of the words for codes, by column.
CODES = {name: name for name in ("fate", "change", "status", "severity")}
CODES |= {"reason": "entry", "table": "change", "who": "role"}
# The same of columns that mean something else on a sheet.
OF_SHEETS = {
    "coverage": {"state": "state"},
    "expected": {"state": "expected"},
    "findings": {"check": "status", "reason": "ledger"},
    "open_groups": {"reason": "ledger"},
    "matched": {"reason": "ledger"},
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
# A table of a sheet: its title, its rows and its total.
Block = tuple[str, list[list[Value]], list[Value]]


def workbook_of(close: Close, pictures: Mapping[str, bytes] | None = None) -> bytes:
    """Return the workbook of a close; the same close gives the same bytes.

    Of the PNG pictures, by the name of their file, that of the money is on the first sheet.
    """
    import xlsxwriter

    tables = {name: close.tables[name] for name in TABLES if len(close.tables.get(name, ()))}
    omitted = {name: why for name, table in tables.items() if (why := too_large(table))}
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, OPTIONS) as workbook:
        workbook.set_properties({"title": close.title, "created": close.run.begun_at})
        words = close.words
        book = Book(workbook, close.title, words("report.workbook.begun", moment=close.run.begun_at), words)
        _first(book, close, omitted, (pictures or {}).get(MONEY))
        _to_do(book, close)
        if len(close.figures.largest):
            _largest_and_new(book, close)
        for name, table in tables.items():
            if name not in omitted:
                listing(book, name, table, TABLES[name].split())
        _identity(book, close)
    return file.getvalue()


def account_label(code: str | None, external_id: str, name: str | None) -> str:
    """Return an account as a person chooses it: code (the external ID without one) and name."""
    return BETWEEN.join(filter(None, (code or external_id, name)))


def _first(book: Book, close: Close, omitted: Mapping[str, str], picture: bytes | None) -> None:
    """Write page one: what became of the month, the comparison, what to do first, who must act, the jobs."""
    words = close.words
    sheet = book.grid(words("report.sheet.close"), grid.NAVY, _widths(close))
    sheet.write([words("report.title", month=close.period)], grid.TITLE)
    sheet.write([f"{close.name}{BETWEEN}{close.title_state}"], grid.HEADING)
    if close.is_sandbox:
        sheet.write([capitalized(close.environment_name)], grid.NOTE)
    _write(sheet, close, _blocks(close))
    sheet.skip()
    created = [
        f"{number(count, words.language)} {words.name('outcome', outcome.lower())}"
        for outcome, count in close.run.outcomes("created").items()
    ]
    notes = [
        words("report.workbook.prepared_by", by=close.run.prepared_by),
        words("report.workbook.accounts", outcomes=", ".join(created) or words("report.none")),
        words("report.workbook.not_checked", phrases="; ".join(close.run.unchecked))
        if close.run.unchecked
        else words("report.all_checked"),
        *(
            words("report.workbook.only_in_csv", sheet=words(f"report.sheet.{name}"), why=why)
            for name, why in omitted.items()
        ),
    ]
    for note in notes:
        sheet.write([capitalized(note)], grid.NOTE)
    if picture is not None:
        sheet.new_page()
        sheet.picture(picture, words("report.workbook.picture", month=close.period))
    sheet.page(_printed(close), pages=0)


def _widths(close: Close) -> list[float]:
    return [LABEL, COUNT, *[AMOUNT] * (len(close.figures.currencies) + bool(close.home_currency))]


def _printed(close: Close) -> int:
    """Return how many columns of amounts are printed, with their labels."""
    return min(len(_widths(close)), 2 + PRINTED_CURRENCIES)


def _blocks(close: Close) -> Iterator[Block]:
    """Yield title, rows and total of each table of the first sheet; a table without rows is left out."""
    words, language = close.words, close.words.language
    row, rows = partial(_row, close), partial(_rows, close)
    fates = {line["fate"]: line for line in close.figures.statement if not line["reason"]}
    total, held = fates.pop(ALL), fates.get(HELD)
    [whole] = rows([(label_of(words, total), total)])
    title = words("report.workbook.entries_and_amounts")
    yield title, rows((label_of(words, line), line) for line in fates.values()), whole
    if lines := {line.currency: line for line in close.figures.against}:
        home = close.figures.against_home
        last, now = month(close.last_month, language), month(close.period, language)
        sides = ((last, "before"), (now, "now"), (words("report.workbook.change"), "change"))
        against = [
            row(
                label,
                None,
                {name: getattr(line, side) for name, line in lines.items()},
                getattr(home, side) if home else None,
            )
            for label, side in sides
        ]
        shares = {name: Share(line.share) for name, line in lines.items()}
        against.append(["%", None, *map(shares.get, close.figures.currencies)])
        against[-1] += [Share(home.share if home else None)] if close.home_currency else []
        for fate in dict.fromkeys(fate for line in lines.values() for fate in line.parts):
            for place, month_name in enumerate((last, now)):
                label = f"{words.name('fate', fate)}, {month_name}"
                amounts = {
                    name: line.parts[fate][place] for name, line in lines.items() if fate in line.parts
                }
                against.append(row(label, None, amounts))
        if earlier := close.figures.counted_earlier.amounts:
            against.append(row(words("report.workbook.counted_earlier"), None, earlier))
        yield words("report.against", month=close.last_month), against, []
    of_budget = close.tables["budget_total"].to_pylist() if "budget_total" in close.tables else []
    if totals := {line["currency"]: line for line in of_budget}:
        beside = [
            row(words(f"report.column.{side}"), None, {name: line[side] for name, line in totals.items()})
            for side in ("spent", "budget", "difference")
        ]
        percents = {name: Share(line["percent"]) for name, line in totals.items()}
        beside.append(["%", None, *map(percents.get, close.figures.currencies)])
        beside[-1] += [Share(None)] if close.home_currency else []
        yield words("report.against_budget"), beside, []
    first = [(_step(words, action), action) for action in close.actions[:3]]
    yield words("report.first_steps"), rows(first), []
    named = "report.workbook.errors_and_warnings"
    roles = [
        (words(named, role=line.role, errors=line.errors, warnings=line.warnings), line)
        for line in close.by_role
    ]
    yield words("report.workbook.who_has_to_act", sheet=words("report.sheet.to_do")), rows(roles), []
    reasons = [
        (label_of(words, line), line)
        for line in close.figures.statement
        if line["fate"] == HELD and line["reason"]
    ]
    whole_of_held = rows([(label_of(words, held), held)])[0] if held else []
    yield words("report.workbook.held_back_by_reason"), rows(reasons), whole_of_held
    missing = [
        row(_expected(words, line), None, {line["currency"]: line["amount"]})
        for line in close.missing.slice(0, LARGEST).to_pylist()
    ]
    accrual = row(words("report.workbook.accrual"), None, close.accrual.amounts) if missing else []
    yield words("report.workbook.expected", sheet=words("report.sheet.expected")), missing, accrual
    jobs = rows((_job(words, job.keys), job) for job in close.figures.jobs)
    yield words("report.jobs_of", month=close.period), jobs, []


def _largest_and_new(book: Book, close: Close) -> None:
    """Write the month's largest entries, and suppliers and categories that are new in this month."""
    sheet = book.grid(close.words("report.sheet.largest"), grid.NAVY, _widths(close))
    sheet.write([close.words("report.title", month=close.period)], grid.TITLE)
    _write(sheet, close, _blocks_of_largest(close))
    sheet.page(_printed(close), pages=0)


def _blocks_of_largest(close: Close) -> Iterator[Block]:
    words = close.words
    largest = close.figures.largest.to_pylist()
    yield (
        words("report.largest"),
        [
            _row(close, _entry(words, one), None, {one["currency"]: one["amount"]}, one.get(HOME))
            for one in largest
        ],
        [],
    )
    for what, sums in close.figures.new.items():
        title = words("report.workbook.new", what=words(f"report.column.{what}"), month=close.period)
        yield title, _rows(close, ((part["name"], part) for part in sums)), []


def _write(sheet: Grid, close: Close, blocks: Iterable[Block]) -> None:
    """Write the tables of a sheet, each with a column a currency; one without rows is not written."""
    for title, rows, total in blocks:
        if rows:
            sheet.skip()
            sheet.write([title], grid.HEADING)
            # The amounts of two months have no number of entries.
            counts = "" if all(row[1] is None for row in rows) else close.words("report.workbook.entries")
            nothing = (Share(None), Money(None, close.home_currency))
            titles = ["", counts, *close.figures.currencies]
            if close.home_currency and any(row[-1] not in nothing for row in rows):
                titles.append(close.words("report.in_home", currency=close.home_currency))
            sheet.table(titles, [row[: len(titles)] for row in rows])
            if total:
                sheet.write(total, grid.TOTAL)


def _row(
    close: Close,
    label: str,
    entries: int | None,
    amounts: Mapping[str, Decimal],
    home: Decimal | None = None,
) -> list[Value]:
    cells = [Money(amounts.get(name), name) for name in close.figures.currencies]
    cells += [Money(home, close.home_currency)] if close.home_currency else []
    return [(capitalized(label), grid.WRAPPED), entries, *cells]


def _rows(close: Close, lines: Iterable[tuple[str, Any]]) -> list[list[Value]]:
    return [_row(close, label, line.entries, line.amounts, line.home) for label, line in lines]


def _step(words: Words, action: Action) -> str:
    step = step_of(words, action)
    to_do = f"{step.to_do}: {step.about}" if step.about else step.to_do
    return words("report.workbook.step", to_do=to_do, who=words.name("role", action.role))


def _entry(words: Words, row: Mapping[str, Any]) -> str:
    day = words.day(row["date"]) if row["date"] else None
    return BETWEEN.join(
        filter(None, (day, row["supplier"] or row["description"] or row["id"], row["category_name"]))
    )


def _expected(words: Words, row: Mapping[str, Any]) -> str:
    named = (row["supplier"], row["category_name"], words.day(row["expected_on"]))
    return BETWEEN.join(filter(None, named))


def _job(words: Words, keys: Mapping[str, Any]) -> str:
    if keys["sent_at"]:
        return words("report.workbook.job", moment=keys["sent_at"], by=keys["sent_by"], fate=keys["fate"])
    return words("report.workbook.unsent_job", fate=keys["fate"])


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
FOR_PROGRAMS = {"command": 12, "check": 12}


def _to_do(book: Book, close: Close) -> None:
    """Write the sheet to fill in: a row an action, with a row beneath it for each of several things."""
    words, currencies = close.words, close.figures.currencies
    widths = [*PRINTED.values(), *[12] * len(currencies), *FOR_PROGRAMS.values(), *[12] * len(IDS)]
    sheet = book.grid(words("report.sheet.to_do"), grid.RED, widths)
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
        yield _line(close, action, (step.about, step.why), action, wants_account=not several)
        for place, thing in enumerate(several):
            texts = name_of(close.words, thing), detail_of(close.words, action, thing)
            if thing.kind != ENTRY or (texts[1] and place < SHOWN_ENTRIES):
                yield _line(close, action, texts, thing)


def _line(
    close: Close,
    action: Action,
    texts: tuple[str, str],
    value: Action | Thing,
    *,
    wants_account: bool = True,
) -> Line:
    words, is_beneath = close.words, value is not action
    step, look = step_of(words, action), {**grid.WRAPPED, **(QUIET if is_beneath else BOLD)}
    about, why = texts
    is_asked = action.wants_account and wants_account
    cells: list[Value] = [
        (words.name("severity", action.severity), look),
        (step.who, look),
        (step.to_do, look),
        (about, grid.WRAPPED),
        (why or None, grid.WRAPPED),
        value.entries or None,
        (_values(words, value), {**grid.WRAPPED, **grid.RIGHT}),
        (None, FILL if is_asked else CLOSED),
        (None, FILL),
        *(Money(value.amounts.get(name), name) for name in close.figures.currencies),
        action.command or None,
        action.code,
        *map(value.ids.get, IDS),
    ]
    return Line(cells, is_beneath)


def _values(words: Words, value: Action | Thing) -> str | None:
    """Return the amount of each currency on a line of its own."""
    return "\n".join(words.money({name: amount}) for name, amount in value.amounts.items()) or None


def listing(book: Book, name: str, table: pa.Table, columns: Sequence[str]) -> None:
    """Write a table on a sheet: some columns first, identifiers last, beside the printed page."""
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
    rows = [
        [_value(row, column, words, codes) for column in order] for row in table.select(order).to_pylist()
    ]
    titles = [_heading(words, column) for column in order]
    widths = [
        width_of(title, (_text(row[place], words) for row in rows), grid.WIDEST)
        for place, title in enumerate(titles)
    ]
    # A text that is longer than the widest column goes on in a second line where it is printed.
    wraps = [place < len(first) and width >= grid.WIDEST for place, width in enumerate(widths)]
    for row in rows:
        row[:] = [
            (cell, grid.WRAPPED) if isinstance(cell, str) and wraps[place] else cell
            for place, cell in enumerate(row)
        ]
    sheet = book.grid(words(f"report.sheet.{name}"), grid.QUIET, widths)
    sheet.table(titles, rows)
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
    sheet = book.grid(LINES, grid.QUIET, [10, grid.WIDEST])
    for pair in facts.items():
        sheet.write(pair)
    sheet.sheet.hide()


def _heading(words: Words, column: str) -> str:
    """Return the heading of a column: its words, or the file's own words for a column of the file."""
    key = f"report.column.{column}"
    if column.startswith(OF_FILE) and words.has(f"report.column.{column.removeprefix(OF_FILE)}"):
        return words("report.workbook.of_file", column=words(f"report.column.{column.removeprefix(OF_FILE)}"))
    return words(key) if words.has(key) else column.replace("_", " ")


def _value(row: Mapping[str, Any], column: str, words: Words, codes: Mapping[str, str]) -> Value:
    value = row[column]
    if isinstance(value, Decimal):
        return Share(value) if column == "percent" else Money(value, row.get("currency"))
    return words.name(codes[column], value) if codes.get(column) and value else value


def _text(value: Value, words: Words) -> str:
    if isinstance(value, Share):
        return percent(value.percent, words.language)
    return words.amount(*value) if isinstance(value, Money) else "" if value is None else str(value)


def _is_identifier(name: str) -> bool:
    return name in IDENTIFIERS or name.endswith(("_id", "_url"))
