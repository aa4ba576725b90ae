"""The accounts that balance the vouchers of costs: creditors, a bank, a card, a clearing account."""

from __future__ import annotations

import numpy as np

from bktools.ledger.gates import FEW
from bktools.ledger.whole_numbers import Columns, Flags, Numbers, among, number, places, sums

# A contra account of so many vouchers, or of so much of the money, is a main one; any other one is seldom.
OFTEN = 0.1


def contra_accounts(lines: Columns, is_used: Flags, accounts: int) -> Flags:
    """Return by account whether it balances vouchers.

    A contra account is opposite to the costs, and carries at least half of them in most vouchers that it has
    with them: a tax, or a rounding, does not. Most amounts stay there: an account to which costs are moved,
    and from which they come back, is not a contra account.

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
    # A creditor is credited before it is paid. A seldom account that has each amount first, and then gives it
    # to an entry's account, had costs: its vouchers show contra accounts, too.
    given = sums(account, accounts, carries & _had_before(lines, account, cents, day))
    gave = (given > 0) & (given == count) & ((count == 1) | (count < OFTEN * (cost != 0).sum()))
    if gave.any():
        return contra_accounts(lines, is_used | gave[lines.account], accounts)
    # An account to which costs are moved, and from which they come back, is not a contra account.
    lots, count_of_lot = np.unique((account * 2**40 + cents)[carries], return_counts=True)
    count_of_lot = np.append(count_of_lot, 0)  # the last one is of a lot that is not there
    there, back = (count_of_lot[places(account * 2**40 + sign * cents, lots)] for sign in (1, -1))
    stays = carries & (there > back)
    heads = heads_of(lines, accounts)
    # Most amounts stay there, by number or by money: corrections are many, and small.
    has_most = np.zeros(accounts, np.bool_)
    for weight in (1, size):
        staying, carried = (
            sums(heads, accounts, sums(account, accounts, some * weight))[heads] for some in (stays, carries)
        )
        has_most |= 2 * staying > carried
    is_contra = (2 * count > sums(account, accounts, is_beside)) & has_most
    is_main = is_contra & (
        (sums(account, accounts, stays) >= OFTEN * (cost != 0).sum())
        | (sums(account, accounts, stays * size) >= OFTEN * np.abs(cost).sum())
    )
    # A seldom one is a contra account, too, unless it stands beside a main one: then it is a cost.
    has_main = among(len(cost), lines.v[is_main[lines.account]])[v] & is_beside
    is_contra = is_main | (is_contra & ~among(accounts, account[has_main]))
    # Creditors that begin alike are contra accounts, too, where no entry's account stands beside them.
    is_cost = (sums(account, accounts, is_beside) > 0) & ~is_contra
    is_family = (sums(heads, accounts, is_contra) >= FEW) & (sums(heads, accounts, is_cost) == 0)
    return np.asarray(is_contra | is_family[heads])


def _had_before(lines: Columns, account: Numbers, cents: Numbers, day: Numbers) -> Flags:
    """Return whether an account had the opposite amount on the same day or before."""
    lots = lines.account * 2**40 + lines.cents
    order = np.lexsort((lines.day, lots))
    ordered, first = np.unique(lots[order], return_index=True)
    at = places(account * 2**40 - cents, ordered)
    return np.asarray((at >= 0) & (lines.day[order][first][at] <= day))


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
