"""Reads all pages of a table: every row once, as asked for and none missing, or an error."""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from operator import attrgetter
from typing import Any, Generic, TypeVar

from bktools.contract.noun import Filter, Noun
from bktools.contract.paging import Page
from bktools.errors import DriftError, PagingError, StatusError, UnreadableAnswerError, UnverifiedTableWarning
from bktools.service.workers import as_they_end
from bktools.wording import Sentence, words

Record = TypeVar("Record")

# A page, and whether it is proven to join the page before; None where that is unknown.
Pages = Generator[tuple[Page[Record], bool | None], None, None]

# ASSUMED: a service with a smaller limit returns fewer rows; the interface states no largest page.
LARGE_PAGE = 1000

# Statuses of a refusal of a page that is too large, or too far from the beginning.
REFUSED = (400, 413, 422)

MOST_EMPTY_PAGES = 10

# Attempts to read a page that joins the page before.
TRIES = 3

# Concurrent reading pays off when a page takes at least this long (seconds), at least this many pages are
# left, and each has at least this many rows, one of which is read twice.
LATENCY = 0.02
FEWEST_PAGES = 4
SMALLEST_PAGE = 10


# A search with fixed filters; takes only `after`, `offset` and `limit`.
Search = Callable[..., Page[Record]]


def pages_of(
    search: Search[Record], *, limit: int = LARGE_PAGE, threads: int = 1, prove: bool = False
) -> Pages[Record]:
    """Return the pages of a table in order, by concurrent requests where that is faster, otherwise by cursor.

    The service may return fewer rows than `limit`, or its default when it refuses so many. Several threads
    are for a long table of a service that answers slowly. `prove` requests the rows around the beginning of
    each page again, to prove that the page joins the one before.
    """
    began = _waited()
    rows: int | None = limit
    try:
        first = search(limit=limit)
    except StatusError as error:
        if error.status not in REFUSED:
            raise
        # The limit may be too large, so ask for the service's default. This raises a refusal for another
        # reason.
        first, rows = search(), None
    if threads > 1 and not prove and _is_worth_threads(first, _waited() - began):
        return by_offset(search, first, threads=threads)
    # Without a count, only pages that join prove that the table is whole.
    return by_cursor(search, first, rows, prove=prove or first.pagination.total is None)


def _is_worth_threads(first: Page[Any], seconds: float) -> bool:
    """Whether reading the rest concurrently is faster and can be verified."""
    rows, total = len(first.data), first.pagination.total
    if total is None or not first.pagination.has_next_page or rows < SMALLEST_PAGE:
        return False
    return seconds >= LATENCY and total - rows >= FEWEST_PAGES * rows


def _waited() -> float:
    """Return the seconds that this thread has waited; only differences of two results have a meaning."""
    return time.monotonic() - time.thread_time()


def by_cursor(
    search: Search[Record], first: Page[Record], limit: int | None, *, prove: bool
) -> Pages[Record]:
    """Yield the pages of a table in order, each after the end cursor of the one before; refuse a bad cursor.

    Cursors are opaque. If a service uses positions, rows move across them when other rows are deleted.
    `prove` therefore requests the rows around the beginning of each page again. Without `prove`, joining is
    unknown.
    """
    page = last = first
    joined: bool | None = True
    seen: set[str] = set()
    empty = 0
    while True:
        yield page, joined
        envelope = page.pagination
        if not envelope.has_next_page:
            return
        cursor = envelope.end_cursor
        if not cursor:
            raise PagingError(Sentence("error.page_without_cursor"))
        if cursor in seen:
            raise PagingError(Sentence("error.repeated_cursor"))
        seen.add(cursor)
        empty = 0 if page.data else empty + 1
        if empty > MOST_EMPTY_PAGES:
            raise PagingError(Sentence("error.empty_pages", count=empty))
        last = page if page.data else last
        # A change between the two requests rarely happens twice.
        for _ in range(TRIES if prove else 1):
            page = search(after=cursor, limit=limit)
            joined = _joins(search, last, page, limit) if prove else None
            if joined is not False:
                break
        # One page without proof makes further proofs useless.
        prove = prove and joined is True


def _joins(search: Search[Any], last: Page[Any], page: Page[Any], limit: int | None) -> bool | None:
    """Whether an answer has a row of the last page right before this page's first row; None without both.

    No row is lost between two adjacent rows of one answer.
    """
    if not page.data and page.pagination.has_next_page:
        return True  # an empty page proves nothing: the page after it must join the last one
    start = last.pagination.start_cursor
    if not start:
        return None
    both = search(after=start, limit=limit)
    ids = {record.id for record in last.data}
    shared = [number for number, record in enumerate(both.data, 1) if record.id in ids]
    if not shared:
        return None
    following = both.data[shared[-1] :]
    if not following and both.pagination.has_next_page:
        return None
    return [record.id for record in following[:1]] == [record.id for record in page.data[:1]]


