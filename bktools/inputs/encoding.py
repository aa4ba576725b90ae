"""Bytes of a text file → UTF-8, with the encoding named or found."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bktools.caller import name_of, setting
from bktools.errors import ArgumentError, InputError

# A longer mark stands before the shorter one that it starts with.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# What languages write beyond ASCII, in small letters.
_WESTERN = (
    "äöüß",  # German
    "åäöé",  # Swedish, Finnish
    "æøåéòô",  # Danish, Norwegian
    "àâæçéèêëîïôœùûü",  # French
    "áéíñóúüàçèòï",  # Spanish, Catalan
    "áâãàçéêíóôõúü",  # Portuguese
    "àèéìíîòóùú",  # Italian
    "áèéëíïóöúü",  # Dutch
    "áðéíóúýþæö",  # Icelandic
)
_CENTRAL = (
    "ąćęłńóśźż",  # Polish
    "áčďéěíňóřšťúůýž",  # Czech
    "áäčďéíĺľňóôŕšťúýž",  # Slovak
    "áéíóöőúüű",  # Hungarian
    "čćđšž",  # Croatian, Slovenian
    "ăâîşţ",  # Romanian
)

# Tried on bytes that are not UTF-8, with the alphabets that were written in it; on equal evidence the first one counts.
_ONE_BYTE = {"cp1252": _WESTERN, "cp1250": _CENTRAL, "cp850": _WESTERN, "mac_roman": _WESTERN}


def _letters(languages: Sequence[str]) -> frozenset[str]:
    return frozenset(letter for small in languages for letter in (*small, *small.replace("ß", "").upper()))


_ALPHABETS = {encoding: [_letters([one]) for one in languages] for encoding, languages in _ONE_BYTE.items()}
_LETTERS = {encoding: _letters(languages) for encoding, languages in _ONE_BYTE.items()}

_MARKS_OF_TEXT = frozenset("–—‘’‚“”„«»‹›…•€£¥¢§°´·¹²³¼½¾×±µ©®™¡¿ºª\u00a0\u00ad")  # noqa: RUF001 - these very marks are meant
# Of these, what stands beside a figure or a unit, not at a word.
_SIGNS = frozenset("£¥¹²³")

_IS_ASCII_LETTER = np.array([chr(byte).isascii() and chr(byte).isalpha() for byte in range(256)])
_IS_SMALL = _IS_ASCII_LETTER & (np.arange(256) >= ord("a"))
_IS_HIGH = np.arange(256) >= 128  # noqa: PLR2004 - where ASCII ends

Counts = npt.NDArray[np.int64]


_MAYBE_UTF16 = 0.4
_PART = 1 << 24


class _Seen(NamedTuple):
    """How often each byte is there: anywhere, between two letters, after a small one, at a word, without a neighbour."""

    anywhere: Counts
    inside: Counts
    after_small: Counts
    at_word: Counts
    alone: Counts


def to_utf8(data: bytes, encoding: str | None, source: str) -> tuple[bytes, str, list[str]]:
    """Return the text as UTF-8 without a mark, the encoding it was in, and notes.

    Raises
    ------
    ArgumentError
        When the encoding is not known.
    InputError
        When bytes do not fit the encoding, fit several, or hold NUL characters.
    """
    notes: list[str] = []
    mark, found = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", ""))
    if encoding is not None:
        try:
            # Reading a letter refuses what is a codec but no encoding of files, such as base64 and idna.
            b"a".decode(encoding, errors="ignore")
            found = codecs.lookup(encoding).name
        except (LookupError, TypeError, ValueError):
            raise ArgumentError(name_of("encoding"), "must be an encoding such as utf-8 or cp1252", encoding) from None
        if not _is_mark_of(mark, found):
            mark = b""
    body = data[len(mark) :]
    found = found or _unmarked_utf16(body) or "utf-8"
    if found == "utf-8":
        error = _utf8_error(body)
        if error is not None and (encoding is not None or mark):
            raise _undecodable(body, error, found, source)
        if error is not None:
            found = _one_byte_encoding(body, error, source)
            notes.append(
                f"read as {found}, since the bytes are not UTF-8; if names look wrong, set {setting('encoding')}"
            )
    text = body if found == "utf-8" else _recoded(body, found, source)
    if b"\0" in text:
        line = text.count(b"\n", 0, text.index(b"\0")) + 1
        raise InputError(
            f"the text has a NUL byte: the file is damaged, or in another encoding (set {setting('encoding')})",
            source=source,
            line=line,
        )
    return text, "utf-8-sig" if mark == codecs.BOM_UTF8 else found, notes


def _is_mark_of(mark: bytes, encoding: str) -> bool:
    names: dict[bytes, Sequence[str]] = {
        codecs.BOM_UTF8: ("utf-8", "utf-8-sig"),
        codecs.BOM_UTF16_LE: ("utf-16", "utf-16-le"),
        codecs.BOM_UTF16_BE: ("utf-16", "utf-16-be"),
        codecs.BOM_UTF32_LE: ("utf-32", "utf-32-le"),
        codecs.BOM_UTF32_BE: ("utf-32", "utf-32-be"),
    }
    return encoding in names.get(mark, ())


def _unmarked_utf16(body: bytes) -> str | None:
    sample = np.frombuffer(body[: 4096 - 4096 % 2], dtype=np.uint8)[: len(body) // 2 * 2]
    if not len(sample):
        return None
    high, low = (sample[0::2] == 0).mean(), (sample[1::2] == 0).mean()
    if low > _MAYBE_UTF16 and high < 1 - _MAYBE_UTF16 and low > high:
        return "utf-16-le"
    return "utf-16-be" if high > _MAYBE_UTF16 and high > low else None


def _utf8_error(body: bytes) -> int | None:
    """Return where the first byte is that is no UTF-8."""
    if body.isascii():
        return None
    start = 0
    while start < len(body):
        # Parts end with a line: decoded at once, a large file would be held in memory again and wider.
        end = body.find(b"\n", start + _PART) + 1 or len(body)
        try:
            str(memoryview(body)[start:end], "utf-8")
        except UnicodeDecodeError as error:
            return start + error.start
        start = end
    return None


def _recoded(body: bytes, encoding: str, source: str) -> bytes:
    try:
        return body.decode(encoding).encode()
    except UnicodeDecodeError as error:
        raise _undecodable(body, error.start, encoding, source) from None
    except UnicodeError:
        # Codecs that do not say where, and those that take half a character for a whole one.
        raise InputError(
            f"is no {encoding} text; set {setting('encoding')}, or save the file as UTF-8", source=source
        ) from None


def _undecodable(body: bytes, at: int, encoding: str, source: str) -> InputError:
    before = body[:at].decode(encoding, errors="ignore")
    return InputError(
        f"byte 0x{body[at]:02X} is no {encoding}; set {setting('encoding')}, or save the file as UTF-8",
        source=source,
        line=before.count("\n") + 1,
    )


def _one_byte_encoding(body: bytes, at: int, source: str) -> str:
    """Return the encoding that makes most letters of the bytes; a mixture with UTF-8 is refused.

    Two bytes of an old encoding can look like UTF-8 by chance (a Polish "ÓŁ"), but then not like a letter known here.
    """
    # In parts: what tells of each byte would make a large file several times as large.
    parts = [_seen(body[start : start + _PART]) for start in range(0, len(body), _PART)]
    seen = _Seen(*(np.sum(counts, axis=0) for counts in zip(*parts, strict=True)))
    whole = [character for character in body.decode(errors="ignore") if not character.isascii()]
    high = seen.anywhere[128:].sum()
    if not frozenset().union(*_LETTERS.values()).isdisjoint(whole) or len(whole) > high / 4:
        raise InputError(
            f"byte 0x{body[at]:02X} is no UTF-8, other characters are: encodings are mixed; save the file in one"
            f" encoding, or set {setting('encoding')}",
            source=source,
            line=body.count(b"\n", 0, at) + 1,
        )
    candidates = [name for name in _ONE_BYTE if _decodes(body, name)]
    best = max(candidates, key=lambda name: _evidence(seen, name))
    words, _, usual = _evidence(seen, best)
    if words < 0 or usual * 2 < high:
        raise InputError(
            f"byte 0x{body[at]:02X} is no UTF-8, and no other encoding known here makes words of the text; set"
            f" {setting('encoding')}",
            source=source,
            line=body.count(b"\n", 0, at) + 1,
        )
    return best


def _decodes(body: bytes, encoding: str) -> bool:
    try:
        body.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _seen(body: bytes) -> _Seen:
    values = np.frombuffer(body, dtype=np.uint8)
    padded = np.pad(values, 3)
    is_ascii, is_small = _IS_ASCII_LETTER[padded], _IS_SMALL[padded]
    is_text = is_ascii | _IS_HIGH[padded]

    def neighbour(flags: npt.NDArray[np.bool_], distance: int) -> npt.NDArray[np.bool_]:
        return flags[3 + distance : 3 + distance + len(values)]

    def count(where: npt.NDArray[np.bool_]) -> Counts:
        return np.bincount(values[where], minlength=256)

    before, after = neighbour(is_text, -1), neighbour(is_text, 1)
    ends = before & neighbour(is_text, -2) & neighbour(is_text, -3)
    return _Seen(
        anywhere=np.bincount(values, minlength=256),
        inside=count(neighbour(is_ascii, -1) & neighbour(is_ascii, 1)),
        after_small=count(neighbour(is_small, -1)),
        at_word=count(ends | (after & neighbour(is_text, 2))),
        alone=count(~before & ~after),
    )


def _evidence(seen: _Seen, encoding: str) -> tuple[int, int, int]:
    """Return how much speaks for an encoding: letters inside words, then what one language writes, then what any does.

    What stands between two letters is a letter, and hardly a capital after a small one. A letter does not stand alone,
    as £ does; £ in turn stands at no word, as Ł does, which is the same byte.
    """
    known = _LETTERS[encoding]
    high = {byte: bytes([byte]).decode(encoding, errors="replace") for byte in range(128, 256)}
    words = sum(int(seen.inside[byte]) * (1 if letter in known else -1) for byte, letter in high.items())
    marks = {byte for byte, letter in high.items() if letter in _MARKS_OF_TEXT}
    signs = {byte for byte in marks if high[byte] in _SIGNS}
    capitals = {byte for byte, letter in high.items() if letter in known and letter.isupper()}
    right = sum(int(seen.anywhere[byte]) for byte in marks)
    wrong = sum(int(seen.at_word[byte]) for byte in signs) + sum(int(seen.after_small[byte]) for byte in capitals)
    joined = seen.anywhere - seen.alone
    own = max(
        sum(int(joined[byte]) for byte, letter in high.items() if letter in alphabet)
        for alphabet in _ALPHABETS[encoding]
    )
    usual = sum(int(seen.anywhere[byte]) for byte, letter in high.items() if letter in known or byte in marks)
    return words, own + right - wrong, usual
