"""The last word: an entry that no story finds is missing, unless something free may hold it.

It is open instead where

- a free piece on its account is its amount, or the sum of undecided entries in a row with it; or has all
  words of one of its texts,
- a free piece of the entries' kind has its amount, on any account, until a week after its gate; or is on its
  account, in the gate, and not denied by a text,
- it has an original amount, and such a piece on its account has none,
- a free piece of another kind has exactly its amount, in the gate, and no text denies it,
- an open sum near it may hold it, or a group differs by just its amount,
- it cancels another entry on its account: nothing is to be booked then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from bktools.ledger.candidates import Group, Piece, between
from bktools.ledger.entry_names import FIELDS, Entry
from bktools.ledger.entry_rows import sums_in_a_row
from bktools.ledger.gates import EARLIER, LATEST, UNDER_A_WEEK
from bktools.ledger.study import Study
from bktools.ledger.telling import Telling, leave_open
from bktools.ledger.verdict import Reason, Status


def decide_missing(study: Study, telling: Telling, foreign: Sequence[Group]) -> None:
    """Give the entries without a status theirs: MISSING, or OPEN.

    `foreign` has the groups with amounts in other currencies: their postings may hold any entry near them.
    """
    free = _Free(study, telling, foreign)
    cancelled = _cancelled(study, telling.groups)
    for group in telling.groups:
        for x in group.entries:
            if study.draft.status[x.e] >= 0:
                continue
            near = free.pieces_for(x, group)
            if near or x.e in cancelled or free.has_open_sum(x, group):
                own = study.group(group.number, [x])
                leave_open(study, own, [x], Reason.MAY_BE_IN, study.first_rows(near))
            else:
                study.draft.decide(x.e, Status.MISSING)


class _Free:
    """The pieces and open sums that may hold an entry that was not found."""

    def __init__(self, study: Study, telling: Telling, foreign: Sequence[Group]) -> None:
        self.case, self.telling = study.case, telling
        status = study.draft.status
        self.unsolved = [
            group for group in telling.groups if any(status[x.e] == Status.OPEN for x in group.entries)
        ]
        self.open_sums = [*foreign, *self.unsolved] if self.case.is_of_sums else []
        unexplained = [piece for piece in self.case.free.pieces if piece.id not in telling.explained]
        # What is left of a voucher of several accounts may hold several entries of other accounts.
        self.parts = [
            piece
            for piece in unexplained
            if piece.is_kind and piece.gross and (study.books.accounts[piece.v] > 1 or len(piece.nets) > 1)
        ]
        # An entry of a closed month may be in a later sum.
        is_plain = not self.case.is_of_sums and study.matching.clock == "day"
        self.days_around = 0 if is_plain else 2 * UNDER_A_WEEK
        entries = study.entries
        is_undecided = np.isin(status[entries.e], (-1, Status.OPEN)) & (entries.is_home | ~entries.is_foreign)
        self.without_original = _without_original(study)
        self.sums = sums_in_a_row(study, study.of(entries.e[is_undecided].tolist()), unexplained)

    def pieces_for(self, x: Entry, group: Group) -> list[Piece]:
        """Return the free pieces that may hold an entry."""
        case, free = self.case, self.case.free
        first = group.due + case.gate[0] - self.days_around - EARLIER
        last = group.due + case.gate[1] + self.days_around + UNDER_A_WEEK
        accounts = {x.account, *self.without_original.get(x.account, ())}
        on_accounts = (piece for account in accounts for piece in free.on(account, first, last))
        on_account = [piece for piece in on_accounts if piece.is_kind and piece.gross]
        near = [*free.of_gross.get(x.cents, ()), *on_account, *between(self.parts, first, last)]
        pieces = [piece for piece in near if self._may_hold(x, group, piece)]
        pieces += [
            piece for piece in free.on(x.account, x.day - LATEST, x.day + LATEST) if _has_words(x, piece)
        ]
        pieces += [piece for piece in free.naming.get(x.e, ()) if case.is_near(group, piece, x)]
        return [*self.sums[x.e], *(piece for piece in pieces if piece.id not in self.telling.explained)]

    def _may_hold(self, x: Entry, group: Group, piece: Piece) -> bool:
        first, last = self.case.gate[0] - self.days_around, self.case.gate[1] + self.days_around
        if piece.is_kind and x.cents in (piece.gross, *piece.nets.values()):
            return first - EARLIER <= piece.day - group.due <= last + UNDER_A_WEEK
        return first <= piece.day - group.due <= last and not self.case.denies([x], piece.text)

    def has_open_sum(self, x: Entry, group: Group) -> bool:
        """Whether an open sum may hold an entry: near it any, up to a week one that has so much more."""
        width = self.case.gate[1] - self.case.gate[0]
        for other in self.open_sums:
            days, off = abs(other.due - group.due), self.telling.differences.get(other.number)
            has_more = off is None or (off * x.cents > 0 and abs(off) >= abs(x.cents))
            if days <= max(1, width) or (days <= UNDER_A_WEEK and has_more):
                return True
        return any(
            self.telling.differences.get(other.number) == x.cents and abs(other.due - group.due) <= LATEST
            for other in self.unsolved
        )


def _without_original(study: Study) -> dict[int, set[int]]:
    """Return by account of original amounts what its postings without such amounts have: the same by name."""
    named = defaultdict(set)
    for books in (study.books.lines, study.entries):
        for name, account in {*zip(books.table["account"].to_list(), books.account.tolist(), strict=True)}:
            named[name].add(account)
    originals = study.entries.take(study.entries.is_original)
    return {
        account: named[name]
        for name, account in zip(originals.table["account"], originals.account.tolist(), strict=True)
    }


def _cancelled(study: Study, groups: Sequence[Group]) -> set[int]:
    """Return the entries that cancel another one on their account within a week."""
    cancelled: set[int] = set()
    before: dict[tuple[int, int], list[Entry]] = defaultdict(list)
    for x in (x for group in groups for x in group.entries if study.draft.status[x.e] < 0):
        for other in before[x.account, -x.cents]:
            if abs(x.day - other.day) <= UNDER_A_WEEK:
                cancelled |= {x.e, other.e}
        before[x.account, x.cents].append(x)
    return cancelled


def _has_words(x: Entry, piece: Piece) -> bool:
    """Whether a piece has all words of one of an entry's texts."""
    texts = (x.text([name]) for name in FIELDS)
    return any(text and text <= piece.text for text in texts)
