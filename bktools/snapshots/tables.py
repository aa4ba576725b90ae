"""`load_categories`, `load_employees`, `get_employee` and `get_balance`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Unpack

import msgspec
import pandas as pd
import pyarrow as pa

from bktools.connection import service_or_default
from bktools.contract.categories import CATEGORIES
from bktools.contract.employees import EMPLOYEES, Employee
from bktools.contract.noun import Noun
from bktools.frames.records import checked, rows_of
from bktools.frames.schema import schema_of, to_pandas
from bktools.service import Service
from bktools.service.companies import Company
from bktools.snapshots.load import Load, warn
from bktools.snapshots.options import LoadOptions, Options, options_of, takes_options


@takes_options
def load_categories(
    company: Company = None,
    *,
    ids: Iterable[str] | None = None,
    account_ids: Iterable[str] | None = None,
    category_group_ids: Iterable[str] | None = None,
    archived: bool | None = None,
    name: str | None = None,
    service: Service | None = None,
    **options: Unpack[LoadOptions],
) -> pd.DataFrame:
    """Return all bookkeeping categories of companies. Only `on_error="collect"` may return a partial table.

    Parameters
    ----------
    company : str, UUID or iterable of them, optional
        Company or companies, by UUID or by a short name of the config file. Default: the configured company.
        With none configured, or "all": every company with an employee that the credential can see.
    ids, account_ids, category_group_ids : iterable of str, optional
        Only categories with one of these UUIDs: a list, or a column of a frame, which may repeat them.
    archived : bool, optional
        Only archived or only active categories.
    name : str, optional
        Search by name; the service defines the match.
    as_of : str, date, datetime or Period, optional
        Use the last snapshot up to the end of that day or month (UTC) or up to that instant; fetch nothing.
    max_age : timedelta or seconds
        Use the last snapshot if it is not older than this. Default: one hour. One from the future is not
        used.
    refresh : bool
        Always ask the service.
    verify : str
        "strict": raise when rows do not match the filters, when their number is not the service's count, or
        when pages do not join. "warn": warn with `UnverifiedTableWarning` instead, for a service that
        estimates its count or matches filters loosely.
    cache : bool
        False neither uses nor keeps a snapshot.
    on_error : str
        When some of several companies fail. "raise": raise the first failure, after the other companies were
        read and kept; a second load asks only for what is missing. "collect": return the rows of the others,
        warn with `IncompleteTableWarning`, and list the failures in `frame.attrs["bktools"]["failures"]`: a
        dict per company, with company_id, company (its short name), error, message and to_do.
    progress : bool, optional
        Show a bar: rows, rate, and companies if there are several. Default: in a terminal or a notebook.
    service : Service, optional
        Default: the configured one.

    Returns
    -------
    DataFrame
        One row per category: id, company_id, category_group_id, name, archived (bool), account_id,
        tax_code_id (null without one), metadata (JSON text). `frame.attrs["bktools"]` holds the source of the
        rows, the passed checks (`verified`: ids are unique, filters match, the total agrees, pages join), the
        failed ones (`complaints`), and whether the rows are proven to be the whole table (`complete`; False
        when a company is missing).

    Raises
    ------
    ArgumentError
        When an argument breaks a rule of the interface; nothing was sent.
    SnapshotNotFoundError
        When `as_of` is before the first snapshot.
    DriftError
        When the table changed, or differed from its count, each time it was read.
    UnreadableAnswerError
        When rows do not match the filters.
    ServiceError
        When the service does not return the whole table. The last snapshot is unchanged.

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
    filters = {
        "ids": ids,
        "account_ids": account_ids,
        "category_group_ids": category_group_ids,
        "archived": archived,
        "name": name,
    }
    return load_table(CATEGORIES, company, filters, options_of(load_categories, options), service=service)


