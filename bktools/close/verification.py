"""A verification: what was exported, compared with the ERP's ledger; batches in doubt; what moved since."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.errors import ArgumentError
from bktools.findings.check import INFO
from bktools.frames.names import with_names
from bktools.frames.schema import COMPARED, MAYBE_SENT
from bktools.frames.sums import Sum, money_of, total
from bktools.frames.tables import in_memory, texts_of
from bktools.journal.export_jobs import history_of
from bktools.journal.records import Event
from bktools.journal.statements import record_verification, verifications_of
from bktools.journal.tables import frame_of
from bktools.journal.unknown_outcomes import sendings_in_doubt
from bktools.journal.writing import open_for_writing, open_up_to_date
from bktools.ledger import LedgerMatch
from bktools.ledger.exported import months_of, moved, of_other_months, remembered, with_file
from bktools.ledger.findings import ORDERED, USUAL
from bktools.ledger.match import match_ledger
from bktools.ledger.settlements import Sending, Settlement, settlements
from bktools.ledger.verdict import ARRIVED, Reason, Status
from bktools.service import Service
from bktools.wording import Sentence, Words, numbers, words

# A difference that was recorded is the same while these are; of its facts the amounts.
SAME, AMOUNTS = ("check", "about"), ("booked", "booked_amount", "difference")
Same = tuple[str | None, ...]


@dataclass(frozen=True, eq=False)
class Verification:
    """What a verification shows: the match, the batches in doubt, and whose ledger it is.

    `company`, `environment` and `ledger` are names for people; `months` the months that were compared, and
    `moved` what moved in the ledger since the last verification, and `remarks` what the ledger shows of its
    habits and what was not compared, in sentences. `has_arrived` is whether each
    exported entry is proven to be in the ledger, and `changed` the IDs of entries that changed since their
    export.
    """

    match: LedgerMatch
    settlements: Sequence[Settlement]
    company: str
    environment: str
    ledger: str
    months: str
    verified_at: dt.datetime
    moved: Sequence[str] = ()
    remarks: Sequence[str] = ()
    has_arrived: bool = False
    changed: Collection[str] = ()

    @property
    def words(self) -> Words:
        """The language of the match."""
        return self.match.words

    @property
    def title(self) -> str:
        """Months and company: the head of every page."""
        return " \N{MIDDLE DOT} ".join([self.words("verification.title", months=self.months), self.company])

    def corrected(self, *, by_word: bool = False) -> list[dict[str, str]]:
        """Return the changed entries that are booked as they are now: the compared facts of each line.

        What cannot be compared with the ledger is booked where a person's word says it.
        """
        entries, statuses = self.match.entries, (*ARRIVED, *((Status.NOT_COMPARABLE,) if by_word else ()))
        is_changed = entries["entry_id"].str.lower().isin([*self.changed])
        has_arrived = entries["status"].isin([status.code for status in statuses])
        table, names = in_memory(entries[is_changed & has_arrived]), ("entry_id", "split_line", *COMPARED)
        rows = zip(*(texts_of(table, name) for name in names), strict=True)
        facts = (zip(names, row, strict=True) for row in rows)
        return [{name: value for name, value in row if value is not None} for row in facts]

    @property
    def differences(self) -> pd.DataFrame:
        """The findings without what is usual: not in the ledger yet, or in another month."""
        is_usual = self.match.findings["reason"].isin([Reason.NOT_COVERED, *USUAL])
        return self.match.findings[~is_usual]

    def table(self, name: str) -> pa.Table:
        """Return a table of the match by the name of its sheet."""
        frames = {"matched": self.match.entries, "totals": self.match.totals}
        frame: pd.DataFrame = frames[name] if name in frames else getattr(self.match, name)
        return in_memory(frame.drop(columns=["facts"], errors="ignore"), name)


def verify(
    service: Service,
    company: str,
    postings: pd.DataFrame,
    *,
    month: str | None = None,
    entries: pd.DataFrame | None = None,
    tables: Mapping[str, pd.DataFrame] | None = None,
    explained: Sequence[str] = (),
) -> Verification:
    """Compare the exported entries of a company with its ledger; nothing is sent or recorded.

    Parameters
    ----------
    service : Service
        The connected service, whose journal has what was exported.
    company : str
        UUID of the company.
    postings : DataFrame
        The general ledger, as `bktools.read_general_ledger` returns it.
    month : str, optional
        The month that is shown, such as 2026-10; by default those of the ledger. All entries are compared,
        because a sum may hold entries of several months.
    entries : DataFrame, optional
        The file of the entries, with what the journal lacks of them, and what changed since their export.
    tables : mapping of DataFrames, optional
        Categories, employees and accounts, for the names and codes of `entries`.
    explained : sequence of str
        Vouchers that a person looked up and that hold none of the entries.
    """
    with open_up_to_date(service.settings) as journal:
        history, doubts = history_of(journal, "entries", company), sendings_in_doubt(journal, company)
        verified = verifications_of(journal, company, month) if month else []
    exported = frame_of(history, "export jobs", service)
    sent = exported = exported[exported["state"].isin(MAYBE_SENT)]
    changed = set[str]()
    if entries is not None:
        exported, changed = with_file(sent, with_names(in_memory(entries), **(tables or {})))
    elif len(exported) and exported["amount"].isna().all():
        raise ArgumentError("entries", Sentence("rule.entries_of_journal"))
    texts, settings, span = words(), service.settings, months_of(postings)
    options: dict[str, Any] = {"currency": settings.currency, "explained": explained}
    match = match_ledger(exported, postings, period=month or span, **options)
    sendings = {
        batch: Sending(*sending)
        for batch, sending in doubts.items()
        if month is None or batch in {*match.entries["batch_id"]}
    }
    match = _at_rest(match, _known(verified))
    match = replace(match, unchecked=(*of_other_months(exported, postings, month, texts), *match.unchecked))
    return Verification(
        match=match,
        settlements=settlements(exported, postings, sendings, **options),
        company=settings.title_of(company),
        environment=texts("report.sandbox") if settings.is_sandbox else settings.environment,
        ledger=Path(str(postings.attrs["bktools"]["source"])).name,
        months=_months(month, span, texts),
        verified_at=dt.datetime.now(dt.UTC),
        moved=_moved(verified[-1], postings, texts) if verified else [],
        changed=changed,
        remarks=[*match.remarks, *_changed(match.entries, sent, changed, texts)],
        has_arrived=match.has_arrived and (len(match.entries) > 0 or exported.empty),
    )


def record(
    service: Service,
    company: str,
    month: str,
    verification: Verification,
    postings: pd.DataFrame,
    *,
    by: str,
    reason: str | None,
) -> list[str]:
    """Record in the journal that a month was verified; its remaining differences keep their reason.

    Return the changed entries that the reason alone shows to be booked as they are now, in a few words each.
    """
    match, remaining = verification.match, verification.differences.to_dict("records")
    with open_up_to_date(service.settings) as journal:
        known = _known(verifications_of(journal, company, month))
    facts_of = [_of_finding(row) for row in remaining]
    reasons = [reason or known.get(tuple(facts.values()), (None, ""))[1] for facts in facts_of]
    if not all(reasons):
        raise ArgumentError("reason", Sentence("rule.reason_of_differences", count=reasons.count("")))
    days = postings["date"].dropna()
    span = {"begins": f"{days.min():%Y-%m-%d}", "ends": f"{days.max():%Y-%m-%d}"} if len(days) else {}
    differences = [{**own, "reason": why} for own, why in zip(facts_of, reasons, strict=True)]
    about = {"name": verification.ledger, "sha256": postings.attrs["bktools"]["sha256"], **span}
    facts: dict[str, Any] = {"result": match.counts, "differences": differences}
    facts |= {
        "entries": remembered(postings, month),
        "corrected": verification.corrected(by_word=bool(reason)),
    }
    with open_for_writing(service.settings) as journal:
        record_verification(journal, company, month, by=by, ledger=about, **facts)
    proven, texts = verification.corrected(), words()
    return [
        texts.entry(*(row.get(name) for name in ("date", "supplier", "amount", "currency")))
        for row in facts["corrected"]
        if row not in proven
    ]


def _changed(entries: pd.DataFrame, sent: pd.DataFrame, changed: Collection[str], texts: Words) -> list[str]:
    """Return by what changed entries, which are compared as they are now, differ from the export."""
    ids = entries.loc[entries["entry_id"].str.lower().isin([*changed]), "entry_id"]
    sides = (in_memory(rows[rows["entry_id"].isin(ids)], "entries") for rows in (entries, sent))
    now, before = (Sum({}, money_of(rows)).amounts for rows in sides)
    differences = {name: total([now.get(name), -before.get(name, 0)]) for name in {**before, **now}}
    return [texts("verification.changed", count=ids.nunique(), amounts=differences)] if len(ids) else []


def _of_finding(row: Mapping[Any, Any]) -> dict[str, str | None]:
    """Return the facts of a finding by which it is the same again, also where lines of the ledger moved."""
    facts = json.loads(row["facts"])
    return {**{name: row[name] for name in SAME}, **{name: facts.get(name) for name in AMOUNTS}}


def _known(verified: Sequence[Event]) -> dict[Same, tuple[Event, str]]:
    """Return the differences that were recorded, each with the last event and the reason of the person."""
    rows = ((event, row) for event in verified for row in event.facts["differences"])
    return {tuple(map(row.get, (*SAME, *AMOUNTS))): (event, row["reason"]) for event, row in rows}


def _at_rest(match: LedgerMatch, known: Mapping[Same, tuple[Event, str]]) -> LedgerMatch:
    """Return a match whose findings that a person has recorded, and that did not change, order nothing.

    An order stays: one reason for all that is left does not correct the books.
    """
    rows = match.findings.to_dict("records")
    for row in rows if known else ():
        if (same := tuple(_of_finding(row).values())) in known:
            event, reason = known[same]
            is_order = row["reason"] in ORDERED
            key = "verification.known_order" if is_order else "verification.known"
            to_do = match.words(key, at=event.at, by=event.person, reason=reason, to_do=row["to_do"])
            row.update(to_do=to_do, severity=row["severity"] if is_order else INFO)
    changed = {name: [row[name] for row in rows] for name in ("severity", "to_do")}
    return replace(match, findings=match.findings.assign(**changed))


def _moved(last: Event, postings: pd.DataFrame, texts: Words) -> list[str]:
    """Return what moved in a month's ledger since it was verified last: a head, and a line an account."""
    changes = moved(last.facts["entries"], remembered(postings, str(last.period)))
    head = texts(f"verification.{'moved_since' if changes else 'nothing_moved'}", at=last.at, by=last.person)
    amounts = ({**change, "amount": texts.amount(change["amount"], None)} for change in changes)
    return [head, *(texts("verification.moved", **change) for change in amounts)]


def _months(month: str | None, span: tuple[str, str] | None, texts: Words) -> str:
    """Return the months that are shown, in words."""
    first, last = (month, month) if month else span or ("", "")
    if not first:
        return texts("verification.all_months")
    one = numbers.month(first, texts.language)
    return one if first == last else texts("report.picture.to", first=first, last=last)
