"""Sums of groups that agree to the cent: on their day, rests of days, some days later, rests of months."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl

from bktools.ledger.explained import EARLIER, KNOWN, LATER, WEEK, Explained, Matched, measures, without
from bktools.ledger.pairs import comparable, grouped, in_numbers, known_numbers, paired, spans, without_nulls
from bktools.ledger.rounding import rounding, rounds_each
from bktools.ledger.single_entries import matched_entries, without_others
from bktools.ledger.steps import SUMS, Grain, How, Measure, Step
from bktools.ledger.text_columns import Numbers

# Sums are dated when so many entries of them are booked on their day.
ON_THE_DAY = 0.95
# A ledger books sums when so many of the explained entries are in one.
OF_SUMS = 0.1


def sums_of_groups(state: Explained) -> Explained:
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
    # Where most is in sums, a posting is a late sum sooner than the late posting of one entry of a sum.
    late = (_late_entries, _late_sums)
    for step in reversed(late) if _are_sums_usual(state) else late:
        state = step(state)
    return _months(state)


def _late_entries(state: Explained) -> Explained:
    """Match single entries some days later; beside sums, not with a posting that another one takes back."""
    open_ = state
    if state.share < KNOWN or _are_sums_usual(state):
        open_ = replace(state, postings=without(state.postings, "p", _with_opposite(state)))
    found = matched_entries(open_, How.SOME_DAYS_LATER, ["key", "total"], is_near=True)
    taken = [group.lines["p"] for group in found.groups[len(state.groups) :]]
    return replace(found, postings=without(state.postings, "p", pl.concat(taken))) if taken else state


def _with_opposite(state: Explained) -> pl.Series:
    """Return the open postings that another one on their account takes back."""
    opposite = state.used.select("key", amount=-pl.col("amount"))
    return state.used.join(opposite, on=["key", "amount"], how="semi")["p"]


def _late_sums(state: Explained) -> Explained:
    units = (False, True) if state.books.has_vouchers else (False,)
    for measure, grain, of_voucher in itertools.product(measures(state), SUMS[:2], units):
        state = _step(state, Step(grain, measure, of_voucher, is_dated=False))
    return state


def _are_sums_usual(state: Explained) -> bool:
    """Whether most of the explained entries are in a sum with others."""
    counts = [group.first["count"] for group in state.groups]
    in_sums = sum(int((count > 1).sum()) for count in counts)
    return 2 * in_sums > sum(map(len, counts))


def _are_sums_dated(state: Explained) -> bool:
    """Whether the ledger books sums, and on the day of their entries."""
    if state.share < KNOWN / 2:
        return False
    booked = state.books.postings["day"].to_numpy()
    sums = on_day = long = 0
    for group in state.groups:
        if group.is_alone:
            continue
        long += group.members.height if group.grain in (Grain.BATCH, Grain.MONTH) else 0
        counts, last, first = group.spans(state.days, booked)
        sums += int(counts[counts > 1].sum())
        on_day += int(counts[(counts > 1) & (first == last)].sum())
    every = sum(group.members.height for group in state.groups)
    return long < OF_SUMS * every <= sums and on_day >= ON_THE_DAY * sums


# Sums of a day, of which one is often like another.
_OF_A_DAY = {Grain.SUPPLIER_DAY, Grain.ACCOUNT_DAY}


def without_odd_sums(state: Explained, grain: Grain) -> Explained:
    """Return the explanation; sums of foreign grains stay only where nothing else explains their entries.

    Among many postings some are by chance the sum of a group some weeks earlier, and in a ledger of entries
    some are the rest of a day. Where sums are usual, one of a foreign grain is one on its day alone, and none
    that another posting takes back.
    """
    every = sum(group.members.height for group in state.groups)
    odd = tuple(
        group
        for group in state.groups
        if (
            (group.how is How.SUM and group.grain is not grain and not {group.grain, grain} <= _OF_A_DAY)
            or (group.how is How.REST_OF_DAY and grain is Grain.ENTRY)
        )
        and group.members.height < OF_SUMS * every
    )
    if not odd:
        return state
    state = _freed(state, odd)
    if grain is Grain.ENTRY:
        state = matched_entries(state, How.SOME_DAYS_LATER, ["key", "total"], is_near=True)
    elif not grain.is_long:
        for measure, of_voucher, is_dated in itertools.product(measures(state), (False, True), (True, False)):
            state = _step(
                state, Step(grain, measure, of_voucher and state.books.has_vouchers, is_dated=is_dated)
            )
    for group in odd:
        postings = without(state.postings, "p", _with_opposite(state))
        taken = [
            side.join(open_.select(key), on=key, how="anti")["gid"]
            for side, open_, key in ((group.members, state.entries, "e"), (group.lines, postings, "p"))
        ]
        if group.how is How.SUM and grain is not Grain.ENTRY:
            taken.append(_of_other_days(state, group))
        left = [
            side.filter(~pl.col("gid").is_in(pl.concat(taken).implode()))
            for side in (group.members, group.lines)
        ]
        state = state.take(group.how, *left, grain=group.grain, measure=group.measure)
    return state


def without_late(state: Explained) -> Explained:
    """Return the explanation without single entries more than a week later, where no text is theirs.

    In a ledger that little explains, an equal amount is there by chance. What an account has of a month
    in whole stays.
    """
    days = state.books.postings["day"].to_numpy()
    whole = state.every_entry.filter(~pl.struct("home", "month").is_duplicated())
    whole_months = {*whole["e"].to_list()}
    for group in [group for group in state.groups if group.how is How.SOME_DAYS_LATER]:
        stays = [
            e in whole_months or days[p] - state.days[e] <= WEEK or bool(state.texts.agree(e, p))
            for e, p in group.first.select("e", "p").iter_rows()
        ]
        left = [side.filter(pl.Series(stays, dtype=pl.Boolean)) for side in (group.members, group.lines)]
        state = _freed(state, (group,)).take(group.how, *left, measure=group.measure)
    return state


def _of_other_days(state: Explained, group: Matched) -> pl.Series:
    """Return the numbers of the groups of several entries that have no posting on their day."""
    days = state.every_entry.select("e", "day")
    booked = state.books.postings.select("p", "day")
    ours = group.members.filter(pl.len().over("gid") > 1).join(days, on="e")
    return ours.join(group.lines.join(booked, on="p"), on=["gid", "day"], how="anti")["gid"].unique()


def _freed(state: Explained, odd: tuple[Matched, ...]) -> Explained:
    """Return the explanation without some groups, whose entries and postings are open."""
    members, lines = (
        pl.concat([getattr(group, name) for group in odd])[key]
        for name, key in (("members", "e"), ("lines", "p"))
    )
    names = pl.DataFrame(
        {"p": lines, "names": [state.texts.by_text(posting) for posting in lines]},
        schema_overrides={"names": pl.Int64},
    )
    postings = state.books.postings.join(names, on="p").select(state.postings.columns)
    entries = state.every_entry.filter(pl.col("e").is_in(members.implode()))
    return replace(
        state,
        entries=pl.concat([state.entries, entries]),
        postings=pl.concat([state.postings, postings]),
        groups=tuple(group for group in state.groups if group not in odd),
    )


def _months(state: Explained) -> Explained:
    """Match rests of months, where the ledger has long groups or not enough is explained."""
    if state.share < KNOWN or any(group.grain.is_long for group in state.groups):
        for measure in measures(state):
            state = _rest(state, How.REST_OF_MONTH, ["key", "month"], measure)
    return state


def _step(state: Explained, step: Step) -> Explained:
    """Match the groups of a step with postings, or with lines of vouchers, of the same total."""
    entries, postings = _compared(state, step)
    if not (entries.height and postings.height):
        return state
    ours, order = _groups(state, entries, step)
    found = _with_their_total(ours, _units(postings, step.measure, of_voucher=step.of_voucher), step)
    if not found.height:
        return state
    gid, begin, count = (found[name].to_numpy() for name in ("gid", "begin", "count"))
    members = pl.DataFrame({"gid": np.repeat(gid, count), "e": entries["e"][order[spans(begin, count)]]})
    # A single entry has no posting that names another one, or lacks its tax.
    alone = members.join(found.filter(pl.col("count") == 1).select("gid", "p"), on="gid")
    own = without_others(alone, postings)
    own = own.filter(~state.lacks_tax(own["e"], own["p"]))
    others = alone.filter(~pl.col("gid").is_in(own["gid"].implode()))["gid"]
    if len(others):
        members, found = (side.filter(~pl.col("gid").is_in(others.implode())) for side in (members, found))
    lines = found.select("gid", "p")
    if step.of_voucher:
        places = found.select("voucher", "key", "gid", day="when")
        lines = postings.join(places, on=["voucher", "key", "day"]).select("gid", "p")
    return state.take(How.SUM, members, lines, grain=step.grain, measure=step.measure)


def _compared(state: Explained, step: Step) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the open entries that a step compares, and the open postings."""
    is_own = step.measure is Measure.OWN
    entries = without_nulls(state.foreign if is_own else state.home, step.grain.group[:1])
    return entries, state.used.with_columns(key="own_key") if is_own else state.used


