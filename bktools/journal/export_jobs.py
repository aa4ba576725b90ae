"""Loads the history of export jobs, and resolves those whose outcome is unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.connection import service_or_default
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.frames.schema import EXPORT_EVENTS, EXPORT_JOBS, EXPORTED_ENTRIES, TEXT
from bktools.frames.tables import described
from bktools.journal.database import Row
from bktools.journal.entry_data import DATA_COLUMNS
from bktools.journal.journal import MAYBE_BOOKED, NOT_BOOKED, Journal
from bktools.journal.records import loaded, named
from bktools.journal.resolving import resolve
from bktools.journal.sentences import line_of, sentence_of
from bktools.journal.statements import corrections_of
from bktools.journal.tables import frame_of, opened, table_of, with_words
from bktools.journal.unknown_outcomes import how_to_resolve
from bktools.journal.writing import open_for_writing
from bktools.service import Service
from bktools.wording import Sentence

RESOLVED = {"accepted": "ACCEPTED", "released": "RELEASED"}

SENT = pa.schema([*EXPORTED_ENTRIES, pa.field("sender", TEXT), pa.field("plan_id", TEXT)])

# Of one company, and one batch, or of all.
_WANTED = "(CAST($1 AS TEXT) IS NULL OR {0}company_id = $1) AND (CAST($2 AS TEXT) IS NULL OR batch_id = $2)"
_BATCHES = f"""
    SELECT *, json_extract(job, '$.status') AS job_status
    FROM batches WHERE {_WANTED.format("")} ORDER BY planned_at, batch_id
"""
# With the sender of each batch's newest request, by its event.
_ENTRIES = f"""
    SELECT entry_id, batch_id, batches.company_id, batches.state, job_id, sent_at, plan_id,
        senders.login, senders.machine, senders.process,
        coalesce(split_line, 0) AS split_line, {", ".join(f"data.{name}" for name in DATA_COLUMNS)}
    FROM batches JOIN batch_entries USING (batch_id)
    LEFT JOIN (
        SELECT batch_id, login, machine, process FROM events WHERE event_id IN (
            SELECT max(event_id) FROM events WHERE code = 'sending' GROUP BY batch_id)
    ) AS senders USING (batch_id)
    LEFT JOIN entry_data AS data USING (batch_id, entry_id)
    WHERE {_WANTED.format("batches.")}
    ORDER BY planned_at, batch_id, entry_id, split_line
"""
_EVENTS = f"""
    SELECT at, batch_id, company_id, state AS after, code, facts, person, login, machine, process,
        lag(state) OVER (PARTITION BY batch_id ORDER BY event_id) AS before
    FROM events WHERE state IS NOT NULL AND batch_id IS NOT NULL AND {_WANTED.format("")} ORDER BY event_id
