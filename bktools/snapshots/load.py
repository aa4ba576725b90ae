"""Loads a table: from a fresh snapshot, or from the service, whose verified rows become a new snapshot."""

from __future__ import annotations

import contextlib
import copy
import datetime as dt
import functools
import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from bktools.caller import can_set, setting
from bktools.contract.employees import EMPLOYEES
from bktools.contract.noun import Noun
from bktools.errors import (
    AuthenticationError,
    BktoolsError,
    IncompleteTableWarning,
    NotSentError,
    ScopeError,
    ServiceError,
    SnapshotNotFoundError,
    StaleSnapshotWarning,
    UnreachableError,
    UnreadableAnswerError,
    UnverifiedTableWarning,
)
from bktools.progress import SILENT, Bar, note, progress
from bktools.service import Service
from bktools.service.companies import ALL, Company, companies_among, company_ids
from bktools.service.service import for_many, search_of
from bktools.service.workers import as_they_end
from bktools.snapshots.fetch import THREADS, fetch
from bktools.snapshots.options import Options, age_of
from bktools.snapshots.snapshot import Facts, Query, Snapshot
from bktools.snapshots.store import Store, asked_by
from bktools.wording import LANGUAGES, Sentence, words

log = logging.getLogger("bktools")

# The beginning of the message about a company that was skipped, because an earlier one had this error.
NOT_ASKED = "not asked for"

# Companies read concurrently. One that hangs keeps its thread until its deadline.
COMPANIES = 16
# Threads for the pages of one of several companies.
THREADS_OF_ONE = 2

# Attempts for the first page when a cached copy can be used instead.
ATTEMPTS_WITH_COPY = 2


@dataclass(frozen=True)
class Part:
    """The rows of one query, from "snapshot" or "service", with the reason why a stale snapshot was used."""

    query: Query
    rows: pa.Table
    facts: Facts
    source: str
    snapshot: Snapshot | None = None
    problem: str = ""


# The way out for each kind of error; the first class that fits decides.
WAYS_OUT: tuple[tuple[type[BktoolsError], str], ...] = (
    (AuthenticationError, "renew"),
    (ScopeError, "ask_for_access"),
    (NotSentError, "check_network"),
    (SnapshotNotFoundError, "choose_moment"),
    (UnreadableAnswerError, "see_message"),
    (BktoolsError, "load_again"),
)


@dataclass(frozen=True)
class Failure:
    """A company whose rows could not be read."""

    company_id: str
    company: str
    error: BktoolsError

    def row(self) -> dict[str, str]:
        """Return the failure as text: company_id, company (short name), error (class), message, to_do."""
        way_out = next(way_out for kind, way_out in WAYS_OUT if isinstance(self.error, kind))
        to_do = words()(f"of_load.{way_out}")
        return vars(self) | {"error": type(self.error).__name__, "message": str(self.error), "to_do": to_do}


