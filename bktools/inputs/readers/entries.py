"""Accounting entries as files hold them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any, Unpack

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.connection import company_named
from bktools.contract import rules
from bktools.frames import schema
from bktools.frames.money import check_form
from bktools.inputs import cells
from bktools.inputs.assignment import MONEY, ask_for, candidates
from bktools.inputs.fields import fields_of
from bktools.inputs.formats.registry import refuse_ledgers
from bktools.inputs.headings import opened
from bktools.inputs.mappings import options_with
from bktools.inputs.options import EntriesOptions, plus, takes_options
from bktools.inputs.question import call_of
from bktools.inputs.raw.source import Source
from bktools.inputs.reading import Reading, Step, read_by_steps
from bktools.inputs.values import names
from bktools.inputs.values.approvals import read_approvals
from bktools.inputs.values.currencies import own_currency
from bktools.inputs.values.days import is_day
from bktools.inputs.values.money import read_money

# The service's own UUID of no category.
_NO_CATEGORY = "00000000-0000-0000-0000-000000000000"
# What a budget has amounts for.
_ACCOUNT = "account_code"
_KEYS = {"category_id", "cost_centre", "employee_id", "supplier", _ACCOUNT}

# Categories and employees by the field that names them, None where they were not given.
Frames = Mapping[str, pd.DataFrame | None]


@takes_options("entries")
def read_entries(
    path: str | PathLike[str],
    *,
    company: str | None = None,
    categories: pd.DataFrame | None = None,
    employees: pd.DataFrame | None = None,
    company_currency: str | None = None,
    required: Sequence[str] = (),
    money: str = "float",
    mapping: str | PathLike[str] | None = None,
    **options: Unpack[EntriesOptions],
) -> pd.DataFrame:
    r"""Read accounting entries from a CSV, TSV, Excel or Parquet file.

    Parameters
    ----------
    path : str or path
        The file.
    company : str, optional
        UUID or short name of the company that the entries belong to where the file has no column for it.
    categories : DataFrame, optional
        As `load_categories` returns it: the file may name categories by ID, name or code.
    employees : DataFrame, optional
        As `load_employees` returns it: the file may name employees by ID, e-mail, code or name.
    company_currency : str, optional
        The company's own currency, for amounts of which nothing else says it; by default that of the
        settings.
    required : sequence of str
        Fields that the file must have a column for.
    money : str
        "float": amounts as float64, each exactly the file's amount; one of more than 15 digits is refused.
        "decimal": amounts as Arrow decimals, with which some operations of pandas fail.
    mapping : str or path, optional
        Name of a saved mapping, or path of its .toml file: its options are read behind those that are given.
    {options}

    The fields are `id`, `company_id`, `date`, `amount`, `currency`, `category_id`, `employee_id`, `status`,
    `approved`, `supplier`, `description`, `cost_centre`, `tax_code`, and `side`, `debit`, `credit` for
    amounts whose sign stands apart, and `split_line` for the number of each part of a split entry, from 1.

    Returns
    -------
    pandas.DataFrame
        One row per entry, in the order of the file, with those columns of `bktools.frames.schema.ENTRIES`
        that the file has, `line`, and the columns that are no field as text under their own headings. The
        same entry twice stays twice. A file with split entries has a row for each of their lines, with
        `split_line` (its number from 1; 0 for an entry of one line) and `split_lines` (their count). `id` is
        null where the file has no entry IDs of the service: such entries can be analysed, and are not ready
        for export.

    Raises
    ------
    QuestionError
        When something about the file is open. Its message has all of it, the choices that can settle it, and
        the call that reads the file.
    InputError
        When the file cannot be read, or a value is not what its column says.
    ArgumentError
        When an argument is not what it must be.

    Warns
    -----
    FileNoteWarning
        When there are notes to know of, such as rows left out. All notes stand in `frame.attrs["bktools"]`.

    Notes
    -----
    Sections 2.5 and 4.2 of the interface: an export job takes the entries' IDs and the company's.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> entry = "1b4e28ba-2fa1-41d2-883f-0016d3cca427,2026-10-06,12.50,EUR"
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "entries.csv")
    ...     _ = path.write_text(f"entry_id,date,amount,currency\n{entry}\n", encoding="utf-8")
    ...     entries = read_entries(path)
    >>> entries["amount"].tolist()
    [12.5]
    """
    check_form(money)
    company = None if company is None else company_named(company)
    source = Source(path, "entries")
    refuse_ledgers(source)
    frames: Frames = {"category_id": categories, "employee_id": employees}
    own = company_currency or own_currency()
    steps: list[Step] = [
        partial(_read_amounts, frames=frames, company=company, required=required, own=own),
        partial(_read_identities, frames=frames, company=company),
        _pass_others_through,
    ]
    return read_by_steps(
        partial(opened, source),
        steps,
        options_with(mapping, path, "entries", options),
        schema.ENTRIES,
        finish=split_entries,
        money=money,
    )


def _read_amounts(
    reading: Reading, *, frames: Frames, company: str | None, required: Sequence[str], own: str | None
) -> None:
    """Find the columns, and read days, amounts and currencies."""
    reading.result["id"] = reading.constant(None, schema.TEXT)
    _take_budget(reading)
    _ask_of_repeated_total(reading)
    _find_columns(reading, frames, company, required)
    read_money(reading, own)


def _find_columns(reading: Reading, frames: Frames, company: str | None, required: Sequence[str]) -> None:
    """Find the columns of names and IDs, and ask for those that are required.

    IDs of another system are none of the service, and names of categories and employees say nothing without
    the frames that know them.
    """
    for field, frame in frames.items():
        if reading.has(field):
            _find_names(reading, field, frame, required)
        elif frame is not None and not reading.is_asked(field) and field not in required:
            for place in names.columns_of(reading, field, frame, company)[:1]:
                reading.note("looks_like", field=field, heading=reading.table.headings[place])
    for field in required:
        is_open = not reading.has(field) and not reading.is_asked(field)
        if is_open and field not in ("date", "amount", "currency"):
            frame = frames.get(field)
            offered = (
                candidates(reading, field)
                if frame is None
                else names.columns_of(reading, field, frame, company)
            )
            ask_for(reading, field, [reading.table.choice(field, place) for place in offered])


def _find_names(reading: Reading, field: str, frame: pd.DataFrame | None, required: Sequence[str]) -> None:
    values = reading.or_null(field)
    is_id = cells.matches(values, rules.UUID_REGEX)
    if is_id.all():
        return
    has_ids = is_id.sum() > values.null_count
    is_headed_id = reading.seen(reading.places[field]).is_headed(field)
    if frame is not None or not is_headed_id:
        reading.own_names[field.replace("_id", "_name")] = reading.places[field]
    # Where an option names a column with some IDs, the other cells are wrong.
    if frame is None and field not in required and not (reading.is_asked(field) and has_ids):
        if is_headed_id:
            reading.note("ids_of_another_system", heading=reading.heading(field))
        reading.leave(field)


def _take_budget(reading: Reading) -> None:
    """Take a file without days for a budget: unasked where headings name all that a budget has."""
    places = reading.places
    columns = map(reading.seen, range(len(reading.table.headings)))
    is_dated = any(
        column.most(is_day, 0.5) or fields_of(column.heading, "entries") & {"date"} for column in columns
    )
    has_key, budget = bool(_KEYS & places.keys()), places.pop("budget", None)
    if is_dated:
        # The account of an entry follows from its category: a budget alone may name it.
        reading.leave(_ACCOUNT)
        return
    if budget is not None and has_key and not {*MONEY} & places.keys():
        places["amount"] = budget
    reading.own_names |= {_ACCOUNT: places[_ACCOUNT]} if _ACCOUNT in places else {}
    # Accounts with amounts are a trial balance, too.
    is_named = budget is not None or bool(_KEYS & places.keys() - {_ACCOUNT}) or reading.is_asked("date")
    if has_key and is_named and reading.table.is_known and "amount" in places:
        reading.may_lack = frozenset({"date", "currency"})
        reading.note("budget")
    elif (has_key or {*MONEY} & places.keys()) and not reading.is_asked("date"):
        # What has neither a heading of amounts nor one of a budget is no file of entries.
        reading.may_lack = frozenset({"date", "currency"} if has_key else {"date"})
        reading.problems.ask("no_days", [{"columns": {"date": ""}}], is_doubtful=True)


def _ask_of_repeated_total(reading: Reading) -> None:
    """Ask about a total that is the same in all rows of a document: its lines would count it again."""
    if reading.asked or not reading.has("amount"):
        return
    total = reading.seen(reading.places["amount"])
    for column in map(reading.seen, reading.free()):
        rows = {*zip(column.sample, total.sample, strict=True)}
        is_document = column.is_headed("document_number") and column.repeats and column.share == 1
        if is_document and total.is_headed("total_amount") and len(rows) == len(column.kinds):
            choice = reading.table.choice("amount", reading.places["amount"])
            facts = {"heading": total.heading, "document": column.heading}
            reading.problems.ask("repeated_total", [choice], is_doubtful=True, **facts)


def _is_budget(reading: Reading) -> bool:
    return "date" in reading.may_lack


def _read_identities(reading: Reading, *, frames: Frames, company: str | None) -> None:
    """Read IDs of entries, companies, categories and employees, and what is said of approvals.

    IDs of another system are text, and no IDs.
    """
    result, has_id = reading.result, reading.has("id")
    result["id"] = reading.constant(None, schema.TEXT)
    result["company_id"] = reading.constant(company, schema.TEXT)
    for field in filter(reading.has, ("company_id", "id")):
        column = reading.column(field)
        if not cells.matches(column, rules.UUID_REGEX).any() and not cells.are_blank(column):
            reading.note("ids_of_another_system", heading=reading.heading(field))
            reading.leave(field)
            continue
        is_uuid = cells.matches(column, rules.UUID_REGEX) & ~cells.blank(column)
        if field == "id" and is_uuid.sum() * 2 > len(column):
            # The plan holds back the others.
            reading.note_rows("ids_not_of_the_service", ~is_uuid, heading=reading.heading(field))
            result["id"] = cells.or_null(pc.if_else(pa.array(is_uuid), pc.ascii_lower(column), column))
            continue
        # Where some are UUIDs, the others are wrong.
        with reading.trying():
            result[field] = cells.uuids(reading.table, reading.places[field], required=True)
    if not has_id and reading.has("date"):
        # Amounts without dates are a budget, which has no entries.
        heading, call = None, None
        for place in candidates(reading, "id")[:1]:
            heading, choice = reading.table.headings[place], reading.table.choice("id", place)
            call = call_of(reading.source.name, reading.kind, plus(reading.options, choice))
        reading.note("no_entry_ids", heading=heading, call=call)
    _read_names(reading, frames, company)
    read_approvals(reading)


def _read_names(reading: Reading, frames: Frames, company: str | None) -> None:
    """Read the IDs of categories and employees, or the names that the frames know."""
    for field, frame in frames.items():
        if _is_budget(reading) and field.replace("_id", "_name") in reading.own_names:
            # Names of a budget are looked up where it is compared.
            reading.leave(field)
        if not reading.has(field):
            continue
        with reading.trying():
            reading.result[field] = (
                cells.uuids(reading.table, reading.places[field], required=False)
                if frame is None
                else names.identifiers(reading, field, frame, company)
            )
    if "category_id" in reading.result:
        ids = reading.result["category_id"]
        nothing = pa.scalar(None, schema.TEXT)
        reading.result["category_id"] = pc.if_else(pc.equal(ids, _NO_CATEGORY), nothing, ids)


def _without_ids(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_id = cells.matches(column, rules.UUID_REGEX)
    return cells.or_null(pc.if_else(pa.array(is_id), pa.scalar("", column.type), column))


def _pass_others_through(reading: Reading) -> None:
    """Keep the file's own names beside the IDs, and other columns as text under headings of their own."""
    table, own_names = reading.table, reading.own_names
    own = {field: table.columns[place] for field, place in own_names.items()}
    # An ID in a budget stands for a category without a name.
    clean = cells.or_null if _is_budget(reading) else _without_ids
    own = {field: clean(column) for field, column in own.items()}
    # No entry has an account of its own.
    reading.others |= {name: own.pop(name) for name in [*own] if name == _ACCOUNT}
    reading.result |= own
    reserved = {*(name.casefold() for name in schema.ENTRIES.names), "batch_id", "reason", "message"}
    # The numbers of split entries are a column as the file has it, too.
    fields = {place for name, place in reading.places.items() if name != "split_line"}
    for place in range(len(table.headings)):
        if place in fields or place in own_names.values():
            continue
        name = table.headings[place].strip()
        if name.casefold() in reserved:
            name = f"{name} (column {place + 1})"
        reserved.add(name.casefold())
        reading.others[name] = cells.or_null(table.columns[place])