@takes_options
def load_employees(
    company: Company = None,
    *,
    email: str | None = None,
    external_id: str | None = None,
    service: Service | None = None,
    **options: Unpack[LoadOptions],
) -> pd.DataFrame:
    """Return all employees of one or more companies. Returns a partial table only with `on_error="collect"`.

    Parameters
    ----------
    company : str, UUID or iterable of them, optional
        Company or companies. Default: the configured company. With none configured, or "all": every company
        that the credential can see.
    email : str, optional
        Exact e-mail; upper and lower case are equal.
    external_id : str, optional
        External ID of the employee.
    as_of, max_age, refresh, verify, cache, on_error, progress, service
        As in `load_categories`.

    Returns
    -------
    DataFrame
        One row per employee: id, company_id, email, first_name, last_name, avatar_url, code (the external
        ID), job_title, phone, role; null for a missing value. Personal data: only you can read the snapshots.

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
    return load_table(EMPLOYEES, company, filters, options_of(load_employees, options), service=service)


def get_employee(employee_id: str, *, service: Service | None = None) -> pd.Series:
    """Return one employee, from the service.

    Parameters
    ----------
    employee_id : str
        UUID of the employee.
    service : Service, optional
        Default: the configured one.

    Returns
    -------
    Series
        The columns of `load_employees`; null for a missing value.

    Raises
    ------
    NotFoundError
        When the employee is not found.
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
    service = service_or_default(service)
    table = checked(rows_of([service.get_employee(employee_id)], schema_of(Employee)), EMPLOYEES.name)
    return _described(to_pandas(table).iloc[0], "get_employee", service)


def get_balance(*, service: Service | None = None) -> pd.Series:
    """Return the company's balance. The interface deprecates this operation and names no replacement.

    Parameters
    ----------
    service : Service, optional
        Default: the configured one.

    Returns
    -------
    Series
        currency (text), current and available (exact decimals; the interface does not define unit and scale).

    Raises
    ------
    ConfigurationError
        When the balance's own host or token is not configured.
    ServiceError
        When the request fails.

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
    service = service_or_default(service)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        balance = service.get_balance()
    return _described(pd.Series(msgspec.structs.asdict(balance), dtype=object), "get_balance", service)


def _described(series: pd.Series, operation: str, service: Service) -> pd.Series:
    series.attrs["bktools"] = {
        "environment": service.settings.environment,
        "base_url": service.settings.identity,
        "operation": operation,
    }
    return series


def load_table(
    noun: Noun[Any],
    company: Company,
    filters: Mapping[str, Any],
    options: Options,
    *,
    service: Service | None = None,
) -> pd.DataFrame:
    """Return all rows of a noun that match its filters; the other arguments are as in `load_categories`."""
    service = service_or_default(service)
    parts, failures = Load(noun, service, options).read(company, filters)
    warn(noun.name, parts, failures, stacklevel=4)
    schema = schema_of(noun.record)
    # A column that an earlier version of bktools did not have is null.
    rows = pa.concat_tables(
        [schema.empty_table(), *(part.rows for part in parts)], promote_options="permissive"
    )
    facts = [part.facts for part in parts]
    companies = [company for part in parts if (company := part.query.filters.get("company_id")) is not None]
    about = {
        "environment": service.settings.environment,
        "base_url": service.settings.identity,
        "table": noun.name,
        "filters": {
            **(parts[0].query.filters if parts else {}),
            **({"company_id": companies} if companies else {}),
        },
        "rows": rows.num_rows,
        "source": [part.source for part in parts],
        "fetched_at": [item.fetched_at for item in facts],
        "snapshot": [part.snapshot.path.name for part in parts if part.snapshot is not None],
        "verified": [list(item.verified) for item in facts],
        "complaints": [complaint for item in facts for complaint in item.complaints],
        "complete": not failures and all(item.complete for item in facts),
    }
    if failures:
        about["failures"] = [failure.row() for failure in failures]
    return to_pandas(rows.select(schema.names), about)
