"""Cases typed by hand from the interface: requests, the shape of their answers, and one answer in full.

A shape is JSON. A name stands for a kind of value (`uuid`, `text`, `flag`, `integer`, `number`, `time`, `cursor`,
`object`), `a|b` for either, `=x` for the text x itself; a number or flag for itself; an object for one with these
fields (`name?`: may be missing) and any others; a list for one whose items all have the shape of its only item.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

FOLDER = Path(__file__).parent

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)")
_CURSOR = re.compile(r"[A-Z2-7=~]+")


def _number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


KINDS = {
    "null": lambda value: value is None,
    "uuid": lambda value: isinstance(value, str) and bool(_UUID.fullmatch(value)),
    "text": lambda value: isinstance(value, str),
    "flag": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": _number,
    "time": lambda value: isinstance(value, str) and bool(_TIME.fullmatch(value)),
    "cursor": lambda value: isinstance(value, str) and bool(_CURSOR.fullmatch(value)),
    "object": lambda value: isinstance(value, dict),
}


def cases():
    """Return every case of every file, with the name of its file."""
    found = []
    for file in sorted(FOLDER.glob("*.json")):
        found += [case | {"file": file.stem} for case in json.loads(file.read_text("utf-8"))]
    return found


def misfits(shape, value, where="body"):
    """Return what of a value is not as its shape says, one line each."""
    if isinstance(shape, dict):
        return _misfits_of_object(shape, value, where)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{where} is no list: {value!r}"]
        return [line for number, item in enumerate(value) for line in misfits(shape[0], item, f"{where}[{number}]")]
    if not isinstance(shape, str):
        fits = type(value) is type(shape) and value == shape
    elif shape.startswith("="):
        fits = value == shape[1:]
    else:
        fits = any(KINDS[kind](value) for kind in shape.split("|"))
    return [] if fits else [f"{where} is not {shape!r}: {value!r}"]


def _misfits_of_object(shape, value, where):
    if not isinstance(value, dict):
        return [f"{where} is no object: {value!r}"]
    wrong = []
    for name, inner in shape.items():
        field = name.removesuffix("?")
        if field in value:
            wrong += misfits(inner, value[field], f"{where}.{field}")
        elif not name.endswith("?"):
            wrong.append(f"{where}.{field} is missing")
    return wrong


def filled(value, names):
    """Return a value with every text `$name` in it replaced by what it stands for."""
    if isinstance(value, dict):
        return {key: filled(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, names) for inner in value]
    if isinstance(value, str):
        return re.sub(r"\$([a-z_]+)", lambda found: names[found[1]], value)
    return value