"""


def _with_message(row: Row) -> Row:
    return {**row, "message": sentence_of(row["code"], loaded(row["facts"])) or None}


def _with_sender(row: Row) -> Row:
    return {**row, "sender": named(row["login"], row["machine"], row["process"]) or None}


# The query of each kind of rows, what turns one into a row of its table, and the columns of that.
KINDS: dict[str, tuple[str, Callable[[Row], Row], pa.Schema]] = {
    "batches": (_BATCHES, _with_message, EXPORT_JOBS),
    "entries": (_ENTRIES, lambda row: row, EXPORTED_ENTRIES),
    "sent": (_ENTRIES, _with_sender, SENT),
    "events": (_EVENTS, with_words, EXPORT_EVENTS),
}


def load_export_jobs(
    company: str | None = None,
    *,
    entries: bool = False,
    events: bool = False,
    batch: str | None = None,
    service: Service | None = None,
) -> pd.DataFrame:
    """Return the export jobs in the journal, planned or sent. The service cannot list export jobs.

    Parameters
    ----------
    company : str, optional
        UUID or short name of a company. Default: all companies.
    entries : bool
        Return one row per accounting entry instead of one per batch.
    events : bool
        Return one row per event instead of one per batch: each change of state, its author and the evidence.
    batch : str, optional
        Only this batch. Default: all batches.
    service : Service, optional
        Default: the configured one. Only its journal is used; nothing is sent.

    Returns
    -------
    DataFrame
        One row per batch: batch_id, company_id, state (PLANNED, SENDING, ACCEPTED, REJECTED, UNKNOWN,
        RELEASED), entries (count), job_id, job_status (at creation), message, planned_at, sent_at, settled_at
        (UTC). With `entries=True` one row per entry of a batch, and per line of a split entry: entry_id,
        batch_id, company_id, state, job_id, sent_at, split_line (its number, 0 for an entry of one line), and
        what was known of it when it was sent: date, amount (exact), currency, category_id, category_name,
        account_code, account_name, employee_id, employee_name, supplier, description, cost_centre, tax_code,
        period (the month of the close that sent it, or of its date). They are null where they were not
        known. With
        `events=True` one row per event, oldest first: at (UTC), batch_id, company_id, after (the new state),
        done_by (the person who resolved it, or the process), before (the old state; null for a new batch),
        message (the answer, or the evidence). `frame.attrs["bktools"]["journal"]` is the journal's identity:
        a plan composed with this history belongs to that journal.

    Raises
    ------
    ArgumentError
        When both `entries` and `events` are True.
    JournalError, StorageError
        When the batch is not found, or the journal cannot be read.

    Notes
    -----
    ACCEPTED is not completed: a job cannot be read back. Export jobs: interface, sections 2.5 and 4.2.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     len(bktools.load_export_jobs(service=service))
    0
    """
    if entries and events:
        raise ArgumentError("events", Sentence("rule.events_or_entries"))
    service = service_or_default(service)
    batch = None if batch is None else rules.text("batch", batch)
    kind = "entries" if entries else "events" if events else "batches"
    with opened(company, service) as (journal, company_id):
        table = history_of(journal, kind, company_id, batch)
        if batch is not None and not len(table):
            journal.batch(batch)
        return frame_of(table, "export jobs", service, journal=journal.id)


def history_of(
    journal: Journal,
    kind: str,
    company_id: str | None = None,
    batch: str | None = None,
    corrected: Mapping[tuple[str, int], Row] = {},
) -> pa.Table:
    """Return rows of one of KINDS of a journal, of one company or batch or of all.

    The kind "sent" has entries with the process that sent each and its plan; lines that are `corrected` have
    these facts.
    """
    sql, worded, schema = KINDS[kind]

    def row_of(row: Row) -> Row:
        facts = corrected.get((row["entry_id"], row["split_line"])) if corrected else None
        return worded(row) if facts is None else {**worded(row), **facts}

    return table_of(([*map(row_of, rows)] for rows in journal.pieces(sql, company_id, batch)), schema)


def open_questions(
    company: str | None = None, *, batch: str | None = None, service: Service | None = None
) -> list[str]:
    """Return a line for each question that a person must answer, with the command.

    These are the batches of unknown outcome, and those that a late answer contradicts.
    """
    with opened(company, service) as (journal, company_id):
        late = [row for row in journal.late_answers(company_id) if batch in {None, row["batch_id"]}]
        doubts = journal.unknown(company_id, batch)
        return [
            *(_late_answer(journal, row) for row in late),
            *(how_to_resolve(journal, row) for row in doubts),
        ]


def earlier_exports(journal: Journal, company_id: str | None) -> dict[str, Any]:
    """Return what `compose_export_jobs` is given of earlier exports, by the names of its arguments.

    The history is of all companies: an entry that was sent for another one is not sent again. An entry that
    was corrected in the ERP is as it was found there.
    """
    elsewhere, corrected = journal.exported_elsewhere(company_id), corrections_of(journal)
    return {
        "history": described(history_of(journal, "sent", corrected=corrected), {"journal": journal.id}),
        "exported_elsewhere": {entry: known.get("voucher") for entry, known in elsewhere.items()},
        "maybe_booked": journal.entries_of(MAYBE_BOOKED, company_id),
        "not_booked": journal.entries_of(NOT_BOOKED, company_id),
    }


def _late_answer(journal: Journal, row: Row) -> str:
    late = loaded(row["facts"])
    tick = journal.command(f"export tick-off {row['event_id']}", row["company_id"])
    listed = journal.command(f"export status --entries --batch {row['batch_id']}", row["company_id"])
    answer = sentence_of(late["answer"], late["facts"])
    about = {"state": late["state"], "at": row["at"][:19], "answer": answer, "listed": listed}
    return line_of("late_answer", **{**row, **about}, command=tick)


def resolve_export_job(
    batch_id: str,
    outcome: str,
    *,
    evidence: str,
    by: str,
    job_id: str | None = None,
    service: Service | None = None,
) -> None:
    """Record the outcome of an export job that was unknown, after looking it up in the accounting system.

    Parameters
    ----------
    batch_id : str
        The batch, as `load_export_jobs` and the error name it.
    outcome : str
        "accepted": its entries were booked. "released": they were not, and may be exported again. "released"
        also withdraws a PLANNED batch that was never sent.
    evidence : str
        Where you looked and the result, in two words at least; kept permanently.
    by : str
        Name of the person who looked; no placeholder of a printed command.
    job_id : str, optional
        UUID of the job, if you found it.
    service : Service, optional
        Default: the configured one. Only its journal is written; nothing is sent.

    Raises
    ------
    ArgumentError
        When evidence or name is missing, or the outcome is another word.
    JournalError
        When the batch is not found, its outcome is known, the job belongs to another batch, another process
        is sending for its company, or it is to be released on the day of its request.

    Notes
    -----
    The interface has no operation that reads a job (sections 3 and 4.2).

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     bktools.resolve_export_job(
    ...         "0" * 20, "released", evidence="not in the ERP", by="Ada", service=service
    ...     )
    Traceback (most recent call last):
    bktools.errors.JournalError: batch 00000000000000000000 was not found in the journal
    """
    batch_id = rules.text("batch_id", batch_id)
    if rules.text("outcome", outcome) not in RESOLVED:
        raise ArgumentError("outcome", Sentence("rule.one_of", choices=", ".join(RESOLVED)), outcome)
    job = None if job_id is None else rules.uuid_text("job_id", job_id)
    with open_for_writing(service_or_default(service).settings) as journal:
        resolve(journal, batch_id, RESOLVED[outcome], evidence=evidence, by=by, job_id=job)
