"""The one entry that makes a difference, where no other entry, no set of them and no chance explains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bktools.ledger.habits import THOUSANDTHS
from bktools.ledger.judgement import Judgement

# All sets of so many entries are tried; of more, pairs, and chance must be small.
SEARCH = 12
# In so many cells, by chance, a difference may equal an entry that has nothing to do with it.
BY_CHANCE = 0.0005
# Minor units of which amounts are multiples more often than by chance.
ROUND = (1_000, 500, 100, 50, 10, 1)
# Errors of whole units are so many times more frequent than the count of such amounts says.
WHOLE, SLIPS = 100, 10


def sole(
    values: Mapping[int, int], amount: int, slack: int, share: float, rates: Sequence[int] = ()
) -> int | None:
    """Return the one entry whose amount this is; None where another entry, a set, or chance may explain it.

    `share` is how many groups are off: the more there are, the less a single entry is believed. `rates` are
    those of the tax that the amounts are without.
    """
    hits = [entry for entry, value in values.items() if abs(value - amount) <= slack]
    if len(hits) != 1 or not amount:
        return None
    others = np.array([value for entry, value in values.items() if entry != hits[0]], dtype=np.int64)
    if len(others) < SEARCH:
        sums = np.zeros(1, np.int64)
        for value in others:
            sums = np.concatenate([sums, sums + value])
        if (np.abs(sums[1:] - amount) <= slack).any():
            return None
    else:
        pairs = others[:, None] + others[None, :]
        np.fill_diagonal(pairs, 0)
        if (np.abs(pairs - amount) <= slack).any():
            return None
    near = int(((np.abs(others) >= abs(amount) / 2) & (np.abs(others) <= 2 * abs(amount))).sum())
    chance = (1 + near) * (2 * slack + 1) * _unit(amount, slack, rates) / (1.5 * abs(amount)) * share
    return hits[0] if len(others) == 0 or chance <= BY_CHANCE else None


def _unit(amount: int, slack: int, rates: Sequence[int]) -> int:
    """Return the amount of which a difference is a multiple, with tax or without.

    Such amounts are more frequent than others.

    A difference that rounding leaves open, or that is without its tax, is compared with the large ones alone.
    """
    around = range(amount - slack, amount + slack + 1)
    gross = [round(one * (THOUSANDTHS + rate) / THOUSANDTHS) for one in around for rate in rates]
    large = [unit for unit in ROUND[:3] if any(one % unit == 0 for one in (*around, *gross))]
    unit = max([*large, next(unit for unit in ROUND if amount % unit == 0)])
    return unit * SLIPS if unit >= WHOLE else unit


def share_off(judgement: Judgement, off: int) -> float:
    """Return the part of all groups that is off.

    Where it is large, some groups have several errors; where some were not sent, most have.
    """
    if judgement.style.is_partial:
        return float("inf")
    groups = sum(group.count for group in judgement.state.groups)
    return max(off, 1) / max(off + groups, 1)
