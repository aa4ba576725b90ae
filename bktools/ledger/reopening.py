"""Proven pairs that are opened again: a free posting of their amount may take them back, or repeat them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from bktools.ledger.candidates import Piece
from bktools.ledger.entry_names import Entry
from bktools.ledger.gates import EARLIER, LATEST, WEEK
from bktools.ledger.matching import Matching
from bktools.ledger.study import Study
from bktools.ledger.whole_numbers import places


def reopened(study: Study, pieces: Sequence[Piece]) -> Matching:
    """Give up the pairs beside which a free piece has their amount, or its opposite."""
    matching, entries, case = study.matching, study.entries, study.case
    free = defaultdict(list)
    for piece in pieces:
        for account in piece.nets.keys() & case.used if piece.gross else ():
            for size in range(abs(piece.gross) - case.slack, abs(piece.gross) + case.slack + 1):
                free[account, size].append(piece)
    if not free:
        return matching
    sizes, of_entry = np.sort(np.array([size for _, size in free], np.int64)), matching.groups.of_entry
    last, groups = int(entries.day.max()) + matching.gate[1], set()
    # A receipt of several lines is taken back, or repeated, as a whole.
    totals, has_several = study.receipts
    for amounts in (entries.cents, totals) if has_several else (entries.cents,):
        beside = np.flatnonzero(matching.has_pair & (places(np.abs(amounts), sizes) >= 0))
        own = study.of(entries.e[beside].tolist())
        rows = zip(of_entry[beside].tolist(), amounts[beside].tolist(), own, strict=True)
        for group, cents, x in rows:
            near = free.get((x.account, abs(cents)), ())
            if any(_may_be_about(study, group, x, cents, piece, last) for piece in near):
                groups.add(group)
    return matching.without([*groups])


def _may_be_about(study: Study, group: int, x: Entry, cents: int, piece: Piece, last: int) -> bool:
    """Whether a piece may take back an entry, or book it again."""
    matching, case = study.matching, study.case
    due = int(matching.groups.due[group])
    is_opposite, late = cents * piece.gross < 0, piece.day - due
    if piece.day < x.day - EARLIER or piece.day - max(due, x.day) > LATEST:
        return False
    if is_opposite and piece.day < x.day:
        return False  # what takes back comes after what it takes back
    is_on_time = matching.gate[0] <= late <= matching.gate[1]
    if x.is_named_in(piece.text) and (is_opposite or is_on_time or due <= piece.day <= last):
        return True
    carries = not case.is_of_sums and case.carried is not None
    is_soon = is_on_time or (carries and matching.gate[0] <= late < matching.gate[1] + WEEK)
    return piece.is_kind and (is_opposite or (is_soon and not case.denies([x], piece.text)))
