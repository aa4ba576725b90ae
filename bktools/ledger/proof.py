"""Proves that an entry is missing: known style, its days in the ledger, no free posting to hold it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from bktools.ledger.explained import EARLIER, KNOWN, LATER
from bktools.ledger.judgement import Judgement, Note, amounts_of, known
from bktools.ledger.open_groups import Cell, Open, excess
from bktools.ledger.sole_entry import SEARCH
from bktools.ledger.statuses import Reason, Status
from bktools.ledger.steps import Grain
from bktools.ledger.style import Style


class Span(NamedTuple):
    """What time the ledger covers."""

    first_month: int
    last_month: int
    last_day: int


@dataclass(frozen=True)
class Unexplained:
    """What of the ledger is unexplained: postings by account, amount and day, and cells that differ."""

    entries: Mapping[int, Mapping[str, Any]]
    rows: Mapping[int, Mapping[str, Any]]
    # Postings that look like those of the style.
    of_style: frozenset[int]
    # Postings of routine vouchers, which hold no entries.
    routine: frozenset[int]
    # Entries that are shown not to be with the others of their group.
    apart: frozenset[int]
    by_key: Mapping[int, Sequence[int]]
    by_amount: Mapping[int, Sequence[int]]
    by_day: Mapping[int, Sequence[int]]
    cells: Sequence[Cell]
    # Sums of several entries that are not found, by account; None where these are too many.
    sums: Mapping[int, set[int] | None]
    # Accounts with open entries of a side: (account, whether it is the debit side).
    sides: frozenset[tuple[int, bool]]
    # Accounts, by the day of their groups, of which some entries that are not found sum up to zero.
    nothing: Mapping[int, AbstractSet[int]]
    # Entries with a posting of their own, by amount.
    alike: Mapping[int, Sequence[tuple[int, int]]]
    # Postings that undo one another, by account.
    undone: Mapping[int, Sequence[Mapping[str, Any]]]
    # Days of postings whose entries are of another day, by account and amount.
    other_days: Mapping[tuple[int, int], Sequence[int]]
    # Amounts of the postings of sums, by account.
    taken: Mapping[int, AbstractSet[int]]

    def has_late(self, row: Mapping[str, Any]) -> bool:
        """Whether a posting of another day with the amount of an entry has another entry."""
        days = self.other_days.get((row["key"], row["gross"]), ())
        return any(-EARLIER <= day - row["day"] <= LATER for day in days)

    def is_total_taken(self, judgement: Judgement, entry: int, row: Mapping[str, Any]) -> bool:
        """Whether another sum has the posting that the whole group of an entry would have."""
        if entry in self.apart or row["home"] not in self.taken:
            return False
        every = judgement.state.every_entry
        is_of_group = judgement.group[every["e"].to_numpy()] == judgement.group[entry]
        group = every.filter(pl.Series(is_of_group), pl.col("home") == row["home"])
        return bool({group["gross"].sum(), group["net"].sum()} & self.taken[row["home"]])


def judge_missing(judgement: Judgement, rest: Open) -> None:
    """Say of what is left that it is missing, where that is proven, else why it is not decided."""
    rest.out = [entry for entry in rest.out if judgement.is_open(entry)]
    if rest.out:
        _judge_out(judgement, rest)


def _judge_out(judgement: Judgement, rest: Open) -> None:
    unexplained, share, span = (
        _unexplained(judgement, rest),
        known(judgement),
        _span(judgement.state.books.postings),
    )
    for entry in rest.out:
        row = rest.entries[entry]
        if share < KNOWN:
            on_account = unexplained.by_key.get(row["home"], ())
            may_hold = [
                posting for posting in on_account if _is_in_time(row, unexplained.rows[posting], LATER)
            ]
            judgement.undecided([entry], Reason.STYLE_UNKNOWN, may_hold)
        elif not _is_covered(judgement.style, span, row):
            judgement.undecided([entry], Reason.NOT_COVERED)
        elif judgement.style.grain is not Grain.ENTRY and row["home"] in unexplained.nothing.get(
            row["due"], ()
        ):
            # Entries that sum up to zero have no posting, whether they are booked or not.
            judgement.undecided([entry], Reason.SEVERAL_FIT)
        elif undone := [*_undone(judgement, unexplained, row)]:
            _judge_undone(judgement, entry, row, undone)
        elif holds := [*_holds(judgement, unexplained, entry, row)]:
            judgement.undecided([entry], Reason.MAY_BE_IN, holds)
        elif near := [cell for cell in unexplained.cells if _may_hold(judgement, unexplained, row, cell)]:
            judgement.undecided(
                [entry], Reason.OPEN_GROUP, [posting for cell in near for posting in cell.postings]
            )
        elif claimed := [
            *_claimed(judgement, unexplained, entry, row),
            *_with_text(judgement, unexplained, entry, row),
        ]:
            judgement.undecided([entry], Reason.SEVERAL_FIT, claimed)
        elif unexplained.has_late(row) or unexplained.is_total_taken(judgement, entry, row):
            judgement.undecided([entry], Reason.SEVERAL_FIT)
        else:
            judgement.say(entry, Status.MISSING)


def _span(postings: pl.DataFrame) -> Span | None:
    if not postings.height:
        return None
    return Span(*postings.select(first=pl.min("month"), last=pl.max("month"), day=pl.max("day")).row(0))


def _unexplained(judgement: Judgement, rest: Open) -> Unexplained:
    cells = excess(rest.cells)
    in_cells = {
        posting: rest.in_cells[posting]
        for cell in cells
        for posting in cell.postings
        if posting in rest.in_cells
    }
    rows = rest.free | in_cells
    by_key, by_amount, by_day, outs = (defaultdict(list) for _ in range(4))
    for posting, row in rows.items():
        by_key[row["key"]].append(posting)
        by_day[row["day"]].append(posting)
        for amount in {row["amount"], row["gross"]} - {None}:
            by_amount[amount].append(posting)
    for entry in rest.out:
        outs[rest.entries[entry]["home"]].append(rest.entries[entry])
    return Unexplained(
        rest.entries,
        rows,
        frozenset(rest.of_style),
        frozenset(rest.routine),
        frozenset(_apart(judgement, rest.out)),
        by_key,
        by_amount,
        by_day,
        cells,
        {key: _sums(entries) for key, entries in outs.items()},
        frozenset((row["home"], row["gross"] > 0) for row in rest.entries.values()),
        _sums_of_zero(judgement, rest),
        _alike(judgement, {rest.entries[entry]["gross"] for entry in rest.out}),
        _undone_by_key(judgement),
        _other_days(judgement),
        _taken(judgement),
    )


def _apart(judgement: Judgement, out: Sequence[int]) -> Iterator[int]:
    """Yield the entries of which a sum on their account has the others of their group."""
    is_near = (judgement.status == Status.IN_A_SUM) & np.isin(judgement.group, judgement.group[[*out]])
    in_sums = {*zip(judgement.group[is_near].tolist(), judgement.home[is_near].tolist(), strict=True)}
    yield from (entry for entry in out if (judgement.group[entry], judgement.home[entry]) in in_sums)


def _alike(judgement: Judgement, amounts: AbstractSet[int]) -> dict[int, list[tuple[int, int]]]:
    """Return, by amount, the entries with a posting of their own of some amounts, with that posting."""
    rows = judgement.state.every_entry.filter(pl.col("gross").is_in([*amounts])).select("e", "gross")
    found = defaultdict(list)
    for entry, gross in rows.iter_rows():
        if judgement.posting[entry] >= 0 and judgement.status[entry] in (Status.BOOKED, Status.ANOTHER_DATE):
            found[gross].append((entry, int(judgement.posting[entry])))
    return found


def _claimed(
    judgement: Judgement, unexplained: Unexplained, entry: int, row: Mapping[str, Any]
) -> Iterator[int]:
    """Yield postings of other entries of equal amount whose text is this entry's, and not the other's."""
    agree = judgement.state.texts.agree
    for other, posting in unexplained.alike.get(row["gross"], ()):
        if agree(entry, posting) and agree(other, posting) is False:
            yield posting


def _with_text(
    judgement: Judgement, unexplained: Unexplained, entry: int, row: Mapping[str, Any]
) -> Iterator[int]:
    """Yield the free postings on an entry's account with its text, some weeks around it.

    Their amount and side may be any.
    """
    for posting in unexplained.by_key.get(row["home"], ()):
        is_near = abs(unexplained.rows[posting]["day"] - row["day"]) <= LATER
        if is_near and judgement.state.texts.agree(entry, posting):
            yield posting


def _undone_by_key(judgement: Judgement) -> dict[int, list[dict[str, Any]]]:
    rows = judgement.state.books.postings.filter(pl.col("p").is_in([*judgement.undone]))
    found = defaultdict(list)
    for row in rows.select("p", "key", "day", "amount", "gross").iter_rows(named=True):
        found[row["key"]].append(row)
    return found


def _undone(
    judgement: Judgement, unexplained: Unexplained, row: Mapping[str, Any]
) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yield the undone postings with an entry's account, amount and day, each with what undoes it.

    A sum has any amount: by chance, two sums are like one and its reversal.
    """
    rows = unexplained.undone.get(row["home"], ())
    for place in rows:
        is_on_time = 0 <= place["day"] - row["due"] <= judgement.style.lag
        is_amount = place["amount"] in amounts_of(judgement, row)
        if is_on_time and (is_amount or judgement.style.grain is not Grain.ENTRY):
            yield from ((place, other["p"]) for other in rows if other["amount"] == -place["amount"])


