"""The open entries and free postings, row by row, and the cells: what is open on an account and a day."""

from __future__ import annotations

import functools
from collections import ChainMap, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import polars as pl

from bktools.ledger.exchange import Rate, rates_by_day
from bktools.ledger.habits import COST
from bktools.ledger.judgement import Judgement
from bktools.ledger.rounding import rounds_each
from bktools.ledger.statuses import Status
from bktools.ledger.style import with_due
from bktools.ledger.taxes import nets

# More open entries are not judged one by one: such a ledger is another one.
MOST_OPEN = 50_000


class Converted(NamedTuple):
    """An entry's amounts in the ledger's currency, and how much the rate leaves open."""

    gross: int | None
    net: int | None
    open: float


@dataclass
class Cell:
    """What is open on an account and a day: entries with their amounts, the postings, and the difference."""

    key: int | None
    due: int
    values: Mapping[int, int]
    postings: Sequence[int]
    total: int
    # So much rounding leaves open.
    slack: int
    # Whether only gross amounts compare with its difference.
    is_gross: bool = False
    # All entries that may be in it.
    entries: Collection[int] = ()
    # Amounts that a difference may be for an entry elsewhere.
    difference: int = 0
    is_settled: bool = False
    # The cell without its tax, which has to agree, too.
    net: Cell | None = None

    def __post_init__(self) -> None:
        self.difference = self.total - sum(self.values.values())

    @property
    def is_lone(self) -> bool:
        """Whether it is one entry and one posting."""
        return len(self.values) == len(self.postings) == 1


@dataclass
class Open:
    """The open entries and free postings, row by row, and the cells that are not settled."""

    entries: dict[int, dict[str, Any]]
    free: dict[int, dict[str, Any]]
    # Whether the ledger rounds each entry, so that sums of nets are exact.
    rounds_each: bool
    # Postings of cells: no longer free, but what is out may be in one whose difference nothing explains.
    in_cells: dict[int, dict[str, Any]] = field(default_factory=dict)
    # Postings whose vouchers look like those of the style, or hold entries where these have no look.
    of_style: set[int] = field(default_factory=set)
    # Postings of vouchers of another kind, of which the ledger has many, and none with an entry.
    routine: set[int] = field(default_factory=set)
    # Entries that no group of their account holds.
    out: list[int] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)

    @property
    def known(self) -> Mapping[int, dict[str, Any]]:
        """The free postings and those of cells."""
        return ChainMap(self.free, self.in_cells)

    @functools.cached_property
    def by_key(self) -> Mapping[int, list[int]]:
        """The free postings by account, as they were at first."""
        found = defaultdict(list)
        for posting, row in self.free.items():
            found[row["key"]].append(posting)
        return found

    def use(self, *postings: int) -> None:
        """Take postings away from what is free."""
        for posting in postings:
            self.free.pop(posting, None)

    def add_postings(self, cell: Cell) -> None:
        """Take the postings of a cell from what is free."""
        self.in_cells |= {posting: self.free[posting] for posting in cell.postings if posting in self.free}
        self.use(*cell.postings)


def open_of(judgement: Judgement, rates: tuple[Rate, ...] = ()) -> Open | None:
    """Return what is open, None where it is too much to be judged one by one.

    Entries of other currencies are `converted` where a rate of their day is known.
    """
    state = judgement.state
    entries = state.entries.filter(pl.Series(judgement.status[state.entries["e"].to_numpy()] == Status.OPEN))
    if entries.height > MOST_OPEN:
        return None
    due = with_due(replace(state, entries=entries), judgement.style)
    taken = [*judgement.doubles, *judgement.reversals]
    free = state.postings.filter(pl.col("role") == COST, ~pl.col("p").is_in(taken))
    if free.height > MOST_OPEN:
        # Only what may hold an open entry: on its account, with its amount, or in a voucher with entries.
        amounts = pl.concat([entries["gross"], entries["net"].drop_nulls()]).unique().implode()
        is_near = pl.col("key").is_in(entries["home"].unique().implode()) | pl.col("gross").is_in(amounts)
        free = free.filter(is_near | pl.col("amount").is_in(amounts))
    rate_of = rates_by_day(rates)
    return Open(
        {
            row["e"]: row | {"converted": None if row["is_home"] else _converted(row, rate_of, state.rates)}
            for row in due.iter_rows(named=True)
        },
        {
            row["p"]: row
            for row in free.select(
                "p", "key", "account", "day", "month", "amount", "gross", "voucher", "is_used"
            ).iter_rows(named=True)
        },
        rounds_each(state),
    )


def _converted(
    row: Mapping[str, Any], rate_of: Callable[[str, int], Rate | None], taxes: Sequence[int]
) -> Converted | None:
    """Return the amounts of an entry of another currency in the ledger's, None without a rate.

    The tax is that of the converted amount.
    """
    rate = rate_of(row["currency"], row["due"])
    if rate is None:
        return None
    gross, net = round(row["gross"] * rate.value), row["net"]
    if net is not None:
        fits = (nets(gross, [tax])[0] for tax in (0, *taxes) if net in nets(row["gross"], [tax]))
        net = next(fits, round(net * rate.value))
    return Converted(gross, net, abs(row["gross"]) * rate.value * rate.width)


def excess(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells whose difference nothing explains."""
    return [cell for cell in cells if not cell.is_settled]
