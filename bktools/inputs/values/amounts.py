"""Text of cells → exact decimals, by the decimal mark that all columns of amounts share.

Amounts of digits and marks alone are read by columns; all others, such as `(1,234.50) €` or `12.30 CR`, in
parts, once for each different text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.currencies import MINOR_UNITS, USUAL
from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.question import Problems
from bktools.inputs.table import Mask, Table

LONGEST: Final = 38
# Digits of one amount before its decimals, so that sums of any number of amounts stay exact.
_MOST_WHOLE = 18
_OTHER = {".": ",", ",": "."}
# No amount of money has more decimals: a sum or a share that was computed has, and is rounded.
_MOST_DECIMALS, _MEANT_DECIMALS = 10, 6
# Marks between thousands that nobody uses before decimals, such as spaces and apostrophes; and of direction.
_SPACES = re.compile(r"[\s_'’`\u066c\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
# Minus signs of typesetters, and the wide forms of East Asia.
_PLAIN_FORMS = str.maketrans(
    dict.fromkeys("\u2212\u2013\u2014\u2010\u2011\ufe63", "-")
    | {chr(ord(one) + 0xFEE0): one for one in "0123456789.,+-()"}
)
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*[.,]?$|[.,]\d+$")
_UNIT = re.compile(
    r"^([^\d.,()+-]{0,8}?)([-+]?)([^\d.,()+-]{0,8}?)([-+]?)([\d.,]+)([-+]?)([^\d.,()+-]{0,8})$"
)
_IN_BRACKETS = re.compile(r"([^\d()]*)\(([^()]*)\)([^\d()]*)")
_SIDES = {"DR": "debit", "DB": "debit", "CR": "credit"}
# Amounts that are read by columns, each form with its decimal mark.
_PLAIN = (
    (r"^-?\d+\.\d{1,2}$", "."),
    (r"^-?\d+$", ""),
    (r"^-?\d+,\d{1,2}$", ","),
    (r"^-?\d{1,3}(?:,\d{3})+\.\d{1,2}$", "."),
    (r"^-?\d{1,3}(?:\.\d{3})+,\d{1,2}$", ","),
)
_PLAIN_DECIMALS = 2


class Money(NamedTuple):
    """A cell's amount in parts; a dash alone is nothing, and has no digits."""

    sign: int
    digits: str
    currency: str = ""
    side: str = ""


@lru_cache(1 << 18)
def money(text: str) -> Money | None:
    """Return a cell's amount in parts, None where it is none."""
    text = _SPACES.sub("", text.translate(_PLAIN_FORMS)).rstrip("|")
    if text in ("", "-", "--"):
        return Money(1, "")
    brackets = ""
    if "(" in text:
        if not (inside := _IN_BRACKETS.fullmatch(text)):
            return None
        text, brackets = "".join(inside.groups()), "-"
    match = _UNIT.match(text)
    if not match or not _DIGITS.match(match[5]):
        return None
    signs = brackets + match[2] + match[4] + match[6]
    side = currency = ""
    for unit in filter(None, (match[1] + match[3], match[7])):
        if unit.upper().strip(".") in _SIDES:
            side = _SIDES[unit.upper().strip(".")]
        elif terms.currencies_of(unit):
            currency = unit
        else:
            return None
    if len(signs) > 1:
        return None
    return Money(-1 if signs == "-" else 1, match[5], currency, side)


def has_digits(text: str) -> bool:
    """Whether a cell is an amount, and not nothing."""
    amount = money(text)
    return amount is not None and bool(amount.digits)


def is_not_zero(text: str) -> bool:
    """Whether a cell is an amount other than zero."""
    amount = money(text)
    return amount is not None and bool(amount.digits.strip("0.,"))


class Mark(NamedTuple):
    """The decimal mark that an amount shows; an open one may part thousands, grouped ones do."""

    mark: str
    is_open: bool = False
    is_grouped: bool = False


