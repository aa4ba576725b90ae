"""Rates of tax that totals of the ledger show, and the net amount of each entry by them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import polars as pl

from bktools.ledger.habits import COST, TELLING, THOUSANDTHS, Books
from bktools.ledger.rounding import rounding

LARGEST = 350
UNTAXED = THOUSANDTHS / (THOUSANDTHS + LARGEST)
# A rate counts if so many totals meet it by chance less often than this, and it has this share of votes.
BY_CHANCE = 0.01
SHARE = 0.02
# Up to so many pairs of groups and postings are compared singly, from days before a group to weeks after.
MOST_PAIRS = 20_000_000
EARLIER, LATER = 3, 45
# A kind of entries has a rate when so many of its totals have.
MOST = 0.8
# Among more entries than this, an amount may be the net by one rate or another.
MOST_RATED = 8
# A few votes of a narrow kind say less than several of a wider one.
SEVERAL = 3


def with_net(entries: pl.DataFrame, books: Books) -> tuple[pl.DataFrame, tuple[int, ...]]:
    """Return entries with their net amount, null if unknown, and the rates in thousandths, without 0.

    Nets are needed where the ledger pools the tax of several accounts. A total of one kind of entries
    (account and tax code), of a day or a month, votes for the rate at which it meets the ledger's total to
    the cent.
    """
    without = entries.with_columns(net=pl.lit(None, pl.Int64))
    if books.has_vouchers and not books.has_pooled_tax:
        return without, books.shown_rates
    costs = books.postings.filter(pl.col("role") == COST)
    votes = _votes(entries, costs)
    rates = _accepted(votes)
    if not any(rates):
        return without, books.shown_rates
    rated = _rated(entries, votes, rates)
    if rated["rate"].null_count() and entries["tax_code"].null_count() < entries.height:
        more = _votes_of_rests(rated, costs)
        rates = sorted({*rates, *_accepted(more)})
        rated = _rated(entries, pl.concat([votes, more]), rates)
    return rated.with_columns(net=net_of("rate")).drop("rate"), tuple(
        sorted({*rates, *books.shown_rates} - {0})
    )


def _rated(entries: pl.DataFrame, votes: pl.DataFrame, rates: Sequence[int]) -> pl.DataFrame:
    """Return entries with the rate of their kind, null where its totals do not agree on one."""
    votes = votes.filter(pl.col("rate").is_in(rates))
    rated = entries.with_columns(rate=pl.lit(None, pl.Int64))
    has_codes = entries["tax_code"].null_count() < entries.height
    # Entries without a code are a kind of their own where others have one.
    kinds = (["key", "tax_code"], ["tax_code"]) if has_codes else (["key"], ["tax_code"])
    for least, kind in itertools.product((SEVERAL, 1), kinds):
        counts = votes.group_by(*kind, "rate").len().sort("len", descending=True)
        best = counts.group_by(kind, maintain_order=True).agg(
            best=pl.first("rate"), top=pl.first("len"), every=pl.sum("len")
        )
        best = best.filter(pl.col("top") >= MOST * pl.col("every"), pl.col("top") >= least).select(
            *kind, "best"
        )
        rated = rated.join(best, on=kind, how="left", nulls_equal=True, maintain_order="left")
        rated = rated.with_columns(rate=pl.coalesce("rate", "best")).drop("best")
    return rated


def net_of(rate: str | int) -> pl.Expr:
    """Return the gross amount without its tax, rounded half away from zero."""
    gross, divisor = pl.col("gross"), THOUSANDTHS + (pl.col(rate) if isinstance(rate, str) else pl.lit(rate))
    return gross.sign() * ((gross.abs() * 2 * THOUSANDTHS + divisor) // (2 * divisor))


def nets(gross: int, rates: Iterable[int]) -> list[int]:
    """Return a gross amount without its tax, by each rate in thousandths; a half is rounded either way."""
    sign, found = 1 if gross > 0 else -1, []
    for rate in rates:
        whole, left = divmod(abs(gross) * THOUSANDTHS, THOUSANDTHS + rate)
        found += [
            sign * (whole + is_up)
            for is_up in (0, 1)
            if (1 - 2 * is_up) * (2 * left - THOUSANDTHS - rate) <= 0
        ]
    return found


def meets_by_rates(gross: Sequence[int], rates: Iterable[int], amount: int) -> bool:
    """Whether an amount is the sum of gross amounts, each without its tax, if any, at one of the rates.

    Of many gross amounts, and where no rate is known, it is enough that it is between the gross and that
    without the largest tax.
    """
    if not rates or len(gross) > MOST_RATED:
        taxed, other = (
            sum(own for own in gross if (own > 0) == is_positive) for is_positive in (True, False)
        )
        least, most = (taxed * UNTAXED + other, taxed + other * UNTAXED)
        return bool(least - len(gross) <= amount <= most + len(gross))
    sums = {0}
    for own in gross:
        sums = {so_far + net for net in nets(own, (0, *rates)) for so_far in sums}
    slack = len(gross) // 2
    return any(abs(net - amount) <= slack for net in sums)


def _votes(entries: pl.DataFrame, postings: pl.DataFrame) -> pl.DataFrame:
    """Return totals that meet a rate, in thousandths, to the cent: key, tax_code, ours, theirs, slack, rate.

    Days and months are compared with the total of the postings, batches and months also with each posting,
    because the account may have others.
    """
    entries = entries.filter("is_known", "is_home")
    columns = ["key", "tax_code", "ours", "theirs", "slack"]
    totals = []
    for key in (["key", "day"], ["key", "month"], ["key", "batch"]):
        ours = (
            entries.filter(pl.col(key[1]).is_not_null())
            .group_by(key)
            .agg(
                ours=pl.sum("gross"),
                slack=rounding(pl.len()),
                tax_code=pl.first("tax_code"),
                kinds=pl.n_unique("tax_code"),
                first=pl.min("day"),
                last=pl.max("day"),
            )
        )
        ours = ours.filter(pl.col("kinds") == 1)
        if key[1] != "batch":
            totals.append(
                ours.join(postings.group_by(key).agg(theirs=pl.sum("amount")), on=key).select(columns)
            )
        if key[1] != "day" and ours.height * postings.height <= MOST_PAIRS:
            each = ours.join(postings.select("key", theirs="amount", when="day"), on="key")
            is_near = (pl.col("when") >= pl.col("first") - EARLIER) & (
                pl.col("when") <= pl.col("last") + LATER
            )
            totals.append(each.filter(is_near).select(columns))
    return _meeting(pl.concat(totals).unique())


def _votes_of_rests(rated: pl.DataFrame, postings: pl.DataFrame) -> pl.DataFrame:
    """Return the votes for the rate of one kind by what totals of a day have besides kinds of known rates."""
    is_open, key = pl.col("rate").is_null(), ["key", "day"]
    ours = (
        rated.filter("is_known", "is_home")
        .with_columns(own_net=net_of("rate"))
        .group_by(key)
        .agg(
            ours=pl.col("gross").filter(is_open).sum(),
            rated=pl.sum("own_net"),
            slack=rounding(pl.len()),
            tax_code=pl.col("tax_code").filter(is_open).first(),
            kinds=pl.col("tax_code").filter(is_open).n_unique(),
        )
        .filter(pl.col("kinds") == 1, pl.col("rated") != 0)
    )
    both = ours.join(postings.group_by(key).agg(theirs=pl.sum("amount")), on=key)
    rest = pl.col("theirs") - pl.col("rated")
    return _meeting(both.select("key", "tax_code", "ours", rest.alias("theirs"), "slack"))


def _meeting(totals: pl.DataFrame) -> pl.DataFrame:
    """Return the totals that meet a rate, with it."""
    ours_, theirs_, slack, rate = (pl.col(name) for name in ("ours", "theirs", "slack", "rate"))
    votes = totals.filter(theirs_ != 0)
    votes = votes.with_columns(rate=((ours_ / theirs_ - 1) * THOUSANDTHS).round().cast(pl.Int64))
    meets = ((ours_ * THOUSANDTHS / (THOUSANDTHS + rate)).round() - theirs_).abs() <= slack
    return votes.filter(rate.is_between(0, LARGEST), meets, theirs_.abs() > TELLING * (slack + 1))


def _accepted(votes: pl.DataFrame) -> list[int]:
    """Return the rates that so many totals hardly meet by chance; whole percents are fewer than tenths."""
    rate, theirs, slack = pl.col("rate"), pl.col("theirs").abs(), pl.col("slack")
    width = pl.when(rate % 10 == 0).then(10).when(rate % 5 == 0).then(5).otherwise(1)
    chance = (2 * slack + 1) / (theirs * width / THOUSANDTHS)
    rates = votes.group_by("rate").agg(count=pl.len(), chance=chance.log().sum())
    is_no_chance = (pl.col("count") > 1) & (pl.col("chance").exp() * votes.height < BY_CHANCE)
    often = pl.col("count") >= SHARE * votes.height
    return rates.filter((rate == 0) | is_no_chance, often)["rate"].to_list()
