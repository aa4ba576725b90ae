"""The ledger as vouchers with their cost sides, in whole numbers."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from bktools.ledger.booking_units import FEW, HABIT
from bktools.ledger.candidates import words
from bktools.ledger.whole_numbers import (
    NONE,
    Columns,
    Flags,
    Numbers,
    among,
    codes,
    largest,
    lots_of,
    number,
    places,
    runs,
    sums,
)

# Where each voucher is closed before the next begins, the running total is zero after so many lines at most.
LONGEST_VOUCHER = 20
# Lines of a voucher may have texts of their own, but for their first words; more words tell no more of them.
MOST_WORDS = 6
# A contra account of so many vouchers, or of so much of the money, is a main one; any other one is seldom.
OFTEN = 0.1
# Cents. What is paid is rounded to half a unit at most.
ROUNDING = 50


@dataclass(eq=False)
class AnnotatedPostings:
    """The ledger as vouchers with their cost sides, in whole numbers.

    A voucher's cost side is all of it but its contra accounts: the costs, and the tax beside them. A cell is
    what a cost side has on one account.

    Attributes
    ----------
    lines : Columns
        The postings: v (their voucher), account, day, cents (a cost is positive), row.
    is_used, is_contra, is_cost : arrays of bool
        Of each posting: whether an entry has its account; whether it balances the voucher; whether it is of
        the cost side.
    count : int
        The number of vouchers.
    day, gross, on_used, accounts : arrays
        Of each voucher: its first day, its cost side, the part of it on the entries' accounts, and on how
        many of these.
    account_set, kind, centre : arrays
        Of each voucher: which of the entries' accounts it has, which contra accounts, which cost centre.
    is_report : array of bool
        Of each voucher, whether it, or the one of which it is a line, is on several of these accounts.
    cell_v, cell_account, net, used : arrays
        Of each cell: its voucher, its account, its amount, and whether an entry has the account.
    mix : array
        A random number for each account; the sum of some tells which they are.
    rates : tuple of int
        Where postings are without tax: the rates, in ten-millionths. The tax is not of the
        cost side then.
    slack : int
        By how many cents the net of an entry may be off where a sum is rounded as a whole.
    sign : int
        -1 where credits are costs.
    """

    lines: Columns
    mix: Numbers
    is_used: Flags
    is_contra: Flags
    is_cost: Flags
    family: Numbers
    sign: int
    rates: tuple[int, ...] = ()
    slack: int = 0

    def __post_init__(self) -> None:
        lines, mix, is_used, is_contra, family = (
            self.lines,
            self.mix,
            self.is_used,
            self.is_contra,
            self.family,
        )
        v, count = lines.v, int(lines.v.max(initial=-1)) + 1
        self.count = count
        cost_v, cost_account = v[self.is_cost], lines.account[self.is_cost]
        self.day = -largest(cost_v, count, -lines.day[self.is_cost])
        cells, first = number(cost_v, cost_account)
        self.cell_v, self.cell_account = cost_v[first], cost_account[first]
        self.net = sums(cells, len(first), lines.cents[self.is_cost])
        self.used = is_used[self.is_cost][first]
        self.cell_of_v = np.searchsorted(self.cell_v, np.arange(count + 1))
        self.gross = sums(self.cell_v, count, self.net)
        on_used = self.cell_v[self.used]
        self.on_used, self.accounts = sums(on_used, count, self.net[self.used]), sums(on_used, count)
        self.is_report: Flags = self.accounts > 1
        self.account_set = sums(on_used, count, mix[self.cell_account[self.used]])
        self.centre = largest(v, count, lines.centre)
        _, first = number(v[is_contra], lines.account[is_contra])
        self.kind = sums(v[is_contra][first], count, mix[family[lines.account[is_contra][first]]])

    @property
    def has_nets(self) -> bool:
        """Whether the cost sides are without tax."""
        return bool(self.rates)

    @functools.cached_property
    def is_of_one(self) -> Flags:
        """Of each voucher, whether it is whole for its one account of the entries, with the tax beside it."""
        return np.asarray((self.accounts == 1) & (not self.has_nets))

    def without_tax(self, is_tax: Flags, rates: Iterable[int]) -> AnnotatedPostings:
        """Return the ledger without the tax beside its costs."""
        return replace(self, is_cost=self.is_cost & ~is_tax, rates=tuple(sorted({*rates})))

    def without_rounding(self) -> AnnotatedPostings:
        """Return the ledger without what rounds the other side: accounts that never have more."""
        most = largest(self.lines.account, len(self.mix), np.abs(self.lines.cents))
        is_small = (most <= ROUNDING)[self.lines.account] & ~self.is_used
        return replace(self, is_cost=self.is_cost & ~is_small)

    def by_lines(self, *, with_tax: bool = False) -> AnnotatedPostings:
        """Return the ledger with each line of a cost side as a voucher, where contra accounts balance it.

        `with_tax`: a line on an entry's account has those that follow it on other accounts, such as its tax.
        """
        v, begins = self.lines.v, self.is_cost & (self.is_used | (not with_tax))
        line = np.maximum.accumulate(np.where(begins, np.arange(len(v)), 0))
        apart = self.is_cost & (self.kind[v] != 0) & (v[line] == v)
        own, first = number(np.where(apart, self.count + line, v))
        lines = replace(self, lines=self.lines.also(v=own), is_cost=~self.is_contra)
        lines.kind, lines.centre = self.kind[v[first]], self.centre[v[first]]
        lines.is_report = self.is_report[v[first]]
        return lines

    def cells_at(self, v: Numbers, account: Numbers) -> Numbers:
        """Return the cells of vouchers and accounts; -1 where there is none, or no voucher."""
        width = len(self.mix)
        wanted = np.where(v < 0, -1, v * width + account)
        return places(wanted, self.cell_v * width + self.cell_account)

    def nets_of(self, v: int) -> dict[int, int]:
        """Return what a voucher's cost side has by account."""
        at = slice(*self.cell_of_v[v : v + 2])
        return dict(zip(self.cell_account[at].tolist(), self.net[at].tolist(), strict=True))

    def amounts_of(self, v: int) -> frozenset[int]:
        """Return the amounts of the postings on the entries' accounts in a voucher."""
        lines = self._lines_of(v)
        return frozenset(self.lines.cents[lines[self.is_used[lines]]].tolist())

    def rows_of(self, v: Numbers, account: Numbers) -> tuple[Numbers, Numbers]:
        """Return the rows of the postings of vouchers' cost sides, or of their parts on accounts.

        An account is NONE for all of the voucher. Returns also which of the vouchers each row is of.
        """
        is_part = (account != NONE) & ~self.is_of_one[v]
        of_voucher, of_cell = np.full(self.count, -1), np.full(len(self.net) + 1, -1)
        of_voucher[v[~is_part]] = np.flatnonzero(~is_part)
        of_cell[self.cells_at(v[is_part], account[is_part])] = np.flatnonzero(is_part)
        cost = np.flatnonzero(self.is_cost)
        cost_v = self.lines.v[cost]
        of_line = of_voucher[cost_v]
        if is_part.any():
            cell = self.cells_at(cost_v, self.lines.account[cost])
            of_line = np.where(of_line >= 0, of_line, of_cell[cell])
        return self.lines.row[cost[of_line >= 0]], of_line[of_line >= 0]

    def rows_of_part(self, v: int, account: int) -> Numbers:
        """Return the rows of the postings of one voucher's cost side, or of its part on an account."""
        lines = self._lines_of(v)
        lines = lines[self.is_cost[lines]]
        if account != NONE and not self.is_of_one[v]:
            lines = lines[self.lines.account[lines] == account]
        return np.asarray(self.lines.row[lines])

    def gross_by_row(self) -> tuple[Numbers, Numbers]:
        """Return the rows of the cost sides' postings, and the amount of each with the tax beside it."""
        v = self.lines.v[self.is_cost]
        is_whole = (self.accounts[v] == 1) & self.is_used[self.is_cost]
        return self.lines.row[self.is_cost], np.where(is_whole, self.gross[v], self.lines.cents[self.is_cost])

    def _lines_of(self, v: int) -> Numbers:
        order, ends = self._by_voucher
        return order[ends[v] : ends[v + 1]]

    @functools.cached_property
    def _by_voucher(self) -> tuple[Numbers, Numbers]:
        return runs(self.lines.v, self.count)

    def texts(self, vouchers: Iterable[int]) -> dict[int, frozenset[str]]:
        """Return the words and numbers of vouchers."""
        wanted = [*dict.fromkeys(vouchers)]
        if not wanted:
            return {}
        rows = [self._lines_of(v) for v in wanted]
        lines = self.lines.table.select("text", "document")[np.concatenate(rows)].iter_rows()
        return {
            v: words(*itertools.chain(*itertools.islice(lines, len(own))))
            for v, own in zip(wanted, rows, strict=True)
        }


