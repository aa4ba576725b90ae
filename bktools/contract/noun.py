"""What is known of a thing that the service lists: its endpoint, its record, its filters and how rows show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bktools.contract.endpoint import Endpoint

Record = TypeVar("Record")


@dataclass(frozen=True)
class Filter:
    """One filter of a search.

    Parameters
    ----------
    argument : str
        Its name in Python.
    sent_as : str
        Its name in the request.
    rule : callable
        Takes the argument's name and a value, returns the value as it is sent or raises `ArgumentError`.
    option, help : str
        Its option on the command line, and what that says; without one, the command has a way of its own for it.
    column : str, optional
        The column whose values show that the service applied the filter; None where rows do not show it.
    required : bool
        Whether a search must have it.
    optional_in_rows : bool
        Whether a row may leave the column out.
    ignores_case : bool
        Whether rows may differ from the filter in upper and lower case.
    """

    argument: str
    sent_as: str
    rule: Callable[[str, Any], Any]
    option: str = ""
    help: str = ""
    column: str | None = None
    required: bool = False
    optional_in_rows: bool = False
    ignores_case: bool = False


@dataclass(frozen=True)
class Noun(Generic[Record]):
    """A thing that the service lists.

    Parameters
    ----------
    name : str
        What rows are, in the plural.
    search : Endpoint
        The operation that lists them.
    record : type
        A `msgspec.Struct`: fields with their types; those without a default are in every row.
    filters : tuple of Filter
        What a search can be narrowed to.
    """

    name: str
    search: Endpoint
    record: type[Record]
    filters: tuple[Filter, ...]

    def checked(self, given: Mapping[str, object]) -> dict[str, Any]:
        """Return the filters that narrow anything, by argument.

        ASSUMED: an empty list is the same as no filter.

        Raises
        ------
        ArgumentError
            When a value breaks a rule of the interface, or a required one is missing.
        """
        found = {
            item.argument: item.rule(item.argument, given.get(item.argument))
            for item in self.filters
            if item.required or given.get(item.argument) is not None
        }
        return {argument: value for argument, value in found.items() if value != []}

    def request(self, given: Mapping[str, object]) -> tuple[list[tuple[str, str]], dict[str, Any] | None]:
        """Return the query parameters and the body of a search, checked; lists in a query are repeated keys."""
        checked = self.checked(given)
        sent = {item.sent_as: checked[item.argument] for item in self.filters if item.argument in checked}
        if self.search.method != "GET":
            return [], sent
        values = [(name, value if isinstance(value, list) else [value]) for name, value in sent.items()]
        return [(name, _in_query(item)) for name, items in values for item in items], None


def _in_query(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
