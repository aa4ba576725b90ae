"""Paging: parameters of a request (interface, section 4.1) and envelope of the answer (section 2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, SupportsIndex, TypeVar

import msgspec

from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.wording import Sentence

PAGE_ORDERS = ("ASC", "ASC_NULLS_FIRST", "ASC_NULLS_LAST", "DESC", "DESC_NULLS_FIRST", "DESC_NULLS_LAST")


def page_query(
    before: str | None = None,
    after: str | None = None,
    offset: SupportsIndex | None = None,
    limit: SupportsIndex | None = None,
    sorting_keys: Sequence[str] = (),
    sorting_order: Sequence[str] = (),
) -> list[tuple[str, str]]:
    """Check every rule of the interface, and return the query parameters of a page; lists as repeated keys.

    Parameters
    ----------
    before, after : str, optional
        A cursor of an earlier page: return rows before or after it. Of before, after and offset give only
        one.
    offset : int, optional
        Rows to skip, 0 or more (int64).
    limit : int, optional
        Most rows to return, 0 or more (int32); the service may return fewer.
    sorting_keys : sequence of str
        Keys to sort by; the interface does not list the valid ones.
    sorting_order : sequence of str
        One of `PAGE_ORDERS` for each key.

    Raises
    ------
    ArgumentError
        When a value breaks a rule.
    """
    bounds = [
        name
        for name, value in (("before", before), ("after", after), ("offset", offset))
        if value is not None
    ]
    if len(bounds) > 1:
        raise ArgumentError(bounds[1], Sentence("rule.one_bound", other=bounds[0]))
    query: list[tuple[str, str]] = []
    for name, cursor in (("before", before), ("after", after)):
        if cursor is None:
            continue
        # The interface gives a pattern for cursors in requests, but none for cursors in answers. A cursor
        # from an answer must pass, so only empty and unprintable ones are refused.
        if not (isinstance(cursor, str) and cursor and cursor.isprintable()):
            raise ArgumentError(name, Sentence("rule.cursor"), cursor)
        query.append((name, cursor))
    for name, number, largest in (("offset", offset, rules.INT64_MAX), ("limit", limit, rules.INT32_MAX)):
        if number is not None:
            query.append((name, str(rules.whole_number(name, number, largest=largest))))
    return query + _sorting(sorting_keys, sorting_order)


def _sorting(sorting_keys: Sequence[str], sorting_order: Sequence[str]) -> list[tuple[str, str]]:
    query: list[tuple[str, str]] = []
    for name, texts in (("sorting_keys", sorting_keys), ("sorting_order", sorting_order)):
        if isinstance(texts, str):
            raise ArgumentError(name, Sentence("rule.list_of_texts"), texts)
        query += [
            (name, rules.text(f"{name}[{index}]", text, shortest=1)) for index, text in enumerate(texts)
        ]
    for index, order in enumerate(sorting_order):
        if order not in PAGE_ORDERS:
            rule = Sentence("rule.one_of", choices=", ".join(PAGE_ORDERS))
            raise ArgumentError(f"sorting_order[{index}]", rule, order)
    keys, orders = len(sorting_keys), len(sorting_order)
    if orders != keys:
        raise ArgumentError("sorting_order", Sentence("rule.sorting_orders", keys=keys, orders=orders))
    return query


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
