"""The journal's PostgreSQL database, which a team shares: safe settings, its format, transactions, locks."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from bktools import disk
from bktools.caller import install_command
from bktools.errors import ConfigurationError, JournalBusyError, JournalError, StorageError
from bktools.journal import migrations, version_0
from bktools.journal.records import LOCK_PATIENCE, PATIENCE, Database, Facts, Records, Row, now, this_process
from bktools.journal.rendering import POSTGRES, SCHEMA, WRITE_LOCK
from bktools.journal.schema import SCHEMA_VERSION
from bktools.settings import Secret

if TYPE_CHECKING:
    import psycopg

CONNECT_TIMEOUT = 10  # seconds

# In force for this session, whatever server, database or role say. The server drops a session whose machine
# is gone after a minute, and with it the locks; it keeps one that waits for the answer to a request.
_SESSION = f"""
    SELECT set_config(name, value, false) FROM (VALUES
        ('search_path', '{SCHEMA}, pg_temp'), ('synchronous_commit', current_setting('synchronous_commit')),
        ('lock_timeout', '{PATIENCE:g}s'), ('statement_timeout', '0'), ('idle_session_timeout', '0'),
        ('idle_in_transaction_session_timeout', '0'),
        ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'),
        ('tcp_keepalives_count', '3')) AS safe (name, value)
"""
_ABOUT_SERVER = """
    SELECT pg_backend_pid() AS process, session_user AS name, pg_is_in_recovery() AS is_replica,
        current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync,
        current_setting('full_page_writes') AS full_page_writes,
        current_setting('synchronous_commit') AS commits,
        current_setting('synchronous_standby_names') AS standbys
"""
# Another server, another database of it, a history that branched off after a restore or a failover, or tables
# that were restored in place. What is on the server's disk survives a crash, so its log never ends before
# that again.
_POSITION = f"""
    SELECT concat_ws(' ', (SELECT system_identifier FROM pg_control_system()),
        (SELECT oid FROM pg_database WHERE datname = current_database()),
        substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
        to_regclass('{SCHEMA}.events')::oid) AS database,
        (pg_current_wal_flush_lsn() - '0/0')::bigint AS flushed,
        (pg_current_wal_insert_lsn() - '0/0')::bigint AS inserted
"""
_BEGIN = f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock({WRITE_LOCK})"
_HOLDER = """
    SELECT
        coalesce(nullif(application_name, ''), 'another process')
        || ' (database user ' || usename || ')' AS name
    FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND pg_locks.database = datid
        AND (classid::bigint << 32 | objid::bigint) = ? LIMIT 1
"""

# The roles that the owner has given rights on the journal.
_MEMBERS = """
    SELECT DISTINCT pg_get_userbyid(grantee) AS role FROM pg_namespace, aclexplode(nspacl)
    WHERE nspname = ? AND grantee NOT IN (0, nspowner)
"""

# The rights that a member of the team needs; none of them can change past events.
RIGHTS = """\
-- The least rights of a member of the team. Run it as the owner of the journal, in its database.
GRANT CONNECT, TEMPORARY ON DATABASE {database} TO {role};
GRANT USAGE ON SCHEMA bktools TO {role};
GRANT SELECT ON ALL TABLES IN SCHEMA bktools TO {role};
GRANT INSERT ON bktools.events, bktools.chain, bktools.batches, bktools.batch_entries, bktools.entry_data,
    bktools.held_back, bktools.accounts TO {role};
GRANT UPDATE (state, code, facts, plan_id, job_id, job, planned_at, sent_at, settled_at, settled_by,
    changed_at, login, machine, process) ON bktools.batches TO {role};
GRANT UPDATE (live) ON bktools.batch_entries TO {role};
GRANT UPDATE, DELETE ON bktools.accounts TO {role};
"""


class _Connection:
    """A connection with the parameters and rows that `bktools.journal.records.Connection` describes."""

    def __init__(self, raw: psycopg.Connection[dict[str, Any]]) -> None:
        self.raw = raw

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        cursor = self.raw.execute(_numbered(sql), [*map(_stored, parameters)] or None)
        return [] if cursor.description is None else [*cursor]

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self.raw.cursor() as cursor:
            cursor.executemany(_numbered(sql), ([*map(_stored, row)] for row in rows))


def _numbered(sql: str) -> str:
    """Return SQL with PostgreSQL's names of parameters: $1 for ?1, or for the first ?."""
    numbers = count(1)
    # No query of this project has a question mark in a text.
    return re.sub(r"\?(\d*)", lambda match: f"${match[1] or next(numbers)}", sql)


