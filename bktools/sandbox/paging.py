"""Pages of a table: what a request may ask, cursors, and the SQL conditions that find a page at any depth.

A page starts at a key, the sort values and the position of a row, not at a count, so rows that come or go elsewhere
never shift it. "All rows after a key" is cut into segments that an index serves one by one: for a sort by (a, b) after
(1, 2) first a = 1 and b > 2, then a > 1.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from starlette.datastructures import QueryParams

from bktools.sandbox.answers import invalid
from bktools.sandbox.validation import INT32_MAX, INT64_MAX, known_parameters, whole_number

PARAMETERS = ("before", "after", "offset", "limit", "sorting_keys", "sorting_order")
LISTS = ("sorting_keys", "sorting_order")

# Without an order of its own a null counts as larger than every value.
_ORDERS = {
    "ASC": (False, False),
    "ASC_NULLS_FIRST": (False, True),
    "ASC_NULLS_LAST": (False, False),
    "DESC": (True, True),
    "DESC_NULLS_FIRST": (True, True),
    "DESC_NULLS_LAST": (True, False),
}
PAGE_ORDERS = tuple(_ORDERS)

CURSOR_PATTERN = "^[A-Z2-7=~]+$"
_CURSOR = re.compile(r"[A-Z2-7=~]+")
_SIGNATURE_BYTES = 16
_QUERY_BYTES = 8

Key = tuple[Any, ...]


class Condition(NamedTuple):
    """An SQL condition and its parameters."""

    sql: str
    parameters: tuple[Any, ...] = ()


@dataclass(frozen=True)
class SortKey:
    """A column to sort by."""

    column: str
    nullable: bool = False
    descending: bool = False
    nulls_first: bool = False

    def backwards(self) -> SortKey:
        """Return the key that sorts the other way round."""
        return replace(self, descending=not self.descending, nulls_first=not self.nulls_first)

    @property
    def sql(self) -> str:
        """The term of an ORDER BY."""
        nulls = f" NULLS {'FIRST' if self.nulls_first else 'LAST'}" if self.nullable else ""
        return f"{self.column} {'DESC' if self.descending else 'ASC'}{nulls}"


Order = tuple[SortKey, ...]


class Rows(NamedTuple):
    """Rows of a page: their keys, their JSON, and what lies on either side."""

    keys: list[Key]
    bodies: list[str]
    has_previous: bool
    has_next: bool
    total: int


class Span(NamedTuple):
    """Where a page lies: after a key, before a key, or at an offset."""

    after: Key | None = None
    before: Key | None = None
    offset: int | None = None


@dataclass(frozen=True)
class PageRequest:
    """What a request asks of paging, as it was sent."""

    before: str | None
    after: str | None
    offset: int | None
    limit: int | None
    sorting_keys: tuple[str, ...]
    sorting_order: tuple[str, ...]
    parameters: Mapping[str, list[str]]

    def echo(self) -> dict[str, Any]:
        """Return the envelope's `currentRequestPagination`: what was sent and nothing else."""
        fields = {
            "parameters": self.parameters,
            "after": self.after,
            "before": self.before,
            "limit": self.limit,
            "offset": self.offset,
            "sortingKeys": list(self.sorting_keys) or None,
            "sortingOrder": list(self.sorting_order) or None,
        }
        return {name: value for name, value in fields.items() if value is not None}


def read_page_request(query: QueryParams, filters: tuple[str, ...] = ()) -> PageRequest:
    """Read the paging parameters of a request, and refuse what breaks a rule of the interface (section 4.1)."""
    sent = known_parameters(query, filters + PARAMETERS, LISTS)
    bounds = [name for name in ("before", "after", "offset") if name in sent]
    if len(bounds) > 1:
        raise invalid(f"{bounds[1]} cannot be combined with {bounds[0]}; give one of before, after, offset")
    for name in ("before", "after"):
        if name in sent and not _CURSOR.fullmatch(sent[name][0]):
            raise invalid(f"{name} must match {CURSOR_PATTERN}, got {sent[name][0][:60]!r}")
    keys, orders = tuple(sent.get("sorting_keys", ())), tuple(sent.get("sorting_order", ()))
    for order in orders:
        if order not in _ORDERS:
            raise invalid(f"sorting_order must be one of {', '.join(_ORDERS)}, got {order[:60]!r}")
    if len(orders) != len(keys):
        raise invalid(f"sorting_order must have one entry per sorting key: {len(keys)} keys, {len(orders)} orders")
    return PageRequest(
        before=sent["before"][0] if "before" in sent else None,
        after=sent["after"][0] if "after" in sent else None,
        offset=whole_number("offset", sent["offset"][0], INT64_MAX) if "offset" in sent else None,
        limit=whole_number("limit", sent["limit"][0], INT32_MAX) if "limit" in sent else None,
        sorting_keys=keys,
        sorting_order=orders,
        parameters=sent,
    )


