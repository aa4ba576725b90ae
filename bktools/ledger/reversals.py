"""Net multiplicity: how often an account holds an amount after its opposites.

Free postings that undo one another go. A free posting like one that is matched makes its entry booked twice,
an opposite one makes it reversed; where several equal entries come into question, texts decide or nothing is
decided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace

import numpy as np
import polars as pl

from bktools.ledger.explained import EARLIER, LATER, Explained, without
from bktools.ledger.habits import COST
from bktools.ledger.judgement import Judgement, Note, amounts_of, has_amount
from bktools.ledger.statuses import Reason, Status
from bktools.ledger.steps import Grain, How
from bktools.ledger.style import Style, with_due

_NO_PAIRS = pl.DataFrame(schema={"e": pl.Int64, "p": pl.Int64})
# More cases are not judged one by one.
MOST_CASES = 50_000


def without_undone(state: Explained, style: Style) -> tuple[Explained, set[int]]:
    """Return the explanation without free postings on one account that undo one another, and these postings.

    One that takes an entry of the account back, by its text, undoes a posting of that entry's day.
    """
    free = state.postings.filter(pl.col("role") == COST).select("p", "key", "amount", "day", "names")
    both = free.filter((pl.col("amount") < 0).any().over("key")) if free.height else free
    if not both.height:
        return state, set()
    ranked = both.sort("day", "p").with_columns(rank=pl.int_range(pl.len()).over("key", "amount"))
    opposite = ranked.with_columns(amount=-pl.col("amount")).select("key", "amount", "rank", "names", q="p")
    positive = ranked.filter(pl.col("amount") > 0)
    pairs = positive.drop("names").join(opposite, on=["key", "amount", "rank"])
    named = state.every_entry.select(names="e", key="home", since="day")
    pairs = pairs.join(named, on=["names", "key"], how="left")
    delay = pl.col("day") - pl.col("since")
    is_of_other = (delay < 0) | (delay > (2 * LATER if style.grain.is_long else style.lag))
    pairs = pairs.filter(~is_of_other.fill_null(value=False))
    undone = {*pairs["p"].to_list(), *pairs["q"].to_list()}
    # Where one side has more, texts say which of them are undone.
    several = positive.join(opposite.select("key", "amount").unique(), on=["key", "amount"], how="semi")
    sizes = (
        several.group_by("key", "amount")
        .agg(ours=pl.col("p").unique())
        .join(opposite.group_by("key", "amount").agg(theirs=pl.col("q").unique()), on=["key", "amount"])
    )
    for ours, theirs in sizes.select("ours", "theirs").iter_rows():
        if len(ours) != len(theirs):
            undone -= {*ours, *theirs}
            undone |= _alike(state, ours, theirs)
    return replace(state, postings=without(state.postings, "p", pl.Series([*undone], dtype=pl.Int64))), undone


def _alike(state: Explained, ours: list[int], theirs: list[int]) -> set[int]:
    """Return the postings of both sides that undo one another, as many as the shorter side has.

    Those with most words alike come first.
    """
    words = state.texts.posting_words
    pairs = sorted(
        (-len(words(one) & words(other)), abs(one - other), one, other) for one in ours for other in theirs
    )
    taken: set[int] = set()
    for *_, one, other in pairs:
        if not taken & {one, other}:
            taken |= {one, other}
    return taken


def in_own_months(state: Explained, undone: set[int]) -> tuple[Explained, set[int]]:
    """Return the explanation, and the postings that undo one another, after corrections of the month.

    A posting in another month is taken back by a later one, and a third one books the entry in its own month:
    the third posting is the entry's, and the first two undo one another.
    """
    if not undone:
        return state, undone
    postings = state.books.postings.select("p", "key", "amount", "day", "month")
    of_undone = postings.filter(pl.col("p").is_in([*undone]))
    anew = of_undone.select("key", "amount", "month", q="p")
    back = of_undone.select("key", amount=-pl.col("amount"), back="day")
    pairs = pl.concat(
        [group.first.select("e", "p") for group in state.groups if group.is_alone] or [_NO_PAIRS]
    )
    wrong = pairs.join(postings.join(anew, on=["key", "amount"], how="semi"), on="p")
    wrong = wrong.join(state.every_entry.select("e", own="month"), on="e").filter(
        pl.col("own") != pl.col("month")
    )
    moved = wrong.join(anew, left_on=["key", "amount", "own"], right_on=["key", "amount", "month"])
    moved = moved.join(back, on=["key", "amount"]).filter(pl.col("back") >= pl.col("day")).unique(["e", "q"])
    # Of equal entries it is not known which one was moved.
    moved = moved.filter(~pl.struct("key", "amount").is_duplicated())
    named = [state.texts.entry_named(posting) for posting in moved["q"]]
    is_own = [name in (None, entry) for name, entry in zip(named, moved["e"], strict=True)]
    moved = moved.filter(pl.Series(is_own, dtype=pl.Boolean))
    if not moved.height:
        return state, undone
    own = pl.col("p").replace(moved["p"].to_list(), moved["q"].to_list())
    groups = tuple(
        replace(group, lines=group.lines.with_columns(own)) if group.is_alone else group
        for group in state.groups
    )
    return replace(state, groups=groups), undone - {*moved["q"]} | {*moved["p"]}


def judge_late(judgement: Judgement) -> None:
    """Say of entries that are booked unusually late that they are not decided, where others fit as well.

    Such a posting may be the second one of an equal entry whose own posting is near it; and a free posting on
    another account may be the entry's, if it has the amount and is in time.
    """
    state, near = judgement.state, max(EARLIER, judgement.style.lag)
    groups = [group.first.select("e", "p") for group in state.groups if group.how is How.SOME_DAYS_LATER]
    if not groups:
        return
    postings = state.books.postings.select("p", "key", "amount", when="day")
    late = pl.concat(groups).join(postings, on="p").join(state.every_entry.select("e", "day"), on="e")
    late = late.filter(pl.col("when") - pl.col("day") > near)
    if not late.height:
        return
    alike = postings.join(late, on=["key", "amount"], how="semi").rename({"p": "q", "when": "at"})
    alone = np.flatnonzero(np.isin(judgement.status, (Status.BOOKED, Status.ANOTHER_DATE)))
    others = alike.join(pl.DataFrame({"other": alone, "q": judgement.posting[alone]}), on="q")
    equal = late.join(others, on=["key", "amount"])
    equal = equal.filter(pl.col("e") != pl.col("other"), (pl.col("when") - pl.col("at")).abs() <= near)
    costs = state.postings.filter(pl.col("role") == COST)
    free = costs.select("amount", q="p", at="day").with_columns(other=pl.lit(None, pl.Int64))
    free = late.join(free, on="amount").filter((pl.col("at") - pl.col("day")).is_between(0, near))
    columns = ("e", "p", "other", "q")
    for entry, posting, other, own in pl.concat([equal.select(columns), free.select(columns)])[
        :MOST_CASES
    ].iter_rows():
        if not state.texts.agree(entry, posting):
            entries = [entry] if other is None else [entry, other]
            judgement.undecided(entries, Reason.SEVERAL_FIT, (posting, own))


def judge_multiples(judgement: Judgement, free: pl.DataFrame, *, in_sums: bool) -> None:
    """Say which of the matched entries are booked twice or reversed, by the postings that are free.

    Of the entries of sums all, or before the sums are judged those that a text names.
    """
    # Where a voucher shows the tax, an equal net by another rate is another cost.
    shows_tax = pl.col("gross").is_not_null() & (pl.col("gross") != pl.col("amount"))
    net = pl.when(~shows_tax).then("amount")
    free = free.select("p", "key", "amount", "gross", net=net, when="day")
    matched = _matched(judgement, free)
    if not (free.height and matched.height):
        return
    # Postings that an open entry may need are left for it.
    entries = judgement.state.entries
    wanted = entries.filter(pl.Series(judgement.status[entries["e"].to_numpy()] == Status.OPEN))
    needs = {
        (row["home"], amount)
        for row in wanted.head(MOST_CASES).iter_rows(named=True)
        for amount in amounts_of(judgement, row)
    }
    needed = pl.DataFrame([*needs], {"key": pl.Int64, "needed": pl.Int64}, orient="row")
    wanted_too = pl.concat(
        [
            free.join(needed, left_on=["key", own], right_on=["key", "needed"], how="semi")["p"]
            for own in ("gross", "amount")
        ]
        + [_of_open_sums(judgement, wanted, free)]
    )
    # A posting that names a booked entry belongs to no open one.
    named = {posting: judgement.state.texts.entry_named(posting) for posting in wanted_too.head(MOST_CASES)}
    left_alone = [posting for posting, entry in named.items() if entry is None or judgement.is_open(entry)]
    free = free.filter(~pl.col("p").is_in([*left_alone, *wanted_too[MOST_CASES:]]))
    pairs = (("gross", "gross"), ("net", "net"), ("own_amount", "net"))
    compared = [pair for pair in pairs if matched[pair[0]].null_count() < matched.height]
    for sign in (1, -1):
        # A sum may be dated on the last day of the month, and an equal entry may have an entry's own posting.
        since = pl.when("is_alone").then(pl.min_horizontal("at", "day")).otherwise("day").alias("at")
        left = free.filter(~pl.col("p").is_in([*judgement.doubles, *judgement.reversals]))
        found = pl.concat(
            [
                matched.select("e", "key", "is_alone", since, total=pl.col(ours) * sign)
                .drop_nulls()
                .join(left.select("key", "p", "when", total=theirs).drop_nulls(), on=["key", "total"])
                for ours, theirs in compared
            ]
        ).unique(["e", "p"], maintain_order=True)
        later = pl.col("when") - pl.col("at")
        found = found.filter(later.is_between(-max(EARLIER, judgement.style.lag), 2 * LATER)).head(MOST_CASES)
        cases = defaultdict(list)
        for entry, posting, delay, is_alone in found.select("e", "p", later.abs(), "is_alone").iter_rows():
            cases[posting].append((entry, delay, is_alone))
        moved = _moved(judgement, found["p"].unique()) if sign > 0 else set()
        for posting, candidates in cases.items():
            _judge(judgement, posting, candidates, sign, moved, in_sums=in_sums)


def _of_open_sums(judgement: Judgement, wanted: pl.DataFrame, free: pl.DataFrame) -> pl.Series:
    """Return the free postings on the accounts and days of sums whose entries are open."""
    if judgement.style.grain is Grain.ENTRY:
        return free["p"][:0]
    due = with_due(replace(judgement.state, entries=wanted), judgement.style).select("due", key="home")
    near = free.join(due.unique(), on="key")
    return near.filter((pl.col("when") - pl.col("due")).is_between(0, judgement.style.lag))["p"].unique()


def judge_whole_sums(judgement: Judgement, free: pl.DataFrame, of_style: Collection[int]) -> None:
    """Record that a sum's entries are booked twice or reversed: a free posting has the sum or its opposite.

    A second sum looks like those of the style.
    """
    state = judgement.state
    parts = [
        group.lines.select("p", pl.col("gid").cast(pl.Int64), step=pl.lit(number))
        for number, group in enumerate(state.groups)
        if not group.is_alone
    ]
    if not parts or not free.height:
        return
    lines = pl.concat(parts)
    alone = lines.with_columns(count=pl.len().over("gid", "step")).filter(pl.col("count") == 1)
    # Gross with gross, where both show it.
    compared = pl.coalesce("gross", "amount")
    postings = state.books.postings.select("p", "key", "day", compared=compared)
    sums = alone.join(postings, on="p").with_columns(sign=pl.lit([1, -1])).explode("sign")
    sums = sums.with_columns(wanted=pl.col("compared") * pl.col("sign"))
    again = free.select(q="p", key="key", wanted=compared, when="day")
    found = sums.join(again, on=["key", "wanted"]).with_columns(delay=pl.col("when") - pl.col("day"))
    # What takes a sum of credit notes back is a cost like any other.
    is_reversal = (pl.col("sign") < 0) & (pl.col("wanted") < 0)
    found = found.filter(is_reversal | (pl.col("sign") > 0) & pl.col("q").is_in([*of_style]))
    found = found.filter(pl.col("delay").is_between(-EARLIER, 2 * LATER)).sort(pl.col("delay").abs())
    for step, gid, sign, own, posting in found.select("step", "gid", "sign", "p", "q").iter_rows():
        members = state.groups[step].members.filter(pl.col("gid") == gid)["e"].to_list()
        is_sum = len(members) > 1 and all(judgement.status[entry] == Status.IN_A_SUM for entry in members)
        if is_sum and posting not in judgement.doubles and posting not in judgement.reversals:
            status, place = (
                (Status.BOOKED_TWICE, judgement.doubles),
                (Status.REVERSED, judgement.reversals),
            )[sign < 0]
            for entry in members:
                judgement.say(entry, status, posting=own, note=Note(Reason.NONE, (posting,)))
            place[posting] = members[0]


def _matched(judgement: Judgement, free: pl.DataFrame) -> pl.DataFrame:
    """Return the booked entries on accounts of free postings, with amount and day of their posting."""
    every = judgement.state.every_entry.select("e", "key", "day", "gross", "net", "is_home")
    home = every.filter("is_home", pl.col("key").is_in(free["key"].unique().implode()))
    numbers = home["e"].to_numpy()
    at = judgement.posting[numbers]
    is_there = np.isin(judgement.status[numbers], (Status.BOOKED, Status.IN_A_SUM, Status.ANOTHER_DATE)) & (
        at >= 0
    )
    entries = home.filter(pl.Series(is_there)).with_columns(posting=pl.Series(at[is_there]))
    is_alone = judgement.status[entries["e"].to_numpy()] != Status.IN_A_SUM
    postings = judgement.state.books.postings
    # The posting of a sum is that of no single entry.
    own_amount = pl.when(pl.Series(is_alone)).then(postings["amount"][entries["posting"]])
    return entries.with_columns(
        is_alone=pl.Series(is_alone), own_amount=own_amount, at=postings["day"][entries["posting"]]
    )


def _judge(
    judgement: Judgement,
    posting: int,
    candidates: list[tuple[int, int, bool]],
    sign: int,
    moved: Collection[int],
    *,
    in_sums: bool,
) -> None:
    """Say of the candidates of a free posting which one it doubles or takes back.

    Those in `moved` move an entry from another account.
    """
    agree, named = judgement.state.texts.agree, judgement.state.texts.entry_named(posting)
    if named is not None:
        # A posting that names an entry belongs to no other one.
        candidates = [case for case in candidates if case[0] == named]
    open_to = [
        case
        for case in candidates
        if judgement.status[case[0]] in (Status.BOOKED, Status.IN_A_SUM, Status.ANOTHER_DATE)
    ]
    said = {case[0]: agree(case[0], posting) for case in open_to}
    open_to = [case for case in open_to if in_sums or case[2] or said[case[0]]]
    alike = [case for case in open_to if said[case[0]]]
    if not alike:
        # A text of another matter is no double; a reversal may have any text.
        alike = [case for case in open_to if (sign < 0 and case[2]) or said[case[0]] is None]
        if (
            sign < 0
            and alike
            and (_may_be_needed(judgement, posting) or _is_earlier(judgement, posting, alike))
        ):
            if in_sums:
                judgement.undecided([case[0] for case in alike], Reason.SEVERAL_FIT, (posting,))
            return
    if not alike:
        return
    # Among equal candidates, those alone come first, then the nearest.
    best = min((not is_alone, delay) for _, delay, is_alone in alike)
    nearest = [entry for entry, delay, is_alone in alike if (not is_alone, delay) == best]
    is_told = bool(said[nearest[0]])
    name = Status.BOOKED_TWICE if sign > 0 else Status.REVERSED
    place = (judgement.doubles, judgement.reversals)[sign < 0]
    # The posting that takes a credit note back is a cost like any other.
    is_cost = sign > 0 or int(judgement.state.books.postings["amount"][posting]) > 0
    if is_cost and not is_told:
        if _is_told_by_amount(judgement, nearest[0], posting):
            judgement.undecided(nearest, Reason.EQUAL_POSTING, (posting,))
            place[posting] = nearest[0]
        return
    others = _equals_not_found(judgement, nearest[0], posting) if sign > 0 else []
    if others or posting in moved:
        own = int(judgement.posting[nearest[0]])
        judgement.undecided([nearest[0], *others], Reason.SEVERAL_FIT, (own, posting))
    elif len(nearest) > 1 and not is_told:
        everyone = [entry for entry, *_ in alike]
        judgement.undecided(everyone, Reason.SEVERAL_FIT, (posting,))
    else:
        judgement.say(nearest[0], name, note=Note(Reason.NONE, (posting,)))
    place[posting] = nearest[0]


def _equals_not_found(judgement: Judgement, entry: int, posting: int) -> list[int]:
    """Return the entries like one that are not found, where one may have the posting that the entry has.

    That posting has not the entry's text, as a further one has.
    """
    agree, own = judgement.state.texts.agree, int(judgement.posting[entry])
    if judgement.status[entry] == Status.IN_A_SUM or agree(entry, own) or not agree(entry, posting):
        return []
    place = judgement.state.every_entry.filter(pl.col("e") == entry).select("home", "gross")
    equals = judgement.state.entries.join(place, on=["home", "gross"])["e"].to_list()
    return [other for other in equals if judgement.status[other] in (Status.OPEN, Status.NOT_DECIDED)]


def _moved(judgement: Judgement, free: pl.Series) -> set[int]:
    """Return the postings whose voucher takes their amount from another account of costs.

    Then the entry was on that account, and what its own account holds without it is another one's.
    """
    postings = judgement.state.books.postings.select("p", "voucher", "key", "amount", "role")
    own = postings[free].filter(pl.col("voucher").is_not_null()).with_columns(amount=-pl.col("amount"))
    is_beside = pl.col("voucher").is_in(own["voucher"].unique().implode())
    beside = postings.filter(pl.col("role") == COST, is_beside)
    both = own.join(beside, on=["voucher", "amount"], suffix="_beside")
    return {*both.filter(pl.col("key") != pl.col("key_beside"))["p"].to_list()}


def _is_earlier(judgement: Judgement, posting: int, candidates: list[tuple[int, int, bool]]) -> bool:
    """Whether a posting that takes an entry back is earlier than the posting that each of these has alone."""
    days = judgement.state.books.postings["day"]
    return all(
        is_alone and days[posting] < days[int(judgement.posting[entry])] for entry, _, is_alone in candidates
    )


def _may_be_needed(judgement: Judgement, posting: int) -> bool:
    """Whether an entry that is not found may be booked by a posting: with another amount, or account."""
    place = judgement.state.books.postings.row(posting, named=True)
    near = judgement.state.entries.filter(
        pl.col("gross").sign() == (1 if place["amount"] > 0 else -1),
        (place["day"] - pl.col("day")).is_between(-EARLIER, max(EARLIER, judgement.style.lag)),
    )
    is_left = np.isin(judgement.status[near["e"].to_numpy()], (Status.OPEN, Status.NOT_DECIDED))
    return any(
        row["home"] == place["key"] or has_amount(judgement, row, place)
        for row in near.filter(pl.Series(is_left)).iter_rows(named=True)
    )


def _is_told_by_amount(judgement: Judgement, entry: int, posting: int) -> bool:
    """Whether a posting with the amount of an entry is hardly there by chance: near it in time."""
    days = judgement.state.books.postings["day"]
    own, near = int(judgement.posting[entry]), max(EARLIER, judgement.style.lag)
    return (
        abs(int(days[posting]) - int(days[own])) <= near
        # Of equal entries, the first one may have this posting, and the other one that of the first.
        or 0 <= int(days[posting]) - int(judgement.day[entry]) <= judgement.style.lag
        or judgement.status[entry] == Status.IN_A_SUM
    )
