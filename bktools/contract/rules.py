"""Checks of arguments: each function returns the valid value or raises `ArgumentError`.

They run before anything is sent, so an invalid argument never reaches the service.
"""

from __future__ import annotations

import calendar
import datetime as dt
import operator
import re
import uuid
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bktools.errors import ArgumentError
from bktools.wording import Sentence

if TYPE_CHECKING:
    from bktools.settings import Settings

# `\Z`, because Python's `$` also matches before a final newline.
UUID_PATTERN = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\Z")

# The same for engines that search (RE2), where `$` matches only the end.
UUID_REGEX = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
UUID_LENGTH = 36

MONTH_PATTERN = re.compile(r"\d{4}-(0[1-9]|1[0-2])\Z", re.ASCII)
FIRST_MONTH = "0001-01"

# Types whose text is ISO 8601, unless it is a quarter, a week or a year. They are known by name, because
# pandas is on a higher floor.
CALENDAR_TYPES = {"Period", "datetime64"}
CALENDAR_PATTERN = re.compile(r"\d{4}-\d\d(-\d\d([T ][\d:.]+)?)?\Z", re.ASCII)

# What stands for a person's word in printed commands and help.
PLACEHOLDERS = frozenset({"NAME", "TEXT", "DATE", "REASON", "EVIDENCE", "PERSON", "FILE"})
_ANGLES = re.compile(r"<[^<>]*>")
# Words of an evidence at least.
LEAST_WORDS = 2

# Names that a message lists.
SHOWN_NAMES = 10

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


def plain(value: object) -> Any:
    """Return a single value of NumPy or Arrow as Python's own; any other value as it is."""
    if hasattr(value, "as_py"):
        return value.as_py()
    scalar: Any = value
    if type(value).__module__ != "numpy" or scalar.ndim:
        return value
    # Nanoseconds would become a number.
    is_time = scalar.dtype.kind in "mM" and not str(scalar.dtype).endswith(("[D]", "[M]", "[Y]"))
    return (scalar.astype(f"{scalar.dtype.kind}8[us]") if is_time else scalar).item()


