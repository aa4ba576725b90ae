"""What stories are told with: the ledger's habits, and the pieces of it that no proven group has."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bktools.ledger.booking_units import CORRECTED, LATEST, UNDER_A_WEEK, Gate
from bktools.ledger.candidates import Entry, FreePieces, Group, Piece
from bktools.ledger.tax_rates import Rates
from bktools.ledger.verdict import Status

# Cents. A slip of the pen is often of whole units: such a difference names no entry.
UNIT = 100
# Days after which a monthly charge comes again, with a weekend before or after.
MONTH = (26, 34)


@dataclass
class Practice:
    """What the stories of open groups are told with.

    Attributes
    ----------
    gate, covered : tuple of int
        When vouchers follow their groups, and the days that the ledger shows.
    is_of_sums : bool
        Whether the ledger books sums.
    used : frozenset of int
        The entries' accounts in the ledger.
    rates : Rates
        The ledger's rates of tax.
    taxes : sequence of int
        The rates by which amounts are smaller here than the entries are.
    slack : int
        By how many cents the net of an entry may be off.
    carried : tuple of str or None
        The texts of an entry that nine in ten vouchers carry, together.
    is_known : bool
        Whether enough agrees to call an entry missing.
    days : tuple of int
        The days of the first and the last entry.
    outside : frozenset of tuple
        Accounts and amounts of the entries whose vouchers are due on days that the ledger does not show.
    free : FreePieces
        The pieces that may hold open groups.
    """

    gate: Gate
    covered: Gate
    is_of_sums: bool
    used: frozenset[int]
    rates: Rates
    slack: int = 0
    taxes: Sequence[int] = (0,)
    carried: tuple[str, ...] | None = None
    is_known: bool = False
    days: Gate = (0, 0)
    outside: frozenset[tuple[int, int]] = frozenset()
    free: FreePieces = field(default_factory=FreePieces)

    # ---- days

    def is_on_time(self, group: Group, piece: Piece) -> bool:
        """Whether a piece is in the gate of a group."""
        return self.gate[0] <= piece.day - group.due <= self.gate[1]

    def lateness(self, group: Group, piece: Piece) -> int:
        """Return how many mistakes a piece outside of its gate needs.

        Before its entries, or a week after the gate, it is as likely of another matter, such as the next
        month's charge, unless it has words of an entry alone in the days of the entries, or its amount alone.
        """
        is_soon = group.start <= piece.day <= group.due + self.gate[1] + UNDER_A_WEEK
        is_in_days = piece.day <= self.days[1] + self.gate[1]
        is_named = is_in_days and any(x.is_named_alone_in(piece.text) for x in group.entries)
        return 1 if is_soon or is_named or any(self._has_its_amount(piece, x) for x in group.entries) else 2

    def _has_its_amount(self, piece: Piece, x: Entry) -> bool:
        """Whether a later piece has an entry's words, and its amount, which no other entry or piece has."""
        is_alone = x.is_single and self.free.of_size.get((x.account, abs(x.cents)), ()) == [piece]
        # An amount of whole units may be met again by chance.
        is_own = is_alone and piece.gross == x.cents and x.exported % UNIT != 0 and piece.day > x.day
        has_text = self.carried is not None and not self.denies([x], piece.text)
        return is_own and has_text and not self.may_come_again(piece.day - x.day, x)

    def may_come_again(self, late: int, x: Entry) -> bool:
        """Whether an entry's charge may come again after so many days, which is no entry: each month.

        Any other charge that comes again would be an entry, too, as many days before this one, or after it.
        """
        if late < MONTH[0] + self.gate[0]:
            return x.day - late < self.days[0] and self.days[1] < x.day + late
        return late <= MONTH[1] + self.gate[1]

    def is_near(self, group: Group, piece: Piece, x: Entry) -> bool:
        """Whether a piece that names an entry may be of it.

        It is on time, or a second one in the entries' days, or has words of the entry alone, or is a
        correction: it moves, takes back, or is smaller than half of the entry.
        """
        if self.is_on_time(group, piece) or group.due < piece.day <= self.days[1] + self.gate[1]:
            return True
        is_after = piece.day >= x.day and piece.day - max(group.due, x.day) <= CORRECTED
        is_small = piece.gross * x.cents <= 0 or 2 * abs(piece.gross) < abs(x.cents)
        return is_after and (piece.is_move or is_small or self._is_of_it_alone(x, piece))

    def _is_of_it_alone(self, x: Entry, piece: Piece) -> bool:
        """Whether a piece has words of an entry alone: a charge of each month has them more than twice."""
        equal = (one for one in self.free.naming.get(x.e, ()) if one.gross == piece.gross)
        return x.is_named_alone_in(piece.text) and sum(x.is_named_alone_in(one.text) for one in equal) <= 2

    def without_voucher(self, group: Group) -> Status:
        """Return MISSING if habits and days are known, else OPEN; of a sum of zero no posting is due."""
        is_covered = (
            self.covered[0] <= group.due + self.gate[0] and group.due + self.gate[1] <= self.covered[1]
        )
        if self.is_known and is_covered:
            return Status.MISSING if group.total else Status.IN_A_SUM
        return Status.OPEN

    # ---- texts

    def denies(self, entries: Iterable[Entry], text: frozenset[str]) -> bool:
        """Whether vouchers carry texts, and this one is of none of these entries."""
        if self.carried is None:
            return False
        texts = (x.text(self.carried) for x in entries)
        return not any(own and own <= text for own in texts)

    def is_of_another(self, group: Group, piece: Piece) -> bool:
        """Whether the text of a piece names an entry, and none of this group.

        A move names an entry of one of the two groups between which it moves an amount.
        """
        named = self.free.named.get(piece.id, set[int]())
        return bool(named) and not piece.is_move and named.isdisjoint(x.e for x in group.entries)

    def may_be_anothers(self, group: Group, cents: int) -> bool:
        """Whether another entry has an amount: an open one, or one that the ledger does not cover."""
        is_outside = any((account, cents) in self.outside for account in group.accounts)
        return is_outside or self.free.amounts[cents] > sum(x.cents == cents for x in group.entries)

    def is_own(self, x: Entry, piece: Piece) -> bool:
        """Whether a piece of another amount is an entry's: it names it, or is in its place and not denied."""
        if x.is_named_in(piece.text):
            return True
        in_place = piece.is_kind and not self.denies([x], piece.text)
        return in_place and (self.carried is not None or is_slip(x.cents, piece.gross))

    # ---- amounts

    def agree(
        self, entries: Sequence[Entry], pieces: Sequence[Piece], moved: Mapping[int, int] | None = None
    ) -> bool:
        """Whether pieces have the entries' total, on their accounts, each with what its entries make.

        `moved` has the other account on which an entry is booked.
        """
        gross = sum(piece.gross for piece in pieces)
        if gross != sum(x.cents for x in entries):
            return False
        nets: Counter[int] = Counter()
        for piece in pieces:
            nets.update(piece.nets)
        on: dict[int, list[Entry]] = defaultdict(list)
        for x in entries:
            on[moved.get(x.e, x.account) if moved else x.account].append(x)
        theirs = {account for account, net in nets.items() if net and (account in self.used or account in on)}
        if len(entries) == 1:
            return set(on) <= theirs  # its voucher may have other accounts beside: a split, a tax
        if not theirs <= set(on):
            return False
        if sum(net for account, net in nets.items() if account in theirs) == gross:
            return all(sum(x.cents for x in own) == nets[account] for account, own in on.items())
        # Any net may be that of many entries. If the others are right, so is the last one: nothing else is
        # there but tax.
        many = [account for account, own in on.items() if not self.rates.can_count(own)]
        is_last = len(many) == 1 and {a for a, net in nets.items() if net} - theirs <= self.rates.accounts
        return all(
            self.rates.can_give(own, nets[account])
            for account, own in on.items()
            if not (is_last and account in many)
        )


