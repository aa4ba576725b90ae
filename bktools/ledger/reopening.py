"""Proven pairs that are opened again: a free posting of their amount may take them back, or repeat them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from bktools.ledger.candidates import Piece
from bktools.ledger.entry_names import Entry
from bktools.ledger.gates import EARLIER, LATEST
from bktools.ledger.matching import Matching
from bktools.ledger.study import Study
from bktools.ledger.whole_numbers import places


def reopened(study: Study, pieces: Sequence[Piece]) -> Matching:
    """Give up the pairs beside which a free piece has their amount, or its opposite."""
    matching, entries, slack = study.matching, study.entries, study.case.slack
    free = defaultdict(list)
    for piece in pieces:
        for account in piece.nets.keys() & study.case.used if piece.gross else ():
            for size in range(abs(piece.gross) - slack, abs(piece.gross) + slack + 1):
                free[account, size].append(piece)
    sizes = np.unique(np.array([size for _, size in free], np.int64))
    of_entry, groups = matching.groups.of_entry, set()
    # A receipt of several lines is taken back, or repeated, as a whole.
    totals, has_several = study.receipts
    for amounts in (entries.cents, totals) if has_several else (entries.cents,):
        beside = np.flatnonzero(matching.has_pair & (places(np.abs(amounts), sizes) >= 0))
        own = study.of(entries.e[beside].tolist())
        rows = zip(of_entry[beside].tolist(), amounts[beside].tolist(), own, strict=True)
        for group, cents, x in rows:
            due, near = int(matching.groups.due[group]), free.get((x.account, abs(cents)), ())
            if any(_may_be_about(x, due, cents, piece) for piece in near):
                groups.add(group)
    return matching.without([*groups])


def _may_be_about(x: Entry, due: int, cents: int, piece: Piece) -> bool:
    """Whether a piece may take back an entry, or book it again."""
    # What takes back comes after what it takes back.
    earliest = x.day if cents * piece.gross < 0 else x.day - EARLIER
    is_near = earliest <= piece.day <= max(due, x.day) + LATEST
    return is_near and (piece.is_kind or x.is_named_in(piece.text))