def _judge_undone(
    judgement: Judgement,
    entry: int,
    row: Mapping[str, Any],
    undone: Sequence[tuple[Mapping[str, Any], int]],
) -> None:
    """Record that an entry was reversed, where one posting, its opposite and a text of the entry fit."""
    agree, amounts = judgement.state.texts.agree, amounts_of(judgement, row)
    told = [
        (own["p"], back)
        for own, back in undone
        if own["amount"] in amounts and (agree(entry, own["p"]) or agree(entry, back))
    ]
    if len(told) == 1:
        ((own, back),) = told
        judgement.say(entry, Status.REVERSED, posting=own, note=Note(Reason.NONE, (back,)))
    else:
        postings = [posting for own, back in undone for posting in (own["p"], back)]
        judgement.undecided([entry], Reason.SEVERAL_FIT, postings)


def _sums_of_zero(judgement: Judgement, rest: Open) -> dict[int, set[int]]:
    """Return the accounts, by day, on which two or more unfound entries sum up to zero.

    So do an entry and the opposite of one of another account: the sum of that one may have the entry. One of
    another currency may have any amount.
    """
    groups, found = defaultdict(list), defaultdict(set)
    for entry, row in rest.entries.items():
        if not row["is_home"] and judgement.status[entry] in (Status.OPEN, Status.NOT_DECIDED):
            found[row["due"]].add(row["home"])
    days: dict[int, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for entry in rest.out:
        row = rest.entries[entry]
        groups[row["due"], row["home"]].append(row)
        days[row["due"]][row["gross"]].add(row["home"])
    for (day, key), rows in groups.items():
        sums = _sums(rows)
        if len(rows) > 1 and (sums is None or 0 in sums):
            found[day].add(key)
    for day, amounts in days.items():
        for amount in amounts.keys() & {-amount for amount in amounts}:
            found[day] |= amounts[amount]
    return found


def _is_covered(style: Style, span: Span | None, row: Mapping[str, Any]) -> bool:
    """Whether the ledger begins before an entry, and ends after the day on which it would be booked."""
    if span is None:
        return False
    is_in_months = span.first_month <= row["month"] and (
        not style.grain.is_long or row["month"] <= span.last_month
    )
    return is_in_months and bool(row["due"] + style.lag <= span.last_day)


def _sums(rows: Sequence[Mapping[str, Any]]) -> set[int] | None:
    """Return the sums of two entries or more, gross and net; None where these are too many."""
    if len(rows) > SEARCH:
        return None
    found: set[int] = set()
    for measure in ("gross", "net"):
        values = [row[measure] for row in rows]
        sums, count = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for value in values if None not in values else ():
            sums, count = np.concatenate([sums, sums + value]), np.concatenate([count, count + 1])
        found |= {*sums[count > 1].tolist()}
    return found


def _is_in_time(row: Mapping[str, Any], posting: Mapping[str, Any], latest: int) -> bool:
    return bool(-EARLIER <= posting["day"] - row["due"] <= latest)


def _holds(
    judgement: Judgement, unexplained: Unexplained, entry: int, row: Mapping[str, Any]
) -> Iterator[int]:
    """Yield the free postings that may hold an entry."""
    rows, amounts = unexplained.rows, amounts_of(judgement, row)
    for amount in amounts:
        yield from (
            posting
            for posting in unexplained.by_amount.get(amount, ())
            if _is_in_time(row, rows[posting], LATER)
        )
    least = min(map(abs, amounts))
    for posting in unexplained.by_key.get(row["home"], ()):
        if _is_in_time(row, rows[posting], LATER) and _may_be_in(
            judgement, unexplained, entry, posting, least
        ):
            yield posting
    if judgement.style.grain is not Grain.ENTRY:
        # A sum of the style on another account, or any on one that no entry has or with the entry's text, on
        # the days of the group.
        days = range(row["due"], row["due"] + judgement.style.lag + 1)
        for posting in (posting for day in days for posting in unexplained.by_day.get(day, ())):
            place = rows[posting]
            may_be = posting in unexplained.of_style or not place["is_used"]
            may_be = may_be or bool(judgement.state.texts.agree(entry, posting))
            # Beside open entries of the other side, a sum may be of any size.
            is_large = place["amount"] * row["gross"] > 0 and abs(place["amount"]) >= least / 2
            is_large |= (place["key"], row["gross"] < 0) in unexplained.sides
            if may_be and is_large and not judgement.is_refused(entry, posting):
                yield posting


def _may_be_in(judgement: Judgement, unexplained: Unexplained, entry: int, posting: int, least: int) -> bool:
    """Whether a posting on the account of an entry may hold it, with another amount or with other entries."""
    row, place, style = unexplained.entries[entry], unexplained.rows[posting], judgement.style
    amounts = {place["amount"], place["gross"]} - {None}
    sums = unexplained.sums[row["home"]]
    if sums is None or sums & amounts:
        return True
    if not _is_in_time(row, place, style.lag + EARLIER) or judgement.is_refused(entry, posting):
        return False
    is_routine = posting in unexplained.routine and entry in unexplained.apart
    if is_routine and not judgement.state.texts.share_a_word(entry, posting):
        return False
    is_same_side = any(amount * row["gross"] > 0 for amount in amounts)
    if style.grain is Grain.ENTRY:
        return is_same_side
    # Beside entries of the other side a sum may be of any size and on any side.
    has_opposites = (row["home"], row["gross"] < 0) in unexplained.sides
    return has_opposites or (is_same_side and max(map(abs, amounts)) >= least)


def _may_hold(judgement: Judgement, unexplained: Unexplained, row: Mapping[str, Any], cell: Cell) -> bool:
    """Whether an open group may hold an entry: of its account some days around, of others on its day.

    One of a supplier holds the entries of that supplier alone.
    """
    of_supplier = judgement.style.grain in (Grain.SUPPLIER_DAY, Grain.DOCUMENT)
    suppliers = {unexplained.entries[entry]["supplier"] for entry in cell.entries}
    if of_supplier and row["supplier"] and suppliers and not suppliers & {row["supplier"], None}:
        return False
    if cell.key in (None, row["home"]):
        return bool(abs(cell.due - row["due"]) <= judgement.style.lag + EARLIER)
    return judgement.style.grain is not Grain.ENTRY and cell.due == row["due"]


def _taken(judgement: Judgement) -> dict[int, set[int]]:
    """Return the amounts of the postings that have entries, by account, where sums may be booked late."""
    if judgement.style.grain is Grain.ENTRY or not judgement.style.lag:
        return {}
    sums = np.unique(judgement.posting[judgement.posting >= 0])
    found: dict[int, set[int]] = defaultdict(set)
    for key, amount, gross in judgement.state.books.postings.select("key", "amount", "gross")[
        sums
    ].iter_rows():
        found[key] |= {amount, gross}
    return found


def _other_days(judgement: Judgement) -> dict[tuple[int, int], list[int]]:
    """Return, by account and amount, the days of postings of entries of other days, or of late bookings."""
    statuses = (Status.ANOTHER_DATE, *((Status.BOOKED,) if judgement.style.lag else ()))
    entries = np.flatnonzero(np.isin(judgement.status, statuses))
    if not len(entries):
        return {}
    days = judgement.state.books.postings["day"].to_numpy()
    rows = judgement.state.every_entry.filter(pl.col("e").is_in(entries)).select("e", "key", "gross")
    found = defaultdict(list)
    for entry, key, gross in rows.iter_rows():
        # A posting that names its entry is of no other one.
        if judgement.state.texts.named.get(int(judgement.posting[entry])) != entry:
            found[key, gross].append(int(days[judgement.posting[entry]]))
    return found
