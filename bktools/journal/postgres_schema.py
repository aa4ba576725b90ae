"""Tables and constraints of the journal in PostgreSQL: the rules of `schema`, in its language."""

from __future__ import annotations

from bktools.journal import facts
from bktools.journal.schema import ACCOUNT_STATES, BATCH_STATES, LIVE_STATES, TRANSITIONS

SCHEMA = "bktools"

# The key of the advisory lock that every write holds.
WRITE_LOCK = int.from_bytes(b"bktools\0")


def _words(states: tuple[str, ...]) -> str:
    return ", ".join(f"'{state}'" for state in states)


def _facts() -> str:
    return ",\n".join(f"    {name} TEXT" for name in facts.COLUMNS[:-1])


def _refusals(table: str, message: str, *events: str) -> str:
    """Return triggers that refuse some statements on a table, and TRUNCATE."""
    return "".join(
        f"CREATE TRIGGER {table}_refuse_{event.lower()} BEFORE {event} ON {table} FOR EACH "
        f"{'STATEMENT' if event == 'TRUNCATE' else 'ROW'} EXECUTE FUNCTION refuse('{message}');\n"
        for event in (*events, "TRUNCATE")
    )


def _trigger(name: str, when: str, *statements: str, last: str = "RETURN NEW;") -> str:
    """Return a trigger and its function, which finds the journal's own tables whatever the session's search path is."""
    return (
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql SET search_path = {SCHEMA}, pg_temp AS $$\n"
        f"BEGIN\n{chr(10).join((*statements, last))}\nEND $$;\n"
        f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {name}();\n"
    )


def _require(condition: str, message: str, *, when: str = "true") -> str:
    """Return a statement that refuses a change unless a condition is true."""
    return (
        f"IF {when} AND NOT coalesce(({condition}), false) THEN "
        f"RAISE check_violation USING MESSAGE = '{message}'; END IF;"
    )


# Two statements at the same time could each miss the other's row. After the lock, a query sees what was committed.
_ALONE = f"PERFORM pg_advisory_xact_lock({WRITE_LOCK});"

# Built from constants only: no SQL injection.
_TABLES = f"""
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO about VALUES ('id', replace(gen_random_uuid()::varchar, '-', ''));

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
    message TEXT,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (company_id, external_id),
    CHECK (account_id IS NOT NULL OR state NOT IN ('CREATED', 'MATCHED', 'IMPORTED'))
);

CREATE TABLE batches (
    batch_id TEXT PRIMARY KEY CHECK (batch_id <> ''),
    company_id TEXT NOT NULL CHECK (company_id = lower(company_id)),
    state TEXT NOT NULL CHECK (state IN ({_words(BATCH_STATES)})),
    entries INTEGER NOT NULL CHECK (entries > 0),
    body BYTEA NOT NULL,
    body_sha256 TEXT NOT NULL,
    plan_id TEXT NOT NULL,
    job_id TEXT,
    job TEXT,
    message TEXT,
    sender TEXT,
    planned_at TEXT NOT NULL,
    sent_at TEXT,
    settled_at TEXT,
    settled_by TEXT,
    changed_at TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    CHECK (job_id IS NOT NULL OR settled_by IS NOT NULL OR state <> 'ACCEPTED')
);
CREATE UNIQUE INDEX one_batch_a_job ON batches (job_id) WHERE job_id IS NOT NULL;
CREATE UNIQUE INDEX one_sending ON batches (company_id) WHERE state = 'SENDING';
CREATE INDEX batches_of_company ON batches (company_id, state);

CREATE TABLE batch_entries (
    batch_id TEXT NOT NULL REFERENCES batches (batch_id),
    entry_id TEXT NOT NULL CHECK (entry_id = lower(entry_id)),
    live INTEGER NOT NULL CHECK (live IN (0, 1)),
    PRIMARY KEY (batch_id, entry_id)
);
CREATE INDEX batches_of_entry ON batch_entries (entry_id);
CREATE UNIQUE INDEX one_live_batch ON batch_entries (entry_id) WHERE live = 1;

CREATE TABLE transitions (before TEXT NOT NULL, after TEXT NOT NULL, PRIMARY KEY (before, after));
INSERT INTO transitions VALUES {", ".join(f"('{before}', '{after}')" for before, after in TRANSITIONS)};

CREATE TABLE events (
    event_id BIGINT PRIMARY KEY,
    at TEXT NOT NULL,
    subject TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    before TEXT,
    after TEXT NOT NULL,
    message TEXT,
    done_by TEXT NOT NULL,
    database_user TEXT
);
CREATE INDEX events_of_subject ON events (subject, subject_id);

CREATE TABLE chain (event_id BIGINT PRIMARY KEY REFERENCES events (event_id), digest TEXT NOT NULL);

CREATE TABLE addresses (address TEXT PRIMARY KEY, since TEXT NOT NULL, named_by TEXT NOT NULL);

CREATE TABLE other_journals (
    journal_id TEXT PRIMARY KEY,
    relation TEXT NOT NULL CHECK (relation IN ('same', 'other')),
    folder TEXT,
    said_by TEXT NOT NULL CHECK (trim(said_by) <> ''),
    said_at TEXT NOT NULL
);

CREATE TABLE facts (
    batch_id TEXT NOT NULL,
    claim BIGINT NOT NULL REFERENCES events (event_id),
    entry_id TEXT NOT NULL,
    split_line INTEGER NOT NULL,
{_facts()},
    period TEXT CHECK (period ~ '^[0-9]{{4}}-[01][0-9]$'),
    PRIMARY KEY (batch_id, claim, entry_id, split_line),
    FOREIGN KEY (batch_id, entry_id) REFERENCES batch_entries (batch_id, entry_id)
);

CREATE TABLE held_back (
    close BIGINT NOT NULL REFERENCES events (event_id),
    place INTEGER NOT NULL,
    entry_id TEXT,
    split_line INTEGER NOT NULL,
    reason TEXT NOT NULL,
    message TEXT,
{_facts()},
    PRIMARY KEY (close, place)
);

CREATE VIEW periods AS
SELECT DISTINCT ON (subject_id) substr(subject_id, 1, 36) AS company_id, substr(subject_id, 38) AS period,
    after AS state, at, done_by, message, event_id
FROM events WHERE subject = 'period' ORDER BY subject_id, event_id DESC;
"""

