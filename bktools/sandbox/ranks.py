"""Pages of a sort by several keys, which no index serves: the order of all rows is worked out once and kept.

With it a page costs the same anywhere. It holds as long as the data do; a row takes eight bytes.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from functools import total_ordering
from typing import Any

from bktools.sandbox.paging import Condition, Key, Order, Rows, Span

Query = tuple[str, Condition, Order]
Execute = Callable[[str, tuple[Any, ...]], Iterable[tuple[Any, ...]]]

_MOST_ORDERS = 4


class Ranks:
    """The orders kept of one connection.

    Parameters
    ----------
    execute : callable
        Runs SQL with its parameters and gives the rows.
    """

    def __init__(self, execute: Execute) -> None:
        self._execute = execute
        self._kept: dict[Query, array[int]] = {}

    def forget(self) -> None:
        """Forget every order: the data changed."""
        self._kept.clear()

    def page(self, query: Query, span: Span, limit: int) -> Rows:
        """Return one page of a table."""
        positions = self._positions(query)
        total = len(positions)
        if span.before is not None:
            stop = self._place(bisect_left, query, positions, span.before)
            start = max(stop - limit, 0)
        else:
            start = min(span.offset or 0, total)
            if span.after is not None:
                start = self._place(bisect_right, query, positions, span.after)
            stop = min(start + limit, total)
        found = self._rows(query, positions[start:stop])
        keys, bodies = [row[1:] for row in found], [row[0] for row in found]
        return Rows(keys, bodies, has_previous=start > 0, has_next=stop < total, total=total)

    def _positions(self, query: Query) -> array[int]:
        if query not in self._kept:
            if len(self._kept) == _MOST_ORDERS:
                self._kept.pop(next(iter(self._kept)))
            table, matching, order = query
            terms = ", ".join(key.sql for key in order)
            sql = f"SELECT position FROM {table} WHERE {matching.sql} ORDER BY {terms}"  # noqa: S608 - own names, values are bound
            self._kept[query] = array("q", (row[0] for row in self._execute(sql, matching.parameters)))
        return self._kept[query]

    def _place(self, bisect: Callable[..., int], query: Query, positions: array[int], key: Key) -> int:
        """Return how many rows lie before a key, which need not be that of a row any more."""
        order = query[2]

        def sorted_as(position: int) -> tuple[object, ...]:
            [row] = self._rows(query, array("q", [position]))
            return _comparable(order, row[1:])

        return bisect(positions, _comparable(order, key), key=sorted_as)

    def _rows(self, query: Query, positions: array[int]) -> list[tuple[Any, ...]]:
        table, _, order = query
        columns = ", ".join(["body", *(key.column for key in order)])
        # One parameter however many rows: SQLite takes 32,766 parameters at most.
        sql = f"SELECT {columns} FROM {table} WHERE position IN (SELECT value FROM json_each(?))"  # noqa: S608 - own names
        found = {row[-1]: row for row in self._execute(sql, (json.dumps(positions.tolist()),))}
        return [found[position] for position in positions]


def _comparable(order: Order, key: Key) -> tuple[object, ...]:
    """Return a key as Python compares it in the way the order sorts."""
    return tuple(
        (value is not None if by.nulls_first else value is None, _Backwards(value) if by.descending else value)
        for by, value in zip(order, key, strict=True)
    )


@total_ordering
class _Backwards:
    """A value that compares the other way round."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Backwards) and bool(self._value == other._value)

    def __lt__(self, other: _Backwards) -> bool:
        return bool(other._value < self._value)

    def __hash__(self) -> int:
        return hash(self._value)
