"""The state of the sandbox: one SQLite file that several processes may share, and that a kill at any time leaves whole.

Every write is one transaction, on disk before it is answered (WAL, `synchronous=FULL`); uniqueness and "one job at a
time" are held by the database under a write lock, not by code that looked before.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bktools.errors import StorageError
from bktools.sandbox.auth import BALANCE_AUDIENCE, MAIN_AUDIENCE, issue_token, new_secret
from bktools.sandbox.jobs import ExportJob
from bktools.sandbox.paging import Condition, Key, Order, Rows, Span, backwards, segments
from bktools.sandbox.ranks import Ranks
from bktools.sandbox.schema import FORMAT, INDICES, INSERT_CATEGORY, INSERT_EMPLOYEE, OF_COMPANY, SCHEMA
from bktools.sandbox.wal import use_wal
from bktools.sandbox.world import Account, Category, Company, Employee, World, category_json, employee_json

# Rows between two known keys on the way to an offset.
_STRIDE = 100
# Cache of a connection: what SQLite takes by default, and while the rows of a new world are sorted into its indices.
_USUAL_KIB = 2_000
_SORTING_KIB = 65_536
# A key and the position.
_SERVED_BY_AN_INDEX = 2
# Queries whose totals and keys are kept at most.
_MOST_QUERIES = 32


class Store:
    """One connection to the state. Not for use by two threads.

    Parameters
    ----------
    file : Path
        The database; made with the world when it is missing.
    world : World
        What to put into a new database.
    """

    def __init__(self, file: Path, world: World) -> None:
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Made here, so that it and the files SQLite puts beside it are never open to others.
            os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise StorageError(
                f"{file} cannot be used as a sandbox database ({error.strerror}); name another"
            ) from error
        self._connection = sqlite3.connect(file, timeout=30, isolation_level=None)
        self._totals: dict[object, int] = {}
        self._landmarks: dict[object, list[Key]] = {}
        self._ranks = Ranks(self._connection.execute)
        self._version: tuple[int, int] | None = None
        try:
            self._connection.execute("PRAGMA synchronous = FULL")
            # The world goes in before the WAL is there: a large one would be written twice, to the WAL and to the file.
            self._make(world, file)
            use_wal(self._connection)
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise StorageError(f"{file} cannot be used as a sandbox database ({error}); reset the sandbox") from error
        self.settings: Mapping[str, str] = dict(self._connection.execute("SELECT name, value FROM settings"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._connection.close()

    def _make(self, world: World, file: Path) -> None:
        if self._format() == FORMAT:
            return
        with self._write():
            if self._format() == FORMAT:  # another process was first
                return
            if self._format() != 0:
                raise StorageError(f"{file} was made by another version of bktools; reset the sandbox")
            for statement in filter(str.strip, SCHEMA.split(";")):
                self._connection.execute(statement)
            self._fill(world)
            self._connection.execute(f"PRAGMA cache_size = -{_SORTING_KIB}")
            for statement in filter(str.strip, INDICES.split(";")):
                self._connection.execute(statement)
            self._connection.execute(f"PRAGMA cache_size = -{_USUAL_KIB}")
            self._connection.execute(f"PRAGMA user_version = {FORMAT}")

    def _format(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _fill(self, world: World) -> None:
        secret = new_secret()
        first = world.all_companies[0].id
        settings = {
            "secret": secret,
            "token": issue_token(secret, MAIN_AUDIENCE),
            "api_key": new_secret(),
            "balance_token": issue_token(secret, BALANCE_AUDIENCE, companies=[first]),
        }
        many = self._connection.executemany
        many("INSERT INTO settings VALUES (?, ?)", settings.items())
        columns = f"(position, {', '.join(Company._fields)})"
        many(
            f"INSERT INTO companies {columns} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - own field names
            ((number, *company) for number, company in enumerate(world.all_companies)),
        )
        for number in range(world.companies):
            many("INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", world.accounts(number))
            many(INSERT_CATEGORY, map(_category_row, world.categories_of(number)))
            many(INSERT_EMPLOYEE, map(_employee_row, world.employees_of(number)))

    @contextmanager
    def _write(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _read(self) -> Iterator[None]:
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("COMMIT")

    # Pages

    def page(self, table: str, matching: Condition, order: Order, span: Span, limit: int) -> Rows:
        """Return one page of a table, all of it from one state of the table."""
        with self._read():
            query = (table, matching, order)
            self._forget_if_changed()
            if len(order) > _SERVED_BY_AN_INDEX:
                return self._ranks.page(query, span, limit)
            total = self._total(query)
            if span.before is not None:
                keys, bodies, more = self._take(query, backwards(order), span.before, limit)
                behind = self._exists(query, order, span.before)
                return Rows(keys[::-1], bodies[::-1], has_previous=more, has_next=behind, total=total)
            after = span.after
            if span.offset is not None:
                if span.offset > total:
                    return Rows([], [], has_previous=total > 0, has_next=False, total=total)
                after = self._key_before(query, span.offset)
            keys, bodies, more = self._take(query, order, after, limit)
            behind = after is not None and self._exists(query, backwards(order), after)
            return Rows(keys, bodies, has_previous=behind, has_next=more, total=total)

    def _forget_if_changed(self) -> None:
        others = self._connection.execute("PRAGMA data_version").fetchone()[0]
        version = (others, self._connection.total_changes)
        if version != self._version or max(len(self._totals), len(self._landmarks)) > _MOST_QUERIES:
            self._totals.clear()
            self._landmarks.clear()
            self._ranks.forget()
            self._version = version

    def _total(self, query: tuple[str, Condition, Order]) -> int:
        table, matching, _ = query
        if (table, matching) not in self._totals:
            sql = f"SELECT count(*) FROM {table} WHERE {matching.sql}"  # noqa: S608 - own names, values are bound
            self._totals[table, matching] = self._connection.execute(sql, matching.parameters).fetchone()[0]
        return self._totals[table, matching]

    def _key_before(self, query: tuple[str, Condition, Order], offset: int) -> Key | None:
        """Return the key of the row before an offset, None at the start.

        Keys of every hundredth row are kept until the data changes, so that the way to an offset is walked once.
        """
        order = query[2]
        known = self._landmarks.setdefault(query, [])
        while len(known) < offset // _STRIDE:
            keys, _, _ = self._take(query, order, known[-1] if known else None, _STRIDE, bodies=False)
            known.append(keys[-1])
        strides, rest = divmod(offset, _STRIDE)
        start = known[strides - 1] if strides else None
        if not rest:
            return start
        return self._take(query, order, start, rest, bodies=False)[0][-1]

    def _exists(self, query: tuple[str, Condition, Order], order: Order, key: Key) -> bool:
        return bool(self._select(query, order, key, 1, inclusive=True, bodies=False))

    def _take(
        self, query: tuple[str, Condition, Order], order: Order, after: Key | None, limit: int, *, bodies: bool = True
    ) -> tuple[list[Key], list[str], bool]:
        rows = self._select(query, order, after, limit + 1, bodies=bodies)
        return [row[1:] for row in rows[:limit]], [row[0] for row in rows[:limit]], len(rows) > limit

    def _select(
        self,
        query: tuple[str, Condition, Order],
        order: Order,
        after: Key | None,
        count: int,
        *,
        inclusive: bool = False,
        bodies: bool = True,
    ) -> list[tuple[Any, ...]]:
        table, matching, _ = query
        columns = ", ".join(["body" if bodies else "NULL", *(key.column for key in order)])
        rows: list[tuple[Any, ...]] = []
        for segment in segments(order, after, inclusive=inclusive):
            sql = (
                f"SELECT {columns} FROM {table} WHERE {matching.sql} AND {segment.condition.sql} "  # noqa: S608 - own names, values are bound
                f"ORDER BY {', '.join(key.sql for key in segment.order)} LIMIT ?"
            )
            values = (*matching.parameters, *segment.condition.parameters, count - len(rows))
            rows += self._connection.execute(sql, values)
            if len(rows) == count:
                break
        return rows

    # Companies

    def companies(self) -> list[Company]:
        """Return every company."""
        found = self._connection.execute(f"SELECT {', '.join(Company._fields)} FROM companies ORDER BY position")  # noqa: S608 - own field names
        return [_company(row) for row in found]

    def company(self, company_id: str) -> Company | None:
        """Return a company, None where there is none."""
        return next((company for company in self.companies() if company.id == company_id), None)

    def configure_company(self, company_id: str, changes: Mapping[str, object]) -> None:
        """Change columns of a company."""
        with self._write():
            for column, value in changes.items():
                self._connection.execute(f"UPDATE companies SET {column} = ? WHERE id = ?", (value, company_id))  # noqa: S608 - own names

    # Categories and employees

    def add_category(self, category: Category) -> None:
        """Add a category at the end of the table."""
        with self._write():
            self._connection.execute(INSERT_CATEGORY, _category_row(category))

    def remove_category(self, category_id: str) -> bool:
        """Remove a category; tell whether it was there."""
        with self._write():
            return self._connection.execute("DELETE FROM categories WHERE id = ?", (category_id,)).rowcount > 0

    def drift(self) -> None:
        """Remove the first company's first category and add one at the end, as the data of a busy company do."""
        with self._write():
            sql = (
                "SELECT position, body FROM categories "
                "WHERE company = (SELECT min(position) FROM companies) ORDER BY position LIMIT 1"
            )
            first = self._connection.execute(sql).fetchone()
            if first is None:
                return
            position, body = first
            self._connection.execute("DELETE FROM categories WHERE position = ?", (position,))
            shown = json.loads(body)
            category = Category(
                new_id(), shown["companyId"], shown["categoryGroupId"], shown["name"], False, None, None, None
            )
            self._connection.execute(INSERT_CATEGORY, _category_row(category))

    def category_ids(self, company_id: str) -> list[str]:
        """Return the ids of a company's categories in the order of the table."""
        found = self._connection.execute(
            f"SELECT id FROM categories WHERE {OF_COMPANY} ORDER BY position",  # noqa: S608 - own words
            (company_id,),
        )
        return [row[0] for row in found]

    def employee(self, employee_id: str) -> tuple[str, str] | None:
        """Return company and JSON of an employee, None where there is none."""
        sql = "SELECT company_id, body FROM employees WHERE id = ?"
        found: tuple[str, str] | None = self._connection.execute(sql, (employee_id,)).fetchone()
        return found

    # Accounts

    def create_account(self, account: Account) -> tuple[Account, bool]:
        """Store an account unless its (companyId, externalId) is taken; return what is stored and whether it is new."""
        with self._write():
            new = self._connection.execute(
                "INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (company_id, external_id) DO NOTHING",
                account,
            )
            sql = f"SELECT {', '.join(Account._fields)} FROM accounts WHERE company_id = ? AND external_id = ?"  # noqa: S608 - own names
            row = self._connection.execute(sql, (account.company_id, account.external_id)).fetchone()
        return _account(row), new.rowcount > 0

    def accounts(self, company_id: str) -> list[Account]:
        """Return a company's accounts by external ID."""
        sql = f"SELECT {', '.join(Account._fields)} FROM accounts WHERE company_id = ? ORDER BY external_id"  # noqa: S608 - own names
        return [_account(row) for row in self._connection.execute(sql, (company_id,))]

    # Export jobs

    def create_export_job(self, job: ExportJob, entries: list[str]) -> ExportJob | None:
        """Store a job with its entries, with the outcome its company is set to; None when one is still running."""
        with self._write():
            busy = "SELECT 1 FROM export_jobs WHERE company_id = ? AND ends_at > ?"
            # The clock is read under the lock: a job created meanwhile must not look as if it were to come.
            now = time.time()
            if self._connection.execute(busy, (job.company_id, now)).fetchone():
                return None
            sql = "SELECT job_outcome, job_expires_in FROM companies WHERE id = ?"
            outcome, expires_in = self._connection.execute(sql, (job.company_id,)).fetchone()
            job = job._replace(created_at=now, outcome=outcome, expires_in=expires_in)
            self._connection.execute(
                "INSERT INTO export_jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*job, job.ends_at)
            )
            rows = ((job.id, number, entry) for number, entry in enumerate(entries))
            self._connection.executemany("INSERT INTO accepted_entries VALUES (?, ?, ?)", rows)
        return job

    def export_jobs(self) -> list[ExportJob]:
        """Return every job, the oldest first."""
        sql = f"SELECT {', '.join(ExportJob._fields)} FROM export_jobs ORDER BY created_at, id"  # noqa: S608 - own names
        return [_job(row) for row in self._connection.execute(sql)]

    def accepted_entries(self) -> dict[str, int]:
        """Return how often each entry was accepted in a job."""
        return dict(self._connection.execute("SELECT entry_id, count(*) FROM accepted_entries GROUP BY entry_id"))


