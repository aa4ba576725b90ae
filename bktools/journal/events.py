"""Events that a person writes: a code, a subject, an author and facts. Adds one; reads some by code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bktools.journal.journal import Journal
from bktools.journal.records import loaded
from bktools.journal.writable import WritableJournal

_COLUMNS = "event_id, at, code, state, company_id, period, batch_id, person, login, machine, process, facts"


@dataclass(frozen=True)
class Event:
    """An event as it was written; its facts are JSON values by name."""

    event_id: int
    # ISO 8601, UTC.
    at: str
    code: str
    # The state of the batch, the account or the period afterwards.
    state: str | None
    company_id: str | None
    period: str | None
    batch_id: str | None
    person: str | None
    login: str | None
    machine: str | None
    process: int | None
    facts: Mapping[str, Any]


def record(
    journal: WritableJournal,
    code: str,
    *,
    company_id: str,
    person: str,
    period: str | None = None,
    facts: Mapping[str, Any],
) -> int:
    """Add a person's event about a company, under its lock; return its number."""
    with journal.recording(company_id) as connection:
        return journal.record(
            connection, code, company_id=company_id, period=period, person=person, facts=facts
        )


def events_by_code(
    journal: Journal, code: str, *, company_id: str | None = None, period: str | None = None
) -> list[Event]:
    """Return the events of a code, oldest first, of a company and a period or of all."""
    sql = f"""
        SELECT {_COLUMNS} FROM events
        WHERE code = $3 AND (CAST($1 AS TEXT) IS NULL OR company_id = $1)
            AND (CAST($2 AS TEXT) IS NULL OR period = $2)
        ORDER BY event_id
    """
    rows = journal.rows(sql, company_id, period, code)
    return [Event(**{**row, "facts": loaded(row["facts"])}) for row in rows]
