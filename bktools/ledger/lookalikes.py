"""Free postings that may be an entry's after all: while there is one, nothing is to be corrected."""

from __future__ import annotations

import functools
from collections import defaultdict

import numpy as np

from bktools.ledger.entry_names import words
from bktools.ledger.gates import LATEST
from bktools.ledger.judged import Judged

# The texts of an entry, each of which alone may name it.
TEXTS = ("description", "document", "supplier")


class Lookalikes:
    """The free postings with an entry's amount, or with the words of one of its texts, near its day.

    Parameters
    ----------
    judged : Judged
        Both tables and the verdict.
    """

    def __init__(self, judged: Judged) -> None:
        self._judged = judged

    def of(self, entry: int) -> list[int]:
        """Return the rows of the free postings that look like an entry's."""
        row = self._judged.entries.row(entry, named=True)
        rows = {row for cents in self._amounts(row["cents"]) for row in self._by_amount.get(cents, ())}
        for name in TEXTS:
            own = words(row[name])
            rarest = min((self._by_word.get(word, []) for word in own), key=len, default=[])
            rows |= {posting for posting in rarest if own <= self._words(posting)}
        days = self._judged.postings["day"]
        return sorted(posting for posting in rows if abs(days[posting] - row["day"]) <= LATEST)

    def _amounts(self, cents: int) -> set[int]:
        """Return an amount, and its net at each rate of tax that the ledger shows; a sign is not compared."""
        habits = self._judged.verdict.habits
        rates = habits.tax_rates if habits else ()
        return {abs(cents), *(round(abs(cents) * 1000 / (1000 + rate)) for rate in rates)}

    @functools.cached_property
    def _rows(self) -> list[int]:
        known = self._judged.postings["day"].is_not_null().to_numpy()
        return np.flatnonzero(self._judged.is_free & known).tolist()

    @functools.cached_property
    def _by_amount(self) -> dict[int, set[int]]:
        rows = defaultdict(set)
        for amounts in (self._judged.cents, self._judged.gross):
            for posting, cents in zip(self._rows, amounts[self._rows].tolist(), strict=True):
                rows[abs(cents)].add(posting)
        return rows

    @functools.cached_property
    def _by_word(self) -> dict[str, list[int]]:
        rows = defaultdict(list)
        for posting in self._rows:
            for word in self._words(posting):
                rows[word].append(posting)
        return rows

    def _words(self, posting: int) -> frozenset[str]:
        return self._texts[posting]

    @functools.cached_property
    def _texts(self) -> dict[int, frozenset[str]]:
        texts = self._judged.postings.select("text", "document")[self._rows].iter_rows()
        return {posting: words(*both) for posting, both in zip(self._rows, texts, strict=True)}
