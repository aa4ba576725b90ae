"""Groups whose totals differ: explained where exactly one explanation is possible, and named where not.

A cell is what is open on an account and on the day on which the style books: entries, and postings. Its
difference is explained by one entry that is out of the sum, or in it twice, where no other entry and no set
of others makes it; a later posting on the account that is exactly the difference settles it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from bktools.ledger.exchange import OPEN, ROUNDING
from bktools.ledger.explained import EARLIER
from bktools.ledger.judgement import Judgement, nets_of
from bktools.ledger.open_groups import Cell, Open
from bktools.ledger.rounding import rounding
from bktools.ledger.sole_entry import share_off, sole
from bktools.ledger.statuses import Reason
from bktools.ledger.steps import Grain, How
from bktools.ledger.tax_lines import with_tax
from bktools.ledger.voucher_looks import by_look


def judge_cells(judgement: Judgement, rest: Open) -> None:
    """Judge the cells, and leave those with a difference that nothing explains yet in `rest`."""
    rest.of_style, rest.routine = by_look(judgement, rest)
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
    for cell in with_tax(judgement, rest, off):
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
        # What another text shows to be of another matter is none of theirs.
        return [
            posting
            for posting in postings
            if not all(judgement.is_refused(entry, posting) for entry in group)
        ]
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

    Those of other currencies without a known rate, and the sum that holds them, are not decided.
    """
    foreign = [entry for entry in entries if not rest.entries[entry]["is_home"]]
    if not foreign or _is_rate_known(judgement, rest, entries):
        return entries
    if judgement.style.grain is Grain.ENTRY:
        judgement.undecided(foreign, Reason.OTHER_CURRENCY, postings)
        return [entry for entry in entries if entry not in foreign]
    judgement.undecided(entries, Reason.OTHER_CURRENCY, postings)
    rest.cells.append(Cell(place[0], place[1], {}, postings, 0, 0, entries=entries))
    rest.add_postings(rest.cells[-1])
    return []


def _is_rate_known(judgement: Judgement, rest: Open, entries: Sequence[int]) -> bool:
    """Whether the rates of a sum's entries leave less open than rounding does, and than its entries are."""
    rows = [rest.entries[entry] for entry in entries]
    converted = [row["converted"] for row in rows if not row["is_home"]]
    if len(entries) == len(converted) or judgement.style.grain is Grain.ENTRY or None in converted:
        return False
    rounded, open_ = _slack(len(entries)) + _rounded(len(converted)), sum(one.open for one in converted)
    smallest = min(abs(row["gross"] if row["is_home"] else row["converted"].gross) for row in rows)
    return bool(open_ <= OPEN * rounded and 2 * (rounded + open_) < smallest)


def _rounded(count: int) -> float:
    """Return what rounding leaves open of converted amounts."""
    return ROUNDING * min(count, 2 * math.sqrt(count))


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
        if abs(cell.difference) <= cell.slack or explanations(judgement, cell, share) != (None, None)
    ]
    return explained[0] if len(explained) == 1 else named


def _compared(
    rest: Open, place: tuple[int, int], entries: Sequence[int], postings: Sequence[int]
) -> Cell | None:
    is_gross = all(rest.free[posting]["gross"] is not None for posting in postings)
    rows = [rest.entries[entry] for entry in entries]
    converted = [row["converted"] for row in rows if not row["is_home"]]
    measure = "gross" if is_gross else "net"
    values = {
        row["e"]: row[measure] if row["is_home"] else getattr(row["converted"], measure) for row in rows
    }
    if None in values.values():
        return None
    slack = 0 if is_gross or rest.rounds_each else _slack(len(entries))
    if converted:
        # The rounding of each is known, but for what the rates leave open.
        rounded = 1 if rest.rounds_each else _rounded(len(converted))
        slack += math.ceil(rounded + sum(one.open for one in converted))
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
        slack,
        shows_tax,
        entries,
    )


def _slack(count: int) -> int:
    """Return what rounding leaves open of a net of entries: at least one unit, as halves go either way."""
    return max(1, int(pl.select(rounding(pl.lit(count))).item()))


def _judge(judgement: Judgement, rest: Open, cell: Cell, share: float) -> None:
    entries = list(cell.values)
    later = _later(judgement, rest, cell)
    if abs(cell.difference) <= cell.slack or later:
        judgement.whole(entries, cell.postings[0], How.DIFFERENCE)
        rest.use(*later)
        judgement.undone.update(later)
        return
    out, twice = explanations(judgement, cell, share)
    if out is not None and twice is None:
        if rest.entries[out]["is_home"]:
            rest.out.append(out)
        else:
            judgement.undecided([out], Reason.OTHER_CURRENCY, cell.postings, cell.difference)
        judgement.whole([entry for entry in entries if entry != out], cell.postings[0], How.DIFFERENCE)
        return
    if cell.is_lone and twice is None:
        # The entry may be elsewhere, and the posting that of another one.
        rest.out += entries
        rest.free |= {posting: rest.in_cells.pop(posting) for posting in cell.postings}
    rest.cells.append(cell)


def explanations(judgement: Judgement, cell: Cell, share: float) -> tuple[int | None, int | None]:
    """Return the entry that a cell lacks, and the one it holds twice, if either explains its difference."""
    rates = () if cell.is_gross else judgement.state.rates
    out, twice = (
        sole(cell.values, amount, cell.slack, share, rates) for amount in (-cell.difference, cell.difference)
    )
    if cell.net is not None:
        out = out if _agrees(cell.net, out, -1) else None
        twice = twice if _agrees(cell.net, twice, 1) else None
    return out if len(cell.values) > 1 else None, twice


def _agrees(cell: Cell, entry: int | None, sign: int) -> bool:
    return entry is not None and abs(sign * cell.values[entry] - cell.difference) <= cell.slack


def _later(judgement: Judgement, rest: Open, cell: Cell) -> list[int]:
    """Return the postings, on that day or later, that take the difference of a cell back.

    This is the nearest posting of the difference, with its tax or without. Else these are all postings that
    book an entry of the cell once more or take one back, where they make the difference together. One that
    names an entry of another group is none of them.
    """
    groups = {judgement.group[entry] for entry in (*cell.entries, *cell.values)}
    later = {
        posting: row
        for posting, row in rest.free.items()
        if row["key"] == cell.key
        and row["day"] >= cell.due - EARLIER
        and (
            (named := judgement.state.texts.entry_named(posting)) is None or judgement.group[named] in groups
        )
    }
    whole = {-cell.difference, *nets_of(judgement, -cell.difference)}
    fits = [
        posting
        for posting, row in later.items()
        if whole & {row["amount"], row["gross"]} and _is_without_tax_alike(cell, row)
    ]
    if fits:
        return [min(fits, key=lambda posting: rest.free[posting]["day"])]
    measure = "gross" if cell.is_gross else "amount"
    sizes = {abs(value) for value in cell.values.values()}
    corrections = {
        posting: row[measure]
        for posting, row in later.items()
        if row[measure] is not None and any(abs(row[measure]) + off in sizes for off in _around(cell.slack))
    }
    is_whole = abs(sum(corrections.values()) + cell.difference) <= cell.slack
    return [*corrections] if len(corrections) > 1 and is_whole else []


def _is_without_tax_alike(cell: Cell, row: Mapping[str, Any]) -> bool:
    """Whether a posting without tax is what a cell lacks without its tax; True for one with tax."""
    has_tax = row["gross"] != row["amount"]
    return has_tax or cell.net is None or abs(cell.net.difference + row["amount"]) <= cell.net.slack


def _around(slack: int) -> range:
    return range(-slack, slack + 1)
