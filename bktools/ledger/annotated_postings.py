"""What the vouchers of a ledger show."""

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

from bktools.ledger.entry_names import words
from bktools.ledger.whole_numbers import Columns, NONE, among, number, places, sums


OFTEN = 0.1
KEPT = 0.9


class AnnotatedPostings:
    """The ledger as vouchers with their cost sides, in whole numbers.

    By line: v, account, day, cents, is_used (an entry has the account), is_contra, is_tax (only where nets
    count).
    By voucher v: day, gross (the cost side), on_used (its part on the entries' accounts), accounts (how many
    of these
    it has), set (which), kind (the contra accounts).  By cell (v, account) of a cost side: cell_v,
    cell_account, net, used.
    """

    def __init__(
        self,
        lines: Columns,
        mix: np.ndarray,
        is_used: np.ndarray,
        is_contra: np.ndarray,
        family: np.ndarray,
        is_tax: Any = False,
        rates: Sequence[int] = (),
    ) -> None:
        self.lines, self.mix, self.is_used, self.is_contra, self.family = (
            lines,
            mix,
            is_used,
            is_contra,
            family,
        )
        self.rates, self.has_nets, self.is_cost = rates, bool(rates), ~is_contra & ~np.bool_(is_tax)
        v, count = lines.v, int(lines.v.max(initial=-1)) + 1
        cost_v, self.count = v[self.is_cost], count
        self.day = np.full(count, -NONE)
        np.minimum.at(self.day, cost_v, lines.day[self.is_cost])
        cells, first = number(cost_v, lines.account[self.is_cost])
        self.cell_v, self.cell_account = cost_v[first], lines.account[self.is_cost][first]
        self.net, self.used = sums(cells, len(first), lines.cents[self.is_cost]), is_used[self.is_cost][first]
        self.cell_of_v = np.searchsorted(self.cell_v, np.arange(count + 1))
        self.gross = sums(self.cell_v, count, self.net)
        on = self.cell_v[self.used]
        self.on_used, self.accounts = sums(on, count, self.net[self.used]), sums(on, count)
        self.set = sums(on, count, mix[self.cell_account[self.used]])
        self.sign = 1  # -1 where credits are costs
        self.slack = 0  # cents, by which an entry's net may be off where sums were rounded
        self.centre = np.full(count, NONE)
        np.maximum.at(self.centre, v, lines.centre)
        _, first = number(v[is_contra], lines.account[is_contra])
        self.kind = sums(v[is_contra][first], count, mix[family[lines.account[is_contra][first]]])

    def by_lines(self) -> AnnotatedPostings:
        """Each line that is not a contra account's as a voucher of its own, where contra accounts balance it."""
        v, row = self.lines.v, self.count + np.arange(len(self.lines))
        own, first = number(np.where(self.is_cost & (self.kind[v] != 0), row, v))
        out = AnnotatedPostings(
            self.lines.also(v=own),
            self.mix,
            self.is_used,
            self.is_contra,
            self.family,
            self.lines.v < 0,
            self.rates,
        )
        out.kind, out.centre, out.sign = self.kind[v[first]], self.centre[v[first]], self.sign
        return out

    def without(self, is_tax: np.ndarray, rates: Iterable[int]) -> AnnotatedPostings:
        out = AnnotatedPostings(
            self.lines, self.mix, self.is_used, self.is_contra, self.family, is_tax, sorted({*rates})
        )
        out.sign = self.sign
        return out

    @functools.cached_property
    def _by_voucher(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.lines.v, kind="stable")
        return order, np.searchsorted(self.lines.v[order], np.arange(self.count + 1))

    def rows(self, v: int) -> np.ndarray:
        order, ends = self._by_voucher
        return order[ends[v] : ends[v + 1]]

    def rows_of(self, v: np.ndarray, account: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of the postings that are the cost side of vouchers, or their parts on accounts.

        Returns also which of the vouchers each posting is of.
        """
        width = len(self.mix)
        is_part = (account != NONE) & ((self.accounts[v] != 1) | self.has_nets)
        of_voucher, of_cell = np.full(self.count, -1), np.full(len(self.net), -1)
        of_voucher[v[~is_part]] = np.flatnonzero(~is_part)
        of_cell[places(v[is_part] * width + account[is_part], self.cell_v * width + self.cell_account)] = (
            np.flatnonzero(is_part)
        )
        cost = np.flatnonzero(self.is_cost)
        cell = places(
            self.lines.v[cost] * width + self.lines.account[cost], self.cell_v * width + self.cell_account
        )
        own = np.where(of_voucher[self.lines.v[cost]] >= 0, of_voucher[self.lines.v[cost]], of_cell[cell])
        return self.lines.row[cost[own >= 0]], own[own >= 0]

    def texts(self, rows: np.ndarray) -> list[frozenset[str]]:
        own = self.lines.table.select("text", "document")[rows]
        return [words(text, document) for text, document in own.iter_rows()]

    def text(self, vouchers: Iterable[int]) -> dict[int, frozenset[str]]:
        wanted = [*dict.fromkeys(vouchers)]
        if not wanted:
            return {}
        of, texts = [self.rows(v) for v in wanted], []
        texts = iter(self.texts(np.concatenate(of)))
        return {
            v: frozenset().union(*itertools.islice(texts, len(rows)))
            for v, rows in zip(wanted, of, strict=True)
        }


def annotated_postings(entries: Columns, lines: Columns, sign: int | None = None) -> AnnotatedPostings:
    """Vouchers by their numbers, the side by most postings, the contra accounts by what balances vouchers."""
    accounts = int(max(entries.account.max(initial=0), lines.account.max(initial=0))) + 1
    is_used = among(accounts, entries.account)[lines.account]
    v, named = vouchers_of(lines)
    side = sign or (-1 if np.sign(entries.cents).sum() * np.sign(lines.cents[is_used]).sum() < 0 else 1)
    lines = lines.also(v=v, named=named, cents=lines.cents * side)
    is_contra = contra_accounts(lines, is_used, accounts)[lines.account] & ~is_used
    mix = np.random.default_rng(7).integers(1 << 62, size=accounts)
    books = AnnotatedPostings(lines, mix, is_used, is_contra, families_of(lines, is_contra, accounts))
    books.sign = side
    return books


def heads_of(lines: Columns, accounts: int) -> np.ndarray:
    """By account, the first account whose code begins with the same two characters: creditors have one each."""
    own, rows = np.unique(lines.account, return_index=True)
    heads, first = np.arange(accounts), {}
    for account, text in zip(own.tolist(), lines.table["account"][rows].to_list(), strict=True):
        heads[account] = first.setdefault((text or "")[:2], account)
    return heads


def families_of(lines: Columns, is_contra: np.ndarray, accounts: int) -> np.ndarray:
    """By account, itself; for a seldom contra account (a creditor each) one for all that begin alike."""
    own = lines.account[is_contra]
    few = sums(own, accounts) < OFTEN * (int(lines.v.max(initial=-1)) + 1)
    few &= among(accounts, own)
    return np.where(few, heads_of(lines, accounts), np.arange(accounts))


def vouchers_of(lines: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Number the vouchers: by their names, else by documents that balance, else by lines up to a balance of
    zero.

    Returns also how to name each line's: -1 by its line, 0 by its name, 1 by its name and day.
    """
    code, alone = lines.voucher, len(lines) + np.arange(len(lines))
    if (code < 0).all():
        by, total = lines.document, lines.cents.cumsum()
        of = sums(by[by >= 0], int(by.max(initial=-1)) + 1, lines.cents[by >= 0])
        if 2 * (by >= 0).sum() > len(lines) and (of == 0).mean() >= KEPT:
            code = by
        elif len(lines) and total[-1] == 0 and 20 * (total == 0).sum() >= len(lines):
            code = np.concatenate([[0], (total == 0).cumsum()[:-1]])
    code = np.where(code < 0, alone, code)
    # A number that is used again on another day is another voucher, if each day balances by itself.
    days, first = number(code, lines.day)
    of, balance = code[first], sums(days, len(first), lines.cents)
    again = ((sums(of, 2 * len(lines)) > 1) & ~among(2 * len(lines), of[balance != 0]))[code]
    v, _ = number(code, np.where(again, lines.day, 0)) if again.any() else number(code)
    return v, np.where(again, 1, np.where(code >= len(lines), -1, 0))


def contra_accounts(lines: Columns, is_used: np.ndarray, accounts: int) -> np.ndarray:
    """The accounts that balance vouchers: opposite to the costs, and at least half of them where they stand.

    So are creditors, a bank, a clearing account; a reverse-charge tax or a rounding is not.
    """
    cost = sums(lines.v[is_used], int(lines.v.max(initial=-1)) + 1, lines.cents[is_used])
    v, account = lines.v[~is_used], lines.account[~is_used]
    cells, first = number(v, account)
    firsts = first
    v, account, cents = v[first], account[first], sums(cells, len(first), lines.cents[~is_used])
    beside = cost[v] != 0
    size = np.abs(cost[v])
    carries = beside & (np.sign(cents) * np.sign(cost[v]) < 0) & (2 * np.abs(cents) >= size)
    count, beside = sums(account, accounts, carries), sums(account, accounts, beside)
    usual = np.sign(cost[v]) * carries
    # On balance: an account to which costs are moved, and from which they come back, carries none.
    balance = sums(account, accounts, usual)
    heads = heads_of(lines, accounts)
    # A creditor is credited before it is paid; what an account had before, and gives away, was a cost there.
    lots = lines.account * 2**40 + lines.cents
    order = np.lexsort((lines.day, lots))
    ordered, first = np.unique(lots[order], return_index=True)
    at = places(account * 2**40 - cents, ordered)
    is_given = carries & (at >= 0) & (lines.day[order][first][at] <= lines.day[~is_used][firsts])
    was_cost = among(accounts, account[is_given]) & (count == 1)
    if was_cost.any():
        return contra_accounts(lines, is_used | was_cost[lines.account], accounts)
    found = (2 * count > beside) & ((count == 1) | (sums(heads, accounts, balance)[heads] > 0))
    often = balance >= OFTEN * (cost != 0).sum()
    main = found & (often | (sums(account, accounts, usual * size) >= OFTEN * np.abs(cost).sum()))
    # Seldom ones are contra accounts, too, unless they were costs: beside credits of a main one.
    credited = among(len(cost), lines.v[main[lines.account] & (lines.cents < 0)])[v]
    return main | (found & ~among(accounts, account[credited & (cents > 0)]))
