"""Scores how likely people wrote a text, by the letters that follow each other in fifty languages.

`letters.txt` has a line a language: each letter, then each letter that comes after it with minus the natural
logarithm of how likely it does. Its last lines are the common characters of Chinese, Japanese and Korean. It
is made by `tests/inputs/make_letters.py`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Costs = npt.NDArray[np.float64]

# A pair that a language does not have, as minus a logarithm.
_UNKNOWN = 10.0
# Letters of ASCII say which language a text is in, but names from another language stand among them.
_WEIGHT_OF_ASCII, _MOST_OF_ASCII, _MORE_A_LETTER = 0.3, 6.0, 1.0
_FIRST_IDEOGRAPHIC = 0x2E80

# The cost of a character that is no letter, from its usual place to an impossible one.
_WHERE_USUAL, _USUAL, _ODD, _IN_WORD, _IMPOSSIBLE = 3.0, 6.0, 14.0, 20.0, 25.0
_APOSTROPHE = "’"
_OPENING, _CLOSING = "‘“„‚«‹¿¡", "”»›"
_ORDINALS = "ªº"
_BESIDE_FIGURES = f"…–—€£¥°§•·№™®©±×²³½¼¾¹´{_ORDINALS}"
_CONTROL = {"Cc", "Cn", "Co", "Cs"}

_COMMON, _KNOWN, _RARE, _STRANGE = 5.5, 8.5, 12.0, 15.0
_KANA = range(0x3041, 0x3100)
_FULL_WIDTH = range(0xFF00, 0xFF5F)
_HALF_WIDTH_KANA = range(0xFF61, 0xFFA0)
# By encoding: the common characters, the older encoding with the daily characters in its first rows, these
# rows.
_DAILY = {
    "cp932": ("ja", "shift_jis", range(0x88, 0x98)),
    "euc_jp": ("ja", "shift_jis", range(0x88, 0x98)),
    "gb18030": ("zh-cn", "gb2312", range(0xB0, 0xD8)),
    "big5hkscs": ("zh-tw", "big5", range(0xA4, 0xC7)),
    "cp949": ("ko", "euc_kr", range(0xB0, 0xC9)),
}

# Marks in their usual places: Owner's, Partners', l'achat, dell'anno; 1º, 2ª, N.º 3, Mª, n° 4; col·laboració.
_USUAL_MARK = re.compile(
    f"[a-z]{_APOSTROPHE}(?=(?:s|t|re|ve|ll)\\b)|s{_APOSTROPHE}(?= )"
    f"|\\b(?:[dlncjmst]|qu|(?:de|a|ne|su|da)ll|un){_APOSTROPHE}(?=[aeiouyh]|[^\\W\\d_a-z])"
    f"|(?:[0-9.]|\\b[mn])[{_ORDINALS}](?!\\w)|\\bn°(?!\\w)|l·(?=l)",
    re.IGNORECASE,
)
# Romanian with commas, and as older encodings have it, with cedillas.
_SAME_LETTER = str.maketrans("șț", "şţ")
_ASCII_WORD = re.compile(rb"(?<![A-Za-z\x80-\xff])[A-Za-z]+(?![A-Za-z\x80-\xff])")


class Reading(NamedTuple):
    """A text in an encoding, with logarithms of its likelihood in its language: of all and beyond ASCII."""

    encoding: str
    text: str
    whole: float
    beyond_ascii: float


def costs_of_ascii(data: bytes) -> Costs:
    """Return how unlikely the words of ASCII alone are in each language, compared with the likeliest one."""
    pairs: Counter[str] = Counter()
    for word in _ASCII_WORD.findall(data.lower()):
        padded = f" {word.decode()} "
        pairs.update(map(str.__add__, padded, padded[1:]))
    costs = _WEIGHT_OF_ASCII * _costs(pairs)
    above_least: Costs = costs - costs.min()
    return above_least


def weighed(text: str, encoding: str, ascii_costs: Costs) -> Reading:
    """Return how likely a text is, by its lines beyond ASCII; readings of the same bytes can be compared.

    `ascii_costs` is what `costs_of_ascii` says of the bytes.
    """
    cost, ideographs = 0.0, 0
    pairs: Counter[str] = Counter()
    padded = f" {text} "
    usual_marks = {match.end() - 1 for match in _USUAL_MARK.finditer(padded)}
    for at, character in enumerate(padded):
        if character.isascii():
            continue
        before, after = padded[at - 1], padded[at + 1]
        if encoding in _DAILY and ord(character) >= _FIRST_IDEOGRAPHIC:
            ideographs += 1
            cost += _ideographic(character, encoding) + 8.0 * sum(map(_is_of_an_alphabet, (before, after)))
        elif _is_letter(character):
            cost += _case(character, before, after)
            pairs[_lower(before) + _lower(character)] += 1
            if _lower(after).isascii():
                pairs[_lower(character) + _lower(after)] += 1
        else:
            cost += _WHERE_USUAL if at in usual_marks else _mark(character, before, after)
    # The more letters there are, the less likely are all from another language than the words of ASCII.
    letters = ideographs + sum(count for pair, count in pairs.items() if not pair[1].isascii())
    of_ascii = np.minimum(ascii_costs, _MOST_OF_ASCII + _MORE_A_LETTER * letters)
    of_pairs = _costs(pairs)
    language = int(np.argmin(of_pairs + of_ascii))
    # No language with ideographs is among those of the pairs.
    least = np.median(of_ascii) if ideographs else of_ascii[language]
    beyond_ascii = -cost - float(of_pairs[language])
    return Reading(encoding, text, beyond_ascii - float(least), beyond_ascii)


def _costs(pairs: Mapping[str, int]) -> Costs:
    """Return how unlikely these pairs of letters are in each language."""
    rows, costs = _pairs_of_languages()
    counts = np.bincount(
        [rows.get(pair, len(rows)) for pair in pairs], weights=list(pairs.values()), minlength=len(costs)
    )
    of_languages: Costs = counts @ costs
    return of_languages


@cache
def _lines() -> dict[str, list[str]]:
    text = resources.files(__package__).joinpath("letters.txt").read_text(encoding="utf-8")
    return {line.split("\t", 1)[0]: line.split("\t")[1:] for line in text.splitlines()}


@cache
def _pairs_of_languages() -> tuple[dict[str, int], Costs]:
    """Return the row of each pair of letters, and its cost by language; the last row is all other pairs."""
    signs = {common for common, _, _ in _DAILY.values()}
    costs: list[dict[str, float]] = []
    for groups in (groups for language, groups in _lines().items() if language not in signs):
        costs.append({})
        for group in groups:
            costs[-1] |= {group[0] + group[at]: float(group[at + 1]) for at in range(1, len(group), 2)}
    pairs = sorted(set().union(*costs))
    table = [[of_language.get(pair, _UNKNOWN) for of_language in costs] for pair in [*pairs, ""]]
    return {pair: row for row, pair in enumerate(pairs)}, np.array(table)


@cache
def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM" and character not in _ORDINALS


@cache
def _script(letter: str) -> str:
    return "LATIN" if letter.isascii() else unicodedata.name(letter, "").split(" ")[0]


@cache
def _lower(character: str) -> str:
    return character.lower()[0].translate(_SAME_LETTER) if _is_letter(character) else " "


def _case(character: str, before: str, after: str) -> float:
    """Return the cost of a capital inside of a word, letters of two alphabets, and digits in a word."""
    cost = 8.0 * (character.isupper() and before.islower())
    cost += 4.0 * (character.isupper() and before.isupper() and after.islower())
    cost += 8.0 * sum(_is_letter(one) and _script(one) != _script(character) for one in (before, after))
    digits = before.isdigit() + after.isdigit()
    return cost + (_ODD if digits == len((before, after)) else 2.0 * digits)


def _mark(character: str, before: str, after: str) -> float:
    in_word, at_word = _is_letter(before) and _is_letter(after), _is_letter(before) or _is_letter(after)
    if unicodedata.category(character) in _CONTROL or character == "\ufffd":
        return _IMPOSSIBLE
    if character in (_APOSTROPHE, "\xa0"):
        is_between_thousands = character == "\xa0" and before.isdigit() and after.isdigit()
        return _WHERE_USUAL if is_between_thousands else _USUAL + 1
    if character in _OPENING:
        return _ODD if _is_letter(before) else _USUAL
    if character in _CLOSING:
        return _ODD if _is_letter(after) else _USUAL
    if character in _BESIDE_FIGURES:
        return _IN_WORD if in_word else 10.0 if at_word else _USUAL
    return _IN_WORD if in_word else 16.0 if at_word else _ODD


def _ideographic(character: str, encoding: str) -> float:
    code = ord(character)
    language, older, daily = _DAILY[encoding]
    if unicodedata.category(character) in _CONTROL:
        return _IMPOSSIBLE
    if code in _HALF_WIDTH_KANA:
        return _KNOWN
    if code in _KANA or code in _FULL_WIDTH or character in _lines()[language][0]:
        return _COMMON
    try:
        row = character.encode(older)[0]
    except UnicodeEncodeError:
        return _STRANGE
    return _KNOWN if row in daily else _RARE


def _is_of_an_alphabet(character: str) -> bool:
    return character.isalpha() and ord(character) < _FIRST_IDEOGRAPHIC
