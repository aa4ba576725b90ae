"""The last word: whether a free piece may be an entry's after all.

A piece is free if no proven pair has it, and not all cheapest stories use it. Three questions:

    missing      Nothing is missing if a story may use a free piece for it; if one has its name, or on its
                 account its amount on any day, all words of one of its texts, the sum of entries in a row
                 with it, or more than its amount without the name of any entry; or if an open sum near it may
                 hold it.
    corrections  None is ordered, before somebody has looked, if a free piece on any account has its size on
                 any day; of a missing entry also all words of one of its texts within weeks.
    sending      An entry that was not sent is held back by a free piece, from three days before it on, that
                 has its name, the sum of entries in a row with it, or an amount on its account that may be
                 its own; or, as soon as vouchers follow, all words of one of its texts and the amount of no
                 other entry. In a ledger of sums, and if its own amount there is not known, by any posting on
                 its account in its gate.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from bktools.ledger.booking_units import EARLIER, LATEST, UNDER_A_WEEK
from bktools.ledger.candidates import FIELDS, PERSON, Entry, FreePieces, Group, Piece, PieceId
from bktools.ledger.entry_rows import sums_in_a_row
from bktools.ledger.practice import may_hold
from bktools.ledger.tax_rates import net_of
from bktools.ledger.telling import Telling, leave_open
from bktools.ledger.verdict import BOOKED, ORDERS, Reason, Status
from bktools.ledger.working_papers import WorkingPapers


class Lookalikes:
    """The free pieces that may be an entry's after all.

    Parameters
    ----------
    papers : WorkingPapers
        The ledger; its practice has the pieces that no proven pair has.
    used : collection
        The pieces that all cheapest stories use.
    """

    def __init__(self, papers: WorkingPapers, used: Collection[PieceId]) -> None:
        entries, status = papers.entries, papers.draft.status
        free = [piece for piece in papers.practice.free.pieces if piece.id not in used]
        is_undecided = np.isin(status[entries.e], (-1, Status.OPEN)) & (entries.is_home | ~entries.is_foreign)
        undecided = papers.of(entries.e[is_undecided].tolist())
        self._practice = replace(papers.practice, free=FreePieces(free, undecided))
        self._papers, self._undecided, self._free = papers, undecided, free
        self._without_originals = _without_originals(papers)
        self._amounts = {x.cents for x in undecided}
        self._by_size: dict[int, list[Piece]] = defaultdict(list)
        slack = max(1, papers.practice.slack)  # a cent of tax is rounded by line, or by voucher
        for piece in free:
            sizes = {abs(cents) for cents in (piece.gross, *piece.nets.values(), *piece.lines)}
            for size in {size + off for size in sizes for off in range(-slack, slack + 1)}:
                self._by_size[size].append(piece)

    def may_hold(self, x: Entry, group: Group) -> list[Piece]:
        """Return the pieces that may hold an entry: it is not missing."""
        in_stories = may_hold(self._practice, Group(group.number, (x,), group.due))
        in_words = [piece for piece in self._with_words(x) if x.account in piece.nets]
        return [*self._like(x, group), *in_stories, *in_words, *self._with_more(x, group.due)]

    def may_be(self, x: Entry, group: Group) -> list[Piece]:
        """Return the pieces that may be an entry that was not sent: its words alone may be another one's."""
        last = x.day + self._practice.gate[1]  # what is booked by hand has the entry's day
        in_words = [
            piece
            for text in _texts(x)
            for piece in self._practice.free.with_text(text, x.day - LATEST, x.day + LATEST)
            if x.account in piece.nets
            and (self._may_give(x, piece) or (piece.day <= last and self._is_of_no_other(x, piece)))
        ]
        return [*self._like(x, group), *in_words]

    def _may_give(self, x: Entry, piece: Piece) -> bool:
        """Whether a piece has an entry's amount on its account, or what may be left of it without its tax."""
        rates = self._practice.rates
        return rates.can_give([x], piece.gross) or rates.can_give([x], piece.nets[x.account])

    def _is_of_no_other(self, x: Entry, piece: Piece) -> bool:
        """Whether a piece is of an entry's kind, and may be of no other entry on its account."""
        in_words = (y for text, own in self._by_text[x.account].items() if text <= piece.text for y in own)
        is_in_place = piece.is_kind and piece.nets[x.account] * x.cents > 0
        return is_in_place and not any(self._may_give(y, piece) for y in in_words)

    @functools.cached_property
    def _by_text(self) -> dict[int, dict[frozenset[str], list[Entry]]]:
        """The entries by their account and each of their texts."""
        entries: dict[int, dict[frozenset[str], list[Entry]]] = defaultdict(lambda: defaultdict(list))
        for x in self._undecided:
            for text in _texts(x):
                entries[x.account][text].append(x)
        return entries

    def _like(self, x: Entry, group: Group) -> list[Piece]:
        """Return the pieces with an entry's name, its amount, or the sum of entries in a row with it."""
        named = self._practice.free.naming.get(x.e, ())
        near = [piece for piece in named if self._practice.is_near(group, piece, x)]
        # A far piece with the words of others is only looked at; what is booked by hand names no employee.
        is_silent = self._practice.carried == (PERSON,)
        far = [
            piece for piece in self._of_amount(x) if is_silent or not self._practice.denies([x], piece.text)
        ]
        far += [piece for piece in self.similar(x, by_words=False) if self._practice.is_on_time(group, piece)]
        return [*self._in_a_row[x.e], *near, *far]

    def _of_amount(self, x: Entry) -> list[Piece]:
        """Return the pieces with an entry's amount on its account, on any day."""
        rates = self._practice.rates
        taxes = {0, *self._practice.taxes, *rates.possible(x), *rates.of.values()}
        own = {x.cents, *(net_of(x.exported, rate) for rate in taxes)}
        of_size = {piece.id: piece for cents in own for piece in self._by_size.get(abs(cents), ())}
        on_account = (piece for piece in of_size.values() if x.account in piece.nets)
        near = {cents + off for cents in own for off in (-1, 0, 1)}
        return [piece for piece in on_account if near & {piece.gross, *piece.amounts_on(x.account)}]

    def similar(self, x: Entry, *, by_words: bool) -> list[Piece]:
        """Return the pieces with the size of an entry, or its words: no correction is ordered."""
        sizes = {abs(x.cents), abs(x.exported)}
        of_size = [piece for size in sizes for piece in self._by_size.get(size, ())]
        in_words = self._with_words(x) if by_words else ()
        return [*{piece.id: piece for piece in (*of_size, *in_words)}.values()]

    def _with_more(self, x: Entry, due: int) -> list[Piece]:
        """Return the pieces on an entry's account that have more than it, and nothing of another entry."""
        free, last = self._practice.free, due + self._practice.gate[1] + UNDER_A_WEEK
        # Of all entries, also those that have their verdict.
        named = self._papers.practice.free.named
        # Where a posting has no original amount, its amount is in another currency.
        least = {x.account: abs(x.cents), **dict.fromkeys(self._without_originals[x.account], 0)}
        pieces = [(piece, account) for account in least for piece in free.on(account, x.day, last)]
        # A report of many entries, of whatever kind, may have a part of one on its account.
        reports = (
            piece
            for piece in free.on(x.account, x.day, x.day + LATEST)
            if piece.is_report and not named.get(piece.id) and piece.nets[x.account] * x.cents > 0
        )
        return [*reports] + [
            piece
            for piece, account in pieces
            if piece.is_kind and not named.get(piece.id) and piece.nets[account] not in self._amounts
            if piece.nets[account] * x.cents > 0 and abs(piece.nets[account]) > least[account]
        ]

    @functools.cached_property
    def _in_a_row(self) -> dict[int, list[Piece]]:
        return sums_in_a_row(self._papers, self._undecided, self._free)

    def _with_words(self, x: Entry) -> list[Piece]:
        """Return the pieces with all words of one of an entry's texts."""
        with_text = self._practice.free.with_text
        return [piece for text in _texts(x) for piece in with_text(text, x.day - LATEST, x.day + LATEST)]


