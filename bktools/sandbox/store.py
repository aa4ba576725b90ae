"""The state of the sandbox: one SQLite file that processes may share and that survives a kill at any time.

Every write is one transaction before it is answered (WAL). Nothing waits for the disk: invented books need
not outlast a power cut. The database itself keeps external IDs unique and allows one running job a company,
under a write lock.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bktools import disk
from bktools.errors import StorageError
from bktools.sandbox.auth import BALANCE_AUDIENCE, MAIN_AUDIENCE, Caller
from bktools.sandbox.faults import Faults, check_choice
from bktools.sandbox.jobs import ExportJob
from bktools.sandbox.nouns import NOUNS
from bktools.sandbox.paging import Condition, Key, Order, all_of, backwards, beyond
from bktools.sandbox.world import Account, Company, World, row_json
from bktools.wording import Sentence, reason_of

# Searches and sorts read the fields of categories and employees from their JSON.
_TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE tokens (token TEXT PRIMARY KEY, caller TEXT NOT NULL);
CREATE TABLE companies (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, country TEXT NOT NULL, currency TEXT NOT NULL,
    has_integration FLAG NOT NULL, has_contra_accounts FLAG NOT NULL,
    current TEXT NOT NULL, available TEXT NOT NULL);
CREATE TABLE accounts (
    id TEXT PRIMARY KEY, company_id TEXT NOT NULL, external_id TEXT NOT NULL, name TEXT NOT NULL,
    archived FLAG NOT NULL, code TEXT, metadata TEXT, tax_code_external_id TEXT,
    UNIQUE (company_id, external_id));
CREATE TABLE export_jobs (
    id TEXT PRIMARY KEY, company_id TEXT NOT NULL, created_at REAL NOT NULL, seconds REAL NOT NULL,
    is_interactive FLAG NOT NULL, number_of_items INTEGER NOT NULL, vendor_based_bookkeeping FLAG NOT NULL,
    created_by TEXT);
CREATE TABLE accepted_entries (job_id TEXT NOT NULL, entry_id TEXT NOT NULL);
CREATE INDEX export_jobs_company ON export_jobs (company_id, created_at)"""

# The table of a noun.
_NOUN = """
CREATE TABLE {table} (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL, company_id TEXT NOT NULL, body TEXT NOT NULL)"""

# Created after the rows, which is quicker. Within a company the index keeps the order of the table.
_INDICES = """
CREATE UNIQUE INDEX {table}_id ON {table} (id);
CREATE INDEX {table}_company ON {table} (company_id)"""

# Marks the file as one of these tables. A table that changes, or a new noun, needs another number.
_MARK = 608954289

_ADD = "INSERT INTO {} (id, company_id, body) VALUES (?, ?, ?)"

_Record = TypeVar("_Record", Account, Company, ExportJob)

# SQLite has no booleans.
sqlite3.register_converter("FLAG", lambda stored: stored == b"1")


