"""Checks the rows of a table while its pages come: every row once, as asked for, and none missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar

from bktools.contract.noun import Filter, Noun
from bktools.contract.paging import Page
from bktools.errors import UnreadableAnswerError

Record = TypeVar("Record")


class Checks(Generic[Record]):
    """Checks a table while its pages come: filters, repeated ids, the service's count, pages that join."""

    def __init__(self, noun: Noun[Record], filters: Mapping[str, Any]) -> None:
        self._noun = noun
        self._allowed: dict[Filter, set[Any]] = {}
        for item in noun.filters:
            if item.column and item.argument in filters:
                value = filters[item.argument]
                values = value if isinstance(value, list) else [value]
                self._allowed[item] = {_comparable(item, allowed) for allowed in values}
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
        for item, allowed in self._allowed.items():
            if wrong := _unmatched(page.data, item, allowed):
                self._unfiltered[item] = self._unfiltered.get(item, 0) + wrong

    def require_filters(self, advice: str) -> None:
        """Raise `UnreadableAnswerError` when rows do not match a filter; `advice` ends its message."""
        for item, wrong in self._unfiltered.items():
            raise UnreadableAnswerError(
                f"the service did not apply the filter {item.argument} (sent as {item.sent_as}): {wrong} of {self.count} "
                f"{self._noun.name} do not match it; nothing was kept{advice}"
            )

    def repeated(self, different: int) -> str:
        """Return a message when rows came twice, else ""; `different` is the number of different ids."""
        again = self.count - different
        return f"{self.count} rows came, {again} of them a second time" if again else ""

    def drift(self) -> str:
        """Return a message when counts or pages show that the table changed while it was read, else ""."""
        totals, rows = list(self._totals), f"{self.count} rows came"
        if self._joined is False:
            return f"{rows} in pages that do not join"
        if totals and not min(totals) <= self.count <= max(totals):
            return f"{rows}, but the service counts {max(totals)}"
        if len(totals) > 1 and not self._joined:
            return f"{rows} while the service's count went from {totals[0]} to {totals[-1]}"
        return ""

    def unfiltered(self) -> list[str]:
        """Return a message for each filter that the service did not apply, with the number of rows."""
        return [
            f"{wrong} of {self.count} rows do not match the filter {item.argument}"
            for item, wrong in self._unfiltered.items()
        ]

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
