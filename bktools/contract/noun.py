"""The description of a noun: the endpoint that lists it, its record and its filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from bktools.contract.endpoint import Endpoint
from bktools.contract.paging import Page

Record = TypeVar("Record")


@dataclass(frozen=True)
class Filter:
    """One filter of a search."""

    # The filter's name in Python.
    argument: str
    # Takes the argument's name and a value; returns the value to send or raises `ArgumentError`.
    rule: Callable[[str, Any], Any]
    # The column that must match the filter; "" where rows cannot be checked.
    column: str = ""
    # The name in the request. Default: the argument in camel case.
    sent_as: str = ""
    # Whether a search needs it, whether the column may be null, and whether upper and lower case differ.
    required: bool = False
    optional_in_rows: bool = False
    is_exact: bool = False

    def __post_init__(self) -> None:
        if not self.sent_as:
            first, *others = self.argument.split("_")
            object.__setattr__(self, "sent_as", first + "".join(map(str.title, others)))


@dataclass(frozen=True)
class Noun(Generic[Record]):
    """A kind of record that the service lists, such as categories."""

    # In the plural.
    name: str
    # The operation that lists it.
    search: Endpoint
    # A `msgspec.Struct` with typed fields; a field without a default is required.
    record: type[Record]
    filters: tuple[Filter, ...]
    # For the command line: its name in a sentence, the columns that a terminal shows, a command that loads
    # it.
    title: str = ""
    shown: tuple[str, ...] = ()
    example: str = ""

    def checked(self, filters: Mapping[str, object], *, but: str = "") -> dict[str, Any]:
        """Check filters and return those that have a value, by argument; leave out `but`, which may follow.

        ASSUMED: an empty list is the same as no filter. Raises `ArgumentError` when a value breaks a rule of
        the interface, or a required filter is missing.
        """
        checked = {
            item.argument: item.rule(item.argument, filters.get(item.argument))
            for item in self.filters
            if item.argument != but and (item.required or filters.get(item.argument) is not None)
        }
        return {argument: value for argument, value in checked.items() if value != []}

    @property
    def page(self) -> type[Page[Record]]:
        """The type of its pages."""
        return Page[self.record]  # type: ignore[name-defined]  # a type built at run time

    @property
    def needs_company(self) -> bool:
        """Whether a search is for one company only."""
        return any(item.required for item in self.filters if item.argument == "company_id")

    def request(self, filters: Mapping[str, Any]) -> tuple[list[tuple[str, str]], bytes | None]:
        """Return query parameters (lists as repeated keys) and JSON body of a search with checked filters."""
        sent = {item.sent_as: filters[item.argument] for item in self.filters if item.argument in filters}
        if self.search.method != "GET":
            return [], msgspec.json.encode(sent)
        values = [(name, value if isinstance(value, list) else [value]) for name, value in sent.items()]
        return [(name, _in_query(item)) for name, items in values for item in items], None


def _in_query(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