class Store:
    """One connection to the state, for one thread; a missing database is created with the world."""

    def __init__(self, file: Path, world: World) -> None:
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Created here with its mode, so that neither this file nor SQLite's files beside it are ever
            # readable by others. A file that exists is opened by SQLite alone: opening and closing it here
            # would drop the locks of other connections of this process, and another process would then
            # delete the log (WAL) that they write to.
            with suppress(FileExistsError):
                disk.exclusive(file).close()
            self._connection = sqlite3.connect(
                file, timeout=30, isolation_level=None, detect_types=sqlite3.PARSE_DECLTYPES
            )
        except (OSError, sqlite3.DatabaseError) as error:
            raise _unusable(file, error) from error
        self._execute = self._connection.execute
        self._connection.create_function("folded", 1, str.casefold, deterministic=True)
        try:
            self._execute("PRAGMA synchronous = NORMAL")
            # The indices of a large world are sorted in this much memory.
            self._execute("PRAGMA cache_size = -65536")
            # The world is written before the WAL is on: otherwise a large one would be written twice.
            self._make(world, file)
            # SQLite does not wait for the lock of this change, and several processes may start at once.
            disk.repeated(lambda: self._execute("PRAGMA journal_mode = WAL"), sqlite3.OperationalError, 30)
        except sqlite3.DatabaseError as error:
            self.close()
            raise _unusable(file, error) from error
        except BaseException:
            self.close()
            raise
        self.settings: Mapping[str, str] = dict(self._execute("SELECT name, value FROM settings"))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _make(self, world: World, file: Path) -> None:
        if self._mark() == _MARK:
            return
        with self._transaction("IMMEDIATE"):
            mark = self._mark()
            if mark not in (0, _MARK):
                raise StorageError(Sentence("error.sandbox_of_version", file=str(file)))
            # Another process may have made the tables meanwhile.
            if mark == 0:
                self._run(_TABLES)
                for noun in NOUNS:
                    self._run(_NOUN.format(table=noun.table))
                self._fill(world)
                for noun in NOUNS:
                    self._run(_INDICES.format(table=noun.table))
                self._execute(f"PRAGMA user_version = {_MARK}")

    def _run(self, statements: str) -> None:
        for statement in statements.split(";"):
            self._execute(statement)

    def _mark(self) -> int:
        return int(self._execute("PRAGMA user_version").fetchone()[0])

    def _fill(self, world: World) -> None:
        many = self._connection.executemany
        settings = {
            "token": self.issue_token(Caller(MAIN_AUDIENCE)),
            "api_key": secrets.token_urlsafe(32),
            "balance_token": self.issue_token(
                Caller(BALANCE_AUDIENCE, companies=[world.all_companies[0].id])
            ),
        }
        many("INSERT INTO settings VALUES (?, ?)", settings.items())
        columns = ", ".join(Company._fields)
        many(f"INSERT INTO companies ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", world.all_companies)
        for number in range(world.companies):
            many("INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", world.accounts(number))
        for noun in NOUNS:
            for number, company in enumerate(world.all_companies):
                rows = ((row["id"], company.id, row_json(row)) for row in noun.rows(world, number))
                many(_ADD.format(noun.table), rows)

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        # The connection commits at the end, and rolls back after an exception.
        with self._connection:
            self._execute(f"BEGIN {kind}")
            yield

    # Tokens

    def issue_token(self, caller: Caller) -> str:
        """Return a new token for a caller."""
        token = secrets.token_urlsafe(32)
        self._execute("INSERT INTO tokens VALUES (?, ?)", (token, json.dumps(caller)))
        return token

    def caller(self, token: str) -> Caller | None:
        """Return the caller of a token, None when it is unknown."""
        known = self._execute("SELECT caller FROM tokens WHERE token = ?", (token,)).fetchone()
        return Caller(*json.loads(known[0])) if known else None

    # Pages

    def page(
        self,
        table: str,
        matching: Condition,
        order: Order,
        limit: int,
        *,
        after: Key | None = None,
        before: Key | None = None,
        offset: int = 0,
    ) -> tuple[list[tuple[Any, ...]], bool, bool, int]:
        """Return one page of a table, read in one transaction.

        They are its rows (JSON, then the key), whether rows come before and after it, and the count of all.
        """
        forwards = before is None
        read, bound = (order, after) if forwards else (backwards(order), before)
        with self._transaction("DEFERRED"):
            count = f"SELECT count(*) FROM {table} WHERE {matching.sql}"
            total = int(self._execute(count, matching.parameters).fetchone()[0])
            within = matching if bound is None else all_of(matching, beyond(read, bound))
            read_rows = self._select(table, within, read, limit + 1, offset)
            more, behind = len(read_rows) > limit, offset > 0 and total > 0
            if bound is not None:
                towards = backwards(read)
                behind = bool(
                    self._select(table, all_of(matching, beyond(towards, bound, inclusive=True)), towards, 1)
                )
        rows = read_rows[:limit] if forwards else read_rows[:limit][::-1]
        previous, following = (behind, more) if forwards else (more, behind)
        return rows, previous, following, total

    def _select(
        self, table: str, matching: Condition, order: Order, count: int, offset: int = 0
    ) -> list[tuple[Any, ...]]:
        columns = ", ".join(["body", *(term.sql for term in order)])
        terms = ", ".join(f"{term.sql} {'DESC' if term.descending else 'ASC'}" for term in order)
        sql = f"SELECT {columns} FROM {table} WHERE {matching.sql} ORDER BY {terms} LIMIT ? OFFSET ?"
        return self._execute(sql, (*matching.parameters, count, offset)).fetchall()

    # Companies

    def companies(self) -> list[Company]:
        """Return every company."""
        return self._all(Company, "companies ORDER BY rowid")

    def company(self, company_id: str) -> Company | None:
        """Return a company, None when it is unknown."""
        return next(iter(self._all(Company, "companies WHERE id = ?", company_id)), None)

    def configure_company(
        self,
        company_id: str,
        *,
        has_integration: bool | None = None,
        has_contra_accounts: bool | None = None,
    ) -> None:
        """Change how a company's export jobs are refused; options that are not given stay.

        Parameters
        ----------
        company_id : str
            The company.
        has_integration, has_contra_accounts : bool, optional
            False: jobs are refused as ACCOUNTING_INTEGRATION_NOT_FOUND, or as MISSING_CONTRA_ACCOUNTS.
        """
        changes = "has_integration = ifnull(?, has_integration), "
        changes += "has_contra_accounts = ifnull(?, has_contra_accounts)"
        check_choice("company_id", company_id, (company.id for company in self.companies()))
        values = (has_integration, has_contra_accounts, company_id)
        self._execute(f"UPDATE companies SET {changes} WHERE id = ?", values)

    # Categories and employees

    def add_category(self, category: dict[str, Any]) -> None:
        """Add a category, as the service answers it, at the end of the table."""
        self._execute(_ADD.format("categories"), (category["id"], category["companyId"], row_json(category)))

    def remove_category(self, category_id: str) -> bool:
        """Remove a category; return whether it existed."""
        return self._execute("DELETE FROM categories WHERE id = ?", (category_id,)).rowcount > 0

    def category_ids(self, company_id: str | None = None) -> list[str]:
        """Return the ids of a company's categories (default: the first company), in the table's order."""
        sql = "SELECT id FROM categories WHERE company_id = ? ORDER BY position"
        return [id_ for (id_,) in self._execute(sql, (company_id or self.companies()[0].id,))]

    def employee(self, employee_id: str) -> tuple[str, str] | None:
        """Return company and JSON of an employee, None when it is unknown."""
        sql = "SELECT company_id, body FROM employees WHERE id = ?"
        row: tuple[str, str] | None = self._execute(sql, (employee_id,)).fetchone()
        return row

    # Accounts

    def create_account(self, account: Account) -> tuple[Account, bool]:
        """Store an account unless its (companyId, externalId) exists; return it and whether it is new."""
        with self._transaction("IMMEDIATE"):
            new = self._execute(
                "INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (company_id, external_id) "
                "DO NOTHING",
                account,
            )
            where = "accounts WHERE company_id = ? AND external_id = ?"
            [stored] = self._all(Account, where, account.company_id, account.external_id)
        return stored, new.rowcount > 0

    def accounts(self, company_id: str | None = None) -> list[Account]:
        """Return the accounts of a company (default: the first), by external ID."""
        owner = company_id or self.companies()[0].id
        return self._all(Account, "accounts WHERE company_id = ? ORDER BY external_id", owner)

    # Export jobs

    def create_export_job(self, job: ExportJob, entries: Sequence[str]) -> ExportJob | None:
        """Store a job with its entries; return None while another job of its company runs."""
        with self._transaction("IMMEDIATE"):
            busy = "SELECT 1 FROM export_jobs WHERE company_id = ? AND created_at + seconds > ?"
            # Read the clock under the lock: a job created meanwhile must not seem to lie in the future.
            job = job._replace(created_at=time.time())
            if self._execute(busy, (job.company_id, job.created_at)).fetchone():
                return None
            self._execute("INSERT INTO export_jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", job)
            rows = ((job.id, entry) for entry in entries)
            self._connection.executemany("INSERT INTO accepted_entries VALUES (?, ?)", rows)
        return job

    def export_jobs(self) -> list[ExportJob]:
        """Return every job, the oldest first."""
        return self._all(ExportJob, "export_jobs ORDER BY created_at, id")

    def accepted_entries(self) -> dict[str, int]:
        """Return how often each accounting entry was accepted; more than once means booked twice."""
        return dict(self._execute("SELECT entry_id, count(*) FROM accepted_entries GROUP BY entry_id"))

    def _all(self, record: type[_Record], source: str, *parameters: str) -> list[_Record]:
        columns = ", ".join(record.__annotations__)
        return [record(*row) for row in self._execute(f"SELECT {columns} FROM {source}", parameters)]


@dataclass(frozen=True)
class State:
    """The store and the server's options, as every handler gets them."""

    store: Store
    faults: Faults
    max_limit: int
    job_seconds: float


def _unusable(file: Path, error: Exception) -> StorageError:
    return StorageError(Sentence("error.sandbox_unusable", file=str(file), why=reason_of(error)))


def is_open(file: Path) -> bool:
    """Whether a server, of this process or another one, has a database open."""
    if not file.exists():
        return False
    try:
        with closing(sqlite3.connect(file, timeout=0)) as connection:
            # Only the sole connection to a file can leave WAL mode; the next server turns it on again.
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.DatabaseError as error:
        # Any other error means that the file is not a database, so no server has it open.
        return error.sqlite_errorcode == sqlite3.SQLITE_BUSY
    return False


def new_id() -> str:
    """Return a new UUID."""
    return str(uuid.uuid4())
