"""Accounting entries as files hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from os import PathLike

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import name_of, setting
from bktools.connection import company_named
from bktools.contract import rules
from bktools.errors import ArgumentError, InputError
from bktools.frames import schema
from bktools.frames.money import check_form
from bktools.inputs import amounts, cells, dates, names, sides, signed_amounts, words
from bktools.inputs.approvals import read_approvals
from bktools.inputs.cells import option, question, raise_all
from bktools.inputs.columns import Columns, Reading, Vocabulary, opened
from bktools.inputs.evidence import contradictions, lone_half, running_balance
from bktools.inputs.formats.registry import refuse_ledgers
from bktools.inputs.looks import columns_like, hold_currencies, money_out_and_in
from bktools.inputs.prepared_rows import fill_down as filled_down
from bktools.inputs.prepared_rows import without_empty
from bktools.inputs.proposals import UNKNOWN_CURRENCY, proposing
from bktools.inputs.report_rows import keep_rows, leave_reports
from bktools.inputs.splits import with_splits
from bktools.inputs.table import Table
from bktools.inputs.words import are_inside, headings, normal

_FIRST_ROWS = 1000
_SPLITS = ("split_line", "entry_total")
# The beginning of a UUID; such a column is one of UUIDs, and each cell is held to it.
_LIKE_A_UUID = r"^\s*[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}"
# Words inside of headings of amounts beside the amount of an entry.
_FURTHER_AMOUNTS = headings("net_amount") | headings("without_tax") | headings("tax")
# What tells rows apart, and what names an entry beside its amount.
_IDENTITIES = ("id", "date")
_NAMES = ("supplier", "description", "category_id", "employee_id")
_TEXTS = ("supplier", "description", "cost_centre", "tax_code")
# The service's own UUID of no category.
_NO_CATEGORY = "00000000-0000-0000-0000-000000000000"

# Categories and employees by the field that names them, None where they were not given.
Frames = Mapping[str, pd.DataFrame | None]


@proposing("entries", money="decimal")
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
    currency: str | None = None,
    spending: str | None = None,
    approved_values: str | None = None,
    fill_down: str | None = None,
    report_rows: str | None = None,
    split_lines: bool = False,
    required: Sequence[str] = (),
    money: str = "float",
) -> pd.DataFrame:
    r"""Read accounting entries from a CSV, TSV, Excel or Parquet file.

    Parameters
    ----------
    path : str or path
        The file.
    columns : mapping, optional
        Field to heading, for what is not recognised: `id`, `company_id`, `date`, `amount`, `currency`,
        `category_id`, `employee_id`, `status`, `approved`, `supplier`, `description`, `cost_centre`,
        `tax_code`, and `sign`, `debit`, `credit` for amounts whose sign stands apart, `split_line` and
        `entry_total` for the lines of split entries, `rows_with` for a column of which rows that hold nothing
        in it are left out. An empty heading leaves the field out.
    company : str, optional
        UUID or short name of the company that the entries belong to where the file has no column for it.
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
    currency : str, optional
        Currency of the amounts where the file has no column for it, such as `"EUR"`.
    spending : str, optional
        `"positive"` or `"negative"`: the sign of spending in the column of amounts. Negative spending is
        turned.
    approved_values : str, optional
        Values of the column for approvals that count as approved, separated by commas, such as
        `"OK,NOT_REQUIRED"`; all others do not.
    fill_down : str, optional
        Fields that stand only in the first of their rows, such as `"date"`.
    report_rows : str, optional
        `"skip"` or `"keep"`: what is done with rows that hold nothing but a word such as Total, a date and an
        amount, where the amounts do not show whether they are lines of a report.
    split_lines : bool
        True when lines with one ID, company, date and currency are the parts of one split entry. They are in
        any case where a column numbers them from 1, or where they add up to the total that a column has for
        their entry.
    required : sequence of str
        Fields that the file must have a column for.
    money : str
        "float": amounts as float64, each exactly the file's amount; one of more than 15 digits is refused.
        "decimal": amounts as Arrow decimals of any length, with which some operations of pandas fail.

    Returns
    -------
    pandas.DataFrame
        One row per row of the file, in its order, with those columns of `bktools.frames.schema.ENTRIES` that
        the file has, `line`, and the columns that are no field as text under their own headings. The same
        entry twice stays twice. A file with split entries has a row for each of their lines, with
        `split_line` (its number from 1; 0 for an entry of one line) and `split_lines` (their count). `id` is
        null where the file has no entry IDs: such entries can be analysed, and are not ready for export.

    Raises
    ------
    InputError
        When the file cannot be read, has no column for what is required, a value is not what its column says,
        or names a category or employee that is unknown or several. All that is wrong with columns is in one
        message.
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
    >>> entry = "1b4e28ba-2fa1-41d2-883f-0016d3cca427,6fa459ea-ee8a-4ca4-894e-db77e160355e,12.50"
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "entries.csv")
    ...     _ = path.write_text(f"entry_id,company_id,amount\n{entry}\n", encoding="utf-8")
    ...     entries = read_entries(path)
    >>> entries["amount"].tolist()
    [12.5]
    """
    check_form(money)
    company = None if company is None else company_named(company)
    vocabulary = Vocabulary("entries", columns)
    refuse_ledgers(path, encoding)
    reading = opened(path, vocabulary, delimiter=delimiter, encoding=encoding, sheet=sheet)
    places, problems, notes = reading.places, reading.problems, reading.notes
    frames: Frames = {"category_id": categories, "employee_id": employees}
    own_names = _find_columns(reading, frames, company, required)
    problems += _missing(reading)
    one_currency = _one_currency(reading, cells.currency_code(currency), required)
    filled_down(reading, fill_down, _IDENTITIES, lacks_all=True)
    # Columns that say which entries are split stay among the others, too: they may say something else.
    splits = {field: places.pop(field) for field in _SPLITS if field in places}
    others = [
        place for place in reading.free() if reading.table.headings[place] and place not in own_names.values()
    ]
    keep_rows(reading, "entries", _IDENTITIES, lacks_all=True, others=others)
    if reading.has("date", "amount"):
        needed = [field for field in ("id", "date", "amount", "debit", "credit") if field in places]
        neither = np.logical_and.reduce([reading.blank(field) for field in needed])
        reading.skip({"rows skipped that have neither a date nor an amount": neither}, "entries")
    leave_reports(reading, "entries", report_rows)
    result = reading.result
    result |= {
        "id": reading.constant(None, schema.TEXT),
        "company_id": reading.constant(company, schema.TEXT),
    }
    for field in ("id", "company_id"):
        # An empty cell is not left to some other company.
        reading.read(field, cells.uuids, required=True)
    _read_dates(reading, date_format)
    _read_amounts(reading, decimal, spending)
    _read_currencies(reading, *one_currency)
    _read_names(reading, frames, company)
    of_approvals: list[str] = []
    with reading.trying():
        of_approvals = read_approvals(reading, approved_values)
    table = reading.table
    raise_all(problems, table)
    _read_texts(reading)
    # The file's own names are kept beside the IDs.
    result |= {field: _without_ids(table.columns[place]) for field, place in own_names.items()}
    result["line"] = reading.lines()
    # Amounts without dates are a budget, which has no entries.
    if "id" not in places and "date" in places:
        like_ids = [table.headings[place] for place in others if _is_like_ids(table.columns[place])]
        heading = like_ids[0] if len(like_ids) == 1 else "HEADING"
        notes.append(
            "the file has no entry IDs of the service: its entries can be analysed and checked, "
            "not exported; export them from the service with their IDs, or name the column that holds them "
            f"with {option('id', heading)}"
        )
    ordered = {field.name: result[field.name] for field in schema.ENTRIES if field.name in result}
    further = _further_amounts(table, others, decimal)
    read = pa.table(ordered | _passed_through(table, others, further))
    if rules.flag("split_lines", split_lines) or splits:
        numbers = cells.trimmed(table.columns[splits["split_line"]]) if "split_line" in splits else None
        totals = amounts.amounts(table, splits["entry_total"], decimal) if "entry_total" in splits else None
        read = with_splits(read, numbers, totals, are_split=split_lines)
    further_places = {table.headings[place].strip(): place for place in further}
    own = own_names | places | further_places
    about = reading.provenance(len(table.lines), own, *of_approvals, others="columns kept as text")
    reading.warn_of_notes()
    return schema.to_pandas(read, about, money=money)


def _find_columns(
    reading: Reading, frames: Frames, company: str | None, required: Sequence[str]
) -> dict[str, int]:
    """Find the columns of a file, and return those of its own names of categories and employees.

    Columns whose values are of another kind pass through: IDs of another system are none of the service, and
    names of categories and employees say nothing without the frames that know them.
    """
    looks = {
        field: partial(_columns_of, reading.table, field, frame, company)
        for field, frame in frames.items()
        if frame is not None
    }
    reading.assign([field for field in required if field != "currency"], looks)
    _take_money_out_and_in(reading)
    pair = [field for field in ("debit", "credit") if reading.has(field)]
    if (
        reading.has("amount")
        and not reading.is_settled(*pair)
        and all(reading.blank(side).all() for side in pair)
    ):
        reading.leave(*pair)
    if not reading.has("debit", "credit"):
        reading.problems += lone_half(reading) if reading.has("amount") else ()
        reading.leave(*{"debit", "credit"} - reading.chosen.keys())
    if reading.has("sign") and not reading.is_settled("sign") and reading.blank("sign").all():
        reading.leave("sign")
    if reading.has("id") and not reading.is_settled("id") and not _has_uuids(reading, "id"):
        _leave_foreign_ids(reading, "id")
    return _own_names(reading, frames, required)


def _take_money_out_and_in(reading: Reading) -> None:
    """Take columns such as Withdrawal and Deposit for the two sides of an amount, where no column is one."""
    money = {"amount", "debit", "credit"}
    if money & (reading.places.keys() | reading.chosen.keys() | {error.field for error in reading.problems}):
        return
    pair = money_out_and_in(reading.table, reading.free())
    if pair is not None:
        reading.settle(debit=pair[0], credit=pair[1])


def _own_names(reading: Reading, frames: Frames, required: Sequence[str]) -> dict[str, int]:
    """Return the columns of names, and leave those that name rows which nobody knows here."""
    own_names: dict[str, int] = {}
    for field, frame in frames.items():
        if not reading.has(field) or cells.matches(reading.or_null(field), rules.UUID_REGEX).all():
            continue
        is_headed_id = normal(reading.heading(field)) in reading.vocabulary.fields[field][0].words
        if frame is not None or not is_headed_id:
            own_names[field.replace("_id", "_name")] = reading.places[field]
        if frame is not None or field in required or reading.is_settled(field):
            continue
        if not is_headed_id:
            reading.leave(field)
        elif not _has_uuids(reading, field):
            _leave_foreign_ids(reading, field)
    return own_names


def _is_like_ids(column: pa.ChunkedArray) -> bool:
    """Whether each row has a UUID of its own."""
    has_all = len(column) > 0 and column.null_count == 0 and cells.matches(column, rules.UUID_REGEX).all()
    return bool(has_all and pc.count_distinct(column).as_py() == len(column))


def _has_uuids(reading: Reading, field: str) -> bool:
    column = reading.column(field)
    return any(cells.matches(rows, _LIKE_A_UUID).any() for rows in (column.slice(0, _FIRST_ROWS), column))


def _leave_foreign_ids(reading: Reading, field: str) -> None:
    example = cells.quoted(reading.column(field)[0].as_py())
    reading.notes.append(
        f"{reading.heading(field)!r} holds IDs such as {example}, which are none of the service"
    )
    reading.leave(field)


def _columns_of(table: Table, field: str, frame: pd.DataFrame, company: str | None) -> Sequence[int]:
    """Return the columns whose values name rows of a frame; where one e-mail is unknown, those of e-mails."""
    return names.columns_of(table, field, frame, company) or columns_like(
        field, table, range(len(table.headings))
    )


def _missing(reading: Reading) -> list[InputError]:
    """Return the problems that a date or an amount has no column though a column could hold it."""
    named = reading.places.keys() | {error.field for error in reading.problems}
    named |= {"amount"} if reading.has("debit") else set()
    return [
        reading.missing(field)
        for field in ("date", "amount")
        if field not in named and not reading.may_lack(field)
    ]


def _one_currency(reading: Reading, currency: str | None, required: Sequence[str]) -> tuple[str | None, str]:
    """Return the currency of amounts that have none of their own, and who says it; none may be a problem."""
    if currency is not None:
        return currency, "as was asked"
    headed = _currency_in_headings(reading)
    if "currency" in required and headed is None and not reading.has("currency"):
        reading.problems.append(_no_currency(reading))
    return headed, "as the heading says"


def _currency_in_headings(reading: Reading) -> str | None:
    """Return the one currency that the headings of the amounts name, such as Amount (EUR), else None."""
    money = [field for field in signed_amounts.MONEY if reading.has(field)]
    named = {words.currency_in(reading.heading(field)) for field in money}
    if reading.has("currency") or reading.is_settled("currency") or len(named) != 1:
        return None
    return named.pop()


def _no_currency(reading: Reading) -> InputError:
    """Return the problem that no column is the currency, with the one whose cells are codes of currencies."""
    table = reading.table
    codes = [place for place in reading.free() if hold_currencies(table, place)]
    why = "no column found for 'currency'"
    if codes:
        return question(table, why, {"currency": cells.heading_of(table, codes[0])})
    details = [f"{UNKNOWN_CURRENCY} stands for the currency of all amounts, such as EUR"]
    return table.error(why, field="currency", details=details, currency=UNKNOWN_CURRENCY)


def _read_dates(reading: Reading, date_format: str | None) -> None:
    if reading.has("date") and not reading.has("id"):
        rule = "is the date and must not be empty (fill it in, or delete rows that are no entries)"
        with reading.trying():
            empty = reading.blank("date")
            way_out = without_empty(reading, "date", *_NAMES, or_text=True) if empty.any() else {}
            reading.refuse("date", empty, rule, **way_out)
    reading.read("date", dates.dates, date_format, reading.notes)


def _read_amounts(reading: Reading, decimal: str | None, spending: str | None) -> None:
    """Read the amounts with their sign, and hold them to the other columns."""
    if spending not in (None, "positive", "negative"):
        raise ArgumentError(name_of("spending"), 'must be "positive" or "negative"', spending)
    read = signed_amounts.read_columns(reading, amounts.amounts, decimal)
    if read:
        with reading.trying():
            amount = _amounts(reading, read)
            if amount is not None:
                reading.problems += _against(reading, amount, spending)
                reading.result["amount"] = pc.negate(amount) if spending == "negative" else amount
                if spending == "negative":
                    reading.notes.append(
                        "spending is negative in the file: all amounts are turned, as was asked"
                    )


def _amounts(reading: Reading, read: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray | None:
    """Return the amounts with their sign, None where the file has one side alone."""
    alone = read.get("amount")
    if alone is not None and "sign" in reading.places:
        return signed_amounts.by_word(reading, alone, "sign")
    if not {"debit", "credit"} <= read.keys() or (alone is not None and "amount" in reading.chosen):
        return alone
    debit, credit = reading.heading("debit"), reading.heading("credit")
    both = signed_amounts.are_not_zero(read["debit"]) & signed_amounts.are_not_zero(read["credit"])
    reading.refuse("debit", both, f"and {credit!r} must not both hold an amount")
    whole = signed_amounts.of_pair(reading, read["debit"], read["credit"])
    if alone is not None and not signed_amounts.agree(whole, alone):
        amount = reading.heading("amount")
        raise question(
            reading.table,
            f"{amount!r} differs from {debit!r} less {credit!r} beside it",
            {"amount": ""},
            details=[f"Or take {amount!r} alone: {option('amount', amount)}"],
        )
    reading.notes.append(f"one amount of {debit!r} (positive) and {credit!r} (negative)")
    return whole


def _against(reading: Reading, amount: pa.ChunkedArray, spending: str | None) -> Iterator[InputError]:
    """Yield what the file says against its amounts; a bank statement is named by its running balance.

    Signed amounts of a bank statement keep their signs, its debits are asked about.
    """
    pair: dict[str, str] = {
        field: reading.heading(field) for field in ("debit", "credit") if field in reading.places
    }
    if not pair:
        yield from contradictions(reading, amount, side="sign")
    balance, falls = running_balance(reading, amount)
    turned = dict(zip(("credit", "debit"), pair.values(), strict=False))
    if balance is not None and pair and not falls and not reading.is_settled(*pair):
        yield question(
            reading.table,
            f"the running balance {balance!r} rises by {pair['debit']!r}, as in the books of an account: "
            "a debit may be spending, or money that comes in",
            pair,
            details=[f"If it comes in: {setting('columns', turned)}"],
        )
    elif balance is not None:
        signs = "a debit is money that leaves the account" if pair else "amounts keep the bank's signs"
        reading.notes.append(f"is a bank statement, as its running balance {balance!r} shows: {signs}")
    elif spending is None and not pair and "sign" not in reading.places and sides.are_mostly_negative(amount):
        yield reading.table.error(
            f"nearly all amounts of {reading.heading('amount')!r} are negative, "
            "and spending is positive in bktools",
            details=[f"Or keep the signs as they are: {setting('spending', 'positive')}"],
            spending="negative",
        )


def _read_names(reading: Reading, frames: Frames, company: str | None) -> None:
    """Read the IDs of categories and employees, or the names that the frames know."""
    for field, frame in frames.items():
        if frame is None:
            reading.read(field, cells.uuids, required=False)
        else:
            reading.read(field, names.identifiers, field, frame, company, reading.notes)
    if "category_id" in reading.result:
        ids = reading.result["category_id"]
        reading.result["category_id"] = pc.if_else(
            pc.equal(ids, _NO_CATEGORY), pa.scalar(None, schema.TEXT), ids
        )


def _read_currencies(reading: Reading, currency: str | None, said: str) -> None:
    """Read the currencies; amounts without one are in the currency that is said otherwise."""
    reading.read("currency", _currencies)
    if currency is not None:
        stated = reading.result.get("currency", reading.constant(None, schema.TEXT))
        if stated.null_count:
            reading.notes.append(f"amounts without a currency are in {currency}, {said}")
        reading.result["currency"] = pc.fill_null(stated, currency)


def _currencies(table: Table, place: int) -> pa.ChunkedArray:
    column = cells.or_null(cells.trimmed(table.columns[place]))
    codes = pc.coalesce(words.codes(column, words.currencies()), pc.ascii_upper(column))
    rule = "must hold currency codes of three letters such as EUR (or leave the currency out)"
    wrong = ~cells.matches(codes, f"^(?:[A-Z]{{3}}|{'|'.join({*words.currencies().values()})})$")
    cells.refuse(table, place, wrong, rule, instead={"currency": ""})
    return codes


def _read_texts(reading: Reading) -> None:
    """Read the columns that no rule can refuse."""
    result = reading.result
    result |= {field: reading.or_null(field) for field in _TEXTS if field in reading.places}


def _without_ids(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_id = cells.matches(column, rules.UUID_REGEX)
    return cells.or_null(pc.if_else(pa.array(is_id), pa.scalar("", column.type), column))


def _further_amounts(table: Table, others: Sequence[int], decimal: str | None) -> dict[int, pa.ChunkedArray]:
    """Return the columns of other amounts, such as net and tax: headings say so, and all cells hold one.

    Without decimals they may be codes or rates, and stay text.
    """
    read: dict[int, pa.ChunkedArray] = {}
    for place in others:
        if are_inside(table.headings[place], _FURTHER_AMOUNTS):
            with suppress(InputError):
                column = amounts.amounts(table, place, decimal)
                read |= {place: column} if column.type.scale else {}
    return read


def _passed_through(
    table: Table, others: Sequence[int], read: Mapping[int, pa.ChunkedArray]
) -> dict[str, pa.ChunkedArray]:
    """Return other columns by heading, if their heading is unique; those `read` as amounts are exact."""
    taken = {*(name.casefold() for name in schema.ENTRIES.names), "batch_id", "reason", "message"}
    passed: dict[str, pa.ChunkedArray] = {}
    for place in others:
        name = table.headings[place].strip()
        if name.casefold() in taken:
            name = f"{name} (column {place + 1})"
        taken.add(name.casefold())
        passed[name] = read[place] if place in read else cells.or_null(table.columns[place])
    return passed
