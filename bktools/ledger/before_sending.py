"""What the books hold of entries that were not sent: one verdict over sent and unsent entries together."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bktools.ledger.model import verdict_of
from bktools.ledger.outcome import BOOKED, Status, Verdict


class Held(enum.StrEnum):
    """Whether an entry that was not sent is in the books already."""

    READY = "ready"
    ALREADY_BOOKED = "already_booked"  # proven
    MAYBE_BOOKED = "maybe_booked"  # a free posting on its account has its amount, or may be of it


@dataclass(frozen=True, eq=False)
class BeforeSending:
    """What the books hold of entries that were not sent.

    Parameters
    ----------
    held : tuple of Held
        Of each entry that was not sent.
    postings : tuple of tuple of int
        The rows of the postings that hold the entry, or may hold it; empty for a ready one.
    verdict : Verdict
        About the entries that were not sent, then those that were.
    """

    held: tuple[Held, ...]
    postings: tuple[tuple[int, ...], ...]
    verdict: Verdict


def before_sending(
    unsent: pl.DataFrame, postings: pl.DataFrame, sent: pl.DataFrame | None = None, **options: Any
) -> BeforeSending:
    """Return what the books hold of entries that were not sent.

    Parameters
    ----------
    unsent, sent : DataFrame
        As `entries_of` returns them, the first with `sent=False`.
    postings : DataFrame
        As `postings_of` returns it.
    **options
        As of `verdict_of`.
    """
    verdict = verdict_of(unsent if sent is None else pl.concat([unsent, sent]), postings, **options)
    held, rows = [], []
    for e in range(unsent.height):
        status = Status(int(verdict.status[e]))
        free = _free(unsent, e, postings, verdict)
        if status in BOOKED:
            held.append(Held.ALREADY_BOOKED)
            rows.append(verdict.postings(e))
        elif (
            status in (Status.ANOTHER_ACCOUNT, Status.ANOTHER_AMOUNT, Status.REVERSED)
            or (status == Status.OPEN and verdict.postings(e))
            or free
        ):
            held.append(Held.MAYBE_BOOKED)
            rows.append(verdict.postings(e) or free)
        else:
            held.append(Held.READY)
            rows.append(())
    return BeforeSending(tuple(held), tuple(rows), verdict)


def _free(unsent: pl.DataFrame, e: int, postings: pl.DataFrame, verdict: Verdict) -> tuple[int, ...]:
    """The free postings on an entry's account with its very amount, or its net, inside the gate."""
    account, cents, day = (unsent[name][e] for name in ("account", "cents", "day"))
    if verdict.habits is None or account is None or cents is None or day is None:
        return ()
    habits, own = verdict.habits, postings["account"] == account
    lag = postings["day"] - day
    amounts = {cents * habits.sign}
    for rate in habits.tax_rates:
        amounts.add(round(cents * habits.sign * 1000 / (1000 + rate)))
    found = (
        own.fill_null(value=False).to_numpy()
        & np.isin(postings["cents"].fill_null(0).to_numpy(), [*amounts])
        & ((lag >= habits.gate[0]) & (lag <= habits.gate[1])).fill_null(value=False).to_numpy()
        & (verdict.posting_group < 0)
    )
    return tuple(np.flatnonzero(found).tolist())
