"""Accounting entries as files hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Unpack

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.connection import company_named
from bktools.contract import rules
from bktools.frames import schema
from bktools.frames.money import check_form
from bktools.inputs import cells, names, words
from bktools.inputs.amounts import Figures
from bktools.inputs.approvals import read_approvals
from bktools.inputs.columns import ask_for, can_be, is_uuid_column, most
from bktools.inputs.currencies import own_currency
from bktools.inputs.days import is_day
from bktools.inputs.formats.registry import refuse_ledgers
from bktools.inputs.headings import opened
from bktools.inputs.money import read_money
from bktools.inputs.options import EntriesOptions, Options, takes_options
from bktools.inputs.question import answered
from bktools.inputs.reading import Reading
from bktools.inputs.source import Source
from bktools.inputs.splits import with_splits

_SPLITS = ("split_line", "entry_total")
_TEXTS = ("supplier", "description", "cost_centre", "tax_code")
# The service's own UUID of no category.
_NO_CATEGORY = "00000000-0000-0000-0000-000000000000"
_FOREIGN = frozenset({"foreign", "original", "instructed"})
_ACCOUNT = "account_code"
# What a budget has amounts for.
_KEYS = {"category_id", "cost_centre", "employee_id", "supplier", _ACCOUNT}
_AMOUNTS = frozenset({"amount", "value", "sum"})

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
        "decimal": amounts as Arrow decimals of any length, with which some operations of pandas fail.
    {options}

    The fields are `id`, `company_id`, `date`, `amount`, `currency`, `category_id`, `employee_id`, `status`,
    `approved`, `supplier`, `description`, `cost_centre`, `tax_code`, and `side`, `debit`, `credit` for
    amounts whose sign stands apart, `split_line` and `entry_total` for the lines of split entries: they are
    parts of one entry, too, where a column numbers them from 1, or where they add up to their entry's total.

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
    refuse_ledgers(path, options.get("encoding"))
    source = Source(path, "entries")
    frames: Frames = {"category_id": categories, "employee_id": employees}
    own = company_currency or own_currency()
    read = partial(_read, source, frames=frames, company=company, own=own, required=required, money=money)
    return answered(read, Options.of("entries", options))


def _read(
    source: Source,
    options: Options,
    *,
    frames: Frames,
    company: str | None,
    own: str | None,
    required: Sequence[str],
    money: str,
) -> pd.DataFrame:
    reading = opened(source, options)
    reading.result |= {"id": reading.constant(None, schema.TEXT)}
    is_budget = _is_budget(reading)
    if not is_budget:
        # The account of an entry follows from its category.
        reading.leave(_ACCOUNT)
    own_names, in_question = _find_columns(reading, frames, company, required)
    if is_budget:
        own_names |= {_ACCOUNT: reading.places.pop(_ACCOUNT)} if reading.has(_ACCOUNT) else {}
        reading.may_lack = frozenset({"date", "currency"})
        reading.note("budget")
    splits = {field: reading.places.pop(field) for field in _SPLITS if field in reading.places}
    _ask_whose_currency(reading)
    read_money(reading, own)
    reading.raise_problems()
    _read_identities(reading, company)
    _read_names(reading, frames, company, is_budget=is_budget)
    read_approvals(reading)
    reading.raise_problems()
    result, table = reading.result, reading.table
    result |= {field: reading.or_null(field) for field in _TEXTS if field in reading.places}
    # The file's own names are kept beside the IDs.
    result |= {field: _without_ids(table.columns[place]) for field, place in own_names.items()}
    result["line"] = reading.lines()
    others = [place for place in reading.free() if place not in own_names.values()]
    names_of_fields = (*schema.ENTRIES.names, _ACCOUNT)
    ordered = {name: result[name] for name in names_of_fields if name in result}
    read = pa.table(ordered | _passed_through(reading, others))
    if options.split_lines or splits:
        read = _split(reading, read, splits)
    about = reading.provenance(len(table.lines), own_names | reading.places, in_question=in_question)
    reading.warn_of_notes()
    return schema.to_pandas(read, about, money=money)


def _find_columns(
    reading: Reading, frames: Frames, company: str | None, required: Sequence[str]
) -> tuple[dict[str, int], dict[str, str]]:
    """Find the columns of names and IDs; return those of the file's own names, and the ones in question.

    IDs of another system are none of the service, and names of categories and employees say nothing without
    the frames that know them.
    """
    own_names: dict[str, int] = {}
    in_question: dict[str, str] = {}
    for field, frame in frames.items():
        if reading.has(field):
            _find_names(reading, field, frame, own_names, required)
        elif frame is not None and not reading.is_asked(field) and field not in required:
            for place in names.columns_of(reading, field, frame, company)[:1]:
                in_question[field] = reading.table.headings[place]
                reading.note("looks_like", field=field, heading=in_question[field])
    for field in required:
        is_open = not reading.has(field) and not reading.is_asked(field)
        if is_open and field not in ("date", "amount", "currency"):
            _ask_required(reading, field, frames.get(field), company)
    return own_names, in_question


def _find_names(
    reading: Reading,
    field: str,
    frame: pd.DataFrame | None,
    own_names: dict[str, int],
    required: Sequence[str],
) -> None:
    if cells.matches(reading.or_null(field), rules.UUID_REGEX).all():
        return
    is_headed_id = not words.headings(field).isdisjoint(words.forms(reading.heading(field)))
    if frame is not None or not is_headed_id:
        own_names[field.replace("_id", "_name")] = reading.places[field]
    if frame is None and field not in required and not reading.is_asked(field):
        if is_headed_id:
            reading.note("ids_of_another_system", heading=reading.heading(field))
        reading.leave(field)


def _ask_required(reading: Reading, field: str, frame: pd.DataFrame | None, company: str | None) -> None:
    """Ask for a field that the work needs: the columns whose cells can be it."""
    table = reading.table
    if frame is not None:
        candidates = names.columns_of(reading, field, frame, company)
    elif field == "id":
        candidates = [place for place in reading.free() if is_uuid_column(table, place)]
    else:
        candidates = can_be(field, reading)
    ask_for(reading, field, [table.choice(field, place) for place in candidates])


def _is_budget(reading: Reading) -> bool:
    """Whether a file has amounts by a key, and no column that could be a date."""
    places, table = reading.places, reading.table
    is_dated = any(
        most(texts, is_day, 0.5) or words.fields_of(heading, "entries") & {"date"}
        for heading, texts in zip(table.headings, table.samples, strict=True)
    )
    return "amount" in places and bool(_KEYS & places.keys()) and not is_dated and table.is_known


def _ask_whose_currency(reading: Reading) -> None:
    """Ask whether the column of currencies is the amount's, where a foreign amount stands beside it."""
    parts = {
        heading: {words.normal(part) for part in heading.replace("_", " ").split()}
        for heading in reading.table.headings
    }
    foreign = next((heading for heading, own in parts.items() if own & _FOREIGN and own & _AMOUNTS), None)
    if foreign and "currency" in reading.places and not reading.is_asked("currency"):
        choices = [
            reading.table.choice("currency", reading.places["currency"]),
            {"columns": {"currency": ""}},
        ]
        reading.problems.ask("whose_currency", choices, heading=foreign, currency=reading.heading("currency"))


