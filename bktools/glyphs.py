"""Every letter in a picture is drawn: with a font that has it, or by its name where no installed font does."""

from __future__ import annotations

import functools
import unicodedata
from itertools import groupby

from bktools.visible import visible_line

# DejaVu comes with matplotlib and has Latin, Greek, Cyrillic, Hebrew and Arabic. The others are preferred where they are
# installed; for a letter that none of them has, any installed font is taken.
FONTS = (
    "DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans CJK TC", "Noto Sans CJK KR", "Source Han Sans",
    "Yu Gothic", "Hiragino Sans", "Microsoft YaHei", "PingFang SC", "Malgun Gothic", "Apple SD Gothic Neo",
    "Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Segoe UI Emoji", "Segoe UI Symbol", "Arial Unicode MS",
)  # fmt: skip
# A font that has a box for every letter.
_BOXES = "Last Resort"
REGULAR = 400

# Marks that choose the look of the letter before them, and joiners: without a font they are left out.
_UNSEEN = {"Cf", "Mn"}


def drawable(text: str, longest: int) -> str:
    r"""Return text as one shortened line that can be drawn.

    Parameters
    ----------
    text : str
        Any text. Its line ends become spaces, control characters and direction marks escapes such as \x1b.
    longest : int
        Largest number of letters, with names.

    Returns
    -------
    str
        Letters that no installed font has are named in brackets: symbols such as [pretzel], all others by code, such as
        [U+4F1A U+8B70].
    """
    line = visible_line(" ".join(text.split()))
    runs = groupby(line, lambda letter: _font_of(letter) is not None)
    named = "".join("".join(run) if is_drawn else _named("".join(run)) for is_drawn, run in runs)
    return named if len(named) <= longest else f"{named[: longest - 1]}…"


def families(text: str) -> list[str]:
    """Return the names of the fonts that draw a text: DejaVu, and those of the letters that it lacks."""
    return list(dict.fromkeys([FONTS[0], *(font for letter in text if (font := _font_of(letter)) is not None)]))


def _named(letters: str) -> str:
    seen = [letter for letter in letters if unicodedata.category(letter) not in _UNSEEN]
    names = [
        unicodedata.name(letter).lower() if unicodedata.category(letter) == "So" else f"U+{ord(letter):04X}"
        for letter in seen
    ]
    return f"[{' '.join(names)}]" if names else ""


@functools.cache
def _font_of(letter: str) -> str | None:
    """Return the font that draws a letter."""
    return next((font for font, path in _installed().items() if ord(letter) in _letters_in(path)), None)


@functools.cache
def _installed() -> dict[str, str]:
    """Return the files of the installed fonts by name, the preferred ones first."""
    from matplotlib.font_manager import fontManager, weight_dict

    there = {
        font.name: font.fname
        for font in sorted(fontManager.ttflist, key=lambda font: font.name)
        if _BOXES not in font.name
        and font.style == "normal"
        and weight_dict.get(str(font.weight), font.weight) == REGULAR
    }
    return {name: there[name] for name in (*FONTS, *there) if name in there}


@functools.cache
def _letters_in(path: str) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    return frozenset(get_font(path).get_charmap())
