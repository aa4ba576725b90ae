"""Texts that look the same: the spelling of an external ID without such differences, and rows of sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from bktools.inputs.terms import TOTALS

# Invisible characters that a spreadsheet or a person may add to a text.
BLANKS = "[ \t\n\x0b\x0c\r\u0085\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]+"

CAPITALS, ZERO = "capitals", "letter_o"
# In what texts that look alike may differ, and how a text is spelled without it.
SPELLINGS: Mapping[str, Callable[[pl.Expr], pl.Expr]] = {
    "white_space": lambda text: text.str.replace_all(BLANKS, ""),
    CAPITALS: lambda text: text.str.to_lowercase(),
    "accents": lambda text: text.str.normalize("NFC"),
    ZERO: lambda text: text.str.replace_many(["O", "o"], ["0", "0"]),
}


def spelled(text: pl.Expr, *but: str) -> pl.Expr:
    """Return a text without the differences of SPELLINGS, except for the named ones."""
    for difference, without in SPELLINGS.items():
        text = text if difference in but else without(text)
    return text


def without_zeros(text: pl.Expr) -> pl.Expr:
    """Return a text without leading zeros."""
    return text.str.strip_chars_start("0")


def differences(one: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Return in what two texts that look alike differ: a list of names of SPELLINGS."""

    def differ(*but: str) -> pl.Expr:
        return spelled(one, *but) != spelled(other, *but)

    differing = {name: differ(name) for name in SPELLINGS}
    # Both O and o are the digit 0, which hides that they differ.
    differing[CAPITALS] |= differ(CAPITALS, ZERO) & ~differ(ZERO)
    named = [pl.when(differs).then(pl.lit(name)) for name, differs in differing.items()]
    return pl.concat_list(named).list.drop_nulls()


def is_total(name: pl.Expr, code: pl.Expr) -> pl.Expr:
    """Return whether name and code are those of a row of sums, as the readers of files compare them.

    A name such as Total with a number is an account: a company has this name.
    """
    return _says_total(code) | (_says_total(name) & ~code.str.contains(r"\d").fill_null(value=False))


def _says_total(text: pl.Expr) -> pl.Expr:
    letters = text.str.to_lowercase().str.normalize("NFKD").str.replace_all(r"[^\p{L}\p{N}%]", "")
    return letters.is_in(sorted(TOTALS)).fill_null(value=False)
