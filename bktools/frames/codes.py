"""The words for statuses in the ledger: short ones for narrow columns, and those of a sentence."""

from __future__ import annotations

# What became of an exported entry in the ledger, by code.
WORDS = {
    "booked": ("booked", "booked once"),
    "in_a_sum": ("in a sum", "booked in a sum"),
    "missing": ("missing", "missing"),
    "booked_twice": ("booked twice", "booked twice or more"),
    "another_amount": ("another amount", "with another amount"),
    "another_account": ("another account", "on another account"),
    "another_date": ("another date", "on another date"),
    "ambiguous": ("ambiguous", "ambiguous"),
    "not_comparable": ("not comparable", "not comparable"),
}


def short(code: str) -> str:
    """Return the short form of a code; of one without words, the code with spaces."""
    return WORDS[code][0] if code in WORDS else code.replace("_", " ")


def sentence(code: str) -> str:
    """Return the words of a code in a sentence; of one without words, its short form."""
    return WORDS[code][1] if code in WORDS else short(code)
