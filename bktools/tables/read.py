"""The one path of a load: freshness, then the store, or pages that are verified and committed to it."""

from __future__ import annotations

import functools
import logging
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from bktools.caller import can_set, setting
from bktools.contract import rules
from bktools.contract.employees import EMPLOYEES
from bktools.contract.noun import Noun
from bktools.errors import (
    ArgumentError,
    SnapshotNotFoundError,
    StaleSnapshotWarning,
    StorageError,
    UnreachableError,
    UnverifiedTableWarning,
)
from bktools.frames.schema import schema_of
from bktools.progress import Bar, note, progress
from bktools.service import Service
from bktools.service.pages import search_of
from bktools.service.workers import side_by_side
from bktools.store import FolderStore, History, Query, Snapshot
from bktools.tables.fetch import THREADS, fetch
from bktools.tables.options import Options, age_of

log = logging.getLogger("bktools")

Company = str | uuid.UUID | Iterable[str | uuid.UUID] | None

ALL = "all"

# Companies read at once; each may have threads of its own for its pages.
COMPANIES = 8

# Requests for the first page at most, where a cached copy can be used instead.
HASTY_ATTEMPTS = 2


@dataclass(frozen=True)
class Part:
    """The rows of one query.

    Parameters
    ----------
    query, snapshot
        What was asked, and the committed answer.
    rows : pyarrow.Table, optional
        The rows, where they were asked for.
    source : str
        "snapshot" or "service".
    problem : str
        Why a snapshot had to do that is older than wanted.
    """

    query: Query
    snapshot: Snapshot
    rows: pa.Table | None
    source: str = "snapshot"
    problem: str = ""

    @property
    def table(self) -> pa.Table:
        """The rows, where they were asked for."""
        assert self.rows is not None
        return self.rows


@contextmanager
def opened_store(service: Service, options: Options) -> Iterator[FolderStore]:
    """Open the cache, or a store that is deleted after the load."""
    if options.cache:
        yield FolderStore(service.settings)
        return
    with tempfile.TemporaryDirectory(prefix="bktools-") as folder:
        yield FolderStore(service.settings, Path(folder))


def read(
    noun: Noun[Any],
    company: Company,
    filters: Mapping[str, Any],
    options: Options,
    service: Service,
    store: FolderStore,
    *,
    keep: bool = True,
) -> list[Part]:
    """Return a table, a part for each company in the order they were named.

    Parameters
    ----------
    noun : Noun
        What is read.
    company : str, UUID or iterable of them, optional
        By default the configured company; "all" for all of them.
    filters : mapping
        Argument to value.
    options : Options
        Which snapshots are fresh, and how strict the checks are.
    service, store
        Where rows come from, and where they are kept.
    keep : bool
        Whether the rows are wanted, or their files alone.

    Raises
    ------
    ArgumentError
        When a filter breaks a rule of the interface; nothing was sent.
    SnapshotNotFoundError
        When a moment of the past is wanted that has no snapshot.
    ServiceError
        When the service does not give a whole table.
    """
    queries = _queries(noun, company, filters, options, service, store)
    histories = [store.history(query) for query in queries]
    found = [
        _from_store(noun, query, history, options, store, keep=keep)
        for query, history in zip(queries, histories, strict=True)
    ]
    missing = [number for number, part in enumerate(found) if part is None]
    if missing:
        with progress(noun.name, shown=options.progress) as bar:
            side = min(len(missing), COMPANIES)
            asked = functools.partial(
                _from_service,
                noun,
                options=options,
                service=service,
                store=store,
                bar=bar,
                keep=keep,
                threads=THREADS // side,
            )
            calls = [functools.partial(asked, queries[number], histories[number]) for number in missing]
            # One alone needs no thread: where the service answers at once, they cost more than they give.
            fetched = [calls[0]()] if len(calls) == 1 else _all(calls, side)
        for number, part in zip(missing, fetched, strict=True):
            found[number] = part
    parts = [part for part in found if part is not None]
    _report_age(noun.name, parts, options)
    return parts


def warn(noun: str, parts: Sequence[Part], *, stacklevel: int) -> None:
    """Warn when a stale snapshot was used, or rows that a check speaks against."""
    stale = [part for part in parts if part.problem]
    if stale:
        oldest = min(stale, key=lambda part: part.snapshot.time)
        warnings.warn(
            f"{oldest.problem}; the snapshot of {oldest.snapshot.fetched_at} is used instead, {age_of(oldest.snapshot)}",
            StaleSnapshotWarning,
            stacklevel=stacklevel,
        )
    complaints = [complaint for part in parts for complaint in part.snapshot.complaints]
    if complaints:
        warnings.warn(
            f"the {noun} may not be what was asked for: {'; '.join(dict.fromkeys(complaints))}",
            UnverifiedTableWarning,
            stacklevel=stacklevel,
        )