def _stored(value: Any) -> Any:
    # PostgreSQL's text has no NUL.
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


class Postgres(Database):
    """An open PostgreSQL database of the journal. The address is one that libpq reads."""

    connection: _Connection

    def __init__(self, address: Secret) -> None:
        self._address = address
        self.location = location_of(address)
        # Companies whose locks this connection holds, and those whose locks went with an earlier connection.
        self._held: set[str] = set()
        self._lost: set[str] = set()
        self._numbers = count()
        with self.errors("opened"):
            self._open()

    def prepare(self, records: Records, origin: Facts, on_new: Callable[[str], None]) -> None:
        """Create the tables in an empty database, or upgrade older ones, which only their owner can do."""
        with self.errors("opened"):
            if self._is_empty():
                with self.transaction() as connection:
                    # Another process may have created the tables while this one waited for the transaction.
                    # The catalogue is read, because looking up the name again may give the answer of before.
                    sql = "SELECT 1 AS one FROM pg_tables WHERE schemaname = ? AND tablename = 'about'"
                    if not [*connection.execute(sql, [SCHEMA])]:
                        on_new(self.location)
                        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
                        migrations.create(records, connection, POSTGRES, secrets.token_hex(16), origin)
                        connection.execute(
                            "INSERT INTO about VALUES ('incarnation', ?)", [self.position()["database"]]
                        )
            if migrations.version_of(self.connection, self.location) < SCHEMA_VERSION:
                self._upgrade(records, origin)

    def _upgrade(self, records: Records, origin: Facts) -> None:
        """Bring the tables to the present version in one transaction; the older ones stay as a copy."""
        set_aside = f"{SCHEMA}_version_0_{now():%Y%m%d%H%M%S}"
        with ExitStack() as stack, self.transaction() as connection:
            if migrations.version_of(connection, self.location) == SCHEMA_VERSION:
                return
            self.require_owner("upgraded")
            for row in connection.execute("SELECT DISTINCT company_id FROM batches"):
                stack.enter_context(self.lock(row["company_id"], patience=0))
            if fault := version_0.broken_chain(connection):
                raise StorageError(f"the journal {self.location} is damaged: {fault}; it was not upgraded")
            before = self.position()["database"]
            members = connection.execute(_MEMBERS, [SCHEMA])
            connection.execute(f"ALTER SCHEMA {SCHEMA} RENAME TO {set_aside}; CREATE SCHEMA {SCHEMA}")
            facts = {"database_before": before}
            migrations.upgrade(
                records, connection, POSTGRES, lambda table: f"{set_aside}.{table}", origin, **facts
            )
            connection.execute(
                "UPDATE about SET value = ? WHERE name = 'incarnation'", [self.position()["database"]]
            )
            for member in members:
                connection.execute(rights(self._address, member["role"]))

    def require_owner(self, what: str) -> None:
        """Refuse what only the owner of the tables can do; a role of another user is named in the message."""
        (row,) = self.connection.execute(
            "SELECT pg_get_userbyid(relowner) AS name, pg_has_role(relowner, 'USAGE') AS is_own "
            "FROM pg_class WHERE oid = to_regclass('events')"
        )
        if not row["is_own"]:
            raise JournalError(
                f"the tables of the journal {self.location} belong to the database user {row['name']}: "
                f"nothing was {what}; do this once with that user in BKTOOLS_JOURNAL, "
                "then use your own again"
            )

    def close(self) -> None:
        """Close the connection."""
        self.connection.raw.close()

    @contextmanager
    def transaction(self) -> Iterator[_Connection]:
        """Yield the connection inside a transaction. No other process writes until it ends."""
        raw = self.connection.raw
        try:
            raw.execute(_BEGIN)
            yield self.connection
            answer = raw.execute("COMMIT").statusmessage
        finally:
            # Nothing happens after a commit.
            if not raw.closed:
                raw.rollback()
        if answer != "COMMIT":
            raise StorageError(
                f"the journal {self.location} cannot be written: the server rolled the transaction back"
            )

    def pieces(self, sql: str, parameters: Sequence[Any], size: int) -> Iterator[list[Row]]:
        """Yield the rows of a query in lists of at most `size`; the server keeps the others."""
        import psycopg

        with psycopg.RawServerCursor(
            self.connection.raw, f"pieces_{next(self._numbers)}", withhold=True
        ) as cursor:
            cursor.row_factory = psycopg.rows.dict_row
            cursor.execute(_numbered(sql), [*parameters] or None)
            yield from iter(lambda: cast("list[Row]", cursor.fetchmany(size)), [])

    def wanted(self, ids: Iterable[str]) -> None:
        """Fill the table `wanted`, which only this connection sees."""
        self.connection.execute('CREATE TEMP TABLE IF NOT EXISTS wanted (id TEXT COLLATE "C" PRIMARY KEY)')
        self.connection.execute("DELETE FROM wanted")
        self.connection.execute("INSERT INTO wanted SELECT unnest(CAST(? AS TEXT[]))", [[*ids]])

    @contextmanager
    def lock(self, company_id: str, *, patience: float = LOCK_PATIENCE) -> Iterator[None]:
        """Hold the lock of a company: an advisory lock of the session, which ends with the connection."""
        import psycopg

        # The database would give the same session the same lock twice.
        number = self._locked(company_id, patience, is_free=company_id not in self._held)
        self._held.add(company_id)
        try:
            yield
        finally:
            self._held.discard(company_id)
            self._lost.discard(company_id)
            # A lock goes with its connection; where it was lost, there is nothing to give back.
            with suppress(psycopg.OperationalError):
                self.connection.execute("SELECT pg_advisory_unlock(?)", [number])

    def require_in_place(self) -> None:
        """Raise when the connection was cut: another process may have taken the locks since."""
        with self.errors("read"):
            process = self.connection.execute("SELECT pg_backend_pid() AS process")[0]["process"]
        if self._lost or process != self._process:
            raise JournalError(
                f"the connection to the journal {self.location} was cut, and with it the lock of the "
                "company was lost: nothing was sent; run again"
            )

    def position(self) -> Row:
        """Return where the database is in its history.

        `database` is server, database, timeline and number of the table of events; `flushed` and `inserted`
        are the ends of the server's log, on its disk and in memory.
        """
        with self.errors("read"):
            return self.connection.execute(_POSITION)[0]

    def reconnect(self) -> bool:
        """Connect again if the connection was cut; return whether it was."""
        if not self.connection.raw.closed:
            return False
        self._lost |= self._held
        with self.errors("reached again"):
            self._open()
        return True

    def regain(self, company_id: str) -> bool:
        """Connect again and regain a company's lock, if they were lost; return whether the lock was."""
        self.reconnect()
        if company_id not in self._lost:
            return False
        self._locked(company_id, LOCK_PATIENCE)
        self._lost.discard(company_id)
        return True

    def backup(self, target: Path) -> None:
        """Refuse: a database is backed up with its own programs."""
        raise JournalError(
            f"the journal {self.location} is a database: nothing was written to {target}; "
            "back it up with pg_dump"
        )

    @contextmanager
    def errors(self, what: str) -> Iterator[None]:
        """Turn the database's errors into `JournalError` and `StorageError` of one line."""
        import psycopg
        from psycopg import errors

        try:
            yield
        except (psycopg.IntegrityError, errors.InvalidTextRepresentation) as error:
            raise JournalError(
                f"the journal refused a change that breaks one of its rules: {self._said(error)}"
            ) from error
        except errors.InsufficientPrivilege as error:
            raise JournalError(
                f"the journal {self.location} cannot be {what} by this database user: {self._said(error)}; "
                "its owner does this, or grants the rights that bktools journal rights ROLE prints"
            ) from error
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise StorageError(
                f"the journal {self.location} cannot be {what}: {self._said(error)}"
            ) from error

    def _said(self, error: Exception) -> str:
        import psycopg

        primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        text = primary or " ".join(str(error).split()) or type(error).__name__
        password = _parts(self._address).get("password")
        return text.replace(str(password), "…") if password else text

    def _open(self) -> None:
        import psycopg
        from psycopg.rows import dict_row
        from psycopg.types.string import StrDumper

        parts = _parts(self._address)
        raw = psycopg.connect(
            self._address.reveal(),
            autocommit=True,
            cursor_factory=psycopg.RawCursor,
            row_factory=dict_row,
            client_encoding="utf8",
            prepare_threshold=None,
            application_name=parts.get("application_name") or this_process()[:63],
            connect_timeout=parts.get("connect_timeout") or CONNECT_TIMEOUT,
        )
        try:
            # Text as text: PostgreSQL does not guess the type of every parameter.
            raw.adapters.register_dumper(str, StrDumper)
            connection = _Connection(raw)
            (about,) = connection.execute(_ABOUT_SERVER)
            _refuse_unsafe(self.location, about, raw.info.backend_pid)
            connection.execute(_SESSION)
        except BaseException:
            raw.close()
            raise
        self.connection = connection
        self._process = about["process"]

    def _locked(self, company_id: str, patience: float, *, is_free: bool = True) -> int:
        """Take the lock of a company and return its number; raise when another process holds it."""
        number = int.from_bytes(hashlib.sha256(company_id.encode()).digest()[:8], signed=True)

        def take() -> None:
            with self.errors("locked"):
                sql = "SELECT pg_try_advisory_lock(?) AS is_held"
                if is_free and self.connection.execute(sql, [number])[0]["is_held"]:
                    return
                holders = [row["name"] for row in self.connection.execute(_HOLDER, [number])] or [
                    "another process"
                ]
            raise JournalBusyError(
                f"{holders[0]} is sending for company {company_id}: nothing was sent by this one; "
                "run again later"
            )

        disk.repeated(take, JournalBusyError, patience if is_free else 0)
        return number

    def _is_empty(self) -> bool:
        return (
            self.connection.execute("SELECT to_regclass(?) AS name", [f"{SCHEMA}.about"])[0]["name"] is None
        )


