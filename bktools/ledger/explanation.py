"""What of the ledger is explained: totals of groups that agree to the cent, fine groups first."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from bktools.ledger.habits import CONTRA, COST, Books
from bktools.ledger.pairs import paired
from bktools.ledger.sides import Sides
from bktools.ledger.steps import OF_VOUCHERS, SUMS, Grain, How, Measure, Step
from bktools.ledger.taxes import meets_by_rates, rounding, with_net
from bktools.ledger.texts import MOST_NAMED, Texts, posting_text, texts_of

# Days that a posting may be dated before its entries, and after them.
EARLIER, LATER = 3, 45
# From this share of the money or of the entries on, the style is known.
KNOWN = 0.8
# The largest tax: what an account has of a whole voucher is at least the gross of its entries without it.
LARGEST_TAX = 1.35
# Whole vouchers test the rates of tax, if there are so many, by this share that must agree.
TESTS, AGREE = 5, 0.8
# Sums are dated when so many entries of them are booked on their day.
ON_THE_DAY = 0.95
# Ways to match entry by entry.
ONE_TO_ONE = (How.ENTRY_ID, How.DOCUMENT_NUMBER, How.EXACTLY, How.SOME_DAYS_LATER, How.TEXT)
# A ledger books sums when so many of the explained entries are in one.
OF_SUMS = 0.1


@dataclass(frozen=True, eq=False)
class Matched:
    """Groups that agree: `members` (gid, e) are explained by `lines` (gid, p)."""

    how: How
    grain: Grain
    measure: Measure
    members: pl.DataFrame
    lines: pl.DataFrame

    @property
    def is_alone(self) -> bool:
        """Whether each group is one entry and one posting."""
        return self.how in ONE_TO_ONE


@dataclass(frozen=True)
class Explained:
    """The entries and postings that are open, all of both, and the groups that agree."""

    entries: pl.DataFrame
    postings: pl.DataFrame
    every_entry: pl.DataFrame
    books: Books
    texts: Texts
    # Rates of tax in thousandths.
    rates: tuple[int, ...]
    # Whether entries have net amounts that can be trusted.
    has_net: bool
    groups: tuple[Matched, ...] = ()

    def take(
        self,
        how: How,
        members: pl.DataFrame,
        lines: pl.DataFrame,
        *,
        grain: Grain = Grain.ENTRY,
        measure: Measure = Measure.GROSS,
    ) -> Explained:
        """Return the explanation with some more groups."""
        if not members.height:
            return self
        group = Matched(how, grain, measure, members.select("gid", "e"), lines.select("gid", "p"))
        return replace(
            self,
            entries=without(self.entries, "e", members["e"]),
            postings=without(self.postings, "p", lines["p"]),
            groups=(*self.groups, group),
        )

    @property
    def used(self) -> pl.DataFrame:
        """The open postings on accounts of entries that name none."""
        return self.postings.filter("is_used", pl.col("role") == COST, pl.col("id").is_null())

    def used_for(self, entries: pl.DataFrame) -> pl.DataFrame:
        """Return the open postings that may be of some entries: their text names none, or one of these."""
        return self.used.filter(pl.col("names").is_null() | pl.col("names").is_in(entries["e"].implode()))

    @property
    def named_or_used(self) -> pl.DataFrame:
        """The open postings that may be doubles or reversals."""
        return self.postings.filter("is_used", pl.col("role") == COST)

    @property
    def home(self) -> pl.DataFrame:
        """The open entries in the ledger's currency."""
        return self.entries.filter("is_home")

    @property
    def share(self) -> float:
        """How much is explained, of money or entries: one large wrong entry hides no style."""
        every, left = (
            frame.filter("is_home").select(money=pl.col("gross").abs().cast(pl.Float64))["money"]
            for frame in (self.every_entry, self.entries)
        )
        if not len(every):
            return 0.0
        money = float(every.sum())
        return max(1 - len(left) / len(every), 1 - float(left.sum()) / money if money else 0.0)


