"""The ledger's own habits, from its vouchers: their numbering, the side of costs, the use of accounts."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from bktools.ledger.sides import Sides
from bktools.ledger.text_columns import numbered

COST, CONTRA, TAX = range(3)

# Documents are vouchers where so many balance.
BALANCED = 0.9
# Without vouchers, running balances of zero end them, if each has fewer lines than this on average.
MOST_LINES = 20
# An account has a role in a ledger when it is in so many of the vouchers, or beside so much of the money.
OFTEN = 0.1
# How far an account leans to the side of the costs, or away from it.
LEANS = 0.3
# The largest tax beside a cost.
LARGEST_TAX = 0.35
# Amounts above this, in minor units, tell rates of tax apart.
TELLING = 4_000
THOUSANDTHS = 1_000
HUNDREDTHS = 100


@dataclass(frozen=True)
class Books:
    """The postings with what the vouchers say of them.

    `amount` has the sign of the entries; `role` is one of COST, CONTRA, TAX; `is_used`: an entry has its
    account; `gross` is the posting with its tax, `line_gross` all that its voucher has on its account with
    the tax: null where the tax is that of several accounts; `is_plain`: there is no tax in its voucher.
    """

    postings: pl.DataFrame
    sign: int
    has_vouchers: bool
    has_tax: bool
    # Whether some vouchers have one tax for several accounts.
    has_pooled_tax: bool
    # Rates in thousandths that single costs show, without 0.
    shown_rates: tuple[int, ...]


def books_of(sides: Sides, *, sign: int | None = None) -> Books:
    """Return postings with their roles; `sign` is -1 if the ledger's credits are costs, None to find out."""
    if sign is None:
        sign = _sign(sides)
    amount, own = pl.col("amount") * sign, pl.col("own") * sign
    # No total needs these texts, and each copy of the postings would have them.
    postings = sides.postings.drop("currency", "cost_centre").with_columns(amount=amount, own=own)
    postings = _with_vouchers(postings)
    is_used = pl.col("account").is_in(sides.entries["account"].unique().implode())
    postings = postings.with_columns(is_used=is_used)
    has_vouchers = postings["voucher"].null_count() < postings.height
    contra, tax = _roles(postings, sides.entries["gross"]) if has_vouchers else ([], [])
    role = (
        pl.when(pl.col("account").is_in(contra))
        .then(CONTRA)
        .when(pl.col("account").is_in(tax))
        .then(TAX)
        .otherwise(COST)
    )
    postings = postings.with_columns(role=role.cast(pl.Int8))
    nothing = postings.with_columns(line_gross=pl.lit(None, pl.Int64))
    postings = _with_sides(postings) if has_vouchers else nothing
    if not tax:
        postings = postings.with_columns(
            gross=pl.col("amount"), own_gross=pl.col("own"), is_plain=pl.lit(True)
        )
        return Books(postings, sign, has_vouchers, has_tax=False, has_pooled_tax=False, shown_rates=())
    postings = _with_gross(postings)
    is_pooled = bool(postings.filter(pl.col("is_used"))["gross"].null_count())
    return Books(
        postings,
        sign,
        has_vouchers,
        has_tax=True,
        has_pooled_tax=is_pooled,
        shown_rates=_shown_rates(postings),
    )


def _sign(sides: Sides) -> int:
    """Return the side on which the ledger has most of the money of the entries' accounts."""
    ours = sides.entries.filter("is_known").group_by("account").agg(ours=pl.sum("gross"))
    both = ours.join(sides.postings.group_by("account").agg(theirs=pl.sum("amount")), on="account")
    ours_, theirs = pl.col("ours"), pl.col("theirs")
    weight = pl.min_horizontal(ours_.abs(), theirs.abs()).cast(pl.Float64)
    return -1 if both.select((ours_.sign() * theirs.sign() * weight).sum()).item() < 0 else 1


