"""Loads a table: from a fresh snapshot, or from the service, whose rows are verified and committed as a new snapshot."""

from __future__ import annotations

import contextlib
import functools
import tempfile
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from bktools.store import DeltaStore, FolderStore, Query, Snapshot, Store
from bktools.tables.fetch import THREADS, fetch
from bktools.tables.options import Options, age_of
from bktools.tables.shared import WithShared

Company = str | uuid.UUID | Iterable[str | uuid.UUID] | None

ALL = "all"

# Companies read concurrently; each may use several threads for its pages.
COMPANIES = 8

# Attempts for the first page when a cached copy can be used instead.
ATTEMPTS_WITH_COPY = 2


@dataclass(frozen=True)
class Part:
    """The rows of one query.

    Parameters
    ----------
    query, snapshot
        The query and the snapshot of its rows.
    rows : pyarrow.Table, optional
        The rows, unless only their file is wanted.
    source : str
        "snapshot" or "service".
    problem : str
        The reason why a stale snapshot was used.
    """

    query: Query
    snapshot: Snapshot
    rows: Any = None
    source: str = "snapshot"
    problem: str = ""


@contextlib.contextmanager
def reading(
    noun: Noun[Any], company: Company, service: Service, given: Mapping[str, Any], *, keep: bool = True
) -> Iterator[tuple[list[Part], Store]]:
    """Read a table; yield its parts, one for each company in the given order, and the store that holds them.

    Parameters
    ----------
    noun : Noun
        The kind of rows.
    company : str, UUID or iterable of them, optional
        Default: the configured company; "all" for every company.
    service : Service
        The service to read from.
    given : mapping
        The noun's filters, and the arguments of `Options.of`.
    keep : bool
        Whether to return the rows; otherwise only their files are wanted.
    """
    names = {item.argument for item in noun.filters}
    options = Options.of(**{name: value for name, value in given.items() if name not in names})
    with contextlib.ExitStack() as stack:
        # Without a cache, the store is deleted after the load.
        folder = None if options.cache else stack.enter_context(tempfile.TemporaryDirectory(prefix="bktools-"))
        store: Store = FolderStore(service.settings, None if folder is None else Path(folder))
        if options.until is not None and service.settings.snapshots is not None:
            shared = DeltaStore(service.settings, service.settings.snapshots)
            schemas = {item.search.operation: schema_of(item.record) for item in (noun, EMPLOYEES)}
            store = WithShared(store, shared, options, schemas)
        load = Load(service, options, store)
        yield load.read(noun, company, given, keep=keep), load.store


