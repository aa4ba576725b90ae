"""Writes amounts, numbers, days, months and quotations for people, in each language; no other file does."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from bktools.currencies import MINOR_UNITS, USUAL

MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Style:
    """How a language writes numbers and days.

    Parameters
    ----------
    thousands, point : str
        Between groups of three digits, and before the decimals.
    day, moment : str
        Formats of `strftime`.
    months : tuple of str
        The names of the months.
    percent, no_percent : str
        The sign of a share, with the space before it, and the sign in place of one that says nothing.
    day_in_cells, share_in_cells : str
        Formats of a workbook's cells. Thousands and decimals appear as in the program of the reader.
    quotes : str
        The two quotation marks.
    """

    thousands: str
    point: str
    day: str
    moment: str
    months: tuple[str, ...]
    percent: str
    no_percent: str
    day_in_cells: str
    share_in_cells: str
    quotes: str


_ENGLISH = "January February March April May June July August September October November December"
_GERMAN = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"

NUMBER_STYLES: Mapping[str, Style] = {
    "en": Style(
        ",",
        ".",
        "%Y-%m-%d",
        "%Y-%m-%d %H:%M UTC",
        tuple(_ENGLISH.split()),
        "%",
        "n/m",
        "yyyy-mm-dd",
        f"+0.0%;{MINUS}0.0%;0%",
        '""',
    ),
    "de": Style(
        ".",
        ",",
        "%d.%m.%Y",
        "%d.%m.%Y %H:%M UTC",
        tuple(_GERMAN.split()),
        "\N{NO-BREAK SPACE}%",
        "n.\N{NO-BREAK SPACE}a.",
        "dd.mm.yyyy",
        f"+0.0 %;{MINUS}0.0 %;0 %",
        "„“",
    ),
}


def shown(amount: Any, currency: str | None, language: str = "en") -> str:
    """Return an amount as text: groups of thousands, and the currency's own decimals.

    Digits are never rounded away: an amount that has more decimals than its currency keeps them. Without an
    amount the text is empty; without a known currency the amount has at least two decimals.

    Examples
    --------
    >>> shown(Decimal("1234567.500"), "EUR"), shown(Decimal("1200.00"), "JPY"), shown("12.345", "EUR", "de")
    ('1,234,567.50', '1,200', '12,345')
    """
    # A missing value of any library is not equal to itself, or has no truth value.
    if amount is None or (amount != amount) is not False:  # noqa: PLR0124 - not a number
        return ""
    number = amount if isinstance(amount, Decimal) else Decimal(str(amount))
    whole, _, decimals = f"{number:,f}".partition(".")
    decimals = decimals.rstrip("0").ljust(MINOR_UNITS.get(currency or "", USUAL), "0")
    style = NUMBER_STYLES[language]
    text = style.point.join(filter(None, (whole.replace(",", style.thousands), decimals)))
    return text.replace("-", MINUS if number else "")


def quoted(text: str, language: str = "en") -> str:
    """Return a text in quotation marks.

    Examples
    --------
    >>> quoted("0400"), quoted("0400", "de")
    ('"0400"', '„0400“')
    """
    quotes = NUMBER_STYLES[language].quotes
    return f"{quotes[0]}{text}{quotes[1]}"


def number(value: Any, language: str = "en") -> str:
    """Return a number with groups of thousands and all its decimals.

    Examples
    --------
    >>> number(1234), number(Decimal("1234.5"), "de")
    ('1,234', '1.234,5')
    """
    style = NUMBER_STYLES[language]
    whole, _, decimals = f"{value if isinstance(value, int) else Decimal(str(value)):,}".partition(".")
    text = style.point.join(filter(None, (whole.replace(",", style.thousands), decimals)))
    return text.replace("-", MINUS)


def percent(value: Any, language: str = "en", *, signed: bool = True) -> str:
    r"""Return a change in percent with its sign, or a share without one; None has a sign.

    Examples
    --------
    >>> percent(Decimal("3.2")), percent(Decimal("1234.5"), "de"), percent(None)
    ('+3.2%', '+1.234,5\xa0%', 'n/m')
    """
    if value is None:
        return NUMBER_STYLES[language].no_percent
    sign = "+" if signed and value > 0 else ""
    return f"{sign}{number(value, language)}{NUMBER_STYLES[language].percent}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun in English, plural unless it is one: for messages in one language."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def capitalized(text: str) -> str:
    """Return a text whose first letter is a capital, and whose others stay."""
    return text[:1].upper() + text[1:]


def day(value: dt.date | str, language: str = "en") -> str:
    """Return a day.

    Examples
    --------
    >>> day("2026-10-06"), day(dt.date(2026, 10, 6), "de")
    ('2026-10-06', '06.10.2026')
    """
    return _date(value).strftime(NUMBER_STYLES[language].day)


def moment(value: dt.datetime | str, language: str = "en") -> str:
    """Return a time to the minute.

    Examples
    --------
    >>> moment("2026-10-06T08:05:00+00:00", "de")
    '06.10.2026 08:05 UTC'
    """
    time = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
    return time.astimezone(dt.UTC).strftime(NUMBER_STYLES[language].moment)


def month(value: dt.date | str, language: str = "en") -> str:
    """Return a month in words.

    Examples
    --------
    >>> month("2026-10"), month(dt.date(2026, 3, 31), "de")
    ('October 2026', 'März 2026')
    """
    date = _date(value)
    return f"{NUMBER_STYLES[language].months[date.month - 1]} {date.year}"


def _date(value: dt.date | str) -> dt.date:
    if isinstance(value, str):
        return dt.date.fromisoformat(value[:10] if len(value) > len("2026-10") else f"{value}-01")
    return value
