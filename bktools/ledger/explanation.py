"""What explains a ledger, step by step: named entries, whole vouchers, single entries, sums of groups."""

from __future__ import annotations

import polars as pl

from bktools.ledger.explained import Explained, without
from bktools.ledger.habits import Books
from bktools.ledger.sides import Sides
from bktools.ledger.single_entries import named_entries, single_entries
from bktools.ledger.sums import sums_of_groups
from bktools.ledger.taxes import with_net
from bktools.ledger.texts import UNREAD
from bktools.ledger.voucher_totals import totals_of_vouchers


def explained_by_totals(sides: Sides, books: Books, others: pl.Series) -> Explained:
    """Return what agrees to the cent; `others` are postings that hold no entry."""
    entries, rates = with_net(sides.entries.filter("is_known"), books)
    has_net = entries["net"].null_count() < entries.height
    postings = without(books.postings, "p", others).with_columns(names=pl.lit(None, pl.Int64))
    state = Explained(entries, postings, entries, books, UNREAD, rates, has_net)
    state = named_entries(state, sides)
    if books.has_vouchers and books.has_pooled_tax:
        state = totals_of_vouchers(state)
    state = single_entries(state, sides)
    return sums_of_groups(state)
