"""`load_categories` and `load_employees`: from the newest snapshot, or from the service."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Iterable
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.contract.categories import CATEGORIES
from bktools.contract.employees import EMPLOYEES, Employee
from bktools.contract.noun import Noun
from bktools.conversation import conversation
from bktools.frames.records import checked, rows_of
from bktools.frames.schema import schema_of, to_pandas
from bktools.service import Service
from bktools.tables.options import ONE_HOUR, Moment, Verify
from bktools.tables.read import Company, reading, warn


def load_categories(
    company: Company = None,
    *,
    ids: Iterable[str] | None = None,
    account_ids: Iterable[str] | None = None,
    category_group_ids: Iterable[str] | None = None,
    archived: bool | None = None,
    name: str | None = None,
    as_of: Moment | None = None,
    max_age: dt.timedelta | float = ONE_HOUR,
    refresh: bool = False,
    verify: Verify = "strict",
    cache: bool = True,
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
        The last snapshot committed with a time up to the end of that day (UTC) or up to that instant; from history
        alone, nothing is fetched.
    max_age : timedelta or seconds
        The last snapshot is used instead of the service when it is not older than this; one hour by default. One
        from the future is never used.
    refresh : bool
        Ask the service in any case.
    verify : str
        "strict": an error when rows do not fit the filters, when their number is not the service's count, or when pages
        do not join. "warn": an `UnverifiedTableWarning` instead, for a service that estimates its count or has a wider
        idea of a filter.
    cache : bool
        False uses no snapshot and keeps none.
    progress : bool, optional
        A bar with rows and rate; by default where somebody can see it.
    service : Service, optional
        By default the one the configuration describes.

    Returns
    -------
    DataFrame
        One row a category: id, company_id, category_group_id, name, archived (bool), account_id, tax_code_id (null
        where none), metadata (JSON text). `frame.attrs["bktools"]` says where the rows came from, which checks they
        passed (`verified`: ids are unique, filters fit, the total agrees, pages join), which they did not (`complaints`)
        and whether they were shown to be the whole table (`complete`).

    Raises
    ------
    ArgumentError
        When an argument breaks a rule of the interface; nothing was sent.
    SnapshotNotFoundError
        When `as_of` lies before every snapshot.
    DriftError
        When the table changed while it was read, and again while it was read again; or its count fits no reading.
    UnreadableAnswerError
        When rows came that do not fit the filters.
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
    return load_table(CATEGORIES, **locals())


def load_employees(
    company: Company = None,
    *,
    email: str | None = None,
    external_id: str | None = None,
    as_of: Moment | None = None,
    max_age: dt.timedelta | float = ONE_HOUR,
    refresh: bool = False,
    verify: Verify = "strict",
    cache: bool = True,
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
        Exact e-mail; in rows, upper and lower case count as the same.
    external_id : str, optional
        External ID of the employee.
    as_of, max_age, refresh, verify, cache, progress, service
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
    return load_table(EMPLOYEES, **locals())


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
    table = checked(rows_of([service.get_employee(employee_id)], schema_of(Employee)), EMPLOYEES.name)
    return _described(to_pandas(table).iloc[0], "get_employee", service)


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
    service = conversation(service)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        found = service.get_balance()
    values = {"currency": found.currency, "current": found.current, "available": found.available}
    return _described(pd.Series(values, dtype=object), "get_balance", service)


def _described(series: pd.Series, operation: str, service: Service) -> pd.Series:
    series.attrs["bktools"] = {
        "environment": service.settings.environment,
        "base_url": service.settings.identity,
        "operation": operation,
    }
    return series


def load_table(
    noun: Noun[Any], company: Company = None, *, service: Service | None = None, **given: Any
) -> pd.DataFrame:
    """Return all rows of a noun; its filters and the other arguments are those of `load_categories`."""
    service = conversation(service)
    with reading(noun, company, service, given) as (parts, _):
        warn(noun.name, parts, stacklevel=4)
    rows = pa.concat_tables([part.rows for part in parts])
    snapshots = [part.snapshot for part in parts]
    companies = [company for part in parts if (company := part.query.filters.get("company_id")) is not None]
    return to_pandas(
        rows,
        {
            "environment": service.settings.environment,
            "base_url": service.settings.identity,
            "table": noun.name,
            "filters": parts[0].query.narrowed_to | ({"company_id": companies} if companies else {}),
            "rows": rows.num_rows,
            "source": [part.source for part in parts],
            "fetched_at": [snapshot.fetched_at for snapshot in snapshots],
            "snapshot": [snapshot.file for snapshot in snapshots] if given.get("cache", True) else [],
            "verified": [list(snapshot.verified) for snapshot in snapshots],
            "complaints": [complaint for snapshot in snapshots for complaint in snapshot.complaints],
            "complete": all(snapshot.complete for snapshot in snapshots),
        },
    )
