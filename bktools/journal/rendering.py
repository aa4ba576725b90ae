"""Writes the tables and rules of a journal as SQL of SQLite and of PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass

from bktools.journal.schema import EFFECTS, NEVER, RULES, TABLES

SCHEMA = "bktools"

# The key of the advisory lock that every write to a database holds.
WRITE_LOCK = int.from_bytes(b"bktools\0")

# Words of SQLite that PostgreSQL says in another way. Its text is compared byte by byte, as in SQLite.
_IN_POSTGRES = {
    "INTEGER PRIMARY KEY AUTOINCREMENT": "BIGINT PRIMARY KEY",
    "INTEGER PRIMARY KEY": "BIGINT PRIMARY KEY",
    "INTEGER NOT NULL REFERENCES events": "BIGINT NOT NULL REFERENCES events",
    "process INTEGER": "process BIGINT",
    " WITHOUT ROWID": "",
    "BLOB": "BYTEA",
    "GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]'": "~ '^[0-9]{4}-[01][0-9]$'",
    " TEXT": ' TEXT COLLATE "C"',
}

# Functions that SQLite has by the same names.
_FUNCTIONS = """
CREATE FUNCTION json_extract(document TEXT, path TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE STRICT
AS $$ SELECT document::json ->> substr(path, 3) $$;
CREATE FUNCTION json_valid(document TEXT) RETURNS boolean LANGUAGE sql IMMUTABLE
AS $$ SELECT document::json IS NOT NULL $$;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE check_violation USING MESSAGE = TG_ARGV[0]; END $$;
"""

# Two statements at once could each miss the other's row. After the lock, a query sees what is committed.
_ONE_AT_A_TIME = f"PERFORM pg_advisory_xact_lock({WRITE_LOCK});"
_NUMBERED = """NEW.event_id := coalesce((SELECT max(event_id) FROM events), 0) + 1;
NEW.database_user := session_user;"""


def _rules_in_sqlite() -> str:
    """Return the SQL that creates the rules of a journal in a file."""
    sql = []
    for rule in RULES:
        when = f"WHEN {rule.when} AND NOT coalesce(({rule.requires}), 0)"
        sql.append(
            f"CREATE TRIGGER {rule.name} BEFORE {rule.event} ON {rule.table} {when}\n{_abort(rule.message)}"
        )
    for table, (message, events) in NEVER.items():
        refusal = f"ON {table}\n{_abort(message)}"
        sql += [f"CREATE TRIGGER {table}_refuse_{event.lower()} BEFORE {event} {refusal}" for event in events]
    for name, (event, when, statement) in EFFECTS.items():
        sql.append(f"CREATE TRIGGER {name} AFTER {event} ON batches WHEN {when}\nBEGIN {statement} END;")
    return "\n".join(sql)


def _abort(message: str) -> str:
    return f"BEGIN SELECT RAISE(ABORT, '{message}'); END;"


def _tables_in_postgres() -> str:
    """Return the SQL that creates the tables of a journal in a database."""
    tables = TABLES
    for ours, theirs in _IN_POSTGRES.items():
        tables = tables.replace(ours, theirs)
    return f"{_FUNCTIONS}\n{tables}"


def _rules_in_postgres() -> str:
    """Return the SQL that creates the rules of a journal in a database."""
    sql = []
    # Triggers of a table run in the order of their names.
    for table, event, more in (
        ("events", "INSERT", _NUMBERED),
        ("chain", "INSERT", ""),
        ("batches", "INSERT OR UPDATE", ""),
        ("batch_entries", "INSERT", ""),
    ):
        sql.append(
            _trigger(
                f"a_first_alone_{table}", f"BEFORE {event} ON {table} FOR EACH ROW", _ONE_AT_A_TIME, more
            )
        )
    for rule in RULES:
        is_kept = f"IF {rule.when} AND NOT coalesce(({rule.requires}), false) THEN"
        refusal = f"RAISE check_violation USING MESSAGE = '{rule.message}'; END IF;"
        row = "OLD" if rule.event == "DELETE" else "NEW"
        when = f"BEFORE {rule.event} ON {rule.table} FOR EACH ROW"
        sql.append(_trigger(rule.name, when, is_kept, refusal, row=row))
    for table, (message, events) in NEVER.items():
        for event in (*events, "TRUNCATE"):
            each = "STATEMENT" if event == "TRUNCATE" else "ROW"
            when = f"BEFORE {event} ON {table} FOR EACH {each}"
            sql.append(
                f"CREATE TRIGGER {table}_refuse_{event.lower()} {when} EXECUTE FUNCTION refuse('{message}');"
            )
    for name, (event, when, statement) in EFFECTS.items():
        sql.append(_trigger(name, f"AFTER {event} ON batches FOR EACH ROW WHEN ({when})", statement))
    return "\n".join(sql)


def _trigger(name: str, when: str, *statements: str, row: str = "NEW") -> str:
    """Return a trigger and its function, which finds the journal's tables whatever the search path is."""
    body = "\n".join((*statements, f"RETURN {row};"))
    return (
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql SET search_path = {SCHEMA}, pg_temp "
        f"AS $$\nBEGIN\n{body}\nEND $$;\nCREATE TRIGGER {name} {when} EXECUTE FUNCTION {name}();"
    )


@dataclass(frozen=True)
class Rendering:
    """The SQL that creates a journal in one kind of database: its tables, and then their rules."""

    tables: str
    rules: str


SQLITE = Rendering(TABLES, _rules_in_sqlite())
POSTGRES = Rendering(_tables_in_postgres(), _rules_in_postgres())
