"""Periods: what each month's close exported and held back, and whether a person closed the month.

Everything here is events of the journal and rows that are written with them, so it is only ever added.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.connection import service_or_default
from bktools.contract import rules
from bktools.errors import ArgumentError, JournalError
from bktools.frames.schema import BOOKED, COUNT, ENTRY_DATA, INSTANT, MAYBE_SENT, PERIODS, TEXT, Month
from bktools.frames.sums import summed
from bktools.frames.tables import split_lines, texts_of
from bktools.journal.clock import now
from bktools.journal.database import Row
from bktools.journal.export_jobs import history_of
from bktools.journal.journal import Journal
from bktools.journal.records import Event, dumped
from bktools.journal.sentences import refusal
from bktools.journal.statements import APPLIED, record, verifications_of
from bktools.journal.tables import frame_of, opened, table_of, with_words
from bktools.journal.writable import WritableJournal
from bktools.journal.writing import open_for_writing
from bktools.service import Service
from bktools.wording import Sentence

OPEN, CLOSED = "OPEN", "CLOSED"
# The event of a change of state.
CHANGED = {CLOSED: "period_closed", OPEN: "period_opened"}

# What a close keeps of an entry that it did not send: held back, or in the books already.
HELD_BACK = ("entry_id", "split_line", "reason", "message", *ENTRY_DATA)
HELD = pa.schema(
    {"period": TEXT}
    | dict.fromkeys(HELD_BACK, TEXT)
    | {"split_line": COUNT, **ENTRY_DATA, "held_at": INSTANT}
    | {"outcome": TEXT, "resolved_period": TEXT, "resolved_at": INSTANT, "resolved_job_id": TEXT}
)
ELSEWHERE = pa.schema({"entry_id": TEXT, "split_line": COUNT, **ENTRY_DATA})
CLOSES = pa.schema({"at": INSTANT, "prepared_by": TEXT, "approved_by": TEXT, "plan_id": TEXT})
EVENTS = pa.schema(
    dict.fromkeys(("code", "state", "batch_id", "at", "message", "done_by", "facts"), TEXT) | {"at": INSTANT}
)
# Parts of a month that are counted and added by currency.
PARTS = ("exported", "in_doubt", "in_books", "held_back", "resolved", "open")
TOTALS = pa.schema(
    [("currency", TEXT)]
    + [
        (f"{part}{suffix}", kind)
        for part in PARTS
        for suffix, kind in (("", COUNT), ("_amount", ENTRY_DATA["amount"]))
    ]
)

# Batches that can still become an export of a period: of it, or of an entry without one.
_UNFINISHED = """
    SELECT batch_id, state FROM batches
    WHERE company_id = $1 AND state IN ('PLANNED', 'SENDING', 'UNKNOWN') AND EXISTS (
        SELECT 1 FROM entry_data AS data
        WHERE data.batch_id = batches.batch_id AND coalesce(data.period, $2) = $2)
"""
_CHANGES = """
    SELECT period, state, person AS changed_by, at AS changed_at, json_extract(facts, '$.reason') AS reason
    FROM periods WHERE company_id = $1
"""
_EVENTS = """
    SELECT code, state, batch_id, at, facts, person, login, machine, process FROM events
    WHERE (batch_id IS NULL AND company_id = $1 AND period = $2)
        OR batch_id IN (
            SELECT DISTINCT batch_id FROM entry_data JOIN batches USING (batch_id)
            WHERE batches.company_id = $1 AND entry_data.period = $2)
    ORDER BY event_id
