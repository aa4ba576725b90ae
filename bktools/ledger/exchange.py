"""Entries in currencies that the ledger lacks: the rates of their bookings, and the groups they explain.

A group of entries and a total of the ledger show a rate between two bounds, which rounding leaves. A rate
that several groups share, closer than chance, is one of the ledger.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from bktools.ledger.explained import EARLIER, KNOWN, LARGEST_TAX, LATER, Explained
from bktools.ledger.habits import CONTRA, COST
from bktools.ledger.rounding import rounding, rounds_each
from bktools.ledger.steps import Grain, How, Measure

# Rounding leaves so much of each converted amount open, in minor units.
ROUNDING = 1.2
# Any rate is within a factor of so many powers of e; rates of one currency are so near each other.
ANY, NEAR = 7.0, 0.1
# Rates of one currency on different days; a group of one currency alone is booked at any of them.
DAILY = 0.03
# A rate of so many days is that of a time, not of a day.
STEADY = 3
# Other rates among its days are errors up to this part of its days.
SELDOM = 0.25
# So many groups share a rate by chance at most.
BY_CHANCE = 0.01
# Groups and totals of many days are compared one by one up to so many pairs.
MOST_PAIRS = 2_000_000
# Sums of one time that are solved together, and determinants that are as good as zero.
MOST_SOLVED, SINGULAR = 30, 1e-6
# Rounding usually leaves this part of its largest effect; then so many more sums than rates have to agree.
USUAL, ENOUGH = 0.25, 4
# An equation is off by so many times its own rounding at most, whatever the rates leave open.
MOST_OFF = 3.0
# A rate leaves so much open, as a multiple of what rounding does.
OPEN = 0.5
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
    """Return the explanation with groups whose entries of other currencies are converted, and the rates."""
    if state.entries.height == state.home.height or not state.postings.height:
        return state, ()
    if state.share >= KNOWN / 2:
        return _exchanged(state, grain, lag)
    # Where every sum holds other currencies, no grain is shown yet: that which explains most.
    each = [_exchanged(state, one, lag) for one in Grain]
    best, rates = max(each, key=lambda one: -one[0].entries.height)
    # Rates of few sums are there by chance.
    return (best, rates) if best.share >= KNOWN / 2 else (state, ())


def _exchanged(state: Explained, grain: Grain, lag: int) -> tuple[Explained, tuple[Rate, ...]]:
    rates: tuple[Rate, ...] = ()
    for candidates in _candidates(state, grain, lag):
        rates = _merged((*rates, *_solved(candidates, rates)))
        known = _known(candidates, rates).unique("y", keep="none", maintain_order=True)
        left = candidates.without(known)
        shared, rates = _all_shared(left, rates)
        found = pl.concat([shared, _known(left, rates), _alone(left, rates)]).unique(
            "x", keep="first", maintain_order=True
        )
        found = pl.concat([known, found.unique("y", keep="none", maintain_order=True)])
        found = _agreeing(state, candidates, found, rates)
        state = _taken(state, candidates, found)
    return state, rates


def rates_by_day(rates: tuple[Rate, ...]) -> Callable[[str, int], Rate | None]:
    """Return what gives the rate of a currency on a day: the only one of the day, else of all days."""
    of_day: dict[tuple[str, int], list[Rate]] = defaultdict(list)
    of_all: dict[str, list[Rate]] = defaultdict(list)
    for rate in _of_their_times(rates):
        of_all[rate.currency].append(rate)
        for day in rate.days:
            of_day[rate.currency, day].append(rate)

    def rate_of(currency: str, day: int) -> Rate | None:
        found = of_day.get((currency, day)) or of_all.get(currency) or []
        return found[0] if len(found) == 1 else None

    return rate_of


def _of_their_times(rates: tuple[Rate, ...]) -> tuple[Rate, ...]:
    """Return the rates; one of many days is that of all days of its months, or of all days between.

    This is so where other rates are seldom among these days: they show an error of theirs.
    """
    times = {}
    for rate in rates:
        others = {day for other in rates if other.currency == rate.currency for day in other.days} - rate.days
        for time in (_months_of(rate.days), frozenset(range(min(rate.days), max(rate.days) + 1))):
            if len(rate.days) >= STEADY and len(others & time) <= SELDOM * len(rate.days):
                times[rate] = time
                break
    found = []
    for rate in rates:
        of_others = {
            day
            for other, time in times.items()
            if other.currency == rate.currency and other is not rate
            for day in time
        }
        days = times.get(rate, rate.days) - of_others
        found += [replace(rate, days=days)] if days else []
    return tuple(found)


def _months_of(days: Iterable[int]) -> frozenset[int]:
    """Return all days of the months of some days."""
    months = np.unique(np.array([*days], "datetime64[D]").astype("datetime64[M]"))
    spans = ((month.astype("datetime64[D]"), (month + 1).astype("datetime64[D]")) for month in months)
    return frozenset(day for span in spans for day in range(*(int(end.astype(np.int64)) for end in span)))


def _merged(rates: tuple[Rate, ...]) -> tuple[Rate, ...]:
    """Return the rates; equal ones of a currency, within their widths, are one with the days of all."""
    found: list[Rate] = []
    for rate in sorted(rates, key=lambda rate: (rate.currency, rate.width)):
        same = next((one for one in found if one.currency == rate.currency and _are_same(one, rate)), None)
        if same is None:
            found.append(rate)
        else:
            found[found.index(same)] = replace(same, days=same.days | rate.days)
    return tuple(found)


def _are_same(one: Rate, other: Rate) -> bool:
    return abs(one.value / other.value - 1) <= (one.width + other.width) / 2


@dataclass(frozen=True)
class _Candidates:
    """Groups (x) and totals (y) that may match: `pairs`, the groups' entries, and the totals' postings.

    `parts` has the sum of each other currency of a group.
    """

    pairs: pl.DataFrame
    parts: pl.DataFrame
    members: pl.DataFrame
    lines: pl.DataFrame
    grain: Grain

    def without(self, found: pl.DataFrame) -> _Candidates:
        """Return the candidates without groups and totals that are found."""
        return replace(self, pairs=_without(self.pairs, found))


def _candidates(state: Explained, grain: Grain, lag: int) -> Iterator[_Candidates]:
    """Yield candidates for each other by account, and by whole vouchers where accounts share their tax."""
    measure = Measure.NET if state.has_net else Measure.GROSS
    entries = state.entries.filter(pl.col(grain.group[0]).is_not_null(), pl.col(measure.ours).is_not_null())
    postings = state.used.filter(pl.col(measure.theirs).is_not_null())
    lines = postings.select("p", y="p", home="key", when="day", total=measure.theirs)
    # The net of a sum is open by what rounding leaves, of entries in the ledger's currency, too.
    is_open = measure is Measure.NET and not rounds_each(state)
    own = _pairs(entries, lines, [*grain.group, "home"], ["home"], measure, grain, lag, is_open=is_open)
    yield replace(own, pairs=_without_named(own, postings))
    if state.books.has_pooled_tax:
        sides = state.books.postings.filter(pl.col("voucher").is_not_null(), pl.col("role") != CONTRA)
        is_cost = pl.col("role") == COST
        totals = sides.group_by("voucher").agg(
            total=pl.sum("amount"),
            when=pl.min("day"),
            accounts=pl.col("account").filter(is_cost).unique().hash().sum(),
        )
        lines = (
            sides.filter(is_cost).select("p", "voucher").join(totals, on="voucher").rename({"voucher": "y"})
        )
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
    *,
    is_open: bool = False,
) -> _Candidates:
    value, is_home = pl.col(measure.ours), pl.col("is_home")
    foreign = pl.col("currency").filter(~is_home)
    groups = entries.group_by(group).agg(
        known=value.filter(is_home).sum(),
        foreign=value.filter(~is_home).sum(),
        at_home=is_home.sum(),
        currency=foreign.first(),
        currencies=foreign.n_unique(),
        count=pl.len(),
        first=pl.min("day"),
        last=pl.max("day"),
        smallest=value.abs().min(),
        accounts=pl.col("account").unique().hash().sum(),
    )
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
    pairs = pairs.filter(
        pl.col("when") - pl.col("first") >= (-EARLIER if grain.is_long else 0), after <= latest
    )
    # Gross amounts of the ledger's own currency are exact.
    at_home = rounding(pl.col("at_home")) if is_open else pl.lit(0)
    converted = pl.col("count") - pl.col("at_home")
    slack = at_home + ROUNDING * pl.min_horizontal(converted, 2 * converted.sqrt())
    rest = pl.col("total") - pl.col("known")
    pairs = pairs.with_columns(rate=rest / pl.col("foreign"), width=(2 * slack / rest.abs()), slack=slack)
    return _Candidates(pairs.filter(pl.col("rate") > 0), parts, members, lines.select("y", "p"), grain)


def _without_named(candidates: _Candidates, postings: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs without postings that name an entry of another group."""
    named = postings.filter(pl.col("names").is_not_null()).select(y="p", e="names")
    own = named.join(candidates.members, on="e").select("x", "y")
    others = candidates.pairs.join(named, on="y", how="semi").join(own, on=["x", "y"], how="anti")
    return candidates.pairs.join(others, on=["x", "y"], how="anti", maintain_order="left")


