"""`load_categories` and `load_employees`: from the newest snapshot, or from the service."""

from __future__ import annotations

import datetime as dt
import functools
import logging
import uuid
import warnings
from collections.abc import Iterable
from typing import Any, TypeVar

import pandas as pd
import pyarrow as pa

from bktools.contract import categories as category_contract
from bktools.contract import employees as employee_contract
from bktools.contract import rules
from bktools.conversation import conversation
from bktools.errors import ArgumentError, SnapshotNotFoundError, StorageError, UnreachableError
from bktools.frames.records import categories_table, employees_table
from bktools.frames.schema import CATEGORIES, EMPLOYEES, to_pandas
from bktools.progress import progress as progress_bar
from bktools.service import Service
from bktools.service.pages import Search
from bktools.tables.fetch import Table, fetch
from bktools.tables.snapshots import Question, Shelf, Snapshot

log = logging.getLogger("bktools")

ALL = "all"
ONE_HOUR = dt.timedelta(hours=1)

Record = TypeVar("Record")
Company = str | uuid.UUID | Iterable[str | uuid.UUID] | None

_CATEGORY_TABLE = Table("categories", CATEGORIES, categories_table)
_EMPLOYEE_TABLE = Table("employees", EMPLOYEES, employees_table)


class StaleSnapshotWarning(UserWarning):
    """The service could not be reached, so an older snapshot was used."""


def load_categories(
    company: Company = None,
    *,
    ids: Iterable[str] | None = None,
    account_ids: Iterable[str] | None = None,
    category_group_ids: Iterable[str] | None = None,
    archived: bool | None = None,
    name: str | None = None,
    as_of: str | dt.date | dt.datetime | None = None,
    max_age: dt.timedelta | float = ONE_HOUR,
    refresh: bool = False,
    progress: bool | None = None,
    service: Service | None = None,
) -> pd.DataFrame:
    """Return all bookkeeping categories, complete or an error.

    Parameters
    ----------
    company : str, UUID or iterable of them, optional
        Company or companies. By default the configured one; with none configured, or "all", every company that the
        employees the credential can see belong to.
    ids, account_ids, category_group_ids : iterable of str, optional
        UUIDs to narrow the list to, each once.
    archived : bool, optional
        Only archived or only active categories.
    name : str, optional
        Search by name, as the service does it.
    as_of : str, date or datetime, optional
        The newest snapshot at the end of that day (UTC) or at that instant; from history alone, nothing is fetched.
    max_age : timedelta or seconds
        A snapshot not older than this is used instead of the service; one hour by default.
    refresh : bool
        Ask the service in any case.
    progress : bool, optional
        A bar with rows and rate; by default where somebody can see it.
    service : Service, optional
        By default the one the configuration describes.

    Returns
    -------
    DataFrame
        One row a category: id, company_id, category_group_id, name, archived (bool), account_id, tax_code_id (null
        where none), metadata (JSON text). `frame.attrs["bktools"]` says where the rows came from.

    Raises
    ------
    ArgumentError
        When an argument breaks a rule of the interface; nothing was sent.
    SnapshotNotFoundError
        When `as_of` lies before every snapshot.
    ServiceError
        When the service does not give the whole table. The last snapshot is as it was.

    Notes
    -----
    Bookkeeping categories: interface, sections 2.1 and 4.1.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     active = bktools.load_categories(archived=False, service=service)
    >>> bool(active["archived"].any())
    False
    """
    filters: dict[str, Any] = {
        "ids": None if ids is None else rules.unique_uuids("ids", ids),
        "account_ids": None if account_ids is None else rules.unique_uuids("account_ids", account_ids),
        "category_group_ids": (
            None if category_group_ids is None else rules.unique_uuids("category_group_ids", category_group_ids)
        ),
        "archived": archived,
        "name": name,
    }
    service = conversation(service)
    choice = _Choice(as_of, max_age, refresh=refresh, progress=progress)
    companies = _companies(company, service, choice)
    for company_id in companies:
        category_contract.search_body(company_id, **filters)
    parts = []
    for company_id in companies:
        question = Question("search_categories", {"company_id": company_id, **filters})
        search = functools.partial(service.search_categories, company_id, **filters)
        parts.append(_load(_CATEGORY_TABLE, question, search, service, choice))
    return _frame(_CATEGORY_TABLE, parts, {"company_id": companies, **filters}, service)