def new_id() -> str:
    """Return a new UUID."""
    return str(uuid.uuid4())


def any_of(column: str, values: list[str]) -> Condition:
    """Return the condition that a column has one of the values."""
    # One parameter however many values, sorted so that the same set is the same query.
    return Condition(f"{column} IN (SELECT value FROM json_each(?))", (json.dumps(sorted(values)),))  # noqa: S608 - own names


def folded(name: str) -> str:
    """Return a name as the search compares it."""
    return name.casefold()


# SQLite has no booleans.


def _company(row: tuple[Any, ...]) -> Company:
    company = Company._make(row)
    return company._replace(
        has_integration=bool(company.has_integration), has_contra_accounts=bool(company.has_contra_accounts)
    )


def _account(row: tuple[Any, ...]) -> Account:
    account = Account._make(row)
    return account._replace(archived=bool(account.archived))


def _job(row: tuple[Any, ...]) -> ExportJob:
    job = ExportJob._make(row)
    return job._replace(
        is_interactive=bool(job.is_interactive), vendor_based_bookkeeping=bool(job.vendor_based_bookkeeping)
    )


def _category_row(category: Category) -> tuple[object, ...]:
    return (*category[:7], folded(category.name), category_json(category))


def _employee_row(employee: Employee) -> tuple[object, ...]:
    return (*employee[:5], *employee[6:], employee_json(employee))
