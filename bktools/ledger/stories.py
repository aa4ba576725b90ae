"""The stories."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from bktools.ledger.candidates import Group, Piece
from bktools.ledger.entry_names import Entry, words
from bktools.ledger.matching import EARLIER, LATEST, MOST, WEEK, WHOLE
from bktools.ledger.outcome import Status
from bktools.ledger.tax_rates import Rates, agrees, in_place
from bktools.ledger.whole_numbers import number, places


@dataclass(frozen=True)
class Story:
    """One way in which a group may be in the books: the pieces that are its own, and what became of each
    entry."""

    pieces: frozenset[tuple]
    mistakes: int
    status: Mapping[int, Status]
    takes: int | None = None  # an entry of another group that is in these pieces
    off: int = 0


@dataclass
class Case:
    """What the stories of the open groups need: the pieces, the gate, the habits."""

    gate: tuple[int, int]
    of_sums: bool
    used: frozenset[int]
    rates: Rates
    slack: int = 0
    taxes: Sequence[int] = (0,)  # the rates by which amounts are smaller here than entries are
    kept: tuple[str, ...] | None = None
    covers: tuple[int, int] = (0, 0)
    is_known: bool = False
    last_entry: int = 0
    by_account: Mapping[int, list[Piece]] = field(default_factory=lambda: defaultdict(list))
    by_gross: Mapping[int, list[Piece]] = field(default_factory=lambda: defaultdict(list))
    names: Mapping[tuple, set[int]] = field(
        default_factory=dict
    )  # by piece, the open entries that its text names

    def is_of_another(self, group: Group, piece: Piece) -> bool:
        """Whether a text names an entry, and none of this group."""
        named = self.names.get(piece.number)
        return bool(named) and named.isdisjoint(x.e for x in group.entries)

    def is_on_time(self, group: Group, piece: Piece) -> bool:
        return self.gate[0] <= piece.day - group.due <= self.gate[1]

    def lateness(self, group: Group, piece: Piece) -> int:
        """How many mistakes a voucher needs outside of its gate: more than a week later it is another matter's."""
        soon = piece.day - group.due <= self.gate[1] + WEEK
        is_named = piece.day <= self.last_entry + self.gate[1] and any(
            x.is_named_in(piece.text) for x in group.entries
        )
        return 1 if soon or is_named else 2

    def is_near(self, group: Group, piece: Piece, x: Entry) -> bool:
        """Whether a posting that names an entry may be of it: on time, or a correction, or a second one in
        the entries' days."""
        lag = piece.day - group.due
        after = piece.day >= x.day and piece.day - max(group.due, x.day) <= LATEST
        corrects = after and (
            piece.is_correction or piece.gross * x.cents <= 0 or 2 * abs(piece.gross) < abs(x.cents)
        )
        return (
            self.is_on_time(group, piece) or corrects or 0 < lag <= self.last_entry + self.gate[1] - group.due
        )

    def is_whole(self, cents: int) -> bool:
        """Whether a difference is of whole units, as a slip of the pen is; it names no entry."""
        over = ((abs(cents) * (1000 + rate) % (1000 * WHOLE), rate) for rate in self.taxes)
        return any(min(rest, 1000 * WHOLE - rest) <= (rate and (1000 + rate) // 2) for rest, rate in over)

    def missing(self, group: Group) -> Status:
        """What is not there is missing, if style and days are known, and a posting is due at all."""
        covered = self.covers[0] <= group.due + self.gate[0] and group.due + self.gate[1] <= self.covers[1]
        return Status.MISSING if self.is_known and covered and group.total else Status.OPEN

    def is_own(self, x: Entry, piece: Piece) -> bool:
        """Whether a voucher of another amount is an entry's by its text: it names it, or, in its place, is not
        denied."""
        in_place = piece.is_kind and not self.denies([x], piece)
        return x.is_named_in(piece.text) or (in_place and (bool(self.kept) or is_slip(x.cents, piece.gross)))

    def denies(self, entries: Iterable[Entry], piece: Piece) -> bool:
        """Whether a voucher is of others by its text."""
        return self.kept is not None and not any(
            (own := x.text(self.kept)) and own <= piece.text for x in entries
        )


def is_slip(a: int, b: int) -> bool:
    """Whether one amount may be a slip of the pen for the other: digits changed over, or a few whole units off."""
    return sorted(str(abs(a))) == sorted(str(abs(b))) or abs(a - b) in (WHOLE, 10 * WHOLE, 100 * WHOLE)


def may_hold(case: Case, group: Group) -> list[Piece]:
    """The pieces with a reason to be a group's: in its place, or of an amount of it, or with its text."""
    found: dict[tuple, Piece] = {}
    entries, total, accounts = group.entries, group.total, group.accounts
    slack = range(-case.slack, case.slack + 1)
    amounts = {sign * cents + off for cents in group.amounts for sign in (1, -1) for off in slack}
    for piece in {p.number: p for account in accounts for p in case.by_account.get(account, ())}.values():
        lag, on_time = piece.day - group.due, case.is_on_time(group, piece)
        in_place = (
            piece.is_kind
            and (case.of_sums or len(entries) > 1 or case.is_own(entries[0], piece))
            and on_time
            and 2 * len(accounts & piece.nets.keys()) >= len(accounts)
        )
        equal = piece.gross in amounts if piece.gross else not amounts.isdisjoint(piece.nets.values())
        later = equal and group.start - EARLIER <= piece.day and lag <= LATEST
        denied = (
            (in_place or later) and piece.gross and not (on_time and equal) and case.denies(entries, piece)
        )
        named = (
            x
            for x in entries
            if x.account in piece.nets and case.is_near(group, piece, x) and x.is_named_in(piece.text)
        )
        if ((in_place or later) and not denied) or any(named):
            found[piece.number] = piece
    # On any account, its amount on its own side.
    for amount in {total, *(x.cents for x in entries)}:
        found.update(
            (p.number, p)
            for p in case.by_gross.get(amount, ())
            if case.is_on_time(group, p)
            or (group.start <= p.day <= group.due + LATEST and any(x.is_named_in(p.text) for x in entries))
        )
    return [piece for piece in found.values() if not case.is_of_another(group, piece)]


def stories_of(
    case: Case, group: Group, pieces: Sequence[Piece], others: Mapping[int, Sequence[Entry]]
) -> list[Story]:
    """All ways to tell a group with the pieces that may hold it."""
    left_out = int(any(x.sent for x in group.entries))
    told = [Story(frozenset(), left_out, {x.e: case.missing(group) for x in group.entries})]
    sizes = (1, 2, 3) if len(pieces) <= 8 else (1, 2) if len(pieces) <= 24 else (1,)
    for some in itertools.chain(*(itertools.combinations(pieces, size) for size in sizes)):
        told += _with(case, group, some, others)
    return told


def _with(
    case: Case, group: Group, some: Sequence[Piece], others: Mapping[int, Sequence[Entry]]
) -> Iterable[Story]:
    """Yield the stories in which just these pieces are the group's."""
    entries, numbers, whole = group.entries, frozenset(piece.number for piece in some), len(group.entries) > 1
    there = Status.IN_A_SUM if whole and not group.is_receipt else Status.BOOKED
    parts = [*((x,) for x in entries), *group.receipts]
    for part, piece in itertools.product(parts, some) if whole and len(some) > 1 else ():
        # What takes back one entry, and names it, is told first; then the rest is told without it.
        named = part[0].is_named_in(piece.text)
        is_after = piece.day >= min(p.day for p in some if p is not piece)
        if is_after and _takes_back(case, part, piece):
            for story in _with(case, group, [p for p in some if p is not piece], others):
                if {story.status[x.e] for x in part} in ({there}, {Status.OPEN}):
                    own = Status.REVERSED if story.status[part[0].e] is there else Status.OPEN
                    status = {**story.status, **{x.e: own for x in part}}
                    yield replace(story, pieces=numbers, mistakes=story.mistakes + 1, status=status)
            if named:
                return
    off = sum(piece.gross for piece in some) - group.total
    plain = {x.e: there for x in entries}
    # Booked after its time, or in other words than this ledger's: a mistake more.
    corrects = [p.is_correction and any(x.is_named_in(p.text) for x in entries) for p in some]
    late = [
        not case.is_on_time(group, p) and p.gross * group.total > 0 and not own
        for p, own in zip(some, corrects, strict=True)
    ]
    odd = sum(case.lateness(group, p) for p, own in zip(some, late, strict=True) if own) + 2 * sum(
        p.gross == group.total and case.denies(entries, p) for p in some
    )
    named = [any(x.is_named_in(p.text) for x in entries) for p in some if p.gross == group.total]
    odd += 0 if case.kept or not any(named) else len(named) - sum(named)
    if off == 0 and agrees(entries, some, case):
        yield Story(numbers, odd, plain)
        return
    found = False
    if off == 0:
        if (
            whole and len(some) == 1 and case.is_on_time(group, some[0])
        ):  # two mistakes that cancel each other
            yield Story(numbers, odd + 2, dict.fromkeys(plain, Status.OPEN))
        for x in entries:
            for account in {a for p in some for a, net in p.nets.items() if net and a != x.account}:
                if agrees(entries, some, case, {x.e: account}):
                    found = True
                    slip = whole and case.is_whole(x.cents)
                    yield Story(numbers, odd + 1 + slip, plain | {x.e: Status.ANOTHER_ACCOUNT})
    for part in parts:
        rest, cents = [y for y in entries if y not in part], sum(x.cents for x in part)
        if off == -cents and (agrees(rest, some, case) if rest else _undone(some)):
            found = True
            back = any(_takes_back(case, part, p) and p.day >= min(q.day for q in some) for p in some)
            own = Status.REVERSED if back else case.missing(group)
            yield Story(numbers, odd + (part[0].sent or back), plain | {x.e: own for x in part})
        elif off == cents and agrees([*entries, *(replace(x, e=-1) for x in part)], some, case):
            named = part[0].is_named_in(some[0].text)
            if whole or len(some) > 1 or (case.of_sums and some[0].is_kind) or named:
                found = True
                yield Story(numbers, odd - sum(late) + 1, plain | {x.e: Status.BOOKED_TWICE for x in part})
    piece, *more = [p for p in some if not p.is_correction] or some
    if more or not off or not case.is_on_time(group, piece) or not group.accounts & piece.nets.keys():
        return
    for y in others.get(off, ()):
        places = sorted(account for account, net in piece.nets.items() if net and account != y.account)
        is_near = y not in entries and case.gate[0] <= piece.day - y.day <= case.gate[1]
        if is_near and any(agrees([*entries, y], some, case, {y.e: account}) for account in places):
            found = True
            yield Story(numbers, odd + case.is_whole(off), dict.fromkeys(plain, Status.IN_A_SUM), takes=y.e)
    if whole and len(some) == 1:
        yield from _parts(case, group, piece)
    named = entries[0].is_named_in(piece.text) if case.of_sums else case.is_own(entries[0], piece)
    if not whole and piece.gross * group.total > 0 and named:
        yield Story(numbers, odd + 1, {entries[0].e: Status.ANOTHER_AMOUNT}, off=off)
    elif whole or case.of_sums:
        # More than one mistake, or a slip that may be any entry's.
        slip = 1 if found and case.is_whole(off) else 2
        yield Story(numbers, odd + slip, dict.fromkeys(plain, Status.OPEN), off=off)


def _takes_back(case: Case, part: Sequence[Entry], piece: Piece) -> bool:
    on = all(x.account in piece.nets for x in part)
    return on and abs(piece.gross + sum(x.cents for x in part)) <= case.slack and not piece.is_correction


def _undone(some: Sequence[Piece]) -> bool:
    """Whether pieces cancel each other on every account."""
    nets: Counter = Counter()
    for piece in some:
        nets.update(piece.nets)
    return len(some) > 1 and not any(nets.values())


def _parts(case: Case, group: Group, piece: Piece) -> Iterable[Story]:
    """Yield which of the entries that were not sent may be in a voucher already: none of them is a
    mistake."""
    sent, unsent = ([x for x in group.entries if x.sent is one] for one in (True, False))
    for size in range(len(unsent)) if 2 ** len(unsent) <= MOST else ():
        for part in itertools.combinations(unsent, size):
            inside = [*sent, *part]
            if inside and agrees(inside, [piece], case):
                status = dict.fromkeys((x.e for x in group.entries), Status.MISSING)
                yield Story(
                    frozenset([piece.number]),
                    0,
                    status | dict.fromkeys((x.e for x in inside), Status.IN_A_SUM),
                )


def solve(
    groups: Sequence[Group], told: Mapping[Any, Sequence[Story]], strays: Mapping[tuple, int]
) -> tuple[dict[int, set[Status]], list[dict], bool]:
    """Tell the groups of one component together with the fewest mistakes: the possible statuses of each
    entry.

    Each piece is used once; one that is not used costs what `strays` says.  Returns also the solutions, and
    whether
    they were all tried.
    """
    owners = {x.e: (group.number, x) for group in groups for x in group.entries}
    best, solutions, tried = [sum(strays.values()) + 3 * len(groups) + 1], [], [0]
    order = sorted(groups, key=lambda group: len(told[group.number]))

    def step(place: int, used: frozenset, cost: int, chosen: dict) -> None:
        tried[0] += 1
        if cost > best[0] or tried[0] > 10 * MOST:
            return
        if place < len(order):
            for story in told[order[place].number]:
                if not story.pieces & used:
                    step(
                        place + 1,
                        used | story.pieces,
                        cost + story.mistakes,
                        {**chosen, order[place].number: story},
                    )
            return
        taken = [story.takes for story in chosen.values() if story.takes is not None]
        if len({*taken}) < len(taken) or any(
            e not in owners or chosen[owners[e][0]].status[e] is not Status.MISSING for e in taken
        ):
            return
        total = cost + sum(price for number, price in strays.items() if number not in used)
        if total < best[0]:
            best[0] = total
            solutions.clear()
        if total == best[0]:
            solutions.append(chosen)

    step(0, frozenset(), 0, {})
    possible: dict[int, set[Status]] = defaultdict(set)
    homes = {group.number: group.accounts for group in groups}
    for chosen in solutions:
        said = {e: status for story in chosen.values() for e, status in story.status.items()}
        for name, story in chosen.items():
            if story.takes is not None:
                is_home = owners[story.takes][1].account in homes[name]
                said[story.takes] = Status.IN_A_SUM if is_home else Status.ANOTHER_ACCOUNT
        for e, status in said.items():
            possible[e].add(status)
    return possible, solutions, tried[0] <= 10 * MOST