def _with_vouchers(postings: pl.DataFrame) -> pl.DataFrame:
    """Number the vouchers: by their names, else by documents that balance, else by lines up to zero."""
    voucher = postings["voucher"]
    if voucher.null_count() == postings.height and postings.height:
        documents = (
            postings.filter(pl.col("document").is_not_null()).group_by("document").agg(pl.sum("amount"))
        )
        if documents.height and (documents["amount"] == 0).sum() >= BALANCED * documents.height:
            voucher = postings["document"]
        else:
            is_end = postings["amount"].cum_sum() == 0
            if is_end[-1] and MOST_LINES * is_end.sum() >= postings.height:
                voucher = is_end.cum_sum().shift(1, fill_value=0).cast(pl.String)
    return postings.with_columns(voucher=numbered(voucher))


def _roles(postings: pl.DataFrame, gross: pl.Series) -> tuple[list[int], list[int]]:
    """Return the contra and the tax accounts, by their side beside the costs in vouchers.

    A contra account leans to the other side, and is frequent or balances vouchers alone. A tax account is on
    the side of the costs, small, and frequent or at one constant rate. An account of a wrong booking is
    neither; it has nothing but amounts of entries, `gross`.
    """
    postings = postings.select("voucher", "account", "amount", "is_used")
    others, used = postings.filter(~pl.col("is_used")), postings.filter("is_used")
    if not used.join(others, on="voucher", how="semi").height:
        return [], []
    costs = used.filter(pl.col("voucher").is_not_null()).group_by("voucher").agg(cost=pl.sum("amount"))
    costs = costs.filter(pl.col("cost") != 0)
    others = others.join(costs, on="voucher", how="semi")
    if not others.height:
        return [], []
    other, cost = pl.col("other"), pl.col("cost")
    beside = others.group_by("voucher", "account").agg(other=pl.sum("amount")).join(costs, on="voucher")
    weight = pl.min_horizontal(other.abs(), cost.abs()).cast(pl.Float64)
    rate = (other / cost * THOUSANDTHS).round()
    beside = beside.with_columns(weight=weight, rate=rate)
    fits = ((cost * pl.col("rate") / THOUSANDTHS - other).abs() <= 1) & (cost.abs() > TELLING)
    money = float(costs["cost"].abs().cast(pl.Float64).sum())
    constant = pl.col("rate").filter(fits)
    accounts = beside.group_by("account").agg(
        lean=(other.sign() * cost.sign() * pl.col("weight")).sum() / pl.col("weight").sum(),
        count=pl.len(),
        beside=cost.abs().cast(pl.Float64).sum(),
        is_small=(other.abs() < LARGEST_TAX * cost.abs()).mean(),
        is_all=(other.abs() >= 0.99 * cost.abs()).mean(),
        same_rate=(constant == constant.mode().first()).sum(),
    )
    is_often = (pl.col("count") >= OFTEN * costs.height) | (pl.col("beside") >= OFTEN * 5 * money)
    away = accounts.filter(pl.col("lean") < -LEANS)
    contra = away.filter(is_often)["account"].to_list()
    # A rare account that balances only costs is no cost itself, such as one of corrected bookings.
    with_contra = postings.filter(pl.col("account").is_in(contra), pl.col("amount") < 0).select("voucher")
    as_cost = (
        postings.filter(pl.col("amount") > 0).join(with_contra, on="voucher", how="semi")["account"].unique()
    )
    # A credit note on a wrong account is none of these.
    known = gross.drop_nulls()
    not_entries = others.filter(~pl.col("amount").is_in(known.implode()))["account"].unique()
    seldom = away.filter(
        pl.col("is_all") > 0.5,
        ~pl.col("account").is_in(as_cost.implode()),
        pl.col("account").is_in(not_entries.implode()),
    )
    contra = [*{*contra, *seldom["account"].to_list()}]
    is_constant = pl.col("same_rate") >= pl.max_horizontal(2, pl.col("count") / 2)
    tax = accounts.filter(pl.col("lean") > LEANS, pl.col("is_small") > 0.7, is_often | is_constant)
    tax_lines = others.filter(pl.col("account").is_in(tax["account"].implode()))
    has_taxes = tax_lines.filter(~pl.col("amount").abs().is_in(known.abs().implode()))["account"]
    return contra, tax.filter(pl.col("account").is_in(has_taxes.implode()))["account"].to_list()


