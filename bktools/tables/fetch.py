"""From the service to a Parquet file: every row of a table once, as it was asked for, or an error."""

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
READINGS = 2


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

    The first reading takes the quick way. When the service's count or the ids show that the table changed meanwhile,
    it is read again, slowly, with proof that each page joins the one before.

    Parameters
    ----------
    noun : Noun
        What is read.
    filters : mapping
        What was asked for, checked.
    search : callable
        Takes `after`, `offset` and `limit`, returns a page.
    path : Path
        The file to make.
    bar : Bar
        Told of every row.
    kept : list of pyarrow.Table, optional
        Takes the rows too.
    threads : int
        Requests at once, for a long table of a service that answers slowly.
    begin : callable, optional
        Takes the place of `search` for the first page.
    strict : bool
        Whether a failed check is an error; else it is a complaint in what is returned. Rows that came twice are an
        error in any case.
    way_out : str
        What errors say about loading the table all the same.

    Raises
    ------
    DriftError
        When the table changed while it was read, and again while it was read again.
    UnreadableAnswerError
        When rows came that were not asked for.
    ServiceError
        When the service does not give the whole table.
    """
    advice = f"; {way_out} loads it as it comes" if way_out else ""
    for reading in range(1, READINGS + 1):
        time, first = dt.datetime.now(dt.UTC), opening(begin or search)
        if reading == 1 and threads > 1 and first.is_worth_threads:
            pages = by_offset(search, first, threads=threads)
        else:
            # Without a count, pages that join are the only proof.
            pages = by_cursor(search, first, prove=reading > 1 or first.page.pagination.total is None)
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
                problem = repeated or rows.drift()
            except ShiftedError as error:
                problem = repeated = str(error)
        if not problem or (reading == READINGS and not strict and not repeated):
            complaints = tuple(filter(None, [problem, *rows.unasked()]))
            return Facts(time.isoformat(), rows.count, rows.verified(), complaints)
        bar.update(-rows.count)
        log.info("%s: reading %s of %s failed: %s", noun.name, reading, READINGS, problem)
    raise DriftError(
        f"the {noun.name} changed while they were read, {READINGS} times in a row ({problem}); the last snapshot is as "
        f"it was: load again{'' if repeated else advice}"
    )
