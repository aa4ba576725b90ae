"""What a tool answers, as JSON with a line for each fact; every text from outside is a quoted value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from bktools.wording import words

Facts = dict[str, Any]

# An assistant pays for each letter. Items are those of a list, or the rows of a table.
LONGEST_TEXT = 300
MOST_ITEMS = 50

# Characters that nobody sees although Python calls them printable: each could carry a hidden text.
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0e\uffa0\U000e0100-\U000e01ef]"
)


class Command(str):
    """A command that a person copies: it is never cut."""

    __slots__ = ()


def text_of(facts: Mapping[str, Any]) -> str:
    """Return facts as JSON."""
    lines = (f"{_json(name)}: {_json(plain(value))}" for name, value in facts.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def plain(value: Any) -> Any:
    """Return a value as JSON has it: texts visible and cut, money as text, lists cut."""
    match value:
        case None | bool() | int() | float():
            return value
        case Mapping():
            return {visible(str(name)): plain(each) for name, each in value.items()}
        case list() | tuple():
            more = len(value) - MOST_ITEMS
            ends = [words()("agent.more", count=more)] if more > 0 else []
            return [*map(plain, value[:MOST_ITEMS]), *ends]
        case Command() | Path():
            return str(value)
        case Decimal():
            return f"{value:f}"
        case _:
            return visible(str(value))


def visible(text: str) -> str:
    """Return text cut, with an escape for each character that cannot be seen."""
    shown = "".join(
        char if char.isprintable() and not _HIDDEN.match(char) else char.encode("unicode_escape").decode()
        for char in text[:LONGEST_TEXT]
    )
    return shown if len(text) <= LONGEST_TEXT else f"{shown}…"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