_IS_LIVE = f"(NEW.state IN ({_words(LIVE_STATES)}))::int"

_RULES = (
    # SQLite has this function by the same name.
    """CREATE FUNCTION json_extract(document TEXT, path TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE STRICT
    AS $$ SELECT document::json ->> substr(path, 3) $$;
    """,
    """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE check_violation USING MESSAGE = TG_ARGV[0]; END $$;
    """,
    _trigger(
        "events_are_numbered",
        "BEFORE INSERT ON events FOR EACH ROW",
        _ALONE,
        "NEW.event_id := coalesce((SELECT max(event_id) FROM events), 0) + 1;",
        "NEW.database_user := session_user;",
        _require(
            "trim(NEW.done_by) <> '' AND NEW.message::json IS NOT NULL",
            "a close names the person who prepared it",
            when="NEW.subject = 'close'",
        ),
        _require(
            "NEW.after IN ('NOTICED', 'CONFIRMED', 'WAIVED') AND trim(NEW.done_by) <> '' AND NEW.message::json IS NOT NULL",
            "a person confirms a restored database, or waives a machine",
            when="NEW.subject = 'restore'",
        ),
        _require(
            """NEW.after IN ('CLOSED', 'OPEN') AND trim(NEW.done_by) <> ''
            AND (NEW.after = 'CLOSED' OR trim(coalesce(NEW.message, '')) <> '')
            AND NEW.after <> coalesce((
                SELECT after FROM events WHERE subject = 'period' AND subject_id = NEW.subject_id
                ORDER BY event_id DESC LIMIT 1), 'OPEN')""",
            "a person closes an open period, or opens a closed one with a reason",
            when="NEW.subject = 'period'",
        ),
    ),
    _trigger(
        "chain_grows",
        "BEFORE INSERT ON chain FOR EACH ROW",
        _ALONE,
        _require("NEW.event_id > coalesce((SELECT max(event_id) FROM chain), 0)", "the chain only grows"),
    ),
    _trigger(
        "batches_begin_planned",
        "BEFORE INSERT ON batches FOR EACH ROW",
        _ALONE,
        _require("NEW.state = 'PLANNED'", "a batch begins as PLANNED"),
    ),
    _trigger(
        "batches_change",
        "BEFORE UPDATE ON batches FOR EACH ROW",
        _ALONE,
        _require("OLD.state <> 'ACCEPTED'", "what was accepted stays as it is"),
        _require(
            "(NEW.batch_id, NEW.company_id, NEW.entries, NEW.body, NEW.body_sha256) = "
            "(OLD.batch_id, OLD.company_id, OLD.entries, OLD.body, OLD.body_sha256)",
            "what a batch is cannot be changed",
        ),
        "IF NEW.state = OLD.state THEN RETURN NEW; END IF;",
        _require(
            "EXISTS (SELECT 1 FROM transitions WHERE before = OLD.state AND after = NEW.state)",
            "a batch does not change between these states",
        ),
        _require(
            "trim(NEW.settled_by) <> '' AND trim(NEW.message) <> ''",
            "what is in doubt is settled by a person with evidence",
            when="OLD.state = 'UNKNOWN'",
        ),
        "IF NEW.state <> 'SENDING' THEN RETURN NEW; END IF;",
        _require(
            "NEW.entries = (SELECT count(*) FROM batch_entries WHERE batch_id = NEW.batch_id AND live = 1)",
            "the entries of the batch are not all its own",
        ),
        _require(
            """NOT EXISTS (
                SELECT 1 FROM batches
                WHERE company_id = NEW.company_id AND batch_id <> NEW.batch_id AND state IN ('SENDING', 'UNKNOWN'))""",
            "another batch of the company is on its way or in doubt",
        ),
        _require(
            """NOT EXISTS (
                SELECT 1 FROM facts JOIN periods ON periods.period = facts.period AND company_id = NEW.company_id
                WHERE state = 'CLOSED' AND batch_id = NEW.batch_id AND claim = (
                    SELECT max(event_id) FROM events WHERE subject = 'facts' AND subject_id = NEW.batch_id))""",
            "the period of an entry is closed",
        ),
    ),
    _trigger(
        "batches_tell_their_beginning",
        "AFTER INSERT ON batches FOR EACH ROW",
        """INSERT INTO events (at, subject, subject_id, before, after, message, done_by)
        VALUES (NEW.changed_at, 'batch', NEW.batch_id, NULL, NEW.state, NEW.message, NEW.changed_by);""",
    ),
    _trigger(
        "batches_tell_their_changes",
        "AFTER UPDATE ON batches FOR EACH ROW WHEN (OLD.state <> NEW.state)",
        """INSERT INTO events (at, subject, subject_id, before, after, message, done_by)
        VALUES (NEW.changed_at, 'batch', NEW.batch_id, OLD.state, NEW.state, NEW.message, NEW.changed_by);""",
        f"UPDATE batch_entries SET live = {_IS_LIVE} WHERE batch_id = NEW.batch_id AND live <> {_IS_LIVE};",
    ),
    _trigger(
        "batch_entries_are_claimed_once",
        "BEFORE INSERT ON batch_entries FOR EACH ROW",
        _ALONE,
        _require(
            """EXISTS (SELECT 1 FROM batches WHERE batch_id = NEW.batch_id AND state = 'PLANNED')
            AND NOT EXISTS (SELECT 1 FROM batch_entries WHERE entry_id = NEW.entry_id AND live = 1)""",
            "the entry is in another batch",
        ),
    ),
    _trigger(
        "batch_entries_live_with_their_batch",
        "BEFORE UPDATE ON batch_entries FOR EACH ROW",
        _require(
            "(NEW.batch_id, NEW.entry_id) = (OLD.batch_id, OLD.entry_id)", "the entries of a batch cannot be changed"
        ),
        _require(
            f"NEW.live = (SELECT {_IS_LIVE.replace('NEW.', '')} FROM batches WHERE batch_id = NEW.batch_id)",
            "an entry is live as long as its batch is",
        ),
    ),
    _trigger(
        "facts_are_written_with_their_claim",
        "BEFORE INSERT ON facts FOR EACH ROW",
        _require(
            """NOT EXISTS (SELECT 1 FROM chain WHERE event_id >= NEW.claim)
            AND EXISTS (SELECT 1 FROM events WHERE event_id = NEW.claim AND subject = 'facts' AND subject_id = NEW.batch_id)
            AND EXISTS (SELECT 1 FROM batches WHERE batch_id = NEW.batch_id AND state = 'PLANNED')""",
            "facts are written when their batch is claimed",
        ),
    ),
    _trigger(
        "held_back_is_written_with_its_close",
        "BEFORE INSERT ON held_back FOR EACH ROW",
        _require(
            """NOT EXISTS (SELECT 1 FROM chain WHERE event_id >= NEW.close)
            AND EXISTS (SELECT 1 FROM events WHERE event_id = NEW.close AND subject = 'close')""",
            "the entries held back are written with their close",
        ),
    ),
    _refusals("batches", "the journal forgets nothing", "DELETE"),
    _refusals("batch_entries", "the journal forgets nothing", "DELETE"),
    _refusals("events", "events are only ever added", "DELETE", "UPDATE"),
    _refusals("chain", "the chain only grows", "DELETE", "UPDATE"),
    _refusals("facts", "facts are only ever added", "DELETE", "UPDATE"),
    _refusals("held_back", "the entries held back are only ever added", "DELETE", "UPDATE"),
    _refusals("transitions", "the rules of the journal stay", "DELETE", "UPDATE", "INSERT"),
)

# Text is compared byte by byte, as in SQLite.
TABLES = _TABLES.replace(" TEXT", ' TEXT COLLATE "C"') + "".join(_RULES)

# What a member of the team needs, and nothing that changes what happened.
RIGHTS = """\
-- The least rights of a member of the team. Run it as the owner of the journal, in its database.
GRANT CONNECT, TEMPORARY ON DATABASE {database} TO {role};
GRANT USAGE ON SCHEMA bktools TO {role};
GRANT SELECT ON ALL TABLES IN SCHEMA bktools TO {role};
GRANT INSERT ON bktools.events, bktools.chain, bktools.batches, bktools.batch_entries, bktools.facts, bktools.held_back,
    bktools.accounts, bktools.other_journals TO {role};
GRANT UPDATE (state, plan_id, job_id, job, message, sender, planned_at, sent_at, settled_at, settled_by, changed_at,
    changed_by) ON bktools.batches TO {role};
GRANT UPDATE (live) ON bktools.batch_entries TO {role};
GRANT UPDATE, DELETE ON bktools.accounts TO {role};
GRANT UPDATE ON bktools.other_journals TO {role};
"""
