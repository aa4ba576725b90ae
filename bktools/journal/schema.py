"""The tables and rules of a journal, once for both kinds of database; `rendering` writes them as SQL of each.

All text here is built from constants: no SQL injection.
"""

from __future__ import annotations

from dataclasses import dataclass

from bktools.frames.schema import ENTRY_DATA

# PLANNED   submitted and not sent yet
# SENDING   its request is being sent, or was when the process was killed
# ACCEPTED  the service created the job; whether the job completed is unknown
# REJECTED  the service refused it; nothing was booked
# UNKNOWN   the request may have arrived; a person must look
# RELEASED  a person found that nothing was booked, or a later plan replaced it before it was sent
BATCH_STATES = ("PLANNED", "SENDING", "ACCEPTED", "REJECTED", "UNKNOWN", "RELEASED")

# States whose entries no other batch may take.
LIVE_STATES = ("PLANNED", "SENDING", "ACCEPTED", "UNKNOWN")

# The states that follow a state.
TRANSITIONS = {
    # The sent log may know of a sending that a restored backup does not: UNKNOWN.
    "PLANNED": ("SENDING", "RELEASED", "UNKNOWN"),
    "SENDING": ("PLANNED", "ACCEPTED", "REJECTED", "UNKNOWN"),
    "UNKNOWN": ("ACCEPTED", "RELEASED"),
    "REJECTED": ("PLANNED",),
    "RELEASED": ("PLANNED",),
}

ACCOUNT_STATES = ("SENDING", "CREATED", "MATCHED", "EXISTS", "REJECTED", "UNKNOWN", "IMPORTED")


def _words(states: tuple[str, ...]) -> str:
    return ", ".join(f"'{state}'" for state in states)


_PAIRS = ", ".join(f"('{before}', '{after}')" for before in TRANSITIONS for after in TRANSITIONS[before])

# The data of an entry when it was sent or held back, in a person's terms.
_FACTS = ",\n".join(f"    {name} TEXT" for name in ENTRY_DATA)

# The version of these tables; `bktools.journal.migrations` brings an older journal to it.
SCHEMA_VERSION = 1

