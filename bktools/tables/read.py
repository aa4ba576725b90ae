"""Loads a table: from a fresh snapshot, or from the service, whose rows are verified and committed as a new snapshot."""

from __future__ import annotations

import contextlib
import copy
import functools
import logging
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from bktools import disk
from bktools.caller import can_set, setting
from bktools.contract import rules
from bktools.contract.employees import EMPLOYEES
from bktools.contract.noun import Noun
from bktools.errors import (
    ArgumentError,
    AuthenticationError,
    BktoolsError,
    IncompleteTableWarning,
    NotSentError,
    ScopeError,
    ServiceError,
    SnapshotNotFoundError,
    StaleSnapshotWarning,
    StorageError,
    UnreachableError,
    UnreadableAnswerError,
    UnverifiedTableWarning,
)
from bktools.frames.schema import schema_of
from bktools.progress import SILENT, Bar, note, progress
from bktools.service import Service
from bktools.service.pages import for_many, search_of
from bktools.service.workers import as_they_end
from bktools.settings import Settings
from bktools.store import DeltaStore, FolderStore, Query, Snapshot, Store
from bktools.tables.fetch import THREADS, fetch
from bktools.tables.options import Options, age_of
from bktools.tables.shared import WithShared

log = logging.getLogger("bktools")

Company = str | uuid.UUID | Iterable[str | uuid.UUID] | None

ALL = "all"

# The beginning of the message about a company that was not asked for, because an earlier company had this error.
NOT_ASKED = "not asked for"

# Companies read concurrently. One that hangs keeps its thread until its deadline.
COMPANIES = 16
# Threads for the pages of one of several companies.
THREADS_OF_ONE = 2

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


# The way out for each kind of error; the first class that fits decides.
WAYS_OUT: tuple[tuple[type[BktoolsError], str], ...] = (
    (AuthenticationError, "renew the credential, then load again"),
    (ScopeError, "ask for access to the company, or leave it out"),
    (NotSentError, "check the network and the address, then load again"),
    (SnapshotNotFoundError, "choose a later moment, or leave the company out"),
    (UnreadableAnswerError, 'see the message; verify="warn" may help'),
    (BktoolsError, "load again: only what is missing is asked for"),
)


@dataclass(frozen=True)
class Failure:
    """A company whose rows could not be read."""

    company_id: str
    company: str
    error: BktoolsError

    def row(self) -> dict[str, str]:
        """Return the failure as text: company_id, company (its short name), error (its class), message, to_do."""
        way_out = next(way_out for kind, way_out in WAYS_OUT if isinstance(self.error, kind))
        return {
            "company_id": self.company_id,
            "company": self.company,
            "error": type(self.error).__name__,
            "message": str(self.error),
            "to_do": way_out,
        }


@dataclass(frozen=True)
class Found:
    """What was read: the parts in the order of their companies, the failures, and the store that holds the rows."""

    parts: list[Part]
    failures: list[Failure]
    store: Store


@contextlib.contextmanager
def reading(
    noun: Noun[Any], company: Company, service: Service, given: Mapping[str, Any], *, keep: bool = True
) -> Iterator[Found]:
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
        folder = None if options.cache else stack.enter_context(disk.temporary_folder())
        store: Store = FolderStore(service.settings, None if folder is None else Path(folder))
        if options.until is not None and service.settings.snapshots is not None:
            shared = DeltaStore(service.settings, service.settings.snapshots)
            schemas = {item.search.operation: schema_of(item.record) for item in (noun, EMPLOYEES)}
            store = WithShared(store, shared, options, schemas)
        load = Load(service, options, store)
        parts, failures = load.read(noun, company, given, keep=keep)
        yield Found(parts, failures, load.store)


