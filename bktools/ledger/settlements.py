"""The evidence of a ledger about batches with an unknown outcome, for the person who records the outcome.

The ledger is evidence only where it is whole for the question: it begins before the first entry, and reaches
past the end of the job. Then the entries are judged with the batch and without it (`batch_evidence`), for
every outcome that the other batches in doubt may have.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl

from bktools.frames.incoming import source_of
from bktools.frames.schema import IN_DOUBT
from bktools.ledger.batch_evidence import BatchReason, evidence_of
from bktools.ledger.findings import account_of, place_of, places_of
from bktools.ledger.inputs import options_of, read
from bktools.ledger.two_tables import entries_of, postings_of
from bktools.wording import Words, words

# With more other batches in doubt nothing is decided: each one doubles the number of verdicts.
MOST_UNRESOLVED = 3
SHOWN = 10


class Sending(NamedTuple):
    """The journal's data about the sending of a batch."""

    # When its job has ended at the latest, None where it is not known when it was sent.
    ends_at: dt.datetime | None
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
    exported_at: dt.date | None = None,
    currency: str | None = None,
    language: str | None = None,
) -> list[Settlement]:
    """Return the evidence of a ledger about each batch with an unknown outcome: those of `sendings`.

    `exported` has every exported entry of the company; `explained` names vouchers, or documents, that a
    person has looked up: they hold no entry of a batch in doubt. `exported_at` is the day on which the ledger
    was exported, by default the one that its file names, else today: postings of later days are planned, and
    show nothing. `currency` is that of a ledger which names none.
    """
    batches = sorted(set(sendings) & set(exported["batch_id"]))
    if not batches:
        return []
    named = source_of(ledger).get("exported_at")
    if exported_at is None and named:
        exported_at = dt.date.fromisoformat(named)
    evidence = _Evidence(exported, ledger, explained, exported_at, currency, words(language))
    return [evidence.settlement(batch, sendings[batch]) for batch in batches]


def as_frame(settled: Sequence[Settlement]) -> pd.DataFrame:
    """Return settlements as a table, one row per batch."""
    rows = [(one.batch_id, one.outcome, one.reason, one.text, "; ".join(one.postings)) for one in settled]
    return pd.DataFrame(rows, columns=["batch_id", "outcome", "reason", "evidence", "postings"])


@dataclass(frozen=True)
class _Proof:
    """An outcome, or None, why, and the rows of the postings that show it, or that are to be looked at."""

    outcome: str | None
    reason: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    postings: tuple[int, ...] = ()


