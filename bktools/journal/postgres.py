"""The journal's PostgreSQL database, which a team shares: safe settings, its format, transactions, locks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from bktools import disk
from bktools.caller import install_command
from bktools.errors import ConfigurationError, JournalBusyError, StorageError
from bktools.journal.database import Row
from bktools.journal.lock import LOCK_PATIENCE, PATIENCE
from bktools.journal.schema import Rule
from bktools.journal.sentences import line_of, refusal
from bktools.settings import Secret

if TYPE_CHECKING:
    import psycopg

# The schema of the journal's tables, and the lock that a transaction holds until its end.
SCHEMA = "bktools"
WRITE_LOCK = int.from_bytes(b"bktools\0")

CONNECT_TIMEOUT = 10  # seconds

# In force for this session, whatever server, database or role say. The server drops a session whose machine
# is gone after a minute, and with it the locks; it keeps one that waits for the answer to a request.
_SESSION = f"""
    SELECT set_config(name, value, false) FROM (VALUES
        ('search_path', '{SCHEMA}, pg_temp'), ('synchronous_commit', 'on'),
        ('lock_timeout', '{PATIENCE:g}s'), ('statement_timeout', '0'), ('idle_session_timeout', '0'),
        ('idle_in_transaction_session_timeout', '0'),
        ('default_transaction_isolation', 'read committed'), ('default_transaction_read_only', 'off'),
        ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'),
        ('tcp_keepalives_count', '3')) AS safe (name, value)
"""
_ABOUT_SERVER = """
    SELECT pg_backend_pid() AS process, session_user AS name, pg_is_in_recovery() AS is_replica,
        current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync,
        current_setting('full_page_writes') AS full_page_writes
"""
# Another server, another database of it, a history that branched off after a restore or a failover, or tables
# that were restored in place. A dump has none of these.
_TOKEN = f"""
    SELECT concat_ws(' ', (SELECT system_identifier FROM pg_control_system()),
        (SELECT oid FROM pg_database WHERE datname = current_database()),
        substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
        to_regclass('{SCHEMA}.events')::oid) AS token
