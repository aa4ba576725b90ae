"""Whole vouchers that agree to the cent: groups over all accounts with the cost side of a voucher, with tax.

This needs no rates of tax; where rates are known, whole vouchers show whether they hold on each account.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from bktools.ledger.explained import EARLIER, KNOWN, LARGEST_TAX, LATER, Explained
from bktools.ledger.habits import CONTRA, COST
from bktools.ledger.pairs import paired
from bktools.ledger.rounding import rounding
from bktools.ledger.steps import OF_VOUCHERS, Grain, How
from bktools.ledger.taxes import meets_by_rates

# Accounts of whole vouchers test the nets, if there are so many: wrong rates let hardly any agree to the
# cent, and errors of a voucher, which come in twos, leave most.
TESTS, HOLD = 5, 0.5
# From this share of accounts that meet the rates on, these are all rates of the ledger.
AGREE = 0.8


def totals_of_vouchers(state: Explained) -> Explained:
    """Match groups with the cost side of a voucher that has the same accounts and agrees on each of them."""
    is_tested = False
    for grain, is_dated in OF_VOUCHERS:
        if not is_dated and state.share >= KNOWN:
            break
        members, lines = _with_their_total(state, grain, is_dated=is_dated)
        sums = _on_accounts(members, lines)
        tests = sums.filter("is_known", "is_pooled")
        if state.has_net and not is_tested and tests.height >= TESTS:
            if tests.select(_is_net().mean()).item() < HOLD:
                state = _without_net(state)
            is_tested = state.has_net
        is_possible = _is_possible(sums, () if is_tested else state.rates)
        fits = pl.when(is_tested & pl.col("is_known")).then(_is_net()).otherwise(is_possible)
        wrong = sums.filter(~fits.fill_null(value=False))["gid"].implode()
        members, lines = (side.filter(~pl.col("gid").is_in(wrong)) for side in (members, lines))
        members = members.join(state.entries.select("e"), on="e", how="semi")
        lines = lines.join(state.postings.select("p"), on="p", how="semi")
        members, lines = members.join(lines, on="gid", how="semi"), lines.join(members, on="gid", how="semi")
        state = state.take(How.WHOLE_VOUCHER, members, lines, grain=grain)
    return state


def _with_their_total(state: Explained, grain: Grain, *, is_dated: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the entries of groups, and the lines of vouchers that have their total and their accounts."""
    group = list(grain.group)
    entries = state.every_entry.filter("is_home", pl.col(group[0]).is_not_null())
    sides = state.books.postings.filter(pl.col("voucher").is_not_null(), pl.col("role") != CONTRA)
    accounts = _of_accounts(pl.col("account"))
    ours = entries.group_by(group).agg(
        total=pl.sum("gross"), accounts=accounts, count=pl.len(), first=pl.min("day"), last=pl.max("day")
    )
    # A single entry with a voucher of another day is no group.
    ours = ours.filter(pl.col("count") >= (1 if is_dated else 2))
    ours = ours.with_columns(day="last").with_row_index("gid")
    theirs = sides.group_by("voucher").agg(
        total=pl.sum("amount"),
        accounts=_of_accounts(pl.col("account").filter(pl.col("role") == COST)),
        day=pl.min("day"),
    )
    x, y = paired(ours, theirs, ["total", "accounts", *(["day"] if is_dated else [])], surplus=False)
    found = ours.select("gid", *group, "first", "last")[x].hstack(theirs.select("voucher", when="day")[y])
    is_near = (pl.col("when") - pl.col("first") >= -EARLIER) & (pl.col("when") - pl.col("last") <= LATER)
    found = found.filter(is_near)
    members = entries.join(found.select(*group, "gid"), on=group)
    lines = sides.filter(pl.col("role") == COST).join(found.select("voucher", "gid"), on="voucher")
    return members.select("gid", "e", "account", "gross", "net"), lines


def _of_accounts(accounts: pl.Expr) -> pl.Expr:
    """Return a number of 62 bits that is the same for the same accounts."""
    return (accounts.unique().hash().sum() // 4).cast(pl.Int64)


def _on_accounts(members: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """Return what groups and their vouchers have on each account."""
    ours = members.group_by("gid", "account").agg(
        pl.sum("gross"),
        pl.sum("net"),
        each="gross",
        count=pl.len(),
        is_known=pl.col("net").is_not_null().all(),
    )
    theirs = lines.group_by("gid", "account").agg(pl.sum("amount"), is_pooled=pl.col("gross").is_null().any())
    return ours.join(theirs, on=["gid", "account"])


def _is_net() -> pl.Expr:
    """Return whether an account has the net of its entries."""
    return (pl.col("net") - pl.col("amount")).abs() <= 1 + rounding(pl.col("count"))


def _is_possible(sums: pl.DataFrame, rates: tuple[int, ...]) -> pl.Expr:
    """Return whether an account may have its entries without tax, at the rates if these are complete."""
    taxed = ("gross", pl.col("gross") / LARGEST_TAX)
    is_possible = pl.col("amount").is_between(pl.min_horizontal(taxed) - 1, pl.max_horizontal(taxed) + 1)
    if not rates:
        return is_possible
    meets = [
        meets_by_rates(each.to_list(), rates, own)
        for each, own in zip(sums["each"], sums["amount"], strict=True)
    ]
    # Rates that most accounts do not meet are not all of the ledger's.
    return is_possible & pl.Series(meets) if sum(meets) >= AGREE * len(meets) else is_possible


def _without_net(state: Explained) -> Explained:
    """Return the explanation without net amounts, because their rates do not hold."""
    nothing = pl.lit(None, pl.Int64)
    return replace(
        state,
        entries=state.entries.with_columns(net=nothing),
        every_entry=state.every_entry.with_columns(net=nothing),
        has_net=False,
    )