def is_slip(amount: int, other: int) -> bool:
    """Whether an amount may be a slip of the pen for another: digits changed over, or whole units off."""
    has_same_digits = sorted(str(abs(amount))) == sorted(str(abs(other)))
    return has_same_digits or abs(amount - other) in (UNIT, 10 * UNIT, 100 * UNIT)


def may_hold(practice: Practice, group: Group) -> list[Piece]:
    """Return the pieces that may be a group's: of one of its amounts, in its place, or with its names."""
    candidates = [
        *_of_its_amounts(practice, group),
        *_in_its_place(practice, group),
        *_naming_it(practice, group),
    ]
    pieces = {piece.id: piece for piece in candidates}
    pieces |= {back.id: back for piece in candidates for back in practice.free.corrections(piece)}
    return [piece for piece in pieces.values() if not practice.is_of_another(group, piece)]


def _of_its_amounts(practice: Practice, group: Group) -> Iterator[Piece]:
    """Yield the pieces with an amount of a group, on any account: on time, or its own by text or account."""
    first, last = group.start, group.due + LATEST
    offs = range(-practice.slack, practice.slack + 1)
    sizes = {size + off for size in group.amounts for off in offs}
    for account, size in itertools.product(sorted(group.accounts), sorted(sizes)):
        for piece in practice.free.of_size.get((account, size), ()):
            # What takes back comes after.
            earliest = first if piece.gross * group.total < 0 else first - LATEST
            is_own = not practice.denies(group.entries, piece.text) or practice.is_on_time(group, piece)
            if earliest <= piece.day <= last and (
                is_own or not piece.gross or any(map(piece.takes_away, group.entries))
            ):
                yield piece
    amounts = {cents + off for cents in (group.total, *(x.cents for x in group.entries)) for off in offs}
    for amount in sorted(amounts):
        for piece in practice.free.of_gross.get(amount, ()):
            is_after = first <= piece.day <= last
            if practice.is_on_time(group, piece) or (
                is_after and any(x.is_named_in(piece.text) for x in group.entries)
            ):
                yield piece


def _in_its_place(practice: Practice, group: Group) -> Iterator[Piece]:
    """Yield the pieces of the entries' kind in a gate, on half of the accounts, that no text denies."""
    first, last = (group.due + days for days in practice.gate)
    if practice.carried is None:
        in_gate = [
            piece for account in sorted(group.accounts) for piece in practice.free.on(account, first, last)
        ]
    else:
        texts = {x.text(practice.carried) for x in group.entries}
        in_gate = [piece for text in texts for piece in practice.free.with_text(text, first, last)]
    x = group.entries[0]
    for piece in in_gate:
        is_own = practice.is_of_sums or len(group.entries) > 1 or not practice.denies([x], piece.text)
        if piece.is_kind and is_own and 2 * len(group.accounts & piece.nets.keys()) >= len(group.accounts):
            yield piece


def _naming_it(practice: Practice, group: Group) -> Iterator[Piece]:
    """Yield the pieces on the account of an entry that they name, near it."""
    for x in group.entries:
        for piece in practice.free.naming.get(x.e, ()):
            if x.account in piece.nets and practice.is_near(group, piece, x):
                yield piece
