"""Entries that no group of their account holds, found by their amount in another place of the ledger."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bktools.ledger.explained import EARLIER, KNOWN, LATER, WEEK
from bktools.ledger.judgement import Judgement, entry_amounts, known, place_amounts
from bktools.ledger.open_groups import Cell, Open
from bktools.ledger.statuses import Reason, Status
from bktools.ledger.steps import Grain, How

# Equal amounts are there by chance at most so often, on another account and without a text.
BY_CHANCE = 0.01
# Amounts are multiples of this more often than by chance; by chance so many entries have one amount.
ROUND, SELDOM = 50, 3


@dataclass(frozen=True)
class Place:
    """Where an amount stands that nothing explains: a free posting, or the difference of a cell."""

    key: int | None
    account: int | None
    day: int
    posting: int
    cell: Cell | None = None
    # The amount of a voucher without tax, where others have it.
    untaxed: int | None = None


@dataclass(frozen=True)
class _Search:
    """What is known of the places in which entries are looked for."""

    judgement: Judgement
    rest: Open
    # By amount, as it is compared.
    places: Mapping[tuple[bool, int], Sequence[Place]]
    # The sizes of the free postings, in order.
    sizes: np.ndarray
    # How many entries that are out have a key and an amount; how many entries of any account have an amount,
    # of all and of those that are not found.
    wanted: Mapping[tuple[int, int], int]
    frequent: Mapping[int, int]
    unfound: Mapping[int, int]
    is_known: bool

    def is_telling(self, row: Mapping[str, Any]) -> bool:
        """Whether no other entry has the amount of an entry."""
        return self.frequent[row["gross"]] == 1

    def is_sole(self, row: Mapping[str, Any]) -> bool:
        """Whether no other entry that may be in an open sum has the amount of an entry, if it is seldom."""
        amount = row["gross"]
        is_seldom = amount % ROUND and self.frequent[amount] <= SELDOM
        if self.judgement.style.grain is Grain.ENTRY or not is_seldom:
            return self.is_telling(row)
        return self.unfound[amount] == 1


def judge_elsewhere(judgement: Judgement, rest: Open) -> None:
    """Judge the entries out of their group by their amount in another place.

    What is found nowhere stays in `out`.
    """
    rest.out = [entry for entry in rest.out if judgement.is_open(entry) and rest.entries[entry]["is_home"]]
    search = _search(judgement, rest)
    used: set[int] = set()
    left = []
    for entry in rest.out:
        row = rest.entries[entry]
        found = [place for place in _possible(search, entry, row) if place.posting not in used]
        same = [place for place in found if place.key == row["home"] and place.day >= row["day"] - EARLIER]
        others = [place for place in found if place.key != row["home"] and _is_near(judgement, row, place)]
        others = [place for place in others if not _is_taken_from(judgement, row, place)]
        if any(place.posting in rest.of_style for place in others):
            others = [place for place in others if place.posting not in rest.routine]
        if not same and not others:
            left.append(entry)
            continue
        place = _own_place(search, entry, row, same) if same else _other_place(search, entry, row, others)
        if place is None:
            continue
        used.add(place.posting)
        if place.cell is not None:
            place.cell.is_settled = True
            judgement.whole(place.cell.values, place.posting, How.DIFFERENCE)
    rest.use(*used)
    rest.out = left


def _search(judgement: Judgement, rest: Open) -> _Search:
    places = defaultdict(list)
    for amount, place in _places(rest, shows_tax=judgement.state.books.has_tax):
        places[amount].append(place)
    amounts = judgement.state.every_entry["gross"]
    return _Search(
        judgement,
        rest,
        places,
        np.sort(np.abs(np.array([row["amount"] for row in rest.free.values()] or [0], dtype=np.int64))),
        Counter((rest.entries[entry]["key"], rest.entries[entry]["gross"]) for entry in rest.out),
        Counter(amounts.filter(amounts.is_in([rest.entries[entry]["gross"] for entry in rest.out]))),
        Counter(row["gross"] for entry, row in rest.entries.items() if judgement.is_open(entry)),
        known(judgement) >= KNOWN,
    )


def _possible(search: _Search, entry: int, row: dict[str, Any]) -> list[Place]:
    """Return the places that have the amount of an entry; a cell only where its group may have the entry."""
    places = (
        place for amount in entry_amounts(search.judgement, row) for place in search.places.get(amount, ())
    )
    # A round amount is an error of an entry that is there sooner than another entry.
    possible = {
        place.posting: place
        for place in places
        if _may_have_tax(search.judgement, entry, row, place)
        and (
            place.cell is None
            or (
                not place.cell.is_settled
                and entry not in place.cell.values
                and search.is_sole(row)
                and row["gross"] % ROUND
                and _is_of_group(search.judgement, entry, row, place)
            )
        )
    }
    return [*possible.values()]


def _places(rest: Open, *, shows_tax: bool) -> Iterator[tuple[tuple[bool, int], Place]]:
    """Yield amounts that nothing explains, as they are compared, with their place."""
    for posting, row in rest.free.items():
        is_untaxed = shows_tax and row["voucher"] is not None and row["gross"] == row["amount"]
        untaxed = row["amount"] if is_untaxed else None
        for amount in place_amounts(row):
            yield amount, Place(row["key"], row["account"], row["day"], posting, untaxed=untaxed)
    for cell in rest.cells:
        if cell.values and cell.postings:
            for off in range(-cell.slack, cell.slack + 1):
                yield (
                    (cell.is_gross, cell.difference + off),
                    Place(cell.key, None, cell.due, cell.postings[0], cell),
                )


def _may_have_tax(judgement: Judgement, entry: int, row: dict[str, Any], place: Place) -> bool:
    """Whether a place has the tax that an entry has, as far as both are known, or a text of the entry."""
    if place.untaxed is None or judgement.state.texts.agree(entry, place.posting):
        return True
    is_untaxed = place.untaxed == row["gross"] and row["net"] in (None, row["gross"])
    return is_untaxed and not judgement.state.is_taxed(entry)


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
    return bool(0 <= place.day - row["due"] <= judgement.style.lag)


def _own_place(search: _Search, entry: int, row: dict[str, Any], same: list[Place]) -> Place | None:
    """Say on which day an entry is on its account, and return the place.

    Return None where several places, or several entries, come into question.
    """
    judgement = search.judgement
    near = [place for place in same if place.day - row["day"] <= LATER]
    place = min(same, key=lambda place: abs(place.day - row["day"]))
    said = None if place.cell is not None else judgement.state.texts.agree(entry, place.posting)
    is_late = place.day - row["day"] > max(WEEK, judgement.style.lag)
    # Then a posting of an amount that recurs may be of any entry that has it.
    is_doubtful = not near or (said is False and is_late)
    # In a ledger that little explains, chance may bring the amount there.
    is_chance = is_late and not (search.is_known or said)
    if (
        search.wanted[row["key"], row["gross"]] > len(same)
        or is_chance
        or (is_doubtful and _recurs(judgement, row, len(same)))
    ):
        judgement.undecided([entry], Reason.SEVERAL_FIT, [place.posting for place in same])
        return None
    is_on_time = place.day == row["day"] and place.cell is None
    judgement.say(entry, Status.BOOKED if is_on_time else Status.ANOTHER_DATE, How.ELSEWHERE, place.posting)
    return place


def _other_place(search: _Search, entry: int, row: dict[str, Any], others: list[Place]) -> Place | None:
    """Say on which other account an entry is, and return the place.

    Return None where no text and no amount tells the account, or chance may put the amount there.
    """
    judgement, texts = search.judgement, search.judgement.state.texts
    at_home = [posting for posting in search.rest.by_key[row["home"]] if texts.by_text(posting) == entry]
    if at_home:
        # The entry was moved to its account by an amount that it cannot have.
        judgement.undecided([entry], Reason.SEVERAL_FIT, at_home)
        return None
    told = [place for place in others if place.cell is None and texts.agree(entry, place.posting)]
    if (
        not told
        and search.is_known
        and len(others) == 1
        and _is_told_by_amount(search, entry, row, others[0])
    ):
        told = others
    if len(told) != 1 or search.wanted[row["key"], row["gross"]] > 1:
        judgement.undecided([entry], Reason.SEVERAL_FIT, [place.posting for place in others])
        return None
    judgement.say(entry, Status.ANOTHER_ACCOUNT, How.ELSEWHERE, told[0].posting)
    return told[0]


def _is_told_by_amount(search: _Search, entry: int, row: dict[str, Any], place: Place) -> bool:
    """Whether chance hardly puts an amount at a place: a cell's difference, or a posting in time."""
    if place.cell is not None:
        return True
    # A voucher like those of sums has what no other sum has.
    is_sum = place.posting in search.rest.of_style
    return (
        _is_dated(search.judgement, row, place)
        and (search.is_sole(row) if is_sum else search.is_telling(row))
        and _chance(search.judgement, row, search.sizes) <= BY_CHANCE
        and search.judgement.state.texts.agree(entry, place.posting) is not False
    )


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
