"""The ledger's rates of tax, solved from all of its vouchers together; amounts without their tax."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bktools.ledger.annotated_postings import AnnotatedPostings
from bktools.ledger.booking_units import FEW
from bktools.ledger.candidates import Entry
from bktools.ledger.whole_numbers import NONE, Columns, Flags, Numbers, among, largest, number, sums

# Rates are in ten-millionths. The highest is no tax: 30% of meals have an account of their own, 3/7 of what
# stands beside it. Most are of half a percent, two taxes together of a fortieth. Of a tax that is
# input tax in part, the rate may be any: of a quarter of 25% it is 5.2631579%.
WHOLE = 10_000_000
LARGEST_TAX, HALF, FINE = 45 * WHOLE // 100, WHOLE // 200, WHOLE // 4000
RATES = np.arange(0, LARGEST_TAX + 1, HALF)
# From so many cents on, an amount and its net show the rate to a thousandth.
TELLING, STEP = 4_000, WHOLE // 1000
# Rates that give so many of the cells are the ledger's: one is met by chance once in thousands.
MAJORITY = 0.5
# Rates by account that give so many are not questioned.
CLEAR = 0.99
# Ways to add up nets that are tried; with more, any net may be theirs.
MOST_WAYS = 4_096
# Cells from which rates are solved; more show no others.
MOST_CELLS = 4_096
# The columns of entries that a rate may hang on.
KEYS = (("account",), ("code",), ("account", "code"))


@dataclass(frozen=True)
class Rates:
    """The ledger's rates of tax, in ten-millionths of what costs have without it.

    Attributes
    ----------
    by, of : tuple of str, mapping
        The columns of an entry that a rate hangs on, and the rate for each of their values.
    often : tuple of int
        The rates that entries alone in their voucher often show, where these columns do not tell.
    accounts : frozenset of int
        The accounts of the taxes beside these entries.
    """

    by: tuple[str, ...] = ()
    of: Mapping[tuple[int, ...], int] = field(default_factory=dict)
    often: tuple[int, ...] = ()
    accounts: frozenset[int] = frozenset()

    @property
    def has_tax(self) -> bool:
        """Whether any rate is not zero."""
        return any(self.of.values()) or any(self.often)

    def possible(self, x: Entry) -> Sequence[int]:
        """Return the rates that an entry may have."""
        own = self.of.get(tuple(getattr(x, name) for name in self.by)) if self.by else None
        return self.often if own is None else (own,)

    def by_entry(self, entries: Columns) -> Numbers:
        """Return the rate of each entry; NONE where it is not known."""
        keys = zip(*(getattr(entries, name).tolist() for name in self.by), strict=True)
        return np.array([self.of.get(key, NONE) for key in keys])

    def can_count(self, entries: Sequence[Entry]) -> bool:
        """Whether the sums that entries may have without their taxes are few enough to tell one."""
        return math.prod(max(1, len(self.possible(x))) for x in entries) <= MOST_WAYS

    def can_give(self, entries: Sequence[Entry], net: int) -> bool:
        """Whether entries without their taxes may add up to a net, to the cent of rounding."""
        totals, slack = {0}, len(entries) // 2 + 1
        # One alone may have another rate of the ledger than most on its account.
        others = self.often if len(entries) == 1 else ()
        for x in entries:
            rates = {*self.possible(x), *others}
            if not rates:  # too few vouchers show any: the net is less by the largest tax at most
                nets = [sorted((one.cents, net_of(one.cents, LARGEST_TAX))) for one in entries]
                least, most = (sum(ends) for ends in zip(*nets, strict=True))
                return bool(least - slack <= net <= most + slack)
            if len(totals) * len(rates) > MOST_WAYS:
                return False  # any net may be theirs: nothing is proven
            totals = {total + net_of(x.cents, rate) for total in totals for rate in rates}
        return any(-slack <= total - net <= slack for total in totals)


def net_of(cents: Any, rate: Any) -> Any:
    """Return an amount, or an array of them, without its tax, rounded to the cent."""
    size = (2 * WHOLE * abs(cents) + WHOLE + rate) // (2 * (WHOLE + rate))
    return size * np.sign(cents)


@dataclass(frozen=True)
class _Cells:
    """Cells with the entries that they hold: net and size by cell, and by entry its row and cell."""

    cells: Numbers
    net: Numbers
    size: Numbers
    account: Numbers
    rows: Numbers
    of_row: Numbers
    cents: Numbers

    def sum(self, values: Numbers) -> Numbers:
        """Return the sum of the entries' values by cell."""
        return sums(self.of_row, len(self.net), values)

    def off(self, rate: Any) -> Numbers:
        """Return by how many cents cells differ from the nets of their entries."""
        return np.asarray(np.abs(self.sum(net_of(self.cents, rate)) - self.net))

    @functools.cached_property
    def rounding(self) -> Numbers:
        """By how many cents rounding moves a cell at most: half a cent for each of n amounts is below √n."""
        return np.asarray(np.sqrt(self.size).astype(np.int64))