@lru_cache(1 << 16)
def mark_of(digits: str) -> Mark | None:
    """Return the decimal mark that an amount shows to all others, None where it shows none."""
    point, comma = digits.count("."), digits.count(",")
    if not point + comma:
        return None
    if point and comma:
        return Mark("." if digits.rfind(".") > digits.rfind(",") else ",")
    mark = "." if point else ","
    if point + comma > 1:
        return Mark(_OTHER[mark], is_grouped=True)
    whole, _, decimals = digits.partition(mark)
    return Mark(mark, is_open=len(decimals) == 3 and 0 < len(whole) < 4 and whole != "0")


def number(amount: Money, decimal: str) -> Decimal | None:
    """Return an amount under a decimal mark, "" for its own, None where its groups are no thousands."""
    shown = mark_of(amount.digits)
    mark = decimal or (shown.mark if shown else ".")
    digits = amount.digits
    whole, _, decimals = digits.partition(mark)
    other = _OTHER[mark]
    # Groups of two stand before the last one in India, with commas.
    group = r"(,\d{2,3})*,\d{3}" if other == "," else r"(\.\d{3})+"
    are_groups = other not in whole or re.fullmatch(rf"\d{{1,3}}{group}", whole)
    whole = whole.replace(other, "")
    if other in decimals or mark in decimals or not are_groups or len(whole.lstrip("0")) > _MOST_WHOLE:
        return None
    value = amount.sign * Decimal(f"{whole or 0}.{decimals or 0}")
    return round(value, _MEANT_DECIMALS) if len(decimals) > _MOST_DECIMALS else value


@dataclass(frozen=True)
class Figures:
    """A column of amounts before its decimal mark is known."""

    column: pa.ChunkedArray
    blank: Mask
    # The cells of each form of plain amounts, with the form's mark.
    plain: Sequence[tuple[str, Mask]]
    # All other texts, None where one is no amount.
    odd: Mapping[str, Money | None]
    # Whether the cells are numbers of a workbook, whose mark is a point.
    is_numeric: bool = False

    @classmethod
    def of(cls, column: pa.ChunkedArray, *, is_numeric: bool = False) -> Figures:
        """Return the figures of a column."""
        blank = cells.blank(column)
        left, plain = ~blank, []
        for pattern, mark in _PLAIN:
            if left.any():
                rows = cells.matches(column, pattern) & left
                plain += [(mark, rows)] if rows.any() else []
                left &= ~rows
        odd = cells.unique(column.filter(pa.array(left))) if left.any() else []
        return cls(column, blank, plain, {text: money(text) for text in odd}, is_numeric)

    @classmethod
    def at(cls, table: Table, place: int) -> Figures:
        """Return the figures of a table's column."""
        return cls.of(table.columns[place], is_numeric=place in table.numeric)

    def rows_where(self, texts: Collection[str]) -> Mask:
        """Return the rows of some of the other texts."""
        if not texts:
            return np.zeros(len(self.column), dtype=bool)
        return cells.mask(pc.is_in(self.column, value_set=pa.array([*texts], schema.TEXT)))

    @cached_property
    def has_amount(self) -> Mask:
        """The cells that hold an amount."""
        odd = self.rows_where([text for text, amount in self.odd.items() if amount and amount.digits])
        has_amount: Mask = np.logical_or.reduce([odd, *(rows for _, rows in self.plain)])
        return has_amount

    @cached_property
    def is_broken(self) -> Mask:
        """The cells that hold something and are no amount."""
        return self.rows_where([text for text, amount in self.odd.items() if amount is None])

    @property
    def amounts(self) -> list[Money]:
        """The different amounts of other forms than plain ones."""
        return [amount for amount in self.odd.values() if amount]

    def texts_of(self, part: str) -> pa.ChunkedArray | None:
        """Return the `currency` or the `side` beside each amount, None where no amount has one."""
        if not any(getattr(amount, part) for amount in self.amounts):
            return None
        return cells.each(self.column, lambda text: getattr(self.odd.get(text), part, ""), schema.TEXT)

    @property
    def marks(self) -> set[Mark]:
        """The decimal marks that the amounts show."""
        odd = {mark for amount in self.amounts if (mark := mark_of(amount.digits))}
        return set() if self.is_numeric else odd | {Mark(mark) for mark, _ in self.plain if mark}

    @property
    def own_mark(self) -> str:
        """The decimal mark of a column alone, "" for several; an open one has decimals."""
        marks = {one.mark for one in self.marks if not one.is_open} or {one.mark for one in self.marks}
        return marks.pop() if len(marks) == 1 else ""

    def values(self, decimal: str) -> tuple[pa.ChunkedArray, Mask]:
        """Return the amounts as decimals under a mark, null without one, and the cells that are no amount."""
        decimal = "." if self.is_numeric else decimal
        bad = np.zeros(len(self.column), dtype=bool)
        texts, scale = self.column, _PLAIN_DECIMALS
        for mark, rows in self.plain:
            if mark and decimal not in (mark, ""):
                bad |= rows
            elif mark:
                texts = _with_point(texts, mark, rows)
        if self.odd:
            values = {
                text: number(amount, decimal) if amount and amount.digits else None
                for text, amount in self.odd.items()
            }
            scale = max(
                scale, *(len(f"{value:f}".partition(".")[2]) for value in values.values() if value), 0
            )
            bad |= self.rows_where(
                [text for text, value in values.items() if value is None and self.odd[text] != Money(1, "")]
            )
            meant = {text: None if value is None else f"{value:f}" for text, value in values.items()}
            odd = cells.each(self.column, meant.get, schema.TEXT)
            texts = pc.if_else(pa.array(self.rows_where(meant)), odd, texts)
        bad |= cells.matches(texts, rf"[1-9]\d{{{_MOST_WHOLE}}}") & ~cells.mask(pc.is_null(texts))
        texts = pc.if_else(pa.array(bad | self.blank), pa.scalar(None, schema.TEXT), texts)
        return pc.cast(texts, pa.decimal128(LONGEST, scale)), bad

    @property
    def residues(self) -> Mask:
        """The cells with more decimals than an amount has."""
        digits = {text: re.split("[.,]", amount.digits) for text, amount in self.odd.items() if amount}
        return self.rows_where(
            [text for text, parts in digits.items() if len(parts) > 1 and len(parts[-1]) > _MOST_DECIMALS]
        )