TABLES = f"""
-- The journal's random identity, `schema_version`, and the release that made these tables.
CREATE TABLE about (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);

CREATE TABLE accounts (
    company_id TEXT NOT NULL,
    external_id TEXT NOT NULL CHECK (length(external_id) BETWEEN 1 AND 255),
    state TEXT NOT NULL CHECK (state IN ({_words(ACCOUNT_STATES)})),
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
    state TEXT NOT NULL CHECK (state IN ({_words(BATCH_STATES)})),
    -- What brought it to this state, and the facts of that.
    code TEXT NOT NULL CHECK (code <> ''),
    facts TEXT NOT NULL CHECK (json_valid(facts)),
    entries INTEGER NOT NULL CHECK (entries > 0),
    body BLOB NOT NULL,
    body_sha256 TEXT NOT NULL,
    plan_id TEXT NOT NULL,
    job_id TEXT,
    job TEXT,
    planned_at TEXT NOT NULL,
    sent_at TEXT,
    settled_at TEXT,
    -- The person who settled or withdrew it.
    settled_by TEXT,
    -- Who wrote this state: the login, the identity of the machine's sent log, and the number of the process.
    changed_at TEXT NOT NULL,
    login TEXT,
    machine TEXT,
    process INTEGER,
    CHECK (job_id IS NOT NULL OR settled_by IS NOT NULL OR state <> 'ACCEPTED')
);
-- A job answers for one batch.
CREATE UNIQUE INDEX one_batch_a_job ON batches (job_id) WHERE job_id IS NOT NULL;
-- After a restored backup several batches of a company may be in doubt. No batch is sent meanwhile (a rule
-- below).
CREATE UNIQUE INDEX one_sending ON batches (company_id) WHERE state = 'SENDING';
CREATE INDEX batches_of_company ON batches (company_id, state);

-- The same UUID is the same text: in capitals it would be another entry to the index below.
CREATE TABLE batch_entries (
    batch_id TEXT NOT NULL REFERENCES batches (batch_id),
    entry_id TEXT NOT NULL CHECK (entry_id = lower(entry_id)),
    live INTEGER NOT NULL CHECK (live IN (0, 1)),
    PRIMARY KEY (batch_id, entry_id)
) WITHOUT ROWID;
CREATE INDEX batches_of_entry ON batch_entries (entry_id);
-- An entry is in one live batch, never two: it cannot be booked twice.
CREATE UNIQUE INDEX one_live_batch ON batch_entries (entry_id) WHERE live = 1;

CREATE TABLE transitions (
    before TEXT NOT NULL, after TEXT NOT NULL, PRIMARY KEY (before, after)) WITHOUT ROWID;
INSERT INTO transitions VALUES {_PAIRS};

CREATE TABLE events (
    event_id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    code TEXT NOT NULL CHECK (code <> ''),
    -- What the batch, the account or the period is afterwards.
    state TEXT,
    company_id TEXT,
    period TEXT CHECK (period IS NULL OR period GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]'),
    batch_id TEXT,
    -- The person who says so; null where a process wrote what happened.
    person TEXT CHECK (trim(person) <> ''),
    login TEXT,
    machine TEXT,
    process INTEGER,
    facts TEXT NOT NULL CHECK (json_valid(facts)),
    -- A file has no users; a database has.
    database_user TEXT
);
CREATE INDEX events_of_batch ON events (batch_id, event_id);
CREATE INDEX events_of_code ON events (code, company_id, period);

-- Digests over the events, each with the one before: they reveal an old or changed copy.
CREATE TABLE chain (event_id INTEGER PRIMARY KEY NOT NULL REFERENCES events (event_id), digest TEXT NOT NULL);

-- The data of each entry in a person's terms when its batch was claimed.
-- A claim is the event `entries_kept` that was written with the rows; it has their digest. A batch that is
-- claimed again with other data gets another claim, and the newest one counts.
CREATE TABLE entry_data (
    batch_id TEXT NOT NULL,
    claim INTEGER NOT NULL REFERENCES events (event_id),
    entry_id TEXT NOT NULL,
    -- The number of a line of a split entry, from 1; 0 for any other entry.
    split_line INTEGER NOT NULL,
{_FACTS},
    period TEXT CHECK (period IS NULL OR period GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]'),
    PRIMARY KEY (batch_id, claim, entry_id, split_line),
    FOREIGN KEY (batch_id, entry_id) REFERENCES batch_entries (batch_id, entry_id)
) WITHOUT ROWID;

-- The entries that a close (the event `close_applied`) held back.
CREATE TABLE held_back (
    close INTEGER NOT NULL REFERENCES events (event_id),
    place INTEGER NOT NULL,
    entry_id TEXT,
    split_line INTEGER NOT NULL,
    reason TEXT NOT NULL,
    message TEXT,
{_FACTS},
    PRIMARY KEY (close, place)
) WITHOUT ROWID;

-- Months that a person closed or opened again.
CREATE VIEW periods AS
SELECT company_id, period, state, at, person, facts, event_id FROM events WHERE event_id IN (
    SELECT max(event_id) FROM events
    WHERE code IN ('period_closed', 'period_opened') GROUP BY company_id, period);
"""

_IS_LIVE = f"CASE WHEN NEW.state IN ({_words(LIVE_STATES)}) THEN 1 ELSE 0 END"


@dataclass(frozen=True)
class Rule:
    """A condition without which a row is not written, and why."""

    # The trigger.
    name: str
    table: str
    # INSERT, UPDATE or DELETE.
    event: str
    message: str
    # SQL over NEW and OLD, in words that both databases have; unknown is not fulfilled.
    requires: str
    # SQL of the rows that it is about.
    when: str = "1 = 1"


_CHANGES = "NEW.state <> OLD.state"
_BEGINS = "NEW.state = 'SENDING' AND OLD.state <> 'SENDING'"
_MOVED = "the history was moved to a database"

