"""The evidence of a ledger about batches with an unknown outcome, for the person who records the outcome.

The verdict is made with a batch and without it. An outcome is proposed only when one of the two fits and the
other does not, in a ledger that is whole for the question and shows an earlier batch that was accepted.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl

from bktools.frames.incoming import source_of
from bktools.frames.schema import IN_DOUBT
from bktools.ledger.findings import account_of, place_of, places_of
from bktools.ledger.inputs import Inputs, explained_rows, read, said_of
from bktools.ledger.sides import Sides, sides_of
from bktools.ledger.statuses import Status
from bktools.ledger.steps import Grain
from bktools.ledger.verdict import FOUND, Verdict, verdict_of
from bktools.wording import Words, words

# An entry with one of these is booked once.
ARRIVED = (Status.BOOKED, Status.ANOTHER_DATE, Status.IN_A_SUM)
# Columns of the groups in which systems sum entries up: a batch's entries that sum up to zero show nothing.
GROUPS = (("batch",), ("batch", "home"), ("document", "home"), ("day", "home"), ("month", "home"))
# An accounting system may date its postings before the entries, by so many days.
EARLIER = 31
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
    language: str = "en",
) -> list[Settlement]:
    """Return the evidence of a ledger about each batch with an unknown outcome: those of `sendings`.

    `exported` has every exported entry of the company; `explained` names vouchers, or documents, that a
    person has looked up: they hold no entry of a batch in doubt. `exported_at` is the day on which the ledger
    was exported, by default the one that its file says, else today: postings of later days are planned, and
    show nothing.
    """
    batches = sorted(set(sendings) & set(exported["batch_id"]))
    if not batches:
        return []
    if exported_at is None and (said := source_of(ledger).get("exported_at")):
        exported_at = dt.date.fromisoformat(said)
    evidence = _Evidence(exported, ledger, explained, exported_at, words(language))
    return [evidence.settlement(batch, sendings[batch]) for batch in batches]


def as_frame(settled: Sequence[Settlement]) -> pd.DataFrame:
    """Return settlements as a table, one row per batch."""
    rows = [(one.batch_id, one.outcome, one.reason, one.text, "; ".join(one.postings)) for one in settled]
    return pd.DataFrame(rows, columns=["batch_id", "outcome", "reason", "evidence", "postings"])


@dataclass(frozen=True)
class _Finding:
    """An outcome, or None, why, and the rows of the postings to look at."""

    outcome: str | None
    reason: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[int, ...] = ()


def _open(reason: str, rows: Collection[int] = (), **facts: Any) -> _Finding:
    return _Finding(None, reason, facts, tuple(sorted(rows)))


@dataclass(frozen=True)
class _Judged:
    """A verdict about some of the entries."""

    inputs: Inputs
    sides: Sides
    verdict: Verdict

    def rows_of(self, batch: str) -> npt.NDArray[np.bool_]:
        """Return which of the entries are of a batch."""
        mask: npt.NDArray[np.bool_] = (self.sides.entries["batch"] == batch).fill_null(value=False).to_numpy()
        return mask

    def postings_of(self, entries: npt.NDArray[np.bool_]) -> set[int]:
        """Return all postings in which some entries are."""
        numbers = np.flatnonzero(entries)
        groups = self.verdict.members.filter(pl.col("e").is_in(numbers))
        lines = self.verdict.lines.join(groups.select("gid").unique(), on="gid")["p"].to_list()
        return {*lines, *self.verdict.posting[numbers].tolist()} - {-1}

    @property
    def arrived(self) -> npt.NDArray[np.bool_]:
        """Which of the entries are booked once."""
        return np.isin(self.verdict.status, ARRIVED)

    @property
    def explained(self) -> set[int]:
        """The postings in which entries are."""
        return self.postings_of(np.isin(self.verdict.status, FOUND))


class _Evidence:
    """The entries and postings, and their evidence about a batch."""

    def __init__(
        self,
        exported: pd.DataFrame,
        ledger: pd.DataFrame,
        explained: Sequence[str],
        exported_at: dt.date | None,
        words: Words,
    ) -> None:
        self._exported, self._ledger, self._words = exported, ledger, words
        everything = read(exported, ledger)
        self._inputs = everything
        self._explained, self._explained_rows = explained, explained_rows(everything, explained)
        self._is_dated = exported_at is not None
        self._exported_at = exported_at or dt.datetime.now(dt.UTC).date()
        days = pl.Series(pl.from_arrow(everything.ledger.column("date")))
        self._days = days.filter(days <= self._exported_at)
        self._months = set(self._days.dt.strftime("%Y-%m"))
        self._span = {"first": self._days.min(), "last": self._days.max()}

    def settlement(self, batch: str, sending: Sending) -> Settlement:
        """Return the evidence about one batch."""
        finding = self._finding(batch, sending)
        facts = {**finding.facts, **{name: str(day) if day else None for name, day in self._span.items()}}
        facts["explained"] = [*self._explained] if self._explained and finding.outcome else None
        return Settlement(
            batch,
            finding.outcome,
            finding.reason,
            facts,
            self._words(f"settlement.{finding.reason}", **facts),
            tuple(self._posting(row) for row in finding.rows),
        )

    def _finding(self, batch: str, sending: Sending) -> _Finding:
        """Return the evidence, the same for every outcome that the other batches in doubt may have."""
        in_doubt = self._exported["state"].isin(IN_DOUBT) & (self._exported["batch_id"] != batch)
        unresolved = sorted(self._exported.loc[in_doubt, "batch_id"].unique())
        if sending.undelivered:
            return _open("undelivered", why=sending.undelivered)
        if len(unresolved) > MOST_UNRESOLVED:
            return _open("many_in_doubt", count=len(unresolved))
        findings = []
        for count in range(len(unresolved) + 1):
            for booked in itertools.combinations(unresolved, count):
                finding = self._finding_with(batch, sending, booked)
                if finding.outcome is None:
                    return finding
                findings.append(finding)
        if len({finding.outcome for finding in findings}) > 1:
            return _open("depends", batches=unresolved)
        return findings[0]

    def _finding_with(self, batch: str, sending: Sending, booked: Collection[str]) -> _Finding:
        """Return the evidence, if of the batches in doubt those in `booked` were booked."""
        is_before = (self._exported["state"] == "ACCEPTED") | self._exported["batch_id"].isin(booked)
        is_this = self._exported["batch_id"] == batch
        without = self._judged(is_before & ~is_this)
        both = self._judged(is_before | is_this)
        count = int(is_this.sum())
        # The first finding counts: reasons why nothing is decided come before the outcome.
        gaps = self._gap(batch, sending, (without, both), count)
        if both.arrived[both.rows_of(batch)].all():
            return next(itertools.chain(gaps, self._accepted(batch, both, without, count)))
        return next(itertools.chain(gaps, self._released(batch, is_this, both, without, count)))

    def _judged(
        self,
        wanted: pd.Series,
        grain: Grain | None = None,
        *,
        is_known: bool = False,
        others: Collection[int] = (),
    ) -> _Judged:
        inputs = read(self._exported[wanted], self._ledger)
        sides = sides_of(inputs)
        explained = sorted({*self._explained_rows, *others})
        said = said_of(self._ledger)
        grain = said.grain if grain is None else grain
        verdict = verdict_of(sides, grain=grain, sign=said.sign, is_known=is_known, explained=explained)
        return _Judged(inputs, sides, verdict)

    # ---- whether the ledger is whole for the question

    def _gap(self, batch: str, sending: Sending, judged: Sequence[_Judged], count: int) -> Iterator[_Finding]:
        """Yield why the ledger shows nothing about a batch; nothing where it is whole for the question."""
        rows = self._exported[self._exported["batch_id"] == batch]
        now = (
            dt.datetime.combine(self._exported_at, dt.time.max, dt.UTC)
            if self._is_dated
            else dt.datetime.now(dt.UTC)
        )
        if sending.ends_at is None:
            yield _open("sending_unknown", count=count)
            return
        if sending.ends_at > now:
            yield _open("not_ended", count=count, ends_at=sending.ends_at.isoformat())
        unknown = [
            name for name in ("account_code", "date", "amount") if name not in rows or rows[name].isna().any()
        ]
        if unknown:
            yield _open("values_unknown", count=count, columns=unknown)
            return
        first, last = rows["date"].min().date(), rows["date"].max().date()
        until = max(last, sending.ends_at.date())
        if any(one.verdict.style.grain in (Grain.BATCH, Grain.MONTH) for one in judged):
            # A sum may follow at the end of the month.
            until = (until.replace(day=1) + dt.timedelta(days=31)).replace(day=1) - dt.timedelta(days=1)
        ends: Any = self._days.max()
        begins: Any = self._days.min()
        if ends is None or ends <= until:
            yield _open("ends_early", count=count, until=str(until))
        if begins >= first:
            yield _open("begins_late", count=count, begins=str(begins), day=str(first))
        if gaps := sorted(set(rows["date"].dt.strftime("%Y-%m")) - self._months):
            yield _open("no_postings", count=count, months=gaps)

    def _earlier(self, batch: str, without: _Judged) -> list[str]:
        """Return the earlier accepted batches that are in the ledger as a whole."""
        sent = self._exported.loc[self._exported["batch_id"] == batch, "sent_at"].max()
        before = self._exported[(self._exported["state"] == "ACCEPTED") & (self._exported["sent_at"] < sent)]
        entries = without.sides.entries.select("batch", is_there=pl.Series(without.arrived))
        whole = entries.group_by("batch").agg(pl.col("is_there").all()).filter("is_there")["batch"].to_list()
        return sorted({*whole} & {*before["batch_id"]})

    # ---- booked

    def _accepted(self, batch: str, both: _Judged, without: _Judged, count: int) -> Iterator[_Finding]:
        """Yield why a batch is not proven booked; then the evidence: the ledger fits only with it."""
        rows = both.rows_of(batch)
        own = both.postings_of(rows)
        if not (self._earlier(batch, without) or self._earlier(batch, both)):
            yield _open("no_earlier_batch", own, count=count)
        if shared := own & without.explained:
            yield _open("shared", shared, count=count)
        lost = self._lost(both, without)
        if lost:
            yield _open("lost", own, count=count, lost=lost)
        if taken := self._taken_back(both, own):
            yield _open("taken_back", {*own, *taken}, count=count)
        is_sum = rows & (both.verdict.status == Status.IN_A_SUM)
        if is_sum.any():
            sums = np.unique(both.verdict.posting[is_sum])
            alike = self._alike(both, own)
            if len(sums) == 1 and alike:
                yield _open("one_sum", {*own, *alike}, count=count)
            if self._sums_up_to_zero(both, rows):
                yield _open("zero", count=count)
        foreign = both.sides.entries.filter(pl.Series(rows)).filter(~pl.col("is_home"))
        if foreign.height and self._strange_currencies(foreign, without):
            yield _open("strange_currency", own, count=count)
        facts = {"count": count, "sums": int(is_sum.sum()) or None, "places": self._places(both, rows)}
        yield _Finding("accepted", "accepted", facts)

    @staticmethod
    def _lost(both: _Judged, without: _Judged) -> int:
        """Return how many entries are in the ledger only without the batch."""
        there = without.sides.entries.filter(pl.Series(without.arrived))["id"]
        missing = both.sides.entries.filter(pl.Series(~both.arrived))["id"]
        return int(missing.is_in(there.implode()).sum())

    @staticmethod
    def _taken_back(both: _Judged, own: Collection[int]) -> set[int]:
        """Return the postings that take back one of these, as an accrual is taken back."""
        postings = both.verdict.postings
        mine = postings.filter(pl.col("p").is_in([*own])).select("key", since="day", amount=-pl.col("amount"))
        found = postings.filter(~pl.col("p").is_in([*both.explained])).join(mine, on=["key", "amount"])
        return {*found.filter(pl.col("day") >= pl.col("since"))["p"].to_list()}

    def _alike(self, both: _Judged, own: Collection[int]) -> set[int]:
        """Return other unexplained postings on the accounts of some, from before the batch on."""
        postings = both.verdict.postings
        mine = postings.filter(pl.col("p").is_in([*own]))
        since = int(mine["day"].min()) - EARLIER  # type: ignore[arg-type]
        others = postings.filter(pl.col("account").is_in(mine["account"].implode()), pl.col("day") >= since)
        return {*others["p"].to_list()} - both.explained - {*self._explained_rows} - both.verdict.undone

    @staticmethod
    def _strange_currencies(foreign: pl.DataFrame, without: _Judged) -> bool:
        """Whether no earlier entry of these currencies is in the ledger."""
        there = without.sides.entries.filter(pl.Series(without.arrived))["currency"]
        return not foreign["currency"].is_in(there.implode()).all()

    def _places(self, both: _Judged, rows: npt.NDArray[np.bool_]) -> list[str]:
        at = sorted({*both.verdict.posting[rows].tolist()} - {-1})
        return [*dict.fromkeys(places_of(self._inputs.ledger, at, self._words, most=SHOWN, names=1))]

    @staticmethod
    def _sums_up_to_zero(judged: _Judged, rows: npt.NDArray[np.bool_]) -> bool:
        """Whether some entries of a group sum up to zero: a sum with them is the same without them."""
        own = judged.sides.entries.filter(pl.Series(rows))
        return any(
            bool((own.drop_nulls([*group]).group_by(group).agg(pl.sum("gross"))["gross"] == 0).any())
            for group in GROUPS
        )

    # ---- not booked

    def _released(
        self, batch: str, is_this: pd.Series, both: _Judged, without: _Judged, count: int
    ) -> Iterator[_Finding]:
        """Yield why it is not proven that nothing of a batch was booked.

        Then the evidence follows: the ledger fits only without it.
        """
        statuses = both.verdict.status[both.rows_of(batch)]
        if np.isin(statuses, (*FOUND, Status.REVERSED)).any():
            codes, counts = np.unique(statuses, return_counts=True)
            parts = [
                {"count": int(many), "status": Status(int(code)).code}
                for code, many in zip(codes, counts, strict=True)
            ]
            yield _open("partly", both.postings_of(both.rows_of(batch)), count=count, parts=parts)
        taken = {
            *without.explained,
            *without.verdict.doubles,
            *without.verdict.reversals,
            *without.verdict.undone,
        }
        if not self._earlier(batch, without):
            yield _open("no_earlier_batch", self._free(batch, without, taken), count=count)
        if not without.verdict.style.is_known:
            yield _open("style_unknown", self._free(batch, without, taken), count=count)
        alone = self._judged(is_this, without.verdict.style.grain, is_known=True, others=taken)
        status = alone.verdict.status
        if not (status == Status.MISSING).all():
            rows = {*alone.postings_of(np.ones(len(status), dtype=bool))}
            rows |= {posting for note in alone.verdict.notes.values() for posting in note.postings}
            yield _open("may_hold", rows, count=count)
        if self._sums_up_to_zero(alone, np.ones(len(status), dtype=bool)):
            yield _open("zero", count=count)
        lacking = self._lacking(without, alone)
        if lacking:
            yield _open("others_missing", self._free(batch, without, taken), count=count, lacking=lacking)
        if strange := self._strange_accounts(without, alone):
            yield _open("strange_accounts", self._free(batch, without, taken), count=count, accounts=strange)
        if fits := self._fits(batch, without, taken):
            yield _open("may_hold", fits, count=count)
        yield _Finding(
            "released", "released", {"count": count, "batches": self._earlier(batch, without)[-3:]}
        )

    @staticmethod
    def _lacking(without: _Judged, alone: _Judged) -> int:
        """Return how many accepted entries on a batch's accounts, in its months, are also missing.

        A sum may hold them.
        """
        gone = without.sides.entries.filter(pl.Series(~without.arrived))
        groups = alone.sides.entries.select("account", "month").unique()
        return gone.join(groups, on=["account", "month"], how="semi").height

    def _strange_accounts(self, without: _Judged, alone: _Judged) -> list[str]:
        """Return the accounts of a batch on which no accepted entry is in the ledger."""
        there = without.sides.entries.filter(pl.Series(without.arrived))["account"]
        strange = alone.sides.entries.with_row_index().filter(~pl.col("account").is_in(there.implode()))
        codes = alone.inputs.exported.column("account_code").take(strange["index"].to_arrow())
        return sorted({str(code) for code in codes.to_pylist()})

    def _free(self, batch: str, without: _Judged, taken: Collection[int]) -> set[int]:
        """Return the postings on used accounts that nothing explains, from some time before the batch on."""
        first = self._exported.loc[self._exported["batch_id"] == batch, "date"].min()
        postings = without.verdict.postings.filter("is_used")
        if pd.notna(first):
            since = (first.date() - dt.date(1970, 1, 1)).days - EARLIER
            postings = postings.filter(pl.col("day") >= since)
        return {*postings["p"].to_list()} - {*taken} - {*self._explained_rows}

    def _fits(self, batch: str, without: _Judged, taken: Collection[int]) -> set[int]:
        """Return the postings that may hold the batch: any on its accounts, on others by a group's sum."""
        entries = self._exported[self._exported["batch_id"] == batch]
        own = sides_of(read(entries, self._ledger)).entries
        amounts: set[int] = set(own["gross"].to_list())
        for group in GROUPS:
            parts = (
                own.drop_nulls([*group])
                .group_by(group)
                .agg(
                    total=pl.sum("gross"),
                    debit=pl.col("gross").filter(pl.col("gross") > 0).sum(),
                    credit=pl.col("gross").filter(pl.col("gross") < 0).sum(),
                    count=pl.len(),
                )
            )
            sums = parts.filter(pl.col("count") > 1).select("total", "debit", "credit").to_numpy().ravel()
            amounts |= {sign * int(value) for value in sums for sign in (1, -1)} - {0}
        since = int(own["day"].min()) - EARLIER  # type: ignore[arg-type]
        free = without.verdict.postings.filter(
            pl.col("day") >= since, ~pl.col("p").is_in([*taken]), ~pl.col("p").is_in(self._explained_rows)
        )
        on_account = free.filter(pl.col("account").is_in(own["account"].unique().implode()))
        by_amount = free.filter(pl.col("amount").is_in([*amounts]) | pl.col("gross").is_in([*amounts]))
        sides = free.filter(pl.col("voucher").is_not_null()).with_columns(
            side=pl.col("amount").sum().over("voucher", "day", pl.col("amount") < 0),
            whole=pl.col("amount").sum().over("voucher", "day"),
        )
        by_side = sides.filter(pl.col("side").is_in([*amounts]) | pl.col("whole").is_in([*amounts]))
        return {*on_account["p"].to_list(), *by_amount["p"].to_list(), *by_side["p"].to_list()}

    def _posting(self, row: int) -> str:
        """Return a posting in one line."""
        own: Any = self._inputs.ledger.slice(row, 1).to_pylist()[0]
        money = self._words("posting.money", amount=own["amount"], currency=own.get("currency"))
        parts = [str(own["date"]), account_of(own), money, place_of(own, self._words)]
        return ", ".join(filter(None, parts))
