"""The evidence of a ledger about batches with an unknown outcome, for the person who records the outcome.

The ledger is evidence only where it is whole for the question: it begins before the first entry, and reaches
past the end of the job. Then the entries are judged with the batch and without it. Entries of other batches
in doubt may be in the ledger or not: neither is a mistake.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl

from bktools.frames.schema import IN_DOUBT
from bktools.frames.tables import source_of
from bktools.ledger.findings import about, account_of, day_of, place_of, places_of
from bktools.ledger.inputs import EPOCH, read
from bktools.ledger.model import verdict_of
from bktools.ledger.verdict import ARRIVED, BOOKED, Status, Verdict
from bktools.ledger.whole_numbers import Numbers
from bktools.wording import Words, words

SHOWN = 10


class Sending(NamedTuple):
    """The journal's data about the sending of a batch."""

    # When its job has ended at the latest.
    ends_at: dt.datetime
    # Why an answer may exist that the journal does not have, "" where there is none.
    undelivered: str = ""


@dataclass(frozen=True)
class Settlement:
    """The evidence of the ledger about a batch in doubt."""

    batch_id: str
    # "accepted" where each of its entries is booked once, alone or in a sum; "released" where it is proven
    # that none is; None where the ledger does not decide it.
    outcome: str | None
    # Why, as a code with facts, and in words for a journal that keeps them.
    reason: str
    facts: Mapping[str, Any]
    text: str
    # The postings to look at, where nothing is decided.
    postings: tuple[str, ...] = ()


def settlements(
    exported: pd.DataFrame,
    ledger: pd.DataFrame,
    sendings: Mapping[str, Sending],
    *,
    explained: Sequence[str] = (),
    currency: str | None = None,
) -> list[Settlement]:
    """Return the evidence of a ledger about each batch with an unknown outcome: those of `sendings`.

    `exported` has every exported entry of the company; `explained` names vouchers, or documents, that a
    person has looked up: they hold no entry of a batch in doubt. A ledger whose file names no day of its
    export was exported today. `currency` is that of a ledger which names none.
    """
    batches = sorted(set(sendings) & set(exported["batch_id"]))
    if not batches:
        return []
    evidence = _Evidence(exported, ledger, explained, currency, words())
    return [evidence.settlement(batch, sendings[batch]) for batch in batches]


def as_frame(settled: Sequence[Settlement]) -> pd.DataFrame:
    """Return settlements as a table, one row per batch."""
    rows = [(one.batch_id, one.outcome, one.reason, one.text, "; ".join(one.postings)) for one in settled]
    return pd.DataFrame(rows, columns=["batch_id", "outcome", "reason", "evidence", "postings"])


class _Proof(NamedTuple):
    """An outcome, or None, why, and the rows of the postings that show it, or that are to be looked at."""

    outcome: str | None
    reason: str
    postings: Collection[int] = ()
    facts: Mapping[str, Any] = {}


