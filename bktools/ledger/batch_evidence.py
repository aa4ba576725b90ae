"""What a ledger proves of a batch with an unknown outcome: it is judged with the batch, and without it."""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bktools.ledger.model import verdict_of
from bktools.ledger.outcome import BOOKED, Numbers, Status, Verdict

# A posting of a batch is not dated longer before its entries than the month in which they are closed.
MONTH = 31


class BatchReason(enum.StrEnum):
    """Why an outcome is proposed, or none."""

    BOOKED_AS_A_WHOLE = "booked_as_a_whole"  # accepted: each entry is booked once, alone or in a sum
    NOTHING_MAY_HOLD_IT = "nothing_may_hold_it"  # released: each entry is proven missing
    VALUE_UNKNOWN = "value_unknown"  # an entry has no account, day or amount
    NO_EARLIER_BATCH = "no_earlier_batch"  # nothing shows how the ledger books
    NOT_COVERED = "not_covered"  # the ledger does not show all days of the batch
    NO_BATCH_AS_A_WHOLE = "no_batch_as_a_whole"  # no earlier batch is in the ledger with all its entries
    OTHERS_IN_ITS_VOUCHERS = "others_in_its_vouchers"  # without the batch, its vouchers are of other entries
    OTHERS_LACK_VOUCHERS = "others_lack_vouchers"  # with the batch, other entries lose their vouchers
    OTHERS_ARE_OPEN = "others_are_open"  # another entry that is not booked may be the one that is missing
    FREE_POSTINGS = "free_postings"  # postings that no entry explains may hold it
    IN_PART = "in_part"  # some of its entries are booked, or may be


@dataclass(frozen=True, eq=False)
class BatchEvidence:
    """What a ledger proves of a batch.

    Parameters
    ----------
    outcome : str or None
        "accepted", "released", or None where the ledger does not decide it.
    reason : BatchReason
        Why.
    postings : tuple of int
        Rows of the postings that show it, or that are to be looked at.
    """

    outcome: str | None
    reason: BatchReason
    postings: tuple[int, ...] = ()


def evidence_of(
    entries: pl.DataFrame, postings: pl.DataFrame, batch: str, *, until: int, **options: Any
) -> BatchEvidence:
    """Return what a ledger proves of a batch.

    Parameters
    ----------
    entries : DataFrame
        Those of the accepted batches and of this one, as `entries_of` returns them. The batch's have an
        account, a day and an amount.
    postings : DataFrame
        As `postings_of` returns it.
    batch : str
        The batch with an unknown outcome.
    until : int
        The last day that the ledger shows, as days since 1970-01-01.
    **options
        As of `verdict_of`.
    """
    is_own = (entries["batch"] == batch).fill_null(value=False)
    own, others = entries.filter(is_own), entries.filter(~is_own)
    if not others.height:
        return BatchEvidence(None, BatchReason.NO_EARLIER_BATCH)
    with_it = verdict_of(entries, postings, until=until, **options)
    without = verdict_of(others, postings, until=until, **options)
    latest = with_it.habits.gate[1] if with_it.habits else 0
    if until <= max(own["day"].to_list()) + max(latest, 0):
        return BatchEvidence(None, BatchReason.NOT_COVERED)
    arrived = pl.Series(np.isin(without.status, (Status.BOOKED, Status.IN_A_SUM)))
    whole = others.select("batch", arrived=arrived).group_by("batch").agg(pl.col("arrived").all())
    if without.habits is None or not without.habits.is_known or not whole["arrived"].any():
        return BatchEvidence(None, BatchReason.NO_BATCH_AS_A_WHOLE)
    rows = np.flatnonzero(is_own.to_numpy())
    if np.isin(with_it.status[rows], (Status.BOOKED, Status.IN_A_SUM)).all():
        return _booked(with_it, without, rows)
    if (with_it.status[rows] == Status.MISSING).all():
        return _missing(own, postings, without, options.get("explained", ()))
    looked = sorted({posting for e in rows.tolist() for posting in with_it.postings(e)})
    return BatchEvidence(None, BatchReason.IN_PART, tuple(looked))


def _booked(with_it: Verdict, without: Verdict, rows: Numbers) -> BatchEvidence:
    """Accept the batch, unless its postings, or its style, are needed by other entries as well."""
    postings = {posting for e in rows.tolist() for posting in with_it.postings(e)}
    there = np.isin(without.status, BOOKED)
    if any(postings.intersection(without.postings(e)) for e in np.flatnonzero(there).tolist()):
        return BatchEvidence(None, BatchReason.OTHERS_IN_ITS_VOUCHERS, tuple(sorted(postings)))
    after = np.delete(with_it.status, rows)
    if there[without.status != after].any():
        return BatchEvidence(None, BatchReason.OTHERS_LACK_VOUCHERS, tuple(sorted(postings)))
    return BatchEvidence("accepted", BatchReason.BOOKED_AS_A_WHOLE, tuple(sorted(postings)))


def _missing(
    own: pl.DataFrame,
    postings: pl.DataFrame,
    without: Verdict,
    explained: Collection[int],
) -> BatchEvidence:
    """Release the batch, unless another entry, or a free posting, may be what is missing."""
    if not np.isin(without.status, BOOKED).all():
        return BatchEvidence(None, BatchReason.OTHERS_ARE_OPEN)
    accounts, begins = own["account"].unique().to_list(), min(own["day"].to_list())
    near = postings["account"].is_in(accounts) & (postings["day"] >= begins - MONTH)
    used = {posting for e in range(len(without.status)) for posting in without.postings(e)}
    used.update(explained)
    free = sorted({*np.flatnonzero(near.fill_null(value=False).to_numpy()).tolist()} - used)
    if free:
        return BatchEvidence(None, BatchReason.FREE_POSTINGS, tuple(free))
    return BatchEvidence("released", BatchReason.NOTHING_MAY_HOLD_IT)