def uuid_text(argument: str, value: object) -> str:
    """Return a UUID, given as text or `uuid.UUID`, as lower-case text."""
    value = plain(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if not isinstance(value, str) or not UUID_PATTERN.match(value):
        raise ArgumentError(argument, Sentence("rule.uuid"), value)
    return value.lower()


def company_id(argument: str, value: object, names: Mapping[str, str]) -> str:
    """Return the UUID of a company, given by UUID or by short name; `names` has the UUID of each name."""
    named = names.get(value) if isinstance(value, str) else None
    if named is None and isinstance(value, str) and not UUID_PATTERN.match(value):
        known = ", ".join(list(names)[:SHOWN_NAMES]) + (" …" if len(names) > SHOWN_NAMES else "")
        code = "company" if known else "company_without_names"
        raise ArgumentError(argument, Sentence(f"rule.{code}", names=known), value)
    return named or uuid_text(argument, value)


def company_of(settings: Settings, company: object = None) -> str:
    """Return the UUID of a company, given by UUID or by short name; by default of the configured one."""
    company = settings.company if company is None else company
    if company is None:
        raise ArgumentError("company", Sentence("rule.no_company"))
    return company_id("company", company, settings.company_names)


def unique_uuids(argument: str, values: object) -> list[str]:
    """Return UUIDs as lower-case text in the given order, each once: a column of a frame may repeat them."""
    return list(dict.fromkeys(_uuids(argument, values)))


def uuids_once(argument: str, values: object) -> list[str]:
    """Return UUIDs as lower-case text in their order; refuse a repeated one, which would be booked twice."""
    ids, seen = _uuids(argument, values), set[str]()
    for index, value in enumerate(ids):
        if value in seen:
            raise ArgumentError(f"{argument}[{index}]", Sentence("rule.repeated"), value)
        seen.add(value)
    return ids


def _uuids(argument: str, values: object) -> list[str]:
    return [
        uuid_text(f"{argument}[{index}]", value) for index, value in enumerate(items_of(argument, values))
    ]


def items_of(argument: str, values: object) -> Iterable[object]:
    """Return a list of UUIDs; refuse a single value."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ArgumentError(argument, Sentence("rule.uuids"), values)
    return values


def text(argument: str, value: object, *, shortest: int = 0, longest: int | None = None) -> str:
    """Return a text whose length in characters is within the bounds."""
    if not isinstance(value, str):
        raise ArgumentError(argument, Sentence("rule.text"), value)
    if len(value) < shortest:
        raise ArgumentError(argument, Sentence("rule.too_short", shortest=shortest), value)
    if longest is not None and len(value) > longest:
        raise ArgumentError(argument, Sentence("rule.too_long", longest=longest, length=len(value)), value)
    return value


def not_blank(argument: str, value: object) -> str:
    """Return a text, such as a person's name or the evidence for a decision, without the blanks around it."""
    stripped = text(argument, value).strip()
    if not stripped:
        raise ArgumentError(argument, Sentence("rule.blank"))
    return stripped


def a_name(argument: str, value: object) -> str:
    """Return the name of a person; refuse the placeholder of a printed command."""
    return _a_persons_word(argument, value, "name")


def reason(argument: str, value: object) -> str:
    """Return a person's reason; refuse the placeholder of a printed command."""
    return _a_persons_word(argument, value, "reason")


def evidence(argument: str, value: object) -> str:
    """Return a person's evidence: what was looked up and found, in two words at least."""
    written = _a_persons_word(argument, value, "evidence")
    if len(written.split()) < LEAST_WORDS:
        raise ArgumentError(argument, Sentence("rule.one_word"), value)
    return written


def _a_persons_word(argument: str, value: object, meant: str) -> str:
    written = not_blank(argument, value)
    bare = written.strip(" .…'\"")
    # "Date" is a surname, too.
    if (
        (bare in PLACEHOLDERS or (bare.upper() in PLACEHOLDERS and bare.islower()))
        or not any(map(str.isalnum, written))
        or _ANGLES.search(written)
    ):
        raise ArgumentError(argument, Sentence(f"rule.placeholder_of_{meant}"), value)
    return written


def one_of(argument: str, value: str, choices: Iterable[str]) -> str:
    """Return a word that is one of the choices."""
    words = [*choices]
    if value not in words:
        raise ArgumentError(argument, Sentence("rule.one_of", choices=", ".join(words)), value)
    return value


def month(argument: str, value: object) -> str:
    """Return a month such as 2026-10, given as text, as a period of pandas, or as a day or a time in it."""
    written = value if isinstance(value, str) else calendar_text(value)[: len("2026-10")]
    if not MONTH_PATTERN.match(written) or written < FIRST_MONTH:
        raise ArgumentError(argument, Sentence("rule.month"), value)
    return written


def last_day(month: str) -> dt.date:
    """Return the last day of a month such as 2026-10."""
    year, number = map(int, month.split("-"))
    return dt.date(year, number, calendar.monthrange(year, number)[1])


def period(argument: str, value: object) -> tuple[str, str]:
    """Return the first and last month of a period: a month, a quarter, a year, or two months around `..`.

    Examples
    --------
    >>> period("period", "2026-Q3"), period("period", "2026-01..2026-10")
    (('2026-07', '2026-09'), ('2026-01', '2026-10'))
    """
    if not isinstance(value, str):
        own = month(argument, value)
        return own, own
    if quarter := re.fullmatch(r"(\d{4})-?Q([1-4])", value):
        end = 3 * int(quarter[2])
        return f"{quarter[1]}-{end - 2:02}", f"{quarter[1]}-{end:02}"
    if re.fullmatch(r"\d{4}", value):
        return f"{value}-01", f"{value}-12"
    first, _, last = value.partition("..")
    last = last or first
    if not (MONTH_PATTERN.match(first) and MONTH_PATTERN.match(last) and FIRST_MONTH <= first <= last):
        raise ArgumentError(argument, Sentence("rule.period"), value)
    return first, last


def calendar_text(value: object) -> str:
    """Return a month, a day or a time as ISO 8601 text; "" for any other value.

    Takes dates and times of Python, NumPy and pandas, and periods of pandas.
    """
    if isinstance(value, dt.date):
        # A missing time of pandas is a date, and equals nothing.
        return value.isoformat() if value == value else ""  # noqa: PLR0124
    if type(value).__name__ not in CALENDAR_TYPES:
        return ""
    written = str(value)
    return written if CALENDAR_PATTERN.match(written) else ""


def refuse_unknown(names: Iterable[str], known: Iterable[str], of: str, argument: str | None = None) -> None:
    """Refuse names that `of` does not have; `argument` holds the names, which are arguments without it."""
    listed = [*known]
    for name in sorted({*names} - {*listed}):
        # Not at the top: it takes time, and hardly a command has a wrong name.
        import difflib

        similar = difflib.get_close_matches(name, listed, 1) or None
        facts: dict[str, Any] = {"of": of, "names": ", ".join(listed), "similar": similar}
        if argument is None:
            raise ArgumentError(name, Sentence("rule.unknown_argument", **facts))
        raise ArgumentError(argument, Sentence("rule.unknown_name", **facts), name)


def flag(argument: str, value: object) -> bool:
    """Return True or False, of Python or NumPy; refuse numbers and words."""
    boolean = plain(value)
    if not isinstance(boolean, bool):
        raise ArgumentError(argument, Sentence("rule.flag"), value)
    return boolean


def whole_number(argument: str, value: object, *, smallest: int = 0, largest: int = INT64_MAX) -> int:
    """Return an integer, of Python or NumPy, within the bounds; refuse booleans."""
    number = plain(value)
    # The check for the protocol of indices would take longer than the rest of a page's request.
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise ArgumentError(argument, Sentence("rule.whole_number"), value)
    whole = operator.index(number)
    if whole < smallest:
        raise ArgumentError(argument, Sentence("rule.at_least", least=smallest), value)
    if whole > largest:
        raise ArgumentError(argument, Sentence("rule.at_most", most=largest), value)
    return whole


def timestamp(text_: str) -> dt.datetime:
    """Return an ISO 8601 timestamp in UTC; digits beyond microseconds are dropped."""
    # fromisoformat accepts at most six fractional digits; the service sends up to nine.
    value = dt.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text_))
    return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)