def load_employees(
    company: Company = None,
    *,
    email: str | None = None,
    external_id: str | None = None,
    as_of: str | dt.date | dt.datetime | None = None,
    max_age: dt.timedelta | float = ONE_HOUR,
    refresh: bool = False,
    progress: bool | None = None,
    service: Service | None = None,
) -> pd.DataFrame:
    """Return all employees, complete or an error.

    Parameters
    ----------
    company : str, UUID or iterable of them, optional
        Company or companies. By default the configured one; with none configured, or "all", all that the credential
        can see.
    email : str, optional
        Exact e-mail.
    external_id : str, optional
        External ID of the employee.
    as_of, max_age, refresh, progress, service
        As in `load_categories`.

    Returns
    -------
    DataFrame
        One row an employee: id, company_id, email, first_name, last_name, avatar_url, code (the external ID),
        job_title, phone, role; null where the service sent nothing. Personal data: snapshots are readable by you alone.

    Raises
    ------
    ArgumentError, SnapshotNotFoundError, ServiceError
        As in `load_categories`.

    Notes
    -----
    Employees: interface, sections 2.6 and 4.4.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     everybody = bktools.load_employees("all", service=service)
    >>> everybody["company_id"].nunique() > 1
    True
    """
    filters = {"email": email, "external_id": external_id}
    employee_contract.search_query(**filters)
    service = conversation(service)
    choice = _Choice(as_of, max_age, refresh=refresh, progress=progress)
    companies: list[str | None] = [*_named(company, service)] or [None]
    parts = [_employees_of(company_id, filters, service, choice) for company_id in companies]
    return _frame(_EMPLOYEE_TABLE, parts, {"company_id": companies, **filters}, service)


def get_employee(employee_id: str, *, service: Service | None = None) -> pd.Series:
    """Return one employee, from the service.

    Parameters
    ----------
    employee_id : str
        UUID of the employee.
    service : Service, optional
        By default the one the configuration describes.

    Returns
    -------
    Series
        The columns of `load_employees`; null where the service sent nothing.

    Raises
    ------
    NotFoundError
        When there is no such employee.
    ArgumentError, ServiceError
        As in `load_categories`.

    Notes
    -----
    Interface, section 4.5.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     somebody = bktools.load_employees(service=service)["id"].iloc[0]
    ...     employee = bktools.get_employee(somebody, service=service)
    >>> employee["id"] == somebody
    True
    """
    service = conversation(service)
    table = employees_table([service.get_employee(employee_id)])
    series: pd.Series = to_pandas(table).iloc[0]
    series.attrs["bktools"] = {"environment": service.settings.environment, "operation": "get_employee"}
    return series


def get_balance(*, service: Service | None = None) -> pd.Series:
    """Return the company's balance; deprecated by the interface, which names no replacement.

    Parameters
    ----------
    service : Service, optional
        By default the one the configuration describes.

    Returns
    -------
    Series
        currency (text), current and available (exact decimals; unit and scale are not shown by the interface).

    Raises
    ------
    ConfigurationError
        When the balance's own host or token is not configured.
    ServiceError
        As the service answers.

    Notes
    -----
    Interface, sections 2.7 and 4.6. Warns with `DeprecationWarning`.

    Examples
    --------
    >>> import bktools, warnings
    >>> with bktools.Sandbox() as service, warnings.catch_warnings(action="ignore"):
    ...     balance = bktools.get_balance(service=service)
    >>> list(balance.index)
    ['currency', 'current', 'available']
    """
    warnings.warn("the service has deprecated the balance read", DeprecationWarning, stacklevel=2)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        found = conversation(service).get_balance()
    return pd.Series({"currency": found.currency, "current": found.current, "available": found.available}, dtype=object)


