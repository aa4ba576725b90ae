"""The vocabularies contradict neither themselves nor each other."""

from __future__ import annotations

from itertools import combinations

import pytest

from bktools.inputs.columns import Vocabulary, normal
from bktools.inputs.headings import ACCOUNTS, CHART, ENTRIES


@pytest.mark.parametrize("fields", [CHART, ENTRIES, ACCOUNTS], ids=["chart", "entries", "accounts"])
def test_no_word_heads_two_fields(fields):
    """A heading means one field of a kind of file."""
    words = {field: strong | weak for field, (strong, weak) in Vocabulary(fields).fields.items()}
    shared = {(a, b): words[a] & words[b] for a, b in combinations(words, 2) if words[a] & words[b]}
    assert shared == {}


@pytest.mark.parametrize(
    ("heading", "same"),
    [
        ("*Code", "code"),
        ("Account #", "account"),
        ("Konto-Nr.", "kontonr"),
        ("  ENTRY_ID ", "entryid"),
        ("N° compte", "ncompte"),
        ("VAT %", "vat%"),
    ],
)
def test_headings_are_compared_without_decoration(heading, same):
    """Case, spaces, punctuation and marks for required columns do not matter; a percent sign does."""
    assert normal(heading) == same
