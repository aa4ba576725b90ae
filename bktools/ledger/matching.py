"""Groups and vouchers that agree."""

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

from bktools.ledger.annotated_postings import AnnotatedPostings, KEPT, OFTEN
from bktools.ledger.booking_units import BookingUnit, CLOCKS, UNITS, units_of_style
from bktools.ledger.whole_numbers import Columns, NONE, among, number, places, sums


KNOWN = 0.8  # so many of the entries must agree to the cent before anything is called missing
TOLD = 0.5  # so many must agree before anything at all is said of the rest
CLEAR = 0.99  # a grain that explains so many is not questioned
DRIFT = 0.03  # so little do the rates of a currency differ
NEARLY = 0.05  # a finer grain that explains so few entries less is the ledger's
USUAL = 0.97  # so many of the vouchers come within the usual delay
WEEK = 6  # days; a delay that was not learned stays below a week, so that no weekly charge is another week's
EARLIER, LATEST = 3, 45  # days; no voucher of an entry is looked for outside of these
FEW = 5  # so many vouchers show a delay
OFTEN = 0.1  # a contra account balances so many of the vouchers
KEPT = 0.9  # a text that so many proven vouchers carry is carried by all
LARGEST_TAX = 0.35
RATES = np.arange(0, 1 + int(1000 * LARGEST_TAX), 5)  # thousandths
TELLING = 4_000  # cents; above this, an amount and its tax show the rate
WHOLE = 100  # cents; a slip of the pen is often of whole units: such a difference names no entry
MOST = 4_096  # ways to tell a difference that are tried; with more, it is open
NONE = -(2**40)  # a day, an amount or a code that is not there


@dataclass
class Groups:
    """The groups of a grain: of (by entry, which), key (the accounts), total, due, n, is_home."""

    entries: Columns
    of: np.ndarray
    key: np.ndarray
    total: np.ndarray
    due: np.ndarray
    n: np.ndarray
    is_home: np.ndarray

    def by_clock(self, clock: str) -> np.ndarray:
        """By group, its last day, or the end of its week or month, or the day when it was sent."""
        due = np.full(len(self.n), NONE)
        np.maximum.at(due, self.of, getattr(self.entries, clock))
        return due

    @functools.cached_property
    def _by_group(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.of, kind="stable")
        return order, np.searchsorted(self.of[order], np.arange(len(self.n) + 1))

    def members(self, g: int) -> list[int]:
        order, ends = self._by_group
        return self.entries.e[order[ends[g] : ends[g + 1]]].tolist()


def groups_of(entries: Columns, books: AnnotatedPostings, grain: BookingUnit) -> Groups:
    rows = np.arange(len(entries))
    if grain.by == ("e",):
        of, first = rows, rows
    else:
        keys = [getattr(entries, name) for name in grain.by]
        of, first = number(*(np.where(key < 0, rows + key.max() + 1, key) for key in keys))
    count = len(first)
    if count == len(entries) or grain.unit != "voucher":
        key = books.mix[entries.account[first]]
    else:
        _, each = number(of, entries.account)
        key = sums(of[each], count, books.mix[entries.account[each]])
    n = sums(of, count)
    out = Groups(
        entries, of, key, sums(of, count, entries.cents), n, n, sums(of, count, entries.is_home) == n
    )
    out.due = out.by_clock("day")
    return out


@dataclass
class VoucherParts:
    """What of the vouchers may hold one group: v, account (or NONE), key, total, day."""

    v: np.ndarray
    account: np.ndarray
    key: np.ndarray
    total: np.ndarray
    day: np.ndarray


def voucher_parts(
    books: AnnotatedPostings, grain: BookingUnit, free: np.ndarray | None = None
) -> VoucherParts:
    """The units of a grain, of all vouchers or of those that are free."""
    if grain.unit == "voucher":
        v = np.flatnonzero(books.accounts > 0)
        account, total = np.full(len(v), NONE), books.gross[v]
    else:
        v, account = books.cell_v[books.used], books.cell_account[books.used]
        total = books.gross[v]
        if grain.unit == "account":
            single = (books.accounts[v] == 1) & ~np.bool_(books.has_nets)
            parts = books.has_nets | (total == books.on_used[v])
            total = np.where(single, total, np.where(parts, books.net[books.used], 0))
    key = books.set[v] if grain.unit == "voucher" else books.mix[account]
    where = (total != 0) & (True if free is None else free[v])
    return VoucherParts(v[where], account[where], key[where], total[where], books.day[v][where])