@dataclass(frozen=True)
class Load:
    """The service, the options and the store that the steps of one load share."""

    service: Service
    options: Options
    store: Store

    def read(self, noun: Noun[Any], company: Company, filters: Mapping[str, Any], *, keep: bool = True) -> list[Part]:
        """Return the parts of a table, one for each company; companies are read concurrently."""
        queries = self._queries(noun, company, filters)
        side = min(len(queries), COMPANIES)
        with progress(noun.name, shown=self.options.progress) as bar:
            part = functools.partial(self._part, noun, bar=bar, keep=keep, threads=THREADS // side)
            if side == 1:  # for a single company, a thread would only cost time
                parts = [part(queries[0])]
            else:
                with contextlib.closing(
                    side_by_side((functools.partial(part, query) for query in queries), side)
                ) as found:
                    parts = list(found)
        self._report_age(noun.name, parts)
        return parts

    def _queries(self, noun: Noun[Any], company: Company, filters: Mapping[str, Any]) -> list[Query]:
        """Return a query for each company; raise for a wrong filter before anything is sent."""
        given = noun.checked({**filters, "company_id": uuid.UUID(int=0)})
        companies: Sequence[str | None] = _named(company, self.service.settings.company)
        if not companies:
            needs_one = any(item.required for item in noun.filters if item.argument == "company_id")
            companies = self._companies_of_employees() if needs_one else [None]
        return [Query(noun.search.operation, given | {"company_id": one}) for one in companies]

    def _companies_of_employees(self) -> list[str]:
        parts = self.read(EMPLOYEES, ALL, {})
        found = {text for part in parts for text in part.rows.column("company_id").drop_null().to_pylist()}
        if not found:
            raise ArgumentError(
                "company", "must be given: the credential can see no employee, so the companies are unknown"
            )
        return sorted(found)

    def _part(self, noun: Noun[Any], query: Query, *, bar: Bar, keep: bool, threads: int) -> Part:
        """Return the rows of one query: from a fresh snapshot, else from the service, else from a stale snapshot."""
        history = self.store.history(query)
        fresh = self.options.fresh(history)
        part = None if fresh is None else self._stored(noun, query, fresh, keep=keep)
        if part is not None:
            return part
        if self.options.until is not None:
            raise _no_snapshot(noun, fresh, f"{self.options.until:%Y-%m-%d %H:%M} UTC")
        older = () if self.options.refresh else history.snapshots
        try:
            return self._fetched(noun, query, bar=bar, keep=keep, threads=threads, has_copy=bool(older))
        except UnreachableError as error:
            for snapshot in reversed(older):
                part = self._stored(noun, query, snapshot, keep=keep, problem=str(error))
                if part is not None:
                    return part
            raise

    def _stored(
        self, noun: Noun[Any], query: Query, snapshot: Snapshot, *, keep: bool, problem: str = ""
    ) -> Part | None:
        """Return the rows of a snapshot, None when they cannot be read completely."""
        portions = self.store.read(query, snapshot)
        try:
            if keep:
                rows = pa.concat_tables([schema_of(noun.record).empty_table(), *portions])
                return Part(query, snapshot, rows, problem=problem)
            count = sum(rows.num_rows for rows in portions)
        except StorageError:
            return None
        return Part(query, snapshot, problem=problem) if count == snapshot.rows else None

    def _fetched(self, noun: Noun[Any], query: Query, *, bar: Bar, keep: bool, threads: int, has_copy: bool) -> Part:
        """Read the pages of a query, verify them and commit them as its newest snapshot."""
        kept: list[pa.Table] = []
        write = functools.partial(
            fetch,
            noun,
            query.narrowed_to,
            search_of(self.service, noun, query.filters),
            bar=bar,
            kept=kept if keep else None,
            threads=threads,
            # Fewer retries when a cached copy can be used.
            begin=search_of(self.service, noun, query.filters, attempts=ATTEMPTS_WITH_COPY) if has_copy else None,
            strict=self.options.strict,
            way_out=self.options.way_out,
        )
        snapshot = self.store.append(query, write)
        rows = pa.concat_tables([schema_of(noun.record).empty_table(), *kept]) if keep else None
        return Part(query, snapshot, rows, source="service")

    def _report_age(self, noun: str, parts: Sequence[Part]) -> None:
        # `warn` reports stale snapshots.
        kept = [part.snapshot for part in parts if part.source == "snapshot" and not part.problem]
        if not kept:
            return
        oldest = min(kept, key=lambda snapshot: snapshot.time)
        of = f"the snapshot of {oldest.time:%Y-%m-%d %H:%M} UTC"
        of = of if len(kept) == 1 else f"{len(kept)} snapshots, the oldest"
        text = f"{noun}: {sum(snapshot.rows for snapshot in kept)} rows from {of}, {age_of(oldest)}"
        way = "" if self.options.until or not can_set("refresh") else f"; {setting('refresh', True)} asks the service"
        note(f"{text}{way}", shown=self.options.progress)


def warn(noun: str, parts: Sequence[Part], *, stacklevel: int) -> None:
    """Warn when a stale snapshot was used, or when rows failed a check."""
    stale = [part for part in parts if part.problem]
    if stale:
        oldest = min(stale, key=lambda part: part.snapshot.time)
        warnings.warn(
            f"{oldest.problem}; the snapshot of {oldest.snapshot.fetched_at} is used instead ({age_of(oldest.snapshot)})",
            StaleSnapshotWarning,
            stacklevel=stacklevel,
        )
    complaints = [complaint for part in parts for complaint in part.snapshot.complaints]
    if complaints:
        warnings.warn(
            f"the {noun} may be incomplete or wrong: {'; '.join(dict.fromkeys(complaints))}",
            UnverifiedTableWarning,
            stacklevel=stacklevel,
        )


def _named(company: Company, configured: str | None) -> list[str]:
    """Return the given or configured companies; an empty list means all."""
    if isinstance(company, str) and company == ALL:
        return []
    if company is None:
        return [] if configured is None else [rules.uuid_text("company (configured)", configured)]
    if isinstance(company, str | uuid.UUID):
        return [rules.uuid_text("company", company)]
    named = rules.unique_uuids("company", company)
    if not named:
        raise ArgumentError("company", "must name at least one company")
    return named


def _no_snapshot(noun: Noun[Any], damaged: Snapshot | None, until: str) -> SnapshotNotFoundError:
    if damaged is not None:
        return SnapshotNotFoundError(f"the snapshot of {damaged.fetched_at} of these {noun.name} is damaged or missing")
    return SnapshotNotFoundError(
        f"no snapshot of these {noun.name} up to {until} was found: the first load makes the first snapshot "
        "(bktools snapshots list shows them)"
    )
