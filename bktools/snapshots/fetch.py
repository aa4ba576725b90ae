"""Reads a table from the service: every row once and matching the filters, or an error."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.noun import Noun
from bktools.errors import DriftError
from bktools.frames.records import checked, rows_of
from bktools.frames.schema import schema_of
from bktools.progress import Bar
from bktools.service.pages import Checks, Pages, Search, pages_of
from bktools.snapshots.snapshot import Facts
from bktools.wording import Sentence, words

log = logging.getLogger("bktools")

Record = TypeVar("Record", bound=msgspec.Struct)

THREADS = 16
ATTEMPTS = 2

# Records from which on they become columns: with those of one more page they fit the processor's cache.
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
    strict: bool = True,
    way_out: str = "",
) -> tuple[pa.Table, Facts]:
    """Read a table from the service; return its rows and their facts.

    The first attempt is fast. When the service's count or the ids show that the table changed meanwhile, a
    second, slower attempt proves for each page that it joins the page before.

    Where not `strict`, a failed check is a complaint in the returned facts, except for repeated rows, which
    are always an error. `way_out` is the option that loads the table despite a failed check, for messages.
    """
    advice = words()("error_part.loads_with_warning", way_out=way_out) if way_out else ""
    problem, again = "", 0
    for attempt in range(1, ATTEMPTS + 1):
        time, checks = dt.datetime.now(dt.UTC), Checks(noun, filters)
        try:
            with closing(pages_of(search, threads=threads, prove=attempt > 1)) as pages:
                rows = _table(noun, _checked(pages, checks, bar))
        except DriftError as error:
            problem = str(error)
        else:
            if strict:
                checks.require_filters(advice)
            again = checks.count - len(pc.unique(rows.column("id")))
            problem = checks.drift(again)
            if not problem or (attempt == ATTEMPTS and not strict and not again):
                return rows, Facts(
                    time.isoformat(), checks.count, checks.verified(), checks.complaints(problem)
                )
        bar.update(-checks.count)
        log.info("%s: attempt %s of %s failed: %s", noun.name, attempt, ATTEMPTS, problem)
    facts = {"table": noun.name, "times": ATTEMPTS, "problem": problem, "advice": "" if again else advice}
    raise DriftError(Sentence("error.table_changed", **facts))


def _checked(pages: Pages[Record], checks: Checks[Record], bar: Bar) -> Iterator[list[Record]]:
    for page, joined in pages:
        checks.add(page, joined=joined)
        bar.update(len(page.data))
        yield page.data


def _table(noun: Noun[Record], pages: Iterable[list[Record]]) -> pa.Table:
    """Return the records of pages as columns, with their UUIDs checked and in lower case."""
    schema = schema_of(noun.record)
    tables, slices, waiting = [schema.empty_table()], [], list[Record]()
    for records in pages:
        waiting += records
        if len(waiting) >= SLICE:
            slices.append(rows_of(waiting, schema))
            waiting = []
        if len(slices) >= SLICES:
            tables.append(pa.concat_tables(slices).combine_chunks())
            slices = []
    slices += [rows_of(waiting, schema)] if waiting else []
    return checked(
        pa.concat_tables(tables + ([pa.concat_tables(slices).combine_chunks()] if slices else [])), noun.name
    )
