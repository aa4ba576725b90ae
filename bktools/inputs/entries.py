"""Accounting entries as files hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.errors import ArgumentError, InputError
from bktools.frames import schema
from bktools.inputs import amounts, cells, dates, names, sides, words
from bktools.inputs.cells import collected, leave_out, option, question, raise_all
from bktools.inputs.columns import Columns, Vocabulary, columns_like
from bktools.inputs.evidence import (
    contradictions,
    lone_half,
    rows_with,
    running_balance,
    some_rows,
    without_report_rows,
)
from bktools.inputs.file import read_table
from bktools.inputs.formats.registry import refuse_ledgers
from bktools.inputs.proposals import proposing
from bktools.inputs.splits import with_splits
from bktools.inputs.table import Table
from bktools.inputs.words import normal

_SPLITS = ("split_line", "entry_total")
# The beginning of a UUID; such a column is one of UUIDs, and each cell is held to it.
_LIKE_A_UUID = r"^\s*[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}"
_TEXTS = ("supplier", "description", "cost_centre", "tax_code")
_SHOWN_WORDS = 8


@proposing("entries")
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
        `credit` for amounts whose sign stands apart, `split_line` and `entry_total` for the lines of split entries,
        `rows_with` for a column of which rows that hold nothing in it are left out. An empty heading leaves the field out.
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
    if money not in {"exact", "float"}:
        raise ArgumentError("money", "must be 'exact' or 'float'", money)
    company = None if company is None else rules.uuid_text("company", company)
    vocabulary = Vocabulary("entries", columns)
    refuse_ledgers(path, encoding)
    table = read_table(path, vocabulary.score, delimiter=delimiter, encoding=encoding, sheet=sheet)
    frames = {"category_id": categories, "employee_id": employees}
    problems: list[InputError] = []
    notes: list[str] = []
    recognised = _columns(table, vocabulary, frames, company, required, problems, notes)
    places = recognised.places
    table = rows_with(table, recognised.rows_with, notes, "entries")
    table = cells.without_broken(table, places.values(), problems)
    table = cells.without_blank_rows(table, places.values(), others=recognised.passed_through)
    table = without_report_rows(table, places, ("id", "date"), notes, what="entries", lacks_all=True)
    table = _without_texts(table, places, notes)
    result = _identities(table, places, company, problems)
    if "date" in places:
        with collected(problems):
            if "id" not in places:
                rule = "is the date and must not be empty (fill it in, or delete rows that are no entries)"
                dated = {"rows_with": table.headings[places["date"]]}
                cells.refuse(table, places["date"], cells.blank(table.columns[places["date"]]), rule, instead=dated)
            result["date"] = dates.dates(table, places["date"], date_format, notes)
    with collected(problems):
        amount = _amounts(table, places, decimal, vocabulary, notes, problems)
        if amount is not None:
            result["amount"] = amount
            problems += _against(table, places, amount, vocabulary, notes)
    if "currency" in places:
        with collected(problems):
            result["currency"] = _currencies(table, places["currency"])
    for field in frames.keys() & places.keys():
        with collected(problems):
            frame = frames[field]
            result[field] = (
                cells.uuids(table, places[field], required=False)
                if frame is None
                else names.identifiers(table, places[field], field, frame, company, notes)
            )
    raise_all(problems, table)
    result |= _texts(table, recognised, notes)
    if "id" not in places:
        notes.append(
            "the file has no entry IDs of the service: its entries can be analysed and checked, not exported; export them"
            f" from the service with their IDs, or name the column that holds them with {option('id')}"
        )
    ordered = {field.name: result[field.name] for field in schema.ENTRIES if field.name in result}
    read = pa.table(ordered | _passed_through(table, recognised.passed_through))
    if rules.flag("split_lines", split_lines) or recognised.splits:
        read = _with_splits(read, table, recognised.splits, decimal, are_split=split_lines)
    about = table.provenance(len(table.lines), recognised.own_names | places, notes, others="columns kept as text")
    entries = schema.to_pandas(read, about)
    return entries.astype({"amount": "float64"}) if money == "float" and "amount" in entries else entries


class _Columns(NamedTuple):
    """Field to column; `own_names` are those of the file's category and employee names, `passed_through` are no field."""

    places: dict[str, int]
    own_names: dict[str, int]
    splits: dict[str, int]
    passed_through: dict[int, str]
    rows_with: int | None