RULES = (
    # REPLACE of SQLite would delete the row that is there, without a trigger that sees it.
    Rule(
        "batches_are_not_replaced",
        "batches",
        "INSERT",
        "a batch is not replaced",
        "NOT EXISTS (SELECT 1 FROM batches WHERE batch_id = NEW.batch_id)",
    ),
    Rule("batches_begin_planned", "batches", "INSERT", "a batch begins as PLANNED", "NEW.state = 'PLANNED'"),
    Rule(
        "accepted_is_final",
        "batches",
        "UPDATE",
        "what was accepted stays as it is",
        "OLD.state <> 'ACCEPTED'",
    ),
    Rule(
        "batches_keep_their_body",
        "batches",
        "UPDATE",
        "what a batch is cannot be changed",
        "(NEW.batch_id, NEW.company_id, NEW.entries, NEW.body, NEW.body_sha256) = "
        "(OLD.batch_id, OLD.company_id, OLD.entries, OLD.body, OLD.body_sha256)",
    ),
    Rule(
        "batches_follow_transitions",
        "batches",
        "UPDATE",
        "a batch does not change between these states",
        "EXISTS (SELECT 1 FROM transitions WHERE before = OLD.state AND after = NEW.state)",
        when=_CHANGES,
    ),
    Rule(
        "doubt_is_settled_by_a_person",
        "batches",
        "UPDATE",
        "what is in doubt is settled by a person with evidence",
        "trim(NEW.settled_by) <> '' AND trim(json_extract(NEW.facts, '$.evidence')) <> ''",
        when=f"OLD.state = 'UNKNOWN' AND {_CHANGES}",
    ),
    Rule(
        "batches_are_sent_whole",
        "batches",
        "UPDATE",
        "the entries of the batch are not all its own",
        "NEW.entries = (SELECT count(*) FROM batch_entries WHERE batch_id = NEW.batch_id AND live = 1)",
        when=_BEGINS,
    ),
    Rule(
        "batches_wait_for_their_company",
        "batches",
        "UPDATE",
        "another batch of the company is on its way or in doubt",
        """NOT EXISTS (
            SELECT 1 FROM batches
            WHERE company_id = NEW.company_id AND batch_id <> NEW.batch_id
                AND state IN ('SENDING', 'UNKNOWN'))""",
        when=_BEGINS,
    ),
    Rule(
        "closed_periods_receive_nothing",
        "batches",
        "UPDATE",
        "the period of an entry is closed",
        """NOT EXISTS (
            SELECT 1 FROM entry_data AS data
            JOIN periods ON periods.period = data.period AND periods.company_id = NEW.company_id
            WHERE periods.state = 'CLOSED' AND data.batch_id = NEW.batch_id AND data.claim = (
                SELECT max(event_id) FROM events
                WHERE batch_id = NEW.batch_id AND code IN ('entries_kept', 'entries_not_kept')))""",
        when=_BEGINS,
    ),
    Rule(
        "batch_entries_are_claimed_once",
        "batch_entries",
        "INSERT",
        "the entry is in another batch",
        """EXISTS (SELECT 1 FROM batches WHERE batch_id = NEW.batch_id AND state = 'PLANNED') AND NOT EXISTS (
            SELECT 1 FROM batch_entries
            WHERE entry_id = NEW.entry_id AND (live = 1 OR batch_id = NEW.batch_id))""",
    ),
    Rule(
        "batch_entries_stay_as_they_are",
        "batch_entries",
        "UPDATE",
        "the entries of a batch cannot be changed",
        "(NEW.batch_id, NEW.entry_id) = (OLD.batch_id, OLD.entry_id)",
    ),
    Rule(
        "batch_entries_live_with_their_batch",
        "batch_entries",
        "UPDATE",
        "an entry is live as long as its batch is",
        f"NEW.live = (SELECT {_IS_LIVE.replace('NEW.', '')} FROM batches WHERE batch_id = NEW.batch_id)",
    ),
    Rule(
        "events_are_not_replaced",
        "events",
        "INSERT",
        "events are only ever added",
        "NOT EXISTS (SELECT 1 FROM events WHERE event_id = NEW.event_id)",
    ),
    Rule(
        "chain_grows",
        "chain",
        "INSERT",
        "the chain only grows",
        "NEW.event_id > coalesce((SELECT max(event_id) FROM chain), 0)",
    ),
    # The chain holds the event of a claim as soon as its transaction has ended.
    Rule(
        "data_is_written_with_its_claim",
        "entry_data",
        "INSERT",
        "the data of entries is written when their batch is claimed",
        """NOT EXISTS (SELECT 1 FROM chain WHERE event_id >= NEW.claim)
        AND NOT EXISTS (
            SELECT 1 FROM entry_data
            WHERE batch_id = NEW.batch_id AND claim = NEW.claim AND entry_id = NEW.entry_id
                AND split_line = NEW.split_line)
        AND EXISTS (SELECT 1 FROM events
            WHERE event_id = NEW.claim AND code = 'entries_kept' AND batch_id = NEW.batch_id)
        AND EXISTS (SELECT 1 FROM batches WHERE batch_id = NEW.batch_id AND state = 'PLANNED')""",
    ),
    Rule(
        "held_back_is_written_with_its_close",
        "held_back",
        "INSERT",
        "the entries held back are written with their close",
        """NOT EXISTS (SELECT 1 FROM chain WHERE event_id >= NEW.close)
        AND NOT EXISTS (SELECT 1 FROM held_back WHERE close = NEW.close AND place = NEW.place)
        AND EXISTS (SELECT 1 FROM events WHERE event_id = NEW.close AND code = 'close_applied')""",
    ),
    Rule(
        "words_have_a_name",
        "events",
        "INSERT",
        "a person puts the name to this",
        "trim(NEW.person) <> ''",
        when="""NEW.code IN ('close_applied', 'restore_confirmed', 'restore_waived', 'verified',
            'exported_elsewhere', 'exported_elsewhere_undone', 'not_booked')""",
    ),
    Rule(
        "words_have_evidence",
        "events",
        "INSERT",
        "a person names the evidence for this",
        "trim(json_extract(NEW.facts, '$.evidence')) <> ''",
        when="NEW.code IN ('restore_waived', 'exported_elsewhere', 'exported_elsewhere_undone', "
        "'not_booked')",
    ),
    Rule(
        "periods_change_by_a_person",
        "events",
        "INSERT",
        "a person closes an open period, or opens a closed one with a reason",
        """trim(NEW.person) <> '' AND NEW.company_id IS NOT NULL AND NEW.period IS NOT NULL
        AND (NEW.code, NEW.state) IN (('period_closed', 'CLOSED'), ('period_opened', 'OPEN'))
        AND (NEW.state = 'CLOSED' OR trim(coalesce(json_extract(NEW.facts, '$.reason'), '')) <> '')
        AND NEW.state <> coalesce((
            SELECT state FROM periods WHERE company_id = NEW.company_id AND period = NEW.period), 'OPEN')""",
        when="NEW.code IN ('period_closed', 'period_opened')",
    ),
    # A file whose history was moved to a database is closed.
    Rule(
        "moved_journals_receive_nothing",
        "events",
        "INSERT",
        _MOVED,
        "NOT EXISTS (SELECT 1 FROM about WHERE name = 'moved_to')",
    ),
    Rule("moved_journals_stay_so", "about", "UPDATE", _MOVED, "OLD.name <> 'moved_to'"),
    Rule("moved_journals_stay_moved", "about", "DELETE", _MOVED, "OLD.name <> 'moved_to'"),
)