def covered_by(books: AnnotatedPostings, until: int | None) -> tuple[int, int]:
    """The days that the ledger shows: from the month's first, if it is not silent for longer before its own
    first day than it is between two of its days."""
    days = np.unique(books.lines.day)
    first, last = (int(days[0]), int(days[-1])) if len(days) else (0, -1)
    month = int(np.datetime64(first, "D").astype("M8[M]").astype("M8[D]").astype(int))
    usual = np.sort(np.diff(days))[int(KEPT * (len(days) - 2))] if len(days) > FEW else 0
    return month if first - month <= usual else first, until or last


def clock_of(groups: Groups, g: np.ndarray, day: np.ndarray, own: str) -> tuple[str, tuple[int, int]]:
    """The clock by which vouchers come most punctually, and its gate: learned where both amounts are
    singular."""
    lag = day - groups.due[g]
    some = (lag >= -EARLIER) & (lag <= LATEST)
    if some.sum() < FEW:
        return own, (0, WEEK)
    gate = gate_of(lag[some])
    best, most = ("day", gate), ((lag >= gate[0]) & (lag <= gate[1])).sum()
    for clock in CLOCKS[1:] if gate[0] < gate[1] else ():
        if (getattr(groups.entries, clock) > NONE).all():
            late = day[some] - groups.by_clock(clock)[g[some]]
            first, last = gate_of(late)
            inside = ((late >= first) & (late <= last)).sum()
            if inside >= USUAL * most and last - first < best[1][1] - best[1][0]:
                best = clock, (first, last)
    return best


