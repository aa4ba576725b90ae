"""Stories: the ways in which an open group may be in the books, each with the mistakes that it needs.

A story has the pieces of the ledger that are the group's own, and what became of each entry:

    booked               the pieces are the group's: no mistake
    missing              an entry that was sent is left out: one mistake
    another account      the pieces are the group's with an entry on another account: one
    booked twice         an entry is there once more: one
    reversed             an entry is taken back by a later piece: one
    another amount       one entry, and a piece of another amount that is its own by place and text: one;
                         open, if the amount is the entry's without another of the ledger's taxes; booked, if
                         the net is the entry's, and a cent of the tax is rounded
    late                 a piece after the gate: one more; before the group, or a week after the gate: two
                         more, without words, or an amount, of the entry alone
    in other words       a piece whose text is of no entry of the group: two more
    two mistakes         a sum in its place that no single mistake explains: two, and the entries are open;
                         one, if whole units are the difference, as a slip of the pen makes it
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bktools.ledger.booking_units import UNDER_A_WEEK
from bktools.ledger.candidates import FIELDS, Entry, Group, Piece, PieceId
from bktools.ledger.practice import UNIT, Practice
from bktools.ledger.tax_rates import WHOLE, net_of
from bktools.ledger.verdict import Status

# With more candidates than these, no three, or no two of them, are tried together.
MOST_FOR_THREE, MOST_FOR_TWO = 8, 24


@dataclass(frozen=True)
class Story:
    """One way in which a group may be in the books.

    Attributes
    ----------
    pieces : frozenset
        The IDs of the pieces that are the group's own.
    mistakes : int
        How many it needs.
    status : mapping
        What became of each entry.
    off : int
        What the pieces have more than the group, in cents.
    """

    pieces: frozenset[PieceId]
    mistakes: int
    status: Mapping[int, Status]
    off: int = 0


def stories_of(practice: Practice, group: Group, pieces: Sequence[Piece]) -> list[Story]:
    """Return all stories of a group with the pieces that may hold it."""
    left_out = int(any(x.sent for x in group.entries))
    stories = [Story(frozenset(), left_out, {x.e: practice.without_voucher(group) for x in group.entries})]
    for some in _combined(practice, pieces):
        stories += _PieceStories(practice, group, some).stories()
    return stories


def _combined(practice: Practice, pieces: Sequence[Piece]) -> Iterator[Sequence[Piece]]:
    """Yield the pieces that may be a group's together; a piece and what corrects it count as one."""
    by_id = {piece.id: piece for piece in pieces}
    units = [
        *((piece,) for piece in pieces),
        *((piece, back) for piece in pieces for back in practice.free.corrections(piece) if back.id in by_id),
    ]
    most = 3 if len(pieces) <= MOST_FOR_THREE else 2 if len(pieces) <= MOST_FOR_TWO else 1
    combined = set[frozenset[PieceId]]()
    for size in range(1, most + 1):
        for some in itertools.combinations(units, size):
            ids = [piece.id for unit in some for piece in unit]
            if len({*ids}) == len(ids) and frozenset(ids) not in combined:
                combined.add(frozenset(ids))
                yield [by_id[number] for number in ids]