class _Evidence:
    """The entries and postings, and their evidence about a batch."""

    def __init__(
        self,
        exported: pd.DataFrame,
        ledger: pd.DataFrame,
        explained: Sequence[str],
        currency: str | None,
        words: Words,
    ) -> None:
        self._words, self._by_person = words, explained
        self._inputs = read(exported, ledger, explained=explained, currency=currency, are_sent=False)
        entries = self._inputs.entries.filter(pl.col("state").is_in(["ACCEPTED", *IN_DOUBT]))
        self._entries = entries.with_columns(sent=pl.col("state") == "ACCEPTED")
        self._postings = self._inputs.postings
        named, now = source_of(ledger).get("exported_at"), dt.datetime.now(dt.UTC)
        # Postings of days after the ledger's export are planned, and show nothing.
        self._now = dt.datetime.combine(dt.date.fromisoformat(named), dt.time.max, dt.UTC) if named else now
        days = self._postings["day"]
        is_planned = (days > (self._now.date() - EPOCH).days).fill_null(value=False)
        shown = days.filter(~is_planned).drop_nulls()
        self._first: int | None = min(shown, default=None)
        self._last: int | None = max(shown, default=None)
        # What is planned for a later day, or was looked up by a person, holds no entry.
        planned = np.flatnonzero(is_planned.to_numpy()).tolist()
        self._explained = {*self._inputs.options["explained"], *planned}
        self._options = {**self._inputs.options, "until": self._last, "explained": self._explained}

    def settlement(self, batch: str, sending: Sending) -> Settlement:
        """Return the evidence about one batch."""
        proof = self._proof(batch, sending)
        postings, is_decided = sorted(proof.postings), proof.outcome is not None
        places = places_of(self._inputs.ledger, postings, self._words, most=SHOWN, names=1)
        facts = {
            "count": self._entries.filter(pl.col("batch") == batch)["id"].n_unique(),
            **dict.fromkeys(("booked", "unproven", "lacking")),
            **proof.facts,
            "first": None if self._first is None else str(day_of(self._first)),
            "last": None if self._last is None else str(day_of(self._last)),
            "places": [*dict.fromkeys(places)] if is_decided else None,
            "explained": [*self._by_person] if self._by_person and is_decided else None,
        }
        text = self._words(f"settlement.{proof.reason}", **facts)
        looked = () if is_decided else tuple(map(self._posting, postings))
        return Settlement(batch, proof.outcome, proof.reason, facts, text, looked)

    def _proof(self, batch: str, sending: Sending) -> _Proof:
        """Return the evidence, or why the ledger is not whole for the question."""
        if sending.undelivered:
            return _Proof(None, "undelivered", facts={"why": sending.undelivered})
        is_own = (self._entries["batch"] == batch).fill_null(value=False)
        own = self._entries.filter(is_own)
        if any(own[name].null_count() for name in ("account", "day", "cents")):
            return _Proof(None, "value_unknown")
        proof = self._judged(is_own)
        if proof.outcome == "accepted":
            return proof
        if sending.ends_at > self._now:
            facts = {**proof.facts, "ends_at": sending.ends_at.isoformat()}
            return _Proof(None, "not_ended", proof.postings, facts)
        # What is missing shows nothing of a job that has not ended; the verdict asks what the days cover.
        ends = max(*own["day"], (sending.ends_at.date() - EPOCH).days)
        if self._last is None or self._last <= ends:
            return _Proof(None, "ends_early", proof.postings, {**proof.facts, "until": str(day_of(ends))})
        return proof

    def _judged(self, is_own: pl.Series) -> _Proof:  # noqa: PLR0911
        """Return what the verdicts with the batch and without it show."""
        # How the ledger books is what the other batches show.
        entries, others = (
            self._entries.with_columns(sent=pl.col("sent") & ~is_own),
            self._entries.filter(~is_own),
        )
        sent = others["sent"]
        if not sent.any():
            return _Proof(None, "no_earlier_batch")
        with_it, without = (verdict_of(some, self._postings, **self._options) for some in (entries, others))
        arrived = without.has(*ARRIVED)
        whole = (
            others.select("batch", arrived=pl.Series(arrived) & sent).group_by("batch").agg(pl.all().all())
        )
        rows, there = np.flatnonzero(is_own.to_numpy()), without.has(*BOOKED)
        status, postings = with_it.status[rows], _postings(with_it, rows)
        is_open = ~np.isin(status, ARRIVED)
        facts = dict[str, Any]()
        if not is_open.all() and is_open.any():
            unproven = self._entries["id"].gather(rows[is_open]).unique()
            facts["booked"] = self._entries.filter(is_own)["id"].n_unique() - len(unproven)
            facts["unproven"] = self._named(unproven)
            postings = _postings(with_it, rows[is_open])
        if not without.habits.is_known or not whole["arrived"].any():
            lacking = (
                others.filter(pl.Series(~arrived) & sent)["id"] if arrived.any() else others["id"].clear()
            )
            return _Proof(None, "no_earlier_batch", facts=facts | {"lacking": self._named(lacking)})
        if not is_open.any():
            is_moved = (without.status != np.delete(with_it.status, rows))[there].any()
            if is_moved or postings & _postings(without, np.flatnonzero(there)):
                return _Proof(None, "others_in_its_vouchers", postings)
            return _Proof("accepted", "booked_as_a_whole", postings)
        if (status != Status.MISSING).any():
            return _Proof(None, "in_part", postings, facts)
        if not there[sent.to_numpy()].all():
            return _Proof(None, "others_are_open")
        return _Proof("released", "nothing_may_hold_it")

    def _named(self, ids: pl.Series) -> list[str]:
        """Return entries in a few words each, in their order."""
        rows = {row["entry_id"]: row for row in reversed(self._inputs.exported.to_pylist())}
        wanted = {*ids}
        return [about(row, self._words) for key, row in reversed(rows.items()) if key in wanted]

    def _posting(self, row: int) -> str:
        """Return a posting in one line."""
        own: Any = self._inputs.ledger.slice(row, 1).to_pylist()[0]
        money = self._words.money({own.get("currency") or "": own["amount"]})
        parts = [str(own["date"]), account_of(own), money, place_of([own], self._words)]
        return ", ".join(filter(None, parts))


def _postings(verdict: Verdict, entries: Numbers) -> set[int]:
    """Return the rows of the postings that hold some entries, or that are to be looked at."""
    return {posting for e in entries.tolist() for posting in verdict.postings(e)}