"""


def load_periods(company: str | None = None, *, service: Service | None = None) -> pd.DataFrame:
    """Return the months of a company, with their state and what was exported and held back, from the journal.

    Parameters
    ----------
    company : str, optional
        UUID or short name of a company. Default: all companies in the journal.
    service : Service, optional
        Default: the configured one. Only its journal is used; nothing is sent.

    Returns
    -------
    DataFrame
        One row per month and currency, oldest first: company_id, period, state (OPEN, CLOSED), currency; the
        number and the exact amount of entries exported, in doubt (their batch's outcome is unknown), in the
        books already (in_books), held_back by the last close of the month, and of those open today;
        prepared_by, approved_by (until reopened) and applied_at (UTC) of the last close; changed_by,
        changed_at (UTC) and reason of the last change of the state; verified_by, verified_at (UTC),
        verified_against (the ledger) and verified_result (JSON) of the last verification, and unverified: the
        number of entries that were sent after it. Amounts of currencies are never added.

    Raises
    ------
    JournalError, StorageError
        When the journal cannot be read.

    Notes
    -----
    An entry belongs to the month of the close that sent it; one sent outside of a close, to the month of its
    date. One that was held back belongs to the first month whose last close held it back. Export jobs:
    interface, section 4.2.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     len(bktools.load_periods(service=service))
    0
    """
    service = service_or_default(service)
    with opened(company, service) as (journal, company_id):
        sql = """SELECT company_id FROM batches UNION SELECT company_id FROM events
            WHERE period IS NOT NULL AND company_id IS NOT NULL ORDER BY 1"""
        companies = [company_id] if company_id else [row["company_id"] for row in journal.rows(sql)]
        table = table_of([_months_of(journal, company) for company in companies], PERIODS)
    return frame_of(table, "periods", service)


def _months_of(journal: Journal, company_id: str) -> list[Row]:
    sent = sent_entries(journal, company_id)
    totals = totals_of(sent, held_back(journal, company_id, sent))
    changes = {row["period"]: row for row in journal.rows(_CHANGES, company_id)}
    closes = {row["period"]: row for row in closes_of(journal, company_id)}
    verified = {str(event.period): event for event in verifications_of(journal, company_id)}
    unverified = summed(sent_after(sent, verified), "period", "currency").to_dicts()
    counts = {(row["period"], row["currency"]): row["entries"] for row in unverified}
    months = {*changes, *closes, *verified, *(row["period"] for row in totals if row["period"])}
    rows: list[Row] = []
    for month in sorted(months):
        last = closes.get(month, {})
        about = {"company_id": company_id, "period": month, "state": OPEN, **changes.get(month, {})}
        about |= {"applied_at": last.get("at"), "prepared_by": last.get("prepared_by")}
        is_reopened = about["state"] == OPEN and about.get("changed_at", "") > last.get("at", "")
        approved_by = None if is_reopened else last.get("approved_by")
        about |= {"approved_by": approved_by, **_verification(verified.get(month))}
        of_month = [sums for sums in totals if sums["period"] == month]
        if month in verified:
            of_month = [row | {"unverified": counts.get((month, row["currency"]), 0)} for row in of_month]
        rows += [about | sums for sums in of_month] or [about]
    return rows


def sent_after(sent: pa.Table, verified: Mapping[str, Event]) -> pa.Table:
    """Return the entries that were sent after the last verification of their month."""
    is_after = pa.chunked_array([pa.repeat(False, len(sent))])
    for month, event in verified.items():
        is_later = pc.greater(sent["sent_at"], pa.scalar(dt.datetime.fromisoformat(event.at), INSTANT))
        is_after = pc.or_kleene(is_after, pc.and_kleene(pc.equal(sent["period"], month), is_later))
    return sent.filter(is_after)


def _verification(event: Event | None) -> dict[str, Any]:
    """Return who verified a month, when, against which ledger and with what result, as far as known."""
    if event is None:
        return {}
    about = {"verified_by": event.person, "verified_at": event.at}
    facts = {"verified_against": event.facts["ledger"].get("name")}
    return about | facts | {"verified_result": dumped(event.facts["result"])}


def close_period(
    month: Month,
    *,
    by: str,
    company: str | None = None,
    reason: str | None = None,
    service: Service | None = None,
) -> None:
    """Close a month: nothing can be sent into it any more.

    Parameters
    ----------
    month : str, Period, date or datetime
        As 2026-10.
    by : str
        Name of the person who closes it; kept permanently.
    company : str, optional
        UUID or short name of the company; the configured one by default.
    reason : str, optional
        Why; kept permanently.
    service : Service, optional
        Default: the configured one. Only its journal is written; nothing is sent.

    Raises
    ------
    ArgumentError
        When the month is no month or has not begun, or nobody is named.
    JournalError
        When it is closed already, or a batch of it is not sent or has an unknown outcome.

    Notes
    -----
    The service knows no periods (interface, section 4.2): this is a rule of the journal.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     bktools.close_period("2026-10", by="Grace", service=service)
    ...     bktools.load_periods(service=service)["state"].to_list()
    ['CLOSED']
    """
    require_begun(rules.month("month", month), now().astimezone())
    _change(CLOSED, month, by, company, reason, service)


def require_begun(month: str, today: dt.datetime) -> None:
    """Refuse a month that has not begun, by the calendar of this machine."""
    if month > f"{today:%Y-%m}":
        raise ArgumentError("month", Sentence("rule.month_not_begun", today=today), month)


def reopen_period(
    month: Month, *, by: str, reason: str, company: str | None = None, service: Service | None = None
) -> None:
    """Open a closed month again.

    Parameters
    ----------
    month : str, Period, date or datetime
        As 2026-10.
    by : str
        Name of the person who opens it; kept permanently.
    reason : str
        Why; kept permanently.
    company : str, optional
        UUID or short name of the company; the configured one by default.
    service : Service, optional
        Default: the configured one. Only its journal is written; nothing is sent.

    Raises
    ------
    ArgumentError
        When the month is no month, or the person or the reason is missing.
    JournalError
        When it is not closed.

    Notes
    -----
    The service knows no periods (interface, section 4.2): this is a rule of the journal.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     bktools.close_period("2026-10", by="Grace", service=service)
    ...     bktools.reopen_period("2026-10", by="Grace", reason="a late invoice", service=service)
    ...     bktools.load_periods(service=service)["reason"].to_list()
    ['a late invoice']
    """
    rules.reason("reason", reason)
    _change(OPEN, month, by, company, reason, service)


def _change(
    state: str, month: Month, by: str, company: str | None, reason: str | None, service: Service | None
) -> None:
    period, by = rules.month("month", month), rules.a_name("by", by)
    reason = None if reason is None else rules.reason("reason", reason)
    settings = service_or_default(service).settings
    company_id = rules.company_of(settings, company)
    with open_for_writing(settings) as journal:
        _set_state(journal, company_id, period, state, reason, by)


def state_of(journal: Journal, company_id: str, month: str) -> tuple[str, str | None]:
    """Return OPEN or CLOSED, and the person who changed it last; None where nobody did."""
    sql = "SELECT state, person FROM periods WHERE company_id = $1 AND period = $2"
    row = journal.row(sql, company_id, month)
    return (OPEN, None) if row is None else (str(row["state"]), str(row["person"]))


def record_close(
    journal: WritableJournal,
    company_id: str,
    month: str,
    *,
    plan_id: str,
    prepared_by: str,
    approved_by: str | None,
    held_back: pa.Table,
) -> None:
    """Write a close and the entries that it held back: id, split_line, reason, message and their data."""
    values = (texts_of(held_back, name) for name in HELD_BACK[2:])
    rows = list(zip(texts_of(held_back, "id"), split_lines(held_back).to_pylist(), *values, strict=True))
    facts = {"plan_id": plan_id, "prepared_by": prepared_by, "approved_by": approved_by, "held_back": rows}
    record(journal, APPLIED, company_id=company_id, period=month, person=prepared_by, facts=facts)


def approve(journal: WritableJournal, company_id: str, month: str, *, by: str) -> str:
    """Close the period of a close that was just recorded; return why it stays open, otherwise ""."""
    try:
        _set_state(journal, company_id, month, CLOSED, None, by)
    except JournalError as error:
        return str(error)
    return ""


def _set_state(
    journal: WritableJournal, company_id: str, month: str, state: str, reason: str | None, by: str
) -> None:
    """Close or open a period; refuse to close it while an export of it may still change."""
    # Under the lock of the company none of its batches changes.
    with journal.recording(company_id) as connection:
        before, _ = state_of(journal, company_id, month)
        if before == state:
            raise refusal("period_has_state", period=month, company=company_id, state=state)
        if state == CLOSED and (batch := journal.row(_UNFINISHED, company_id, month)):
            code = "unsent" if batch["state"] == "PLANNED" else "in_doubt"
            outcome = ("released",) if batch["state"] == "PLANNED" else ()
            command = journal.resolve_command(batch["batch_id"], company_id, *outcome)
            about = {"period": month, "company": company_id, "command": command}
            raise refusal(f"period_has_batch_{code}", **batch, **about)
        about = {"state": state, "company_id": company_id, "period": month, "person": by}
        journal.record(connection, CHANGED[state], facts={"reason": reason} if reason else {}, **about)


def totals_of(sent: pa.Table, held: pa.Table) -> list[dict[str, Any]]:
    """Return a row per month and currency: number and exact amount, as text, of each of PARTS."""
    booked, held = booked_and_held(held)
    is_open, is_accepted = pc.equal(held["outcome"], "open"), pc.equal(sent["state"], "ACCEPTED")
    parts = {
        "exported": sent.filter(is_accepted),
        "in_doubt": sent.filter(pc.invert(is_accepted)),
        "in_books": booked,
        "held_back": held,
        "resolved": held.filter(pc.invert(is_open)),
        "open": held.filter(is_open),
    }
    totals: dict[tuple[Any, Any], dict[str, Any]] = {}
    for name, table in parts.items():
        for row in summed(table, "period", "currency").to_dicts():
            about = {"period": row["period"], "currency": row["currency"], **dict.fromkeys(PARTS, 0)}
            total = totals.setdefault((row["period"], row["currency"]), about)
            # What adds up to nothing has an amount, too.
            amount = None if row["amount"] is None else f"{row['amount']:f}"
            total |= {name: row["entries"], f"{name}_amount": amount}
    return sorted(totals.values(), key=lambda row: (row["currency"] is None, row["currency"] or ""))


def booked_and_held(waiting: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return the entries that the ledger had already, and those that closes held back."""
    is_booked = pc.is_in(waiting["reason"], pa.array(BOOKED, TEXT))
    return waiting.filter(is_booked), waiting.filter(pc.invert(is_booked))


def sent_entries(journal: Journal, company_id: str, prepared: Mapping[str, str] | None = None) -> pa.Table:
    """Return the entries of a company that were sent or may have been.

    `sent_by` is the person who prepared the close, or the process that sent outside of a close. `prepared`
    has the person of a plan whose close is not recorded yet.
    """
    history = history_of(journal, "sent", company_id)
    is_live = pc.is_in(history["state"], pa.array(MAYBE_SENT, TEXT))
    sent = history.filter(pc.and_(is_live, pc.equal(history["company_id"], company_id)))
    persons = {row["plan_id"]: row["prepared_by"] for row in closes_of(journal, company_id)} | dict(
        prepared or {}
    )
    pairs = zip(sent["plan_id"].to_pylist(), sent["sender"].to_pylist(), strict=True)
    names = pa.array([persons.get(plan, sender) for plan, sender in pairs], TEXT)
    return sent.drop_columns(["sender", "plan_id"]).append_column("sent_by", names)


def held_back(journal: Journal, company_id: str, sent: pa.Table, month: str | None = None) -> pa.Table:
    """Return the entries that the last close of a month held back, each in one month, and their outcome.

    An entry belongs to the first month whose last close held it back: a later month does not change an
    earlier one. An entry without an ID cannot be followed: it stays open. `sent` are the company's sent
    entries.
    """
    last_closes = {str(close["period"]): close for close in closes_of(journal, company_id)}
    rows: dict[Any, dict[str, Any]] = {}
    numbers_of_equals: Counter[Any] = Counter()
    for row in _held_in(last_closes[month] for month in sorted(last_closes)):
        key: Any = (row["entry_id"], row["split_line"])
        if not row["entry_id"]:
            data = tuple(row[name] for name in ENTRY_DATA)
            numbers_of_equals[row["held_at"], data] += 1
            key = (data, numbers_of_equals[row["held_at"], data])
        rows.setdefault(key, {**row, "outcome": "open"})
    wanted = [row for row in rows.values() if month in {None, row["period"]}]
    ids = pa.array({row["entry_id"] for row in wanted}, TEXT)
    accepted = sent.filter(pc.and_(pc.equal(sent["state"], "ACCEPTED"), pc.is_in(sent["entry_id"], ids)))
    jobs = {
        row["entry_id"]: row
        for row in accepted.select(["entry_id", "period", "sent_at", "job_id"]).to_pylist()
    }
    for row in wanted:
        if job := jobs.get(row["entry_id"]):
            row |= {"outcome": "resolved", "resolved_period": job["period"], "resolved_job_id": job["job_id"]}
            row["resolved_at"] = job["sent_at"] and job["sent_at"].isoformat()
    return table_of([wanted], HELD)


def held_in_closes(journal: Journal, company_id: str) -> pa.Table:
    """Return the entries that the last close of each month held back, or had in its books, by month."""
    last_closes = {str(close["period"]): close for close in closes_of(journal, company_id)}
    return table_of([[*_held_in(last_closes[month] for month in sorted(last_closes))]], HELD)


def entries_met(journal: Journal, company_id: str) -> set[str]:
    """Return the IDs of a company's entries that were sent, or that an applied close held back."""
    held = {row["entry_id"] for row in _held_in(closes_of(journal, company_id))}
    return held | {*sent_entries(journal, company_id)["entry_id"].to_pylist()}


def exported_elsewhere(journal: Journal, company_id: str) -> pa.Table:
    """Return the entries of a company that were exported elsewhere, with what is known of them."""
    elsewhere = journal.exported_elsewhere(company_id)
    return table_of([[{**entry, "split_line": 0} for entry in elsewhere.values()]], ELSEWHERE)


def _held_in(closes: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """Yield the entries that closes held back, each with the month and the time of its close."""
    for close in closes:
        about = {"period": close["period"], "held_at": close["at"]}
        for line in close.get("held_back", ()):
            yield about | dict(zip(HELD_BACK, line, strict=True))


def closes_of(journal: Journal, company_id: str, month: str | None = None) -> list[dict[str, Any]]:
    """Return the closes of a period or of all, oldest first, with plan, persons and what they held back."""
    events = journal.events(APPLIED, company_id=company_id, period=month)
    return [{"period": event.period, "at": event.at, **event.facts} for event in events]


def events_of(journal: Journal, company_id: str, month: str) -> pa.Table:
    """Return every event of a period and of the batches that hold entries of it, oldest first."""
    return table_of([[with_words(row) for row in journal.rows(_EVENTS, company_id, month)]], EVENTS)