def _columns(
    table: Table,
    vocabulary: Vocabulary,
    frames: Mapping[str, pd.DataFrame | None],
    company: str | None,
    required: Sequence[str],
    problems: list[InputError],
    notes: list[str],
) -> _Columns:
    looks = {
        field: partial(_columns_of, table, field, frame, company)
        for field, frame in frames.items()
        if frame is not None
    }
    places = vocabulary.assign(table, required, looks=looks, problems=problems, notes=notes)
    rows_with_place = places.pop("rows_with", None)
    if "amount" in places and not {"debit", "credit"} <= places.keys():
        problems += lone_half(table, places, vocabulary)
    own_names = {
        field.replace("_id", "_name"): place
        for field, place in places.items()
        if field in frames
        and not _are_ids(table, place)
        and (frames[field] is not None or not _is_headed_id(table, vocabulary, field, place))
    }
    unnamed = {field for field, frame in frames.items() if frame is None} - {*required}
    places = _usable(table, vocabulary, places, unnamed, notes)
    problems += _missing(table, vocabulary, places, problems)
    # Columns that say which entries are split stay among the others, too: they may say something else.
    splits = {field: places.pop(field) for field in _SPLITS if field in places}
    taken = {*places.values(), *own_names.values()}
    passed_through = {place: heading for place, heading in enumerate(table.headings) if heading and place not in taken}
    return _Columns(places, own_names, splits, passed_through, rows_with_place)


def _identities(
    table: Table, places: Mapping[str, int], company: str | None, problems: list[InputError]
) -> dict[str, pa.ChunkedArray]:
    result = {"id": cells.constant(None, schema.TEXT, len(table.lines))}
    if "id" in places:
        with collected(problems):
            result["id"] = cells.uuids(table, places["id"], required=True)
    result["company_id"] = cells.constant(company, schema.TEXT, len(table.lines))
    if "company_id" in places:
        with collected(problems):
            # An empty cell is not left to some other company.
            result["company_id"] = cells.uuids(table, places["company_id"], required=True)
    return result


def _texts(table: Table, recognised: _Columns, notes: list[str]) -> dict[str, pa.ChunkedArray]:
    """Return the columns that no rule can refuse."""
    places = recognised.places
    result = {field: cells.or_null(table.columns[places[field]]) for field in _TEXTS if field in places}
    # The file's own names are kept beside the IDs.
    result |= {field: _without_ids(table.columns[place]) for field, place in recognised.own_names.items()}
    saying = places.get("approved", places.get("status"))
    if saying is not None:
        result["status"] = cells.or_null(table.columns[places.get("status", saying)])
        approving = words.values("approved") | (words.values("yes") if "approved" in places else frozenset())
        result["approved"] = words.are(table.columns[saying], approving)
        notes += _approvals(table.columns[saying], result["approved"])
    return result | {"line": pa.chunked_array([pa.array(table.lines, type=schema.COUNT)])}


def _with_splits(
    read: pa.Table, table: Table, saying: Mapping[str, int], decimal: str | None, *, are_split: bool
) -> pa.Table:
    """Return entries with the numbers of the lines of split entries, where the file has any."""
    numbers = cells.trimmed(table.columns[saying["split_line"]]) if "split_line" in saying else None
    totals = amounts.amounts(table, saying["entry_total"], decimal) if "entry_total" in saying else None
    return with_splits(read, numbers, totals, are_split=are_split)


def _columns_of(table: Table, field: str, frame: pd.DataFrame, company: str | None) -> Sequence[int]:
    """Return the columns whose values name rows of a frame; where one e-mail is unknown, those of e-mails."""
    return names.columns_of(table, field, frame, company) or columns_like(field, table, range(len(table.headings)))