def _groups(state: Explained, entries: pl.DataFrame, step: Step) -> tuple[pl.DataFrame, Numbers]:
    """Return the groups of a step with their total, where it is known, and their entries one after another.

    `begin` is the place of the first of them.
    """
    # Such a sum holds all entries of its group; the few that another posting has were booked again.
    is_whole = step.grain in (Grain.BATCH, Grain.MONTH)
    frames = (entries, state.every_entry) if is_whole else (entries,)
    numbers = in_numbers((*step.grain.group, "key"), *frames)
    order, begin = grouped(numbers[0])
    values, is_known = known_numbers(entries[step.measure.ours])
    days, counts, first = entries["day"].to_numpy()[order], np.diff(begin, append=len(order)), order[begin]
    groups = {
        "key": entries["key"].to_numpy()[first],
        "month": entries["month"].to_numpy()[first],
        "total": np.add.reduceat(values[order], begin) + step.off,
        "count": counts,
        "first": np.minimum.reduceat(days, begin),
        "last": np.maximum.reduceat(days, begin),
        "begin": begin,
    }
    least = max(2 * abs(step.off), 2 if step.grain.is_long else 1)
    is_possible = (groups["total"] != 0) & (counts >= least)
    if is_known is not None:
        is_possible &= np.logical_and.reduceat(is_known[order], begin)
    if is_whole:
        every, of_groups = np.sort(numbers[-1]), numbers[0][first]
        is_possible &= 2 * counts > every.searchsorted(of_groups, "right") - every.searchsorted(of_groups)
    return pl.DataFrame({name: own[is_possible] for name, own in groups.items()}), order


