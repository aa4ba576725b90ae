"""Text of cells → days, in the one order of day and month that the whole column has."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.options import Options
from bktools.inputs.question import Problems
from bktools.inputs.table import Mask

# The orders of day and month, each with its format.
ORDERS: Final[Mapping[str, str]] = {"dmy": "%d/%m/%Y", "mdy": "%m/%d/%Y"}
SERIAL: Final = "serial"

_TIME = (
    r"(?:[T ,.]*\d{1,2}[:.]\d{2}(?:[:.]\d{2,3})?(?:[.,]\d+)?\s*(?:[AaPp]\.?[Mm]\.?)?"
    r"\s*(?:[A-Z]{1,4}|[+-]\d{2}:?\d{2})?)?"
)
_ISO = re.compile(rf"(\d{{4}})([-/.年])(\d{{1,2}})[-/.月](\d{{1,2}})(?:日|\.)?{_TIME}$")
_NUMBERS = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}|\d{{2}})\.?{_TIME}$")
# The time may stand behind, as in 20261031120000[0:GMT] of OFX.
_COMPACT = re.compile(r"(20\d\d|19\d\d)(\d\d)(\d\d)(?:\d{6}(?:\.\d+)?(?:\[[^\]]*\])?)?$")
_WORD = re.compile(rf"(?:\w+, *)?(\d{{1,2}})[. /-]*([^\W\d_]+)\.?[. /-]*(\d{{4}}|\d{{2}})?{_TIME}$")
_YEAR_AND_WORD = re.compile(rf"(\d{{4}})[. /-]+([^\W\d_]{{3,}})\.?[. /-]+(\d{{1,2}}){_TIME}$")
_WORD_FIRST = re.compile(
    rf"(?:\w+, *)?([^\W\d_]{{3,}})\.?[. /-]*(\d{{1,2}})(?:[., /-]+(\d{{4}}|\d{{2}}))?{_TIME}$"
)
_WITHOUT_YEAR = re.compile(r"\W*\d{1,2}\W*[^\W\d]+\W*$|\W*[^\W\d]+\W*\d{1,2}\W*$")
# Numbers alone are a day and a month where an option says the year.
_NUMBERS_WITHOUT_YEAR = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\.?$")
_SERIAL = re.compile(r"[34]\d{4}(\.\d+)?")
# The day before Excel's first one, and the year that it takes for a leap year.
_FIRST_DAY = dt.date(1899, 12, 30)
_LONGEST = 40
_AROUND = " '\t\xa0"
# Two digits of a year up to here are of this century.
_CENTURY = 70
# The years of days in books.
_YEARS = range(1900, 2100)
# So many different texts have times, which are left out before the texts are read one by one.
_MANY_TEXTS = 5000
_TIME_BEHIND = r"(?:T|[ ,]+)\d{1,2}[:.]\d{2}(?:[:.]\d{2}.*|\s*[AaPp]\.?[Mm]\.?)?$"


def parsed(text: str, form: str) -> dt.date | None:
    """Return the day of a text in a format, None where it has none."""
    try:
        return dt.datetime.strptime(text.strip(), form).date()  # noqa: DTZ007 - a day alone
    except ValueError:
        return None


def _day(year: str | int, month: str | int, day: str | int) -> dt.date | None:
    number = int(year)
    if number < 100:
        number += 2000 if number < _CENTURY else 1900
    if number not in _YEARS:
        return None
    try:
        return dt.date(number, int(month), int(day))
    except ValueError:
        return None


@lru_cache(1 << 16)
def days_of(text: str, year: int | None = None) -> Mapping[str, dt.date | None]:
    """Return the days that a cell can be, by order of day and month, "" where it is clear; empty: no day."""
    text = re.sub(r"(?<=\d\.)\s+(?=\d)", "", text.strip(_AROUND))
    if not text or len(text) > _LONGEST or not (text[-1:].isascii() or text.endswith("日")):
        return {}
    if match := _ISO.match(text):
        return {"": _day(match[1], match[3], match[4])}
    if year and (match := _NUMBERS_WITHOUT_YEAR.match(text)):
        text = f"{match[1]}{match[2]}{match[3]}{match[2]}{year}"
    if match := _NUMBERS.match(text):
        days = {"dmy": _day(match[4], match[3], match[1])}
        # Nobody writes the month first with points.
        days |= {"mdy": _day(match[4], match[1], match[3])} if match[2] != "." else {}
        days = {order: day for order, day in days.items() if day} or {"": None}
        return days if len({*days.values()}) > 1 else {"": next(iter(days.values()))}
    if match := _COMPACT.match(text):
        day = _day(*match.groups()[:3])
        return {"": day} if day else {}
    for match, (at_day, at_month, at_year) in (
        (_WORD.match(text), (1, 2, 3)),
        (_WORD_FIRST.match(text), (2, 1, 3)),
        (_YEAR_AND_WORD.match(text), (3, 2, 1)),
    ):
        month = terms.months().get(terms.normal(match[at_month])) if match else None
        if match and month:
            own = match[at_year] or year
            return {"": _day(own, month, match[at_day]) if own else None}
    return {}


def is_day(text: str) -> bool:
    """Whether a cell has the form of a day."""
    return bool(days_of(text))


def is_serial(text: str) -> bool:
    """Whether a cell can be the number of a day in a spreadsheet."""
    return _SERIAL.fullmatch(text.strip()) is not None


def may_be_days(column: pa.ChunkedArray, options: Options) -> Mask:
    """Return which cells have the form of a day."""

    def may_be(text: str) -> bool:
        is_of_format = options.get("date_format") is not None and text.strip()[:1].isdigit()
        return bool(days_of(text, options.get("year"))) or is_serial(text) or is_of_format

    return cells.mask(cells.each(without_times(column), may_be, schema.FLAG))


def without_times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts without the times behind days, where they are many."""
    if pc.count_distinct(column.slice(0, _MANY_TEXTS * 2)).as_py() < _MANY_TEXTS:
        return column
    return pc.replace_substring_regex(column, _TIME_BEHIND, "")


