"""Writes whole tables to one Parquet file, in constant memory."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bktools import disk
from bktools.connection import service_or_default
from bktools.contract.categories import CATEGORIES
from bktools.contract.employees import EMPLOYEES
from bktools.contract.noun import Noun
from bktools.errors import StorageError
from bktools.frames.schema import Moment, schema_of
from bktools.service import Service
from bktools.tables.options import ONE_HOUR, OnError, Verify
from bktools.tables.read import Company, reading, warn


def categories_to_parquet(
    path: str | Path,
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
    on_error: OnError = "raise",
    progress: bool | None = None,
    service: Service | None = None,
) -> Path:
    """Stream all bookkeeping categories to a Parquet file in constant memory.

    Parameters
    ----------
    path : str or Path
        The file. An existing file is replaced once the new one is complete.
    company, ids, account_ids, category_group_ids, archived, name, as_of, max_age, refresh, verify, cache, on_error
        As in `bktools.load_categories`.
    progress, service
        As in `bktools.load_categories`.

    Returns
    -------
    Path
        The file, with the columns of `bktools.load_categories`. Only its owner can read it. With companies missing
        (`on_error="collect"`), the metadata of its schema has them, as JSON under the key `bktools`.

    Raises
    ------
    StorageError
        When it cannot be written; an existing file is unchanged.
    ArgumentError, SnapshotNotFoundError, ServiceError
        As in `bktools.load_categories`.

    Notes
    -----
    Bookkeeping categories: interface, sections 2.1 and 4.1.

    Examples
    --------
    >>> import bktools, pathlib, tempfile
    >>> with bktools.Sandbox() as service, tempfile.TemporaryDirectory() as folder:
    ...     bktools.categories_to_parquet(pathlib.Path(folder) / "categories.parquet", service=service).name
    'categories.parquet'
    """
    return table_to_parquet(noun=CATEGORIES, **locals())


def employees_to_parquet(
    path: str | Path,
    company: Company = None,
    *,
    email: str | None = None,
    external_id: str | None = None,
    as_of: Moment | None = None,
    max_age: dt.timedelta | float = ONE_HOUR,
    refresh: bool = False,
    verify: Verify = "strict",
    cache: bool = True,
    on_error: OnError = "raise",
    progress: bool | None = None,
    service: Service | None = None,
) -> Path:
    """Stream all employees to a Parquet file in constant memory.

    Parameters
    ----------
    path : str or Path
        As in `categories_to_parquet`.
    company, email, external_id, as_of, max_age, refresh, verify, cache, on_error, progress, service
        As in `bktools.load_employees`.

    Returns
    -------
    Path
        The file, with the columns of `bktools.load_employees`. It holds personal data; only its owner can read it.

    Raises
    ------
    StorageError, ArgumentError, SnapshotNotFoundError, ServiceError
        As in `categories_to_parquet`.

    Notes
    -----
    Employees: interface, sections 2.6 and 4.4.

    Examples
    --------
    >>> import bktools, pathlib, tempfile
    >>> with bktools.Sandbox() as service, tempfile.TemporaryDirectory() as folder:
    ...     bktools.employees_to_parquet(pathlib.Path(folder) / "employees.parquet", service=service).name
    'employees.parquet'
    """
    return table_to_parquet(noun=EMPLOYEES, **locals())


def table_to_parquet(
    path: str | Path,
    noun: Noun[Any],
    company: Company = None,
    *,
    service: Service | None = None,
    failed: Callable[[list[dict[str, str]]], None] = lambda _: None,
    **given: Any,
) -> Path:
    """Write all rows of a noun to a Parquet file; arguments as in `categories_to_parquet`, with the noun's own filters.

    `failed` is called with the companies that could not be read, when there are any.
    """
    with reading(noun, company, service_or_default(service), given, keep=False) as found:
        warn(noun.name, found, stacklevel=4)
        failures = [failure.row() for failure in found.failures]
        schema = schema_of(noun.record)
        if failures:
            failed(failures)
            about = json.dumps({"complete": False, "failures": failures})
            schema = schema.with_metadata({**(schema.metadata or {}), "bktools": about})

        def write(file: IO[bytes]) -> None:
            with pq.ParquetWriter(file, schema, compression="zstd") as parquet:
                for part in found.parts:
                    for rows in found.store.read(part.query, part.snapshot):
                        parquet.write_table(rows.cast(schema))

        try:
            return disk.write_whole(path, write)
        except pa.ArrowException as error:
            raise StorageError(f"{path} cannot be written: {error}; an existing file is unchanged") from error