def _read_identities(reading: Reading, company: str | None) -> None:
    """Read the IDs of entries and of their company; those of another system are text, and no IDs."""
    result, has_id = reading.result, reading.has("id")
    result["id"] = reading.constant(None, schema.TEXT)
    result["company_id"] = reading.constant(company, schema.TEXT)
    for field in filter(reading.has, ("company_id", "id")):
        column = reading.column(field)
        if not cells.matches(column, rules.UUID_REGEX).any() and not cells.are_blank(column):
            reading.note("ids_of_another_system", heading=reading.heading(field))
            reading.leave(field)
            continue
        # Where some are UUIDs, the others are wrong.
        with reading.trying():
            result[field] = cells.uuids(reading.table, reading.places[field], required=True)
    if not has_id and reading.has("date"):
        # Amounts without dates are a budget, which has no entries.
        like_ids = [place for place in reading.free() if is_uuid_column(reading.table, place)]
        reading.note("no_entry_ids", heading=reading.table.headings[like_ids[0]] if like_ids else None)


def _read_names(reading: Reading, frames: Frames, company: str | None, *, is_budget: bool) -> None:
    """Read the IDs of categories and employees, or the names that the frames know."""
    for field, frame in frames.items():
        if not reading.has(field):
            continue
        with reading.trying():
            reading.result[field] = (
                cells.uuids(reading.table, reading.places[field], required=False)
                if frame is None
                else names.identifiers(reading, field, frame, company, is_budget=is_budget)
            )
    if "category_id" in reading.result:
        ids = reading.result["category_id"]
        nothing = pa.scalar(None, schema.TEXT)
        reading.result["category_id"] = pc.if_else(pc.equal(ids, _NO_CATEGORY), nothing, ids)


def _without_ids(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_id = cells.matches(column, rules.UUID_REGEX)
    return cells.or_null(pc.if_else(pa.array(is_id), pa.scalar("", column.type), column))


def _passed_through(reading: Reading, others: Sequence[int]) -> dict[str, pa.ChunkedArray]:
    """Return other columns as text by their headings, which are made unique."""
    reserved = {*(name.casefold() for name in schema.ENTRIES.names), "batch_id", "reason", "message"}
    passed: dict[str, pa.ChunkedArray] = {}
    for place in others:
        name = reading.table.headings[place].strip()
        if name.casefold() in reserved:
            name = f"{name} (column {place + 1})"
        reserved.add(name.casefold())
        passed[name] = cells.or_null(reading.table.columns[place])
    return passed


def _split(reading: Reading, entries: pa.Table, splits: Mapping[str, int]) -> pa.Table:
    table = reading.table
    numbers = cells.trimmed(table.columns[splits["split_line"]]) if "split_line" in splits else None
    totals = None
    if "entry_total" in splits:
        figures = Figures.of(table.columns[splits["entry_total"]])
        totals, _ = figures.values(reading.options.decimal or next((one.mark for one in figures.marks), "."))
    return with_splits(entries, numbers, totals, are_split=reading.options.split_lines)
