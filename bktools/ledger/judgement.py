"""Judges what totals do not explain: each entry by the only possible explanation, or not decided."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from bktools.ledger.explained import LARGEST_TAX, Explained
from bktools.ledger.statuses import Reason, Status
from bktools.ledger.steps import Grain, How
from bktools.ledger.style import Style
from bktools.ledger.taxes import nets
from bktools.ledger.text_columns import Numbers

# Entries whose postings agree.
THERE = (Status.BOOKED, Status.IN_A_SUM, Status.ANOTHER_DATE)


@dataclass(frozen=True)
class Note:
    """Why an entry has its status: postings to look at, and the difference of its group in minor units."""

    reason: Reason
    postings: tuple[int, ...] = ()
    difference: int | None = None


@dataclass
class Judgement:
    """What is known so far of each entry, by its row, and which postings are still free."""

    state: Explained
    style: Style
    # By entry: status, how, the grain of its sum, the row of the posting or -1.
    status: np.ndarray
    how: np.ndarray
    grain: np.ndarray
    posting: np.ndarray
    # The day of each entry.
    day: np.ndarray
    notes: dict[int, Note] = field(default_factory=dict)
    # Postings that are the second one of an entry, or take one back: row to entry.
    doubles: dict[int, int] = field(default_factory=dict)
    reversals: dict[int, int] = field(default_factory=dict)
    # Postings that undo one another.
    undone: set[int] = field(default_factory=set)
    # Entries in a sum that is explained but for one entry, by the posting of the sum.
    in_sums: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    @functools.cached_property
    def group(self) -> Numbers:
        """The group of each entry, as a number."""
        return self._of_entries(pl.struct(self.style.grain.group).rank("dense").cast(pl.Int64))

    @functools.cached_property
    def home(self) -> Numbers:
        """The account of each entry with the ledger's currency, as a number."""
        return self._of_entries(pl.col("home"))

    @functools.cached_property
    def size(self) -> Numbers:
        """How many entries of its group are on the account of each entry."""
        return self._of_entries(pl.len().over(*self.style.grain.group, "home").cast(pl.Int64))

    def _of_entries(self, value: pl.Expr) -> Numbers:
        every = self.state.every_entry
        values = np.zeros(len(self.status), np.int64)
        values[every["e"].to_numpy()] = every.select(value).to_series().to_numpy()
        return values

    def say(
        self, entry: int, status: Status, how: How | None = None, posting: int = -1, note: Note | None = None
    ) -> None:
        """Give an entry its status."""
        self.status[entry] = status
        if how is not None:
            self.how[entry] = how
        if posting >= 0:
            self.posting[entry] = posting
        if note is not None:
            self.notes[entry] = note

    def undecided(
        self,
        entries: Iterable[int],
        reason: Reason,
        postings: Sequence[int] = (),
        difference: int | None = None,
    ) -> None:
        """Say of entries that they are not decided, and where to look."""
        note = Note(reason, tuple(postings), difference)
        for entry in entries:
            self.say(entry, Status.NOT_DECIDED, note=note)

    def whole(self, entries: Iterable[int], posting: int, how: How) -> None:
        """Say of entries that a sum holds them."""
        for entry in entries:
            self.say(entry, Status.IN_A_SUM, how, posting)

    def is_refused(self, entry: int, posting: int) -> bool:
        """Whether the text of a posting is of another matter than an entry.

        A sum may have the text of one of its entries.
        """
        texts = self.state.texts
        if texts.agree(entry, posting) is not False:
            return False
        named = None if self.style.grain is Grain.ENTRY else texts.entry_named(posting)
        return named is None or bool(self.group[named] != self.group[entry])

    def is_open(self, entry: int) -> bool:
        """Whether an entry has no status yet."""
        # Numbers of Python are compared many times faster than those of arrays.
        return bool(self.status.item(entry) == Status.OPEN)