class _Evidence:
    """The entries and postings, and their evidence about a batch."""

    def __init__(
        self,
        exported: pd.DataFrame,
        ledger: pd.DataFrame,
        explained: Sequence[str],
        exported_at: dt.date | None,
        currency: str | None,
        words: Words,
    ) -> None:
        self._exported, self._words = exported, words
        self._inputs = read(exported, ledger, explained, are_sent=False)
        self._entries = entries_of(self._inputs.entries)
        self._explained = explained
        self._is_dated = exported_at is not None
        self._exported_at = exported_at or dt.datetime.now(dt.UTC).date()
        days = pl.Series(pl.from_arrow(self._inputs.ledger.column("date")))
        is_shown = days <= self._exported_at
        shown: list[dt.date] = days.filter(is_shown).sort().to_list()
        self._first = shown[0] if shown else None
        self._last = shown[-1] if shown else None
        # What is planned for a later day, or was looked up by a person, holds no entry.
        may_hold = is_shown.fill_null(value=True).to_numpy().copy()
        may_hold[[*self._inputs.explained]] = False
        self._rows = np.flatnonzero(may_hold)
        self._postings = postings_of(self._inputs.ledger)[self._rows]
        until = None if self._last is None else (self._last - dt.date(1970, 1, 1)).days
        self._options = {**options_of(ledger, currency=currency), "until": until}

    def settlement(self, batch: str, sending: Sending) -> Settlement:
        """Return the evidence about one batch."""
        proof = self._proof(batch, sending)
        places = self._places(proof.postings) if proof.outcome else None
        facts = {
            "count": int((self._exported["batch_id"] == batch).sum()),
            **proof.facts,
            "first": str(self._first) if self._first else None,
            "last": str(self._last) if self._last else None,
            "places": places,
            "explained": [*self._explained] if self._explained and proof.outcome else None,
        }
        return Settlement(
            batch,
            proof.outcome,
            proof.reason,
            facts,
            self._words(f"settlement.{proof.reason}", **facts),
            () if proof.outcome else tuple(map(self._posting, proof.postings)),
        )

    def _proof(self, batch: str, sending: Sending) -> _Proof:
        """Return the evidence, the same for every outcome that the other batches in doubt may have."""
        gap = next(self._gaps(batch, sending), None)
        if gap is not None:
            return gap
        states, ids = self._exported["state"], self._exported["batch_id"]
        unresolved = sorted(ids[states.isin(IN_DOUBT) & (ids != batch)].unique())
        if len(unresolved) > MOST_UNRESOLVED:
            return _Proof(None, "many_in_doubt", {"count": len(unresolved)})
        proofs = []
        for count in range(len(unresolved) + 1):
            for booked in itertools.combinations(unresolved, count):
                proof = self._proof_with(batch, booked)
                if proof.outcome is None:
                    return proof
                proofs.append(proof)
        if len({proof.outcome for proof in proofs}) > 1:
            return _Proof(None, "depends", {"batches": unresolved})
        return proofs[0]

    def _proof_with(self, batch: str, booked: Collection[str]) -> _Proof:
        """Return the evidence, if of the other batches in doubt those in `booked` were booked."""
        ids = self._exported["batch_id"]
        wanted = (self._exported["state"] == "ACCEPTED") | ids.isin([*booked, batch])
        entries = self._entries.filter(pl.Series(wanted.to_numpy(dtype=bool)))
        # How the ledger books is what the other batches show.
        entries = entries.with_columns(sent=(pl.col("batch") != batch).fill_null(value=True))
        evidence = evidence_of(entries, self._postings, batch, **self._options)
        postings = evidence.postings
        if evidence.outcome == "accepted" and (back := self._taken_back(postings)):
            return _Proof(None, "taken_back", {}, self._own_rows({*postings, *back}))
        return _Proof(evidence.outcome, str(evidence.reason), {}, self._own_rows(postings))

    def _own_rows(self, postings: Collection[int]) -> tuple[int, ...]:
        """Return the rows in the ledger of postings that may hold an entry."""
        return tuple(self._rows[sorted(postings)].tolist())

    def _taken_back(self, postings: Collection[int]) -> set[int]:
        """Return the postings that take back one of these, on its day or later: an accrual is no booking."""
        named = self._postings.with_row_index("row").select("row", "account", "day", "cents")
        own = named[sorted(postings)].select("account", since="day", cents=-pl.col("cents"))
        back = named.join(own, on=["account", "cents"]).filter(pl.col("day") >= pl.col("since"))
        return {*back["row"].to_list()} - {*postings}

    def _gaps(self, batch: str, sending: Sending) -> Iterator[_Proof]:
        """Yield why the ledger shows nothing about a batch; nothing where it is whole for the question."""
        rows = self._exported[self._exported["batch_id"] == batch]
        end_of_day = dt.datetime.combine(self._exported_at, dt.time.max, dt.UTC)
        now = end_of_day if self._is_dated else dt.datetime.now(dt.UTC)
        if sending.undelivered:
            yield _Proof(None, "undelivered", {"why": sending.undelivered})
        if sending.ends_at is None:
            yield _Proof(None, "sending_unknown")
            return
        if sending.ends_at > now:
            yield _Proof(None, "not_ended", {"ends_at": sending.ends_at.isoformat()})
        if any(name not in rows or rows[name].isna().any() for name in ("account_code", "date", "amount")):
            yield _Proof(None, str(BatchReason.VALUE_UNKNOWN))
            return
        until = max(rows["date"].max().date(), sending.ends_at.date())
        if self._last is None or self._last <= until:
            yield _Proof(None, "ends_early", {"until": str(until)})
        first = rows["date"].min().date()
        if self._first is not None and self._first >= first:
            yield _Proof(None, "begins_late", {"begins": str(self._first), "day": str(first)})

    def _places(self, postings: Sequence[int]) -> list[str]:
        named = places_of(self._inputs.ledger, sorted(postings), self._words, most=SHOWN, names=1)
        return [*dict.fromkeys(named)]

    def _posting(self, row: int) -> str:
        """Return a posting in one line."""
        own: Any = self._inputs.ledger.slice(row, 1).to_pylist()[0]
        money = self._words("posting.money", amount=own["amount"], currency=own.get("currency"))
        parts = [str(own["date"]), account_of(own), money, place_of(own, self._words)]
        return ", ".join(filter(None, parts))