def read_order(request: PageRequest, sortable: Mapping[str, SortKey]) -> Order:
    """Return the order of the rows: the keys asked for, and last the position, which no two rows share."""
    order: list[SortKey] = []
    for name, direction in zip(request.sorting_keys, request.sorting_order, strict=True):
        if name not in sortable:
            raise invalid(f"unknown sorting key {name[:60]!r}; known are {', '.join(sortable)}")
        if any(key.column == sortable[name].column for key in order):
            raise invalid(f"sorting key {name} was given twice")
        descending, nulls_first = _ORDERS[direction]
        order.append(replace(sortable[name], descending=descending, nulls_first=nulls_first))
    # Rows of equal keys follow the last key's direction, so that an index is read in one direction.
    return (*order, SortKey("position", descending=bool(order) and order[-1].descending))


def backwards(order: Order) -> Order:
    """Return the order read from its end."""
    return tuple(key.backwards() for key in order)


class Segment(NamedTuple):
    """A part of the rows after a key that an index serves, and how it is sorted."""

    condition: Condition
    order: Order


def segments(order: Order, after: Key | None, *, inclusive: bool = False) -> list[Segment]:
    """Return the segments that together, in this order, are the rows after a key (with the key's own: inclusive)."""
    if after is None:
        return [Segment(part, order) for part in _whole(order[0])]
    found: list[Segment] = []
    for depth in reversed(range(len(order))):
        pinned = [_equal(key, value) for key, value in zip(order[:depth], after, strict=False)]
        deepest = depth == len(order) - 1
        beyond = _beyond(order[depth], after[depth], inclusive=inclusive and deepest)
        found += [Segment(all_of([*pinned, part]), order[depth:]) for part in beyond]
    return found


def _whole(key: SortKey) -> list[Condition]:
    if not key.nullable:
        return [Condition("1")]
    parts = [Condition(f"{key.column} IS NULL"), Condition(f"{key.column} IS NOT NULL")]
    return parts if key.nulls_first else parts[::-1]


def _beyond(key: SortKey, value: Any, *, inclusive: bool) -> list[Condition]:
    if value is None:
        return [Condition(f"{key.column} IS NOT NULL")] if key.nulls_first else []
    sign = ("<" if key.descending else ">") + ("=" if inclusive else "")
    parts = [Condition(f"{key.column} {sign} ?", (value,))]
    if key.nullable and not key.nulls_first:
        parts.append(Condition(f"{key.column} IS NULL"))
    return parts


def _equal(key: SortKey, value: Any) -> Condition:
    return Condition(f"{key.column} IS NULL") if value is None else Condition(f"{key.column} = ?", (value,))


def all_of(parts: list[Condition]) -> Condition:
    """Return the condition that all of the parts hold; with no parts it always does."""
    return Condition(
        " AND ".join(part.sql for part in parts) or "1", tuple(p for part in parts for p in part.parameters)
    )


class Cursors:
    """Writes and reads the cursors of one query: opaque, signed, and of no use to another query.

    Parameters
    ----------
    secret : str
        What cursors are signed with.
    query : object
        Table, filters and order, as JSON takes them.
    """

    def __init__(self, secret: str, query: object) -> None:
        self._secret = secret.encode()
        self._query = hashlib.sha256(json.dumps(query).encode()).digest()[:_QUERY_BYTES]

    def write(self, key: Key) -> str:
        """Return the cursor of a row."""
        content = self._query + json.dumps(key, separators=(",", ":")).encode()
        return base64.b32encode(self._sign(content) + content).decode()

    def read(self, name: str, cursor: str) -> Key:
        """Return the key of a cursor; refuse one of another query or of nobody."""
        try:
            whole = base64.b32decode(cursor)
        except ValueError:
            raise invalid(f"{name} is no cursor of this service") from None
        signature, content = whole[:_SIGNATURE_BYTES], whole[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._sign(content)):
            raise invalid(f"{name} is no cursor of this service")
        if content[:_QUERY_BYTES] != self._query:
            raise invalid(
                f"{name} is a cursor of another search; a cursor goes with the filters and sorting it came from"
            )
        return tuple(json.loads(content[_QUERY_BYTES:]))

    def _sign(self, content: bytes) -> bytes:
        return hmac.digest(self._secret, content, "sha256")[:_SIGNATURE_BYTES]
