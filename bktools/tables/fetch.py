"""Reads a table from the service into a Parquet file: every row once and matching the filters, or an error."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from bktools.contract.noun import Noun
from bktools.errors import DriftError
from bktools.progress import Bar
from bktools.service.pages import Search, ShiftedError, by_cursor, by_offset, opening
from bktools.store import Facts
from bktools.tables.rows import RowWriter

log = logging.getLogger("bktools")

Record = TypeVar("Record", bound=msgspec.Struct)

THREADS = 16
ATTEMPTS = 2


def fetch(
    noun: Noun[Record],
    filters: Mapping[str, Any],
    search: Search[Record],
    path: Path,
    bar: Bar,
    *,
    kept: list[pa.Table] | None = None,
    threads: int = THREADS,
    begin: Search[Record] | None = None,
    strict: bool = True,
    way_out: str = "",
) -> Facts:
    """Read a table from the service into a Parquet file.

    The first attempt is fast. When the service's count or the ids show that the table changed meanwhile, a second, slower
    attempt proves for each page that it joins the page before.

    Parameters
    ----------
    noun : Noun
        The kind of rows.
    filters : mapping
        The checked filters.
    search : callable
        Takes `after`, `offset` and `limit`, returns a page.
    path : Path
        The file to create.
    bar : Bar
        Counts the rows.
    kept : list of pyarrow.Table, optional
        Receives the rows too.
    threads : int
        Concurrent requests, for a long table of a service that answers slowly.
    begin : callable, optional
        Used instead of `search` for the first page.
    strict : bool
        Whether a failed check is an error. Otherwise it is a complaint in the returned facts, except for repeated rows,
        which are always an error.
    way_out : str
        The option that loads the table despite a failed check, for the messages of errors.

    Raises
    ------
    DriftError
        When the table changed during both attempts.
    UnreadableAnswerError
        When rows do not match the filters.
    ServiceError
        When the service does not return the whole table.
    """
    advice = f"; {way_out} loads it with a warning instead" if way_out else ""
    for attempt in range(1, ATTEMPTS + 1):
        time, first = dt.datetime.now(dt.UTC), opening(begin or search)
        if attempt == 1 and threads > 1 and first.is_worth_threads:
            pages = by_offset(search, first, threads=threads)
        else:
            # Without a count, only pages that join prove that the table is whole.
            pages = by_cursor(search, first, prove=attempt > 1 or first.page.pagination.total is None)
        path.unlink(missing_ok=True)
        if kept is not None:
            kept.clear()
        with RowWriter(noun, filters, path, kept, strict=strict, advice=advice) as rows, closing(pages):
            try:
                for page, joined in pages:
                    rows.add(page, joined=joined)
                    bar.update(len(page.data))
                rows.finish()
                repeated = rows.repeated()
                problem = repeated or rows.checks.drift()
            except ShiftedError as error:
                problem = repeated = str(error)
        if not problem or (attempt == ATTEMPTS and not strict and not repeated):
            complaints = tuple(filter(None, [problem, *rows.checks.unfiltered()]))
            return Facts(time.isoformat(), rows.count, rows.checks.verified(), complaints)
        bar.update(-rows.count)
        log.info("%s: attempt %s of %s failed: %s", noun.name, attempt, ATTEMPTS, problem)
    raise DriftError(
        f"the {noun.name} changed while they were read, {ATTEMPTS} times in a row ({problem}): the last snapshot is "
        f"unchanged; load again{'' if repeated else advice}"
    )