def _without_ids(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_id = cells.matches(column, rules.UUID_REGEX)
    return cells.or_null(pc.if_else(pa.array(is_id), pa.scalar("", column.type), column))


def _are_ids(table: Table, place: int) -> bool:
    return bool(cells.matches(cells.or_null(table.columns[place]), rules.UUID_REGEX).all())


def _usable(
    table: Table, vocabulary: Vocabulary, places: Mapping[str, int], unnamed: set[str], notes: list[str]
) -> dict[str, int]:
    """Return the columns without those that pass through, because their values are of another kind.

    IDs of another system are none of the service, and names of categories and employees say nothing without the frames that know them.
    """
    left: set[str] = set()
    for field in unnamed & places.keys():
        is_id = _is_headed_id(table, vocabulary, field, places[field])
        column = table.columns[places[field]]
        if not _are_ids(table, places[field]) and not (is_id and cells.matches(column, _LIKE_A_UUID).any()):
            left.add(field)
            if is_id and field not in vocabulary.chosen:
                notes.append(_other_ids(table, places[field]))
    if "sign" in places and cells.blank(table.columns[places["sign"]]).all():
        left.add("sign")
    if "id" in places and not cells.matches(table.columns[places["id"]], _LIKE_A_UUID).any():
        left.add("id")
        if "id" not in vocabulary.chosen:
            notes.append(_other_ids(table, places["id"]))
    if not {"debit", "credit"} <= set(places):
        left |= {"debit", "credit"}
    return {field: place for field, place in places.items() if field not in left or field in vocabulary.chosen}


def _other_ids(table: Table, place: int) -> str:
    example = cells.quoted(table.columns[place][0].as_py())
    return f"{table.headings[place]!r} holds IDs such as {example}, which are none of the service"


def _is_headed_id(table: Table, vocabulary: Vocabulary, field: str, place: int) -> bool:
    return normal(table.headings[place]) in vocabulary.fields[field][0].words


def _missing(
    table: Table, vocabulary: Vocabulary, places: Mapping[str, int], problems: Sequence[InputError]
) -> list[InputError]:
    """Return the problems that a date or an amount has no column though a column could hold it."""
    named = places.keys() | {error.field for error in problems} | ({"amount"} if "debit" in places else set())
    return [
        vocabulary.missing(field, table, places)
        for field in ("date", "amount")
        if field not in named and not vocabulary.may_lack(field, table, places)
    ]


def _without_texts(table: Table, places: Mapping[str, int], notes: list[str]) -> Table:
    """Return the rows without those that have neither an ID nor a date nor an amount."""
    needed = [places[field] for field in ("id", "date", "amount", "debit", "credit") if field in places]
    if not {"date", "amount"} <= places.keys():
        return table
    texts = np.logical_and.reduce([cells.blank(table.columns[place]) for place in needed])
    notes += cells.counted(table, {"rows skipped that have neither a date nor an amount": texts})
    return some_rows(table, ~texts, "entries")


def _amounts(
    table: Table,
    places: Mapping[str, int],
    decimal: str | None,
    vocabulary: Vocabulary,
    notes: list[str],
    problems: list[InputError],
) -> pa.ChunkedArray | None:
    """Return the amounts with their sign, None where the file has none or the problems say why not."""
    read: dict[str, pa.ChunkedArray] = {}
    wanted = [field for field in ("amount", "debit", "credit") if field in places]
    for field in wanted:
        with collected(problems):
            read[field] = amounts.amounts(table, places[field], decimal)
    if len(read) < len(wanted) or not wanted:
        return None
    alone = read.get("amount")
    if alone is not None and "sign" in places:
        return sides.signed(table, places, alone, notes, side="sign", chosen=vocabulary.chosen)
    if len({"debit", "credit"} & read.keys()) < len(("debit", "credit")):
        return alone
    if alone is not None and "amount" in vocabulary.chosen:
        return alone
    debit, credit = read["debit"], read["credit"]
    both = cells.mask(
        pc.and_(*(pc.not_equal(pc.fill_null(side, 0), pa.scalar(0, side.type)) for side in (debit, credit)))
    )
    cells.refuse(table, places["debit"], both, f"and {table.headings[places['credit']]!r} must not both hold an amount")
    whole = sides.of_pair(table, places, debit, credit)
    if alone is not None and not sides.agree(whole, alone):
        raise question(
            f"{table.headings[places['amount']]!r} differs from {table.headings[places['debit']]!r} less"
            f" {table.headings[places['credit']]!r} beside it: take it with"
            f" {option('amount', table.headings[places['amount']])}, or take the two with",
            table.source,
            {"amount": ""},
        )
    notes.append(
        f"one amount of {table.headings[places['debit']]!r} (positive) and {table.headings[places['credit']]!r} (negative)"
    )
    return whole


def _against(
    table: Table, places: Mapping[str, int], amount: pa.ChunkedArray, vocabulary: Vocabulary, notes: list[str]
) -> Iterator[InputError]:
    """Yield what the file says against its amounts; a bank statement is named by its running balance.

    Signed amounts of a bank statement keep their signs, its debits are asked about.
    """
    pair = {field: table.headings[places[field]] for field in ("debit", "credit") if field in places}
    taken = {field: place for field, place in places.items() if not pair or field != "amount"}
    yield from contradictions(table, taken, amount, vocabulary, side="sign")
    balance = running_balance(table, places, amount)
    if balance is not None and pair and not vocabulary.is_settled(*pair):
        yield question(
            f"is a bank statement, as its running balance {balance!r} shows: there a debit is money that leaves the account."
            " To read debits as positive, name the columns",
            table.source,
            pair,
        )
    elif balance is not None and not pair:
        notes.append(f"is a bank statement, as its running balance {balance!r} shows: amounts keep the bank's signs")


def _passed_through(table: Table, columns: Mapping[int, str]) -> dict[str, pa.ChunkedArray]:
    """Return the columns that are no field under their headings, each of which is there once."""
    taken = {*(name.casefold() for name in schema.ENTRIES.names), "batch_id", "reason", "message"}
    passed: dict[str, pa.ChunkedArray] = {}
    for place, heading in columns.items():
        name = heading.strip()
        if name.casefold() in taken:
            name = f"{name} (column {place + 1})"
        taken.add(name.casefold())
        passed[name] = cells.or_null(table.columns[place])
    return passed


def _currencies(table: Table, place: int) -> pa.ChunkedArray:
    column = pc.ascii_upper(cells.or_null(cells.trimmed(table.columns[place])))
    rule = f"must hold currency codes of three letters such as EUR (or leave it out: {leave_out('currency')})"
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