"""

# What SQLite has by these names.
_LIKE_SQLITE = f"""
    CREATE SCHEMA IF NOT EXISTS {SCHEMA};
    CREATE DOMAIN blob AS bytea;
    CREATE FUNCTION json_extract(document TEXT, path TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE STRICT
    AS $$ SELECT document::json ->> substr(path, 3) $$;
    CREATE FUNCTION json_valid(document TEXT) RETURNS boolean LANGUAGE sql IMMUTABLE
    AS $$ SELECT document::json IS NOT NULL $$;
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE check_violation USING MESSAGE = TG_ARGV[0]; END $$
"""


class _Connection:
    """A connection with the parameters and rows that `database.Connection` describes."""

    def __init__(self, raw: psycopg.Connection[dict[str, Any]]) -> None:
        self.raw = raw

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        cursor = self.raw.execute(sql, [*map(_stored, parameters)] or None)
        return [] if cursor.description is None else [*cursor]

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self.raw.cursor() as cursor:
            cursor.executemany(sql, ([*map(_stored, row)] for row in rows))


def _stored(value: Any) -> Any:
    # PostgreSQL's text has no NUL.
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


class Postgres:
    """An open PostgreSQL database of the journal. The address is one that libpq reads."""

    BEFORE_TABLES = _LIKE_SQLITE

    def __init__(self, address: Secret) -> None:
        self._address = address
        self.location = location_of(address)
        self._numbers = count()
        with self.errors("opened"):
            raw = _connected(address)
            if isinstance(raw, str):
                # Raised here, because the frames of the driver hold the address.
                raise StorageError(line_of("not_opened", location=self.location, reason=raw))
            try:
                self.connection = _Connection(raw)
                (about,) = self.connection.execute(_ABOUT_SERVER)
                _refuse_unsafe(self.location, about, raw.info.backend_pid)
                self.connection.execute(_SESSION)
            except BaseException:
                raw.close()
                raise

    def is_empty(self) -> bool:
        """Whether the journal's tables are missing."""
        # The catalogue is read, because looking up the name again may give the answer of before.
        sql = "SELECT 1 AS one FROM pg_tables WHERE schemaname = $1 AND tablename = 'about'"
        return not self.connection.execute(sql, [SCHEMA])

    def trigger(self, rule: Rule) -> str:
        """Return the statement that creates the trigger of a rule."""
        return (
            f"CREATE TRIGGER {rule.name} BEFORE {rule.event} ON {rule.table} FOR EACH ROW "
            f"WHEN ({rule.refused}) EXECUTE FUNCTION refuse('{rule.message}')"
        )

    def close(self) -> None:
        """Close the connection."""
        self.connection.raw.close()

    @contextmanager
    def transaction(self) -> Iterator[_Connection]:
        """Yield the connection inside a transaction. No other process writes until it ends."""
        with self.connection.raw.transaction():
            self.connection.execute("SELECT pg_advisory_xact_lock($1)", [WRITE_LOCK])
            yield self.connection

    def pieces(self, sql: str, parameters: Sequence[Any], size: int) -> Iterator[list[Row]]:
        """Yield the rows of a query in lists of at most `size`; the server keeps the others."""
        import psycopg

        with psycopg.RawServerCursor(
            self.connection.raw, f"pieces_{next(self._numbers)}", withhold=True
        ) as cursor:
            cursor.row_factory = psycopg.rows.dict_row
            cursor.execute(sql, [*parameters] or None)
            yield from iter(lambda: cast("list[Row]", cursor.fetchmany(size)), [])

    @contextmanager
    def lock(self, company_id: str, *, patience: float = LOCK_PATIENCE) -> Iterator[None]:
        """Hold the lock of a company: an advisory lock of the session, which ends with the connection."""
        import psycopg

        number = int.from_bytes(hashlib.sha256(company_id.encode()).digest()[:8], signed=True)
        disk.repeated(lambda: self._take(number, company_id), JournalBusyError, patience)
        try:
            yield
        finally:
            # A lock goes with its connection; where that was cut, there is nothing to give back.
            with suppress(psycopg.OperationalError):
                self.connection.execute("SELECT pg_advisory_unlock($1)", [number])

    def _take(self, number: int, company_id: str) -> None:
        with self.errors("locked"):
            (answer,) = self.connection.execute("SELECT pg_try_advisory_lock($1) AS is_held", [number])
        if not answer["is_held"]:
            raise JournalBusyError(line_of("is_sending", company=company_id))

    def token(self) -> str:
        """Return server, database, timeline and number of the table of events: a copy has others."""
        with self.errors("read"):
            return str(self.connection.execute(_TOKEN)[0]["token"])

    def is_in_place(self) -> bool:
        """Whether this is still the opened database: a connection that was cut raises errors from then on."""
        return True

    def faults(self) -> list[str]:
        """Return nothing: a server checks its own bytes."""
        return []

    def backup(self, target: Path) -> None:
        """Refuse: a database is backed up with its own programs."""
        raise refusal("no_backup_of_database", location=self.location, target=target)

    @contextmanager
    def errors(self, what: str) -> Iterator[None]:
        """Turn the database's errors into `JournalError` and `StorageError` of one line."""
        import psycopg
        from psycopg import errors

        try:
            yield
        except (psycopg.IntegrityError, errors.InvalidTextRepresentation) as error:
            raise refusal("breaks_a_rule", reason=self._shown(error)) from error
        except (errors.InsufficientPrivilege, errors.UndefinedTable) as error:
            # Without the right to use their schema, a user does not see the tables.
            raise refusal("no_rights", location=self.location, reason=self._shown(error)) from error
        except (psycopg.Error, UnicodeEncodeError) as error:
            reason = self._shown(error)
            raise StorageError(line_of(f"not_{what}", location=self.location, reason=reason)) from error

    def _shown(self, error: Exception) -> str:
        """Return the first line of an error; the address may have a password, which it does not have."""
        return _without_password(error, self._address)


def _connected(address: Secret) -> psycopg.Connection[dict[str, Any]] | str:
    """Return a connection with our settings, or why there is none."""
    import psycopg
    from psycopg.rows import dict_row
    from psycopg.types.string import StrDumper

    parts = _parts(address)
    try:
        raw = psycopg.connect(
            address.reveal(),
            autocommit=True,
            cursor_factory=psycopg.RawCursor,
            row_factory=dict_row,
            client_encoding="utf8",
            prepare_threshold=None,
            application_name="bktools",
            connect_timeout=parts.get("connect_timeout") or CONNECT_TIMEOUT,
        )
    except (psycopg.Error, UnicodeEncodeError) as error:
        return _without_password(error, address)
    # Text as text: PostgreSQL does not guess the type of every parameter.
    raw.adapters.register_dumper(str, StrDumper)
    return raw


def _without_password(error: Exception, address: Secret) -> str:
    import psycopg

    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    text = primary or " ".join(str(error).split()) or type(error).__name__
    password = _parts(address).get("password")
    return text.replace(str(password), "…") if password else text


def _refuse_unsafe(location: str, about: Row, promised: int) -> None:
    """Refuse a server that could lose a commit or a lock."""
    unsafe = {
        "replica": about["is_replica"],
        # A pooler invents the number of the process that it gives a client.
        "pooler": about["process"] != promised,
        "fsync": about["fsync"] != "on",
        "full_page_writes": about["full_page_writes"] != "on",
        "encoding": about["encoding"] != "UTF8",
    }
    for name, is_so in unsafe.items():
        if is_so:
            raise StorageError(line_of(f"unsafe_{name}", **about, location=location))


def _parts(address: Secret) -> dict[str, Any]:
    """Return the parts of an address. Its text is not shown, because it may hold a password."""
    try:
        from psycopg.conninfo import conninfo_to_dict  # noqa: F401 - whether it is installed
    except ImportError:
        command = install_command("postgres")
        raise ConfigurationError(line_of("needs_library", command=command)) from None
    parts = _read_parts(address)
    if parts is None:
        raise ConfigurationError(line_of("no_address"))
    return parts


def _read_parts(address: Secret) -> dict[str, Any] | None:
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        return dict(conninfo_to_dict(address.reveal()))
    except ProgrammingError:
        return None


def location_of(address: Secret) -> str:
    """Return host, port and name of the database, without user and password."""
    parts = _parts(address)
    host, port = (quote(str(parts.get(name) or ""), safe=":,.") for name in ("host", "port"))
    host = host or quote(str(parts.get("hostaddr") or ""), safe=":,.")
    return f"postgresql://{host}{f':{port}' if port else ''}/{quote(str(parts.get('dbname') or ''))}"
