"""Entries in currencies that the ledger does not have: the rates at which it books them, and the groups that these explain.

A group of entries and a total of the ledger show a rate between two bounds, which rounding leaves. A rate that several
groups share, closer than chance, is one of the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from bktools.ledger.explanation import EARLIER, LARGEST_TAX, LATER, Explained
from bktools.ledger.habits import CONTRA, COST
from bktools.ledger.steps import Grain, How, Measure
from bktools.ledger.taxes import rounding

# Rounding leaves so much of each converted amount open, in minor units.
ROUNDING = 1.2
# Any rate is within a factor of so many powers of e; rates of one currency in a ledger are so near each other.
ANY, NEAR = 7.0, 0.1
# Rates of one currency on different days; a group of one currency alone is booked at any of them.
DAILY = 0.03
# A rate of so many days is that of a time, not of a day.
STEADY = 3
# So many groups share a rate by chance at most.
BY_CHANCE = 0.01
# Groups and totals of many days are compared one by one up to so many pairs.
MOST_PAIRS = 2_000_000
# A wider range of rates says nothing.
WIDEST = 0.01


@dataclass(frozen=True)
class Rate:
    """A rate of a currency, in the ledger's units for one, how far it is open, and the days of its groups."""

    currency: str
    value: float
    width: float
    days: frozenset[int]


def exchanged(state: Explained, grain: Grain, lag: int) -> tuple[Explained, tuple[Rate, ...]]:
    """Return the explanation with groups in which entries of other currencies are converted, and the rates."""
    rates: tuple[Rate, ...] = ()
    if state.entries.height == state.home.height or not state.postings.height:
        return state, rates
    for candidates in _candidates(state, grain, lag):
        found, rates = _all_shared(candidates, rates)
        found = pl.concat([found, _known(candidates, rates), _alone(candidates, rates)]).unique(
            "x", keep="first", maintain_order=True
        )
        found = found.unique("y", keep="none", maintain_order=True)
        found = _agreeing(state, candidates, found, rates)
        state = _taken(state, candidates, found)
    return state, rates


@dataclass(frozen=True)
class _Candidates:
    """Groups (x) and totals (y) that may be of each other: `pairs`; the entries of groups and the postings of totals.

    `parts` has the sum of each other currency of a group.
    """

    pairs: pl.DataFrame
    parts: pl.DataFrame
    members: pl.DataFrame
    lines: pl.DataFrame
    grain: Grain


def _candidates(state: Explained, grain: Grain, lag: int) -> Iterator[_Candidates]:
    """Yield what may be of each other by account, and by whole vouchers where the tax of accounts is pooled."""
    measure = Measure.NET if state.has_net else Measure.GROSS
    entries = state.entries.filter(pl.col(grain.group[0]).is_not_null(), pl.col(measure.ours).is_not_null())
    postings = state.used.filter(pl.col(measure.theirs).is_not_null())
    lines = postings.select("p", y="p", home="key", when="day", total=measure.theirs)
    yield _pairs(entries, lines, [*grain.group, "home"], ["home"], measure, grain, lag)
    if state.books.has_pooled_tax:
        sides = state.books.postings.filter(pl.col("voucher").is_not_null(), pl.col("role") != CONTRA)
        is_cost = pl.col("role") == COST
        totals = sides.group_by("voucher").agg(
            total=pl.sum("amount"), when=pl.min("day"), accounts=pl.col("account").filter(is_cost).unique().hash().sum()
        )
        lines = sides.filter(is_cost).select("p", "voucher").join(totals, on="voucher").rename({"voucher": "y"})
        # A voucher has every entry of its group, also those that their account explains already.
        whole = state.every_entry.filter(pl.col(grain.group[0]).is_not_null())
        yield _pairs(whole, lines, list(grain.group), ["accounts"], Measure.GROSS, grain, lag)