def by_offset(search: Search[Record], first: Page[Record], *, threads: int) -> Pages[Record]:
    """Yield the pages of a table in order, read concurrently; raise `DriftError` when they do not join.

    Every page but the first also requests the row before it, which must equal the last row of the page
    before. Each page must have the expected length and the same total, and the last one must have no next
    page. Then no row is lost that existed during the whole time, although the pages were read at different
    times.
    """
    size, total = len(first.data), first.pagination.total
    assert total is not None
    yield first, True
    last = first.data[-1]
    offsets = range(size - 1, total - 1, size - 1)
    calls = (functools.partial(search, offset=offset, limit=size) for offset in offsets)
    with closing(as_they_end(calls, threads, in_order=True)) as pages:
        for offset in offsets:
            try:
                _, page = next(pages)
            except StatusError as error:
                if error.status not in REFUSED:
                    raise
                raise DriftError(Sentence("error.offset_refused")) from error
            expected = min(size, total - offset)
            if len(page.data) != expected or page.pagination.total != total or page.data[0] != last:
                raise DriftError(Sentence("error.page_does_not_join", row=offset))
            if page.pagination.has_next_page != (offset + expected < total):
                raise DriftError(Sentence("error.pages_end_elsewhere", total=total))
            last = page.data[-1]
            yield Page(page.data[1:], page.pagination), True


class Checks(Generic[Record]):
    """Checks a table while its pages come: filters, repeated ids, the service's count, pages that join."""

    def __init__(self, noun: Noun[Record], filters: Mapping[str, Any]) -> None:
        self._noun = noun
        self._allowed: list[tuple[Filter, set[Any]]] = []
        for item in noun.filters:
            if item.column and item.argument in filters:
                value = filters[item.argument]
                values = value if isinstance(value, list) else [value]
                self._allowed.append((item, {_comparable(item, allowed) for allowed in values}))
        # As keys: each once, in the order in which they came.
        self._totals: dict[int, None] = {}
        self._joined: bool | None = True
        self._unfiltered: dict[Filter, int] = {}
        self.count = 0

    def add(self, page: Page[Record], *, joined: bool | None) -> None:
        """Check a page; `joined` is whether it is proven to join the page before."""
        self.count += len(page.data)
        if page.pagination.total is not None:
            self._totals[page.pagination.total] = None
        if joined is not True and self._joined is not False:
            self._joined = joined
        for item, allowed in self._allowed:
            if wrong := _unmatched(page.data, item, allowed):
                self._unfiltered[item] = self._unfiltered.get(item, 0) + wrong

    def require_filters(self, advice: str) -> None:
        """Raise `UnreadableAnswerError` when rows do not match a filter; `advice` ends its message."""
        for item, wrong in self._unfiltered.items():
            facts = {"argument": item.argument, "sent_as": item.sent_as, "wrong": wrong, "count": self.count}
            sentence = Sentence("error.filter_ignored", **facts, table=self._noun.name, advice=advice)
            raise UnreadableAnswerError(sentence)

    def drift(self, again: int = 0) -> str:
        """Return a message if the table changed while it was read, else ""; `again` counts repeated rows."""
        totals, texts, rows = list(self._totals), words(), {"rows": self.count}
        if again:
            return texts("drift.again", **rows, again=again)
        if self._joined is False:
            return texts("drift.not_joined", **rows)
        if totals and not min(totals) <= self.count <= max(totals):
            return texts("drift.other_count", **rows, total=max(totals))
        if len(totals) > 1 and not self._joined:
            return texts("drift.count_changed", **rows, first=totals[0], last=totals[-1])
        return ""

    def complaints(self, drift: str) -> tuple[str, ...]:
        """Return a message for each failed check: of `drift`, and of filters that the service ignored."""
        unfiltered = (
            words()("drift.filter", wrong=wrong, rows=self.count, argument=item.argument)
            for item, wrong in self._unfiltered.items()
        )
        return (*filter(None, [drift]), *unfiltered)

    def verified(self) -> tuple[str, ...]:
        """Return the checks that the table passed."""
        passed = {
            "ids": True,
            "filters": not self._unfiltered,
            "total": len(self._totals) == 1 and not self.drift(),
            "joins": self._joined,
        }
        return tuple(name for name, has_passed in passed.items() if has_passed)


def _unmatched(records: Sequence[Any], item: Filter, allowed: Collection[Any]) -> int:
    """Return the number of records that do not match a filter."""
    value_of = attrgetter(item.column)
    # Few values differ, so only those are compared.
    wrong = {
        value
        for value in set(map(value_of, records))
        if (not item.optional_in_rows if value is None else _comparable(item, value) not in allowed)
    }
    return sum(value_of(record) in wrong for record in records) if wrong else 0


def _comparable(item: Filter, value: object) -> object:
    """Return a value of a filter or of its column so that equal ones are the same."""
    return value.lower() if isinstance(value, str) and not item.is_exact else value


def verified_pages(
    noun: Noun[Record], filters: Mapping[str, Any], search: Search[Record], limit: int, *, strict: bool
) -> Iterator[list[Record]]:
    """Yield the records of a table page by page.

    Raise, or warn, when they do not match or are not the whole table.
    """
    checks, id_of, ids = Checks(noun, filters), attrgetter("id"), set[str]()
    with closing(pages_of(search, limit=limit)) as pages:
        for page, joined in pages:
            checks.add(page, joined=joined)
            if strict:
                checks.require_filters(words()("error_part.verify_pages"))
            ids.update(id_of(record).lower() for record in page.data)
            if page.data:
                yield page.data
    again = checks.count - len(ids)
    problem = checks.drift(again)
    if problem and (strict or again):
        raise DriftError(Sentence("error.pages_changed", table=noun.name, problem=problem))
    if complaints := checks.complaints(problem):
        warnings.warn(
            words()("warning.unverified", table=noun.name, complaints="; ".join(complaints)),
            UnverifiedTableWarning,
            stacklevel=3,
        )