def _with_sides(postings: pl.DataFrame) -> pl.DataFrame:
    """Add to the postings of vouchers with one account of entries all that is on it, and its tax.

    Tax is on an account of tax; in a ledger that shows none, beside it at a rate of whole percents.
    """
    has_tax = bool((postings["role"] == TAX).any())
    is_beside = (pl.col("role") == TAX) if has_tax else (pl.col("role") != CONTRA)
    beside = postings.filter(pl.col("voucher").is_not_null(), pl.col("is_used") | is_beside)
    # Where nothing stands beside the accounts of entries, no voucher has more than these have.
    others = beside.filter(~pl.col("is_used")).select("voucher").unique()
    if not others.height:
        return postings.with_columns(line_gross=pl.lit(None, pl.Int64))
    sides = beside.join(others, on="voucher", how="semi")
    sides = sides.group_by("voucher").agg(
        side=pl.sum("amount"),
        on_account=pl.col("amount").filter("is_used").sum(),
        accounts=pl.col("account").filter("is_used").n_unique(),
    )
    side, on_account = pl.col("side"), pl.col("on_account")
    rate = ((side / on_account - 1) * HUNDREDTHS).round()
    is_rate = rate.is_between(1, LARGEST_TAX * HUNDREDTHS) & (
        (on_account * (HUNDREDTHS + rate) / HUNDREDTHS - side).abs() <= 1
    )
    sides = sides.filter(pl.col("accounts") == 1, side != on_account, side != 0, is_rate | pl.lit(has_tax))
    joined = postings.join(sides.select("voucher", "side"), on="voucher", how="left", maintain_order="left")
    return joined.with_columns(line_gross=pl.when("is_used").then("side")).drop("side")


def _with_gross(postings: pl.DataFrame) -> pl.DataFrame:
    """Add to each posting its gross amount, and that of its voucher's line.

    They are null where the tax is that of several accounts.
    """
    amount, own, is_cost = pl.col("amount"), pl.col("own"), pl.col("role") == COST
    vouchers = (
        postings.filter(pl.col("voucher").is_not_null(), pl.col("role") != CONTRA)
        .group_by("voucher")
        .agg(
            lines=is_cost.sum(),
            side=pl.sum("amount"),
            own_side=pl.when(own.is_not_null().all()).then(pl.sum("own")),
            taxes=amount.filter(~is_cost).sum(),
        )
    )
    is_plain = pl.col("taxes").fill_null(0) == 0
    return postings.join(vouchers, on="voucher", how="left", maintain_order="left").with_columns(
        gross=pl.when(is_plain | ~is_cost).then(amount).when(pl.col("lines") == 1).then(pl.col("side")),
        own_gross=pl.when(is_plain | ~is_cost).then(own).when(pl.col("lines") == 1).then(pl.col("own_side")),
        is_plain=is_plain,
    )


def _shown_rates(postings: pl.DataFrame) -> tuple[int, ...]:
    """Return the rates that single costs with their tax show, where several do."""
    amount, gross, rate = pl.col("amount"), pl.col("gross"), pl.col("rate")
    alone = postings.filter("is_used", ~pl.col("is_plain"), gross.is_not_null(), amount.abs() > TELLING)
    rates = alone.select("amount", "gross", rate=((gross / amount - 1) * THOUSANDTHS).round().cast(pl.Int64))
    meets = ((amount * (THOUSANDTHS + rate) / THOUSANDTHS).round() - gross).abs() <= 1
    counts = rates.filter(rate.is_between(1, LARGEST_TAX * THOUSANDTHS), meets)["rate"].value_counts()
    often = counts.filter(pl.col("count") >= max(2, 0.02 * alone.height))
    return tuple(sorted(often["rate"].to_list()))
