"""The verdict of a ledger about entries, from the top down: habits, totals, groups, entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from bktools.ledger.differences import judge_cells, judge_doubles_in_sums, open_of
from bktools.ledger.elsewhere import judge_by_text, judge_elsewhere, judge_missing
from bktools.ledger.exchange import Rate, exchanged
from bktools.ledger.explanation import explained_by_totals
from bktools.ledger.habits import books_of
from bktools.ledger.judgement import Judgement, Note, begun
from bktools.ledger.reversals import judge_multiples, without_undone
from bktools.ledger.sides import Sides
from bktools.ledger.statuses import Reason, Status
from bktools.ledger.steps import Grain
from bktools.ledger.style import Style, style_of


@dataclass(frozen=True)
class Verdict:
    """What became of each entry, by row."""

    style: Style
    rates: tuple[Rate, ...]
    judgement: Judgement

    @property
    def statuses(self) -> np.ndarray:
        return self.judgement.status


def verdict_of(sides: Sides, *, grain: Grain | None = None, sign: int | None = None) -> Verdict:
    """Return the verdict; `grain` and `sign` where a person says how the ledger books."""
    books = books_of(sides, sign=sign)
    state = explained_by_totals(sides, books)
    style = style_of(state, grain)
    state, rates = exchanged(state, style.grain, style.lag)
    style = style_of(state, grain)
    state, undone = without_undone(state)
    judgement = begun(state, style, sides.entries.height)
    judgement.undone |= undone
    unknown = sides.entries.filter(~pl.col("is_known"))["e"].to_list()
    for entry in unknown:
        judgement.say(entry, Status.NOT_COMPARABLE, note=Note(Reason.VALUE_UNKNOWN))
    judge_multiples(judgement, state.named_or_used, in_sums=False)
    rest = open_of(judgement)
    if rest is None:
        is_open = np.flatnonzero(judgement.status == Status.OPEN)
        judgement.undecided(is_open.tolist(), Reason.STYLE_UNKNOWN)
        return Verdict(style, rates, judgement)
    if style.grain is Grain.ENTRY:
        judge_by_text(judgement, rest)
        rest.out = [*rest.entries]
        judge_elsewhere(judgement, rest)
        rest.out = []
    judge_cells(judgement, rest)
    judge_elsewhere(judgement, rest)
    judge_doubles_in_sums(judgement, rest)
    free = state.used.filter(pl.col("p").is_in([*rest.free]))
    judge_multiples(judgement, free, in_sums=True)
    rest.use(*judgement.doubles, *judgement.reversals)
    judge_missing(judgement, rest)
    judgement.undecided(np.flatnonzero(judgement.status == Status.OPEN).tolist(), Reason.STYLE_UNKNOWN)
    return Verdict(style, rates, judgement)
