"""Bytes of a text file → UTF-8, with the encoding named or found."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bktools.errors import ArgumentError, InputError

# A longer mark stands before the shorter one that it starts with.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Tried on bytes that are not UTF-8; on equal evidence the first one counts.
_ONE_BYTE = ("cp1252", "cp1250", "cp850", "mac_roman")

# What the languages of the headings write beyond ASCII.
_LETTERS = frozenset("äöüßÄÖÜåÅæÆøØéèêëÉÈÊàâÀÂçÇîïÎôÔùûÙÛœŒñÑáíóúÁÍÓÚìòÌÒãõÃÕąćęłńśźżĄĆĘŁŃŚŹŻ")

_MARKS_OF_TEXT = frozenset("–—‘’‚“”„«»‹›…•€§°´·½¡¿ºª\u00a0\u00ad")  # noqa: RUF001 - these very marks are meant
_IS_ASCII_LETTER = np.array([chr(byte).isascii() and chr(byte).isalpha() for byte in range(256)])

Counts = npt.NDArray[np.int64]

_WAY_OUT = "set encoding= (--encoding), or save the file as UTF-8"

_MAYBE_UTF16 = 0.4
_PART = 1 << 24


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
            raise ArgumentError("encoding", "must be an encoding such as utf-8 or cp1252", encoding) from None
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
                f"read as {found}, since the bytes are not UTF-8; if names look wrong, set encoding= (--encoding)"
            )
    text = body if found == "utf-8" else _recoded(body, found, source)
    if b"\0" in text:
        line = text.count(b"\n", 0, text.index(b"\0")) + 1
        raise InputError(
            "a NUL byte stands in the text: the file is damaged, or in another encoding (set encoding=, --encoding)",
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
        raise InputError(f"is no {encoding} text; {_WAY_OUT}", source=source) from None


def _undecodable(body: bytes, at: int, encoding: str, source: str) -> InputError:
    before = body[:at].decode(encoding, errors="ignore")
    return InputError(
        f"byte 0x{body[at]:02X} is no {encoding}; {_WAY_OUT}",
        source=source,
        line=before.count("\n") + 1,
    )


def _one_byte_encoding(body: bytes, at: int, source: str) -> str:
    """Return the encoding that makes most letters of the bytes; a mixture with UTF-8 is refused.

    Two bytes of an old encoding can look like UTF-8 by chance (a Polish "ÓŁ"), but then not like a letter known here.
    """
    values = np.frombuffer(body, dtype=np.uint8)
    counts = np.bincount(values, minlength=256)
    # What stands between two ASCII letters is a letter, too, not a typographer's quote.
    ascii_letter = _IS_ASCII_LETTER[values]
    inside = np.bincount(values[1:-1][ascii_letter[:-2] & ascii_letter[2:]], minlength=256)
    whole = [character for character in body.decode(errors="ignore") if not character.isascii()]
    if not _LETTERS.isdisjoint(whole) or len(whole) > counts[128:].sum() / 4:
        raise InputError(
            f"byte 0x{body[at]:02X} is no UTF-8, other characters are: encodings are mixed; save the file in one"
            " encoding, or set encoding= (--encoding)",
            source=source,
            line=body.count(b"\n", 0, at) + 1,
        )
    candidates = [name for name in _ONE_BYTE if _decodes(body, name)]
    best = max(candidates, key=lambda name: _evidence(counts, inside, name))
    letters, usual = _evidence(counts, inside, best)
    if letters < 0 or usual * 2 < counts[128:].sum():
        raise InputError(
            f"byte 0x{body[at]:02X} is no UTF-8, and no other encoding known here makes words of the text; set encoding="
            " (--encoding)",
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


def _evidence(counts: Counts, inside: Counts, encoding: str) -> tuple[int, int]:
    """Return how much speaks for an encoding: letters inside words first, then letters and marks anywhere."""
    high = {byte: bytes([byte]).decode(encoding, errors="replace") for byte in range(128, 256)}
    letters = sum(int(inside[byte]) * (1 if letter in _LETTERS else -1) for byte, letter in high.items())
    usual = sum(int(counts[byte]) for byte, letter in high.items() if letter in _LETTERS or letter in _MARKS_OF_TEXT)
    return letters, usual