def _with_their_total(ours: pl.DataFrame, theirs: pl.DataFrame, step: Step) -> pl.DataFrame:
    """Return the groups, numbered by `gid`, with the posting or voucher of their total that is near them."""
    ours = ours.with_columns(day="last")
    key = ["key", *step.join, "total"]
    ours, theirs = comparable(ours, theirs, key)
    x, y = paired(ours, theirs, key, surplus=step.is_dated)
    if not len(x):
        return ours.clear()
    found = ours[x].hstack(theirs.select("p", "voucher", when="day")[y]).with_columns(gid=pl.Series(x))
    is_near = (pl.col("when") - pl.col("first") >= -EARLIER) & (pl.col("when") - pl.col("last") <= LATER)
    return found.filter(is_near)


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
    both = ours.join(theirs, on=key).with_columns(off=pl.col("ours") - pl.col("theirs"))
    both = both.filter("knows", "is_known", pl.col("ours") != 0, pl.col("off").abs() <= open_)
    if measure is Measure.NET and (both["off"] != 0).any() and rounds_each(state, both):
        both = both.filter(pl.col("off") == 0)
    both = both.with_row_index("gid")
    grain = Grain.ACCOUNT_DAY if "day" in key else Grain.MONTH
    members, lines = (side.join(both, on=key) for side in (entries, postings))
    # A line that names an entry belongs to the group of that entry.
    others = lines.filter(pl.col("names").is_not_null()).join(
        members, left_on=["gid", "names"], right_on=["gid", "e"], how="anti"
    )
    members, lines = (side.filter(~pl.col("gid").is_in(others["gid"].implode())) for side in (members, lines))
    return state.take(how, members, lines, grain=grain, measure=measure)
