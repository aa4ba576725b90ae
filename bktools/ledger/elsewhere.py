"""Entries that no group of their account holds: in another place of the ledger, missing, or not decided."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bktools.ledger.differences import SEARCH, Cell, Open, excess
from bktools.ledger.explanation import EARLIER, KNOWN, LATER
from bktools.ledger.judgement import Judgement, amounts_of, known
from bktools.ledger.statuses import Reason, Status
from bktools.ledger.steps import Grain, How

# Equal amounts are there by chance at most so often, on another account and without a text.
BY_CHANCE = 0.01
# Postings by words are looked for up to so many open entries, and this many for each.
MOST_BY_TEXT, BEST = 5_000, 20
# An account is looked for within a week, or the usual delay.
WEEK = 7


@dataclass(frozen=True)
class Place:
    """Where an amount stands that nothing explains: a free posting, or the difference of a cell."""

    key: int | None
    account: int | None
    day: int
    posting: int
    cell: Cell | None = None


# ---- by text


def judge_by_text(judgement: Judgement, rest: Open) -> None:
    """Judge open entries by the free posting with their text: another amount, date or account, or twice its amount."""
    entries = {entry: row for entry, row in rest.entries.items() if judgement.is_open(entry) and row["is_home"]}
    if not entries or len(entries) > MOST_BY_TEXT or not judgement.state.texts.tell:
        return
    texts = judgement.state.texts
    by_word = defaultdict(set)
    for posting in rest.free:
        for word in texts.posting_words(posting):
            by_word[word].add(posting)
    found: dict[int, tuple[tuple[bool, bool, int], int]] = {}
    near: Counter[int] = Counter()
    for entry, row in entries.items():
        counts = Counter(posting for word in texts.entry_words(entry) for posting in by_word.get(word, ()))
        amounts, candidates = amounts_of(judgement, row), []
        for posting, _ in counts.most_common(BEST):
            place = rest.free[posting]
            delay = abs(place["day"] - row["day"])
            if delay > LATER or not texts.agree(entry, posting):
                continue
            near[posting] += place["key"] == row["key"] and delay <= judgement.style.lag
            if (place["amount"] > 0) != (row["gross"] > 0):
                continue
            is_exact, is_same = bool(amounts & {place["amount"], place["gross"]}), place["key"] == row["key"]
            if is_exact or is_same:
                candidates.append(((not is_exact, not is_same, delay), posting))
        best = min(candidates, default=None)
        if best and sum(rank == best[0] for rank, _ in candidates) == 1:
            found[entry] = best
    # A posting that several entries claim, such as one with the supplier's name, may be their sum.
    claims = Counter(posting for _, posting in found.values())
    for entry, ((is_other_amount, is_other_account, _), posting) in found.items():
        if claims[posting] == 1 and near[posting] <= 1:
            place = rest.free[posting]
            doubled = {2 * amount for amount in amounts_of(judgement, rest.entries[entry])}
            status = Status.ANOTHER_DATE
            if is_other_amount:
                is_twice = bool(doubled & {place["amount"], place["gross"]})
                status = Status.BOOKED_TWICE if is_twice else Status.ANOTHER_AMOUNT
            elif is_other_account:
                status = Status.ANOTHER_ACCOUNT
            elif place["day"] == rest.entries[entry]["day"]:
                status = Status.BOOKED
            judgement.say(entry, status, How.TEXT, posting)
            rest.use(posting)


# ---- by amount


def judge_elsewhere(judgement: Judgement, rest: Open) -> None:
    """Judge the entries that are out of their group by their amount in another place; what is found nowhere stays in `out`."""
    rest.out = [entry for entry in rest.out if judgement.is_open(entry) and rest.entries[entry]["is_home"]]
    places = defaultdict(list)
    for amount, place in _places(rest):
        places[amount].append(place)
    sizes = np.sort(np.abs(np.array([row["amount"] for row in rest.free.values()] or [0], dtype=np.int64)))
    wanted = Counter((rest.entries[entry]["key"], rest.entries[entry]["gross"]) for entry in rest.out)
    used: set[int] = set()
    left = []
    for entry in rest.out:
        row = rest.entries[entry]
        found = [
            place
            for amount in amounts_of(judgement, row)
            for place in places[amount]
            if place.posting not in used and not (place.cell and place.cell.is_settled)
        ]
        same = [place for place in found if place.key == row["home"] and place.day >= row["day"] - EARLIER]
        others = [place for place in found if place.key != row["home"] and _is_near(judgement, row, place)]
        same = {place.posting: place for place in same}.values()
        others = {place.posting: place for place in others}.values()
        if not same and not others:
            left.append(entry)
            continue
        _judge_places(judgement, rest, entry, [*same], [*others], wanted[row["key"], row["gross"]], sizes, used)
    rest.use(*used)
    rest.out = left


def _places(rest: Open) -> Iterator[tuple[int, Place]]:
    """Yield amounts that nothing explains, with their place."""
    for posting, row in rest.free.items():
        for amount in {row["amount"], row["gross"]} - {None}:
            yield amount, Place(row["key"], row["account"], row["day"], posting)
    for cell in rest.cells:
        if cell.values and cell.postings:
            for off in range(-cell.slack, cell.slack + 1):
                yield cell.difference + off, Place(cell.key, None, cell.due, cell.postings[0], cell)


def _is_near(judgement: Judgement, row: dict[str, Any], place: Place) -> bool:
    """Whether a place on another account is near enough to be the entry's."""
    if place.cell is not None:
        return abs(place.day - row["due"]) <= 0
    return -EARLIER <= place.day - row["due"] <= max(WEEK, judgement.style.lag)


