"""Groups whose totals differ: explained where exactly one explanation is possible, and named where not.

A cell is what is open on an account and on the day on which the style books: entries, and postings. Its
difference is explained by one entry that is out of the sum, or in it twice, where no other entry and no set
of others makes it; a later posting on the account that is exactly the difference settles it.
"""

from __future__ import annotations

import functools
from collections import ChainMap, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from bktools.ledger.explanation import EARLIER, LATER, Explained
from bktools.ledger.habits import CONTRA, COST, THOUSANDTHS
from bktools.ledger.judgement import Judgement, nets_of
from bktools.ledger.statuses import Reason, Status
from bktools.ledger.steps import Grain, How
from bktools.ledger.style import with_due
from bktools.ledger.taxes import rounding

# All sets of so many entries are tried; of more, pairs, and chance must be small.
SEARCH = 12
# In so many cells, by chance, a difference may equal an entry that has nothing to do with it.
BY_CHANCE = 0.0005
# Minor units of which amounts are multiples more often than by chance.
ROUND = (1_000, 500, 100, 50, 10, 1)
# Vouchers look like those of the style where so many of these have one contra account, or one first word.
MOST_ALIKE = 0.9
# More open entries are not judged one by one: such a ledger is another one.
MOST_OPEN = 50_000


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
    # Postings of cells: no longer free, but what is out may be in one whose difference nothing explains.
    in_cells: dict[int, dict[str, Any]] = field(default_factory=dict)
    # Postings whose vouchers look like those of the style, or hold entries where these have no look.
    of_style: set[int] = field(default_factory=set)
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


def open_of(judgement: Judgement) -> Open | None:
    """Return what is open, None where it is too much to be judged one by one."""
    state = judgement.state
    entries = state.entries.filter(pl.Series(judgement.status[state.entries["e"].to_numpy()] == Status.OPEN))
    if entries.height > MOST_OPEN:
        return None
    due = with_due(Explained(**{**vars(state), "entries": entries}), judgement.style)
    taken = [*judgement.doubles, *judgement.reversals]
    free = state.postings.filter(pl.col("role") == COST, ~pl.col("p").is_in(taken))
    if free.height > MOST_OPEN:
        # Only what may hold an open entry: on its account, with its amount, or in a voucher with entries.
        amounts = pl.concat([entries["gross"], entries["net"].drop_nulls()]).unique().implode()
        is_near = pl.col("key").is_in(entries["home"].unique().implode()) | pl.col("gross").is_in(amounts)
        free = free.filter(is_near | pl.col("amount").is_in(amounts))
    return Open(
        {row["e"]: row for row in due.iter_rows(named=True)},
        {
            row["p"]: row
            for row in free.select(
                "p", "key", "account", "day", "month", "amount", "gross", "voucher", "is_used"
            ).iter_rows(named=True)
        },
    )


def judge_cells(judgement: Judgement, rest: Open) -> None:
    """Judge the cells, and leave those with a difference that nothing explains yet in `rest`."""
    rest.of_style = _of_style(judgement, rest)
    groups, lines = defaultdict(list), defaultdict(list)
    for entry, row in rest.entries.items():
        if judgement.is_open(entry) and entry not in rest.out:
            groups[row["home"], row["due"]].append(entry)
    for posting, row in rest.free.items():
        lines[row["key"], row["day"]].append(posting)
    off = []
    for place, group in groups.items():
        postings = _postings_of(judgement, rest, place, lines, group)
        entries = _without_foreign(judgement, rest, place, group, postings)
        if entries and postings:
            cell = _cell(judgement, rest, place, entries, postings)
            off += [cell] if cell.values else []
            if not cell.values:
                judgement.undecided(entries, Reason.SUM_DIFFERS, postings)
                rest.cells.append(cell)
            # With several days, the postings may belong to other cells, too.
            if cell.values or judgement.style.lag == 0:
                rest.add_postings(cell)
        else:
            rest.out += entries
    share = share_off(judgement, len(off))
    for cell in off:
        _judge(judgement, rest, cell, share)