def solved(entries: Columns, cell: Numbers, books: AnnotatedPostings) -> tuple[Rates, Numbers]:
    """Solve the rates from cells, each of which has the sum of its entries without their tax.

    The rates are by account, else by tax code: those that give most of the cells, to the cents of rounding.
    A cell with an error does not move them.

    Parameters
    ----------
    entries : Columns
        The entries.
    cell : array
        The cell of each entry, -1 without one.
    books : AnnotatedPostings
        The ledger.

    Returns
    -------
    tuple
        The rates, none where they do not give the majority of cells; and the cells that they give.
    """
    cells = _cells_of(entries, cell, books)
    best, share, given = Rates(), MAJORITY, cells.cells[:0]
    for by in KEYS if len(cells.net) else ():
        is_voted = by == ("account",)
        rate, is_known = _voted(cells, entries) if is_voted else _least_squares(cells, entries, by)
        is_given = (cells.off(rate) <= cells.rounding) & ~among(len(cells.net), cells.of_row[~is_known])
        if is_given.mean() > share or (is_given.mean() == share and not best.by):
            keys = zip(*(getattr(entries, name)[cells.rows][is_known].tolist() for name in by), strict=True)
            best = Rates(by, dict(zip(keys, rate[is_known].tolist(), strict=True)))
            share, given = is_given.mean(), cells.cells[is_given]
        if share >= CLEAR:
            break
    return best, given


def _cells_of(entries: Columns, cell: Numbers, books: AnnotatedPostings) -> _Cells:
    """Return the first cells of which all entries are in the ledger's currency."""
    is_foreign = among(len(books.net) + 1, cell[~entries.is_home])
    inside = (cell >= 0) & ~is_foreign[cell]
    inside &= cell <= np.sort(cell[inside])[:MOST_CELLS].max(initial=0)
    rows = np.flatnonzero(inside)
    of_row, first = number(cell[rows])
    cells = cell[rows][first]
    size = sums(of_row, len(first))
    return _Cells(
        cells, books.net[cells], size, entries.account[rows][first], rows, of_row, entries.cents[rows]
    )


def _voted(cells: _Cells, entries: Columns) -> tuple[Numbers, Flags]:
    """Return the rate of each entry, that which gives most cells of its account, and whether it is known."""
    accounts = int(entries.account.max(initial=0)) + 1
    count = sums(cells.account, accounts)
    shared, common = most_shared(cells.account, cells.sum(cells.cents), cells.net, cells.rounding, accounts)
    rates = np.union1d(RATES, shared[(common > 1) & (2 * common > count)])
    offs = np.array([cells.off(rate) for rate in rates.tolist()])
    met, exact = (
        np.array([sums(cells.account, accounts, one) for one in flags])
        for flags in (offs <= cells.rounding, offs == 0)
    )
    rate = most_met(rates, met, exact, count)[cells.account][cells.of_row]
    return np.maximum(rate, 0), rate >= 0


def most_met(rates: Numbers, met: Numbers, exact: Numbers, count: Numbers) -> Numbers:
    """Return by account the rate that meets most of what it has; NONE where none does.

    A rate is shown by two that it meets, and more than half; or by half, where another account shows it. Of
    rates that meet as many, it is the one that meets most to the cent, on its account, then on all.

    Parameters
    ----------
    rates, met, exact : arrays
        Rates, and how many each of them meets by account: to the cents of rounding, and to the cent.
    count : array
        How many each account has.
    """
    more = exact.sum() + 1
    by_all = (met * more + exact) * more + exact.sum(axis=1, keepdims=True)
    rate, most = rates[by_all.argmax(axis=0)], met.max(axis=0)
    is_shown = (most > 1) & (2 * most > count)
    is_known = (most > 0) & (2 * most >= count) & np.isin(rate, rate[is_shown])
    return np.where(is_shown | is_known, rate, NONE)