def _pairs(
    entries: pl.DataFrame,
    lines: pl.DataFrame,
    group: list[str],
    join: list[str],
    measure: Measure,
    grain: Grain,
    lag: int,
) -> _Candidates:
    value, is_home = pl.col(measure.ours), pl.col("is_home")
    foreign = pl.col("currency").filter(~is_home)
    groups = entries.group_by(group).agg(
        known=value.filter(is_home).sum(), foreign=value.filter(~is_home).sum(), at_home=is_home.sum(),
        currency=foreign.first(), currencies=foreign.n_unique(), count=pl.len(), first=pl.min("day"), last=pl.max("day"),
        smallest=value.abs().min(), accounts=pl.col("account").unique().hash().sum(),
    )  # fmt: skip
    groups = groups.filter(pl.col("currencies") > 0, pl.col("foreign") != 0).with_row_index("x")
    parts = entries.filter(~is_home).join(groups.select(*group, "x"), on=group)
    parts = parts.group_by("x", part="currency").agg(amount=value.sum())
    members = entries.join(groups.select(*group, "x"), on=group).select("x", "e")
    units = lines.select("y", "when", "total", *join).unique("y")
    if not grain.is_long and lag == 0:
        pairs = groups.with_columns(when="last").join(units, on=[*join, "when"])
    elif groups.height * units.height <= MOST_PAIRS:
        pairs = groups.join(units, on=join)
    else:
        pairs = groups[:0].join(units[:0], on=join)
    after = pl.col("when") - pl.col("last")
    latest = LATER if grain.is_long else max(lag, 0)
    pairs = pairs.filter(pl.col("when") - pl.col("first") >= (-EARLIER if grain.is_long else 0), after <= latest)
    # Gross amounts of the ledger's own currency are exact.
    at_home = rounding(pl.col("at_home")) if measure is Measure.NET else pl.lit(0)
    slack = at_home + ROUNDING * (pl.col("count") - pl.col("at_home"))
    rest = pl.col("total") - pl.col("known")
    pairs = pairs.with_columns(rate=rest / pl.col("foreign"), width=(2 * slack / rest.abs()), slack=slack)
    return _Candidates(pairs.filter(pl.col("rate") > 0), parts, members, lines.select("y", "p"), grain)


def _all_shared(candidates: _Candidates, rates: tuple[Rate, ...]) -> tuple[pl.DataFrame, tuple[Rate, ...]]:
    """Return the pairs that share a rate, and all rates: of groups with one other currency, then of those with one unknown rate."""
    found, rates = _shared(candidates.pairs, rates)
    while True:
        left = candidates.pairs.join(found, on="x", how="anti").join(found, on="y", how="anti")
        more, every = _shared(pl.concat([left.filter(pl.col("currencies") == 1), _with_one_unknown(left, candidates.parts, rates)]), rates)
        if every == rates:
            return found, rates
        found, rates = pl.concat([found, more]), every


def _with_one_unknown(pairs: pl.DataFrame, parts: pl.DataFrame, rates: tuple[Rate, ...]) -> pl.DataFrame:
    """Return the pairs of several currencies of which all but one have a known rate, as pairs of that one alone."""
    steady = _steady(rates)
    several = pairs.filter(pl.col("currencies") > 1).select("x", "y").join(parts, on="x").join(steady, on="part", how="left")
    converted = pl.col("amount") * pl.col("value")
    is_known = pl.col("value").is_not_null()
    rests = several.group_by("x", "y").agg(
        unknown=(~is_known).sum(), converted=converted.filter(is_known).sum(), more=(converted.abs() * pl.col("open")).sum(),
        part=pl.col("part").filter(~is_known).first(), of_part=pl.col("amount").filter(~is_known).first(),
    ).filter(pl.col("unknown") == 1)  # fmt: skip
    found = pairs.drop("currency", "currencies").join(rests, on=["x", "y"])
    rest = pl.col("total") - pl.col("known") - pl.col("converted")
    slack = pl.col("slack") + pl.col("more")
    found = found.with_columns(
        currency="part", currencies=pl.lit(1, pl.UInt32), foreign="of_part", slack=slack, rate=rest / pl.col("of_part"),
        width=2 * slack / rest.abs(),
    )  # fmt: skip
    return found.filter(pl.col("rate") > 0).select(pairs.columns)


def _steady(rates: tuple[Rate, ...]) -> pl.DataFrame:
    """Return the currencies that have one rate: part, value, open."""
    single = [rate for rate in rates if sum(other.currency == rate.currency for other in rates) == 1]
    return pl.DataFrame(
        [(rate.currency, rate.value, rate.width) for rate in single],
        {"part": pl.String, "value": pl.Float64, "open": pl.Float64},
        orient="row",
    )