def gate_of(lags: np.ndarray) -> tuple[int, int]:
    """From when to when, in days after a group, its voucher usually is."""
    lags = np.sort(lags)
    least, most = lags[int((1 - USUAL) * len(lags))], lags[int(USUAL * (len(lags) - 1))]
    # One habit has no gap of a week in it: a month later stands another month's charge.
    middle, days = lags[len(lags) // 2], np.unique(lags).tolist()
    gaps = [(a, b) for a, b in itertools.pairwise(days) if b - a > WEEK]
    least = max([least, *(b for _, b in gaps if b <= middle)])
    most = min([most, *(a for a, _ in gaps if a >= middle)])
    return int(least), int(most)


@dataclass
class Matching:
    """A grain with its groups, units, gate and the pairs that agree: g, u, and whether both amounts are
    singular."""

    grain: BookingUnit
    groups: Groups
    units: VoucherParts
    gate: tuple[int, int]
    g: np.ndarray
    u: np.ndarray
    is_singular: np.ndarray
    clock: str = "day"

    @functools.cached_property
    def is_shown(self) -> np.ndarray:
        """By group, whether a unit of its accounts and total is in its gate: one, or one of several."""
        groups, units = self.groups, self.units
        shown, g = self.paired.copy(), np.flatnonzero(~self.paired & (self.groups.total != 0))
        at: dict[tuple[int, int], list[int]] = {}
        if len(g) <= 4 * MOST:
            for key in zip(units.key.tolist(), units.total.tolist(), units.day.tolist(), strict=True):
                at.setdefault(key[:2], []).append(key[2])
            for one in g.tolist():
                days = at.get((int(groups.key[one]), int(groups.total[one])), ())
                due = int(groups.due[one])
                shown[one] = any(self.gate[0] <= day - due <= self.gate[1] for day in days)
        return shown

    @property
    def of_sums(self) -> bool:
        return self.grain.of_sums

    @property
    def entries(self) -> int:
        return int(self.groups.n[self.g].sum())

    @property
    def v(self) -> np.ndarray:
        return self.units.v[self.u]

    @property
    def paired(self) -> np.ndarray:
        """By group, whether it has its unit."""
        return among(len(self.groups.n), self.g)

    def only(self, mask: np.ndarray) -> Matching:
        return replace(self, g=self.g[mask], u=self.u[mask], is_singular=self.is_singular[mask])

    def with_pairs(self, pairs: Sequence[tuple[int, int]]) -> Matching:
        g, u = np.array(pairs, np.int64).reshape(-1, 2).T
        none = np.zeros(len(g), bool)
        return replace(
            self,
            g=np.append(self.g, g),
            u=np.append(self.u, u),
            is_singular=np.append(self.is_singular, none),
        )

    def rows(self) -> Iterable[tuple[int, list[int], int, int]]:
        """Yield the pairs as group, entries, voucher, account (NONE: all of it)."""
        of = zip(self.g.tolist(), self.v.tolist(), self.units.account[self.u].tolist(), strict=True)
        return ((g, self.groups.members(g), v, account) for g, v, account in of)


def matching_of(
    entries: Columns,
    books: AnnotatedPostings,
    grain: BookingUnit,
    least: int = 1,
    like: Matching | None = None,
    free: np.ndarray | None = None,
) -> Matching:
    """Pair groups and units of one account and total, by counting.

    A bucket (account, total) falls into stretches of days that no gate crosses.  A stretch with as many units
    as groups
    is paired in the order of days; any other one is left.
    """
    groups, units = groups_of(entries, books, grain), voucher_parts(books, grain, free)
    # A bucket is a 64-bit mixture of account and total; that both are equal is asserted below.
    of_g, of_u = (one.key * 0x9E3779B97F4A7C1 + one.total * 0x2545F4914F6CDD1D for one in (groups, units))
    g, u = np.flatnonzero((groups.total != 0) & groups.is_home & (groups.n >= least)), np.arange(len(of_u))
    gs, g_first, g_count = np.unique(of_g[g], return_index=True, return_counts=True)
    us, u_first, u_count = np.unique(of_u, return_index=True, return_counts=True)
    _, at_g, at_u = np.intersect1d(gs, us, assume_unique=True, return_indices=True)
    single = (g_count[at_g] == 1) & (u_count[at_u] == 1)
    pg, pu = g[g_first[at_g[single]]], u_first[at_u[single]]
    clock, gate = (like.clock, like.gate) if like else clock_of(groups, pg, units.day[pu], grain.clock)
    groups.due = groups.by_clock(clock) if clock != "day" else groups.due
    lag = units.day[pu] - groups.due[pg]
    fits = (lag >= gate[0]) & (lag <= gate[1])
    pg, pu = pg[fits], pu[fits]
    found = Matching(grain, groups, units, gate, pg, pu, np.ones(len(pg), bool), clock)
    if not single.all():
        g, u = g[~found.paired[g]], u[~among(len(u), pu)]
        g, u = g[places(of_g[g], us) >= 0], u[places(of_u[u], gs) >= 0]
        found = found.with_pairs(_counted(of_g[g], groups.due[g], g, of_u[u], units.day[u], u, gate))
    assert (groups.key[found.g] == units.key[found.u]).all() and (
        groups.total[found.g] == units.total[found.u]
    ).all()
    # A voucher on several accounts may be a unit several times: it holds one group.
    if grain.unit == "own":
        found = found.only(sums(found.v, books.count)[found.v] == 1)
    return found


def _counted(
    of_g: np.ndarray,
    due: np.ndarray,
    g: np.ndarray,
    of_u: np.ndarray,
    day: np.ndarray,
    u: np.ndarray,
    gate: Any,
) -> list:
    """Pair stretches of days with as many units as groups."""
    is_unit = np.repeat([False, True], [len(g), len(u)])
    bucket = np.unique(np.append(of_g, of_u), return_inverse=True)[1] * 2**32
    start, end = bucket + np.append(due + gate[0], day), bucket + np.append(due + gate[1], day)
    order = np.lexsort((np.append(g, u), is_unit, start))
    is_new = start[order][1:] > np.maximum.accumulate(end[order])[:-1]
    stretch = np.zeros(len(order), np.int64)
    stretch[order] = np.append(0, is_new.cumsum())[: len(order)]
    even = sums(stretch, len(order), is_unit * 2 - 1) == 0
    by_day = np.lexsort((np.append(g, u), np.append(due, day), stretch))
    by_day = by_day[even[stretch[by_day]]]
    a, b = by_day[~is_unit[by_day]], by_day[is_unit[by_day]] - len(g)
    lag = day[b] - due[a]
    good = ~among(len(order), stretch[a[(lag < gate[0]) | (lag > gate[1])]])[stretch[a]]
    return np.column_stack([g[a[good]], u[b[good]]])


def ranked_matchings(entries: Columns, books: AnnotatedPostings, style: str | None = None) -> list[Matching]:
    """The grains by how many entries they explain, then by how many groups; most first."""
    found: list[Matching] = []
    for grain in units_of_style(style):
        if (
            any((getattr(entries, name) < 0).all() for name in grain.by)
            or any(
                name in grain.by and (getattr(entries, name) == entries.day).all()
                for name in ("work_day", "open_day")
            )
            or (grain.by == ("id",) and len(number(entries.id)[1]) == len(entries))
        ):
            continue
        found.append(matching_of(entries, books, grain))
        if style is None and found[-1].entries >= CLEAR * len(entries):
            break
    best = max((one.entries for one in found), default=0) - NEARLY * len(entries)
    return sorted(
        found,
        key=lambda one: (-min(one.entries, best), one.grain.level, -one.entries, UNITS.index(one.grain)),
    )
