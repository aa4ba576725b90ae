"""How a ledger books is what the batches show that arrived: a whole batch that is not there shows nothing."""

from __future__ import annotations

from typing import Any

import polars as pl

from bktools.ledger.gates import FEW
from bktools.ledger.model import verdict_of
from bktools.ledger.outcome import THERE, Verdict


def verdict_by_batches(entries: pl.DataFrame, postings: pl.DataFrame, **options: Any) -> Verdict:
    """Return the verdict; where too few entries agree, by the habits that the arrived batches show.

    Parameters
    ----------
    entries, postings : DataFrame
        As `entries_of` and `postings_of` return them.
    **options
        As of `verdict_of`.
    """
    verdict = verdict_of(entries, postings, **options)
    if verdict.habits.is_known:
        return verdict
    is_there = pl.Series(verdict.has(*THERE))
    batches = entries.select("batch", is_there=is_there)
    has_arrived = batches.select(pl.col("is_there").any().over("batch")).to_series()
    if has_arrived.all() or is_there.sum() < FEW:
        return verdict
    by_arrived = verdict_of(entries.with_columns(sent=has_arrived), postings, **options)
    return by_arrived if by_arrived.habits.is_known else verdict
