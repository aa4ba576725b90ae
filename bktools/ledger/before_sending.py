"""What the books hold of entries that were not sent: one verdict over sent and unsent entries together."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bktools.ledger.gates import EARLIER, LATEST
from bktools.ledger.model import verdict_of
from bktools.ledger.outcome import BOOKED, Reason, Status, Verdict
from bktools.ledger.tax_rates import net_of
from bktools.ledger.whole_numbers import Flags


class Held(enum.StrEnum):
    """Whether an entry that was not sent is in the books already."""

    READY = "ready"
    ALREADY_BOOKED = "already_booked"  # proven
    MAYBE_BOOKED = "maybe_booked"  # a free posting has its amount, or an open sum may hold it


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

    An entry is held for certain where its posting is proven. It is held in doubt where a posting that no
    other entry has may be its own: of its very amount or its net, on its account, or, in a ledger of sums, an
    open sum of its account and days. Each posting is used once; no entry that was sent frees another one.

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
    is_of_sent = np.isin(verdict.posting_group, verdict.group[unsent.height :])
    is_free = ~is_of_sent | (verdict.posting_group < 0)
    # Booked by hand, in whatever way: judged by themselves, with what the sent ones leave.
    options["explained"] = [*options.get("explained", ()), *np.flatnonzero(~is_free).tolist()]
    by_hand = verdict_of(unsent, postings, **options)
    held, rows = [], []
    for e in range(unsent.height):
        held.append(Held.READY)
        looked: tuple[int, ...] = ()
        if Status(int(verdict.status[e])) in BOOKED:
            held[-1], looked = Held.ALREADY_BOOKED, verdict.postings(e)
        else:
            looked = _in_doubt(unsent, e, postings, verdict, by_hand, is_free)
            held[-1] = Held.MAYBE_BOOKED if looked else Held.READY
        rows.append(looked)
    return BeforeSending(tuple(held), tuple(rows), verdict)


def _in_doubt(
    unsent: pl.DataFrame, e: int, postings: pl.DataFrame, verdict: Verdict, by_hand: Verdict, is_free: Flags
) -> tuple[int, ...]:
    """Return the free postings that may be an entry's."""
    status = Status(int(verdict.status[e]))
    if status in (Status.REVERSED, Status.ANOTHER_ACCOUNT) and verdict.postings(e):
        return verdict.postings(e)
    if Status(int(by_hand.status[e])) in (*BOOKED, Status.ANOTHER_ACCOUNT):
        return by_hand.postings(e)
    account, cents, day = (unsent[name][e] for name in ("account", "cents", "day"))
    if account is None or cents is None or day is None or verdict.habits is None:
        return ()
    late = (postings["day"] - day).fill_null(LATEST + 1).to_numpy()
    is_on_account = (postings["account"] == account).fill_null(value=False).to_numpy() & is_free
    amounts = [cents, *(net_of(cents, rate) for rate in verdict.habits.tax_rates)]
    own = postings["cents"].fill_null(0).to_numpy() * verdict.habits.sign
    is_equal = np.isin(own, amounts) | np.isin(verdict.gross, amounts)
    first, last = verdict.habits.gate
    near = is_on_account & is_equal & (late >= min(first, -EARLIER)) & (late <= max(last, LATEST))
    if not near.any():
        # A credit note may be in a sum of costs.
        near = is_on_account & _is_open_sum(verdict, e) & (late >= 0) & (late <= LATEST)
    return tuple(np.flatnonzero(near).tolist())


def _is_open_sum(verdict: Verdict, e: int) -> bool:
    """Whether a free posting on its account may hold an entry as one of several, or at an unknown rate."""
    if verdict.habits is None or verdict.status[e] == Status.MISSING:
        return False
    return verdict.reasons.get(e) == Reason.OTHER_CURRENCY or verdict.habits.unit not in ("entry", "receipt")