def annotated_postings(entries: Columns, lines: Columns, sign: int | None = None) -> AnnotatedPostings:
    """Return the ledger as vouchers.

    Parameters
    ----------
    entries, lines : Columns
        Entries and postings, with the same numbers for the same accounts.
    sign : int, optional
        -1 where credits are costs; by default the side on which most postings on the entries' accounts are.
    """
    accounts = int(max(entries.account.max(initial=0), lines.account.max(initial=0))) + 1
    is_used = among(accounts, entries.account)[lines.account]
    if sign is None:
        sign = -1 if np.sign(entries.cents).sum() * np.sign(lines.cents[is_used]).sum() < 0 else 1
    lines = lines.also(cents=lines.cents * sign)
    is_contra = contra_lines(lines, is_used, accounts)
    mix = np.random.default_rng(7).integers(1 << 62, size=accounts)
    family = families_of(lines, is_contra, accounts)
    return AnnotatedPostings(lines, mix, is_used, is_contra, ~is_contra, family, sign)


def with_account_numbers(
    entries: Columns, lines: Columns, ours: pl.Series, theirs: pl.Series
) -> tuple[Columns, Columns]:
    """Return both sides with one number for each account, by the accounts' names."""
    both = codes(pl.concat([ours, theirs.fill_null("")]))
    return entries.also(account=both[: len(entries)]), lines.also(account=both[len(entries) :])