def _shared(pairs: pl.DataFrame, rates: tuple[Rate, ...]) -> tuple[pl.DataFrame, tuple[Rate, ...]]:
    """Return the pairs that share a rate which chance does not explain, and all rates."""
    pairs = pairs.filter(pl.col("width") <= WIDEST, pl.col("currencies") == 1)
    found = [pairs[:0].select("x", "y")]
    for (currency,), own in pairs.group_by("currency", maintain_order=True):
        left = own
        known = [rate.value for rate in rates if rate.currency == currency]
        while left.height > 1:
            if known:
                left = left.filter((pl.col("rate") / known[0]).log().abs() <= NEAR)
            best, chance = _best(left, 2 * NEAR if known else ANY)
            if best is None or chance > BY_CHANCE:
                break
            value = float(best["rate"].mean())  # type: ignore[arg-type]
            known.append(value)
            width = float(best["width"].min())  # type: ignore[arg-type]
            rates = (*rates, Rate(str(currency), value, width, frozenset(best["when"].to_list())))
            found.append(best.select("x", "y"))
            taken_x, taken_y = best["x"].implode(), best["y"].implode()
            left = left.filter(~pl.col("x").is_in(taken_x), ~pl.col("y").is_in(taken_y))
    return pl.concat(found), rates


def _best(pairs: pl.DataFrame, extent: float) -> tuple[pl.DataFrame | None, float]:
    """Return the pairs of most groups that share a rate, and how likely it is that chance brings them together."""
    if pairs.height < 2:  # noqa: PLR2004 - one shares nothing
        return None, 1.0
    rate, width = pairs["rate"].to_numpy(), pairs["width"].to_numpy()
    low, high = rate * (1 - width / 2), rate * (1 + width / 2)
    weights = -np.log(np.minimum(width * pairs.height / extent, 0.99))
    # Where most of the ranges overlap: each adds its weight where it begins, and takes it away where it ends.
    points, steps = np.concatenate([low, high]), np.concatenate([weights, -weights])
    order = np.lexsort((-steps, points))
    point = points[order][int(np.cumsum(steps[order]).argmax())]
    at = (low <= point) & (point <= high)
    best = pairs.filter(pl.Series(at)).sort("width").unique("x", keep="first", maintain_order=True)
    best = best.unique("y", keep="none", maintain_order=True)
    if best.height < 2:  # noqa: PLR2004
        return None, 1.0
    # The first one sets the rate, the others meet it.
    widths = best["width"].to_numpy()[:-1] if best.height > 1 else np.ones(1)
    return best, float(np.exp(np.log(np.minimum(widths * pairs.height / extent, 1)).sum()))


def _known(candidates: _Candidates, rates: tuple[Rate, ...]) -> pl.DataFrame:
    """Return the pairs whose total is that of the group at known rates, of that day or of all days."""
    pairs = candidates.pairs
    if not rates:
        return pairs[:0].select("x", "y")
    of_day = [(rate.currency, day, rate.value, rate.width) for rate in rates for day in rate.days]
    numbers = {"value": pl.Float64, "open": pl.Float64}
    days = pl.DataFrame(of_day, {"part": pl.String, "when": pl.Int64, **numbers}, orient="row")
    days = days.unique(["part", "when"], keep="none")
    parts = pairs.select("x", "y", "when").join(candidates.parts, on="x")
    parts = parts.join(days, on=["part", "when"], how="left").join(_steady(rates), on="part", how="left", suffix="_of_all")
    value = pl.coalesce("value", "value_of_all")
    converted = pl.col("amount") * value
    parts = parts.with_columns(converted=converted, open=(converted.abs() * pl.coalesce("open", "open_of_all")))
    sums = parts.group_by("x", "y").agg(
        is_known=pl.col("converted").is_not_null().all(), converted=pl.sum("converted"), open=pl.sum("open")
    )
    fitting = pairs.join(sums, on=["x", "y"]).with_columns(leaves=pl.col("slack") + pl.col("open"))
    off = (pl.col("total") - pl.col("known") - pl.col("converted")).abs()
    fitting = fitting.filter("is_known", off <= pl.col("leaves"), pl.col("leaves") < pl.col("smallest") / 2)
    return fitting.unique("x", keep="none", maintain_order=True).select("x", "y")