def _without(pairs: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    return pairs.join(found, on="x", how="anti").join(found, on="y", how="anti")


def _all_shared(candidates: _Candidates, rates: tuple[Rate, ...]) -> tuple[pl.DataFrame, tuple[Rate, ...]]:
    """Return the pairs that share a rate, and all rates.

    Groups with one other currency come first, then those with one unknown rate.
    """
    found, rates = _shared(candidates.pairs, rates)
    while True:
        left = _without(candidates.pairs, found)
        more, every = _shared(
            pl.concat(
                [left.filter(pl.col("currencies") == 1), _with_one_unknown(left, candidates.parts, rates)]
            ),
            rates,
        )
        if every == rates:
            return found, rates
        found, rates = pl.concat([found, more]), every


def _with_one_unknown(pairs: pl.DataFrame, parts: pl.DataFrame, rates: tuple[Rate, ...]) -> pl.DataFrame:
    """Return the pairs of several currencies with one unknown rate, as pairs of that currency alone."""
    steady = _steady(rates)
    several = (
        pairs.filter(pl.col("currencies") > 1)
        .select("x", "y")
        .join(parts, on="x")
        .join(steady, on="part", how="left")
    )
    converted = pl.col("amount") * pl.col("value")
    is_known = pl.col("value").is_not_null()
    rests = (
        several.group_by("x", "y")
        .agg(
            unknown=(~is_known).sum(),
            converted=converted.filter(is_known).sum(),
            more=(converted.abs() * pl.col("open")).sum(),
            part=pl.col("part").filter(~is_known).first(),
            of_part=pl.col("amount").filter(~is_known).first(),
        )
        .filter(pl.col("unknown") == 1)
    )
    found = pairs.drop("currency", "currencies").join(rests, on=["x", "y"])
    rest = pl.col("total") - pl.col("known") - pl.col("converted")
    slack = pl.col("slack") + pl.col("more")
    found = found.with_columns(
        currency="part",
        currencies=pl.lit(1, pl.UInt32),
        foreign="of_part",
        slack=slack,
        rate=rest / pl.col("of_part"),
        width=2 * slack / rest.abs(),
    )
    return found.filter(pl.col("rate") > 0).select(pairs.columns)


def _solved(candidates: _Candidates, rates: tuple[Rate, ...]) -> list[Rate]:
    """Return the rates that the sums of one time show together, where they have several other currencies.

    As many sums as currencies give the rates, and others must meet them, more than chance explains.
    """
    known = {(rate.currency, day) for rate in rates for day in rate.days}
    keys = [name for name in candidates.grain.group if name in candidates.pairs.columns]
    found = []
    for _, sums in candidates.pairs.group_by([*keys, "when"], maintain_order=True):
        own = sums.unique("x", keep="none", maintain_order=True).unique("y", keep="none", maintain_order=True)
        if own["currencies"].max() in (None, 1) or own.height > MOST_SOLVED:
            continue
        parts = own.select("x", "when").join(candidates.parts, on="x", maintain_order="left")
        amounts = parts.pivot("part", index="x", values="amount", maintain_order=True).fill_null(0)
        names = amounts.columns[1:]
        if own.height < len(names) + 2 or any((name, own["when"][0]) in known for name in names):
            continue
        rest = (own["total"] - own["known"]).to_numpy().astype(float)
        solution = _best_solution(
            amounts.select(names).to_numpy().astype(float), rest, own["slack"].to_numpy()
        )
        if solution is not None:
            days = frozenset(own["when"].to_list())
            found += [Rate(name, *one, days) for name, one in zip(names, solution, strict=True)]
    return found


def _best_solution(
    amounts: np.ndarray, rest: np.ndarray, slack: np.ndarray
) -> list[tuple[float, float]] | None:
    """Return the rates, with widths, that most equations meet, if these are more than chance explains.

    Rounding is seldom as large as it may be. So the first search is for many equations that rounding hardly
    moves: an equation with an error does not change their rates.
    """
    close = _solution(amounts, rest, USUAL * slack, more=ENOUGH)
    return _solution(amounts, rest, slack, more=2) if close is None else close


def _solution(
    amounts: np.ndarray, rest: np.ndarray, slack: np.ndarray, *, more: int
) -> list[tuple[float, float]] | None:
    """Return the rates, each with its width, that so many more equations than rates meet within the slack."""
    count, unknowns = amounts.shape
    best: tuple[int, float, np.ndarray] | None = None
    combinations = [*itertools.combinations(range(count), unknowns)]
    for chosen in combinations:
        own = amounts[[*chosen]]
        if abs(np.linalg.det(own / np.abs(own).max())) < SINGULAR:
            continue
        inverse = np.linalg.inv(own)
        solved, error = inverse @ rest[[*chosen]], np.abs(inverse) @ slack[[*chosen]]
        if (solved <= 0).any():
            continue
        # Rates that few sums show badly would let any sum agree.
        tolerance = np.minimum(slack + np.abs(amounts) @ error, MOST_OFF * slack)
        meets = np.abs(amounts @ solved - rest) <= tolerance
        chance = np.prod(np.minimum(2 * tolerance / np.maximum(np.abs(rest), 1), 1), where=meets)
        chance /= np.prod(np.minimum(2 * tolerance / np.maximum(np.abs(rest), 1), 1)[[*chosen]])
        if best is None or (meets.sum(), -chance) > (best[0], -best[1]):
            best = (int(meets.sum()), float(chance), meets)
    if best is None or best[0] < unknowns + more or best[1] * len(combinations) > BY_CHANCE:
        return None
    own, left, open_ = amounts[best[2]], rest[best[2]], slack[best[2]]
    weighted = own / open_[:, None]
    solved = np.linalg.pinv(weighted) @ (left / open_)
    rows = np.arange(len(own))
    if any(np.linalg.matrix_rank(weighted[rows != row]) < unknowns for row in rows):
        # One sum alone shows a rate, and nothing shows whether it is wrong.
        return None
    error = np.sqrt((np.linalg.pinv(weighted) ** 2).sum(axis=1))
    return [(float(value), float(2 * width / value)) for value, width in zip(solved, error, strict=True)]


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
        of_currency = [rate for rate in rates if rate.currency == currency]
        known = [rate.value for rate in of_currency]
        # What a known rate explains shows no other one, and a day has one rate.
        left = own.filter(~_is_at(of_currency)) if known else own
        left = left.filter(~pl.col("when").is_in([*{day for rate in of_currency for day in rate.days}]))
        while left.height > 1:
            if known:
                left = left.filter((pl.col("rate") / known[0]).log().abs() <= NEAR)
            best, chance = _best(left, 2 * NEAR if known else ANY)
            if best is None or chance > BY_CHANCE:
                break
            value = float(best["rate"].mean())  # type: ignore[arg-type]
            known.append(value)
            # The second narrowest, so that each group is held to another one.
            width = float(best["width"].bottom_k(2).max())  # type: ignore[arg-type]
            rates = (*rates, Rate(str(currency), value, width, frozenset(best["when"].to_list())))
            leaves = pl.col("slack") + width * pl.col("foreign").abs() * value
            found.append(best.filter(leaves < pl.col("smallest") / 2).select("x", "y"))
            taken = [~pl.col(name).is_in(best[name].implode()) for name in ("x", "y", "when")]
            left = left.filter(*taken)
    return pl.concat(found), rates


def _best(pairs: pl.DataFrame, extent: float) -> tuple[pl.DataFrame | None, float]:
    """Return the pairs of most groups that share a rate, and the chance that they meet by accident."""
    if pairs.height < 2:
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
    if best.height < 2:
        return None, 1.0
    # The first one sets the rate, the others meet it.
    widths = best["width"].to_numpy()[:-1] if best.height > 1 else np.ones(1)
    return best, float(np.exp(np.log(np.minimum(widths * pairs.height / extent, 1)).sum()))


def _known(candidates: _Candidates, rates: tuple[Rate, ...]) -> pl.DataFrame:
    """Return the pairs whose total is that of the group at known rates, of that day or of all days."""
    pairs = candidates.pairs
    if not rates:
        return pairs[:0].select("x", "y")
    of_day = [
        (rate.currency, day, rate.value, rate.width) for rate in _of_their_times(rates) for day in rate.days
    ]
    numbers = {"value": pl.Float64, "open": pl.Float64}
    days = pl.DataFrame(of_day, {"part": pl.String, "when": pl.Int64, **numbers}, orient="row")
    days = days.unique(["part", "when"], keep="none")
    parts = pairs.select("x", "y", "when").join(candidates.parts, on="x")
    parts = parts.join(days, on=["part", "when"], how="left").join(
        _steady(rates), on="part", how="left", suffix="_of_all"
    )
    value = pl.coalesce("value", "value_of_all")
    converted = pl.col("amount") * value
    parts = parts.with_columns(
        converted=converted, open=(converted.abs() * pl.coalesce("open", "open_of_all"))
    )
    sums = parts.group_by("x", "y").agg(
        is_known=pl.col("converted").is_not_null().all(), converted=pl.sum("converted"), open=pl.sum("open")
    )
    fitting = pairs.join(sums, on=["x", "y"]).with_columns(leaves=pl.col("slack") + pl.col("open"))
    off = (pl.col("total") - pl.col("known") - pl.col("converted")).abs()
    fitting = fitting.filter("is_known", off <= pl.col("leaves"), pl.col("leaves") < pl.col("smallest") / 2)
    # An amount left open by the rate could hide a small error; rounding alone hides none that matters.
    fitting = fitting.filter(pl.col("open") <= OPEN * pl.col("slack"))
    return fitting.unique("x", keep="none", maintain_order=True).select("x", "y")


def _alone(candidates: _Candidates, rates: tuple[Rate, ...]) -> pl.DataFrame:
    """Return the pairs that a nearby rate explains to within half of the smallest entry."""
    pairs = candidates.pairs.filter(pl.col("currencies") == 1)
    found = [pairs[:0].select("x", "y")]
    rates = _of_their_times(rates)
    for (currency,), of_pairs in pairs.group_by("currency", maintain_order=True):
        own = of_pairs
        of_currency = [rate for rate in rates if rate.currency == currency]
        known = [rate.value for rate in of_currency]
        if known and sum(len(rate.days) for rate in of_currency) >= STEADY * len(known):
            # One rate holds for many days, so that no other is one of the ledger.
            found.append(_at_known(own, of_currency))
            continue
        if known:
            # A day has one rate, and another one near it would hide a small error in a sum.
            of_known_days = pl.col("when").is_in([*{day for rate in of_currency for day in rate.days}])
            has_rate = of_known_days & (pl.col("count") > 1)
            found.append(_at_known(own.filter(has_rate), of_currency))
            own = own.filter(~has_rate)
            low, high = min(known) * (1 - DAILY / 4), max(known) * (1 + DAILY / 4)
        else:
            plain = own.filter(pl.col("at_home") == 0).unique("x", keep="none").unique("y", keep="none")
            if plain.height < 3:
                continue
            middle = float(plain["rate"].median())  # type: ignore[arg-type]
            low, high = middle * (1 - DAILY), middle * (1 + DAILY)
            near = plain.filter(pl.col("rate").is_between(low, high)).height
            if near < 3 or 2 * near < plain.height:
                continue
        is_near = pl.col("rate").is_between(low, high)
        leaves = pl.col("foreign").abs() * (high - low) + pl.col("slack")
        is_whole = (pl.col("at_home") == 0) & (pl.col("count") == 1) | (leaves < pl.col("smallest") / 2)
        fitting = own.filter(is_near, is_whole)
        found.append(fitting.unique("x", keep="none", maintain_order=True).select("x", "y"))
    return pl.concat(found)


def _is_at(rates: Sequence[Rate]) -> pl.Expr:
    """Return whether the rate of a pair is one of these, of its day if that has one, within rounding."""
    is_of_any = ~pl.col("when").is_in([*{day for rate in rates for day in rate.days}])
    return pl.any_horizontal(
        ((pl.col("rate") / rate.value - 1).abs() <= pl.col("width") / 2 + rate.width)
        & (is_of_any | pl.col("when").is_in([*rate.days]))
        for rate in rates
    )


def _at_known(pairs: pl.DataFrame, rates: Sequence[Rate]) -> pl.DataFrame:
    """Return the pairs of one currency with a known rate, within a rounding that entries exceed by far."""
    leaves = pl.col("foreign").abs() * max(rate.value * rate.width for rate in rates) + pl.col("slack")
    fitting = pairs.filter(_is_at(rates), leaves < pl.col("smallest") / 2)
    return fitting.unique("x", keep="none", maintain_order=True).select("x", "y")


def _agreeing(
    state: Explained, candidates: _Candidates, found: pl.DataFrame, rates: tuple[Rate, ...]
) -> pl.DataFrame:
    """Return the pairs of whole vouchers that agree on each account, too.

    They agree net where the net is known, else within the largest tax.
    """
    if "home" in candidates.pairs.columns or not found.height:
        return found
    numbers = {"currency": pl.String, "when": pl.Int64, "usual": pl.Float64}
    of_days = [(rate.currency, day, rate.value) for rate in rates for day in rate.days]
    usual = pl.DataFrame(of_days, numbers, orient="row").unique(["currency", "when"])
    own = candidates.pairs.select("x", "y", "when", implied=pl.when(pl.col("currencies") == 1).then("rate"))
    members = (
        candidates.members.join(found, on="x")
        .join(own, on=["x", "y"])
        .join(state.every_entry.select("e", "account", "gross", "net", "currency", "is_home"), on="e")
    )
    members = members.join(usual, on=["currency", "when"], how="left")
    members = members.join(
        usual.unique("currency").select("currency", any="usual"), on="currency", how="left"
    )
    rate = pl.when("is_home").then(1.0).otherwise(pl.coalesce("implied", "usual", "any"))
    foreign = pl.when("is_home").then(0.0).otherwise(pl.col("gross").abs() * rate)
    ours = members.group_by("x", "account").agg(
        gross=(pl.col("gross") * rate).sum(),
        net=(pl.col("net") * rate).sum(),
        is_net=pl.col("net").is_not_null().all(),
        leaves=rounding(pl.len()) + ROUNDING * (~pl.col("is_home")).sum() + 0.002 * foreign.sum(),
    )
    lines = candidates.lines.join(found, on="y").join(
        state.books.postings.select("p", "account", "amount"), on="p"
    )
    both = ours.join(lines.group_by("x", "account").agg(pl.sum("amount")), on=["x", "account"], how="left")
    low, high = (
        bound("gross", pl.col("gross") / LARGEST_TAX) for bound in (pl.min_horizontal, pl.max_horizontal)
    )
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