@dataclass(frozen=True)
class Load:
    """What the steps of one load share; `refused` has the error that every further request would get."""

    noun: Noun[Any]
    service: Service
    options: Options
    refused: list[ServiceError] = field(default_factory=list)

    @functools.cached_property
    def store(self) -> Store:
        """The snapshots of this environment."""
        return Store(self.service.settings)

    def read(self, company: Company, filters: Mapping[str, Any]) -> tuple[list[Part], list[Failure]]:
        """Return a table's parts, one for each company in the given order, and the companies that failed.

        Several companies are read concurrently, and each to its end, whatever becomes of the others. Without
        `on_error="collect"` the first failure is raised then.
        """
        queries = self._queries(company, filters)
        if len(queries) == 1 and self.options.on_error == "raise":
            with progress(self.noun.name, shown=self.options.progress) as bar:
                parts = [table_of(self, queries[0], bar=bar, threads=THREADS)]
            failures: list[Failure] = []
        else:
            parts, failures = self._of_many(queries)
        self._note_age(parts)
        return parts, failures

    def _queries(self, company: Company, filters: Mapping[str, Any]) -> list[Query]:
        """Return a query for each company; raise for a wrong filter before anything is sent."""
        checked = {
            name: sorted(value) if isinstance(value, list) else value
            for name, value in self.noun.checked(filters, but="company_id").items()
        }
        companies = company_ids(company, self.service.settings)
        if not companies and self.noun.needs_company:
            employees = replace(self, noun=EMPLOYEES, options=replace(self.options, on_error="raise"))
            parts, _ = employees.read(ALL, {})
            companies = companies_among(
                text for part in parts for text in part.rows["company_id"].to_pylist()
            )
        selections = [{**checked, "company_id": company_id} for company_id in companies] or [checked]
        return [Query(self.noun.name, selection) for selection in selections]

    def _of_many(self, queries: Sequence[Query]) -> tuple[list[Part], list[Failure]]:
        patient = replace(self, service=for_many(self.service))
        side = min(len(queries), COMPANIES)
        threads = max(THREADS // side, THREADS_OF_ONE)
        calls = [functools.partial(_part_or_failure, patient, query, threads=threads) for query in queries]
        results: dict[int, Part | Failure] = {}
        with (
            progress(self.noun.name, total=len(queries), unit="company", shown=self.options.progress) as bar,
            contextlib.closing(as_they_end(calls, side)) as ending,
        ):
            for number, result in ending:
                results[number] = result
                bar.update(1)
        in_order = [results[number] for number in sorted(results)]
        parts = [result for result in in_order if isinstance(result, Part)]
        failures = [result for result in in_order if isinstance(result, Failure)]
        if failures and self.options.on_error == "raise":
            raise _as_one(failures, len(queries), is_cached=self.options.cache)
        return parts, failures

    def _note_age(self, parts: Sequence[Part]) -> None:
        # `warn` reports stale snapshots.
        cached = [part.facts for part in parts if part.source == "snapshot" and not part.problem]
        if not cached:
            return
        texts, oldest = words(), min(facts.time for facts in cached)
        key, name = f"report.terminal.{self.noun.name}", self.noun.name
        text = texts(
            "command.cached" if len(cached) == 1 else "command.cached_of_many",
            table=texts(key) if texts.has(key) else name,
            count=sum(facts.rows for facts in cached),
            snapshots=len(cached),
            moment=oldest,
            age=age_of(oldest, texts),
        )
        if not self.options.until and can_set("refresh"):
            text = texts("command.asks_the_service", cached=text, way=setting("refresh", True))
        note(text, shown=self.options.progress)


def table_of(load: Load, query: Query, *, bar: Bar, threads: int) -> Part:
    """Return the rows of a query: from a fresh snapshot, else the service, else from a stale snapshot."""
    options = load.options
    history = load.store.history(query) if options.cache else []
    fresh = options.fresh(history)
    if fresh is not None:
        part = _stored(load, query, fresh)
        # Rows that failed a check are used without a word only by who accepts them, and those that depend on
        # who asks by the same credential; whoever asks for a moment gets what was read then.
        if part is not None and (options.until or _is_usable(load, query, part.facts)):
            return part
    if options.until is not None:
        raise _not_found(load, fresh, options.until)
    older = [] if options.refresh else history
    try:
        rows, facts = _fetched(load, query, bar=bar, threads=threads, has_copy=bool(older))
    except UnreachableError as error:
        stale = (_stored(load, query, snapshot, problem=str(error)) for snapshot in reversed(older))
        part = next(filter(None, stale), None)
        if part is None:
            raise
        return part
    facts = replace(facts, asked_by=asked_by(load.service.settings, query))
    snapshot = load.store.append(query, rows, facts, history) if options.cache else None
    return Part(query, rows, facts, "service", snapshot)


def _is_usable(load: Load, query: Query, facts: Facts) -> bool:
    is_accepted = load.options.verify == "warn" or not facts.complaints
    return is_accepted and facts.asked_by == asked_by(load.service.settings, query)


def _stored(load: Load, query: Query, snapshot: Snapshot, *, problem: str = "") -> Part | None:
    content = load.store.read(snapshot)
    if content is None:
        return None
    rows, facts = content
    return Part(query, rows, facts, "snapshot", snapshot, problem)


def _fetched(load: Load, query: Query, *, bar: Bar, threads: int, has_copy: bool) -> tuple[pa.Table, Facts]:
    if load.refused:
        error = copy.copy(load.refused[0])
        error.args = (f"{NOT_ASKED}: {error}",)
        raise error
    return fetch(
        load.noun,
        query.filters,
        search_of(
            load.service, load.noun, query.filters, first_attempts=ATTEMPTS_WITH_COPY if has_copy else None
        ),
        bar,
        threads=threads,
        strict=load.options.verify == "strict",
        way_out=load.options.way_out,
    )


def _part_or_failure(load: Load, query: Query, *, threads: int) -> Part | Failure:
    """Return the rows of one query, or why they could not be read."""
    try:
        return table_of(load, query, bar=SILENT, threads=threads)
    except (ServiceError, SnapshotNotFoundError) as error:
        company_id = str(query.filters.get("company_id") or ALL)
        log.info("%s of company %s: %s", load.noun.name, company_id, error)
        if isinstance(error, NotSentError | AuthenticationError):
            load.refused.append(error)
        return Failure(company_id, load.service.settings.short_name(company_id), error)


def _not_found(load: Load, damaged: Snapshot | None, until: dt.datetime) -> SnapshotNotFoundError:
    noun = load.noun.name
    if damaged is not None:
        return SnapshotNotFoundError(Sentence("error.snapshot_damaged", moment=damaged.time, table=noun))
    return SnapshotNotFoundError(Sentence("error.no_snapshot", moment=until, table=noun))


def warn(noun: str, parts: Sequence[Part], failures: Sequence[Failure], *, stacklevel: int) -> None:
    """Warn when companies are missing, when a stale snapshot was used, or when rows failed a check."""
    say = functools.partial(warnings.warn, stacklevel=stacklevel)
    if failures:
        count = f"{len(failures):,} of {len(parts) + len(failures):,} companies could not be read"
        first = f"(the first is {failures[0].company}: {failures[0].error})"
        say(f"the {noun} are incomplete: {count} {first}", IncompleteTableWarning)
    stale = [part for part in parts if part.problem]
    if stale:
        oldest = min(stale, key=lambda part: part.facts.time)
        age = age_of(oldest.facts.time, words(LANGUAGES[0]))
        used = f"the snapshot of {oldest.facts.fetched_at} is used instead ({age})"
        say(f"{oldest.problem}; {used}", StaleSnapshotWarning)
    complaints = [complaint for part in parts for complaint in part.facts.complaints]
    if complaints:
        say(
            f"the {noun} may be incomplete or wrong: {'; '.join(dict.fromkeys(complaints))}",
            UnverifiedTableWarning,
        )


def _as_one(failures: Sequence[Failure], companies: int, *, is_cached: bool) -> BktoolsError:
    """Return the first failure, with a message about all of them."""
    first = failures[0]
    error = first.error
    cached = (
        "; the others are in the cache, so load again to ask only for what is missing" if is_cached else ""
    )
    way = f", or {setting('on_error', 'collect')} returns the others" if can_set("on_error") else ""
    error.args = (
        (
            f"{len(failures):,} of {companies:,} companies could not be read; the first is {first.company}: "
            f"{error}{cached}{way}"
        ),
    )
    return error