def without(frame: pl.DataFrame, name: str, numbers: pl.Series) -> pl.DataFrame:
    """Return the rows whose number is none of these."""
    if not (frame.height and len(numbers)):
        return frame
    last = max(int(frame[name].to_numpy().max()), int(numbers.to_numpy().max()))
    is_open = np.ones(1 + last, dtype=np.bool_)
    is_open[numbers.to_numpy()] = False
    return frame.filter(pl.Series(is_open[frame[name].to_numpy()]))


def explained_by_totals(sides: Sides, books: Books, others: pl.Series) -> Explained:
    """Return what agrees to the cent; `others` are postings that hold no entry."""
    entries, rates = with_net(sides.entries.filter("is_known"), books)
    nothing = pl.DataFrame(schema={"e": pl.Int64, "p": pl.Int64})
    texts = texts_of(sides.entries[:0], sides.postings[:0], nothing)
    has_net = entries["net"].null_count() < entries.height
    postings = without(books.postings, "p", others).with_columns(names=pl.lit(None, pl.Int64))
    state = Explained(entries, postings, entries, books, texts, rates, has_net)
    state = _named(state, sides)
    if books.has_vouchers and books.has_pooled_tax:
        state = _whole_vouchers(state)
    state = _single(state, sides)
    return _sums(state)


def measures(state: Explained) -> tuple[Measure, ...]:
    """Return the measures in which entries can be compared."""
    return (Measure.GROSS, *((Measure.NET,) if state.has_net else ()))


# ---- one entry, one posting


def _named(state: Explained, sides: Sides) -> Explained:
    """Match entries with postings that name them by ID, whatever else differs, or by document number."""
    named = state.postings.filter(pl.col("id").is_not_null(), pl.col("role") == COST)
    for key in (["id", "key", "total"], ["id", "key"], ["id"]) if named.height else ():
        left = named.join(state.postings.select("p"), on="p", how="semi").with_columns(total="gross", y="p")
        entries = state.entries.with_columns(total="gross", x="e")
        if len(key) < 3:
            # A split entry's lines, and a reversal's, count once, by the first one.
            left = left.unique("id", keep="first", maintain_order=True)
            entries = entries.unique("id", keep="first", maintain_order=True)
        found = paired(entries, left, key, surplus=True).rename({"x": "e", "y": "p"})
        state = state.take(How.ENTRY_ID, *_alone(found))
    if sides.entries["document"].null_count() == sides.entries.height:
        return state
    if sides.postings["document"].null_count() == sides.postings.height:
        return state
    return _entries(state, How.DOCUMENT_NUMBER, ["document", "key", "total"], surplus=True)


def _single(state: Explained, sides: Sides) -> Explained:
    """Match entries one by one, on their day, then by their text, then on other days."""
    strict = ["day", "key", "total"]
    before = state
    state = _entries(state, How.EXACTLY, strict)
    pairs = _pairs_of(state, since=len(before.groups))
    # Where the ledger has no single entries, sums show whether they have texts.
    texts = texts_of(sides.entries, sides.postings, pairs if pairs.height else _pairs_of(state, since=0))
    state = replace(state, texts=texts)
    if pairs.height:
        is_other = _are_of_others(texts, pairs)
        if texts.is_exact:
            # Where texts tell entries apart, a posting of another text may be that of another entry.
            ours = pairs.select("e").join(
                sides.entries.select("e", said=texts.form), on="e", maintain_order="left"
            )
            theirs = pairs.select("p").join(
                sides.postings.select("p", said=posting_text()), on="p", maintain_order="left"
            )
            is_other = (ours["said"] != theirs["said"]).fill_null(value=True)
        if is_other.any():
            state = replace(before, texts=texts).take(
                How.EXACTLY, *(side.filter(~is_other) for side in _alone(pairs))
            )
    state = _with_names(state)
    if texts.is_exact and state.entries.height:
        state = _entries(state, How.EXACTLY, [*strict, "said"])
        state = _entries(state, How.TEXT, ["key", "total", "said"], is_near=True)
        state = _entries(state, How.EXACTLY, strict)
    return state


def _are_of_others(texts: Texts, pairs: pl.DataFrame) -> pl.Series:
    """Return whether the posting of each pair (e, p) names another entry by its text."""
    if pairs.height > MOST_NAMED:
        return pl.Series(np.zeros(pairs.height, np.bool_))
    return pl.Series(
        [texts.by_text(p) not in (None, e) for e, p in pairs.select("e", "p").iter_rows()], dtype=pl.Boolean
    )


