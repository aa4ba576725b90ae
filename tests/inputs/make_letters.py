"""Makes `bktools/inputs/letters.txt`: which letters follow which by language, and common characters.

It is run by hand, with `babel` and `langdetect` installed. The words are the names of languages, countries,
currencies and months in the Unicode CLDR (which Babel brings), the counts of pairs those of langdetect's
profiles (Apache 2.0).
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from pathlib import Path

import langdetect
from babel import Locale

LETTERS = [
    *("de", "fr", "es", "pt", "it", "nl", "sv", "da", "nb", "fi", "is", "pl", "cs", "sk", "hu", "hr", "sl"),
    *("ro", "tr", "el", "ru", "uk", "bg", "sr", "mk", "be", "et", "lv", "lt", "he", "ar", "fa", "th", "vi"),
    *("ca", "eu", "ga", "sq", "mt", "cy", "af", "id", "kk", "az", "lb", "fo", "gl", "en"),
]
SIGNS = {"ja": "ja", "zh-cn": "zh_Hans", "zh-tw": "zh_Hant", "ko": "ko"}
KEYS = ("languages", "territories", "currency_names", "months", "days", "quarters")
KEYS += ("currency_names_plural", "date_fields")
PROFILES = Path(langdetect.__file__).parent / "profiles"
FLOOR = 9
RAREST = 0.0002
# Romanian with commas counts as with cedillas.
SAME_LETTER = str.maketrans("șț", "şţ")


def texts(value):
    """Yield every text of Babel's data."""
    if isinstance(value, str):
        yield value
    elif hasattr(value, "values"):
        for part in value.values():
            yield from texts(part)


def locale_text(code):
    data = Locale.parse(code)._data
    return " ".join(text for key in KEYS if key in data for text in texts(data[key])).lower()


def profile(code):
    path = PROFILES / {"nb": "no"}.get(code, code)
    return json.loads(path.read_text())["freq"] if path.exists() else {}


def ends_left_out(profile):
    """Return for letters that end no word how often a letter follows that the profile leaves out as rare.

    The end of a word is the likeliest of what is left out, such as that after ß.
    """
    letters, followed = Counter(), Counter()
    for text, count in profile.items():
        letters[text.lower()] += count * (len(text.lower()) == 1 and text.isalpha())
        followed[text[0].lower()] += count * (len(text) == 2)
    least = RAREST * letters.total()
    usual = [letter for letter, count in letters.items() if count > least and not letter.isascii()]
    ends = {letter: letters[letter] - followed[letter] for letter in usual if f"{letter} " not in profile}
    return {letter: count for letter, count in ends.items() if count > 0}


def pairs(code):
    """Return how likely a letter follows another (a blank ends a word), from both sources equally."""
    words, counts = set(re.findall(r"[^\W\d_][^\W\d_\u0300-\u036f]*", locale_text(code))), Counter()
    seen = Counter(f" {word} "[at : at + 2] for word in words for at in range(len(word) + 1))
    read = Counter({})
    for pair, count in profile(code).items():
        if len(pair.lower()) == 2:
            read[pair.lower()] += count
    for letter, count in ends_left_out(profile(code)).items():
        read[f"{letter} "] += count
    for one in (seen, read):
        for pair, count in one.items():
            counts[pair.translate(SAME_LETTER)] += count / one.total()
    firsts = Counter()
    for pair, share in counts.items():
        firsts[pair[0]] += share
    return {pair: math.log(share / firsts[pair[0]]) for pair, share in counts.items()}


def line(code):
    """Return a language's line: each letter, and after it each next letter with its log cost."""
    groups = {}
    for (first, second), chance in sorted(pairs(code).items()):
        digit = round(-chance)
        if digit < FLOOR and not first.isdigit() and not second.isdigit() and "\t" not in first + second:
            groups.setdefault(first, []).append(f"{second}{digit}")
    return f"{code}\t" + "\t".join(first + "".join(rest) for first, rest in groups.items())


def common(code):
    known = Counter(character for character in locale_text(SIGNS[code]) if ord(character) > 0x2E00)
    known += Counter(text for text in profile(code) if len(text) == 1 and ord(text) > 0x2E00)
    return f"{code}\t" + "".join(sorted(known))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(
        "\n".join([*map(line, LETTERS), *map(common, SIGNS)]) + "\n", encoding="utf-8"
    )
