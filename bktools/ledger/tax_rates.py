"""Rates of tax."""

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
from bktools.ledger.candidates import Piece
from bktools.ledger.entry_names import Entry
from bktools.ledger.matching import FEW, Groups, LARGEST_TAX, MOST, Matching, RATES, TOLD, WEEK, groups_of
from bktools.ledger.whole_numbers import Columns, NONE, among, number, places, sums


@dataclass(frozen=True)
class Rates:
    """The ledger's rates of tax, in thousandths: one for each value of `by`, or those that entries alone
    `often` show."""

    by: tuple[str, ...] = ()
    of: Mapping[tuple, int] = field(default_factory=dict)
    often: tuple[int, ...] = ()
    gives_nets: bool = False  # to the cent
    of_sums: bool = False  # rounded once for all entries of an account

    @property
    def has_tax(self) -> bool:
        return any(self.of.values()) or any(self.often)

    def possible(self, x: Entry) -> Sequence[int]:
        own = self.of.get(tuple(getattr(x, name) for name in self.by)) if self.by else None
        return self.often if own is None else (own,)

    def can_be(self, entries: Sequence[Entry], net: int) -> bool:
        """Whether an account's entries without their taxes may be its part of a voucher, to the cent of
        rounding."""
        found, slack = {0}, len(entries) // 2 + 1
        for x in entries:
            rates = self.possible(x)
            if not rates:  # too few vouchers show any: an account has its entries, less the largest tax
                least, most = (sum(f(x.cents, net_of(x.cents, 350)) for x in entries) for f in (min, max))
                return least - slack <= net <= most + slack
            if len(found) * len(rates) > MOST:
                return False  # any net may be theirs: nothing is proven
            found = {one + net_of(x.cents, rate) for one in found for rate in rates}
        return any(abs(one - net) <= slack for one in found)


def net_of(cents: Any, rate: Any) -> Any:
    """An amount without its tax, rounded to the cent; of numbers and of arrays."""
    size = (2000 * abs(cents) + 1000 + rate) // (2 * (1000 + rate))
    return size * np.sign(cents) if isinstance(cents, np.ndarray) else size if cents > 0 else -size


def solved(entries: Columns, cell: np.ndarray, books: AnnotatedPostings) -> tuple[Rates, np.ndarray]:
    """Solve the rates from all cells together: each has the sum of its entries (`cell`: -1 of none) without
    their tax.

    The least absolute differences (by weighted squares), in whole thousandths: cells with an error do not
    move them.  They
    are the ledger's where they give TOLD of all cells to the rounding; one is met by chance once in
    thousands.
    Returns the cells given, too.
    """
    inside = (cell >= 0) & ~among(len(books.net), cell[~entries.is_home & (cell >= 0)])[cell]
    inside &= cell <= np.sort(cell[inside])[: 4 * MOST].max(initial=0)
    own, first = number(cell[inside])
    net, n, cents = books.net[cell[inside][first]], sums(own, len(first)), entries.cents[inside]
    best, share, given = Rates(), TOLD, first[:0]
    for of_sums in (False, True):
        by_account, exact, near = voted(
            entries.account[inside], own, first, cents, net, n, len(books.mix), of_sums
        )
        if near.sum() > share * len(first) and exact[near].mean() >= KEPT:
            of = {(a,): int(by_account[a]) for a in np.flatnonzero(by_account >= 0).tolist()}
            best, share, given = (
                Rates(("account",), of, (), True, of_sums),
                near.mean(),
                cell[inside][first][near],
            )
    for by in (("code",), ("account",), ("account", "code")):
        keys = [getattr(entries, name)[inside] for name in by]
        key, each = number(*keys)
        if len(first) < 2 * len(each) + FEW:
            continue
        amounts = np.zeros((len(first), len(each)))
        np.add.at(amounts, (own, key), cents)
        off = np.ones(len(first))
        for _ in range(30):
            weighted = (amounts / np.maximum(off, 1)[:, None]).T
            part = np.linalg.lstsq(weighted @ amounts, weighted @ net, rcond=None)[0]
            off = np.abs(amounts @ part - net)
        rate = np.round(1000 / np.clip(part, 0.5, 2) - 1000).astype(np.int64)
        off = np.abs(sums(own, len(first), net_of(cents, rate[key])) - net)
        near = off <= n // 2 + 1
        known = (rate >= 0) & (rate <= 1000 * LARGEST_TAX) & (sums(key, len(each), near[own]) > 1)
        near &= ~among(len(first), own[~known[key]])
        if near.mean() > share or (near.mean() == share and not best.by):
            values = zip(*(key[each][known].tolist() for key in keys), strict=True)
            of = dict(zip(values, rate[known].tolist(), strict=True))
            best = Rates(by, of, (), bool((off[near] == 0).mean() >= KEPT))
            share, given = near.mean(), cell[inside][first][near]
    return best, given