def _judge_places(
    judgement: Judgement,
    rest: Open,
    entry: int,
    same: list[Place],
    others: list[Place],
    wanted: int,
    sizes: np.ndarray,
    used: set[int],
) -> None:
    """Say where an entry is, if only one place is possible, and chance does not put its amount there."""
    row, agree = rest.entries[entry], judgement.state.texts.agree
    if not same:
        told = [place for place in others if place.cell is None and agree(entry, place.posting)]
        in_cells = [place for place in others if place.cell is not None]
        if not told and len(others) == len(in_cells) == 1:
            told = in_cells
        if (
            not told
            and _chance(judgement, row, sizes) <= BY_CHANCE
            and len(others) == 1
            and agree(entry, others[0].posting) is not False
        ):
            told = others
        if len(told) != 1 or wanted > 1:
            judgement.undecided([entry], Reason.SEVERAL_FIT, [place.posting for place in others])
            return
        place, status = told[0], Status.ANOTHER_ACCOUNT
    else:
        near = [place for place in same if place.day - row["day"] <= LATER]
        if wanted > len(same) or (not near and _recurs(judgement, row, len(same))):
            judgement.undecided([entry], Reason.SEVERAL_FIT, [place.posting for place in same])
            return
        place = min(same, key=lambda place: abs(place.day - row["day"]))
        is_strange = place.cell is None and agree(entry, place.posting) is False
        if (
            is_strange
            and place.day - row["day"] > max(WEEK, judgement.style.lag)
            and _recurs(judgement, row, len(same))
        ):
            judgement.undecided([entry], Reason.SEVERAL_FIT, [place.posting for place in same])
            return
        status = Status.BOOKED if place.day == row["day"] and place.cell is None else Status.ANOTHER_DATE
    used.add(place.posting)
    judgement.say(entry, status, How.ELSEWHERE, place.posting)
    if place.cell is not None:
        place.cell.is_settled = True
        judgement.whole(place.cell.values, place.posting, How.DIFFERENCE)


def _chance(judgement: Judgement, row: dict[str, Any], sizes: np.ndarray) -> float:
    """Return how many free postings have the amount of an entry by chance, on any account, within two weeks."""
    size = abs(row["gross"])
    about = int(np.searchsorted(sizes, 2 * size) - np.searchsorted(sizes, size / 2))
    days = judgement.state.books.postings["day"]
    span = max(int(days.max()) - int(days.min()), 15)  # type: ignore[arg-type]
    return about / max(1.5 * size, 1) * 15 / span


def _recurs(judgement: Judgement, row: dict[str, Any], places: int) -> bool:
    """Whether several entries of the account have the amount, so that a posting of it may be of any."""
    entries = judgement.state.every_entry
    alike = entries.filter(pl.col("account") == row["account"], pl.col("gross") == row["gross"]).height
    return alike > 1 or places > 1


# ---- the proof


