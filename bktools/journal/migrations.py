"""Upgrades the tables of an older journal to the present version in one transaction; refuses newer ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bktools.errors import JournalError, StorageError
from bktools.journal import version_0
from bktools.journal.records import Connection, Records, dumped, now
from bktools.journal.rendering import Rendering
from bktools.journal.schema import SCHEMA_VERSION
from bktools.release import release

# The last commit that reads journals whose tables do not say which version made them.
READS_OLDER_FORMATS = "cdb2426"

_WRITE_ABOUT = "INSERT INTO about VALUES ('schema_version', ?), ('release', ?)"


def create(
    records: Records, connection: Connection, sql: Rendering, journal_id: str, origin: Mapping[str, Any]
) -> None:
    """Create the tables of a new journal, and write their version and whose journal it is."""
    connection.execute(sql.tables)
    connection.execute("INSERT INTO about VALUES ('id', ?)", [journal_id])
    connection.execute(_WRITE_ABOUT, [str(SCHEMA_VERSION), release()])
    connection.execute(sql.rules)
    records.record(connection, "created", facts=origin)
    records.extend_chain()


def version_of(connection: Connection, location: str) -> int:
    """Return the version of a journal's tables; refuse one that this release cannot use."""
    about = {row["name"]: row["value"] for row in connection.execute("SELECT name, value FROM about")}
    if about.get("format") in version_0.FORMATS:
        return 0
    version = int(about.get("schema_version", -1))
    if version == SCHEMA_VERSION:
        return version
    if "schema_version" in about:
        what, needed = (
            f"has version {version}, this release knows versions up to {SCHEMA_VERSION}",
            about.get("release"),
        )
    else:
        what, needed = (
            "is older than version 0",
            about.get("release", f"bktools at commit {READS_OLDER_FORMATS}"),
        )
    raise JournalError(
        f"the journal {location} {what}: nothing was sent or changed; keep it, and install {needed} to use it"
    )


def upgrade(
    records: Records,
    connection: Connection,
    sql: Rendering,
    old: Callable[[str], str],
    origin: Mapping[str, Any],
    **facts: Any,
) -> None:
    """Copy every row of an older journal into new tables, and check the copy. `old` names the old tables.

    Call it in one transaction. `origin` has the environment and the address that the journal is opened for.
    """
    connection.execute(sql.tables)
    version_0.copy(connection, old)
    connection.execute(_WRITE_ABOUT, [str(SCHEMA_VERSION), release()])
    (newest,) = connection.execute("SELECT coalesce(max(event_id), 0) AS number FROM events")
    about = {
        "from": 0,
        "events": newest["number"],
        "sha256": records.digest_of_events(0, newest["number"] + 1),
    }
    address = version_0.address_of(connection, origin["address"], old)
    # Before the rules, because a file that was moved receives no event; its number is given by a rule in a
    # database.
    login, machine, process = records.writer()
    text = dumped(about | {**origin, "address": address} | facts)
    connection.execute(
        "INSERT INTO events (event_id, at, code, login, machine, process, facts) "
        "VALUES (?, ?, 'upgraded', ?, ?, ?, ?)",
        [newest["number"] + 1, now().isoformat(), login, machine, process, text],
    )
    records.extend_chain()
    connection.execute(sql.rules)
    for table, source in (
        ("events", "events"),
        ("batches", "batches"),
        ("batch_entries", "batch_entries"),
        ("entry_data", "facts"),
        ("held_back", "held_back"),
        ("accounts", "accounts"),
        ("chain", "chain"),
    ):
        more = 1 if table in {"events", "chain"} else 0
        (counts,) = connection.execute(
            f"SELECT (SELECT count(*) FROM {table}) AS new, (SELECT count(*) FROM {old(source)}) AS old"
        )
        if counts["new"] != counts["old"] + more:
            raise StorageError(f"the upgrade of {records.location} lost rows of {table}: it was not kept")
    for fault in records.contradictions():
        raise StorageError(
            f"the upgrade of {records.location} does not agree with it: {fault}; it was not kept"
        )