def _texts(x: Entry) -> Iterator[frozenset[str]]:
    """Yield the words of each text of an entry."""
    return filter(None, (x.text([name]) for name in FIELDS if name != PERSON))


def _without_originals(papers: WorkingPapers) -> dict[int, list[int]]:
    """Return by account of original amounts the accounts of the same name: their postings may have none."""
    others = defaultdict(list)
    sides = (papers.entries.take(papers.entries.is_original), papers.books.lines)
    ours, theirs = (
        side.table.select("account", number=pl.Series(side.account)).unique(maintain_order=True)
        for side in sides
    )
    for _, own, other in ours.join(theirs, on="account", suffix="_there").iter_rows():
        others[own].append(other)
    return others


def decide_missing(
    papers: WorkingPapers, telling: Telling, foreign: Sequence[Group], free: Lookalikes
) -> None:
    """Give the entries without a status theirs: MISSING, or OPEN.

    `foreign` has the groups with amounts in other currencies: their postings may hold any entry near them.
    """
    status = papers.draft.status
    unsolved = [group for group in telling.groups if any(status[x.e] == Status.OPEN for x in group.entries)]
    undecided = [(x, group) for group in telling.groups for x in group.entries if status[x.e] < 0]
    days = defaultdict(list)
    for x, _ in undecided:
        days[x.account, x.cents].append(x.day)
    width = max(1, papers.practice.gate[1] - papers.practice.gate[0])

    def may_be_in(x: Entry, late: int, off: int | None) -> bool:
        """Whether an open sum may hold an entry: near it any, up to a week one that has so much more."""
        has_more = off is None or (off * x.cents > 0 and abs(off) >= abs(x.cents))
        is_near = abs(late) <= width or (abs(late) <= UNDER_A_WEEK and has_more)
        return (papers.practice.is_of_sums and is_near) or (off == x.cents and abs(late) <= LATEST)

    for x, group in undecided:
        near = free.may_hold(x, group)
        # Two entries that cancel each other may be in any sum, or in none.
        is_cancelled = any(abs(day - x.day) <= UNDER_A_WEEK for day in days[x.account, -x.cents])
        sums = ((one.due - group.due, telling.differences.get(one.number)) for one in (*foreign, *unsolved))
        if near or is_cancelled or any(may_be_in(x, late, off) for late, off in sums):
            own = papers.group(group.number, [x])
            leave_open(papers, own, [x], Reason.MAY_BE_IN, papers.first_rows(near))
        else:
            papers.draft.decide(x.e, Status.MISSING)


