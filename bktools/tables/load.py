"""`load_categories` and `load_employees`: from the newest snapshot, or from the service."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Iterable
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.conversation import conversation
from bktools.frames.records import checked, employees_table
from bktools.frames.schema import to_pandas
from bktools.service import Service
from bktools.tables.choice import ONE_HOUR, Choice, Moment
from bktools.tables.questions import Company, category_jobs, employee_jobs
from bktools.tables.reading import Job, Part, read, warn_of_stale


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
    service = conversation(service)
    choice = Choice.of(as_of, max_age, refresh=refresh, progress=progress)
    filters = {"ids": ids, "account_ids": account_ids, "category_group_ids": category_group_ids}
    jobs = category_jobs(company, filters | {"archived": archived, "name": name}, service, choice)
    return _frame(jobs, read(jobs, service, choice), service)


def load_employees(
    company: Company = None,
    *,
    email: str | None = None,
    external_id: str | None = None,
    as_of: Moment | None = None,
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
    service = conversation(service)
    choice = Choice.of(as_of, max_age, refresh=refresh, progress=progress)
    jobs = employee_jobs(company, {"email": email, "external_id": external_id}, service)
    return _frame(jobs, read(jobs, service, choice), service)


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
    table = checked(employees_table([service.get_employee(employee_id)]), "employees")
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


def _frame(jobs: list[Job[Any]], parts: list[Part], service: Service) -> pd.DataFrame:
    warn_of_stale(parts, stacklevel=4)
    rows = pa.concat_tables([part.rows for part in parts])
    filters = dict(jobs[0].question.filters)
    filters["company_id"] = [job.question.filters["company_id"] for job in jobs]
    return to_pandas(
        rows,
        {
            "environment": service.settings.environment,
            "base_url": service.settings.identity,
            "table": jobs[0].table.noun,
            "filters": {name: value for name, value in filters.items() if value not in (None, [], [None])},
            "rows": rows.num_rows,
            "source": ["snapshot" if part.is_kept else "service" for part in parts],
            "fetched_at": [part.snapshot.fetched_at for part in parts],
            "snapshot": [part.snapshot.file for part in parts],
            "complete": True,
        },
    )
