"""From page to page through a whole table: every row once, or an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

from bktools.contract.paging import CURSOR_PATTERN, Page
from bktools.errors import PagingError, StatusError

Record = TypeVar("Record")

# ASSUMED: the largest page is unknown; a service returns fewer rows than asked when it caps them.
LARGE_PAGE = 1000

# Statuses with which a service may refuse a page that is too large for it.
REFUSED = (400, 413, 422)

MOST_EMPTY_PAGES = 10


class Search(Protocol[Record]):
    """A search of the service with its filters given, open in its paging."""

    def __call__(self, *, after: str | None = None, limit: int | None = None) -> Page[Record]:
        """Return a page."""


def by_cursor(search: Search[Record], *, limit: int = LARGE_PAGE) -> Iterator[Page[Record]]:
    """Yield the pages of a table, first to last, each after the cursor that ended the one before.

    Parameters
    ----------
    search : callable
        Takes `after` and `limit`, returns a page.
    limit : int
        Rows to ask for; what comes back decides the step, never this.

    Raises
    ------
    PagingError
        When the cursors do not lead on: missing, malformed, repeated, or leading through empty pages without end.
    """
    page, limit_taken = _first(search, limit)
    seen: set[str] = set()
    empty = 0
    while True:
        yield page
        envelope = page.pagination
        if not envelope.has_next_page:
            return
        cursor = envelope.end_cursor
        if cursor is None:
            raise PagingError("the service says there is a next page and gives no cursor for it")
        if not CURSOR_PATTERN.match(cursor):
            raise PagingError(f"the service gave a cursor that is none of its own pattern: {cursor[:40]!r}")
        if cursor in seen:
            raise PagingError("the service gave the same cursor twice: going on would never end")
        seen.add(cursor)
        empty = 0 if page.data else empty + 1
        if empty > MOST_EMPTY_PAGES:
            raise PagingError(f"the service gave {empty} pages without a row, each claiming a next one")
        page = search(after=cursor, limit=limit_taken)


def _first(search: Search[Record], limit: int) -> tuple[Page[Record], int | None]:
    try:
        return search(limit=limit), limit
    except StatusError as error:
        if error.status not in REFUSED:
            raise
        # The page may be larger than this service takes; its own default never is. If it was something else that was
        # refused, it is refused again, and that error is the one to show.
        return search(), None