def _with_names(state: Explained) -> Explained:
    """Add to open postings the entry that each names by its text, unless there are too many to read."""
    used = state.used["p"]
    if not (state.entries.height and len(used) <= MOST_NAMED):
        return state
    names = pl.Series([state.texts.by_text(posting) for posting in used], dtype=pl.Int64)
    postings = state.postings.drop("names").join(
        pl.DataFrame({"p": used, "names": names}), on="p", how="left"
    )
    return replace(state, postings=postings)


def _without_others(pairs: pl.DataFrame, postings: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs (e, p) whose posting names no other entry."""
    both = pairs.join(postings.select("p", "names"), on="p", how="left", maintain_order="left")
    return both.filter(pl.col("names").is_null() | (pl.col("names") == pl.col("e"))).drop("names")


def _alone(pairs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return pairs (e, p) as members and lines of groups."""
    return pairs.select("e", gid="e"), pairs.select("p", gid="e")


def _pairs_of(state: Explained, since: int) -> pl.DataFrame:
    """Return the pairs of the groups of one entry and one posting since some group."""
    parts = [group.members.join(group.lines, on="gid").select("e", "p") for group in state.groups[since:]]
    return pl.concat([pl.DataFrame(schema={"e": pl.Int64, "p": pl.Int64}), *parts])


def _entries(
    state: Explained, how: How, key: list[str], *, is_near: bool = False, surplus: bool = True
) -> Explained:
    """Match open entries with postings by a key, in each measure."""
    for measure in (*measures(state), Measure.OWN):
        entries = state.entries if measure is not Measure.OWN else state.entries.filter(~pl.col("is_home"))
        if not entries.height or (
            measure is Measure.OWN and state.postings["own"].null_count() == state.postings.height
        ):
            continue
        said = {"said": state.texts.form} if "said" in key else {}
        ours = entries.with_columns(total=pl.col(measure.ours), x="e", **said)
        theirs = state.used_for(entries).with_columns(
            key=measure.key, total=measure.theirs, y="p", **({"said": posting_text()} if said else {})
        )
        ours, theirs = (side.filter(pl.all_horizontal(pl.col(key).is_not_null())) for side in (ours, theirs))
        if said:
            ours, theirs = (side.filter(pl.col("said").str.len_chars() > 4) for side in (ours, theirs))
        found = paired(ours, theirs, key, surplus=surplus).rename({"x": "e", "y": "p"})
        if is_near:
            found = _near(found, state)
        found = _without_others(found, theirs)
        state = state.take(how, *_alone(found), measure=measure)
    return state


def _near(pairs: pl.DataFrame, state: Explained) -> pl.DataFrame:
    """Return the pairs whose days are near each other."""
    days = pairs.join(state.entries.select("e", "day"), on="e").join(
        state.postings.select("p", when="day"), on="p"
    )
    return days.filter((pl.col("when") - pl.col("day")).is_between(-EARLIER, LATER)).select("e", "p")


# ---- sums


def _sums(state: Explained) -> Explained:
    """Match sums of groups on their day, rests of days, what is some days later, then rests of months."""
    units = (False, True) if state.books.has_vouchers else (False,)
    for measure, grain, of_voucher in itertools.product((*measures(state), Measure.OWN), SUMS, units):
        if not grain.is_long or state.share < KNOWN:
            state = _step(state, Step(grain, measure, of_voucher))
    for measure in measures(state):
        state = _rest(state, How.REST_OF_DAY, ["key", "day"], measure)
    if state.has_net and state.entries.height:
        for off in (1, -1, 2, -2):
            state = _step(state, Step(Grain.SUPPLIER_DAY, Measure.NET, units[-1], off=off))
    if _are_sums_dated(state):
        # Then a posting some days later is of no single entry: it may take back, or correct.
        return _months(state)
    state = _entries(state, How.SOME_DAYS_LATER, ["key", "total"], is_near=True)
    for measure, grain, of_voucher in itertools.product(measures(state), SUMS[:2], units):
        state = _step(state, Step(grain, measure, of_voucher, is_dated=False))
    return _months(state)


def _are_sums_dated(state: Explained) -> bool:
    """Whether the ledger books sums, and on the day of their entries."""
    if state.share < KNOWN / 2:
        return False
    postings = state.books.postings.select("p", when="day")
    sums = on_day = long = 0
    for group in state.groups:
        if group.is_alone:
            continue
        long += group.members.height if group.grain in (Grain.BATCH, Grain.MONTH) else 0
        members = group.members.with_columns(count=pl.len().over("gid")).filter(pl.col("count") > 1)
        days = members.join(state.every_entry.select("e", "day"), on="e")
        booked = group.lines.join(postings, on="p").group_by("gid").agg(pl.min("when"))
        both = days.group_by("gid").agg(pl.max("day"), pl.len()).join(booked, on="gid")
        sums += members.height
        on_day += int(both.filter(pl.col("when") == pl.col("day"))["len"].sum())
    every = sum(group.members.height for group in state.groups)
    return long < OF_SUMS * every <= sums and on_day >= ON_THE_DAY * sums


def without_odd_sums(state: Explained, grain: Grain) -> Explained:
    """Return the explanation; sums of foreign grains stay only where nothing else explains their entries.

    Among many postings some are by chance the sum of a group some weeks earlier.
    """
    every = sum(group.members.height for group in state.groups)
    odd = tuple(
        group
        for group in state.groups
        if group.how is How.SUM
        and group.grain.is_long
        and group.grain is not grain
        and group.members.height < OF_SUMS * every
    )
    if not odd:
        return state
    members, lines = (
        pl.concat([getattr(group, name) for group in odd])[key]
        for name, key in (("members", "e"), ("lines", "p"))
    )
    names = pl.DataFrame(
        {"p": lines, "names": [state.texts.by_text(posting) for posting in lines]},
        schema_overrides={"names": pl.Int64},
    )
    freed = state.books.postings.join(names, on="p").select(state.postings.columns)
    freed_entries = state.every_entry.filter(pl.col("e").is_in(members.implode()))
    state = replace(
        state,
        entries=pl.concat([state.entries, freed_entries]),
        postings=pl.concat([state.postings, freed]),
        groups=tuple(group for group in state.groups if group not in odd),
    )
    if grain is Grain.ENTRY:
        state = _entries(state, How.SOME_DAYS_LATER, ["key", "total"], is_near=True)
    elif not grain.is_long:
        for measure, of_voucher, is_dated in itertools.product(measures(state), (False, True), (True, False)):
            state = _step(
                state, Step(grain, measure, of_voucher and state.books.has_vouchers, is_dated=is_dated)
            )
    for group in odd:
        taken = [
            side.join(open_.select(key), on=key, how="anti")["gid"]
            for side, open_, key in ((group.members, state.entries, "e"), (group.lines, state.postings, "p"))
        ]
        left = [
            side.filter(~pl.col("gid").is_in(pl.concat(taken).implode()))
            for side in (group.members, group.lines)
        ]
        state = state.take(group.how, *left, grain=group.grain, measure=group.measure)
    return state


def _months(state: Explained) -> Explained:
    """Match rests of months, where the ledger has long groups or not enough is explained."""
    if state.share < KNOWN or any(group.grain.is_long for group in state.groups):
        for measure in measures(state):
            state = _rest(state, How.REST_OF_MONTH, ["key", "month"], measure)
    return state


def _step(state: Explained, step: Step) -> Explained:
    group, measure = [*step.grain.group, "key"], step.measure
    entries = state.home if measure is not Measure.OWN else state.entries.filter(~pl.col("is_home"))
    entries, postings = entries.filter(pl.col(step.grain.group[0]).is_not_null()), state.used
    if measure is Measure.OWN:
        postings = postings.with_columns(key="own_key")
    if not (entries.height and postings.height):
        return state
    value = pl.col(measure.ours)
    ours = entries.group_by(group).agg(
        total=value.sum() + step.off,
        count=pl.len(),
        is_known=value.is_not_null().all(),
        first=pl.min("day"),
        last=pl.max("day"),
        of_month=pl.first("month"),
    )
    least = max(2 * abs(step.off), 2 if step.grain.is_long else 1)
    ours = ours.filter("is_known", pl.col("total") != 0, pl.col("count") >= least)
    if step.grain in (Grain.BATCH, Grain.MONTH):
        # Such a sum holds all entries of its group; the few that another posting has were booked again.
        sizes = state.every_entry.group_by(group).agg(every=pl.len())
        ours = ours.join(sizes, on=group).filter(2 * pl.col("count") > pl.col("every"))
    ours = ours.with_columns(day="last", month="of_month").with_row_index("x")
    theirs = (
        _units(postings, measure, of_voucher=step.of_voucher)
        .filter(pl.col("total").is_not_null())
        .with_row_index("y")
    )
    found = paired(ours, theirs, ["key", *step.join, "total"], surplus=step.is_dated)
    found = found.join(ours.drop("day", "month"), on="x").join(
        theirs.select("y", "p", "voucher", when="day"), on="y"
    )
    found = found.filter(
        (pl.col("when") - pl.col("first")) >= -EARLIER, (pl.col("when") - pl.col("last")) <= LATER
    )
    if not found.height:
        return state
    found = found.with_columns(gid="x")
    keys = ["e"] if step.grain is Grain.ENTRY else group
    if step.grain in (Grain.SUPPLIER_DAY, Grain.ACCOUNT_DAY):
        found = found.with_columns(day="last")
    elif step.grain is Grain.MONTH:
        found = found.with_columns(month="of_month")
    members = entries.join(found.select(*keys, "gid"), on=keys).select("gid", "e")
    # A single entry has no posting that names another one.
    alone = members.filter(~pl.col("gid").is_duplicated()).join(found.select("gid", "p"), on="gid")
    others = alone.filter(~pl.col("gid").is_in(_without_others(alone, postings)["gid"].implode()))["gid"]
    members, found = (side.filter(~pl.col("gid").is_in(others.implode())) for side in (members, found))
    lines = found.select("gid", "p")
    if step.of_voucher:
        places = found.select("voucher", "key", "gid", day="when")
        lines = postings.join(places, on=["voucher", "key", "day"]).select("gid", "p")
    return state.take(How.SUM, members, lines, grain=step.grain, measure=measure)


def _units(postings: pl.DataFrame, measure: Measure, *, of_voucher: bool) -> pl.DataFrame:
    """Return the postings with their total, or what each voucher has on an account."""
    if not of_voucher:
        return postings.with_columns(total=measure.theirs)
    own = pl.col(measure.theirs)
    whole = pl.when(own.is_not_null().all()).then(own.sum())
    total = pl.coalesce(pl.first("line_gross"), whole) if measure is Measure.GROSS else whole
    lines = postings.filter(pl.col("voucher").is_not_null()).group_by("voucher", "key", "day")
    return lines.agg(total=total, month=pl.first("month"), p=pl.min("p"), count=pl.len()).filter(
        (pl.col("count") > 1) | (measure is Measure.GROSS)
    )


def _rest(state: Explained, how: How, key: list[str], measure: Measure) -> Explained:
    """Match what is open of a key with one total on both sides: many entries with many postings."""
    value, amount = pl.col(measure.ours), pl.col(measure.theirs)
    entries, postings = state.home, state.used
    ours = entries.group_by(key).agg(ours=value.sum(), count=pl.len(), knows=value.is_not_null().all())
    theirs = postings.group_by(key).agg(theirs=amount.sum(), is_known=amount.is_not_null().all())
    open_ = rounding(pl.col("count")) if measure is Measure.NET else 0
    both = (
        ours.join(theirs, on=key)
        .filter("knows", "is_known", pl.col("ours") != 0, (pl.col("ours") - pl.col("theirs")).abs() <= open_)
        .with_row_index("gid")
    )
    grain = Grain.ACCOUNT_DAY if "day" in key else Grain.MONTH
    members, lines = (side.join(both, on=key) for side in (entries, postings))
    # A line that names an entry belongs to the group of that entry.
    others = lines.filter(pl.col("names").is_not_null()).join(
        members, left_on=["gid", "names"], right_on=["gid", "e"], how="anti"
    )
    members, lines = (side.filter(~pl.col("gid").is_in(others["gid"].implode())) for side in (members, lines))
    return state.take(how, members, lines, grain=grain, measure=measure)


# ---- whole vouchers


def _whole_vouchers(state: Explained) -> Explained:
    """Match groups over all accounts with the cost side of a voucher, with tax, that has the same accounts.

    This needs no rates of tax; where rates are known, whole vouchers show whether they hold on each account.
    """
    is_tested = False
    for grain, is_dated in OF_VOUCHERS:
        if not is_dated and state.share >= KNOWN:
            break
        group = list(grain.group)
        entries = state.every_entry.filter("is_home", pl.col(group[0]).is_not_null())
        sides = state.books.postings.filter(pl.col("voucher").is_not_null(), pl.col("role") != CONTRA)
        accounts = pl.col("account").unique().hash().sum()
        ours = entries.group_by(group).agg(
            total=pl.sum("gross"), accounts=accounts, count=pl.len(), first=pl.min("day"), last=pl.max("day")
        )
        # A single entry with a voucher of another day is no group.
        ours = ours.filter(pl.col("count") >= (1 if is_dated else 2))
        ours = ours.with_columns(day="last").with_row_index("x")
        theirs = sides.group_by("voucher").agg(
            total=pl.sum("amount"),
            accounts=pl.col("account").filter(pl.col("role") == COST).unique().hash().sum(),
            day=pl.min("day"),
        )
        theirs = theirs.with_row_index("y")
        key = ["total", "accounts", *(["day"] if is_dated else [])]
        found = paired(ours, theirs, key, surplus=False)
        found = (
            found.join(ours.select("x", *group, "first", "last"), on="x")
            .join(theirs.select("y", "voucher", when="day"), on="y")
            .with_columns(gid="x")
            .filter(pl.col("when") - pl.col("first") >= -EARLIER, pl.col("when") - pl.col("last") <= LATER)
        )
        members = entries.join(found.select(*group, "gid"), on=group).select(
            "gid", "e", "account", "gross", "net"
        )
        lines = sides.filter(pl.col("role") == COST).join(found.select("voucher", "gid"), on="voucher")
        sums = members.group_by("gid", "account").agg(
            pl.sum("gross"),
            pl.sum("net"),
            each="gross",
            count=pl.len(),
            is_known=pl.col("net").is_not_null().all(),
        )
        theirs_ = lines.group_by("gid", "account").agg(
            pl.sum("amount"), is_pooled=pl.col("gross").is_null().any()
        )
        sums = sums.join(theirs_, on=["gid", "account"])
        is_net = (pl.col("net") - pl.col("amount")).abs() <= 1 + rounding(pl.col("count"))
        tests = sums.filter("is_known", "is_pooled")
        if state.has_net and not is_tested and tests.height >= TESTS:
            if tests.select(is_net.mean()).item() < AGREE:
                nothing = pl.lit(None, pl.Int64)
                state = replace(
                    state,
                    entries=state.entries.with_columns(net=nothing),
                    every_entry=state.every_entry.with_columns(net=nothing),
                    has_net=False,
                )
            is_tested = state.has_net
        least, most = (
            bound("gross", pl.col("gross") / LARGEST_TAX) for bound in (pl.min_horizontal, pl.max_horizontal)
        )
        is_possible = pl.col("amount").is_between(least - 1, most + 1)
        if state.rates and not is_tested:
            meets = [
                meets_by_rates(each.to_list(), state.rates, own)
                for each, own in zip(sums["each"], sums["amount"], strict=True)
            ]
            # Rates that most accounts do not meet are not all of the ledger's.
            if sum(meets) >= AGREE * len(meets):
                is_possible &= pl.Series(meets)
        fits = pl.when(is_tested & pl.col("is_known")).then(is_net).otherwise(is_possible)
        wrong = sums.filter(~fits.fill_null(value=False))["gid"].implode()
        members, lines = (side.filter(~pl.col("gid").is_in(wrong)) for side in (members, lines))
        members = members.join(state.entries.select("e"), on="e", how="semi")
        lines = lines.join(state.postings.select("p"), on="p", how="semi")
        members, lines = members.join(lines, on="gid", how="semi"), lines.join(members, on="gid", how="semi")
        state = state.take(How.WHOLE_VOUCHER, members, lines, grain=grain)
    return state