def most_shared(
    account: Numbers, cents: Numbers, net: Numbers, rounding: Numbers, accounts: int
) -> tuple[Numbers, Numbers]:
    """Return by account the rate that most amounts and nets have in common, and how many.

    What of a tax is no input tax is in the cost: both together are a fixed share of the amount, and no round
    rate. An amount and its net may have the rates of a stretch, as wide as rounding makes it.
    """
    is_taxed = (cents * net > 0) & (np.abs(net) > rounding)
    account, cents, net, by = (column[is_taxed] for column in (account, np.abs(cents), np.abs(net), rounding))
    ends = [np.round(WHOLE * (cents / (net + more) - 1)).astype(np.int64) for more in (by, -by)]
    inside = (ends[1] >= 0) & (ends[0] <= LARGEST_TAX)
    account, rate = np.tile(account[inside], 2), np.concatenate([end[inside] for end in ends])
    step = np.repeat([1, -1], len(rate) // 2)
    order = np.lexsort((-step, rate, account))
    common, rate, account = step[order].cumsum(), rate[order], account[order]
    most = largest(account, accounts, common)
    shared = np.full(accounts, NONE)
    # A stretch that most have in common lasts until the first one ends.
    begins = np.flatnonzero(common == most[account])[::-1]
    middle = (rate[begins] + rate[begins + 1]) // 2
    fine = FINE * np.round(middle / FINE).astype(np.int64)
    is_fine = (rate[begins] <= fine) & (fine <= rate[begins + 1])
    shared[account[begins]] = np.where(is_fine, fine, middle)
    return shared, np.maximum(most, 0)


def _least_squares(cells: _Cells, entries: Columns, by: tuple[str, ...]) -> tuple[Numbers, Flags]:
    """Return the rate of each entry by some columns, with the least differences, and whether it is known."""
    key, each = number(*(getattr(entries, name)[cells.rows] for name in by))
    none = np.zeros(len(key), np.int64)
    if len(cells.net) < 2 * len(each) + FEW:
        return none, none > 0
    amounts = np.zeros((len(cells.net), len(each)))
    np.add.at(amounts, (cells.of_row, key), cells.cents)
    # Weighted by their differences again and again, squares become absolute differences.
    off = np.ones(len(cells.net))
    share: npt.NDArray[np.floating] = np.ones(len(each))
    for _ in range(30):
        weighted = (amounts / np.maximum(off, 1)[:, None]).T
        share = np.linalg.lstsq(weighted @ amounts, weighted @ cells.net, rcond=None)[0]
        off = np.abs(amounts @ share - cells.net)
    rate = FINE * np.round((1 / np.clip(share, 0.5, 2) - 1) * WHOLE / FINE).astype(np.int64)
    is_given = cells.off(np.maximum(rate, 0)[key]) <= cells.rounding
    is_known = (rate >= 0) & (rate <= LARGEST_TAX) & (sums(key, len(each), is_given[cells.of_row]) > 1)
    return np.maximum(rate, 0)[key], is_known[key]


def rates_of(entries: Columns, v: Numbers, books: AnnotatedPostings) -> Rates:
    """Return the rates of all vouchers that agree, and those that entries alone on their account often show.

    Parameters
    ----------
    entries : Columns
        The entries.
    v : array
        The voucher of each entry, NONE without one.
    books : AnnotatedPostings
        The ledger.
    """
    if books.has_nets or (books.gross == books.on_used).all():
        return Rates(often=(0,))
    cell = books.cells_at(v, entries.account)
    rates = solved(entries, cell, books)[0] if (cell >= 0).any() else Rates()
    inside = np.flatnonzero(cell >= 0)
    alone = inside[sums(cell[inside], len(books.net))[cell[inside]] == 1]
    cents, net = entries.cents[alone], books.net[cell[alone]]
    rate = STEP * np.round((cents / np.where(net == 0, 1, net) - 1) * WHOLE / STEP).astype(np.int64)
    shows = (np.abs(cents) >= TELLING) & (rate >= 0) & (rate <= LARGEST_TAX)
    shows &= np.abs(net_of(cents, np.maximum(rate, 0)) - net) <= 1
    taxed = among(books.count, books.cell_v[cell[alone[shows & (rate > 0)]]])
    beside = books.cell_account[~books.used & taxed[books.cell_v]]
    # What is shown once, or by one voucher in fifty, may be a wrong booking.
    often, accounts = (
        values[count >= np.maximum(2, 0.02 * shows.sum())]
        for values, count in (np.unique(some, return_counts=True) for some in (rate[shows], beside))
    )
    return replace(rates, often=tuple(often.tolist()), accounts=frozenset(accounts.tolist()))
