"""Accounting entries as files hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.errors import ArgumentError, InputError
from bktools.frames import schema
from bktools.inputs import amounts, cells, dates, flags, headings, looks, names, sides, signs
from bktools.inputs.columns import Columns, Looks, Vocabulary, normal, option
from bktools.inputs.file import read_table
from bktools.inputs.formats.registry import refuse_ledgers
from bktools.inputs.problems import kept, raise_all
from bktools.inputs.splits import with_splits
from bktools.inputs.table import Table

_TEXTS = ("supplier", "description", "cost_centre", "tax_code")
_SHOWN_WORDS = 8


def read_entries(
    path: str | PathLike[str],
    *,
    columns: Columns | None = None,
    company: str | None = None,
    categories: pd.DataFrame | None = None,
    employees: pd.DataFrame | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    decimal: str | None = None,
    date_format: str | None = None,
    split_lines: bool = False,
    required: Sequence[str] = (),
    money: str = "exact",
) -> pd.DataFrame:
    r"""Read accounting entries from a CSV, TSV, Excel or Parquet file.

    Parameters
    ----------
    path : str or path
        The file.
    columns : mapping, optional
        Field to heading, for what is not recognised: `id`, `company_id`, `date`, `amount`, `currency`, `category_id`,
        `employee_id`, `status`, `approved`, `supplier`, `description`, `cost_centre`, `tax_code`, and `sign`, `debit`,
        `credit` for amounts whose sign stands apart, `split_line` and `entry_total` for the lines of split entries. An
        empty heading leaves the field out.
    company : str, optional
        UUID of the company that the entries belong to where the file has no column for it.
    categories : DataFrame, optional
        As `load_categories` returns it: the file may name categories by ID, name or code.
    employees : DataFrame, optional
        As `load_employees` returns it: the file may name employees by ID, e-mail, code or name.
    delimiter : str, optional
        One character.
    encoding : str, optional
        A name such as `"cp1252"`.
    sheet : str or int, optional
        Name of the workbook's sheet, or its position from 0.
    decimal : str, optional
        The decimal mark of the amounts, `"."` or `","`, where the column alone does not say it.
    date_format : str, optional
        Format of the dates such as `"%d/%m/%Y"`, where the column alone does not say it.
    split_lines : bool
        True when lines with one ID, company, date and currency are the parts of one split entry. They are in any case where
        a column numbers them from 1, or where they add up to the total that a column has for their entry.
    required : sequence of str
        Fields that the file must have a column for.
    money : str
        "exact": amounts as decimals, which can be added, grouped, compared and exported. "float": amounts as floats, for
        `describe`, `nlargest`, `cumsum` and `plot`; they are near the amounts, not equal, so they cannot be exported.

    Returns
    -------
    pandas.DataFrame
        One row per row of the file, in its order, with those columns of `bktools.frames.schema.ENTRIES` that the file
        has, `line`, and the columns that are no field as text under their own headings. Amounts are exact, with the
        largest scale in the file. The same entry twice stays twice. A file with split entries has a row for each of their
        lines, with `split_line` (its number from 1; 0 for an entry of one line) and `split_lines` (their count). `id` is null where the file has no entry IDs: such
        entries can be analysed, and are not ready for export.

    Raises
    ------
    InputError
        When the file cannot be read, has no column for what is required, a value is not what its column says, or names
        a category or employee that is unknown or several. All that is wrong with columns is in one message.
    ArgumentError
        When an argument is not what it must be.

    Notes
    -----
    Sections 2.5 and 4.2 of the interface: an export job takes the entries' IDs and the company's.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> entry = "1b4e28ba-2fa1-41d2-883f-0016d3cca427,6fa459ea-ee8a-4ca4-894e-db77e160355e,12.50"
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "entries.csv")
    ...     _ = path.write_text(f"entry_id,company_id,amount\n{entry}\n", encoding="utf-8")
    ...     entries = read_entries(path)
    >>> entries["amount"].tolist()
    [Decimal('12.50')]
    """
    company = None if company is None else rules.uuid_text("company", company)
    money = _known_money(money)
    vocabulary = Vocabulary(headings.ENTRIES, columns)
    refuse_ledgers(path, encoding)
    table = read_table(path, vocabulary.score, delimiter=delimiter, encoding=encoding, sheet=sheet)
    frames = {"category_id": categories, "employee_id": employees}
    problems: list[InputError] = []
    notes: list[str] = []
    places = vocabulary.assign(
        table.headings,
        table.source,
        required=required,
        empty=cells.empty_columns(table),
        looks=_looks(table, frames, company),
        problems=problems,
        notes=notes,
    )
    places = _usable(
        table, vocabulary, places, {field for field, frame in frames.items() if frame is None} - {*required}
    )
    # Columns that say which entries are split stay among the others, too: they may say something else.
    saying_split = {field: places.pop(field) for field in headings.SPLITS if field in places}
    others = {
        place: heading for place, heading in enumerate(table.headings) if place not in places.values() and heading
    }
    table = cells.without_broken(table, places.values(), problems)
    table = cells.without_blank_rows(table, places.values(), others=others)
    if "amount" in places or "debit" in places:
        table = _without_totals(table, places, notes)
    result: dict[str, pa.ChunkedArray] = {}
    with kept(problems):
        result["id"] = (
            cells.uuids(table, places["id"], required=True)
            if "id" in places
            else cells.constant(None, schema.TEXT, len(table.lines))
        )
    with kept(problems):
        result["company_id"] = _company_ids(table, places, company)
    if "date" in places:
        with kept(problems):
            result["date"] = dates.dates(table, places["date"], date_format, notes)
    with kept(problems):
        found = signs.signed_amounts(table, places, decimal, notes, problems)
        if found is not None:
            result["amount"] = found
    if "currency" in places:
        with kept(problems):
            result["currency"] = _currencies(table, places["currency"])
    for field, frame in frames.items():
        if field in places:
            with kept(problems):
                result[field] = (
                    cells.uuids(table, places[field], required=False)
                    if frame is None
                    else names.identifiers(table, places[field], field, frame, company)
                )
    raise_all(problems, table.source, table.other_sheets)
    saying = places.get("approved", places.get("status"))
    if saying is not None:
        result["status"] = cells.or_null(table.columns[places.get("status", saying)])
        result["approved"] = flags.approved(table, saying, headed_approved="approved" in places)
        notes += _approvals(table.columns[saying], result["approved"])
    result |= {field: cells.or_null(table.columns[places[field]]) for field in _TEXTS if field in places}
    result["line"] = pa.chunked_array([pa.array(table.lines, type=schema.COUNT)])
    if "id" not in places:
        notes.append(
            "the file has no entry IDs of the service: its entries can be analysed and checked, not exported; export them"
            f" from the service with their IDs, or name the column that holds them with {option('id')}"
        )
    ordered = {field.name: result[field.name] for field in schema.ENTRIES if field.name in result}
    read = pa.table(ordered | _passed_through(table, others))
    if rules.flag("split_lines", split_lines) or saying_split:
        read = _with_splits(read, table, saying_split, decimal, are_split=split_lines)
    about = table.provenance(len(table.lines), places, notes, others="columns kept as text")
    return _with_money(schema.to_pandas(read, about), money)


def _with_splits(
    read: pa.Table, table: Table, saying: Mapping[str, int], decimal: str | None, *, are_split: bool
) -> pa.Table:
    """Return entries with the numbers of the lines of split entries, where the file has any."""
    numbers = cells.trimmed(table.columns[saying["split_line"]]) if "split_line" in saying else None
    totals = amounts.amounts(table, saying["entry_total"], decimal) if "entry_total" in saying else None
    return with_splits(read, numbers, totals, are_split=are_split)


def _known_money(money: str) -> str:
    if money not in {"exact", "float"}:
        raise ArgumentError("money", "must be 'exact' or 'float'", money)
    return money


def _with_money(entries: pd.DataFrame, money: str) -> pd.DataFrame:
    return entries.astype({"amount": "float64"}) if money == "float" and "amount" in entries else entries


def _looks(table: Table, frames: Mapping[str, pd.DataFrame | None], company: str | None) -> Looks:
    """Return the function that finds columns by their values: those of a frame by the names in it."""

    def look(field: str, places: Mapping[str, int]) -> Sequence[int]:
        frame = frames.get(field)
        named = [] if frame is None else names.columns_of(table, field, frame, company)
        is_elsewhere = field == "amount" and {"debit", "credit"} & places.keys()
        if named or is_elsewhere or (field in frames and frame is None):
            return named
        # Where one e-mail is unknown, the column is found all the same, and the message says which.
        return looks.columns_like(table, field)

    return look


def _company_ids(table: Table, places: Mapping[str, int], company: str | None) -> pa.ChunkedArray:
    if "company_id" in places:
        # An empty cell is not left to some other company.
        return cells.uuids(table, places["company_id"], required=True)
    return cells.constant(company, schema.TEXT, len(table.lines))


def _usable(table: Table, vocabulary: Vocabulary, places: Mapping[str, int], unnamed: set[str]) -> dict[str, int]:
    """Return the columns without those that pass through: their values are of another kind than their heading may say.

    A column of types is no sign, and names of categories and employees say nothing without the frames that know them.
    """
    left = {
        *({"sign"} if "sign" in places and not _is_sign(table, vocabulary, places["sign"]) else set()),
        *({"debit", "credit"} if not {"debit", "credit"} <= set(places) or "amount" in places else set()),
        *(
            field
            for field in unnamed & set(places)
            if normal(table.headings[places[field]]) not in vocabulary.fields[field][0]
            and not cells.matches(cells.or_null(table.columns[places[field]]), rules.UUID_REGEX).all()
        ),
    }
    return {field: place for field, place in places.items() if field not in left or field in vocabulary.chosen}


def _is_sign(table: Table, vocabulary: Vocabulary, place: int) -> bool:
    if normal(table.headings[place]) in vocabulary.fields["sign"][0]:
        return not cells.blank(table.columns[place]).all()
    return sides.say_sides(table, place, sides.ENTRIES)


def _without_totals(table: Table, places: Mapping[str, int], notes: list[str]) -> Table:
    """Return the rows that are entries: a sum has a word that says so and neither a date nor an ID."""
    words = np.logical_or.reduce([_says_total(column) for column in table.columns])
    needed = [places[field] for field in ("id", "date") if field in places]
    if not needed or not words.any():
        return table
    totals = words & np.logical_and.reduce(
        [cells.blank(table.columns[place]) | _says_total(table.columns[place]) for place in needed]
    )
    notes += cells.counted(table, {"rows skipped as totals, not entries": totals})
    return table.rows(~totals)


def _says_total(column: pa.ChunkedArray) -> cells.Mask:
    words = pc.dictionary_encode(cells.trimmed(column)).combine_chunks()
    known = pa.array([normal(word) in headings.TOTALS for word in words.dictionary.to_pylist()], schema.FLAG)
    return cells.mask(pa.chunked_array([pc.take(known, words.indices)]))


def _passed_through(table: Table, others: Mapping[int, str]) -> dict[str, pa.ChunkedArray]:
    """Return the columns that are no field under their headings, each of which is there once."""
    taken = {*(name.casefold() for name in schema.ENTRIES.names), "batch_id", "reason", "message"}
    passed: dict[str, pa.ChunkedArray] = {}
    for place, heading in others.items():
        name = heading.strip()
        if name.casefold() in taken:
            name = f"{name} (column {place + 1})"
        taken.add(name.casefold())
        passed[name] = cells.or_null(table.columns[place])
    return passed


def _currencies(table: Table, place: int) -> pa.ChunkedArray:
    column = pc.ascii_upper(cells.or_null(cells.trimmed(table.columns[place])))
    rule = "must hold currency codes of three letters such as EUR"
    cells.refuse(table, place, ~cells.matches(column, "^[A-Z]{3}$"), rule)
    return column


def _approvals(column: pa.ChunkedArray, approved: pa.ChunkedArray) -> list[str]:
    """Return which words were taken as an approval and which were not."""
    notes: list[str] = []
    for rows, said in ((approved, "approved"), (pc.invert(approved), "not approved")):
        words = pc.value_counts(column.filter(rows)).to_pylist()
        if words:
            shown = ", ".join(f"{cells.quoted(word['values'])} ({word['counts']})" for word in words[:_SHOWN_WORDS])
            more = f" and {len(words) - _SHOWN_WORDS} more words" if len(words) > _SHOWN_WORDS else ""
            notes.append(f"taken as {said}: {shown}{more}")
    return notes
