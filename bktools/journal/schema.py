"""The tables and rules of a journal: one text for a SQLite file and for a PostgreSQL database.

`BLOB` and the two functions of JSON are SQLite's; `postgres` creates them under these names first.
All text here is built from constants: no SQL injection.
"""

from __future__ import annotations

from dataclasses import dataclass

from bktools.frames.schema import BATCH_STATES, ENTRY_DATA

# States whose entries no other batch may take; a newer plan releases PLANNED batches first.
LIVE_STATES = ("PLANNED", "SENDING", "ACCEPTED", "UNKNOWN")
# States of a request that may be on its way: one batch of a company, and no other one begins meanwhile.
OPEN_STATES = ("SENDING", "UNKNOWN")

# The states that follow a state. A batch that a person released, or that waits to be sent again, is ACCEPTED
# or UNKNOWN when a job of its own attempt turns up.
TRANSITIONS = {
    "PLANNED": ("SENDING", "RELEASED", "ACCEPTED", "UNKNOWN"),
    "SENDING": ("PLANNED", "ACCEPTED", "REJECTED", "UNKNOWN"),
    "UNKNOWN": ("PLANNED", "ACCEPTED", "REJECTED", "RELEASED"),
    "REJECTED": ("PLANNED",),
    "RELEASED": ("PLANNED", "ACCEPTED", "UNKNOWN"),
}

ACCOUNT_STATES = ("SENDING", "CREATED", "MATCHED", "EXISTS", "REJECTED", "UNKNOWN", "IMPORTED")

# Events that are a person's word, with name and evidence.
EVENTS_WITH_EVIDENCE = (
    "exported_elsewhere",
    "exported_elsewhere_undone",
    "not_booked",
    "restored",
    "ticked_off",
)


def texts(values: tuple[str, ...]) -> str:
    """Return values as a list of SQL."""
    return ", ".join(f"'{value}'" for value in values)


# The data of an entry when it was sent or held back, in a person's terms.
_ENTRY_DATA = ",\n".join(f"    {name} TEXT" for name in ENTRY_DATA)

# The version of these tables. A journal of another version is refused.
VERSION = "2"

TABLES = f"""
-- The journal's random identity, `schema_version`, and where its history was moved.
CREATE TABLE about (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);

CREATE TABLE accounts (
    company_id TEXT NOT NULL,
    external_id TEXT NOT NULL CHECK (length(external_id) BETWEEN 1 AND 255),
    state TEXT NOT NULL CHECK (state IN ({texts(ACCOUNT_STATES)})),
    account_id TEXT,
    name TEXT,
    code TEXT,
    tax_code_external_id TEXT,
    archived INTEGER CHECK (archived IN (0, 1)),
    metadata TEXT,
    facts TEXT NOT NULL CHECK (json_valid(facts)),
    updated_at TEXT NOT NULL,
    PRIMARY KEY (company_id, external_id),
    CHECK (account_id IS NOT NULL OR state NOT IN ('CREATED', 'MATCHED', 'IMPORTED'))
);

CREATE TABLE batches (
    batch_id TEXT PRIMARY KEY NOT NULL CHECK (batch_id <> ''),
    company_id TEXT NOT NULL CHECK (company_id = lower(company_id)),
    state TEXT NOT NULL CHECK (state IN ({texts(BATCH_STATES)})),
    -- What brought it to this state, and the facts of that.
    code TEXT NOT NULL CHECK (code <> ''),
    facts TEXT NOT NULL CHECK (json_valid(facts)),
    entries INTEGER NOT NULL CHECK (entries > 0),
    body BLOB NOT NULL,
    body_sha256 TEXT NOT NULL,
    plan_id TEXT NOT NULL,
    -- The token of the newest attempt to send it: an outcome of another one changes nothing.
    attempt TEXT,
    job_id TEXT,
    job TEXT,
    planned_at TEXT NOT NULL,
    sent_at TEXT,
    -- When it got its outcome, from an answer or from a person.
    settled_at TEXT,
    -- The person who resolved or withdrew it.
    resolved_by TEXT,
    CHECK (attempt IS NOT NULL OR state NOT IN ({texts(OPEN_STATES)})),
    CHECK (job_id IS NOT NULL OR resolved_by IS NOT NULL OR state <> 'ACCEPTED')
);
-- A job answers for one batch.
CREATE UNIQUE INDEX one_batch_a_job ON batches (job_id) WHERE job_id IS NOT NULL;
-- A company has one request that may be on its way.
CREATE UNIQUE INDEX one_open_batch ON batches (company_id) WHERE state IN ({texts(OPEN_STATES)});
CREATE INDEX batches_of_company ON batches (company_id, state);

-- The same UUID is the same text: in capitals it would be another entry to the index below.
CREATE TABLE batch_entries (
    batch_id TEXT NOT NULL REFERENCES batches (batch_id),
    entry_id TEXT NOT NULL CHECK (entry_id = lower(entry_id)),
    live INTEGER NOT NULL CHECK (live IN (0, 1)),
    PRIMARY KEY (batch_id, entry_id)
);
CREATE INDEX batches_of_entry ON batch_entries (entry_id);
-- An entry is in one live batch, never two: it cannot be booked twice.
CREATE UNIQUE INDEX one_live_batch ON batch_entries (entry_id) WHERE live = 1;

CREATE TABLE events (
    event_id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    code TEXT NOT NULL CHECK (code <> ''),
    -- What the batch, the account or the period is afterwards.
    state TEXT,
    company_id TEXT,
    period TEXT CHECK (length(period) = 7),
    batch_id TEXT,
    attempt TEXT,
    -- The person who says so; null where a process wrote what happened.
    person TEXT CHECK (trim(person) <> ''),
    login TEXT,
    machine TEXT,
    process BIGINT,
    facts TEXT NOT NULL CHECK (json_valid(facts)),
    -- Over the event and the digest before: it reveals an old or changed copy.
    digest TEXT NOT NULL,
    CHECK (person IS NOT NULL AND coalesce(trim(json_extract(facts, '$.evidence')), '') <> ''
        OR code NOT IN ({texts(EVENTS_WITH_EVIDENCE)}))
);
CREATE INDEX events_of_batch ON events (batch_id, event_id);
CREATE INDEX events_of_code ON events (code, company_id, period);

-- The data of each entry in a person's terms when its batch was claimed.
CREATE TABLE entry_data (
    batch_id TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    -- The number of a line of a split entry, from 1; 0 for any other entry.
    split_line INTEGER NOT NULL,
{_ENTRY_DATA},
    period TEXT CHECK (length(period) = 7),
    PRIMARY KEY (batch_id, entry_id, split_line),
    FOREIGN KEY (batch_id, entry_id) REFERENCES batch_entries (batch_id, entry_id)
);

-- Months that a person closed or opened again.
CREATE VIEW periods AS
SELECT company_id, period, state, at, person, facts, event_id FROM events WHERE event_id IN (
    SELECT max(event_id) FROM events
    WHERE code IN ('period_closed', 'period_opened') GROUP BY company_id, period);
"""


