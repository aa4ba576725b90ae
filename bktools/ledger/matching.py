"""Matching: the groups of a booking unit beside the parts of vouchers that have their accounts and total."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bktools.ledger.annotated_postings import AnnotatedPostings
from bktools.ledger.booking_units import (
    ACCOUNT,
    CLOCKS,
    DAYS,
    EARLIER,
    FEW,
    LATEST,
    OWN,
    UNDER_A_WEEK,
    UNITS,
    USUAL,
    VOUCHER,
    BookingUnit,
    Gate,
    gate_of,
    units_of_style,
)
from bktools.ledger.whole_numbers import (
    NONE,
    Columns,
    Flags,
    Numbers,
    among,
    largest,
    number,
    places,
    runs,
    sums,
)

# A unit that explains so many of the entries is not questioned.
CLEAR = 0.99
# If no unit explains so many, each sum may have an error.
SOME = 0.05
# With more sums than these, none is looked for near its own total.
MOST_SUMS = 500
# Of less than this share of entries nothing is decided beyond the proven pairs.
DECIDABLE = 0.5


@dataclass
class EntryGroups:
    """The groups of a booking unit.

    Attributes
    ----------
    entries : Columns
        The entries.
    of_entry : array
        The group of each entry.
    accounts, total, size, is_home, due : arrays
        Of each group: which accounts it has (the sum of their random numbers), its sum in cents, its number
        of entries, whether all are in the ledger's currency, and the day from which delays count.
    """

    entries: Columns
    of_entry: Numbers
    accounts: Numbers
    total: Numbers
    size: Numbers
    is_home: Flags
    due: Numbers

    def days_by(self, clock: str) -> Numbers:
        """Return the last day of each group by a clock."""
        return largest(self.of_entry, len(self.size), getattr(self.entries, clock))

    @functools.cached_property
    def _by_group(self) -> tuple[Numbers, Numbers]:
        return runs(self.of_entry, len(self.size))

    def members(self, group: int) -> list[int]:
        """Return the numbers of a group's entries."""
        order, ends = self._by_group
        numbers: list[int] = self.entries.e[order[ends[group] : ends[group + 1]]].tolist()
        return numbers


def groups_of(
    entries: Columns, books: AnnotatedPostings, unit: BookingUnit, clock: str = "day"
) -> EntryGroups:
    """Return the groups of a booking unit."""
    rows = np.arange(len(entries))
    if unit.by == ("e",):
        accounts, due = books.mix[entries.account], getattr(entries, clock)
        return EntryGroups(entries, rows, accounts, entries.cents, np.ones_like(rows), entries.is_home, due)
    keys = [getattr(entries, name) for name in unit.by]
    # What an entry lacks, such as a document, it shares with no other entry.
    of_entry, first = number(*(np.where(key < 0, rows + key.max() + 1, key) for key in keys))
    count = len(first)
    if unit.part != VOUCHER:
        accounts = books.mix[entries.account[first]]
    else:
        _, each = number(of_entry, entries.account)
        accounts = sums(of_entry[each], count, books.mix[entries.account[each]])
    size, total = sums(of_entry, count), sums(of_entry, count, entries.cents)
    is_home = sums(of_entry, count, entries.is_home) == size
    due = largest(of_entry, count, getattr(entries, clock))
    return EntryGroups(entries, of_entry, accounts, total, size, is_home, due)


@dataclass
class VoucherParts:
    """What of the vouchers may hold one group.

    Attributes
    ----------
    v, account, accounts, total, day : arrays
        Of each part: its voucher, its account (NONE for all of the voucher), which accounts it has (the sum
        of their random numbers), its cost side in cents, and its day.
    """

    v: Numbers
    account: Numbers
    accounts: Numbers
    total: Numbers
    day: Numbers


def voucher_parts(books: AnnotatedPostings, unit: BookingUnit) -> VoucherParts:
    """Return the parts of all vouchers."""
    if unit.part == VOUCHER:
        v = np.flatnonzero(books.accounts > 0)
        account, total, accounts = np.full(len(v), NONE), books.gross[v], books.account_set[v]
    else:
        v, account = books.cell_v[books.used], books.cell_account[books.used]
        total, accounts = books.gross[v], books.mix[account]
        if unit.part == ACCOUNT:
            # A voucher of one account has its tax beside it. One of several can be cut where it has no tax.
            is_whole = books.is_of_one[v]
            can_be_cut = books.has_nets | (total == books.on_used[v])
            total = np.where(is_whole, total, np.where(can_be_cut, books.net[books.used], 0))
    is_part = total != 0
    return VoucherParts(*(column[is_part] for column in (v, account, accounts, total, books.day[v])))


