"""Names beside identifiers: every table that a person reads gets its names and their order from here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.schema import TEXT
from bktools.frames.tables import in_memory, text_of, with_column
from bktools.wording import words
from bktools.wording.numbers import month

# The columns that a person reads first, in this order. All other columns, steps to do, and identifiers
# follow.
FIRST = (
    "date",
    "supplier",
    "amount",
    "currency",
    "description",
    "category_name",
    "account_code",
    "account_name",
    "employee_name",
    "cost_centre",
    "tax_code",
)
TO_DO = ("severity", "check", "reason", "message", "to_do", "who")
IDENTIFIERS = (
    "line",
    "id",
    "entry_id",
    "batch_id",
    "job_id",
    "company_id",
    "category_id",
    "account_id",
    "external_id",
    "employee_id",
)


def with_names(
    entries: pa.Table, *, categories: Any = None, accounts: Any = None, employees: Any = None
) -> pa.Table:
    """Return entries with the names of their category, account and employee, from the given frames.

    The columns are `category_name`; `account_code` and `account_name` of the category's account;
    `employee_name` (the e-mail where the service has no name). Null where there is none. Such columns of the
    entries are replaced; a category's or an employee's own name stays where the frames have no other. The
    frames are as `load_categories`, `load_accounts` and `load_employees` return them, of any supported tool.
    """
    if categories is not None and "category_id" in entries.column_names:
        known = _named(categories, "categories", ("name", "account_id"))
        positions = _places(entries.column("category_id"), known)
        entries = _with_known(entries, "category_name", known.column("name").take(positions))
        if accounts is not None:
            others = _named(accounts, "accounts", ("code", "external_id", "name"))
            account = others.take(_places(known.column("account_id"), others).take(positions))
            code = pc.coalesce(account.column("code"), account.column("external_id"))
            entries = with_column(entries, "account_code", code)
            entries = with_column(entries, "account_name", account.column("name"))
    if employees is not None and "employee_id" in entries.column_names:
        known = _named(employees, "employees", ("first_name", "last_name", "email"))
        names = _full_name(known).take(_places(entries.column("employee_id"), known))
        entries = _with_known(entries, "employee_name", names)
    return entries


class Import(NamedTuple):
    """When a list of accounts was last imported; both are None where nothing says it."""

    # The day, in ISO 8601.
    day: str | None = None
    none: bool | None = None


def import_of(accounts: pa.Table) -> Import:
    """Return when a list of accounts was last imported."""
    if not {"state", "updated_at"} <= {*accounts.column_names}:
        return Import()
    states = pc.cast(accounts.column("state"), TEXT)
    if len(states) and states.null_count == len(states):
        return Import()
    last = pc.max(accounts.column("updated_at").filter(pc.equal(states, "IMPORTED"))).as_py()
    return Import(none=True) if last is None else Import(str(last)[:10])


def month_and_company(entries: pa.Table, language: str = "en") -> str:
    """Return months and company of entries for a heading, such as "October 2026, company 9b48711b"."""
    texts, parts = words(language), []
    if "date" in entries.column_names and pa.types.is_temporal(entries.column("date").type):
        dates = pc.min_max(entries.column("date")).as_py()
        months = list(dict.fromkeys(f"{date:%Y-%m}" for date in dates.values() if date is not None))
        if len(months) > 1:
            parts.append(texts("report.picture.to", first=months[0], last=months[1]))
        parts += [month(one, language) for one in months] if len(months) == 1 else []
    if "company_id" in entries.column_names:
        companies = [
            str(company) for company in pc.unique(entries.column("company_id")).to_pylist() if company
        ]
        is_one = len(companies) == 1
        parts.append(
            texts("report.company", id=companies[0][:8])
            if is_one
            else texts.counted(len(companies), "company")
        )
    return ", ".join(filter(None, parts))


def in_reading_order(columns: Iterable[str]) -> list[str]:
    """Return column names as a person reads them: money and names, then what is to be done, identifiers last.

    Examples
    --------
    >>> in_reading_order(["id", "message", "Project", "amount", "date"])
    ['date', 'amount', 'Project', 'message', 'id']
    """
    there = list(columns)
    last = (*TO_DO, *IDENTIFIERS)
    others = [name for name in there if name not in {*FIRST, *last}]
    return [*(name for name in FIRST if name in there), *others, *(name for name in last if name in there)]


def _named(frame: Any, noun: str, columns: tuple[str, ...]) -> pa.Table:
    """Return the columns of a frame as text, by `id`; a column that it lacks is null."""
    table = in_memory(frame, noun, ("id", *columns))
    named = pa.table(
        {name: text_of(table, name, noun) for name in columns}
        | {"id": pc.ascii_lower(text_of(table, "id", noun))}
    )
    # A null would be found for an entry without an identifier.
    return named.filter(pc.is_valid(named.column("id")))


def _places(ids: pa.ChunkedArray, known: pa.Table) -> pa.ChunkedArray:
    """Return the number of the row of each identifier, null where it is unknown."""
    return pc.index_in(pc.ascii_lower(pc.cast(ids, TEXT)), known.column("id").combine_chunks())


def _full_name(employees: pa.Table) -> pa.ChunkedArray:
    parts = [
        pc.fill_null(pc.utf8_trim_whitespace(employees.column(name)), "")
        for name in ("first_name", "last_name")
    ]
    name = pc.utf8_trim_whitespace(pc.binary_join_element_wise(*parts, pa.scalar(" ", TEXT)))
    return pc.if_else(pc.equal(name, ""), employees.column("email"), name)


def _with_known(entries: pa.Table, column: str, names: pa.ChunkedArray) -> pa.Table:
    """Return entries with names; where there is none, with their own."""
    return with_column(entries, column, pc.coalesce(names, text_of(entries, column)))