def _queries(
    noun: Noun[Any],
    company: Company,
    filters: Mapping[str, Any],
    options: Options,
    service: Service,
    store: FolderStore,
) -> list[Query]:
    """Return a query for each company; a wrong filter is refused before anything is sent."""
    companies: list[str | None] = [*_named(company, service)]
    needs_company = any(item.argument == "company_id" and item.required for item in noun.filters)
    nobody = str(uuid.UUID(int=0))
    given = noun.checked({**filters, "company_id": nobody})
    if not companies and needs_company:
        companies = [*_companies_of_employees(options, service, store)]
    return [Query(noun.search.operation, given | {"company_id": company_id}) for company_id in companies or [None]]


def _named(company: Company, service: Service) -> list[str]:
    """Return the companies that were named or configured; none stands for all."""
    if isinstance(company, str) and company == ALL:
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


def _companies_of_employees(options: Options, service: Service, store: FolderStore) -> list[str]:
    parts = read(EMPLOYEES, ALL, {}, options, service, store)
    found = sorted({text for part in parts for text in part.table.column("company_id").drop_null().to_pylist()})
    if not found:
        raise ArgumentError("company", "must be given: the credential sees no employee whose company could be taken")
    return found


def _from_store(
    noun: Noun[Any], query: Query, history: History, options: Options, store: FolderStore, *, keep: bool
) -> Part | None:
    snapshot = options.fresh(history)
    if snapshot is not None:
        part = _stored(noun, query, snapshot, store, keep=keep)
        if part is not None:
            return part
    if options.until is None:
        return None
    until = f"{options.until:%Y-%m-%d %H:%M} UTC"
    if snapshot is not None:
        raise SnapshotNotFoundError(f"the snapshot of {snapshot.fetched_at} of these {noun.name} is damaged or gone")
    raise SnapshotNotFoundError(
        f"there is no snapshot of these {noun.name} up to {until}: history begins with the first load "
        "(bktools snapshots list shows it)"
    )


def _stored(noun: Noun[Any], query: Query, snapshot: Snapshot, store: FolderStore, *, keep: bool) -> Part | None:
    """Return a snapshot when all of it can be read."""
    try:
        if keep:
            rows = pa.concat_tables([schema_of(noun.record).empty_table(), *store.read(query, snapshot)])
            return Part(query, snapshot, rows)
        count = sum(rows.num_rows for rows in store.read(query, snapshot))
        return Part(query, snapshot, None) if count == snapshot.rows else None
    except StorageError:
        return None


def _from_service(
    noun: Noun[Any],
    query: Query,
    history: History,
    *,
    options: Options,
    service: Service,
    store: FolderStore,
    bar: Bar,
    keep: bool,
    threads: int,
) -> Part:
    older = () if options.refresh else history.snapshots
    # With a cached copy at hand, a service that is away is not waited for as long as without.
    begin = search_of(service, noun, query.filters, attempts=HASTY_ATTEMPTS) if older else None
    kept: list[pa.Table] = []
    load = functools.partial(
        fetch,
        noun,
        query.narrowed_to,
        search_of(service, noun, query.filters),
        bar=bar,
        kept=kept if keep else None,
        threads=threads,
        begin=begin,
        strict=options.strict,
        way_out=options.way_out,
    )
    try:
        snapshot = store.append(query, load)
    except UnreachableError as error:
        for item in reversed(older):
            part = _stored(noun, query, item, store, keep=keep)
            if part is not None:
                return Part(query, item, part.rows, problem=str(error))
        raise
    rows = pa.concat_tables([schema_of(noun.record).empty_table(), *kept]) if keep else None
    return Part(query, snapshot, rows, source="service")


def _all(calls: Sequence[Callable[[], Part]], threads: int) -> list[Part]:
    with closing(side_by_side(calls, threads)) as parts:
        return list(parts)


def _report_age(noun: str, parts: Sequence[Part], options: Options) -> None:
    # A stale snapshot has a warning of its own.
    kept = [part for part in parts if part.source == "snapshot" and not part.problem]
    if not kept:
        return
    oldest = min(kept, key=lambda part: part.snapshot.time).snapshot
    rows = sum(part.snapshot.rows for part in kept)
    of = f"the snapshot of {oldest.time:%Y-%m-%d %H:%M} UTC"
    of = of if len(kept) == 1 else f"{len(kept)} snapshots, the oldest"
    text = f"{noun}: {rows} rows from {of}, {age_of(oldest)}"
    log.info("%s", text)
    way = "" if options.until or not can_set("refresh") else f"; {setting('refresh', True)} asks the service"
    note(f"{text}{way}", shown=options.progress)
