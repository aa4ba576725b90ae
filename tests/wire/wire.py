"""Cases typed by hand from the interface: requests, the shape of their answers, and one answer in full.

A shape is JSON. A name stands for a kind of value (`uuid`, `text`, `flag`, `integer`, `number`, `time`,
`cursor`, `object`), `a|b` for either, `=x` for the text x itself; a number or flag for itself; an object for
one with these fields (`name?`: may be missing) and any others; a list for one whose items all have the shape
of its only item.

`{"...": "category", "archived": false}` is the shape or example of that name in `named.json` with these
fields changed; `{"text": "x", "times": 255}` in a body is a long text. `client` says what `Service` makes of
the same answer, or how it refuses to ask; a `fault` is one that the sandbox is told to have first.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

FOLDER = Path(__file__).parent
NAMED = json.loads((FOLDER / "named.json").read_text("utf-8"))

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
    for file in sorted((FOLDER / "cases").glob("*.json")):
        for case in json.loads(file.read_text("utf-8")):
            request = {name: written_out(value, {}) for name, value in case["request"].items()}
            response = {
                "status": case["response"]["status"],
                "shape": written_out(case["response"]["shape"], NAMED["shapes"]),
                "example": written_out(case["response"]["example"], NAMED["examples"]),
            }
            found.append(case | {"file": file.stem, "request": request, "response": response})
    return found


def name_of(case):
    """Return what a case is called in the output of the tests and in the table of sentences."""
    return f"{case['file']}: {case['says']}"


def written_out(value, named):
    """Return a value with what stands for a named one, or for a long text, written out."""
    if isinstance(value, list):
        return [written_out(inner, named) for inner in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"text", "times"}:
        return value["text"] * value["times"]
    known = written_out(named[value["..."]], named) if "..." in value else {}
    return known | {name: written_out(inner, named) for name, inner in value.items() if name != "..."}


def misfits(shape, value, where="body"):
    """Return what of a value is not as its shape says, one line each."""
    if isinstance(shape, dict):
        return _misfits_of_object(shape, value, where)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{where} is no list: {value!r}"]
        return [
            line
            for number, item in enumerate(value)
            for line in misfits(shape[0], item, f"{where}[{number}]")
        ]
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