@dataclass
class Matching:
    """A booking unit with its groups, its parts of vouchers, its gate, and the pairs that agree.

    Attributes
    ----------
    unit, groups, parts : BookingUnit, EntryGroups, VoucherParts
    clock, gate : str, tuple of int
        From when delays count, and the days in which vouchers follow.
    group, part : arrays
        Of each pair: its group and its part.
    is_singular : array of bool
        Of each pair: whether no other group, and no other part, has its accounts and total in its stretch.
    is_shown : array of bool
        Of each group: whether any part has its accounts and total.
    """

    unit: BookingUnit
    groups: EntryGroups
    parts: VoucherParts
    clock: str
    gate: Gate
    group: Numbers
    part: Numbers
    is_singular: Flags
    is_shown: Flags

    @property
    def entries(self) -> int:
        """The number of entries in pairs."""
        return int(self.groups.size[self.group].sum())

    @property
    def vouchers(self) -> Numbers:
        """The voucher of each pair."""
        return self.parts.v[self.part]

    @property
    def is_paired(self) -> Flags:
        """Of each group, whether it is in a pair."""
        return among(len(self.groups.size), self.group)

    @property
    def has_pair(self) -> Flags:
        """Of each entry, whether its group is in a pair."""
        return self.is_paired[self.groups.of_entry]

    @functools.cached_property
    def nearest(self) -> Numbers:
        """Of each sum, the part on time that has half more or less at most; -1 without one."""
        groups, parts = self.groups, self.parts
        nearest = np.full(len(groups.size), -1)
        for group in range(len(nearest) if self.unit.is_sum and len(nearest) <= MOST_SUMS else 0):
            days_late = parts.day - groups.due[group]
            off = np.abs(parts.total - groups.total[group])
            can_be = (parts.accounts == groups.accounts[group]) & _is_in(self.gate, days_late)
            can_be &= off <= DECIDABLE * abs(groups.total[group])
            if can_be.any():
                nearest[group] = np.flatnonzero(can_be)[off[can_be].argmin()]
        return nearest

    @property
    def explained_money(self) -> float:
        """Which share of the groups' money their nearest parts have."""
        size = np.abs(self.groups.total)
        off = np.abs(np.append(self.parts.total, 0)[self.nearest] - self.groups.total)
        return float(1 - np.minimum(off, size).sum() / max(1, size.sum()))

    def only(self, mask: Flags) -> Matching:
        """Keep some of the pairs."""
        return replace(self, group=self.group[mask], part=self.part[mask], is_singular=self.is_singular[mask])

    def without(self, groups: Sequence[int]) -> Matching:
        """Give up the pairs of some groups."""
        return self.only(~among(len(self.groups.size), [*groups])[self.group])

    def rows(self) -> Iterator[tuple[int, list[int], int, int]]:
        """Yield the pairs as group, entries, voucher, account (NONE: all of it)."""
        accounts = self.parts.account[self.part].tolist()
        for group, v, account in zip(self.group.tolist(), self.vouchers.tolist(), accounts, strict=True):
            yield group, self.groups.members(group), v, account


def matching_of(
    entries: Columns, books: AnnotatedPostings, unit: BookingUnit, *, like: Matching | None = None
) -> Matching:
    """Pair the groups of a unit with parts of vouchers by counting.

    Groups and parts of equal accounts and total fall into stretches of days that no gate crosses. A stretch
    with as many parts as groups is paired in the order of days; any other one is left.

    Parameters
    ----------
    entries, books, unit
        What is matched.
    like : Matching, optional
        Another matching, whose clock and gate are used; by default they are learned.
    """
    groups, parts = groups_of(entries, books, unit), voucher_parts(books, unit)
    # A lot is a 64-bit mixture of accounts and total; that both are equal is asserted below.
    of_group, of_part = (
        side.accounts * 0x9E3779B97F4A7C1 + side.total * 0x2545F4914F6CDD1D for side in (groups, parts)
    )
    lots, first, parts_of_lot = np.unique(of_part, return_index=True, return_counts=True)
    lot = places(of_group, lots)
    is_shown = (groups.total != 0) & (lot >= 0)
    g = np.flatnonzero(is_shown & groups.is_home)
    groups_of_lot = sums(lot[g], len(lots))
    is_single = (groups_of_lot[lot[g]] == 1) & (parts_of_lot[lot[g]] == 1)
    group, g = g[is_single], g[~is_single]
    part = first[lot[group]]
    if like is None:
        clock, gate = _clock_of(groups, group, parts.day[part], unit.clock)
    else:
        clock, gate = like.clock, like.gate
    if clock != "day":
        groups.due = groups.days_by(clock)
    in_gate = _is_in(gate, parts.day[part] - groups.due[group])
    group, part = group[in_gate], part[in_gate]
    singular = np.ones(len(group), np.bool_)
    if len(g):
        lot_of_part = places(of_part, lots)
        p = np.flatnonzero(among(len(lots), lot[g])[lot_of_part])
        more_g, more_p, is_single = _counted(lot[g], groups.due[g], lot_of_part[p], parts.day[p], gate)
        group, part = np.append(group, g[more_g]), np.append(part, p[more_p])
        singular = np.append(singular, is_single)
    assert (groups.accounts[group] == parts.accounts[part]).all(), "pairs have equal accounts"
    assert (groups.total[group] == parts.total[part]).all(), "pairs have equal totals"
    pairs = Matching(unit, groups, parts, clock, gate, group, part, singular, is_shown)
    # A voucher on several accounts is a part several times: it holds one group.
    return pairs.only(sums(pairs.vouchers, books.count)[pairs.vouchers] == 1) if unit.part == OWN else pairs


