"""Tables and constraints of the journal's file; `postgres_schema` has those of a database."""

from __future__ import annotations

# PLANNED   submitted and not sent yet
# SENDING   its request is being sent, or was when the process was killed
# ACCEPTED  the service created the job; whether the job completed is unknown
# REJECTED  the service refused it; nothing was booked
# UNKNOWN   the request may have arrived; a person must look
# RELEASED  a person found that nothing was booked, or a later plan replaced it before it was sent
BATCH_STATES = ("PLANNED", "SENDING", "ACCEPTED", "REJECTED", "UNKNOWN", "RELEASED")

# States whose entries no other batch may take.
LIVE_STATES = ("PLANNED", "SENDING", "ACCEPTED", "UNKNOWN")

TRANSITIONS = (
    ("PLANNED", "SENDING"),
    ("PLANNED", "RELEASED"),
    # The marks may know of a sending that a restored backup does not.
    ("PLANNED", "UNKNOWN"),
    ("SENDING", "PLANNED"),
    ("SENDING", "ACCEPTED"),
    ("SENDING", "REJECTED"),
    ("SENDING", "UNKNOWN"),
    ("UNKNOWN", "ACCEPTED"),
    ("UNKNOWN", "RELEASED"),
    ("REJECTED", "PLANNED"),
    ("RELEASED", "PLANNED"),
)

ACCOUNT_STATES = ("SENDING", "CREATED", "MATCHED", "EXISTS", "REJECTED", "UNKNOWN", "IMPORTED")


def _words(states: tuple[str, ...]) -> str:
    return ", ".join(f"'{state}'" for state in states)


