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
        # An amount, and its net at each rate of tax that the ledger shows; a sign is not compared.
        cents, rates = abs(row["cents"]), self._judged.verdict.habits.tax_rates
        amounts = (cents, *(round(cents * 1000 / (1000 + rate)) for rate in rates))
        rows = {posting for amount in amounts for posting in self._free.get(amount, ())}
        for text in filter(None, (words(row[name]) for name in TEXTS)):
            rows |= set.intersection(*(self._free.get(word, set()) for word in text))
        days = self._judged.postings["day"]
        return sorted(posting for posting in rows if abs(days[posting] - row["day"]) <= LATEST)

    @functools.cached_property
    def _free(self) -> dict[int | str, set[int]]:
        """The free postings by their amounts and by their words."""
        judged, postings = self._judged, self._judged.postings
        rows = np.flatnonzero(judged.is_free & postings["day"].is_not_null().to_numpy())
        texts = map(words, *(postings[name][rows] for name in ("text", "document")))
        amounts = (np.abs(one[rows]).tolist() for one in (judged.cents, judged.gross))
        free: dict[int | str, set[int]] = defaultdict(set)
        for posting, text, *sizes in zip(rows.tolist(), texts, *amounts, strict=True):
            for key in (*text, *sizes):
                free[key].add(posting)
        return free
