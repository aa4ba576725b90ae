"""The ledger without tax: where vouchers pool accounts and tax, or have a line for each entry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from bktools.ledger.annotated_postings import OFTEN, AnnotatedPostings
from bktools.ledger.booking_units import FEW, UNDER_A_WEEK, VOUCHER, Gate
from bktools.ledger.matching import EntryGroups, Matching, groups_of
from bktools.ledger.tax_rates import (
    MAJORITY,
    MOST_CELLS,
    RATES,
    WHOLE,
    Rates,
    most_met,
    most_shared,
    net_of,
    solved,
)
from bktools.ledger.whole_numbers import (
    LOT,
    NONE,
    Columns,
    Flags,
    Numbers,
    among,
    lots_of,
    number,
    places,
    sums,
)

# Entries and lines that are compared; more show no other rate.
MOST_PAIRS = 2**20
View = tuple[Columns, AnnotatedPostings]


def on_nets(entries: Columns, books: AnnotatedPostings, ranked: Sequence[Matching]) -> View | None:
    """Return entries and ledger without tax, where vouchers pool accounts and tax; else None.

    The rates are solved from the vouchers in the places of groups, and have to give their postings to the
    cent. Then each account of a voucher is a voucher of its own.
    """
    if not ((books.accounts > 1) & (books.gross != books.on_used)).any():
        return None
    for matching in ranked:
        if matching.unit.part != VOUCHER:
            continue
        groups = groups_of(entries, books, matching.unit, matching.clock)
        for gate in [matching.gate] if len(matching.group) >= FEW else [(0, 0), (0, UNDER_A_WEEK)]:
            v = _in_place(groups, books, gate)[groups.of_entry]
            cell = books.cells_at(v, entries.account)
            rates, given = solved(entries, cell, books)
            if rates.has_tax:
                is_given = among(len(books.net) + 1, given)[cell] & (cell >= 0)
                is_whole = among(books.count, v[v >= 0]) & ~among(books.count, v[(v >= 0) & ~is_given])
                expected = sums(v[v >= 0], books.count, entries.cents[v >= 0])
                is_tax = _tax_beside(books, is_whole & (books.gross == expected))
                return _without_tax(entries, books, rates, np.where(is_given, cell, NONE), is_tax)
    return None


def with_gross_facts(
    entries: Columns, books: AnnotatedPostings, ranked: Sequence[Matching], seen: Matching
) -> Columns:
    """Return the entries of a view, where the voucher of a receipt has its gross, with what that voucher has.

    Such an entry is in no pair of the view: its tax is at another rate than most on its account have.

    Parameters
    ----------
    entries : Columns
        The entries of the view.
    books, ranked : AnnotatedPostings, sequence of Matching
        The ledger and its matchings with tax.
    seen : Matching
        The matching of the view.
    """
    cents, is_home = entries.cents.copy(), entries.is_home.copy()
    is_sum = seen.groups.size[seen.groups.of_entry] > 1
    is_asked = ~np.isin(entries.e, seen.groups.entries.e[seen.has_pair | is_sum])
    for matching in (one for one in ranked if not one.unit.is_sum):
        own = matching.only(matching.is_singular)
        v = np.full(len(own.groups.size), NONE)
        v[own.group] = own.vouchers
        at = np.searchsorted(entries.e, own.groups.entries.e)
        cell = books.cells_at(v[own.groups.of_entry], own.groups.entries.account)
        is_alone = sums(cell, len(books.net) + 1)[cell] == 1
        is_fact = (cell >= 0) & is_alone & is_asked[at]
        cents[at[is_fact]], is_home[at[is_fact]] = books.net[cell[is_fact]], True
    return entries.also(cents=cents, is_home=is_home)


def _in_place(groups: EntryGroups, books: AnnotatedPostings, gate: Gate) -> Numbers:
    """Return by group the voucher in its gate that shares most accounts with it.

    NONE where there is none that shares two, or its only one.
    """
    by_day, on = defaultdict(list), defaultdict(set)
    for v in np.flatnonzero(books.accounts > 0).tolist():
        at = slice(*books.cell_of_v[v : v + 2])
        by_day[int(books.day[v])].append((v, {*books.cell_account[at][books.used[at]].tolist()}))
    for group, account in zip(groups.of_entry.tolist(), groups.entries.account.tolist(), strict=True):
        on[group].add(account)
    in_place = np.full(len(groups.size), NONE)
    for group, due in enumerate(groups.due.tolist()):
        days, own = range(due + gate[0], due + gate[1] + 1), on[group]
        near = [
            (len(accounts & own), -v)
            for day in days
            for v, accounts in by_day.get(day, ())
            if len(accounts & own) > 1 or accounts == own
        ]
        if near:
            in_place[group] = -max(near)[1]
    return in_place


def _tax_beside(books: AnnotatedPostings, is_gross: Flags) -> Flags:
    """Return which postings are tax: on accounts that make the costs of some vouchers gross."""
    is_beside = books.is_cost & ~books.is_used
    accounts = books.lines.account[is_beside & is_gross[books.lines.v]]
    return np.asarray(is_beside & among(len(books.mix), accounts)[books.lines.account])


def _without_tax(
    entries: Columns, books: AnnotatedPostings, rates: Rates, cell: Numbers, is_tax: Flags
) -> View:
    """Return both sides without tax. `cell`: of an entry, where its rate gives that; else NONE."""
    rate = _known_or_none(entries, rates.by_entry(entries))
    nets = np.where(entries.is_home, net_of(entries.cents, np.maximum(rate, 0)), entries.cents)
    own = books.without_tax(is_tax, rates.of.values())
    # What rounding takes from a sum is taken from its largest entry.
    inside = np.flatnonzero(cell >= 0)
    of, first = number(cell[inside])
    off = books.net[cell[inside[first]]] - sums(of, len(first), nets[inside])
    by_size = np.lexsort((np.abs(nets[inside]), of))
    last = by_size[np.append(np.diff(of[by_size]) > 0, True)]
    nets[inside[last]] += off[of[last]]
    own.slack = int(np.abs(off).max(initial=0))
    return entries.also(cents=nets, is_home=entries.is_home & (rate >= 0)), own


def _known_or_none(entries: Columns, rate: Numbers) -> Numbers:
    """Return the rates; an original amount of which none is known is compared as it is."""
    return np.where(entries.is_original & (rate < 0), 0, rate)


def on_lines(entries: Columns, books: AnnotatedPostings, *, is_sum: bool) -> View | None:
    """Return entries and lines without tax, where vouchers hold a line for each entry; else None.

    A line is its voucher then; where the ledger `is_sum` of nothing, its tax may have a voucher of its own.
    The rate of an account is the one at which most of its entries are lines.
    """
    lines, home = books.lines, entries.take(entries.is_home)
    is_used = books.is_used & (books.kind[lines.v] != 0)
    is_beside_another = is_used & (sums(lines.v[is_used], books.count) > 1)[lines.v]
    has_lines = not is_sum or is_beside_another.sum() > OFTEN * len(entries)
    if not has_lines or len(home) > MOST_CELLS:
        return None
    lots = np.unique(lots_of(lines.account, lines.cents)[is_used])
    accounts = len(books.mix)
    is_met = [places(lots_of(home.account, net_of(home.cents, rate)), lots) >= 0 for rate in RATES.tolist()]
    met = np.array([sums(home.account, accounts, one) for one in is_met])
    count, most = sums(home.account, accounts), met.max(axis=0)
    by_account = most_met(RATES, met, met, count)
    shared, common = _shared_with_lines(home, lots, by_account < 0)
    is_shared = (by_account < 0) & (common > 1) & (2 * common > count)
    by_account, most = np.where(is_shared, (shared, common), (by_account, most))
    if most[by_account >= 0].sum() < MAJORITY * len(home):
        return None
    rate = _known_or_none(entries, by_account[entries.account])
    nets = np.where(entries.is_home, net_of(entries.cents, np.maximum(rate, 0)), entries.cents)
    # Of such a tax each part is rounded by itself.
    for off in (1, -1):
        lot = lots_of(entries.account, nets)
        is_off = is_shared[entries.account] & (places(lot, lots) < 0) & (places(lot + off, lots) >= 0)
        nets += off * is_off
    is_given = np.isin(lots_of(lines.account, lines.cents), lots_of(entries.account, nets))
    is_whole = ~among(books.count, lines.v[is_used & ~is_given]) & (books.accounts > 0)
    tax = np.round(lines.cents * np.maximum(by_account[lines.account], 0) / WHOLE).astype(np.int64)
    expected = sums(lines.v[is_used], books.count, (lines.cents + tax)[is_used])
    is_gross = is_whole & (np.abs(books.gross - expected) <= sums(lines.v, books.count)) & (books.kind != 0)
    is_tax = _tax_beside(books, is_gross)
    own = books.without_tax(is_tax, rate[rate >= 0].tolist()).by_lines()
    own.slack = int(is_shared.any())
    return entries.also(cents=nets, is_home=entries.is_home & (rate >= 0)), own


def _shared_with_lines(entries: Columns, lots: Numbers, is_asked: Flags) -> tuple[Numbers, Numbers]:
    """Return by account the rate that most entries have with one of its lines, and how many."""
    line_account, line_cents = np.divmod(lots + LOT // 2, LOT)
    own = np.flatnonzero(is_asked[entries.account])
    count = sums(line_account, len(is_asked))[entries.account[own]]
    own, count = (column[count.cumsum() <= MOST_PAIRS] for column in (own, count))
    entry = np.repeat(own, count)
    line = np.arange(len(entry)) - np.repeat(count.cumsum() - count, count)
    line += np.searchsorted(line_account, entries.account[entry])
    net = line_cents[line] - LOT // 2
    return most_shared(entries.account[entry], entries.cents[entry], net, np.ones_like(net), len(is_asked))
