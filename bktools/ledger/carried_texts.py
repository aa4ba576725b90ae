"""Which texts of entries the vouchers carry, and the pairs that a text denies."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl

from bktools.ledger.booking_units import FEW, HABIT
from bktools.ledger.candidates import FIELDS, PERSON
from bktools.ledger.matching import Matching
from bktools.ledger.whole_numbers import Flags, among, first_rows, lots_of
from bktools.ledger.working_papers import WorkingPapers

# Pairs that show a habit; more show no other.
MOST_PAIRS = 400


def carried_texts(papers: WorkingPapers) -> tuple[str, ...] | None:
    """Return the texts of their entry that nine in ten singular vouchers carry, together; else None.

    The employee's name is one only where they carry no other: what is booked by hand seldom has it.
    """
    matching = papers.matching
    some = np.flatnonzero(matching.is_singular)[:MOST_PAIRS]
    if len(some) < FEW:
        return None
    papers.load(matching.group[some].tolist())
    vouchers = matching.vouchers[some].tolist()
    texts = papers.books.texts(vouchers)
    pairs = [
        (papers.members(group), texts[v])
        for group, v in zip(matching.group[some].tolist(), vouchers, strict=True)
    ]
    fields: tuple[str, ...] = ()
    for name in (name for name in FIELDS if (getattr(papers.entries, name) >= 0).any()):
        if name == PERSON and fields:
            break
        carries = [any((x.text([name]) or {""}) <= text for x in own) for own, text in pairs]
        if sum(carries) >= HABIT * len(pairs):
            fields, pairs = (*fields, name), [*itertools.compress(pairs, carries)]
    return fields or None


def without_denied(papers: WorkingPapers) -> Matching:
    """Give up the pairs that a text denies, with all of their accounts and total.

    Of a singular pair, the text must have no word in common with its entries, as it may be cut, or changed;
    or it names another entry of the same amount and account.
    """
    matching, groups, practice = papers.matching, papers.matching.groups, papers.practice
    lot = lots_of(papers.entries.account, papers.entries.cents)
    is_claimed = np.isin(lot, lot[~matching.has_pair])  # by an equal entry without a voucher
    has_equal = among(len(groups.size), groups.of_entry[is_claimed])[matching.group]
    asked = matching.only(~(matching.is_singular & _shows_a_text(papers)) | has_equal)
    papers.load(asked.group.tolist())
    vouchers = asked.vouchers.tolist()
    texts = papers.books.texts(vouchers)
    denied = []
    pairs = zip(asked.group.tolist(), vouchers, asked.is_singular.tolist(), strict=True)
    for group, v, is_singular in pairs:
        own = papers.members(group)
        is_denied = practice.denies(own, texts[v])
        if is_denied and is_singular:
            is_other = all(x.text(FIELDS).isdisjoint(texts[v]) for x in own)
            is_denied = is_other or any(y.is_named_in(texts[v]) for x in own for y in papers.equal(x))
        if is_denied:
            denied.append(group)
    if not denied:
        return matching
    lots = {*zip(groups.accounts[denied].tolist(), groups.total[denied].tolist(), strict=True)}
    of_pairs = zip(
        groups.accounts[matching.group].tolist(), groups.total[matching.group].tolist(), strict=True
    )
    return matching.only(np.array([lot not in lots for lot in of_pairs], np.bool_))


def _shows_a_text(papers: WorkingPapers) -> Flags:
    """Return of each pair whether the first line of its voucher has a text of its group's first entry."""
    matching, lines = papers.matching, papers.books.lines
    line = first_rows(lines.v, papers.books.count)[matching.vouchers]
    entry = first_rows(matching.groups.of_entry, len(matching.groups.size))[matching.group]
    theirs = lines.table.select("text", own_document="document")[line]
    both = theirs.hstack(papers.entries.table.select(FIELDS)[entry])
    there = pl.concat_str("text", "own_document", separator=" ", ignore_nulls=True)
    shown = (there.str.contains(pl.col(name), literal=True).fill_null(value=False) for name in FIELDS)
    return both.select(pl.any_horizontal(shown)).to_series().to_numpy()