def voted(
    account: Any, own: Any, first: Any, cents: Any, net: Any, n: Any, accounts: int, of_sums: bool
) -> tuple:
    """By account, the rate that gives most of its cells to the cent; by cell, whether it does, and nearly."""
    at, offs = account[first], []
    for rate in RATES:
        if of_sums:
            offs.append(np.abs(net_of(sums(own, len(first), cents), rate) - net))
        else:
            offs.append(np.abs(sums(own, len(first), net_of(cents, rate)) - net))
    rate = most_met(np.array([sums(at, accounts, off == 0) for off in offs]), sums(at, accounts))
    off = np.array(offs)[np.searchsorted(RATES, np.maximum(rate, 0))[at], np.arange(len(first))]
    return rate, off == 0, (off <= n // 2 + 1) & (rate[at] >= 0)


def most_met(met: np.ndarray, of: np.ndarray) -> np.ndarray:
    """By account, the rate that meets most of what it has (by rate and account): twice, or as another
    account's does."""
    rate, most = RATES[met.argmax(axis=0)], met.max(axis=0)
    shown = (most > 1) & (2 * most > of)
    return np.where(shown | ((most > 0) & (2 * most >= of) & np.isin(rate, rate[shown])), rate, NONE)


def cells_at(books: AnnotatedPostings, v: np.ndarray, account: np.ndarray) -> np.ndarray:
    """The cells of vouchers and accounts, -1 where there is none."""
    width = len(books.mix)
    return places(np.where(v < 0, -1, v * width + account), books.cell_v * width + books.cell_account)


def in_place(groups: Groups, books: AnnotatedPostings, gate: tuple[int, int]) -> np.ndarray:
    """By group, the voucher of several accounts on its day that shares most accounts with it; NONE: there is
    none."""
    by_day, on = defaultdict(list), defaultdict(set)
    for v in np.flatnonzero(books.accounts > 1).tolist():
        at = slice(*books.cell_of_v[v : v + 2])
        by_day[int(books.day[v])].append((v, set(books.cell_account[at][books.used[at]].tolist())))
    for g, account in zip(groups.of.tolist(), groups.entries.account.tolist(), strict=True):
        on[g].add(account)
    out = np.full(len(groups.n), NONE)
    for g, due in enumerate(groups.due.tolist()):
        days = range(due + gate[0], due + gate[1] + 1)
        near = [(len(own & on[g]), -v) for day in days for v, own in by_day.get(day, ())]
        if near and max(near)[0] > 1:
            out[g] = -max(near)[1]
    return out


def on_lines(entries: Columns, books: AnnotatedPostings) -> tuple[Columns, AnnotatedPostings] | None:
    """Entries and lines without tax, where vouchers hold a line for each entry: a line is its voucher.

    The rate of an account is the one at which most of its entries are lines.
    """
    lines, home = books.lines, entries.take(entries.is_home)
    used = books.is_used & (books.kind[lines.v] != 0)
    several = used & (sums(lines.v[used], books.count) > 1)[lines.v]
    if several.sum() <= OFTEN * len(entries) or len(home) > 4 * MOST:
        return None
    lots = np.unique(lines.account[used] * 2**40 + lines.cents[used])
    accounts = len(books.mix)
    is_met = [places(home.account * 2**40 + net_of(home.cents, rate), lots) >= 0 for rate in RATES]
    met = np.array([sums(home.account, accounts, one) for one in is_met])
    by_account = most_met(met, sums(home.account, accounts))
    if met.max(axis=0)[by_account >= 0].sum() < TOLD * len(home):
        return None
    rate = by_account[entries.account]
    nets = np.where(entries.is_home, net_of(entries.cents, np.maximum(rate, 0)), entries.cents)
    got = np.isin(lines.account * 2**40 + lines.cents, entries.account * 2**40 + nets)
    # Tax is what often stands beside lines that are all given: an entry on a strange account does so seldom.
    whole = ~among(books.count, lines.v[used & ~got]) & (books.accounts > 0)
    beside = books.is_cost & ~books.is_used & whole[lines.v]
    often = sums(lines.account[beside], len(books.mix)) > max(1, OFTEN * whole.sum())
    is_tax = books.is_cost & ~books.is_used & often[lines.account]
    own = books.without(is_tax, rate[rate >= 0].tolist()).by_lines()
    return entries.also(cents=nets, is_home=entries.is_home & (rate >= 0)), own


def on_nets(
    entries: Columns, books: AnnotatedPostings, ranked: Sequence[Matching]
) -> tuple[Columns, AnnotatedPostings] | None:
    """Entries and ledger without tax, where vouchers pool accounts and tax and the solved rates give their
    postings."""
    if not ((books.accounts > 1) & (books.gross != books.on_used)).any():
        return None
    for one in ranked:
        if one.grain.unit != "voucher":
            continue
        groups = groups_of(entries, books, one.grain)
        groups.due = groups.by_clock(one.clock)
        for gate in [one.gate] if len(one.g) >= FEW else [(0, 0), (0, WEEK)]:
            v = in_place(groups, books, gate)[groups.of]
            cell = cells_at(books, v, entries.account)
            rates, given = solved(entries, cell, books)
            if rates.gives_nets and rates.has_tax:
                break
        else:
            continue
        # What stands beside the accounts of entries, where a voucher has all its entries to the cent, is tax.
        whole = among(books.count, v[v >= 0]) & ~among(
            books.count, v[(v >= 0) & ~(among(len(books.net), given)[cell] & (cell >= 0))]
        )
        lines, beside = books.lines, books.is_cost & ~books.is_used
        is_tax = beside & among(len(books.mix), lines.account[beside & whole[lines.v]])[lines.account]
        keys = zip(*(getattr(entries, name).tolist() for name in rates.by), strict=True)
        rate = np.array([rates.of.get(key, NONE) for key in keys])
        nets = np.where(entries.is_home, net_of(entries.cents, np.maximum(rate, 0)), entries.cents)
        is_home = entries.is_home & (rate >= 0)
        if rates.of_sums:  # what rounding takes from a sum is taken from its largest entry
            of, first = number(groups.of, entries.account, is_home * 1)
            off = net_of(sums(of, len(first), entries.cents), np.maximum(rate[first], 0)) - sums(
                of, len(first), nets
            )
            by_size = np.lexsort((np.abs(nets), of))
            largest = by_size[np.append(np.diff(of[by_size]) > 0, True)]
            nets[largest] += np.where(is_home[largest], off[of[largest]], 0)
            slack = int(np.abs(off[is_home[first]]).max(initial=0))
        own = books.without(is_tax, rates.of.values())
        own.slack = slack if rates.of_sums else 0
        return entries.also(cents=nets, is_home=is_home), own
    return None


def agrees(
    entries: Sequence[Entry], pieces: Sequence[Piece], case: Any, moved: Mapping[int, int] | None = None
) -> bool:
    """Whether pieces are the entries' own: their total, on their accounts, each account what its entries
    make.

    `moved` says of some entries that they stand on another account.
    """
    gross = sum(piece.gross for piece in pieces)
    if gross != sum(x.cents for x in entries):
        return False
    nets: Counter = Counter()
    for piece in pieces:
        nets.update(piece.nets)
    on = defaultdict(list)
    for x in entries:
        on[moved.get(x.e, x.account) if moved else x.account].append(x)
    theirs = {account for account, net in nets.items() if net and (account in case.used or account in on)}
    if len(entries) == 1:
        return set(on) <= theirs  # its voucher may have other accounts beside: a split, a tax
    if not theirs <= set(on):
        return False
    if sum(net for account, net in nets.items() if account in theirs) == gross:
        return all(sum(x.cents for x in own) == nets[account] for account, own in on.items())
    return all(case.rates.can_be(own, nets[account]) for account, own in on.items())
