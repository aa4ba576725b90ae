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


def of_style(judgement: Judgement, rest: Open) -> set[int]:
    """Return the free postings of vouchers like those with entries, by contra account and first word.

    Where these have no look, all free postings.
    """
    postings = judgement.state.books.postings
    if (
        not rest.free
        or judgement.style.grain is Grain.ENTRY
        or postings["voucher"].null_count() == postings.height
    ):
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
