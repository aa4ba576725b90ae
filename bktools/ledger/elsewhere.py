"""Entries that no group of their account holds, found by their amount in another place of the ledger."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bktools.ledger.differences import Cell, Open
from bktools.ledger.explanation import EARLIER, KNOWN, LATER
from bktools.ledger.judgement import Judgement, entry_amounts, known, place_amounts
from bktools.ledger.statuses import Reason, Status
from bktools.ledger.steps import Grain, How

# Equal amounts are there by chance at most so often, on another account and without a text.
BY_CHANCE = 0.01
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


def judge_elsewhere(judgement: Judgement, rest: Open) -> None:
    """Judge the entries out of their group by their amount in another place.

    What is found nowhere stays in `out`.
    """
    rest.out = [entry for entry in rest.out if judgement.is_open(entry) and rest.entries[entry]["is_home"]]
    places = defaultdict(list)
    for amount, place in _places(rest):
        places[amount].append(place)
    sizes = np.sort(np.abs(np.array([row["amount"] for row in rest.free.values()] or [0], dtype=np.int64)))
    wanted = Counter((rest.entries[entry]["key"], rest.entries[entry]["gross"]) for entry in rest.out)
    # An amount that several entries of any account have tells none.
    amounts = judgement.state.every_entry["gross"]
    frequent = Counter(amounts.filter(amounts.is_in([rest.entries[entry]["gross"] for entry in rest.out])))
    used: set[int] = set()
    is_known = known(judgement) >= KNOWN
    left = []
    for entry in rest.out:
        row = rest.entries[entry]
        found = [
            place
            for amount in entry_amounts(judgement, row)
            for place in places[amount]
            if place.posting not in used
            and not (place.cell and (place.cell.is_settled or entry in place.cell.values))
        ]
        is_telling = frequent[row["gross"]] == 1
        found = [
            place
            for place in found
            if place.cell is None or (is_telling and _is_of_group(judgement, entry, row, place))
        ]
        each = {place.posting: place for place in found}.values()
        same = [place for place in each if place.key == row["home"] and place.day >= row["day"] - EARLIER]
        others = [place for place in each if place.key != row["home"] and _is_near(judgement, row, place)]
        others = [place for place in others if not _is_taken_from(judgement, row, place)]
        if not same and not others:
            left.append(entry)
            continue
        _judge_places(
            judgement,
            rest,
            entry,
            same,
            others,
            wanted[row["key"], row["gross"]],
            sizes,
            used,
            is_known=is_known,
            is_telling=is_telling,
        )
    rest.use(*used)
    rest.out = left


def _places(rest: Open) -> Iterator[tuple[tuple[bool, int], Place]]:
    """Yield amounts that nothing explains, as they are compared, with their place."""
    for posting, row in rest.free.items():
        for amount in place_amounts(row):
            yield amount, Place(row["key"], row["account"], row["day"], posting)
    for cell in rest.cells:
        if cell.values and cell.postings:
            for off in range(-cell.slack, cell.slack + 1):
                yield (
                    (cell.is_gross, cell.difference + off),
                    Place(cell.key, None, cell.due, cell.postings[0], cell),
                )


def _is_near(judgement: Judgement, row: dict[str, Any], place: Place) -> bool:
    """Whether a place on another account is near enough to be the entry's."""
    return bool(-EARLIER <= place.day - row["due"] <= max(WEEK, judgement.style.lag))


def _is_taken_from(judgement: Judgement, row: dict[str, Any], place: Place) -> bool:
    """Whether a voucher takes from an entry's account, as a reversal or a transfer of the entry does."""
    postings = judgement.state.books.postings
    voucher = postings["voucher"][place.posting]
    beside = postings.filter(pl.col("voucher") == voucher, pl.col("key") == row["home"])["amount"]
    return bool((beside * (1 if row["gross"] > 0 else -1) < 0).any())


def _is_of_group(judgement: Judgement, entry: int, row: dict[str, Any], place: Place) -> bool:
    """Whether the group of a place may have an entry: on its day, or some days later on its account."""
    latest = judgement.style.lag if place.key != row["home"] else max(WEEK, judgement.style.lag)
    return bool(0 <= place.day - row["due"] <= latest) and not judgement.is_refused(entry, place.posting)


def _is_dated(judgement: Judgement, row: dict[str, Any], place: Place) -> bool:
    """Whether a place is on a day on which the style books the entry."""
    lag = judgement.style.lag
    return judgement.style.grain is Grain.ENTRY or bool(0 <= place.day - row["due"] <= lag)


def _judge_places(
    judgement: Judgement,
    rest: Open,
    entry: int,
    same: list[Place],
    others: list[Place],
    wanted: int,
    sizes: np.ndarray,
    used: set[int],
    *,
    is_known: bool,
    is_telling: bool,
) -> None:
    """Say where an entry is, if only one place is possible, and chance does not put its amount there."""
    row, agree = rest.entries[entry], judgement.state.texts.agree
    at_home = (
        [place for place in rest.by_key[row["home"]] if judgement.state.texts.by_text(place) == entry]
        if not same
        else []
    )
    if at_home:
        # The entry was moved to its account by an amount that it cannot have.
        judgement.undecided([entry], Reason.SEVERAL_FIT, at_home)
        return
    if not same:
        told = [place for place in others if place.cell is None and agree(entry, place.posting)]
        in_cells = [place for place in others if place.cell is not None]
        if not told and is_known and len(others) == len(in_cells) == 1:
            told = in_cells
        if (
            not told
            and is_known
            and len(others) == 1
            and _is_dated(judgement, row, others[0])
            and is_telling
            and _chance(judgement, row, sizes) <= BY_CHANCE
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
    """Return how many free postings have an entry's amount by chance on any account in two weeks."""
    size = abs(row["gross"])
    about = int(np.searchsorted(sizes, 2 * size) - np.searchsorted(sizes, size / 2))
    days = judgement.state.books.postings["day"]
    span = max(int(days.max()) - int(days.min()), 15)  # type: ignore[arg-type]
    return float(about / max(1.5 * size, 1) * 15 / span)


def _recurs(judgement: Judgement, row: dict[str, Any], places: int) -> bool:
    """Whether several entries of the account have the amount, so that a posting of it may be of any."""
    entries = judgement.state.every_entry
    alike = entries.filter(pl.col("account") == row["account"], pl.col("gross") == row["gross"]).height
    return alike > 1 or places > 1