def judge_missing(judgement: Judgement, rest: Open) -> None:
    """Say of what is left that it is missing, where that is proven, else why it is not decided."""
    share = known(judgement)
    postings = judgement.state.books.postings
    if not postings.height:
        judgement.undecided(rest.out, Reason.STYLE_UNKNOWN)
        return
    first, last = int(postings["month"].min()), int(postings["day"].max())  # type: ignore[arg-type]
    last_month = int(postings["month"].max())  # type: ignore[arg-type]
    cells = excess(rest.cells)
    outs = defaultdict(list)
    for entry in rest.out:
        outs[rest.entries[entry]["home"]].append(entry)
    by_key, by_amount, on_day = defaultdict(list), defaultdict(list), defaultdict(list)
    in_open_cells = {
        posting: rest.in_cells[posting] for cell in cells for posting in cell.postings if posting in rest.in_cells
    }
    rest.free |= in_open_cells
    for posting, row in rest.free.items():
        by_key[row["key"]].append(posting)
        for amount in {row["amount"], row["gross"]} - {None}:
            by_amount[amount].append(posting)
        on_day[row["day"]].append(posting)
    sums = {key: _sums([rest.entries[entry] for entry in entries]) for key, entries in outs.items()}
    elsewhere = _other_days(judgement)
    opposites = {(row["home"], row["gross"] > 0) for row in rest.entries.values()}
    for entry in rest.out:
        row = rest.entries[entry]
        is_covered = first <= row["month"] and row["due"] + judgement.style.lag <= last and (
            not judgement.style.grain.is_long or last_month >= row["month"]
        )  # fmt: skip
        if share < KNOWN:
            may_hold = [posting for posting in by_key[row["home"]] if _is_in_time(row, rest.free[posting], LATER)]
            judgement.undecided([entry], Reason.STYLE_UNKNOWN, may_hold)
        elif not is_covered:
            judgement.undecided([entry], Reason.NOT_COVERED)
        elif holds := [
            *_holds(
                judgement,
                rest,
                entry,
                by_key[row["home"]],
                by_amount,
                on_day[row["due"]],
                sums[row["home"]],
                has_opposites=(row["home"], row["gross"] < 0) in opposites,
            )
        ]:
            judgement.undecided([entry], Reason.MAY_BE_IN, holds)
        elif near := [cell for cell in cells if _may_hold(judgement, row, cell)]:
            judgement.undecided([entry], Reason.OPEN_GROUP, [posting for cell in near for posting in cell.postings])
        elif any(-EARLIER <= day - row["day"] <= LATER for day in elsewhere.get((row["key"], row["gross"]), ())):
            judgement.undecided([entry], Reason.SEVERAL_FIT)
        else:
            judgement.say(entry, Status.MISSING)


def _sums(rows: list[dict[str, Any]]) -> set[int] | None:
    """Return the sums of two entries or more; None where these are too many."""
    if len(rows) > SEARCH:
        return None
    sums = np.zeros(1, np.int64)
    count = np.zeros(1, np.int64)
    for row in rows:
        sums, count = np.concatenate([sums, sums + row["gross"]]), np.concatenate([count, count + 1])
    return set(sums[count > 1].tolist())


def _is_in_time(row: dict[str, Any], posting: dict[str, Any], latest: int) -> bool:
    return bool(-EARLIER <= posting["day"] - row["due"] <= latest)


def _holds(
    judgement: Judgement, rest: Open, entry: int, on_account: list[int], by_amount: dict[int, list[int]], on_day: list[int],
    sums: set[int] | None, *, has_opposites: bool,
) -> Iterator[int]:  # fmt: skip
    """Yield the free postings that may hold an entry."""
    row, style, agree = rest.entries[entry], judgement.style, judgement.state.texts.agree
    for amount in amounts_of(judgement, row):
        yield from (posting for posting in by_amount[amount] if _is_in_time(row, rest.free[posting], LATER))
    least = min(map(abs, amounts_of(judgement, row)))
    for posting in on_account:
        place = rest.free[posting]
        amounts = {place["amount"], place["gross"]} - {None}
        if not _is_in_time(row, place, LATER):
            continue
        if sums is None or sums & amounts:
            yield posting
        elif _is_in_time(row, place, style.lag + EARLIER) and agree(entry, posting) is not False:
            # Beside entries of the other side a sum may be of any size and on any side.
            is_same_side = any(amount * row["gross"] > 0 for amount in amounts)
            is_large = style.grain is Grain.ENTRY or max(map(abs, amounts)) >= least
            if (is_same_side and is_large) or (style.grain is not Grain.ENTRY and has_opposites):
                yield posting
    if style.grain is not Grain.ENTRY:
        # A sum of the style on another account, or any on one that no entry has, on the day of the group.
        for posting in on_day:
            place = rest.free[posting]
            may_be = posting in rest.of_style or not place["is_used"]
            if may_be and place["amount"] * row["gross"] > 0 and abs(place["amount"]) >= least / 2:
                yield posting


def _may_hold(judgement: Judgement, row: dict[str, Any], cell: Cell) -> bool:
    """Whether an open group may hold an entry: of its account some days around, of others on its day."""
    if cell.key in (None, row["home"]):
        return bool(abs(cell.due - row["due"]) <= judgement.style.lag + EARLIER)
    return judgement.style.grain is not Grain.ENTRY and cell.due == row["due"]


def _other_days(judgement: Judgement) -> dict[tuple[int, int], list[int]]:
    """Return the days of postings whose entries are of another day, by account and amount."""
    entries = np.flatnonzero(judgement.status == Status.ANOTHER_DATE)
    if not len(entries):
        return {}
    days = judgement.state.books.postings["day"].to_numpy()
    rows = judgement.state.every_entry.filter(pl.col("e").is_in(entries)).select("e", "key", "gross")
    found = defaultdict(list)
    for entry, key, gross in rows.iter_rows():
        found[key, gross].append(int(days[judgement.posting[entry]]))
    return found
