"""Answers of tools: JSON of at most 60 lines, in which every text from outside is a quoted, visible value."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from bktools.visible import visible_line

MOST_LINES = 60
# Items of a list that are shown; the table has all. The first number with which the answer fits is taken.
MOST_ITEMS = (40, 20, 10, 5, 2)
MOST_FIELDS = 60
LONGEST_TEXT = 300
WIDEST = 100

# Letters of several scripts need these two, which are invisible.
_JOINERS = "\u200c\u200d"
# Supplementary variation selectors: invisible, and able to carry a whole hidden text.
_SELECTORS = range(0xE0100, 0xE01F0)


def text_of(facts: Mapping[str, Any]) -> str:
    """Return facts as JSON: a line for each fact, and for each item of a list."""
    lines: list[str] = []
    for most in MOST_ITEMS:
        lines = _lines({key: plain(value, most) for key, value in facts.items()})
        if len(lines) <= MOST_LINES:
            break
    return "\n".join(lines)


def line_of(facts: Mapping[str, Any]) -> str:
    """Return facts as JSON in one line."""
    return _json(plain(facts, MOST_ITEMS[0]))


def plain(value: Any, most: int) -> Any:
    """Return a value as JSON has it: texts visible and cut, money and days as text, lists cut."""
    match value:
        case None | bool() | int():
            return value
        case float():
            return None if math.isnan(value) else value
        case Mapping():
            fields = [(visible(str(name)), plain(each, most)) for name, each in value.items()]
            return dict(_cut(fields, MOST_FIELDS, lambda more: ("more", more)))
        case list() | tuple():
            return _cut([plain(each, most) for each in value], most, lambda more: f"and {more:,} more")
        case Decimal():
            text = f"{value:f}"
        case dt.datetime():
            text = value.isoformat().replace("+00:00", "Z")
        case _:
            text = visible(str(value))
    return text


def visible(text: str) -> str:
    """Return text with escapes for every character that cannot be seen, and cut."""
    escaped = "".join(
        char.encode("unicode_escape").decode() if _is_hidden(char) else char
        for char in visible_line(text[: LONGEST_TEXT + 1])
    )
    return escaped if len(escaped) <= LONGEST_TEXT else f"{escaped[:LONGEST_TEXT]}…"


def _is_hidden(char: str) -> bool:
    if char.isprintable():
        return ord(char) in _SELECTORS
    return char not in _JOINERS


def _cut(items: list[Any], most: int, rest: Any) -> list[Any]:
    return items if len(items) <= most else [*items[:most], rest(len(items) - most)]


def _lines(facts: Mapping[str, Any]) -> list[str]:
    parts = []
    for name, value in facts.items():
        # One of numbers or codes fits a line.
        if isinstance(value, list) and len(_json(value)) > WIDEST:
            items = ",\n".join(f"  {_json(each)}" for each in value)
            parts.append(f"{_json(name)}: [\n{items}\n]")
        else:
            parts.append(f"{_json(name)}: {_json(value)}")
    return ["{", *",\n".join(parts).split("\n"), "}"]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
