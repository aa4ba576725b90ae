"""A table of categories behind the interface's search, of which every part can be made wrong."""

# ruff: noqa: ARG005 - scripts have one form

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scripted_server import Asked, Step, answer

COMPANY = "00000000-0000-4000-8000-000000000001"
SYMBOLS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def row(number: int, name: str | None = None) -> dict[str, Any]:
    """Return a category."""
    return {
        "id": str(uuid.UUID(int=number * 0x9E3779B97F4A7C15 + 1)),
        "companyId": COMPANY,
        "categoryGroupId": str(uuid.UUID(int=7)),
        "name": name or f"Category {number}",
        "archived": number % 2 == 0,
        "accountId": None,
        "metadata": {"number": number} if number % 3 else None,
    }


def cursor_of(number: int) -> str:
    """Return the cursor after a row."""
    return "=" + "".join(SYMBOLS[number >> shift & 31] for shift in (20, 15, 10, 5, 0))


def key_of(item: dict[str, Any]) -> int:
    """Return the number that a row was made of; the order of the table, whatever comes and goes."""
    return (uuid.UUID(item["id"]).int - 1) // 0x9E3779B97F4A7C15


def number_of(cursor: str) -> int:
    """Return the row that a cursor is after."""
    shifts = zip(cursor[1:], (20, 15, 10, 5, 0), strict=True)
    return sum(SYMBOLS.index(symbol) << shift for symbol, shift in shifts)


@dataclass
class SmallService:
    """Answers searches; `spoil` may change each page before it is sent, `fault` may take its place."""

    rows: list[dict[str, Any]]
    cap: int = 10
    spoil: Callable[[dict[str, Any], int], None] = lambda page, begin: None
    fault: Callable[[int], list[Step] | None] = lambda number: None
    latency: float = 0.0
    count: int = field(default=0, init=False)

    def page(self, asked: Asked) -> dict[str, Any]:
        """Return the page that a request asks for."""
        after, limit = asked.one("after"), int(asked.one("limit") or self.cap)
        begin = int(asked.one("offset") or 0)
        if after:
            begin = sum(key_of(item) <= number_of(after) for item in self.rows)
        end = min(begin + min(limit, self.cap), len(self.rows))
        envelope: dict[str, Any] = {"hasNextPage": end < len(self.rows), "hasPreviousPage": begin > 0}
        envelope |= {"currentRequestPagination": {"parameters": {}}, "total": len(self.rows)}
        if end > begin:
            names = {"startCursor": begin, "endCursor": end - 1}
            envelope |= {name: cursor_of(key_of(self.rows[at])) for name, at in names.items()}
        page = {"data": self.rows[begin:end], "pagination": envelope}
        self.spoil(page, begin)
        return page

    def __call__(self, asked: Asked) -> list[Step]:
        """Answer a request."""
        self.count += 1
        fault = self.fault(self.count)
        steps = answer(self.page(asked)) if fault is None else fault
        return [self.latency, *steps] if self.latency else steps