class _PieceStories:
    """The stories in which some pieces, and no others, are a group's own."""

    def __init__(self, practice: Practice, group: Group, pieces: Sequence[Piece]) -> None:
        self.practice, self.group, self.pieces = practice, group, pieces
        self.entries, self.is_sum = group.entries, len(group.entries) > 1
        self.ids = frozenset(piece.id for piece in pieces)
        self.there = Status.IN_A_SUM if self.is_sum and not group.is_receipt else Status.BOOKED
        self.booked = {x.e: self.there for x in self.entries}
        self.opened = dict.fromkeys(self.booked, Status.OPEN)
        self.off = sum(piece.gross for piece in pieces) - group.total
        self.late = [piece for piece in pieces if self._is_late(piece) and not self._is_taken_back(piece)]
        self.far = sum(map(self._may_be_of_others, self.late))
        self.odd = sum(practice.lateness(group, piece) for piece in self.late) + self._in_other_words()

    def _may_be_of_others(self, piece: Piece) -> bool:
        """Whether a late piece is as likely another charge: a week after the gate, if that may come again."""
        is_far = piece.day - self.group.due > self.practice.gate[1] + UNDER_A_WEEK
        return is_far and any(self.practice.may_come_again(piece.day - x.day, x) for x in self.entries)

    def _names_one(self, piece: Piece) -> bool:
        return any(x.is_named_in(piece.text) for x in self.entries)

    def _is_late(self, piece: Piece) -> bool:
        """Whether a piece comes too late; a correction that names its entry may come at any time."""
        is_own_side = piece.gross * self.group.total > 0
        is_correction = piece.is_move and self._names_one(piece)
        return is_own_side and not self.practice.is_on_time(self.group, piece) and not is_correction

    def _is_taken_back(self, piece: Piece) -> bool:
        """Whether a piece is taken back, and no equal one may be in its place: its day is no mistake then."""
        reversals = [other for other in self.pieces if other.takes_back(piece)]
        equal = [one for one in self.pieces if all(other.takes_back(one) for other in reversals)]
        return len(equal) == len(reversals) > 0

    def _in_other_words(self) -> int:
        equal = [piece for piece in self.pieces if piece.gross == self.group.total]
        if self.practice.carried is not None:
            return 2 * sum(self.practice.denies(self.entries, piece.text) for piece in equal)
        # Where vouchers may carry texts or not, one that names an entry speaks against the others.
        named = sum(map(self._names_one, equal))
        return len(equal) - named if named else 0

    def story(self, mistakes: int, status: Mapping[int, Status], **more: int) -> Story:
        return Story(self.ids, self.odd + mistakes, status, **more)

    def stories(self) -> Iterator[Story]:
        if self._is_rounded() or (self.off == 0 and self.practice.agree(self.entries, self.pieces)):
            yield self.story(0, self.booked)
            return
        if self.is_sum and len(self.pieces) > 1:
            yield from self._taken_back()
        single = [*self._on_another_account(), *self._left_out(), *self._twice()]
        yield from single
        if self.off == 0:
            if self.is_sum and len(self.pieces) == 1 and self.practice.is_on_time(self.group, self.pieces[0]):
                yield self.story(2, self.opened)  # two mistakes that cancel each other
            return
        yield from self._of_another_amount(is_explained=bool(single))

    def _is_rounded(self) -> bool:
        """Whether an entry in several pieces without tax is off by no more than their rounding."""
        on_account = all(piece.nets.keys() == self.group.accounts for piece in self.pieces)
        is_net = any(self.practice.taxes) and not self.is_sum and on_account
        return is_net and 0 < abs(self.off) < len(self.pieces)

    def _reversals(self) -> Iterator[tuple[tuple[Entry, ...], Piece]]:
        """Yield the parts of the group with a later piece that takes them back."""
        for part, piece in itertools.product(self.group.parts, self.pieces):
            first = min((other.day for other in self.pieces if other is not piece), default=piece.day)
            if piece.day >= first and self._takes_back(part, piece):
                yield part, piece

    def _taken_back(self) -> Iterator[Story]:
        """Yield the stories without a piece that takes back an entry, with the entry reversed."""
        for part, piece in self._reversals():
            others = [other for other in self.pieces if other is not piece]
            for story in _PieceStories(self.practice, self.group, others).stories():
                states = {story.status[x.e] for x in part}
                if states in ({self.there}, {Status.OPEN}):
                    own = Status.REVERSED if states == {self.there} else Status.OPEN
                    status = {**story.status, **{x.e: own for x in part}}
                    yield replace(story, pieces=self.ids, mistakes=story.mistakes + 1, status=status)

    def _takes_back(self, part: Sequence[Entry], piece: Piece) -> bool:
        is_opposite = abs(piece.gross + sum(x.cents for x in part)) <= self.practice.slack
        is_after = all(x.day <= piece.day and x.account in piece.nets for x in part)
        return is_opposite and is_after and not piece.is_move

    def _on_another_account(self) -> Iterator[Story]:
        # Nets that may be any sum of the entries show no account.
        accounts = {account for piece in self.pieces for account, net in piece.nets.items() if net}
        can_tell = self.off == 0 and (len(accounts) == 1 or self.practice.rates.can_count(self.entries))
        for x in self.entries if can_tell else ():
            for account in sorted(accounts - {x.account}):
                if self.practice.agree(self.entries, self.pieces, {x.e: account}):
                    yield self.story(1, self.booked | {x.e: Status.ANOTHER_ACCOUNT})

    def _left_out(self) -> Iterator[Story]:
        practice, pieces = self.practice, self.pieces
        for part in (part for part in self.group.parts if self.off == -sum(x.cents for x in part)):
            others = [x for x in self.entries if x not in part]
            if practice.agree(others, pieces) if others else _is_nothing(pieces):
                is_back = any(own == part for own, _ in self._reversals())
                own = Status.REVERSED if is_back else practice.without_voucher(self.group)
                if not is_back and any(self._takes_back(part, piece) for piece in pieces):
                    own = Status.OPEN  # what takes back comes after
                yield self.story(int(part[0].sent or is_back), self.booked | {x.e: own for x in part})

    def _twice(self) -> Iterator[Story]:
        practice, pieces, cents = self.practice, self.pieces, self.off
        for part in (part for part in self.group.parts if cents == sum(x.cents for x in part)):
            again = [*self.entries, *(replace(x, e=-1) for x in part)]
            is_told = self.is_sum or len(pieces) > 1 or (practice.is_of_sums and pieces[0].is_kind)
            is_told = is_told or part[0].is_named_in(pieces[0].text)
            # The second one is in the one sum, or stands alone.
            is_told &= len(pieces) == 1 or any(piece.gross == cents for piece in pieces)
            # Each of two postings may have a rate of tax that no other one shows.
            are_equal = all(practice.agree(self.entries, [piece]) for piece in pieces)
            if is_told and (are_equal or practice.agree(again, pieces)):
                # A second posting may come after the gate. A week later it is as likely of others.
                first = min(pieces, key=lambda piece: piece.day)
                second = [piece for piece in self.late if piece.gross == cents and piece is not first]
                lateness = sum(practice.lateness(self.group, piece) for piece in second)
                is_outside = any((x.account, cents) in practice.outside for x in part)
                is_others = is_outside or (len(pieces) == 1 and practice.may_be_anothers(self.group, cents))
                own = Status.OPEN if is_others or self._is_of_others(part) else Status.BOOKED_TWICE
                yield self.story(1 - lateness + self.far, self.booked | {x.e: own for x in part})

    def _is_of_others(self, part: Sequence[Entry]) -> bool:
        """Whether one of two equal pieces has a word that neither its entry nor another piece has."""
        own = frozenset[str]().union(*(x.text(FIELDS) for x in part))
        for piece in self.pieces:
            if len(self.pieces) > 1 and piece.gross == sum(x.cents for x in part):
                known = own.union(*(other.text for other in self.pieces if other is not piece))
                strange = [word for word in piece.text - known if word.isalpha()]
                if any(not any(one.startswith(word) for one in own) for word in strange):  # a text may be cut
                    return True
        return False

    def _of_another_amount(self, *, is_explained: bool) -> Iterator[Story]:
        """Yield the stories of a piece in the group's place that has more, or less."""
        practice, group = self.practice, self.group
        piece, *more = [piece for piece in self.pieces if not piece.is_move] or self.pieces
        if more or not practice.is_on_time(group, piece) or not group.accounts & piece.nets.keys():
            return
        x = self.entries[0]
        is_own = x.is_named_in(piece.text) if practice.is_of_sums else practice.is_own(x, piece)
        if not self.is_sum and is_explained:
            return  # twice its amount is no slip of the pen
        is_cent = abs(self.off) == 1 and self._has_net(x, piece) and not practice.denies([x], piece.text)
        if not self.is_sum and (is_own or is_cent) and piece.gross * group.total > 0:
            is_open = not practice.is_known or self._may_be_right(x, piece)
            own = Status.OPEN if is_open else Status.ANOTHER_AMOUNT
            # Only a cent of its tax is rounded.
            yield self.story(1, {x.e: Status.BOOKED if is_cent else own}, off=self.off)
        elif self.is_sum or practice.is_of_sums:
            # A slip of the pen is often of whole units: such a difference names no entry.
            gross = [round(self.off * (WHOLE + rate) / WHOLE) for rate in practice.taxes]
            yield self.story(1 if any(cents % UNIT == 0 for cents in gross) else 2, self.opened, off=self.off)

    def _has_net(self, x: Entry, piece: Piece) -> bool:
        """Whether a piece has an entry's net on its account, to half a cent, at a rate of the ledger."""
        net, known = piece.nets.get(x.account, 0), self.practice.rates
        rates = {*known.possible(x), *known.often, *self.practice.taxes}
        wholes = (WHOLE + rate for rate in rates if rate)
        return any(2 * abs(net * whole - x.exported * WHOLE) <= whole for whole in wholes)

    def _may_be_right(self, x: Entry, piece: Piece) -> bool:
        """Whether a piece of another amount may be an entry as it was exported."""
        practice, off, nets = self.practice, self.off, piece.nets.values()
        # An account may have several rates of tax, and an original amount none. A tax is rounded by line, or
        # by voucher; one that is withheld lessens the voucher.
        taxed = {net_of(x.exported, rate) for rate in (0, *practice.taxes, *practice.rates.possible(x))}
        withheld = x.cents == sum(net for net in nets if net * x.cents > 0)
        if x.is_original or abs(off) == 1 or withheld or not taxed.isdisjoint((piece.gross, *nets)):
            return True
        # A line may be the entry's, with a fee or another entry beside it, or in it.
        if (
            practice.may_be_anothers(self.group, off)
            or practice.may_be_anothers(self.group, piece.gross)
            or x.cents in piece.lines
            or not piece.nets.keys() & practice.used <= self.group.accounts
        ):
            return True
        later = (one for one in practice.free.of_size.get((x.account, abs(off)), ()) if one.day >= piece.day)
        return any(one.gross * off < 0 for one in later)  # the difference is taken back


def _is_nothing(pieces: Sequence[Piece]) -> bool:
    """Whether pieces cancel each other on every account."""
    nets: Counter[int] = Counter()
    for piece in pieces:
        nets.update(piece.nets)
    return len(pieces) > 1 and not any(nets.values())