# Built from constants only: no SQL injection.
TABLES = f"""
-- The journal's random identity, its service, and the format of these tables.
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO about VALUES ('id', lower(hex(randomblob(16))));

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
    batch_id TEXT PRIMARY KEY NOT NULL CHECK (batch_id <> ''),
    company_id TEXT NOT NULL CHECK (company_id = lower(company_id)),
    state TEXT NOT NULL CHECK (state IN ({_words(BATCH_STATES)})),
    entries INTEGER NOT NULL CHECK (entries > 0),
    body BLOB NOT NULL,
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

-- A job answers for one batch.
CREATE UNIQUE INDEX one_batch_a_job ON batches (job_id) WHERE job_id IS NOT NULL;

CREATE INDEX batches_of_company ON batches (company_id, state);

-- After a restored backup several batches of a company may be in doubt. No batch is sent while one is.
CREATE UNIQUE INDEX one_sending ON batches (company_id) WHERE state = 'SENDING';
CREATE TRIGGER batches_wait_for_their_company BEFORE UPDATE OF state ON batches
WHEN NEW.state = 'SENDING' AND EXISTS (
    SELECT 1 FROM batches
    WHERE company_id = NEW.company_id AND batch_id <> NEW.batch_id AND state IN ('SENDING', 'UNKNOWN'))
BEGIN SELECT RAISE(ABORT, 'another batch of the company is on its way or in doubt'); END;

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

CREATE TABLE transitions (before TEXT NOT NULL, after TEXT NOT NULL, PRIMARY KEY (before, after)) WITHOUT ROWID;
INSERT INTO transitions VALUES {", ".join(f"('{before}', '{after}')" for before, after in TRANSITIONS)};

CREATE TRIGGER batches_begin_planned BEFORE INSERT ON batches WHEN NEW.state <> 'PLANNED'
BEGIN SELECT RAISE(ABORT, 'a batch begins as PLANNED'); END;

-- REPLACE would delete what stands there, without a trigger that sees it.
CREATE TRIGGER batches_are_not_replaced BEFORE INSERT ON batches
WHEN EXISTS (SELECT 1 FROM batches WHERE batch_id = NEW.batch_id)
BEGIN SELECT RAISE(ABORT, 'a batch is not replaced'); END;

CREATE TRIGGER batches_are_sent_whole BEFORE UPDATE OF state ON batches
WHEN NEW.state = 'SENDING' AND NEW.entries <> (
    SELECT count(*) FROM batch_entries WHERE batch_id = NEW.batch_id AND live = 1)
BEGIN SELECT RAISE(ABORT, 'the entries of the batch are not all its own'); END;

CREATE TRIGGER doubt_is_settled_by_a_person BEFORE UPDATE OF state ON batches
WHEN OLD.state = 'UNKNOWN' AND (trim(coalesce(NEW.settled_by, '')) = '' OR trim(coalesce(NEW.message, '')) = '')
BEGIN SELECT RAISE(ABORT, 'what is in doubt is settled by a person with evidence'); END;

CREATE TRIGGER batches_follow_transitions BEFORE UPDATE OF state ON batches
WHEN NOT EXISTS (SELECT 1 FROM transitions WHERE before = OLD.state AND after = NEW.state)
BEGIN SELECT RAISE(ABORT, 'a batch does not change between these states'); END;

CREATE TRIGGER batches_keep_their_body BEFORE UPDATE OF batch_id, company_id, entries, body, body_sha256 ON batches
BEGIN SELECT RAISE(ABORT, 'what a batch is cannot be changed'); END;

CREATE TRIGGER accepted_is_final BEFORE UPDATE ON batches WHEN OLD.state = 'ACCEPTED'
BEGIN SELECT RAISE(ABORT, 'what was accepted stays as it is'); END;

CREATE TRIGGER batches_free_their_entries AFTER UPDATE OF state ON batches
WHEN NEW.state NOT IN ({_words(LIVE_STATES)})
BEGIN UPDATE batch_entries SET live = 0 WHERE batch_id = NEW.batch_id; END;

CREATE TRIGGER batches_take_their_entries AFTER UPDATE OF state ON batches
WHEN NEW.state = 'PLANNED'
BEGIN UPDATE batch_entries SET live = 1 WHERE batch_id = NEW.batch_id; END;

CREATE TRIGGER batches_stay BEFORE DELETE ON batches
BEGIN SELECT RAISE(ABORT, 'the journal forgets nothing'); END;

CREATE TRIGGER batch_entries_are_claimed_once BEFORE INSERT ON batch_entries
WHEN EXISTS (SELECT 1 FROM batch_entries WHERE entry_id = NEW.entry_id AND live = 1)
    OR EXISTS (SELECT 1 FROM batch_entries WHERE batch_id = NEW.batch_id AND entry_id = NEW.entry_id)
    OR NOT EXISTS (SELECT 1 FROM batches WHERE batch_id = NEW.batch_id AND state = 'PLANNED')
BEGIN SELECT RAISE(ABORT, 'the entry is in another batch'); END;

CREATE TRIGGER batch_entries_stay_as_they_are BEFORE UPDATE OF batch_id, entry_id ON batch_entries
BEGIN SELECT RAISE(ABORT, 'the entries of a batch cannot be changed'); END;

CREATE TRIGGER batch_entries_live_with_their_batch BEFORE UPDATE OF live ON batch_entries
WHEN NEW.live <> (SELECT state IN ({_words(LIVE_STATES)}) FROM batches WHERE batch_id = NEW.batch_id)
BEGIN SELECT RAISE(ABORT, 'an entry is live as long as its batch is'); END;

CREATE TRIGGER batch_entries_stay BEFORE DELETE ON batch_entries
BEGIN SELECT RAISE(ABORT, 'the journal forgets nothing'); END;

CREATE TABLE events (
    event_id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    subject TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    before TEXT,
    after TEXT NOT NULL,
    message TEXT,
    done_by TEXT NOT NULL,
    -- A file has no users; the history that it is moved to has.
    database_user TEXT
);

CREATE INDEX events_of_subject ON events (subject, subject_id);

-- Whoever changes the state of a batch, the event is in the same transaction.
CREATE TRIGGER batches_tell_their_beginning AFTER INSERT ON batches
BEGIN
    INSERT INTO events (at, subject, subject_id, before, after, message, done_by)
    VALUES (NEW.changed_at, 'batch', NEW.batch_id, NULL, NEW.state, NEW.message, NEW.changed_by);
END;

CREATE TRIGGER batches_tell_their_changes AFTER UPDATE OF state ON batches
BEGIN
    INSERT INTO events (at, subject, subject_id, before, after, message, done_by)
    VALUES (NEW.changed_at, 'batch', NEW.batch_id, OLD.state, NEW.state, NEW.message, NEW.changed_by);
END;

CREATE TRIGGER events_are_not_replaced BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE event_id = NEW.event_id)
BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;

CREATE TRIGGER events_stay BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;

CREATE TRIGGER events_stay_as_they_are BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;

-- Digests over the events, each with the one before: they reveal an old or changed copy.
CREATE TABLE chain (event_id INTEGER PRIMARY KEY NOT NULL REFERENCES events (event_id), digest TEXT NOT NULL);

CREATE TRIGGER chain_is_not_replaced BEFORE INSERT ON chain
WHEN EXISTS (SELECT 1 FROM chain WHERE event_id >= NEW.event_id)
BEGIN SELECT RAISE(ABORT, 'the chain only grows'); END;

CREATE TRIGGER chain_stays BEFORE DELETE ON chain
BEGIN SELECT RAISE(ABORT, 'the chain only grows'); END;

CREATE TRIGGER chain_stays_as_it_is BEFORE UPDATE ON chain
BEGIN SELECT RAISE(ABORT, 'the chain only grows'); END;

-- Addresses this journal is used with. Each but the first was named by a person.
CREATE TABLE addresses (address TEXT PRIMARY KEY NOT NULL, since TEXT NOT NULL, named_by TEXT NOT NULL);

-- What a person said of other journals: the same service, or another one.
CREATE TABLE other_journals (
    journal_id TEXT PRIMARY KEY NOT NULL,
    relation TEXT NOT NULL CHECK (relation IN ('same', 'other')),
    folder TEXT,
    said_by TEXT NOT NULL CHECK (trim(said_by) <> ''),
    said_at TEXT NOT NULL
);

-- The data of each entry in a person's terms when its batch was claimed.
-- A claim is the event of subject 'facts' that was written with the rows; its message is their digest. A batch that is
-- claimed again with other facts gets another claim, and the newest one counts.
CREATE TABLE facts (
    batch_id TEXT NOT NULL,
    claim INTEGER NOT NULL REFERENCES events (event_id),
    entry_id TEXT NOT NULL,
    -- The number of a line of a split entry, from 1; 0 for any other entry.
    split_line INTEGER NOT NULL,
    date TEXT,
    amount TEXT,
    currency TEXT,
    category_id TEXT,
    category_name TEXT,
    account_code TEXT,
    account_name TEXT,
    employee_id TEXT,
    employee_name TEXT,
    supplier TEXT,
    description TEXT,
    tax_code TEXT,
    period TEXT,
    PRIMARY KEY (batch_id, claim, entry_id, split_line),
    FOREIGN KEY (batch_id, entry_id) REFERENCES batch_entries (batch_id, entry_id),
    CHECK (period IS NULL OR period GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]')
) WITHOUT ROWID;

-- The chain holds the event of a claim as soon as its transaction has ended.
CREATE TRIGGER facts_are_written_with_their_claim BEFORE INSERT ON facts
WHEN EXISTS (SELECT 1 FROM chain WHERE event_id >= NEW.claim)
    OR EXISTS (
        SELECT 1 FROM facts WHERE batch_id = NEW.batch_id AND claim = NEW.claim AND entry_id = NEW.entry_id
            AND split_line = NEW.split_line)
    OR NOT EXISTS (
        SELECT 1 FROM events WHERE event_id = NEW.claim AND subject = 'facts' AND subject_id = NEW.batch_id)
    OR NOT EXISTS (SELECT 1 FROM batches WHERE batch_id = NEW.batch_id AND state = 'PLANNED')
BEGIN SELECT RAISE(ABORT, 'facts are written when their batch is claimed'); END;

CREATE TRIGGER facts_stay_as_they_are BEFORE UPDATE ON facts
BEGIN SELECT RAISE(ABORT, 'facts are only ever added'); END;

CREATE TRIGGER facts_stay BEFORE DELETE ON facts
BEGIN SELECT RAISE(ABORT, 'facts are only ever added'); END;

-- Each close with the entries that it held back, and months that a person closes and opens again.
-- The subject of an event of subject 'close' or 'period' is the company, a space and the month.
CREATE TABLE held_back (
    close INTEGER NOT NULL REFERENCES events (event_id),
    place INTEGER NOT NULL,
    entry_id TEXT,
    split_line INTEGER NOT NULL,
    reason TEXT NOT NULL,
    message TEXT,
    date TEXT,
    amount TEXT,
    currency TEXT,
    category_id TEXT,
    category_name TEXT,
    account_code TEXT,
    account_name TEXT,
    employee_id TEXT,
    employee_name TEXT,
    supplier TEXT,
    description TEXT,
    tax_code TEXT,
    PRIMARY KEY (close, place)
) WITHOUT ROWID;

CREATE TRIGGER held_back_is_written_with_its_close BEFORE INSERT ON held_back
WHEN EXISTS (SELECT 1 FROM chain WHERE event_id >= NEW.close)
    OR EXISTS (SELECT 1 FROM held_back WHERE close = NEW.close AND place = NEW.place)
    OR NOT EXISTS (SELECT 1 FROM events WHERE event_id = NEW.close AND subject = 'close')
BEGIN SELECT RAISE(ABORT, 'the entries held back are written with their close'); END;

CREATE TRIGGER held_back_stays_as_it_is BEFORE UPDATE ON held_back
BEGIN SELECT RAISE(ABORT, 'the entries held back are only ever added'); END;

CREATE TRIGGER held_back_stays BEFORE DELETE ON held_back
BEGIN SELECT RAISE(ABORT, 'the entries held back are only ever added'); END;

CREATE TRIGGER closes_have_a_name BEFORE INSERT ON events
WHEN NEW.subject = 'close' AND (trim(NEW.done_by) = '' OR NOT coalesce(json_valid(NEW.message), 0))
BEGIN SELECT RAISE(ABORT, 'a close names the person who prepared it'); END;

CREATE VIEW periods AS
SELECT substr(subject_id, 1, 36) AS company_id, substr(subject_id, 38) AS period, after AS state, at, done_by, message,
    max(event_id) AS event_id
FROM events WHERE subject = 'period' GROUP BY subject_id;

CREATE TRIGGER periods_change_by_a_person BEFORE INSERT ON events
WHEN NEW.subject = 'period' AND (
    NEW.after NOT IN ('CLOSED', 'OPEN')
    OR trim(NEW.done_by) = ''
    OR (NEW.after = 'OPEN' AND trim(coalesce(NEW.message, '')) = '')
    OR NEW.after = coalesce((
        SELECT after FROM events WHERE subject = 'period' AND subject_id = NEW.subject_id
        ORDER BY event_id DESC LIMIT 1), 'OPEN'))
BEGIN SELECT RAISE(ABORT, 'a person closes an open period, or opens a closed one with a reason'); END;

CREATE TRIGGER closed_periods_receive_nothing BEFORE UPDATE OF state ON batches
WHEN NEW.state = 'SENDING' AND EXISTS (
    SELECT 1 FROM facts JOIN periods ON periods.period = facts.period AND periods.company_id = NEW.company_id
    WHERE periods.state = 'CLOSED' AND batch_id = NEW.batch_id AND claim = (
        SELECT max(event_id) FROM events WHERE subject = 'facts' AND subject_id = NEW.batch_id))
BEGIN SELECT RAISE(ABORT, 'the period of an entry is closed'); END;

-- A file whose history was moved to a database is closed.
CREATE TRIGGER moved_journals_receive_nothing BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM about WHERE name = 'moved_to')
BEGIN SELECT RAISE(ABORT, 'the history was moved to a database'); END;

CREATE TRIGGER moved_journals_stay_so BEFORE UPDATE ON about WHEN OLD.name = 'moved_to'
BEGIN SELECT RAISE(ABORT, 'the history was moved to a database'); END;

CREATE TRIGGER moved_journals_stay_moved BEFORE DELETE ON about WHEN OLD.name = 'moved_to'
BEGIN SELECT RAISE(ABORT, 'the history was moved to a database'); END;
"""
