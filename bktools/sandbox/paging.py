"""Pages of a table: the paging parameters, cursors, and the SQL that finds a page.

A page starts after a key (the sort values and the position of a row), not after a count, so that rows added
or removed elsewhere never shift it. Without sorting keys the position alone is the key, and every page costs
the same.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from bktools.sandbox.answers import invalid
from bktools.sandbox.requests import Paging

# Whether an order is descending and has nulls first. By default a null is larger than every value.
PAGE_ORDERS = {
    "ASC": (False, False),
    "ASC_NULLS_FIRST": (False, True),
    "ASC_NULLS_LAST": (False, False),
    "DESC": (True, True),
    "DESC_NULLS_FIRST": (True, True),
    "DESC_NULLS_LAST": (True, False),
}

_QUERY_DIGITS = 16

Key = tuple[Any, ...]


class Condition(NamedTuple):
    """An SQL condition and its parameters."""

    sql: str
    parameters: tuple[Any, ...] = ()


class Term(NamedTuple):
    """A term of an ORDER BY, in its direction."""

    sql: str
    descending: bool = False


Order = tuple[Term, ...]


def field(name: str) -> str:
    """Return the SQL of a field of a row's JSON."""
    return f"json_extract(body, '$.{name}')"


def among(column: str) -> str:
    """Return the SQL of a filter that a column has one of the values of a list."""
    return f"{column} IN (SELECT value FROM json_each(?))"


def condition_of(sql: str, value: Any) -> Condition:
    """Return the condition of a filter's SQL with its value or its list of values."""
    # One parameter however many values, sorted so that the same set is the same query.
    return Condition(sql, (json.dumps(sorted(value)) if isinstance(value, list | tuple) else value,))


def all_of(*conditions: Condition) -> Condition:
    """Return the condition that all of them hold."""
    sql = " AND ".join(["1", *(condition.sql for condition in conditions)])
    return Condition(sql, tuple(value for condition in conditions for value in condition.parameters))


def backwards(order: Order) -> Order:
    """Return the order read from its end."""
    return tuple(Term(term.sql, not term.descending) for term in order)


def beyond(order: Order, key: Key, *, inclusive: bool = False) -> Condition:
    """Return the condition that a row comes after a key, or has the key itself where `inclusive`."""
    (last, value), *upper = reversed(list(zip(order, key, strict=True)))
    condition = Condition(
        f"{last.sql} {'<' if last.descending else '>'}{'=' if inclusive else ''} ?", (value,)
    )
    for term, value in upper:
        sql = f"({term.sql} {'<' if term.descending else '>'} ? OR {term.sql} IS ? AND {condition.sql})"
        condition = Condition(sql, (value, value, *condition.parameters))
    return condition


def check_page(page: Paging, sortable: Sequence[str]) -> None:
    """Refuse paging parameters that do not go together, and what a noun is not sorted by (section 4.1)."""
    bounds = [name for name in ("before", "after", "offset") if getattr(page, name) is not None]
    if len(bounds) > 1:
        raise invalid(f"{bounds[1]} cannot be combined with {bounds[0]}; give one of before, after, offset")
    keys, orders = page.sorting_keys, page.sorting_order
    if len(orders) != len(keys):
        rule = "sorting_order must have one entry per sorting key"
        raise invalid(f"{rule}: {len(keys)} keys, {len(orders)} orders")
    if len({*keys}) < len(keys) or not {*keys} <= {*sortable} or not {*orders} <= {*PAGE_ORDERS}:
        raise invalid(
            f"sort by some of {', '.join(sortable)}, each once, in an order of {', '.join(PAGE_ORDERS)}"
        )


def order_of(page: Paging) -> Order:
    """Return the order of the rows: the keys asked for, and last the position, which no two rows share."""
    terms: list[Term] = []
    descending = False
    for name, order in zip(page.sorting_keys, page.sorting_order, strict=True):
        descending, nulls_first = PAGE_ORDERS[order]
        terms += [Term(f"({field(name)} IS NULL)", nulls_first), Term(field(name), descending)]
    # Rows of equal keys follow the last key's direction.
    return (*terms, Term("position", descending))


class Cursors:
    """Writes and reads the cursors of one query: opaque, and of no use to another query."""

    def __init__(self, query: object) -> None:
        self._query = hashlib.sha256(json.dumps(query).encode()).hexdigest()[:_QUERY_DIGITS]

    def write(self, key: Key) -> str:
        """Return the cursor of a row."""
        return base64.b32encode(json.dumps([self._query, *key]).encode()).decode()

    def read(self, name: str, cursor: str) -> Key:
        """Return the key of a cursor; refuse the cursor of another query and text that is no cursor."""
        try:
            query, *key = json.loads(base64.b32decode(cursor))
        except (ValueError, TypeError, RecursionError):
            raise invalid(f"{name} is no cursor of this service") from None
        if query != self._query:
            raise invalid(
                f"{name} is a cursor of another search; a cursor goes with the filters and sorting it came "
                "from"
            )
        return tuple(key)