def same_days(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts for comparison, without times behind days."""
    return pc.replace_substring_regex(cells.trimmed(column), _TIME_BEHIND, "")


def read_days(
    column: pa.ChunkedArray,
    form: str | None = None,
    year: int | None = None,
    *,
    problems: Problems | None = None,
    others: Sequence[pa.ChunkedArray] = (),
) -> tuple[pa.ChunkedArray, Mask]:
    """Return the days of a column, and which cells are none; a clear day needs no format.

    Without a format, the order of day and month is the one that the days of this and of `others` show; where
    they do not, it is a problem.
    """
    column = without_times(column)
    texts = cells.unique(column)
    if form in (None, *ORDERS.values()):
        order = next((order for order, own in ORDERS.items() if own == form), "")
        if form is None and problems is not None:
            order = _order(texts, others, year, problems)
        meaning = {text: (days := days_of(text, year)).get(order, days.get("")) for text in texts}
    else:
        meaning = {text: _by_format(text, str(form), year) for text in texts}
    read = cells.each(column, meaning.get, schema.DATE)
    return read, cells.mask(pc.is_null(read)) & ~cells.blank(column)


def _without_time(text: str) -> str:
    return re.sub(_TIME_BEHIND, "", text.strip(_AROUND))


def _by_format(text: str, form: str, year: int | None) -> dt.date | None:
    if form == SERIAL and is_serial(text):
        return _FIRST_DAY + dt.timedelta(int(float(text)))
    # A day of another form counts where it has one order alone.
    return parsed(text, form) or parsed(_without_time(text), form) or days_of(text, year).get("")


def _order(
    texts: Sequence[str], others: Sequence[pa.ChunkedArray], year: int | None, problems: Problems
) -> str:
    in_figures = [text for text in texts if _NUMBERS.match(text.strip(_AROUND))]
    if form := _year_first(in_figures):
        text, days = in_figures[0], days_of(in_figures[0])
        choices = [{"date_format": own} for own in (ORDERS["dmy"], form)]
        day_first, other = days.get("dmy", days.get("")), parsed(_without_time(text), form)
        problems.ask("date_format", choices, value=text, day_first=day_first, month_first=other)
        return "dmy"
    open_days = [(text, days) for text in texts if (days := days_of(text, year)) and "" not in days]
    if not open_days:
        return "dmy"
    # A day such as 25/01 settles the order of all.
    every = chain(texts, *(cells.unique(without_times(column)) for column in others))
    settled = {_settles(text) for text in every} - {""}
    if len(settled) == 1:
        return settled.pop()
    text, days = open_days[0]
    choices = [{"date_format": form} for form in ORDERS.values()]
    day_first, month_first = days["dmy"], days["mdy"]
    problems.ask("date_format", choices, value=text, day_first=day_first, month_first=month_first)
    return "dmy"


def _year_first(texts: Sequence[str]) -> str:
    """Return the format of days such as 24-06-17 where the year may stand first: its figures vary least."""
    parts = [match.groups() for text in texts if (match := _NUMBERS.match(text.strip(_AROUND)))]
    form = f"%y{parts[0][1]}%m{parts[0][1]}%d" if parts else ""
    first, last = ({own[at] for own in parts} for at in (0, 3))
    are_short = max(map(len, last), default=0) == 2
    may_be = are_short and len(first) < len(last) and all(parsed(_without_time(text), form) for text in texts)
    return form if may_be else ""


@lru_cache(1 << 16)
def _settles(text: str) -> str:
    text = text.strip(_AROUND)
    match = _NUMBERS.match(text) or _NUMBERS_WITHOUT_YEAR.match(text)
    if not match or match[2] == ".":
        return ""
    most = 12
    return "dmy" if int(match[1]) > most else "mdy" if int(match[3]) > most else ""


def lacks_year(text: str) -> bool:
    """Whether a cell is a day and a month alone."""
    is_named = "" in days_of(text) and _WITHOUT_YEAR.match(text) is not None
    return is_named or _NUMBERS_WITHOUT_YEAR.match(text.strip(_AROUND)) is not None
