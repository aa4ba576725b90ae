"""The ledger's rates of tax, solved from all of its vouchers together; amounts without their tax."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bktools.ledger.annotated_postings import AnnotatedPostings
from bktools.ledger.booking_units import FEW, HABIT
from bktools.ledger.candidates import Entry
from bktools.ledger.whole_numbers import NONE, Columns, Flags, Numbers, among, number, sums

# Rates are in hundred-thousandths: two taxes together may be 14.975%. No tax on costs is higher. Most are of
# half a percent; those that many vouchers show together are of a fortieth.
WHOLE = 100_000
LARGEST_TAX, HALF, FINE = 35_000, 500, 25
RATES = np.arange(0, LARGEST_TAX + 1, HALF)
# From so many cents on, an amount and its net show the rate to a thousandth.
TELLING = 4_000
# Rates that give so many of the cells are the ledger's: one is met by chance once in thousands.
MAJORITY = 0.5
# Rates by account that give so many are not questioned.
CLEAR = 0.99
# Ways to add up nets that are tried; with more, any net may be theirs.
MOST_WAYS = 4_096
# Cells from which rates are solved; more show no others.
MOST_CELLS = 4_096
# The columns of entries that a rate may hang on, beside the account by itself.
KEYS = (("code",), ("account", "code"))


@dataclass(frozen=True)
class Rates:
    """The ledger's rates of tax, in hundred-thousandths.

    Attributes
    ----------
    by, of : tuple of str, mapping
        The columns of an entry that a rate hangs on, and the rate for each of their values.
    often : tuple of int
        The rates that entries alone in their voucher often show, where these columns do not tell.
    gives_nets : bool
        Whether the rates give the postings to the cent.
    of_sums : bool
        Whether an account's entries are rounded as one sum.
    """

    by: tuple[str, ...] = ()
    of: Mapping[tuple[int, ...], int] = field(default_factory=dict)
    often: tuple[int, ...] = ()
    gives_nets: bool = False
    of_sums: bool = False

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
        for x in entries:
            rates = self.possible(x)
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

    def are_near(self, off: Numbers) -> Flags:
        """Return which differences are of rounding: half a cent for each entry."""
        return off <= self.size // 2 + 1


def solved(entries: Columns, cell: Numbers, books: AnnotatedPostings) -> tuple[Rates, Numbers]:
    """Solve the rates from cells, each of which has the sum of its entries without their tax.

    The rates are by account, rounded entry by entry or sum by sum, else by tax code: those that give most of
    the cells. A cell with an error does not move them.

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
    voted = {of_sums: _voted(cells, len(books.mix), of_sums=of_sums) for of_sums in (False, True)}
    of_sums, (rate, is_exact, is_near) = max(voted.items(), key=lambda one: one[1][1].sum())
    if is_near.sum() > share * len(is_near) and is_exact[is_near].mean() >= HABIT:
        of: dict[tuple[int, ...], int] = {
            (account,): int(rate[account]) for account in np.flatnonzero(rate >= 0).tolist()
        }
        best, share, given = Rates(("account",), of, (), True, of_sums), is_near.mean(), cells.cells[is_near]
    for by in KEYS if share < CLEAR else ():
        rates, is_near = _least_squares(cells, entries, by)
        if len(is_near) and (is_near.mean() > share or (is_near.mean() == share and not best.by)):
            best, share, given = rates, is_near.mean(), cells.cells[is_near]
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


def _voted(cells: _Cells, accounts: int, *, of_sums: bool) -> tuple[Numbers, Flags, Flags]:
    """Return by account the rate that gives most cells; by cell, whether it does exactly, and nearly."""
    total = cells.sum(cells.cents)
    nets = [
        net_of(total, rate) if of_sums else cells.sum(net_of(cells.cents, rate)) for rate in RATES.tolist()
    ]
    off = np.abs(np.array(nets) - cells.net)
    met = np.array([sums(cells.account, accounts, one) for one in off == 0])
    rate = most_met(met, sums(cells.account, accounts))
    at = rate[cells.account]
    off = off[np.searchsorted(RATES, np.maximum(at, 0)), np.arange(len(at))]
    return rate, off == 0, cells.are_near(off) & (at >= 0)


def most_met(met: Numbers, count: Numbers) -> Numbers:
    """Return by account the rate that meets most of what it has; NONE where none does.

    A rate is shown by two that it meets, and more than half; or by half, where another account shows it. Of
    rates that meet as many, it is the one that meets most on all accounts.
    """
    by_all = met * (met.sum() + 1) + met.sum(axis=1, keepdims=True)
    rate, most = RATES[by_all.argmax(axis=0)], met.max(axis=0)
    is_shown = (most > 1) & (2 * most > count)
    is_known = (most > 0) & (2 * most >= count) & np.isin(rate, rate[is_shown])
    return np.where(is_shown | is_known, rate, NONE)


def _least_squares(cells: _Cells, entries: Columns, by: tuple[str, ...]) -> tuple[Rates, Flags]:
    """Return the rates by some columns with the least differences, and the cells that they nearly give."""
    keys = [getattr(entries, name)[cells.rows] for name in by]
    key, each = number(*keys)
    if len(cells.net) < 2 * len(each) + FEW:
        return Rates(), np.zeros(0, np.bool_)
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
    exact = np.abs(cells.sum(net_of(cells.cents, rate[key])) - cells.net)
    is_near = cells.are_near(exact)
    is_known = (rate >= 0) & (rate <= LARGEST_TAX) & (sums(key, len(each), is_near[cells.of_row]) > 1)
    is_near &= ~among(len(cells.net), cells.of_row[~is_known[key]])
    values = zip(*(column[each][is_known].tolist() for column in keys), strict=True)
    of = dict(zip(values, rate[is_known].tolist(), strict=True))
    gives_nets = bool(is_near.any() and (exact[is_near] == 0).mean() >= HABIT)
    return Rates(by, of, (), gives_nets), is_near


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
    rate = 100 * np.round((cents / np.where(net == 0, 1, net) - 1) * 1000).astype(np.int64)
    shows = (np.abs(cents) >= TELLING) & (rate >= 0) & (rate <= LARGEST_TAX)
    shown = rate[shows & (np.abs(net_of(cents, np.maximum(rate, 0)) - net) <= 1)]
    values, count = np.unique(shown, return_counts=True)
    # A rate that is shown once, or by one voucher in fifty, may be a wrong booking.
    often = values[count >= np.maximum(2, 0.02 * len(shown))]
    return replace(rates, often=tuple(often.tolist()))
