"""Entries one after another that a posting holds, or takes back, as one sum.

A few entries may be booked in another way than most: those of an account, or of a supplier, an employee or a
batch on it. A posting that is the sum of such entries in a row may be theirs, whatever the booking unit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bktools.ledger.booking_units import LATEST
from bktools.ledger.candidates import Entry, Piece
from bktools.ledger.working_papers import WorkingPapers

# More entries in a row are not looked for in one posting.
LONGEST_ROW = 40
# More than the days since 1970: an account and a day are one number.
DAYS = 2**20


def sums_in_a_row(
    papers: WorkingPapers, entries: Sequence[Entry], pieces: Sequence[Piece]
) -> dict[int, list[Piece]]:
    """Return by entry the pieces that are the sum of entries in a row with it."""
    on: dict[tuple[int | None, int], list[Piece]] = defaultdict(list)
    for piece in pieces:
        nets = ((account, cents) for account, net in piece.nets.items() for cents in (net, piece.gross))
        for key in {(None, piece.gross), *nets}:
            on[key].append(piece)
    sums: dict[int, list[Piece]] = defaultdict(list)
    rows: list[tuple[int | None, list[Entry]]] = [(None, sorted(entries, key=_day_of))]
    for of, row in [*rows, *_rows(papers, entries)]:
        for first in range(len(row)):
            total = 0
            for last in range(first, min(len(row), first + LONGEST_ROW)):
                total += row[last].cents
                # Entries that cancel each other are in no posting of their own.
                for piece in on.get((of, total), ()) if total else ():
                    if row[first].day - LATEST <= piece.day <= row[last].day + LATEST:
                        for x in row[first : last + 1]:
                            sums[x.e].append(piece)
    return sums


def taken_back_in_a_row(papers: WorkingPapers, pieces: Sequence[Piece]) -> dict[int, list[Piece]]:
    """Return by entry the pieces of the entries' kind that take it back with entries of other receipts."""
    taken_back: dict[int, list[Piece]] = defaultdict(list)
    entries = papers.entries.take(papers.entries.is_home)
    place = entries.account * DAYS + entries.day
    order = np.argsort(place, kind="stable")
    numbers, place = entries.e[order], place[order]
    for piece in pieces:
        nets = {account: net for account, net in piece.nets.items() if net < 0 and piece.gross < 0}
        on = {}
        for account in nets if piece.is_kind else ():
            last = account * DAYS + piece.day
            near = slice(*np.searchsorted(place, (last - LATEST, last + 1)))
            on[account] = _taken_back(papers, papers.of(numbers[near].tolist()), nets[account])
        own = {x.e: x for row in on.values() for x in row}
        # The stories tell of one entry, or one receipt.
        is_one = sum(map(bool, on.values())) == 1 and all(
            x.cents == -piece.nets[x.account] for x in own.values()
        )
        if not is_one and len({x.id or str(x.e) for x in own.values()}) > 1:
            for e in own:
                taken_back[e].append(piece)
    return taken_back


def _taken_back(papers: WorkingPapers, own: Sequence[Entry], net: int) -> list[Entry]:
    """Return the entries whose amount, else those whose sum in a row, a posting takes back."""
    taken_back = [x for x in own if x.cents == -net]
    for _, row in _rows(papers, own) if not taken_back else ():
        ends = {0: 0}
        for last, total in enumerate(np.cumsum([x.cents for x in row]).tolist(), 1):
            taken_back += row[ends.get(total + net, last) : last]
            ends.setdefault(total, last)
    return taken_back


def _rows(papers: WorkingPapers, entries: Sequence[Entry]) -> Iterator[tuple[int, list[Entry]]]:
    """Yield an account with its entries, and with those of one supplier, employee or batch, by their days."""
    at = np.searchsorted(papers.entries.e, [x.e for x in entries])
    codes = [getattr(papers.entries, name)[at].tolist() for name in ("supplier", "employee", "batch")]
    rows: dict[tuple[Any, ...], list[Entry]] = defaultdict(list)
    for x, *of in zip(entries, *codes, strict=True):
        for key in ((), *enumerate(of)):
            rows[x.account, *key].append(x)
    for row in {tuple(x.e for x in row): row for row in rows.values()}.values():
        yield row[0].account, sorted(row, key=_day_of)


def _day_of(x: Entry) -> tuple[int, int]:
    return x.day, x.e
