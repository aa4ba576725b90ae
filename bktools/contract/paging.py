"""Paging: the parameters of a request (interface, section 4.1) and the envelope of the answer (section 2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, SupportsIndex, TypeVar

import msgspec

from bktools.contract import rules
from bktools.errors import ArgumentError

PAGE_ORDERS = ("ASC", "ASC_NULLS_FIRST", "ASC_NULLS_LAST", "DESC", "DESC_NULLS_FIRST", "DESC_NULLS_LAST")

QUERY_NAMES = ("before", "after", "offset", "limit", "sorting_keys", "sorting_order")


@dataclass(frozen=True)
class PageRequest:
    """The page to request. Creating one checks every rule of the interface.

    Parameters
    ----------
    before, after : str, optional
        A cursor of an earlier page: return rows before or after it. Give only one of before, after and offset.
    offset : int, optional
        Rows to skip, 0 or more (int64).
    limit : int, optional
        Most rows to return, 0 or more (int32); the service may return fewer.
    sorting_keys : sequence of str
        Keys to sort by; the interface does not list the valid ones.
    sorting_order : sequence of str
        One of `PAGE_ORDERS` for each key.
    """

    before: str | None = None
    after: str | None = None
    offset: SupportsIndex | None = None
    limit: SupportsIndex | None = None
    sorting_keys: Sequence[str] = ()
    sorting_order: Sequence[str] = ()

    def __post_init__(self) -> None:
        given = [name for name in ("before", "after", "offset") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ArgumentError(given[1], f"cannot be combined with {given[0]}: give one of before, after, offset")
        _check_cursor("before", self.before)
        _check_cursor("after", self.after)
        if self.offset is not None:
            rules.whole_number("offset", self.offset)
        if self.limit is not None:
            rules.whole_number("limit", self.limit, largest=rules.INT32_MAX)
        self._check_sorting()

    def _check_sorting(self) -> None:
        for name in ("sorting_keys", "sorting_order"):
            values = getattr(self, name)
            if isinstance(values, str):
                raise ArgumentError(name, "must be a list of texts, not one text", values)
            for index, value in enumerate(values):
                rules.text(f"{name}[{index}]", value, shortest=1)
        for index, order in enumerate(self.sorting_order):
            if order not in PAGE_ORDERS:
                raise ArgumentError(f"sorting_order[{index}]", f"must be one of {', '.join(PAGE_ORDERS)}", order)
        if len(self.sorting_order) != len(self.sorting_keys):
            raise ArgumentError(
                "sorting_order",
                f"must have one entry per sorting key ({len(self.sorting_keys)}), has {len(self.sorting_order)}",
            )

    def query(self) -> list[tuple[str, str]]:
        """Return the query parameters, lists as repeated keys."""
        pairs: list[tuple[str, str]] = []
        for name in QUERY_NAMES:
            value = getattr(self, name)
            if value is None:
                continue
            values = value if name.startswith("sorting") else (value,)
            pairs += [(name, str(item)) for item in values]
        return pairs


def _check_cursor(argument: str, cursor: object) -> None:
    # The interface gives a pattern for cursors in requests, but none for cursors in answers. A cursor from an answer must
    # pass, so only empty and unprintable ones are refused.
    if cursor is not None and not (isinstance(cursor, str) and cursor and cursor.isprintable()):
        raise ArgumentError(argument, "must be a cursor that an earlier page gave (startCursor or endCursor)", cursor)


class CurrentRequestPagination(msgspec.Struct, frozen=True, rename="camel"):
    """Echo of the request's paging."""

    parameters: dict[str, list[str]] = {}
    after: str | None = None
    before: str | None = None
    limit: int | None = None
    offset: int | None = None
    sorting_keys: list[str] | None = None
    sorting_order: list[str] | None = None


class Pagination(msgspec.Struct, frozen=True, rename="camel"):
    """Envelope of a page.

    `current_request_pagination` is optional here although the interface requires it, because it is not used.
    """

    has_next_page: bool
    has_previous_page: bool
    current_request_pagination: CurrentRequestPagination | None = None
    start_cursor: str | None = None
    end_cursor: str | None = None
    total: int | None = None


Record = TypeVar("Record")


class Page(msgspec.Struct, Generic[Record], frozen=True):
    """One page of a table: `data`, the records, and `pagination`, the envelope."""

    data: list[Record]
    pagination: Pagination
