"""Differences of accounts with their tax, to the cent, where one tax is that of several accounts.

The net of an account is known but for rounding. The whole cost side of its voucher, with the tax, is exact.
Where only one choice of entries explains both, it tells how much each account is off.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from bktools.ledger.habits import CONTRA
from bktools.ledger.judgement import Judgement
from bktools.ledger.open_groups import Cell, Open

# More choices of entries are not tried.
MOST_CHOICES = 1_000


def with_tax(judgement: Judgement, rest: Open, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells, compared gross where the tax of their voucher tells it."""
    vouchers = judgement.state.books.postings["voucher"]
    of_voucher: dict[int, list[Cell]] = defaultdict(list)
    for cell in cells if judgement.state.books.has_pooled_tax else ():
        names = {vouchers[posting] for posting in cell.postings}
        if len(names) == 1 and None not in names and not cell.is_gross:
            of_voucher[names.pop()].append(cell)
    if not of_voucher:
        return [*cells]
    strange = _strange(rest, of_voucher)
    exact: dict[tuple[int | None, int], Cell] = {}
    for voucher, difference in _differences(judgement, rest, of_voucher).items():
        own = of_voucher[voucher]
        if not all(rest.entries[entry]["is_home"] for cell in own for entry in cell.values):
            continue
        changes = _changes(rest, [*own, *strange[voucher]], difference)
        for cell, change in zip(own, changes or (), strict=False):
            exact[cell.key, cell.due] = _gross(rest, cell, change)
    return [exact.get((cell.key, cell.due), cell) for cell in cells]


def _gross(rest: Open, cell: Cell, change: int) -> Cell:
    """Return a cell whose gross is off by a change."""
    values = {entry: rest.entries[entry]["gross"] for entry in cell.values}
    return replace(cell, values=values, total=sum(values.values()) + change, slack=0, is_gross=True, net=cell)


def _strange(rest: Open, vouchers: Collection[int]) -> Mapping[int, list[Cell]]:
    """Return what vouchers have on accounts without a cell, as cells without entries."""
    found = defaultdict(list)
    for posting, row in rest.free.items():
        if row["voucher"] in vouchers:
            found[row["voucher"]].append(Cell(row["key"], row["day"], {}, [posting], row["amount"], 1))
    return found


def _differences(
    judgement: Judgement, rest: Open, of_voucher: Mapping[int, Sequence[Cell]]
) -> dict[int, int]:
    """Return, by voucher, its cost side with the tax, less the gross of its entries.

    Vouchers with entries of other currencies are left out.
    """
    is_wanted = pl.col("voucher").is_in([*of_voucher])
    postings = judgement.state.books.postings.filter(is_wanted)
    sides = postings.filter(pl.col("role") != CONTRA).group_by("voucher").agg(pl.sum("amount"))
    every = judgement.state.every_entry.select("e", "gross", "is_home")
    at = every.with_columns(p=pl.Series(judgement.posting[every["e"].to_numpy()]))
    matched = at.join(postings.select("p", "voucher"), on="p").group_by("voucher")
    ours = sides.join(matched.agg(pl.sum("gross"), pl.all("is_home")), on="voucher", how="left")
    ours = ours.filter(pl.col("is_home").fill_null(value=True))
    return {
        voucher: difference
        - sum(rest.entries[entry]["gross"] for cell in of_voucher[voucher] for entry in cell.values)
        for voucher, difference in ours.select(
            "voucher", pl.col("amount") - pl.col("gross").fill_null(0)
        ).iter_rows()
    }


def _changes(rest: Open, cells: Sequence[Cell], difference: int) -> tuple[int, ...] | None:
    """Return by how much the gross of each cell is off, if one choice of entries makes the difference."""
    due = cells[0].due
    lacking = {
        entry
        for cell in cells
        for entry, value in cell.values.items()
        if abs(value + cell.difference) <= cell.slack
    }
    lacking |= {entry for entry in rest.out if rest.entries[entry]["due"] == due}
    choices = [sorted({*_choices(rest, cell, lacking)}) for cell in cells]
    if math.prod(map(len, choices)) > MOST_CHOICES:
        return None
    fits = [choice for choice in itertools.product(*choices) if sum(choice) == difference]
    return fits[0] if len(fits) == 1 else None


def _choices(rest: Open, cell: Cell, lacking: Collection[int]) -> Iterator[int]:
    """Yield by how much the gross of a cell may be off: by one entry less, one twice, or one of elsewhere."""
    if abs(cell.difference) <= cell.slack:
        yield 0
        return
    for entry, value in cell.values.items():
        for sign in (1, -1):
            if abs(sign * value - cell.difference) <= cell.slack:
                yield sign * rest.entries[entry]["gross"]
    for entry in lacking:
        net = rest.entries[entry]["net"]
        if entry not in cell.values and net is not None and abs(net - cell.difference) <= cell.slack:
            yield rest.entries[entry]["gross"]