@dataclass(frozen=True)
class Load:
    """The service, the options and the store that the steps of one load share.

    Parameters
    ----------
    refused : list
        Errors that every further request would get, too.
    """

    service: Service
    options: Options
    store: Store
    refused: list[ServiceError] = field(default_factory=list)

    def read(
        self, noun: Noun[Any], company: Company, filters: Mapping[str, Any], *, keep: bool = True
    ) -> tuple[list[Part], list[Failure]]:
        """Return the parts of a table, one for each company, and the companies that failed.

        Several companies are read concurrently, and each to its end, whatever becomes of the others. Without
        `options.collect` the first failure is raised then.
        """
        queries = self.queries(noun, company, filters)
        if len(queries) == 1 and not self.options.collect:
            with progress(noun.name, shown=self.options.progress) as bar:
                parts = [self._part(noun, queries[0], bar=bar, keep=keep, threads=THREADS)]
            failures: list[Failure] = []
        else:
            parts, failures = self._of_many(noun, queries, keep=keep)
        self._report_age(noun.name, parts)
        self._report_renewal(noun.name, parts)
        return parts, failures

    def _of_many(self, noun: Noun[Any], queries: Sequence[Query], *, keep: bool) -> tuple[list[Part], list[Failure]]:
        patient = replace(self, service=for_many(self.service))
        side = min(len(queries), COMPANIES)
        threads = max(THREADS // side, THREADS_OF_ONE)
        calls = [
            functools.partial(patient.part_or_failure, noun, query, keep=keep, threads=threads) for query in queries
        ]
        found: list[Part | Failure | None] = [None] * len(queries)
        ending = as_they_end(calls, side, executor=self.options.executor)
        with (
            progress(noun.name, total=len(queries), unit="company", shown=self.options.progress) as bar,
            contextlib.closing(ending),
        ):
            for number, result in ending:
                found[number] = result
                bar.update(1)
        parts = [item for item in found if isinstance(item, Part)]
        failures = [item for item in found if isinstance(item, Failure)]
        if failures and not self.options.collect:
            raise _as_one(failures, len(queries), kept=self.options.cache)
        return parts, failures

    def part_or_failure(self, noun: Noun[Any], query: Query, *, keep: bool, threads: int) -> Part | Failure:
        """Return the rows of one query, or why they could not be read."""
        try:
            return self._part(noun, query, bar=SILENT, keep=keep, threads=threads)
        except (ServiceError, SnapshotNotFoundError) as error:
            company_id = str(query.filters.get("company_id") or ALL)
            log.info("%s of company %s: %s", noun.name, company_id, error)
            if isinstance(error, NotSentError | AuthenticationError):
                self.refused.append(error)
            return Failure(company_id, self.service.settings.name_of(company_id), error)

    def queries(self, noun: Noun[Any], company: Company, filters: Mapping[str, Any]) -> list[Query]:
        """Return a query for each company; raise for a wrong filter before anything is sent."""
        given = noun.checked({**filters, "company_id": uuid.UUID(int=0)})
        companies: Sequence[str | None] = _named(company, self.service.settings)
        if not companies:
            needs_one = any(item.required for item in noun.filters if item.argument == "company_id")
            companies = self._companies_of_employees() if needs_one else [None]
        return [Query(noun.search.operation, given | {"company_id": one}) for one in companies]

    def _companies_of_employees(self) -> list[str]:
        parts, _ = replace(self, options=replace(self.options, collect=False)).read(EMPLOYEES, ALL, {})
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
            raise _no_snapshot(noun, fresh, f"{self.options.until:%Y-%m-%d %H:%M} UTC", self._left_behind(query))
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
        if self.refused:
            error = copy.copy(self.refused[0])
            error.args = (f"{NOT_ASKED}: {error}",)
            raise error
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

    def _report_renewal(self, noun: str, parts: Sequence[Part]) -> None:
        """Say once that this credential begins a history of its own beside that of another one."""
        fetched = next((part for part in parts if part.source == "service"), None)
        if fetched is None or not self.options.cache or len(self.store.history(fetched.query).snapshots) > 1:
            return
        left_behind = self._left_behind(fetched.query)
        if left_behind:
            note(f"{noun}: the first snapshot of this credential{left_behind}", shown=self.options.progress)

    def _left_behind(self, query: Query) -> str:
        """Return a phrase about snapshots that another credential loaded, as one before its renewal; "" without any."""
        settings = self.service.settings
        found = None if settings.is_sandbox else FolderStore(settings).newest_of_another_credential(query)
        if found is None:
            return ""
        return (
            f"; those up to {found.time:%Y-%m-%d %H:%M} UTC were loaded with another one, and are read only with that one: "
            "a name for the credential (BKTOOLS_CREDENTIAL_NAME) keeps snapshots readable when a token is renewed"
        )

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


def warn(noun: str, found: Found, *, stacklevel: int) -> None:
    """Warn when companies are missing, when a stale snapshot was used, or when rows failed a check."""
    parts, failures = found.parts, found.failures
    if failures:
        warnings.warn(
            f"the {noun} are incomplete: {len(failures):,} of {len(parts) + len(failures):,} companies could not be read "
            f"(the first is {failures[0].company}: {failures[0].error})",
            IncompleteTableWarning,
            stacklevel=stacklevel,
        )
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


def _as_one(failures: Sequence[Failure], companies: int, *, kept: bool) -> BktoolsError:
    """Return the first failure, with a message about all of them."""
    first = failures[0]
    error = first.error
    is_kept = "; the others are in the cache, so load again to ask only for what is missing" if kept else ""
    way = f", or {setting('on_error', 'collect')} returns the others" if can_set("on_error") else ""
    error.args = (
        f"{len(failures):,} of {companies:,} companies could not be read; the first is {first.company}: {error}{is_kept}{way}",
    )
    return error


def _named(company: Company, settings: Settings) -> list[str]:
    """Return the given or configured companies; an empty list means all."""
    names = settings.company_names
    if isinstance(company, str) and company == ALL:
        return []
    if company is None:
        configured = settings.company
        return [] if configured is None else [rules.company_id("company (configured)", configured, names)]
    if isinstance(company, str | uuid.UUID):
        return [rules.company_id("company", company, names)]
    named = rules.company_ids("company", company, names)
    if not named:
        raise ArgumentError("company", "must name at least one company")
    return named


def _no_snapshot(noun: Noun[Any], damaged: Snapshot | None, until: str, left_behind: str) -> SnapshotNotFoundError:
    if damaged is not None:
        return SnapshotNotFoundError(f"the snapshot of {damaged.fetched_at} of these {noun.name} is damaged or missing")
    return SnapshotNotFoundError(
        f"no snapshot of these {noun.name} up to {until} was found: the first load makes the first snapshot "
        f"(bktools snapshots list shows them){left_behind}"
    )
