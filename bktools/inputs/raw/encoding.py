"""Bytes of a text → UTF-8: by marks, else by every encoding that makes sound words of all lines.

A wrong encoding leaves signs inside of words, letters of two scripts in one word, or controls. Of those that
are left, the ones count in which most headings are known, then those whose letters are all of the languages
of these headings. What is still open is asked.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import pyarrow as pa

from bktools.errors import ArgumentError
from bktools.inputs import terms
from bktools.inputs.notes import damaged
from bktools.wording import Sentence

_ENCODINGS = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1257", "cp850", "cp852", "cp437"),
    *("cp866", "iso8859-2", "iso8859-15", "mac_roman", "gb18030", "big5", "shift_jis", "cp949"),
)
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
# Lines beyond ASCII that are looked at, and one more for each byte that they lack.
_SAMPLE_LINES = 2000
_LINE_WITH_HIGH = re.compile(rb"[^\r\n]*[\x80-\xff][^\r\n]*")
_CAPITALS = "".join(filter(str.isupper, map(chr, range(0xC0, 0x180))))
# Controls and boxes; a sign inside of a word; signs of Latin-1 beside a word; a capital after a small letter.
_UNSOUND = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd\u2500-\u25ff]"
    r"|[^\W\d_][^\w\s\x00-\x7f’‘“”–—…•·€£º°«»][^\W\d_]|[¡-©«-´¶-¹»-¿×÷]+[^\W\d_]{2}"
    r"|[^\W\d_]{2}[¡-©¬-´¶¹¿×÷¼-¾]|[A-Za-z]№"
    # A sign between figures, which is a space between thousands in another encoding.
    r"|\d[†‡•˙ˇ˘]\d"
    r"|\b[A-Z][À-ÖØ-Þ][a-zà-öø-ÿ]"
    rf"|[a-z{_CAPITALS.lower()}][{_CAPITALS}]"
)
_EASTERN = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff61-\uff9f]")
_LONE_EASTERN = re.compile(rf"[A-Za-z]{_EASTERN.pattern}(?=[A-Za-z])|[A-Za-z]{_EASTERN.pattern}\b")
_EASTERN_RUN = re.compile(rf"{_EASTERN.pattern}{{2,}}")
# Of so many words of the East, one may be a letter and a sign, such as D厂, the plant D.
_RUNS_TO_LONE = 20
_REPLACED = re.compile(r"[\ufffd\ue000-\uf8ff]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_CELL_WORD = re.compile(r"[^\s;,|\"]+")
_EASTERN_SCRIPTS = {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "KATAKANA-HIRAGANA", "FULLWIDTH"}
_SHOWN_CHARACTERS = 40


class Reading(NamedTuple):
    """A text in UTF-8 by one encoding; `others` are the encodings that read it as well, each with a word."""

    encoding: str
    text: bytes
    others: Sequence[tuple[str, str]] = ()
    # Whether some encoding fits all lines.
    is_whole: bool = True


def read_text(
    data: bytes, encoding: str | None, source: str, headings_in: Callable[[str], set[str]]
) -> Reading:
    """Return a text in UTF-8; `headings_in` returns the known headings of a text's first lines."""
    mark, marked = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    body = data.removeprefix(mark)
    if encoding is not None or marked == "utf-16":
        reading = _asked(data, encoding or marked)
    else:
        reading = Reading(marked, body) if is_utf8(body) else _by_letters(body, headings_in)
    nul = reading.text.find(b"\0")
    if nul >= 0:
        line = reading.text.count(b"\n", 0, nul) + 1
        raise damaged(source, "no_text", line)
    return reading


def is_utf8(body: bytes) -> bool:
    """Whether bytes are valid UTF-8."""
    # Python's own check would hold a large text in memory once more, and wider.
    ends = pa.array([0, len(body)], pa.int64()).buffers()[1]
    text = pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(body)])
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _asked(data: bytes, encoding: str) -> Reading:
    name = encoding_named(encoding)
    text = data.decode(name, "replace").removeprefix("\ufeff")
    return Reading(name, text.encode("utf-8", "replace"), is_whole="\ufffd" not in text)


