"""Makes text from outside safe to print: control characters and direction marks become escapes."""

from __future__ import annotations

import re
import sys

# Control characters (C0, DEL, C1) except tab and line feed, Unicode's other line ends, direction marks and
# overrides, and lone surrogates. Letters of every script stay, and so do joiners.
_UNSAFE = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
# Signs of this project, for consoles that lack them.
_PLAIN = str.maketrans({"✖": "x", "▲": "!", "●": "o", "→": "->"})
_IN_LINES = re.compile(f"[{_UNSAFE}]")
_MONEY = re.compile(r"(?<=\b[A-Z]{3}) (?=[\N{MINUS SIGN}-]?\d)")
_IN_ONE_LINE = re.compile(rf"[\t\n{_UNSAFE}]")


def visible(text: str) -> str:
    r"""Return text with escapes such as \x1b for control characters and direction marks.

    Lines and tabs stay.
    """
    return _IN_LINES.sub(_escape, text)


def visible_line(text: str) -> str:
    """Return text as one line: as `visible`, with line ends and tabs escaped too."""
    # Nearly every text is printable, which takes a fraction of the time to know.
    return text if text.isprintable() else _IN_ONE_LINE.sub(_escape, text)


def unbroken(text: str) -> str:
    """Return text in which no line ends between a currency and its amount."""
    return _MONEY.sub("\N{NO-BREAK SPACE}", text)


def one_line(text: str, longest: int) -> str:
    """Return text as one line of printable characters, cut after a number of them."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def printable(text: str, encoding: str | None = None) -> str:
    """Return text as `visible`, with escapes for letters that an encoding lacks.

    The default is the encoding of standard output.
    """
    known = encoding or getattr(sys.stdout, "encoding", None) or "utf-8"
    shown = visible(text)
    try:
        shown.encode(known)
    except UnicodeEncodeError:
        return shown.translate(_PLAIN).encode(known, "backslashreplace").decode(known)
    return shown


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "backslashreplace").decode()


def width(text: str) -> int:
    """Return the width of a text on a terminal, in cells."""
    if text.isascii():
        return len(text)
    # Most programs print no table.
    from rich.cells import cell_len

    return cell_len(text)