def begun(state: Explained, style: Style, count: int) -> Judgement:
    """Return the judgement of the entries that totals explain."""
    status, how, grain = (
        np.zeros(count, np.int8),
        np.full(count, -1, np.int8),
        np.full(count, style.grain, np.int8),
    )
    posting = np.full(count, -1, np.int64)
    days = state.books.postings["day"].to_numpy()
    day = np.zeros(count, np.int64)
    day[: len(state.days)] = state.days
    for group in state.groups:
        entries, at = group.first["e"].to_numpy(), group.first["p"].to_numpy()
        is_sum = group.first["count"].to_numpy() > 1
        if style.grain.is_long:
            # A sum of one entry has the day of sums.
            is_sum = is_sum | (group.grain is style.grain) | (group.how is How.SOME_DAYS_LATER)
        alone = np.where(days[at] == day[entries], Status.BOOKED, Status.ANOTHER_DATE)
        if group.how is How.ENTRY_ID:
            alone = _named(state, entries, at, alone)
            is_sum[:] = False
        status[entries] = np.where(is_sum, Status.IN_A_SUM, alone)
        how[entries], grain[entries], posting[entries] = group.how, group.grain, at
    return Judgement(state, style, status, how, grain, posting, day)


def _named(state: Explained, entries: np.ndarray, at: np.ndarray, same: np.ndarray) -> np.ndarray:
    """Return the statuses of entries whose posting names them: `same` where account and amount agree."""
    ours = pl.DataFrame({"e": entries}).join(state.every_entry, on="e", how="left", maintain_order="left")
    theirs = state.books.postings.select("account", "key", "amount", "gross")[at]
    is_home = ours["key"] == theirs["key"]
    is_amount = (
        (ours["gross"] == theirs["gross"])
        | (ours["gross"] == theirs["amount"])
        | (ours["net"] == theirs["amount"])
    )
    other = np.where((ours["account"] != theirs["account"]).to_numpy(), Status.ANOTHER_ACCOUNT, same)
    # Amounts of another currency are not compared.
    is_other = ~is_amount.fill_null(value=False) & (
        is_home | (ours["account"] != theirs["account"]) & ours["is_home"]
    )
    return np.where(is_other.to_numpy(), Status.ANOTHER_AMOUNT, other)


def known(judgement: Judgement) -> float:
    """Return the share of entries that are found, or of their money."""
    home = judgement.state.every_entry.filter("is_home")
    is_open = np.isin(judgement.status[home["e"].to_numpy()], (Status.OPEN, Status.NOT_DECIDED))
    return max(judgement.style.known, 1 - float(is_open.mean()) if len(is_open) else 0.0)


def may_be_net(gross: int, amount: int) -> bool:
    """Whether the amount of a posting may be that of an entry without a tax."""
    return abs(amount) < abs(gross) <= LARGEST_TAX * abs(amount)


def amounts_of(judgement: Judgement, row: Mapping[str, Any]) -> set[int]:
    """Return the amounts that an entry may have in the ledger: gross, and net by each rate."""
    gross, net = row["gross"], row["net"]
    by_rates = nets_of(judgement, gross)
    return (
        {gross, *by_rates} if net is None else {gross, net, *(own for own in by_rates if abs(own - net) <= 1)}
    )


def has_amount(judgement: Judgement, row: Mapping[str, Any], place: Mapping[str, Any]) -> bool:
    """Whether a posting has an entry's amount: gross where its voucher shows the tax, else gross or net."""
    return bool(place_amounts(place) & entry_amounts(judgement, row))


def place_amounts(place: Mapping[str, Any]) -> set[tuple[bool, int]]:
    """Return a posting's amount for comparison: (whether only a gross amount compares, the amount)."""
    amount, gross = place["amount"], place["gross"]
    return {(True, gross) if gross is not None and gross != amount else (False, amount)}


def entry_amounts(judgement: Judgement, row: Mapping[str, Any]) -> set[tuple[bool, int]]:
    """Return the amounts of an entry as they are compared with those of postings."""
    return {(True, row["gross"]), *((False, amount) for amount in amounts_of(judgement, row))}


def nets_of(judgement: Judgement, gross: int) -> list[int]:
    """Return a gross amount without its tax, by each rate."""
    return nets(gross, judgement.state.rates)
