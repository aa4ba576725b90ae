"""Reads a table from the service: every row once and matching the filters, or an error."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Generic, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.noun import Noun
from bktools.errors import DriftError
from bktools.frames.records import checked, rows_of
from bktools.frames.schema import schema_of
from bktools.progress import Bar
from bktools.service.checks import Checks
from bktools.service.pages import Search, ShiftedError, by_cursor, by_offset, opening
from bktools.snapshots.snapshot import Facts

log = logging.getLogger("bktools")

Record = TypeVar("Record", bound=msgspec.Struct)

THREADS = 16
ATTEMPTS = 2

# Records from which on they are converted to columns: with those of one more page they stay in the processor's cache.
SLICE = 500
# Slices combined at once: hundreds of small tables cost more than the records' conversion.
SLICES = 50


def fetch(
    noun: Noun[Record],
    filters: Mapping[str, Any],
    search: Search[Record],
    bar: Bar,
    *,
    threads: int = THREADS,
    begin: Search[Record] | None = None,
    strict: bool = True,
    way_out: str = "",
) -> tuple[pa.Table, Facts]:
    """Read a table from the service; return its rows and their facts.

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
    bar : Bar
        Counts the rows.
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
    problem = repeated = ""
    for attempt in range(1, ATTEMPTS + 1):
        time, first = dt.datetime.now(dt.UTC), opening(begin or search)
        if attempt == 1 and threads > 1 and first.is_worth_threads:
            pages = by_offset(search, first, threads=threads)
        else:
            # Without a count, only pages that join prove that the table is whole.
            pages = by_cursor(search, first, prove=attempt > 1 or first.page.pagination.total is None)
        rows, checks = _Rows(noun), Checks(noun, filters)
        try:
            with closing(pages):
                for page, joined in pages:
                    checks.add(page, joined=joined)
                    rows.add(page.data)
                    bar.update(len(page.data))
        except ShiftedError as error:
            problem = str(error)
        else:
            table = rows.table()
            if strict:
                checks.require_filters(advice)
            repeated = checks.repeated(len(pc.unique(table.column("id"))))
            problem = repeated or checks.drift()
            if not problem or (attempt == ATTEMPTS and not strict and not repeated):
                complaints = tuple(filter(None, [problem, *checks.unfiltered()]))
                return table, Facts(time.isoformat(), checks.count, checks.verified(), complaints)
        bar.update(-checks.count)
        log.info("%s: attempt %s of %s failed: %s", noun.name, attempt, ATTEMPTS, problem)
    raise DriftError(
        f"the {noun.name} changed while they were read, {ATTEMPTS} times in a row ({problem}): the last snapshot is "
        f"unchanged; load again{'' if repeated else advice}"
    )


class _Rows(Generic[Record]):
    """Collects records as columns."""

    def __init__(self, noun: Noun[Record]) -> None:
        self._noun = noun
        self._schema = schema_of(noun.record)
        self._records: list[Record] = []
        self._slices: list[pa.Table] = []
        self._tables = [self._schema.empty_table()]

    def add(self, records: Sequence[Record]) -> None:
        self._records += records
        if len(self._records) >= SLICE:
            self._convert()
        if len(self._slices) >= SLICES:
            self._combine()

    def table(self) -> pa.Table:
        """Return all rows, with their UUIDs in lower case."""
        if self._records:
            self._convert()
        self._combine()
        return checked(pa.concat_tables(self._tables), self._noun.name)

    def _convert(self) -> None:
        self._slices.append(rows_of(self._records, self._schema))
        self._records = []

    def _combine(self) -> None:
        self._tables += [pa.concat_tables(self._slices).combine_chunks()] if self._slices else []
        self._slices = []