def vouchers_of(lines: Columns) -> Numbers:
    """Number the vouchers: by names, else by documents, lines, or texts of a day, that add up to 0."""
    code = lines.voucher.copy()
    if (code < 0).all():
        document = lines.document
        has_one = document >= 0
        balance = sums(document[has_one], int(document.max(initial=-1)) + 1, lines.cents[has_one])
        if 2 * has_one.sum() > len(lines) and (balance == 0).mean() >= HABIT:
            code = document.copy()
    unnamed = np.flatnonzero(code < 0)
    total = lines.cents[unnamed].cumsum()
    code[unnamed] = len(lines) + np.arange(len(unnamed))
    if len(unnamed) and total[-1] == 0 and LONGEST_VOUCHER * (total == 0).sum() >= len(unnamed):
        is_end, account = total == 0, lines.account[unnamed]
        # Lines on one account that cancel each other are of the next voucher.
        begins = np.append(0, np.flatnonzero(is_end)[:-1] + 1)
        is_alone = np.maximum.reduceat(account, begins) == np.minimum.reduceat(account, begins)
        is_end[np.flatnonzero(is_end)[is_alone]] = False
        code[unnamed[1:]] = len(lines) + is_end.cumsum()[:-1]
    elif len(unnamed):
        code[unnamed] = _by_texts(lines, unnamed)
    # A number that is used again on another day is another voucher, if each day balances by itself.
    days, first = number(code, lines.day)
    of_day, balance = code[first], sums(days, len(first), lines.cents)
    size = 2 * len(lines)
    again = ((sums(of_day, size) > 1) & ~among(size, of_day[balance != 0]))[code]
    return _joined(lines, number(code, np.where(again, lines.day, 0))[0] if again.any() else number(code)[0])


def _joined(lines: Columns, v: Numbers) -> Numbers:
    """Join vouchers of two lines, as a journal in rows has them: of one day, document, text and other side.

    Each has an account of its own beside the common one: what is booked twice is not joined.
    """
    two = np.flatnonzero((sums(v, len(v))[v] == 2) & (lines.document >= 0))
    day, document, text, account = (
        getattr(lines, name)[two] for name in ("day", "document", "text", "account")
    )
    of, first = number(day, document, np.maximum(text, -1))
    vouchers = sums(of, len(first)) // 2
    cells, each = number(of, account)
    on_account, accounts = sums(cells, len(each)), sums(of[each], len(first))
    has_common = largest(of[each], len(first), on_account) == vouchers
    is_one = ((vouchers > 1) & has_common & (accounts == vouchers + 1))[of]
    joined = v.copy()
    joined[two[is_one]] = len(v) + of[is_one]
    return number(joined)[0]


def _by_texts(lines: Columns, rows: Numbers) -> Numbers:
    """Number vouchers without names: the lines of a day whose texts begin alike, if these add up to 0.

    A line alone is its voucher, and all are where lines are left that do not add up.
    """
    alone = len(lines) + rows
    code, texts = alone.copy(), lines.table["text"][rows].fill_null("")
    left = np.arange(len(rows))
    for most in (None, *range(MOST_WORDS, 0, -1)):
        begins = texts[left] if most is None else texts[left].str.split(" ").list.head(most).list.join(" ")
        receipt, first = number(lines.day[rows[left]], codes(begins))
        adds_up = (sums(receipt, len(first), lines.cents[rows[left]]) == 0)[receipt]
        code[left[adds_up]] = alone[left[first]][receipt[adds_up]]
        left = left[~adds_up]
    return code if len(left) <= (1 - HABIT) * len(rows) else alone


# ---- contra accounts: creditors, a bank, a card, a clearing account