def _refuse_unsafe(location: str, about: Row, promised: int) -> None:
    """Refuse a server that could lose a commit or a lock."""
    reasons = {
        "it is a replica, which cannot be written: name the primary server": about["is_replica"],
        # A pooler invents the number of the process that it gives a client.
        "a connection pooler is in between, which may share a session and its locks: "
        "name the server itself": (about["process"] != promised),
        "synchronous_commit is off, so a commit may be lost: set it to on": about["commits"] == "off",
        "synchronous_commit is local, so the standby may lack a commit: set it to on": (
            about["commits"] == "local" and about["standbys"]
        ),
        "fsync is off, so a commit may be lost: set it to on": about["fsync"] != "on",
        "full_page_writes is off, so a crash may damage it: set it to on": about["full_page_writes"] != "on",
        f"its encoding is {about['encoding']}: create the database with UTF8": about["encoding"] != "UTF8",
    }
    for reason, is_so in reasons.items():
        if is_so:
            raise StorageError(f"the journal {location} cannot be kept safely: {reason}; nothing was sent")


def _parts(address: Secret) -> dict[str, Any]:
    """Return the parts of an address. Its text is not shown, because it may hold a password."""
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise ConfigurationError(
            f"a journal in PostgreSQL needs a library that is not installed: {install_command('postgres')}"
        ) from None
    try:
        return dict(conninfo_to_dict(address.reveal()))
    except ProgrammingError:
        raise ConfigurationError(
            "journal (BKTOOLS_JOURNAL) must be the address of a PostgreSQL database, such as "
            "postgresql://user@host:5432/name"
        ) from None


def location_of(address: Secret) -> str:
    """Return host, port and name of the database, without user and password."""
    parts = _parts(address)
    host, port = (quote(str(parts.get(name) or ""), safe=":,.") for name in ("host", "port"))
    host = host or quote(str(parts.get("hostaddr") or ""), safe=":,.")
    return f"postgresql://{host}{f':{port}' if port else ''}/{quote(str(parts.get('dbname') or ''))}"


def is_database(location: str) -> bool:
    """Whether the location of a journal is a database, not a file."""
    return location.startswith("postgresql://")


def rights(address: Secret, role: str) -> str:
    """Return the SQL that grants a role the least rights for the journal."""
    return RIGHTS.format(
        database=_quoted(str(_parts(address).get("dbname") or "postgres")), role=_quoted(role)
    )


def _quoted(name: str) -> str:
    if not name or "\0" in name:
        raise ConfigurationError("a role of a database must have a name")
    return '"' + name.replace('"', '""') + '"'