def _alone(candidates: _Candidates, rates: tuple[Rate, ...]) -> pl.DataFrame:
    """Return the pairs that a rate near the others explains, where it leaves less open than half the smallest entry."""
    pairs = candidates.pairs.filter(pl.col("currencies") == 1)
    found = [pairs[:0].select("x", "y")]
    for (currency,), own in pairs.group_by("currency", maintain_order=True):
        of_currency = [rate for rate in rates if rate.currency == currency]
        known = [rate.value for rate in of_currency]
        if known and sum(len(rate.days) for rate in of_currency) >= STEADY * len(known):
            # One rate holds for many days, so that no other is one of the ledger.
            found.append(_at_known(own, of_currency))
            continue
        if known:
            low, high = min(known) * (1 - DAILY / 4), max(known) * (1 + DAILY / 4)
        else:
            plain = own.filter(pl.col("at_home") == 0).unique("x", keep="none").unique("y", keep="none")
            if plain.height < 3:  # noqa: PLR2004 - fewer show no rate
                continue
            middle = float(plain["rate"].median())  # type: ignore[arg-type]
            low, high = middle * (1 - DAILY), middle * (1 + DAILY)
            near = plain.filter(pl.col("rate").is_between(low, high)).height
            if near < 3 or 2 * near < plain.height:  # noqa: PLR2004
                continue
        is_near = pl.col("rate").is_between(low, high)
        leaves = pl.col("foreign").abs() * (high - low) + pl.col("slack")
        is_whole = (pl.col("at_home") == 0) & (pl.col("count") == 1) | (leaves < pl.col("smallest") / 2)
        fitting = own.filter(is_near, is_whole)
        found.append(fitting.unique("x", keep="none", maintain_order=True).select("x", "y"))
    return pl.concat(found)


def _at_known(pairs: pl.DataFrame, rates: Sequence[Rate]) -> pl.DataFrame:
    """Return the pairs of one currency whose rate is a known one within rounding, and that is small beside the entries."""
    off = [(pl.col("rate") / rate.value - 1).abs() <= pl.col("width") / 2 + rate.width for rate in rates]
    leaves = pl.col("foreign").abs() * max(rate.value * rate.width for rate in rates) + pl.col("slack")
    fitting = pairs.filter(pl.any_horizontal(off), leaves < pl.col("smallest") / 2)
    return fitting.unique("x", keep="none", maintain_order=True).select("x", "y")


def _agreeing(state: Explained, candidates: _Candidates, found: pl.DataFrame, rates: tuple[Rate, ...]) -> pl.DataFrame:
    """Return the pairs of whole vouchers that agree on each account, too: net where this is known, else within the largest tax."""
    if "accounts" not in candidates.pairs.columns or not found.height:
        return found
    usual = pl.DataFrame(
        [(rate.currency, rate.value) for rate in rates], {"currency": pl.String, "usual": pl.Float64}, orient="row"
    ).unique("currency")
    own = candidates.pairs.select("x", "y", implied=pl.when(pl.col("currencies") == 1).then("rate"))
    members = candidates.members.join(found, on="x").join(own, on=["x", "y"]).join(
        state.every_entry.select("e", "account", "gross", "net", "currency", "is_home"), on="e"
    )  # fmt: skip
    members = members.join(usual, on="currency", how="left")
    rate = pl.when("is_home").then(1.0).otherwise(pl.coalesce("implied", "usual"))
    foreign = pl.when("is_home").then(0.0).otherwise(pl.col("gross").abs() * rate)
    ours = members.group_by("x", "account").agg(
        gross=(pl.col("gross") * rate).sum(), net=(pl.col("net") * rate).sum(), is_net=pl.col("net").is_not_null().all(),
        leaves=rounding(pl.len()) + ROUNDING * (~pl.col("is_home")).sum() + 0.002 * foreign.sum(),
    )  # fmt: skip
    lines = candidates.lines.join(found, on="y").join(state.books.postings.select("p", "account", "amount"), on="p")
    both = ours.join(lines.group_by("x", "account").agg(pl.sum("amount")), on=["x", "account"], how="left")
    low, high = (bound("gross", pl.col("gross") / LARGEST_TAX) for bound in (pl.min_horizontal, pl.max_horizontal))
    leaves, amount = pl.col("leaves") + 1, pl.col("amount")
    is_net = (pl.col("net") - amount).abs() <= leaves
    fits = pl.when("is_net").then(is_net).otherwise(amount.is_between(low - leaves, high + leaves))
    wrong = both.filter(~fits.fill_null(value=False))["x"].unique()
    return found.filter(~pl.col("x").is_in(wrong.implode()))


def _taken(state: Explained, candidates: _Candidates, found: pl.DataFrame) -> Explained:
    found = found.with_columns(gid=pl.col("x").cast(pl.Int64))
    members = candidates.members.join(found, on="x").select("gid", "e")
    members = members.join(state.entries.select("e"), on="e", how="semi")
    lines = candidates.lines.join(found, on="y").select("gid", "p")
    lines = lines.join(state.postings.select("p"), on="p", how="semi")
    members = members.join(lines, on="gid", how="semi")
    lines = lines.join(members, on="gid", how="semi")
    return state.take(How.EXCHANGED, members, lines, grain=candidates.grain)
