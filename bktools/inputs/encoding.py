"""Bytes of a text file → UTF-8, with the encoding named or found.

Without a mark, bytes that are not UTF-8 are read with every encoding in `_CHANCES`, and each reading is
weighed by `letters.weighed`. One reading must be far more likely than every other one; else the file is
refused, and the message shows the likeliest readings of one line with the option that chooses each.
"""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Sequence

from bktools.caller import name_of, setting
from bktools.errors import ArgumentError, GuessedEncodingWarning, InputError
from bktools.inputs.letters import Reading, costs_of_ascii, weighed
from bktools.inputs.refusals import Settings, refusal

# A longer mark stands before the shorter one that it starts with.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# How likely an encoding is before reading, as a logarithm; of two that read alike the first is named.
_CHANCES = {
    encoding: chance
    for chance, encodings in {
        0.0: "cp1252 cp1251 cp874",
        -2.0: """cp932 gb18030 big5hkscs cp949 cp1250 cp1253 cp1254 cp1255 cp1256 cp1257 iso8859-1 iso8859-15
            iso8859-2""",
        -4.0: """cp850 cp852 cp866 cp437 mac_roman iso8859-5 iso8859-7 iso8859-8 iso8859-9 koi8-r cp858 euc_jp
            iso8859-13 iso8859-4 cp775 cp857 cp865""",
        -7.0: """cp1258 iso8859-3 iso8859-6 iso8859-10 iso8859-14 cp737 cp855 cp860 cp861 cp862 cp863 koi8-u
            mac_latin2 mac_cyrillic mac_greek mac_iceland cp864 cp869""",
        # Romanian with commas is cp1250 with cedillas byte for byte; ß of German is ş in mac_turkish.
        -13.0: "iso8859-16 mac_turkish",
    }.items()
    for encoding in encodings.split()
}
# How many times as likely the best reading is, as a logarithm: to be taken with a warning, or at all.
_CERTAIN, _CLEAR = 30.0, 10.0
# A reading in which a character costs more than this makes no words.
_WORDLESS = 11.0

_SAMPLE_LINES = 300
_LONGEST_SAMPLE = 1000
_LANGUAGE_BYTES = 8192
_SHOWN_READINGS = 3
_SHOWN_CHARACTERS = 50
# Escapes that change the alphabet, in text of seven bits.
_ESCAPES = {b"\x1b$B": "iso2022_jp", b"\x1b$@": "iso2022_jp", b"\x1b$)C": "iso2022_kr"}
_LINE_WITH_HIGH = re.compile(rb"[^\r\n]*[\x80-\xff][^\r\n]*")

_PART = 1 << 24


def to_utf8(data: bytes, encoding: str | None, source: str) -> tuple[bytes, str]:
    """Return the text as UTF-8 without a mark, and the encoding it was in.

    Bytes that do not fit the encoding, could be in several, or hold NUL characters are an `InputError`. An
    encoding found by evidence that is clear but not certain is a `GuessedEncodingWarning`.
    """
    mark, of_mark = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", ""))
    name = of_mark
    if encoding is not None:
        try:
            # Reading a letter refuses what is a codec but no encoding of files, such as base64 and idna.
            b"a".decode(encoding, errors="ignore")
            name = codecs.lookup(encoding).name
        except (LookupError, TypeError, ValueError):
            raise ArgumentError(
                name_of("encoding"), "must be an encoding such as utf-8 or cp1252", encoding
            ) from None
        # A mark says the order of bytes that utf-16 and utf-32 leave open.
        if of_mark.startswith(name.removesuffix("-sig")):
            name = of_mark
        elif of_mark and name.startswith("utf-"):
            raise InputError(
                f"begins with the mark of {of_mark}, not of {name}: leave {setting('encoding')} out",
                source=source,
            )
        else:
            mark = b""
    body = data[len(mark) :]
    name = name or _unmarked_utf16(body) or "utf-8"
    error = utf8_error(body) if name == "utf-8" else None
    if encoding is None and name == "utf-8":
        if error is not None and not mark:
            name = _by_evidence(body, error, source)
        elif error is None and b"\x1b" in body:
            name = next((of_escape for escape, of_escape in _ESCAPES.items() if escape in body), name)
    text = body if name == "utf-8" and error is None else _recoded(body, name, source)
    if b"\0" in text:
        raise InputError(
            "the text has a NUL byte: the file is damaged, "
            f"or in another encoding (set {setting('encoding')})",
            source=source,
            line=text.count(b"\n", 0, text.index(b"\0")) + 1,
        )
    return text, "utf-8-sig" if mark == codecs.BOM_UTF8 else name


def _unmarked_utf16(body: bytes) -> str | None:
    sample = body[: 1 << 16]
    if b"\0" not in sample or len(body) % 2:
        return None
    for name in ("utf-16-le", "utf-16-be"):
        # Line ends tell the order of bytes, in any alphabet.
        lines = sample.decode(name, errors="ignore").count("\n")
        if 2 * lines > sample.count(b"\n") and _decoded(body, name) is not None:
            return name
    return None