class _Choice:
    """Which snapshot would do."""

    def __init__(
        self,
        as_of: str | dt.date | dt.datetime | None,
        max_age: dt.timedelta | float,
        *,
        refresh: bool,
        progress: bool | None,
    ) -> None:
        self.until = None if as_of is None else _instant(as_of)
        self.max_age = max_age if isinstance(max_age, dt.timedelta) else dt.timedelta(seconds=max_age)
        self.refresh = refresh
        self.progress = progress
        if self.until is not None and refresh:
            raise ArgumentError("refresh", "cannot be combined with as_of, which reads history alone")

    def does(self, snapshot: Snapshot) -> bool:
        if self.refresh:
            return False
        return self.until is not None or dt.datetime.now(dt.UTC) - snapshot.time <= self.max_age


def _instant(as_of: str | dt.date | dt.datetime) -> dt.datetime:
    value: dt.date | dt.datetime
    if isinstance(as_of, str):
        try:
            value = dt.date.fromisoformat(as_of) if len(as_of) <= len("2026-10-31") else rules.timestamp(as_of)
        except ValueError:
            raise ArgumentError("as_of", "must be a day such as 2026-10-31 or an ISO 8601 instant", as_of) from None
    else:
        value = as_of
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value
    return dt.datetime.combine(value, dt.time.max, tzinfo=dt.UTC)


def _named(company: Company, service: Service) -> list[str]:
    """Return the companies that were named or configured; none stands for all."""
    if company == ALL:
        return []
    if company is None:
        configured = service.settings.company
        return [] if configured is None else [rules.uuid_text("company (configured)", configured)]
    if isinstance(company, str | uuid.UUID):
        return [rules.uuid_text("company", company)]
    named = rules.unique_uuids("company", company)
    if not named:
        raise ArgumentError("company", "must name at least one company")
    return named


def _companies(company: Company, service: Service, choice: _Choice) -> list[str]:
    named = _named(company, service)
    if named:
        return named
    employees = _employees_of(None, {"email": None, "external_id": None}, service, choice)[0]
    found = sorted(set(employees.column("company_id").drop_null().to_pylist()))
    if not found:
        raise ArgumentError("company", "must be given: the credential sees no employee whose company could be taken")
    return found


def _employees_of(
    company_id: str | None, filters: dict[str, Any], service: Service, choice: _Choice
) -> tuple[pa.Table, Snapshot]:
    question = Question("search_employees", {"company_id": company_id, **filters})
    search = functools.partial(service.search_employees, company_id, **filters)
    return _load(_EMPLOYEE_TABLE, question, search, service, choice)


def _load(
    table: Table[Record], question: Question, search: Search[Record], service: Service, choice: _Choice
) -> tuple[pa.Table, Snapshot]:
    shelf = Shelf(service.settings, question)
    kept = shelf.newest(choice.until)
    if kept is not None and choice.does(kept):
        rows = shelf.read(kept)
        if rows is not None:
            log.info("%s: snapshot of %s, %d rows", table.noun, kept.fetched_at, kept.rows)
            return rows, kept
    if choice.until is not None:
        raise SnapshotNotFoundError(
            f"there is no readable snapshot of these {table.noun} up to {choice.until:%Y-%m-%d %H:%M} UTC: history "
            "begins with the first load"
        )
    try:
        with progress_bar(table.noun, shown=choice.progress) as bar:
            snapshot = fetch(table, search, shelf, bar)
    except UnreachableError as error:
        rows = None if kept is None or choice.refresh else shelf.read(kept)
        if kept is None or rows is None:
            raise
        warnings.warn(
            f"{error}; the snapshot of {kept.fetched_at} ({kept.rows} {table.noun}) is used instead",
            StaleSnapshotWarning,
            stacklevel=3,
        )
        return rows, kept
    rows = shelf.read(snapshot)
    if rows is None:
        raise StorageError(f"the snapshot just written to {shelf.folder} cannot be read back")
    return rows, snapshot


def _frame(
    table: Table[Any], parts: list[tuple[pa.Table, Snapshot]], filters: dict[str, Any], service: Service
) -> pd.DataFrame:
    rows = pa.concat_tables([part for part, _ in parts])
    return to_pandas(
        rows,
        {
            "environment": service.settings.environment,
            "base_url": service.settings.identity,
            "table": table.noun,
            "filters": {name: value for name, value in filters.items() if value not in (None, [], [None])},
            "rows": rows.num_rows,
            "fetched_at": [snapshot.fetched_at for _, snapshot in parts],
            "snapshot": [snapshot.file for _, snapshot in parts],
            "complete": True,
        },
    )
