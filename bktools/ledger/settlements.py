"""The evidence of a ledger about batches with an unknown outcome, for the person who records the outcome.

Each batch is matched twice, as if it was booked and as if it was not. An outcome is proposed only when one of the two
fits and the other does not.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from bktools.caller import name_of
from bktools.errors import ArgumentError
from bktools.frames.codes import sentence
from bktools.frames.schema import IN_DOUBT
from bktools.ledger.findings import account_of, money_of, posting_of
from bktools.ledger.ledger_match import LedgerMatch
from bktools.ledger.match import DAYS, match_ledger
from bktools.ledger.steps import BY_DAY
from bktools.visible import first_of
from bktools.wording.numbers import counted

# An entry with one of these is booked once.
ARRIVED = {"booked", "another_date", "in_a_sum"}
# Columns of the groups in which accounting systems sum entries up.
GROUPS = (("batch",), ("batch", "account"), ("document",), ("account", "date"), ("account", "month"))
# An accounting system may date its postings before the entries, by so many days.
EARLIER = dt.timedelta(days=31)
# With more other batches in doubt nothing is decided: each one doubles the number of comparisons.
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
    # "accepted" where each of its entries is booked once, alone or in a sum; "released" where it is proven that none
    # is; None where the ledger does not decide it.
    outcome: str | None
    # The evidence, for a journal that keeps it; where nothing is decided, the reason and what to do.
    text: str
    # The postings to look at, where nothing is decided.
    postings: tuple[str, ...] = ()


def settlements(
    exported: pd.DataFrame,
    ledger: pd.DataFrame,
    sendings: Mapping[str, Sending],
    *,
    explained: Sequence[str] = (),
    days: int = DAYS,
) -> list[Settlement]:
    """Return the evidence of a ledger about each batch with an unknown outcome: those of `sendings`.

    `exported` has every exported entry of the company; `explained` names vouchers, or documents, that a person has
    looked up: they hold no entry of a batch in doubt.
    """
    batches = sorted(set(sendings) & set(exported["batch_id"]))
    if not batches:
        return []
    evidence = _Evidence(exported, ledger, explained, days)
    return [evidence.settlement(batch, sendings[batch]) for batch in batches]


def as_frame(settled: Sequence[Settlement]) -> pd.DataFrame:
    """Return settlements as a table, one row per batch."""
    rows = [(one.batch_id, one.outcome, one.text, "; ".join(one.postings)) for one in settled]
    return pd.DataFrame(rows, columns=["batch_id", "outcome", "evidence", "postings"])


class _Verdict(NamedTuple):
    """The outcome, or None; the evidence, or why nothing is decided; and the row numbers of the postings to look at."""

    outcome: str | None
    text: str
    row_numbers: tuple[int, ...] = ()


def _not_decided(why: str, row_numbers: Iterable[int] = ()) -> _Verdict:
    return _Verdict(None, why, tuple(sorted({*row_numbers})))


class _Evidence:
    """The entries and postings, and their evidence about a batch."""

    def __init__(self, exported: pd.DataFrame, ledger: pd.DataFrame, explained: Sequence[str], days: int) -> None:
        self._exported, self._days = exported, days
        # The number of a posting is its `line` here, so that both matches name it.
        self._ledger = ledger.reset_index(drop=True)
        numbers = pd.DataFrame(
            {
                name: self._ledger[name].str.split().str.join(" ")
                for name in ("voucher_id", "document_number")
                if name in self._ledger
            },
            index=self._ledger.index,
        )
        named = {" ".join(voucher.split()): voucher for voucher in explained}
        for number, voucher in named.items():
            if not numbers.isin([number]).any(axis=None):
                raise ArgumentError(name_of("explained"), "must name a voucher or a document of the ledger", voucher)
        self._explained = ", ".join(named)
        self._open = self._ledger.assign(line=self._ledger.index)[~numbers.isin([*named]).any(axis="columns")]
        days_of = self._ledger["date"].dropna()
        self._first: Any
        self._last: Any
        self._first, self._last = (days_of.min().date(), days_of.max().date()) if len(days_of) else (None, None)
        self._months = set(days_of.dt.strftime("%Y-%m"))
        self._span = f"the ledger of {self._first} to {self._last}" if len(days_of) else "the ledger"

    def settlement(self, batch: str, sending: Sending) -> Settlement:
        """Return the evidence about one batch."""
        verdict = self._verdict(batch, sending)
        explained = f"; explained by hand: {self._explained}" if self._explained and verdict.outcome else ""
        postings = tuple(self._posting(row_number) for row_number in verdict.row_numbers)
        return Settlement(batch, verdict.outcome, f"{verdict.text}{explained}", postings)

    def _verdict(self, batch: str, sending: Sending) -> _Verdict:
        """Return the verdict, the same for every outcome that the other batches in doubt may have."""
        in_doubt = self._exported["state"].isin(IN_DOUBT) & (self._exported["batch_id"] != batch)
        unresolved = sorted(self._exported.loc[in_doubt, "batch_id"].unique())
        if sending.undelivered:
            return _not_decided(sending.undelivered)
        if len(unresolved) > MOST_UNRESOLVED:
            return _not_decided(f"{len(unresolved)} other batches are in doubt: settle some of them first")
        verdicts = set()
        for count in range(len(unresolved) + 1):
            for booked in itertools.combinations(unresolved, count):
                verdict = self._verdict_with(batch, sending, booked)
                if verdict.outcome is None:
                    return verdict
                verdicts.add(verdict)
        if len({verdict.outcome for verdict in verdicts}) > 1:
            return _not_decided(f"it depends on the outcome of {', '.join(unresolved)}: settle that first")
        return min(verdicts)

    def _verdict_with(self, batch: str, sending: Sending, booked: Collection[str]) -> _Verdict:
        """Return the verdict, if of the batches in doubt those in `booked` were booked."""
        is_before = (self._exported["state"] == "ACCEPTED") | self._exported["batch_id"].isin(booked)
        is_this = self._exported["batch_id"] == batch
        without = _Match(match_ledger(self._exported[is_before & ~is_this], self._open, days=self._days))
        both = _Match(match_ledger(self._exported[is_before | is_this], self._open, days=self._days))
        rows = both.entries[both.entries["batch_id"] == batch]
        # The first verdict counts: reasons why nothing is decided come before the outcome.
        if set(rows["status"]) <= ARRIVED:
            return next(self._accepted(rows, both, without))
        if set(rows["status"]) == {"missing"}:
            return next(self._released(batch, rows, without, sending))
        counts = rows["status"].value_counts().sort_index()
        parts = ", ".join(f"{number} {sentence(str(status))}" for status, number in counts.items())
        return _not_decided(
            f"of its {len(rows)} entries there are {parts}: settle it by hand, entry by entry",
            both.row_numbers_of(rows),
        )

    def _accepted(self, rows: pd.DataFrame, both: _Match, without: _Match) -> Iterator[_Verdict]:
        """Yield why it is not proven that a batch was booked; then the evidence: only with it the ledger fits."""
        row_numbers = both.row_numbers_of(rows)
        if shared := set(row_numbers) & without.explained:
            yield _not_decided("its postings may as well be those of entries that were exported before", shared)
        is_lost = both.entries["entry_id"].isin(without.arrived) & ~both.entries["status"].isin(ARRIVED)
        if lost := int(is_lost.sum()):
            yield _not_decided(f"with it, {lost} entries that were exported before are not in the ledger", row_numbers)
        in_sums = rows[rows["matched_by"].str.startswith("sum ")]
        sums = ""
        if len(in_sums):
            count = len(pd.unique(in_sums["booked_line"]))
            booked = both.row_numbers_of(in_sums)
            unexplained = self._open.loc[self._unexplained(rows, both), "account_code"]
            alike = unexplained.index[unexplained.isin(self._open.loc[booked, "account_code"])]
            if count == 1 and len(alike):
                yield _not_decided("one sum fits, but the account has other postings", [*booked, *alike])
            yield from self._zero(rows)
            kinds = " and ".join(sorted(kind.removeprefix("sum of ") for kind in in_sums["matched_by"].unique()))
            sums = f", {len(in_sums)} of them in {counted(count, 'sum')} by {kinds}"
        text = f"all {len(rows)} entries are booked once in {self._span}{sums}: {self._vouchers(rows)}"
        yield _Verdict("accepted", text)

    def _released(self, batch: str, rows: pd.DataFrame, without: _Match, sending: Sending) -> Iterator[_Verdict]:
        """Yield why it is not proven that a batch was not booked; then the evidence."""
        none = f"none of its {len(rows)} entries is in {self._span}"
        columns = ("account_code", "date", "amount")
        unknown = [name for name in columns if name not in rows or rows[name].isna().any() or name not in self._open]
        if unknown:
            yield _not_decided(f"{none}, but {' and '.join(unknown)} of some are not known: give them with --entries")
        yield from self._zero(rows)
        before = without.entries[without.entries["state"] == "ACCEPTED"]
        for why in self._gaps(rows, before, sending):
            yield _not_decided(f"{none}, but {why}")
        is_there = before["status"].isin(ARRIVED)
        sent = self._exported.loc[self._exported["batch_id"] == batch, "sent_at"].max()
        earlier = before.loc[before["sent_at"] < sent, "batch_id"]
        shown_batches = sorted(set(earlier) - set(before.loc[~is_there, "batch_id"]))
        strange = sorted(set(_accounts(rows)) - set(_accounts(before[is_there])))
        lacking = _in_groups(before[~is_there], *GROUPS[2:])
        missing = lacking.index[lacking["group"].isin(_in_groups(rows, *GROUPS[2:])["group"])].nunique()
        reasons = {
            "no batch that was accepted before it is there as a whole: it is not known where this accounting system "
            "books": not shown_batches,
            f"no accepted entry on {', '.join(strange)} is there either: it is not known where they are booked": strange,
            f"neither are {missing} accepted entries of the same accounts and months: a sum may hold them": missing,
        }
        for why, is_so in reasons.items():
            if is_so:
                yield _not_decided(f"{none}, but {why}", self._unexplained(rows, without))
        if fits := self._fits(rows, without):
            yield _not_decided(f"{none} alone, but {counted(len(fits), 'posting')} may hold them: look at each", fits)
        batches = ", ".join(shown_batches[-3:])
        yield _Verdict("released", f"{none}, alone or in a sum; an earlier accepted batch is in it (batch {batches})")

    def _gaps(self, rows: pd.DataFrame, before: pd.DataFrame, sending: Sending) -> Iterator[str]:
        """Yield why a ledger may end before the batch was booked, or begin after it."""
        first, last = rows["date"].min().date(), rows["date"].max().date()
        if sending.ends_at is None:
            yield "the day of sending is not known: look it up by hand"
            return
        until = max(last, sending.ends_at.date())
        # Where entries are not booked on their own day, a sum may follow at the end of the month.
        dated = before[
            (before["status"] == "booked") | (before["matched_by"] == BY_DAY) & (before["status"] == "in_a_sum")
        ]
        is_dated = before["status"].isin(ARRIVED).sum() == len(dated) and len(pd.unique(dated["date"])) > 1
        if not is_dated:
            until = (until.replace(day=1) + dt.timedelta(days=31)).replace(day=1) - dt.timedelta(days=1)
        if self._last is None or self._last <= until:
            yield f"it must have postings after {until}: wait, export the ledger again, then verify again"
        elif self._first >= first:
            yield f"it begins on {self._first}: export the ledger from before {first}, then verify again"
        if gaps := sorted(set(rows["date"].dt.strftime("%Y-%m")) - self._months):
            yield f"it has no posting of {', '.join(gaps)}: export the ledger again"

    def _zero(self, rows: pd.DataFrame) -> Iterator[_Verdict]:
        """Yield a refusal of a batch of which a group sums up to zero: a sum with it is the same as one without it."""
        if (_in_groups(rows, *GROUPS).groupby("group")["amount"].sum() == 0).any():
            yield _not_decided("some of its entries sum up to zero, so no sum shows whether it has them")

    def _unexplained(self, rows: pd.DataFrame, match: _Match) -> list[int]:
        """Return the row numbers of postings that no exported entry explains, from some time before the batch on."""
        row_numbers = self._open.index[~self._open.index.isin(match.explained)]
        first = rows["date"].min()
        if pd.notna(first):
            row_numbers = row_numbers[self._open.loc[row_numbers, "date"] >= first - EARLIER]
        return list(row_numbers)

    def _fits(self, rows: pd.DataFrame, match: _Match) -> list[int]:
        """Return unexplained postings that may hold the batch: on its accounts any, on others by the sum."""
        amounts = set(rows["amount"])
        for parts in _in_groups(rows, *GROUPS).groupby("group")["amount"].agg(list):
            debit, credit = sum(part for part in parts if part > 0), sum(part for part in parts if part < 0)
            if len(parts) > 1:
                amounts |= {sign * amount for amount in (debit + credit, debit, credit) for sign in (1, -1)} - {0}
        unexplained = self._open.loc[self._unexplained(rows, match)]
        is_there = unexplained["account_code"].str.strip().isin(_accounts(rows)) | unexplained["amount"].isin(amounts)
        fitting = set(unexplained.index[is_there])
        for number in ("voucher_id", "document_number"):
            if number in unexplained:
                for columns in ([number, "date"], [number, "date", unexplained["amount"] < 0]):
                    sums = unexplained.groupby(columns)["amount"].transform("sum")
                    fitting |= set(unexplained.index[sums.isin(amounts).fillna(value=False)])
        return sorted(fitting)

    def _posting(self, row_number: int) -> str:
        """Return a posting in one line."""
        row: Any = self._ledger.loc[row_number].dropna().to_dict()
        money = money_of(row["amount"], row.get("currency"))
        return ", ".join([f"{row['date']:%Y-%m-%d}", account_of(row), money, posting_of(row)])

    def _vouchers(self, rows: pd.DataFrame) -> str:
        """Return where the postings of entries are, by the first of voucher, document and line that the ledger has."""
        booked = self._ledger.loc[sorted({int(row_number) for row_number in rows["booked_line"]})]
        for name, noun in (("voucher_id", "vouchers"), ("document_number", "documents"), ("line", "lines")):
            values = booked[name].dropna().astype(str).str.split().str.join(" ") if name in booked else ()
            there = list(dict.fromkeys(filter(None, values)))
            if there:
                return f"{noun} {first_of(there, SHOWN)}"
        return "postings without voucher, document and line"


class _Match:
    """A match by the row numbers of the postings in the ledger."""

    def __init__(self, match: LedgerMatch) -> None:
        self.entries = match.entries
        postings = match.postings.astype({"line": int})
        self._entry_of = postings.set_index("line")["entry_id"].dropna()
        self.explained = set(postings.loc[postings["status"].isin(ARRIVED), "line"])
        self.arrived = set(self.entries.loc[self.entries["status"].isin(ARRIVED), "entry_id"])

    def row_numbers_of(self, rows: pd.DataFrame) -> list[int]:
        """Return all postings that some entries were found in."""
        firsts = self._entry_of.loc[rows["booked_line"].dropna().astype(int)]
        return sorted(self._entry_of.index[self._entry_of.isin(firsts)])


def _accounts(rows: pd.DataFrame) -> list[str]:
    return list(rows["account_code"].dropna().str.strip().unique()) if "account_code" in rows else []


def _in_groups(rows: pd.DataFrame, *groups: Sequence[str]) -> pd.DataFrame:
    """Return the group and amount of each entry in each kind of group, without entries that lack a column of it."""
    values = {
        "batch": rows["batch_id"],
        "account": rows["account_code"].str.strip(),
        "date": rows["date"].dt.strftime("%Y-%m-%d"),
        "month": rows["date"].dt.strftime("%Y-%m"),
        "currency": rows["currency"].fillna(""),
        "amount": rows["amount"],
    }
    if "document_number" in rows:
        values["document"] = rows["document_number"].str.strip().str.lower().replace("", None)
    known = pd.DataFrame(values)
    parts = []
    for names in groups:
        if {*names} <= {*known}:
            part = known[[*names, "currency", "amount"]].dropna()
            keys = [(names, *key) for *key, _ in part.itertuples(index=False)]
            parts.append(part[["amount"]].assign(group=pd.Series(keys, part.index, "object")))
    return pd.concat(parts)