def look_first(papers: WorkingPapers, free: Lookalikes) -> None:
    """Name the postings to look at before a correction is ordered, or an entry is sent."""
    draft, entries, lines = papers.draft, papers.entries, papers.books.lines
    is_ordered = draft.has(*ORDERS)[entries.e] & entries.sent
    for x in papers.of(entries.e[is_ordered].tolist()):
        named = np.array(draft.postings(x.e), np.int64)
        own, numbers = (column[np.searchsorted(lines.row, named)] for column in (lines.v, lines.voucher))
        # A correction is of one voucher: another one shows that somebody has corrected it already.
        others = named[own != own[:1]].tolist() if draft.status[x.e] != Status.BOOKED_TWICE else []
        by_words = draft.status[x.e] == Status.MISSING
        pieces = (piece for piece in free.similar(x, by_words=by_words) if piece.v not in own)
        similar, numbers = papers.first_rows(pieces), numbers[numbers >= 0]
        if similar and len(numbers):
            # Where each line is a voucher, others of its number, such as the tax, are of the same correction.
            of_similar = lines.voucher[np.searchsorted(lines.row, similar)]
            similar = np.array(similar)[~np.isin(of_similar, numbers)].tolist()
        draft.look_first[x.e] = [*others, *similar]
    group = draft.posting_group[lines.row]
    is_of_sent = (group >= 0) & np.isin(group, draft.group[entries.e[entries.sent]])
    groups, unsent = papers.matching.groups, np.flatnonzero(~draft.has(*BOOKED)[entries.e] & ~entries.sent)
    for x, number in zip(
        papers.of(entries.e[unsent].tolist()), groups.of_entry[unsent].tolist(), strict=True
    ):
        single = papers.group(number, [x])
        rows = papers.first_rows(piece for piece in free.may_be(x, single) if piece.day >= x.day - EARLIER)
        is_of_sums = papers.practice.is_of_sums or not groups.is_home[number]
        if not rows and is_of_sums and draft.status[x.e] != Status.MISSING:
            # A credit note may be in a sum of costs.
            is_near = (lines.day >= x.day) & (lines.day <= single.due + papers.practice.gate[1])
            is_free = papers.books.is_cost & ~is_of_sent & (lines.account == x.account)
            rows = lines.row[is_free & is_near].tolist()
        draft.look_first[x.e] = rows