@dataclass(frozen=True)
class Rule:
    """A change of a row that is refused, also in SQL typed by hand, and why."""

    # The trigger.
    name: str
    table: str
    # INSERT, UPDATE or DELETE.
    event: str
    message: str
    # SQL over NEW and OLD alone, in words that both databases have.
    refused: str = "true"


_FOLLOWED = tuple(f"{before} to {after}" for before in TRANSITIONS for after in TRANSITIONS[before])
_KEPT = ("batch_id", "company_id", "entries", "body", "body_sha256")
_HAS_EVIDENCE = (
    "coalesce(trim(NEW.resolved_by), '') <> '' "
    "AND coalesce(trim(json_extract(NEW.facts, '$.evidence')), '') <> ''"
)

RULES = (
    Rule("batches_begin_planned", "batches", "INSERT", "a batch begins as PLANNED", "NEW.state <> 'PLANNED'"),
    Rule(
        "batches_keep_their_body",
        "batches",
        "UPDATE",
        "what a batch is cannot be changed",
        " OR ".join(f"NEW.{name} <> OLD.{name}" for name in _KEPT),
    ),
    Rule(
        "batches_follow_transitions",
        "batches",
        "UPDATE",
        "a batch does not change between these states",
        f"NEW.state <> OLD.state AND OLD.state || ' to ' || NEW.state NOT IN ({texts(_FOLLOWED)})",
    ),
    Rule(
        "doubt_is_resolved_with_evidence",
        "batches",
        "UPDATE",
        "a batch in doubt is resolved by a person with evidence, or by the answer of its attempt",
        "OLD.state = 'UNKNOWN' AND (NEW.state = 'RELEASED' OR NEW.state = 'ACCEPTED' AND NEW.job_id IS NULL) "
        f"AND NOT ({_HAS_EVIDENCE})",
    ),
    Rule(
        "batch_entries_stay_as_they_are",
        "batch_entries",
        "UPDATE",
        "the entries of a batch cannot be changed",
        "NEW.batch_id <> OLD.batch_id OR NEW.entry_id <> OLD.entry_id",
    ),
    Rule("batches_stay", "batches", "DELETE", "the journal forgets nothing"),
    Rule("batch_entries_stay", "batch_entries", "DELETE", "the journal forgets nothing"),
    *(
        Rule(f"events_refuse_{event.lower()}", "events", event, "rows of events are only ever added")
        for event in ("UPDATE", "DELETE")
    ),
    Rule("entry_data_stay", "entry_data", "UPDATE", "the data of an entry are replaced as a whole"),
)