def encoding_named(encoding: str) -> str:
    """Return the name of an encoding in its one spelling; what is none of a text is an `ArgumentError`."""
    try:
        b"".decode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, TypeError):
        raise ArgumentError("encoding", Sentence("rule.encoding"), encoding) from None


def _by_letters(data: bytes, headings_in: Callable[[str], set[str]]) -> Reading:
    sample = b"\n".join(_sample(data))
    readings: dict[str, str] = {}
    for name in _ENCODINGS:
        try:
            reading = sample.decode(name)
        except UnicodeDecodeError:
            continue
        if is_sound(reading) and reading not in readings.values():
            readings[name] = reading
    if not readings:
        # No encoding fits all lines, so that nothing may settle it.
        both = ("cp1252", "utf-8")
        shown = _differing([sample.decode(name, "replace") for name in both])
        text = data.decode(both[0], "replace").encode()
        return Reading(both[0], text, tuple(zip(both, shown, strict=True)), is_whole=False)
    names = _by_headings(readings, data, headings_in) if len(readings) > 1 else [*readings]
    shown = _differing([readings[name] for name in names])
    others = tuple(zip(names, shown, strict=True)) if len(names) > 1 else ()
    return Reading(names[0], data.decode(names[0], "replace").encode(), others)


def _sample(data: bytes) -> list[bytes]:
    """Return different lines beyond ASCII: the first ones, and one for each byte that they do not have."""
    every = (line[0] for line in _LINE_WITH_HIGH.finditer(data))
    lines = dict.fromkeys(islice(every, _SAMPLE_LINES))
    for byte in frozenset(range(128, 256)).difference(b"".join(lines)):
        if (at := data.find(byte)) >= 0:
            begin = data.rfind(b"\n", 0, at) + 1
            lines[data[begin:].split(b"\n", 1)[0]] = None
    return list(lines)


def is_sound(text: str) -> bool:
    """Return whether each word is of one script and without signs inside, as no wrong encoding leaves it."""
    if _EASTERN.search(text):
        # Letters of the East stand in runs, not alone among Latin ones.
        lone, runs = (len(pattern.findall(text)) for pattern in (_LONE_EASTERN, _EASTERN_RUN))
        return lone * _RUNS_TO_LONE <= runs and not _REPLACED.search(text)
    if _UNSOUND.search(text):
        return False
    beyond = {word for word in _WORD.findall(text) if not word.isascii()}
    return all(len({_script(letter) for letter in word if letter not in "ªºµ"}) <= 1 for word in beyond)


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "?").split()[0]
    return "CJK" if name in _EASTERN_SCRIPTS else name


def _by_headings(readings: dict[str, str], data: bytes, headings_in: Callable[[str], set[str]]) -> list[str]:
    """Return the encodings with most known headings, then those with letters of their languages alone."""
    # A letter that the cut may spoil is in no heading.
    head = data[: 1 << 16]
    known = {name: headings_in(head.decode(name, "replace")) for name in readings}
    most = max(map(len, known.values()))
    left = [name for name in readings if len(known[name]) == most]
    languages = terms.languages_of(terms.normal(heading) for name in left for heading in known[name])
    letters = frozenset().union(*(terms.letters().get(language, frozenset()) for language in languages))
    fitting = [
        name
        for name in left
        if all(one in letters for one in readings[name].casefold() if ord(one) > 127 and one.isalpha())
    ]
    return fitting or left


def _differing(texts: Sequence[str]) -> list[str]:
    """Return the first word that all readings read differently, else the first that two do."""
    rows = list(zip(*(_CELL_WORD.findall(text) for text in texts), strict=False))
    row = next((row for row in rows if len(set(row)) == len(row)), None)
    row = row or next((row for row in rows if len(set(row)) > 1), tuple("" for _ in texts))
    return [word[:_SHOWN_CHARACTERS] for word in row]