# Statements that no row ever passes, by table: why, and which.
NEVER = {
    "batches": ("the journal forgets nothing", ("DELETE",)),
    "batch_entries": ("the journal forgets nothing", ("DELETE",)),
    "events": ("events are only ever added", ("DELETE", "UPDATE")),
    "chain": ("the chain only grows", ("DELETE", "UPDATE")),
    "entry_data": ("the data of entries is only ever added", ("DELETE", "UPDATE")),
    "held_back": ("the entries held back are only ever added", ("DELETE", "UPDATE")),
    "transitions": ("the rules of the journal stay", ("DELETE", "UPDATE", "INSERT")),
}

_TELLS = """INSERT INTO events (at, code, state, company_id, batch_id, person, login, machine, process, facts)
        VALUES (NEW.changed_at, NEW.code, NEW.state, NEW.company_id, NEW.batch_id, NEW.settled_by, NEW.login,
            NEW.machine, NEW.process, NEW.facts);"""

# Each change of a batch writes its event and frees or takes its entries, in the same transaction, also for
# SQL typed by hand. By the name of the trigger: the statement before it, a condition, and SQL.
EFFECTS = {
    "batches_tell_their_beginning": ("INSERT", "1 = 1", _TELLS),
    "batches_tell_their_changes": ("UPDATE", _CHANGES, _TELLS),
    "batches_take_and_free_their_entries": (
        "UPDATE",
        _CHANGES,
        f"UPDATE batch_entries SET live = {_IS_LIVE} WHERE batch_id = NEW.batch_id AND live <> {_IS_LIVE};",
    ),
}