def contra_lines(lines: Columns, is_used: Flags, accounts: int) -> Flags:
    """Return by posting whether it balances its voucher: on a contra account.

    A contra account is opposite to the costs, and carries at least half of them in most vouchers that it has
    with them: a tax, or a rounding, does not. A creditor is credited before it is paid. An account that has
    each amount first, and then gives it to an entry's account, had costs: a seldom one is a cost account; on
    any other one, what was not given yet is a cost.

    Parameters
    ----------
    lines : Columns
        Postings with their voucher v and their account.
    is_used : array
        Whether an entry has the account of each posting.
    accounts : int
        The number of accounts.
    """
    cost = sums(lines.v[is_used], int(lines.v.max(initial=-1)) + 1, lines.cents[is_used])
    others = np.flatnonzero(~is_used)
    cells, first = number(lines.v[others], lines.account[others])
    v, account, day = (column[others[first]] for column in (lines.v, lines.account, lines.day))
    cents = sums(cells, len(first), lines.cents[others])
    is_beside, size = (cost[v] != 0) & (cents != 0), np.abs(cost[v])
    carries = is_beside & (np.sign(cents) * np.sign(cost[v]) < 0) & (2 * np.abs(cents) >= size)
    count = sums(account, accounts, carries)
    opposite = _day_of_opposite(account, cents, day)
    given = sums(account, accounts, carries & (opposite > NONE) & (opposite <= day))
    is_seldom = (count == 1) | (count < OFTEN * (cost != 0).sum())
    gave = (given > 0) & (given == count) & is_seldom
    if gave.any():
        return contra_lines(lines, is_used | gave[lines.account], accounts)
    # An account to which costs are moved, and from which they come back, is not a contra account.
    lots, count_of_lot = np.unique(lots_of(account, cents)[carries], return_counts=True)
    count_of_lot = np.append(count_of_lot, 0)  # the last one is of a lot that is not there
    there, back = (count_of_lot[places(lots_of(account, sign * cents), lots)] for sign in (1, -1))
    stays, heads = carries & (there > back), heads_of(lines, accounts)
    # Most amounts stay there, by number or by money: corrections are many, and small.
    has_most = np.zeros(accounts, np.bool_)
    for weight in (1, size):
        stay, move = (sums(heads[account], accounts, some * weight)[heads] for some in (stays, carries))
        has_most |= 2 * stay > move
    is_contra = (2 * count > sums(account, accounts, is_beside)) & has_most
    carried, costs = sums(account, accounts, carries * size), np.abs(cost)
    is_main = is_contra & ((count >= OFTEN * (cost != 0).sum()) | (carried >= OFTEN * costs.sum()))
    # A seldom one is a contra account, too, unless it stands beside a main one: then it is a cost.
    has_main = among(len(cost), lines.v[is_main[lines.account]])[v] & is_beside
    is_contra = is_main | (is_contra & ~among(accounts, account[has_main]))
    # Creditors that begin alike are contra accounts, too, where no entry's account stands beside them.
    is_cost = (sums(account, accounts, is_beside) > 0) & ~is_contra
    is_family = (sums(heads, accounts, is_contra) >= FEW) & (sums(heads, accounts, is_cost) == 0)
    is_contra |= is_family[heads]
    is_giver = (given > 0) & (given >= HABIT * count)
    waits = is_giver[account] & (opposite == NONE) & (cost[v] == 0) & (cents != 0)
    is_line = (is_contra[account] & ~waits)[cells]
    flags = np.zeros(len(lines), np.bool_)
    flags[others] = is_line
    return flags


def _day_of_opposite(account: Numbers, cents: Numbers, day: Numbers) -> Numbers:
    """Return the day on which an account has the opposite of an amount, in its turn; NONE if it never has."""
    order = np.lexsort((day, cents, account))
    lot = lots_of(account, cents)[order]
    first = np.flatnonzero(np.append(True, np.diff(lot) != 0)) if len(lot) else order
    rank = np.zeros(len(lot), np.int64)
    rank[order] = np.arange(len(lot)) - np.repeat(first, np.diff(np.append(first, len(lot))))
    key, _ = number(account, np.abs(cents), rank)
    days = np.full((2, len(lot) + 1), NONE)
    days[(cents > 0) * 1, key] = day
    return np.asarray(days[(cents < 0) * 1, key])


def heads_of(lines: Columns, accounts: int) -> Numbers:
    """Return by account the first one whose code begins with the same two characters, as creditors do."""
    own, rows = np.unique(lines.account, return_index=True)
    heads, first = np.arange(accounts), dict[str, int]()
    for account, code in zip(own.tolist(), lines.table["account"][rows].to_list(), strict=True):
        heads[account] = first.setdefault((code or "")[:2], account)
    return heads


def families_of(lines: Columns, is_contra: Flags, accounts: int) -> Numbers:
    """Return by account itself; for seldom contra accounts (a creditor each) one for all that begin alike."""
    own = lines.account[is_contra]
    is_seldom = sums(own, accounts) < OFTEN * (int(lines.v.max(initial=-1)) + 1)
    is_seldom &= among(accounts, own)
    return np.where(is_seldom, heads_of(lines, accounts), np.arange(accounts))
