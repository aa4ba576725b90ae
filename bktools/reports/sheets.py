"""A sheet for people, written row by row: values by their kind, one look, and pages that break evenly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from textwrap import wrap
from typing import Any, NamedTuple, TypeAlias

from bktools.currencies import MINOR_UNITS, USUAL
from bktools.frames.excel import is_exact, write_cell
from bktools.wording import Words
from bktools.wording.numbers import MINUS, NUMBER_STYLES

NAVY, RED, QUIET, PALE, GREY = "#1F3A5F", "#D55E00", "#BBBBBB", "#FFF7D6", "#F2F2F2"
# Text is at the left whatever its script, so that a column stays a column.
FONT = {"font_name": "Arial", "font_size": 9, "valign": "top", "align": "left", "indent": 1}
HEAD = {
    "bold": True,
    "font_size": 10,
    "font_color": "#FFFFFF",
    "bg_color": NAVY,
    "text_wrap": True,
    "border": 1,
    "border_color": "#FFFFFF",
}
TITLE = {"bold": True, "font_size": 16, "font_color": NAVY}
NOTE = {"font_color": "#555555"}
WRAPPED = {"text_wrap": True}
RIGHT = {"align": "right"}
DASH = "\N{EN DASH}"

# Excel's number of A4, and its printed area in points, landscape.
A4 = 9
MARGINS = {"left": 0.4, "right": 0.4, "top": 0.6, "bottom": 0.5}
PAGE_WIDTH, PAGE_HEIGHT = 842 - 72 * 0.8, 595 - 72 * 1.1
# Points of a line of text; of a digit in a wide font; the largest scale; the part worth another page.
LINE, DIGIT, MOST_SCALE, LEAST_OF_A_PAGE = 12.5, 7, 0.75, 0.4
# Letters of the font in the unit of a column's width, which is a digit of Excel's own font; the indent in it.
LETTERS, INDENT = 1.25, 1.5
# The part of them that fits when they are bold.
BOLD_SHARE = 0.85
WIDEST = 44
# Letters of the head of a page, which holds 255 with what stands around them.
LONGEST_HEAD = 220


class Money(NamedTuple):
    """An exact amount, shown with the decimals of its currency; None is an empty cell."""

    amount: Decimal | None
    currency: str | None


class Share(NamedTuple):
    """A change in percent; None is the sign of one that says nothing."""

    percent: Decimal | None


NUMBERS = (Money, Share, int, float)
Value: TypeAlias = object
Look: TypeAlias = Mapping[str, Any]


@dataclass
class Book:
    """A workbook whose sheets have one look, and one head and foot on each printed page."""

    book: Any
    head: str
    foot: str
    words: Words
    _formats: dict[tuple[tuple[str, Any], ...], Any] = field(default_factory=dict)

    def sheet(self, name: str, colour: str, widths: Iterable[float]) -> Sheet:
        """Return a new sheet with columns of these widths, in digits."""
        worksheet = self.book.add_worksheet(name)
        worksheet.set_tab_color(colour)
        worksheet.set_landscape()
        worksheet.set_paper(A4)
        worksheet.set_margins(**MARGINS)
        worksheet.set_header(f"&L&8{_in_head(self.head)}&R&8&A")
        worksheet.set_footer(f"&L&8{_in_head(self.foot)}&R&8{self.words('report.workbook.page')}")
        sheet = Sheet(self, worksheet, list(widths))
        for place, width in enumerate(sheet.widths):
            worksheet.set_column(place, place, width)
        return sheet

    def format(self, *looks: Look) -> Any:
        """Return the format with the properties of looks; later ones go before earlier ones."""
        key = tuple(item for look in looks for item in look.items())
        if key not in self._formats:
            self._formats[key] = self.book.add_format({**FONT, **dict(key)})
        return self._formats[key]


@dataclass
class Sheet:
    """A sheet that is written from its first row downwards; widths are those of its columns, in digits."""

    book: Book
    worksheet: Any
    widths: list[float]
    row: int = 0
    _heights: list[float] = field(default_factory=list)
    _last: int = 1

    def write(self, values: Iterable[Value], *looks: Look) -> int:
        """Write a row and return its number: text, whole numbers, Money, Share, dates, flags; None is empty.

        A pair of a value and a look is a cell with a look of its own.
        """
        lines = 1
        for place, cell in enumerate(values):
            value, own = (cell[0], (*looks, cell[1])) if type(cell) is tuple else (cell, looks)
            self._write(place, value, own)
            if isinstance(value, str) and any("text_wrap" in look for look in own):
                share = BOLD_SHARE if any(look.get("bold") for look in own) else 1
                letters = max(1, int((self.widths[place] - INDENT) * LETTERS * share))
                lines = max(lines, sum(_lines(line, letters) for line in value.split("\n")))
        # Programs that print without a screen do not find the height of a row by themselves.
        height = max(LINE * lines, *(look.get("font_size", 0) * 1.5 for look in looks), LINE)
        self.worksheet.set_row(self.row, height)
        self._heights.append(height)
        self.row += 1
        return self.row - 1

    def skip(self) -> None:
        """Leave a row empty."""
        self.write([])

    def table(self, titles: Sequence[Value], rows: Iterable[Sequence[Value]]) -> range:
        """Write titles and rows; titles of numbers are at the right. Return the numbers of the rows."""
        body = [list(row) for row in rows]
        columns = list(itertools.zip_longest(*body))
        sides = [_side(column) for column in columns] + [{}] * (len(titles) - len(columns))
        first = 1 + self.write([(title, side) for title, side in zip(titles, sides, strict=True)], HEAD)
        for row in body:
            self.write(row)
        self._last = max(self.row - 1, 1)
        return range(first, self.row)

    def fold(self, rows: Iterable[int]) -> None:
        """Put rows beneath the row above them, for a person to fold.

        None is hidden, because programs differ in that.
        """
        self.worksheet.outline_settings(symbols_below=False)
        for row in rows:
            self.worksheet.set_row(row, self._heights[row], None, {"level": 1})

    def page(self, columns: int, pages: int = 1) -> None:
        """Print the sheet on so many pages, without lines between cells; 0 stands for as many as it needs."""
        self.worksheet.hide_gridlines(2)
        self.worksheet.set_portrait()
        self._print(columns, pages)

    def listing(self, columns: int, *, printed: int) -> None:
        """Make a table that begins in the first row one to scroll and filter, and print its first columns.

        Programs measure the width of a column with different fonts. So the number of pages is set, rounded
        down where little would be left for the last one, and the program makes the rows fit: no page has a
        stray row.
        """
        self.worksheet.freeze_panes(1, 0)
        self.worksheet.autofilter(0, 0, self._last, columns - 1)
        self.worksheet.repeat_rows(0)
        scale = min(MOST_SCALE, PAGE_WIDTH / (sum(self.widths[:printed]) * DIGIT))
        pages = sum(self._heights) / (PAGE_HEIGHT / scale - self._heights[0])
        self._print(printed, max(1, math.floor(pages + 1 - LEAST_OF_A_PAGE)))

    def _print(self, columns: int, pages: int) -> None:
        self.worksheet.print_area(0, 0, max(self.row - 1, 0), columns - 1)
        self.worksheet.fit_to_pages(1, pages)

    def _write(self, place: int, value: Value, looks: Sequence[Look]) -> None:
        value, look = _cell(value, self.book.words)
        form = self.book.format(look, *looks)
        if value is None and looks:
            self.worksheet.write_blank(self.row, place, None, form)
        else:
            write_cell(self.worksheet, self.row, place, value, form, form)


def _lines(line: str, letters: int) -> int:
    """Return how many lines a text takes in a column of so many letters."""
    return 1 if len(line) <= letters else len(wrap(line, letters))


def _cell(value: Value, words: Words) -> tuple[Value, Look]:
    """Return what a cell holds of a value, and its look; an amount that Excel would round is text."""
    if isinstance(value, Money):
        is_text = value.amount is not None and not is_exact(value.amount)
        return words.amount(*value) if is_text else value.amount, {**RIGHT, "num_format": _money(*value)}
    if isinstance(value, Share):
        style = NUMBER_STYLES[words.language]
        share = style.no_percent if value.percent is None else value.percent / 100
        return share, {**RIGHT, "num_format": style.share_in_cells}
    if isinstance(value, bool):
        return words("report.yes" if value else "report.no"), {}
    if isinstance(value, int | float):
        decimals = "" if value == round(value) else ".00##"
        return value, {**RIGHT, "num_format": f"#,##0{decimals};{MINUS}#,##0{decimals};{DASH}"}
    if isinstance(value, str):
        # Excel's text format: a value typed over a code stays text.
        return value, {"num_format": "@"}
    return value, {} if value is None else {"num_format": NUMBER_STYLES[words.language].day_in_cells}


def _side(column: Iterable[Value]) -> Look:
    """Return the look of the title of a column: numbers have theirs at the right."""
    values = (cell[0] if type(cell) is tuple else cell for cell in column)
    is_number = any(isinstance(value, NUMBERS) and not isinstance(value, bool) for value in values)
    return RIGHT if is_number else {}


def _money(amount: Decimal | None, currency: str | None) -> str:
    """Return the number format of an amount: the decimals of its currency, more where the amount has them."""
    own = -int(amount.normalize().as_tuple().exponent) if amount is not None else 0
    decimals = max(MINOR_UNITS.get(currency or "", USUAL), own)
    positive = f"#,##0.{'0' * decimals}" if decimals else "#,##0"
    return f"{positive};{MINUS}{positive};{DASH}"


def _in_head(text: str) -> str:
    """Return a text for the head of a page, which holds 255 characters and reads & as an order."""
    escaped = text.replace("&", "&&")
    return escaped if len(escaped) <= LONGEST_HEAD else text[: LONGEST_HEAD // 2].replace("&", "&&")