def _postings_of(
    judgement: Judgement,
    rest: Open,
    place: tuple[int, int],
    lines: Mapping[tuple[int, int], Sequence[int]],
    group: Collection[int],
) -> list[int]:
    """Return the free postings on an account, from a day on for the usual delay, in the ledger's style.

    A posting that names an entry of other days is no sum of this group. A voucher of several accounts may
    have the text of one.
    """
    days = range(place[1], place[1] + judgement.style.lag + 1)
    postings = [posting for day in days for posting in lines.get((place[0], day), ()) if posting in rest.free]
    if judgement.style.grain is Grain.ENTRY:
        return postings
    group_days = {rest.entries[entry]["day"] for entry in group}
    named = {posting: judgement.state.texts.entry_named(posting) for posting in postings}
    return [
        posting
        for posting, entry in named.items()
        if posting in rest.of_style and (entry is None or judgement.day[entry] in group_days)
    ]


def _without_foreign(
    judgement: Judgement, rest: Open, place: tuple[int, int], entries: list[int], postings: Sequence[int]
) -> list[int]:
    """Return the entries that can be compared.

    Those of other currencies, and the sum that holds them, are not decided.
    """
    foreign = [entry for entry in entries if not rest.entries[entry]["is_home"]]
    if not foreign:
        return entries
    if judgement.style.grain is Grain.ENTRY:
        judgement.undecided(foreign, Reason.OTHER_CURRENCY, postings)
        return [entry for entry in entries if entry not in foreign]
    judgement.undecided(entries, Reason.OTHER_CURRENCY, postings)
    rest.cells.append(Cell(place[0], place[1], {}, postings, 0, 0, entries=entries))
    rest.add_postings(rest.cells[-1])
    return []


def _of_style(judgement: Judgement, rest: Open) -> set[int]:
    """Return the free postings of vouchers like those with entries, by contra account and first word.

    Where these have no look, all free postings.
    """
    postings = judgement.state.books.postings
    if judgement.style.grain is Grain.ENTRY or postings["voucher"].null_count() == postings.height:
        return {*rest.free}
    matched = (
        postings["voucher"].gather(np.unique(judgement.posting[judgement.posting >= 0])).drop_nulls().unique()
    )
    first_word = pl.col("text").str.to_lowercase().str.extract(r"^(\p{L}+)")
    forms = (
        postings.filter(pl.col("voucher").is_not_null())
        .group_by("voucher")
        .agg(contra=pl.col("account").filter(pl.col("role") == CONTRA).min(), word=first_word.first())
    )
    own = forms.filter(pl.col("voucher").is_in(matched.implode()))
    if not own.height:
        return {*rest.free}
    usual = [name for name in ("contra", "word") if _most_common(own[name]) >= MOST_ALIKE * own.height]
    if not usual:
        return {*rest.free}
    like = forms.filter(pl.all_horizontal(pl.col(name) == own[name].mode()[0] for name in usual))
    alike = {*like["voucher"].to_list()}
    return {posting for posting, row in rest.free.items() if row["voucher"] in alike}


def _most_common(values: pl.Series) -> int:
    counts = values.drop_nulls().value_counts(sort=True)
    return int(counts["count"][0]) if counts.height else 0


def share_off(judgement: Judgement, off: int) -> float:
    """Return the part of all groups that is off.

    Where it is large, some groups have several errors; where some were not sent, most have.
    """
    if judgement.style.is_partial:
        return float("inf")
    groups = sum(group.members["gid"].n_unique() for group in judgement.state.groups)
    return max(off, 1) / max(off + groups, 1)


