"""Answering questions: from a snapshot that does, from the service, or offline from the newest there is."""

from __future__ import annotations

import datetime as dt
import functools
import logging
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import pyarrow as pa

from bktools.caller import can_set, setting
from bktools.errors import SnapshotNotFoundError, StaleSnapshotWarning, UnreachableError
from bktools.progress import Bar, note, progress
from bktools.service import Service
from bktools.service.haste import in_haste
from bktools.service.pages import Search
from bktools.service.workers import side_by_side
from bktools.tables.choice import Choice, told
from bktools.tables.fetch import THREADS, fetch
from bktools.tables.intake import Table
from bktools.tables.manifest import Question, Snapshot
from bktools.tables.snapshots import Shelf

log = logging.getLogger("bktools")

Record = TypeVar("Record")

# Companies read at once; each may have threads of its own for its pages.
COMPANIES = 8


@dataclass(frozen=True)
class Job(Generic[Record]):
    """One question to the service.

    Parameters
    ----------
    table : Table
        What is read.
    question : Question
        What a snapshot of it is filed under.
    search : callable
        From a conversation to the search that asks it.
    """

    table: Table[Record]
    question: Question
    search: Callable[[Service], Search[Record]]


@dataclass(frozen=True)
class Part:
    """The answer to one question.

    Parameters
    ----------
    shelf, snapshot
        Where it is kept.
    rows : pyarrow.Table, optional
        The rows, where they were asked for.
    is_kept : bool
        Whether it was there already.
    problem : str
        Why a snapshot had to do that is older than wanted.
    """

    shelf: Shelf
    snapshot: Snapshot
    rows: pa.Table | None
    is_kept: bool = True
    problem: str = ""

    @property
    def age(self) -> str:
        """How old it is."""
        return told(dt.datetime.now(dt.UTC) - self.snapshot.time)


def read(jobs: Sequence[Job[Any]], service: Service, choice: Choice, *, keep: bool = True) -> list[Part]:
    """Answer questions, in their order; several that the service must be asked are asked side by side.

    Parameters
    ----------
    jobs : sequence of Job
        At least one.
    service : Service
        The conversation.
    choice : Choice
        Which snapshot would do.
    keep : bool
        Whether the rows are wanted, or their files alone.

    Raises
    ------
    SnapshotNotFoundError
        When a moment of the past is wanted that has no snapshot.
    ServiceError
        When the service does not give a whole table.
    """
    shelves = [Shelf(service.settings, job.question) for job in jobs]
    parts = [_that_does(job, shelf, choice, keep=keep) for job, shelf in zip(jobs, shelves, strict=True)]
    missing = [number for number, part in enumerate(parts) if part is None]
    if missing:
        with progress(jobs[0].table.noun, shown=choice.progress) as bar:
            threads = min(len(missing), COMPANIES)
            asked = functools.partial(
                _from_service, service=service, choice=choice, bar=bar, keep=keep, threads=THREADS // threads
            )
            calls = [functools.partial(asked, jobs[number], shelves[number]) for number in missing]
            # One alone needs no thread: where the service answers at once, they cost more than they give.
            found = [calls[0]()] if len(calls) == 1 else _all(calls, threads)
        for number, part in zip(missing, found, strict=True):
            parts[number] = part
    answered = [part for part in parts if part is not None]
    _tell(jobs[0].table.noun, answered, choice)
    return answered


def warn_of_stale(parts: Sequence[Part], *, stacklevel: int) -> None:
    """Say it where a snapshot had to do that is older than wanted."""
    stale = [part for part in parts if part.problem]
    if stale:
        oldest = min(stale, key=lambda part: part.snapshot.time)
        warnings.warn(
            f"{oldest.problem}; the snapshot of {oldest.snapshot.fetched_at} is used instead, {oldest.age} old",
            StaleSnapshotWarning,
            stacklevel=stacklevel,
        )


def _that_does(job: Job[Any], shelf: Shelf, choice: Choice, *, keep: bool) -> Part | None:
    snapshot = shelf.newest(choice.until)
    if snapshot is not None and choice.does(snapshot):
        part = _from_snapshot(shelf, snapshot, keep=keep)
        if part is not None:
            return part
    if choice.until is None:
        return None
    noun, until = job.table.noun, f"{choice.until:%Y-%m-%d %H:%M} UTC"
    if snapshot is not None:
        raise SnapshotNotFoundError(f"the snapshot of {snapshot.fetched_at} of these {noun} is damaged or gone")
    raise SnapshotNotFoundError(
        f"there is no snapshot of these {noun} up to {until}: history begins with the first load "
        "(bktools snapshots list shows it)"
    )


def _from_snapshot(shelf: Shelf, snapshot: Snapshot, *, keep: bool) -> Part | None:
    if not keep:
        return Part(shelf, snapshot, None) if shelf.is_whole(snapshot) else None
    rows = shelf.read(snapshot)
    return None if rows is None else Part(shelf, snapshot, rows)


def _from_service(
    job: Job[Any], shelf: Shelf, *, service: Service, choice: Choice, bar: Bar, keep: bool, threads: int
) -> Part:
    older = [] if choice.refresh else shelf.history()
    # With an answer at hand, a service that is away is not waited for as long as without.
    begin = job.search(in_haste(service)) if older else None
    try:
        fetched = fetch(job.table, job.search(service), shelf, bar, keep=keep, threads=threads, begin=begin)
    except UnreachableError as error:
        for snapshot in reversed(older):
            part = _from_snapshot(shelf, snapshot, keep=keep)
            if part is not None:
                return replace(part, problem=str(error))
        raise
    return Part(shelf, fetched.snapshot, fetched.rows, is_kept=False)


def _all(calls: Sequence[Callable[[], Part]], threads: int) -> list[Part]:
    with closing(side_by_side(calls, threads)) as parts:
        return list(parts)


def _tell(noun: str, parts: Sequence[Part], choice: Choice) -> None:
    # Of those that had to do, a warning tells.
    kept = [part for part in parts if part.is_kept and not part.problem]
    if not kept:
        return
    oldest = min(kept, key=lambda part: part.snapshot.time)
    rows = sum(part.snapshot.rows for part in kept)
    of = f"the snapshot of {oldest.snapshot.time:%Y-%m-%d %H:%M} UTC"
    of = of if len(kept) == 1 else f"{len(kept)} snapshots, the oldest"
    text = f"{noun}: {rows} rows from {of}, {oldest.age} old"
    log.info("%s", text)
    way = "" if choice.until or not can_set("refresh") else f"; {setting('refresh', True)} asks the service"
    note(f"{text}{way}", shown=choice.progress)
