"""The similarity of texts, which tells equal entries and postings apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from rapidfuzz import fuzz, process, utils

from bktools.ledger.columns import Numbers

# Texts that are at least so similar, of 100, are of one matter; a text decides where it is so much more similar.
SIMILAR = 70
CLEARLY = 10
# Texts of larger groups of equal entries and postings are not compared: entries are taken in their order.
LARGEST_GROUP = 10_000

Scores: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


class Row(NamedTuple):
    """The values that decide between rows that agree: text, amount without its decimal point, and number of the day."""

    text: str
    amount: int | None
    day: int | None


def words(text: str) -> str:
    """Return a text as it is compared: letters and digits alone, in lower case."""
    return utils.default_process(text)


def similar(pairs: tuple[Numbers, Numbers], rows: Sequence[Mapping[int, Row]]) -> tuple[Numbers, Numbers, Scores]:
    """Return the pairs, each without any other candidate, that have similar texts, or lack one."""
    ours, theirs = ([side_rows[no].text for no in side.tolist()] for side, side_rows in zip(pairs, rows, strict=True))
    scores = process.cpdist(ours, theirs, scorer=fuzz.token_set_ratio, dtype=np.float64)
    has_both = np.array([bool(one and other) for one, other in zip(ours, theirs, strict=True)], dtype=bool)
    agrees = ~has_both | (scores >= SIMILAR)
    return pairs[0][agrees], pairs[1][agrees], np.where(has_both, scores, np.nan)[agrees]


def best_pairs(
    group: tuple[Numbers, Numbers], rows: Sequence[Mapping[int, Row]], text: str, tied: set[int]
) -> tuple[Numbers, Numbers, Scores]:
    """Return the pairs of a group in which all rows agree; entries that nothing tells apart are added to `tied`.

    The most similar texts come first, then the nearest amount and day, then the order of the frames.
    """
    entries, postings = group
    few = min(len(entries), len(postings))
    if len(entries) * len(postings) > LARGEST_GROUP:
        if text == "decides":
            few = 0
        elif len(entries) > few:
            tied.update(entries.tolist())
        return entries[:few], postings[:few], np.full(few, np.nan)
    ours, theirs = ([side_rows[no] for no in side.tolist()] for side, side_rows in zip(group, rows, strict=True))
    scores = _scores(ours, theirs)
    is_allowed = {
        "orders": np.ones(scores.shape, bool), "agrees": ~(scores < SIMILAR), "decides": scores >= SIMILAR,
    }[text]  # fmt: skip
    one_of, other_of = np.nonzero(is_allowed)
    days = _distances(*([row.day for row in side] for side in (ours, theirs)))
    amounts = _distances(*([row.amount for row in side] for side in (ours, theirs)))
    ranks = (other_of, one_of, days[is_allowed], amounts[is_allowed], -np.nan_to_num(scores[is_allowed]))
    order = np.lexsort(ranks)
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for one, other in zip(one_of[order].tolist(), other_of[order].tolist(), strict=True):
        if one not in pairs and other not in taken:
            pairs[one] = other
            taken.add(other)
    without = [one for one in range(len(ours)) if one not in pairs]
    if text != "decides" and without:
        unclear = [one for one, other in pairs.items() if not _is_clear(scores, one, other, without)]
        if unclear:
            tied.update(entries[[*without, *unclear]].tolist())
    one, other = (np.array(side, dtype=np.int64) for side in (list(pairs), list(pairs.values())))
    return entries[one], postings[other], scores[one, other]


def _distances(ours: Sequence[int | None], theirs: Sequence[int | None]) -> Scores:
    """Return how far days or amounts of all pairs are apart; 0 where one is unknown."""
    one, other = (np.array(side, dtype=np.float64) for side in (ours, theirs))
    return np.nan_to_num(np.abs(np.subtract.outer(one, other)))


def _scores(ours: Sequence[Row], theirs: Sequence[Row]) -> Scores:
    """Return how similar the texts of all pairs are, 0 to 100; NaN where one is missing."""
    one, other = ([row.text for row in side] for side in (ours, theirs))
    scores = process.cdist(one, other, scorer=fuzz.token_set_ratio, dtype=np.float64)
    scores[[not text for text in one], :] = np.nan
    scores[:, [not text for text in other]] = np.nan
    return scores


def _is_clear(scores: Scores, one: int, other: int, without: Sequence[int]) -> bool:
    """Whether a text tells an entry with a posting from each entry without one."""
    score = scores[one, other]
    return bool(score >= SIMILAR and (np.nan_to_num(scores[without, other]) <= score - CLEARLY).all())