def _cell(
    judgement: Judgement, rest: Open, place: tuple[int, int], entries: Sequence[int], postings: Sequence[int]
) -> Cell:
    """Return a cell of these postings, or of the only one among several days that one entry explains.

    Without such a posting the cell has no values.

    Amounts are gross where the ledger shows it, else net; without known net amounts a cell has no values.
    """
    named = Cell(place[0], place[1], {}, postings, 0, 0, entries=entries)
    if judgement.style.grain is Grain.ENTRY or len({rest.free[posting]["day"] for posting in postings}) == 1:
        return _compared(rest, place, entries, postings) or named
    share = len(postings) * share_off(judgement, 1)
    each = [cell for posting in postings if (cell := _compared(rest, place, entries, [posting])) is not None]
    explained = [
        cell
        for cell in each
        if abs(cell.difference) <= cell.slack or _explanations(judgement, cell, share) != (None, None)
    ]
    return explained[0] if len(explained) == 1 else named


def _compared(
    rest: Open, place: tuple[int, int], entries: Sequence[int], postings: Sequence[int]
) -> Cell | None:
    is_gross = all(rest.free[posting]["gross"] is not None for posting in postings)
    values = {entry: rest.entries[entry]["gross" if is_gross else "net"] for entry in entries}
    if None in values.values():
        return None
    total = sum(rest.free[posting]["gross" if is_gross else "amount"] for posting in postings)
    shows_tax = is_gross and any(
        rest.free[posting]["gross"] != rest.free[posting]["amount"] for posting in postings
    )
    return Cell(
        place[0],
        place[1],
        values,
        postings,
        total,
        0 if is_gross else _slack(len(entries)),
        shows_tax,
        entries,
    )


def _slack(count: int) -> int:
    """Return what rounding leaves open of a net of entries: at least one unit, as halves go either way."""
    return max(1, int(pl.select(rounding(pl.lit(count))).item()))


def _judge(judgement: Judgement, rest: Open, cell: Cell, share: float) -> None:
    entries = list(cell.values)
    later = _later(judgement, rest, cell)
    if abs(cell.difference) <= cell.slack or later is not None:
        judgement.whole(entries, cell.postings[0], How.DIFFERENCE)
        if later is not None:
            rest.use(later)
            judgement.undone.add(later)
        return
    out, twice = _explanations(judgement, cell, share)
    if out is not None and twice is None:
        rest.out.append(out)
        judgement.whole([entry for entry in entries if entry != out], cell.postings[0], How.DIFFERENCE)
        return
    if cell.is_lone and twice is None:
        # The entry may be elsewhere, and the posting that of another one.
        rest.out += entries
        rest.free |= {posting: rest.in_cells.pop(posting) for posting in cell.postings}
    rest.cells.append(cell)


def _explanations(judgement: Judgement, cell: Cell, share: float) -> tuple[int | None, int | None]:
    """Return the entry that a cell lacks, and the one it holds twice, if either explains its difference."""
    rates = () if cell.is_gross else judgement.state.rates
    out, twice = (
        sole(cell.values, amount, cell.slack, share, rates) for amount in (-cell.difference, cell.difference)
    )
    return out if len(cell.values) > 1 else None, twice


def _later(judgement: Judgement, rest: Open, cell: Cell) -> int | None:
    """Return the nearest posting, on that day or later, that takes back a cell's difference.

    The difference counts with its tax or without.
    """
    amounts = {-cell.difference, *nets_of(judgement, -cell.difference)}
    fits = [
        posting
        for posting, row in rest.free.items()
        if row["key"] == cell.key
        and row["day"] >= cell.due - EARLIER
        and amounts & {row["amount"], row["gross"]}
    ]
    return min(fits, key=lambda posting: rest.free[posting]["day"], default=None)


def judge_doubles_in_sums(judgement: Judgement, rest: Open) -> None:
    """Say which entry each remaining cell holds twice, or which one with another amount.

    Cells that nothing explains are not decided.
    """
    share = share_off(judgement, len(rest.cells))
    for cell in rest.cells:
        if cell.is_settled or not cell.values:
            continue
        if cell.is_lone and not (judgement.is_open(*cell.values) and cell.postings[0] in rest.known):
            # The cell's entry is somewhere else, or its posting belongs to another entry.
            cell.is_settled = True
            continue
        entries = list(cell.values)
        out, twice = _explanations(judgement, cell, share)
        if twice is not None and out is None:
            judgement.say(twice, Status.BOOKED_TWICE, How.DIFFERENCE, cell.postings[0])
            judgement.whole([entry for entry in entries if entry != twice], cell.postings[0], How.DIFFERENCE)
            cell.is_settled = True
        elif _is_another_amount(judgement, rest, cell):
            judgement.say(entries[0], Status.ANOTHER_AMOUNT, How.DIFFERENCE, cell.postings[0])
            cell.is_settled = True
        else:
            judgement.undecided(entries, Reason.SUM_DIFFERS, cell.postings, cell.difference)


