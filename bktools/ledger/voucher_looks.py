"""Free postings whose vouchers look like those with entries, by their contra account and their first word."""

from __future__ import annotations

import numpy as np
import polars as pl

from bktools.ledger.habits import CONTRA
from bktools.ledger.judgement import Judgement
from bktools.ledger.open_groups import Open
from bktools.ledger.steps import Grain

# Vouchers look like those of the style where so many of these have one contra account, or one first word.
MOST_ALIKE = 0.9
# A kind of voucher is routine where so many are on accounts of entries, and almost none has an entry.
ROUTINE, BY_CHANCE = 10, 0.02


def by_look(judgement: Judgement, rest: Open) -> tuple[set[int], set[int]]:
    """Return the free postings of vouchers like those with entries, and those of other, routine vouchers.

    A kind of voucher is a contra account and a first word, as far as the vouchers with entries share them.
    Where these have no look, all free postings may be like them.
    """
    postings = judgement.state.books.postings
    everything: tuple[set[int], set[int]] = {*rest.free}, set()
    if (
        not rest.free
        or judgement.style.grain is Grain.ENTRY
        or postings["voucher"].null_count() == postings.height
    ):
        return everything
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
    usual = [name for name in ("contra", "word") if _most_common(own[name]) >= MOST_ALIKE * own.height > 0]
    if not usual:
        return everything
    like = forms.filter(pl.all_horizontal(pl.col(name) == own[name].mode()[0] for name in usual))
    kinds = forms.filter(pl.any_horizontal(pl.col(usual).is_not_null())).with_columns(
        held=pl.col("voucher").is_in(matched.implode()).sum().over(usual),
        free=pl.col("voucher").is_in(_used_vouchers(rest)).sum().over(usual),
    )
    routine = kinds.filter(pl.col("free") >= ROUTINE, pl.col("held") <= BY_CHANCE * pl.col("free"))
    alike, others = {*like["voucher"].to_list()}, {*routine["voucher"].to_list()}
    return (
        {posting for posting, row in rest.free.items() if row["voucher"] in alike},
        {posting for posting, row in rest.free.items() if row["voucher"] in others},
    )


def _used_vouchers(rest: Open) -> list[int]:
    """Return the vouchers with a free posting on an account of entries."""
    return [row["voucher"] for row in rest.free.values() if row["is_used"] and row["voucher"] is not None]


def _most_common(values: pl.Series) -> int:
    counts = values.drop_nulls().value_counts(sort=True)
    return int(counts["count"][0]) if counts.height else 0