def _with_point(texts: pa.ChunkedArray, mark: str, rows: Mask) -> pa.ChunkedArray:
    """Return texts with a point for the decimal mark and without marks of thousands in these rows."""
    changed = texts
    if mark == "." and pc.any(pc.match_substring(texts, ",")).as_py():
        changed = pc.replace_substring(texts, ",", "")
    elif mark == ",":
        changed = pc.replace_substring(pc.replace_substring(texts, ".", ""), ",", ".")
    return changed if changed is texts or rows.all() else pc.if_else(pa.array(rows), changed, texts)


def decimal_mark(
    figures: Collection[Figures], currency: str, problems: Problems, beside: Iterable[Figures] = ()
) -> str:
    """Return the decimal mark that columns of amounts share; where none of them shows it, it is a problem.

    It is "" where both are marks and each amount is clear by itself. The decimals of the one currency of a
    file, if it has one, settle amounts such as 1.255; else those of the other columns `beside` them do.
    """
    marks = {mark for one in figures for mark in one.marks}
    clear = {mark.mark for mark in marks if not mark.is_open}
    open_marks = {mark.mark for mark in marks if mark.is_open}
    if len(clear) == 1:
        return clear.pop()
    if clear:
        if open_marks or any(mark.is_grouped for mark in marks):
            problems.ask("decimal_marks")
        return ""
    if not open_marks:
        return "."
    mark = min(open_marks) if len(open_marks) == 1 else "."
    decimals = MINOR_UNITS.get(currency, USUAL)
    if decimals != USUAL:
        return mark if decimals else _OTHER[mark]
    others = {one.mark for own in beside for one in own.marks if not one.is_open}
    if len(others) == 1:
        return others.pop()
    all_digits = (amount.digits for one in figures for amount in one.amounts)
    text = next(digits for digits in all_digits if (shown := mark_of(digits)) and shown.is_open)
    problems.ask(
        "decimal",
        [{"decimal": mark}, {"decimal": _OTHER[mark]}],
        value=text,
        as_thousands=text.replace(mark, ""),
        as_decimals=text.replace(mark, "."),
    )
    return "."