def _is_in(gate: Gate, days_late: Numbers) -> Flags:
    return (days_late >= gate[0]) & (days_late <= gate[1])


def _clock_of(groups: EntryGroups, group: Numbers, day: Numbers, own: str) -> tuple[str, Gate]:
    """Return the clock by which singular vouchers come most punctually, and its gate.

    Of gates as narrow, the one with more of the vouchers: a few entries of a closed month widen none.
    """
    days_late = day - groups.due[group]
    some = (days_late >= -EARLIER) & (days_late <= LATEST)
    if some.sum() < FEW:
        return own, (0, UNDER_A_WEEK)
    gates, inside = {}, {}
    for clock in CLOCKS:
        if (getattr(groups.entries, clock) > NONE).all():
            late = day[some] - groups.days_by(clock)[group[some]]
            gates[clock] = gate_of(late)
            inside[clock] = int(_is_in(gates[clock], late).sum())
    usual = [clock for clock in gates if inside[clock] >= USUAL * inside["day"]]
    best = min(usual, key=lambda clock: (gates[clock][1] - gates[clock][0], -inside[clock]))
    return best, gates[best]


def _counted(
    of_group: Numbers, due: Numbers, of_part: Numbers, day: Numbers, gate: Gate
) -> tuple[Numbers, Numbers, Flags]:
    """Return the pairs of the stretches of days with as many parts as groups, by their places.

    Also of each pair whether its stretch has no other one.
    """
    is_part = np.repeat([False, True], [len(of_group), len(of_part)])
    place = np.append(np.arange(len(of_group)), np.arange(len(of_part)))
    lot = np.append(of_group, of_part) * 2**32
    start, end = lot + np.append(due + gate[0], day), lot + np.append(due + gate[1], day)
    order = np.lexsort((place, is_part, start))
    begins = start[order][1:] > np.maximum.accumulate(end[order])[:-1]
    stretch = np.zeros(len(order), np.int64)
    stretch[order] = np.append(0, begins.cumsum())[: len(order)]
    is_even = sums(stretch, len(order), is_part * 2 - 1) == 0
    by_day = np.lexsort((place, np.append(due, day), stretch))
    by_day = by_day[is_even[stretch[by_day]]]
    a, b = by_day[~is_part[by_day]], by_day[is_part[by_day]]
    is_late = ~_is_in(gate, day[place[b]] - due[place[a]])
    is_kept = ~among(len(order), stretch[a[is_late]])[stretch[a]]
    a, b = a[is_kept], b[is_kept]
    return place[a], place[b], sums(stretch[a], len(order))[stretch[a]] == 1


def ranked_matchings(entries: Columns, books: AnnotatedPostings, style: str | None = None) -> list[Matching]:
    """Return the matchings of all units, the ledger's first: the one that explains most, else the finest."""
    matchings: list[Matching] = []
    for unit in units_of_style(style):
        if _is_distinct(unit, entries):
            matchings.append(matching_of(entries, books, unit))
            if style is None and matchings[-1].entries >= CLEAR * len(entries):
                break
    if max((one.entries for one in matchings), default=0) <= SOME * len(entries):
        # The unit is the one whose sums are near, by account if those are.
        share = {one.unit: one.explained_money for one in matchings}
        near = [one for one in matchings if share[one.unit] >= DECIDABLE]
        return sorted(near, key=lambda one: (one.unit.part == VOUCHER, -share[one.unit])) or matchings
    return sorted(matchings, key=lambda one: (-one.entries, one.unit.level, UNITS.index(one.unit)))


def _is_distinct(unit: BookingUnit, entries: Columns) -> bool:
    """Whether the entries have what the unit needs, and it is not the same as a finer one."""
    if any((getattr(entries, name) < 0).all() for name in unit.by):
        return False
    if any((getattr(entries, name) == entries.day).all() for name in unit.by if name in DAYS):
        return False
    return unit.by != ("id",) or among(entries.id.max() + 1, entries.id).sum() < len(entries)