def utf8_error(body: bytes) -> int | None:
    """Return the place of the first byte that is not valid UTF-8."""
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
    except UnicodeError as error:
        line, why = None, f"is not valid {encoding}"
        # Some codecs do not say where, and some take half a character for a whole one.
        if isinstance(error, UnicodeDecodeError):
            line = body[: error.start].decode(encoding, errors="ignore").count("\n") + 1
            why = f"byte 0x{body[error.start]:02X} {why}"
        way_out = f"set {setting('encoding')}, or save the file as UTF-8"
        raise InputError(f"{why}; {way_out}", source=source, line=line) from None


def _by_evidence(body: bytes, at: int, source: str) -> str:
    """Return the encoding whose reading is far more likely than all others; refuse a text without one."""
    lines = _sample(body)
    readings = sorted(_readings(b"\n".join(lines)), key=_chance, reverse=True)
    # An encoding that fits the sample may not fit the rest.
    readings = [reading for reading in readings if _decoded(body, reading.encoding) is not None]

    def refused(why: str, details: Sequence[str] = (), settings: Settings = ()) -> InputError:
        line = body.count(b"\n", 0, at) + 1
        why = f"byte 0x{body[at]:02X} is not valid UTF-8, {why}"
        return refusal(why, source, line, details=details, settings=settings)

    if readings and _is_mixed(lines, readings[0]):
        raise refused(
            "other characters are: encodings are mixed; save the file in one encoding, "
            f"or set {setting('encoding')}"
        )
    best = readings[0] if readings else None
    if best is None or -best.beyond_ascii > _WORDLESS * sum(
        not character.isascii() for character in best.text
    ):
        raise refused(f"and no other encoding known here makes words of the text; set {setting('encoding')}")
    ahead = _chance(best) - _chance(readings[1]) if len(readings) > 1 else _CERTAIN
    if ahead < _CLEAR:
        likeliest = [reading for reading in readings if _chance(reading) > _chance(best) - _CLEAR * 2]
        shown = _shown(likeliest[:_SHOWN_READINGS])
        raise refused("and it could be in several encodings", shown, [("encoding", best.encoding)])
    if ahead < _CERTAIN:
        warnings.warn(
            f"{source}: read as {best.encoding}, which is likely but not certain: compare"
            f" {'; '.join(_shown(readings[:2]))}",
            GuessedEncodingWarning,
            stacklevel=2,
        )
    return best.encoding


def _sample(body: bytes) -> list[bytes]:
    """Return different lines: the first, the first with bytes beyond ASCII, and one for each other byte.

    Lines in ASCII tell the language.
    """
    lines = dict.fromkeys(line[:_LONGEST_SAMPLE] for line in body[:_LANGUAGE_BYTES].splitlines()[:-1])
    for line in _LINE_WITH_HIGH.finditer(body):
        lines[line[0][:_LONGEST_SAMPLE]] = None
        if len(lines) >= 2 * _SAMPLE_LINES:
            break
    for byte in frozenset(range(128, 256)).difference(b"".join(lines)):
        at = body.find(byte)
        if at >= 0:
            begin = max(body.rfind(b"\n", 0, at) + 1, at - _LONGEST_SAMPLE)
            lines[body[begin : at + _LONGEST_SAMPLE].split(b"\n", 1)[0]] = None
    return list(lines)


def _readings(sample: bytes) -> list[Reading]:
    """Return the different texts that the bytes are, each with the first encoding that makes it."""
    texts: dict[str, str] = {}
    for encoding in _CHANCES:
        text = _decoded(sample, encoding)
        if text is not None:
            texts.setdefault(text, encoding)
    ascii_costs = costs_of_ascii(sample)
    return [weighed(text, encoding, ascii_costs) for text, encoding in texts.items()]


def _chance(reading: Reading) -> float:
    return _CHANCES[reading.encoding] + reading.whole


def _decoded(body: bytes, encoding: str) -> str | None:
    try:
        return body.decode(encoding)
    except UnicodeDecodeError:
        return None


def _is_mixed(lines: Sequence[bytes], best: Reading) -> bool:
    """Whether lines that are UTF-8 are far more likely so than in the encoding that the others are in."""
    whole = b"\n".join(line for line in lines if utf8_error(line) is None and not line.isascii())
    costs = costs_of_ascii(whole)
    as_utf8, as_best = (weighed(whole.decode(name), name, costs).whole for name in ("utf-8", best.encoding))
    return as_utf8 - as_best > _CLEAR


def _shown(readings: Sequence[Reading]) -> list[str]:
    """Return one line as each encoding reads it, with the option that chooses each."""
    columns = [reading.text.split("\n") for reading in readings]
    # A line in which they all differ shows most.
    rows = [row for row in zip(*columns, strict=False) if len(set(row)) > 1]
    row = max(rows, key=lambda row: len(set(row)))
    return [
        f"{_around_difference(text, row)!r} with {setting('encoding', reading.encoding)}"
        for text, reading in zip(row, readings, strict=True)
    ]


def _around_difference(text: str, others: Sequence[str]) -> str:
    at = next((at for at, letters in enumerate(zip(*others, strict=False)) if len(set(letters)) > 1), 0)
    begin = max(0, at - _SHOWN_CHARACTERS // 2)
    return text[begin : begin + _SHOWN_CHARACTERS].strip()