# What the parts of one entry have in common beside its ID.
_IN_COMMON = ("company_id", "date", "currency")


def split_entries(reading: Reading, entries: pa.Table) -> pa.Table:
    """Return entries with `split_line` and `split_lines`, unchanged where no entry is split.

    Lines with one ID, company, date and currency are the parts of one entry when a column numbers them from 1
    (or 0), or when the caller says so. Equal lines are copies of one.
    """
    are_split = reading.options.get("split_lines", False)
    if not are_split and not reading.has("split_line"):
        return entries
    counts = entries["id"].value_counts()
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1)).drop_null()
    places = np.flatnonzero(pc.is_in(entries["id"], value_set=repeated))
    rows = entries.drop_columns(["line"]).take(places).to_pylist()
    numbers = cells.trimmed(reading.or_null("split_line")).take(places).to_pylist()
    lines_of: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for place, row, number in zip(places.tolist(), rows, numbers, strict=True):
        lines_of[row["id"]][place] = {**row, "split_line": number}
    numbered = np.zeros((2, len(entries)), np.int64)
    for lines in lines_of.values():
        parts = [own for at, own in enumerate(lines.values()) if own not in [*lines.values()][:at]]
        numbers_of_parts = _numbers(parts, are_split=are_split)
        for place, own in lines.items() if numbers_of_parts else ():
            numbered[:, place] = numbers_of_parts[parts.index(own)], len(parts)
    if not numbered.any():
        return entries
    place = entries.column_names.index("line")
    for name, values in zip(("split_lines", "split_line"), numbered[::-1], strict=True):
        entries = entries.add_column(place, pa.field(name, schema.COUNT), [pa.array(values, schema.COUNT)])
    return entries


def _numbers(parts: Sequence[dict[str, Any]], *, are_split: bool) -> list[int]:
    """Return the number of each part of an entry from 1; none where they are no parts of one."""
    if len(parts) == 1 or len({tuple(map(part.get, _IN_COMMON)) for part in parts}) > 1:
        return []
    texts = [part["split_line"] or "" for part in parts]
    if all(map(str.isdecimal, texts)):
        numbers = [int(text) - min(map(int, texts)) + 1 for text in texts]
        if sorted(numbers) == [*range(1, len(parts) + 1)] and min(map(int, texts)) in (0, 1):
            return numbers
    return [*range(1, len(parts) + 1)] if are_split else []
