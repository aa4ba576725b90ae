"""From page to page through a whole table: every row once, or an error."""

from __future__ import annotations

import copy
import functools
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from bktools.contract.noun import Noun
from bktools.contract.paging import Page, PageRequest
from bktools.errors import PagingError, StatusError
from bktools.service.service import Service
from bktools.service.workers import side_by_side

Record = TypeVar("Record")

# A page, and whether it was shown to join the one before: None where that is not known.
Pages = Generator[tuple[Page[Record], bool | None], None, None]

# ASSUMED: the largest page is unknown; a service returns fewer rows than asked when it caps them.
LARGE_PAGE = 1000

# Statuses with which a service may refuse a page that is too large for it, or too far from the beginning.
REFUSED = (400, 413, 422)

MOST_EMPTY_PAGES = 10

# How often a page is asked for until it joins the one before.
TRIES = 3

# Side by side is worth its threads when a page takes this long (seconds), there are this many left, and the row that
# each asks for twice is one of this many.
LATENCY = 0.02
FEWEST_PAGES = 4
SMALLEST_PAGE = 10


class ShiftedError(Exception):
    """Pages read side by side do not join: rows came or went meanwhile. The exact way is to be taken."""


class Search(Protocol[Record]):
    """A search of the service with its filters given, open in its paging."""

    def __call__(
        self, *, after: str | None = None, offset: int | None = None, limit: int | None = None
    ) -> Page[Record]:
        """Return a page."""


def search_of(service: Service, noun: Noun[Record], filters: Mapping[str, Any], *, attempts: int = 0) -> Search[Record]:
    """Return the search of a noun with its filters given; `attempts` bounds its repeats below the service's own."""
    if attempts:
        service = copy.copy(service)
        service._retry = replace(service._retry, attempts=min(service._retry.attempts, attempts))  # noqa: SLF001 - one room

    def search(*, after: str | None = None, offset: int | None = None, limit: int | None = None) -> Page[Record]:
        return service._search(noun, filters, PageRequest(after=after, offset=offset, limit=limit))  # noqa: SLF001

    return search


@dataclass(frozen=True)
class Opening(Generic[Record]):
    """The first page of a table, and what it taught.

    Parameters
    ----------
    page : Page
        The page.
    limit : int, optional
        Rows to ask for from now on; None leaves it to the service, which refused the number asked.
    seconds : float
        How long the service took; decoding its answer here does not count.
    """

    page: Page[Record]
    limit: int | None
    seconds: float

    @property
    def is_worth_threads(self) -> bool:
        """Whether reading the rest side by side would be quicker, and can be verified."""
        rows, total = len(self.page.data), self.page.pagination.total
        if total is None or not self.page.pagination.has_next_page or rows < SMALLEST_PAGE:
            return False
        return self.seconds >= LATENCY and total - rows >= FEWEST_PAGES * rows


def opening(search: Search[Record], *, limit: int = LARGE_PAGE) -> Opening[Record]:
    """Read the first page, and learn from it how many rows the service gives at once and how long that takes."""
    begin = _waited()
    try:
        page, taken = search(limit=limit), limit
    except StatusError as error:
        if error.status not in REFUSED:
            raise
        # The page may be larger than this service takes; its own default never is. If it was something else that was
        # refused, it is refused again, and that error is the one to show.
        return Opening(search(), None, _waited() - begin)
    return Opening(page, taken, _waited() - begin)


def _waited() -> float:
    """Return the seconds that this thread has been waiting, from any fixed moment."""
    return time.monotonic() - time.thread_time()


def by_cursor(search: Search[Record], first: Opening[Record], *, prove: bool) -> Pages[Record]:
    """Yield the pages of a table, first to last, each after the cursor that ended the one before.

    What comes back decides the step, never what was asked for. Cursors are opaque: a service may count positions, and
    then rows move across them when others are deleted. `prove` therefore asks, for each page, once more for the rows
    around its beginning, and yields with the page whether it joins the one before. Without it, that is not known.

    Raises
    ------
    PagingError
        When the cursors do not lead on: missing, repeated, or leading through empty pages without end.
    """
    page = last = first.page
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
            raise PagingError("the service says there is a next page and gives no cursor for it")
        if cursor in seen:
            raise PagingError("the service gave the same cursor twice: going on would never end")
        seen.add(cursor)
        empty = 0 if page.data else empty + 1
        if empty > MOST_EMPTY_PAGES:
            raise PagingError(f"the service gave {empty} pages without a row, each claiming a next one")
        last = page if page.data else last
        # What changes just between two requests is gone at the second try.
        for _ in range(TRIES if prove else 1):
            page = search(after=cursor, limit=first.limit)
            joined = _joins(search, last, page, first.limit) if prove else None
            if joined is not False:
                break
        # Pages that are not shown to join once are not shown to be a whole table by the others.
        prove = prove and joined is True


def _joins(search: Search[Any], last: Page[Any], page: Page[Any], limit: int | None) -> bool | None:
    """Whether one answer has a row of the last page directly before the first row of this one; None if it cannot tell.

    No row can be lost between two that stand side by side in one answer.
    """
    if not page.data and page.pagination.has_next_page:
        return True  # it claims nothing: the page after it must join the last one
    start = last.pagination.start_cursor
    if not start:
        return None
    both = search(after=start, limit=limit)
    known = {record.id for record in last.data}
    places = [place for place, record in enumerate(both.data, 1) if record.id in known]
    if not places:
        return None
    following = both.data[places[-1] :]
    if not following and both.pagination.has_next_page:
        return None
    return [record.id for record in following[:1]] == [record.id for record in page.data[:1]]


def by_offset(search: Search[Record], first: Opening[Record], *, threads: int) -> Pages[Record]:
    """Yield the pages of a table in their order, read side by side and verified.

    Every page but the first also asks for the row before it, which must be the row that the page before ended with, to
    the letter; each must be as long as it should, count the same total, and the last one must be the last. Then no row
    that was there all the time is lost, although the pages were not read at one moment.

    Raises
    ------
    ShiftedError
        When anything of that fails.
    """
    size, total = len(first.page.data), first.page.pagination.total
    assert total is not None
    yield first.page, True
    last = first.page.data[-1]
    offsets = range(size - 1, total - 1, size - 1)
    calls = (functools.partial(search, offset=offset, limit=size) for offset in offsets)
    with closing(side_by_side(calls, threads)) as pages:
        for offset in offsets:
            page = _page_at(pages)
            expected = min(size, total - offset)
            if len(page.data) != expected or page.pagination.total != total or page.data[0] != last:
                raise ShiftedError(f"the page at row {offset} does not join the one before it")
            if page.pagination.has_next_page != (offset + expected < total):
                raise ShiftedError(f"the service counts {total} rows and its pages end elsewhere")
            last = page.data[-1]
            yield Page(page.data[1:], page.pagination), True


def _page_at(pages: Iterator[Page[Record]]) -> Page[Record]:
    try:
        return next(pages)
    except StatusError as error:
        if error.status not in REFUSED:
            raise
        raise ShiftedError("the service refuses pages so far from the beginning") from error
