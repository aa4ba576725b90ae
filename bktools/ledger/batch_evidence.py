"""What a ledger proves of a batch with an unknown outcome: it is judged with the batch, and without it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bktools.ledger.model import verdict_of
from bktools.ledger.outcome import BOOKED, Status, Verdict


class BatchReason(enum.StrEnum):
    """Why an outcome is proposed, or none."""

    BOOKED_AS_A_WHOLE = "booked_as_a_whole"  # accepted
    NOTHING_MAY_HOLD_IT = "nothing_may_hold_it"  # released
    NO_POSTINGS = "no_postings"
    VALUE_UNKNOWN = "value_unknown"
    NO_EARLIER_BATCH = "no_earlier_batch"
    NOT_COVERED = "not_covered"
    NO_BATCH_AS_A_WHOLE = "no_batch_as_a_whole"
    OTHERS_IN_ITS_VOUCHERS = "others_in_its_vouchers"
    OTHERS_LACK_VOUCHERS = "others_lack_vouchers"
    OTHERS_ARE_OPEN = "others_are_open"
    FREE_POSTINGS = "free_postings"
    IN_PART = "in_part"


@dataclass(frozen=True, eq=False)
class BatchEvidence:
    """What a ledger proves of a batch: "accepted", "released", or nothing (None), why, and where to look."""

    outcome: str | None
    reason: BatchReason
    postings: tuple[int, ...] = ()
    verdict: Verdict | None = None


def evidence_of(entries: pl.DataFrame, postings: pl.DataFrame, batch: str, **options: Any) -> BatchEvidence:
    """Return what a ledger proves of a batch.

    Parameters
    ----------
    entries : DataFrame
        Those of the accepted batches and of this one, as `entries_of` returns them.
    postings : DataFrame
        As `postings_of` returns it.
    batch : str
        The batch with an unknown outcome.
    **options
        As of `verdict_of`; `until`: the last day that the ledger shows.
    """
    raise NotImplementedError