def _is_another_amount(judgement: Judgement, rest: Open, cell: Cell) -> bool:
    """Whether a cell is one entry and one posting on one side, and no text or other entry says no."""
    if not cell.is_lone or cell.total * sum(cell.values.values()) <= 0:
        return False
    (entry,), (posting,) = cell.values, cell.postings
    said = judgement.state.texts.agree(entry, posting)
    if judgement.style.grain is Grain.ENTRY or (not said and judgement.style.grain is not Grain.ACCOUNT_DAY):
        return bool(said)
    if judgement.size[entry] > 1:
        # Another posting explains the other entries of its group.
        return False
    # The sum may hold an entry that another account or cell of its days lacks, or that is taken back later.
    days = range(rest.known[posting]["day"] - judgement.style.lag, rest.known[posting]["day"] + 1)
    others = [other for other in rest.out if rest.entries[other]["due"] in days and judgement.is_open(other)]
    off = [
        other for cell_ in rest.cells if cell_.due in days and not cell_.is_settled for other in cell_.entries
    ]
    back = [
        row
        for row in rest.free.values()
        if row["key"] == cell.key
        and row["amount"] * cell.total < 0
        and -EARLIER <= row["day"] - cell.due <= LATER
    ]
    claims = [other for other, note in judgement.notes.items() if posting in note.postings]
    is_alone = not claims and all(
        other == entry or judgement.is_refused(other, posting) for other in (*others, *off)
    )
    return said is not False and posting in rest.of_style and is_alone and not back


def sole(
    values: Mapping[int, int], amount: int, slack: int, share: float, rates: Sequence[int] = ()
) -> int | None:
    """Return the one entry whose amount this is; None where another entry, a set, or chance may explain it.

    `share` is how many groups are off: the more there are, the less a single entry is believed. `rates` are
    those of the tax that the amounts are without.
    """
    hits = [entry for entry, value in values.items() if abs(value - amount) <= slack]
    if len(hits) != 1 or not amount:
        return None
    others = np.array([value for entry, value in values.items() if entry != hits[0]], dtype=np.int64)
    if len(others) < SEARCH:
        sums = np.zeros(1, np.int64)
        for value in others:
            sums = np.concatenate([sums, sums + value])
        if (np.abs(sums[1:] - amount) <= slack).any():
            return None
    else:
        pairs = others[:, None] + others[None, :]
        np.fill_diagonal(pairs, 0)
        if (np.abs(pairs - amount) <= slack).any():
            return None
    near = int(((np.abs(others) >= abs(amount) / 2) & (np.abs(others) <= 2 * abs(amount))).sum())
    chance = (1 + near) * (2 * slack + 1) * _unit(amount, slack, rates) / (1.5 * abs(amount)) * share
    return hits[0] if len(others) == 0 or chance <= BY_CHANCE else None


def _unit(amount: int, slack: int, rates: Sequence[int]) -> int:
    """Return the amount of which a difference is a multiple, with tax or without.

    Such amounts are more frequent than others.

    A difference that rounding leaves open, or that is without its tax, is compared with the large ones alone.
    """
    around = range(amount - slack, amount + slack + 1)
    gross = [round(one * (THOUSANDTHS + rate) / THOUSANDTHS) for one in around for rate in rates]
    large = [unit for unit in ROUND[:3] if any(one % unit == 0 for one in (*around, *gross))]
    return max([*large, next(unit for unit in ROUND if amount % unit == 0)])


def excess(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells whose difference nothing explains."""
    return [cell for cell in cells if not cell.is_settled]
