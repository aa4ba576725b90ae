"""What a tool answers, and its text: JSON of at most 60 lines that quotes every text from outside."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from bktools.visible import visible_line

Facts = dict[str, Any]

MOST_LINES = 60
# An assistant pays for each, and reads the first ones best.
MOST_CHARACTERS = 8_000
LONGEST_TEXT = 300
MOST_FIELDS = 60
# Rows of a table or of a query.
MOST_ROWS = 50
# Items of a list: the first number with which the whole answer fits is taken.
MOST_ITEMS = (MOST_ROWS, 40, 30, 20, 10, 5, 3, 1)
# A list that is wider has a line for each item.
WIDEST = 100

# Characters that nobody sees although Python calls them printable, and joiners that join nothing: each could
# carry a hidden text. One joiner alone is a part of words in several scripts, and of emojis.
_JOINERS = "\u200c\u200d"
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0e\uffa0\U000e0100-\U000e01ef]"
    f"|[{_JOINERS}]{{2,}}"
)


class Command(str):
    """A command that a person copies: it is never cut."""

    __slots__ = ()


def text_of(facts: Mapping[str, Any]) -> str:
    """Return facts as JSON: a line for each fact, and for each item of a long list."""
    text = ""
    for most in MOST_ITEMS:
        text = ",\n".join(_lines(name, plain(value, most)) for name, value in facts.items())
        if text.count("\n") + 3 <= MOST_LINES and len(text) <= MOST_CHARACTERS:
            break
    return f"{{\n{text}\n}}"


def line_of(facts: Mapping[str, Any]) -> str:
    """Return facts as JSON in one line."""
    return _json(plain(facts, MOST_ITEMS[0]))


def plain(value: Any, most: int) -> Any:
    """Return a value as JSON has it: texts visible and cut, money and times as text, lists cut."""
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            first = list(value.items())[:MOST_FIELDS]
            fields = {visible(str(name)): plain(each, most) for name, each in first}
            return fields | ({"…": len(value) - MOST_FIELDS} if len(value) > MOST_FIELDS else {})
        case list() | tuple():
            more = [f"… and {len(value) - most:,} more"] if len(value) > most else []
            return [*(plain(each, most) for each in value[:most]), *more]
        case Command() | Path():
            text = str(value)
        case Decimal():
            text = f"{value:f}"
        case dt.datetime():
            text = value.isoformat().replace("+00:00", "Z")
        case _:
            text = visible(str(value))
    return text


def visible(text: str) -> str:
    """Return text in one line, cut, with an escape for each character that cannot be seen."""
    line = visible_line(text[: LONGEST_TEXT + 1])
    line = _HIDDEN.sub(lambda hidden: _escaped(hidden[0]), line)
    shown = "".join(char if char.isprintable() or char in _JOINERS else _escaped(char) for char in line)
    return shown if len(shown) <= LONGEST_TEXT else f"{shown[:LONGEST_TEXT]}…"


def _escaped(text: str) -> str:
    return text.encode("unicode_escape").decode()


def _lines(name: str, value: Any) -> str:
    line = f"{_json(name)}: {_json(value)}"
    if not isinstance(value, list) or len(line) <= WIDEST:
        return line
    items = ",\n".join(f"  {_json(each)}" for each in value)
    return f"{_json(name)}: [\n{items}\n]"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
