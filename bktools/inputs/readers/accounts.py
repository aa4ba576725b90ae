"""Accounts: charts as ERPs export them, and the list that the service's user interface exports.

The bounds of an account are those of the interface (section 2.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from os import PathLike
from typing import Unpack

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.connection import company_named
from bktools.contract import rules
from bktools.contract.accounts import LONGEST_TEXT
from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.assignment import MONEY, ask_for, candidates, split_accounts
from bktools.inputs.fields import Column, fields_of, have_digits, options_of
from bktools.inputs.formats.registry import opened_books
from bktools.inputs.headings import opened
from bktools.inputs.mappings import options_with
from bktools.inputs.options import TableOptions, takes_options
from bktools.inputs.raw.source import Source
from bktools.inputs.reading import Reading, Step, read_by_steps
from bktools.inputs.table import Table
from bktools.inputs.values.days import is_day

# The columns of a list of accounts, in their order.
_LIST = pa.schema(
    [
        (name, schema.FLAG if name == "archived" else schema.TEXT)
        for name in (
            *("id", "external_id", "name", "code", "archived", "tax_code_external_id", "company_id"),
        )
    ]
)
_MORE_DIGITS = r"^\d{16,}$"
# A tax column that holds rates instead of codes has 0.25 or 0,19 in each cell, or a cell such as 20% (VAT).
_RATE, _PERCENT = r"^\s*0?[.,]\d+\s*$", r"\d\s*%"


@takes_options("chart")
def read_chart_of_accounts(
    path: str | PathLike[str],
    *,
    company: str | None = None,
    mapping: str | PathLike[str] | None = None,
    **options: Unpack[TableOptions],
) -> pd.DataFrame:
    r"""Read a chart of accounts: a CSV, Excel or Parquet table, or a format that `bktools guide files` lists.

    Text stays as it is in the file: leading zeros, spaces at the end, newlines; blanks before a name are left
    out. What was recognised is listed in `frame.attrs["bktools"]`, and each of it can be set. Rows with
    nothing but a name are titles of sections: they are left out, and a note counts them.

    Parameters
    ----------
    path : str or path
        The file.
    company : str, optional
        UUID or short name of the company the chart belongs to.
    mapping : str or path, optional
        Name of a saved mapping, or path of its .toml file: its options are read behind those that are given.
    {options}

    The fields are `external_id`, `code`, `name`, `archived`, `active`, `tax_code_external_id`, `type` and
    `company_id`.

    Returns
    -------
    pandas.DataFrame
        One row per account, in the file's order, with the columns of `bktools.frames.schema.CHART`.
        `external_id` is the code where the file has no column of its own for it. Empty optional cells are
        null. A file of SIE, SAF-T or DATEV names its company: `frame.attrs["bktools"]["company_in_file"]`.

    Raises
    ------
    QuestionError
        When something about the file is open, such as the column of the names. Its message has all of it, the
        choices that can settle it, and the call that reads the file.
    InputError
        When the file cannot be read, or an external ID is too long or there twice.
    ArgumentError
        When an argument is not what it must be.

    Warns
    -----
    FileNoteWarning
        When there are notes to know of, such as rows that were left out.

    Notes
    -----
    Section 2.4 of the interface. A tax rate is never taken as the tax code's identifier.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "chart.csv")
    ...     _ = path.write_text("Konto;Bezeichnung;Aktiv\n0400;Maschinen;ja\n", encoding="utf-8")
    ...     chart = read_chart_of_accounts(path)
    >>> chart[["external_id", "code", "name", "archived"]].values.tolist()
    [['0400', '0400', 'Maschinen', False]]
    """
    source = Source(path, "chart")
    steps: list[Step] = [_find_columns, _leave_titles, partial(_read_accounts, company=_company(company))]
    return read_by_steps(
        partial(opened_books, source), steps, options_with(mapping, path, "chart", options), schema.CHART
    )


@takes_options("accounts")
def read_accounts(path: str | PathLike[str], **options: Unpack[TableOptions]) -> pd.DataFrame:
    """Read the service's accounts from a file that its user interface exported.

    The arguments are those of `read_chart_of_accounts`. Returns one row per account, in the file's order.
    All but `id` and `archived` are null where the file does not have them: an external ID is never taken from
    the code here, since accounts are matched by it. A file without a column for `id` is a `QuestionError`; an
    `id` or external ID that is malformed or there twice is to be corrected.
    """
    source = Source(path, "accounts")
    steps: list[Step] = [
        _find_ids,
        partial(_read_accounts, company=None),
        _read_ids,
    ]
    return read_by_steps(partial(opened, source), steps, options_of("accounts", options), _LIST)


def _company(company: str | None) -> str | None:
    return None if company is None else company_named(company)


def _find_columns(reading: Reading) -> None:
    """Ask for code and name where no heading is known: codes are there once, and both are in every row."""
    if reading.books is not None:
        return
    split_accounts(reading, "code", "name")
    table, places = reading.table, reading.places
    if not reading.is_asked("code"):
        _refuse_others(reading)
        if "external_id" not in places and "code" in places and _are_kinds(reading.seen(places["code"])):
            reading.leave("code")
    if "code" not in places and "external_id" in places and not _are_uuids(reading.column("external_id")):
        places["code"] = places["external_id"]
    if _is_any_list(reading):
        # A list of codes and names with other things beside them may be of anything.
        ask_for(reading, "code", [table.choice("code", places["code"])], is_doubtful=True)
    if "code" not in places:
        _ask_codes(reading)
    if "name" not in places:
        offered = candidates(reading, "name")
        codes = reading.seen(places["code"]) if "code" in places and not offered else None
        if codes and codes.most(lambda text: any(map(str.isalpha, text))):
            # Accounts may have names alone, or their codes in the same cells.
            offered = [places["code"]] * (len(table.headings) == 1 or not have_digits(codes))
        ask_for(reading, "name", [table.choice("name", place) for place in offered])


def _ask_codes(reading: Reading) -> None:
    """Ask for the codes; without headings, their cells may have the names, too."""
    table, places = reading.table, reading.places
    # Any list has codes and names: under headings that are not known, the codes may be of something else.
    is_doubtful = table.heading_line > 0 and not table.is_known
    offered = candidates(reading, "code")
    choices = [table.choice("code", place) for place in offered]
    has_names = "name" in places and not reading.seen(places["name"]).repeats
    if has_names and all(reading.seen(place).repeats for place in offered):
        # Accounts may have names alone, as any list may.
        choices += [{"columns": dict.fromkeys(("code", "name"), reading.heading("name"))}]
        is_doubtful = True
    ask_for(reading, "code", choices, is_doubtful=is_doubtful)
    if not table.heading_line or len(table.headings) == 1:
        # Under headings that are not known, a number and a word may be of anything.
        split_accounts(reading, "code", "name")


def _are_kinds(column: Column) -> bool:
    """Whether cells are words of which most are there again, such as types: they are no codes."""
    return not have_digits(column) and len(column.kinds) * 2 < len(column.sample)


def _is_any_list(reading: Reading) -> bool:
    """Whether no heading and no other field says that a table with codes and names has accounts."""
    if reading.places.keys() != {"code", "name"} or reading.asked:
        return False
    words = ("account_code", "account", "account_name", "account_id")
    are_accounts = any(reading.seen(place).is_headed(*words) for place in reading.places.values())
    return not are_accounts and len(reading.free()) > 1 and not _are_a_tree(reading.sample("code"))


def _are_a_tree(texts: Sequence[str]) -> bool:
    """Whether most codes begin with another one, as those of accounts do, and do not count from 1."""
    codes = {text.strip() for text in texts}
    nested = [code for code in codes if any(code[:end] in codes for end in range(1, len(code)))]
    highest = max((int(code) for code in codes if code.isdecimal()), default=0)
    return len(nested) * 2 > len(codes) and not 0 < highest <= len(codes) * 2


def _refuse_others(reading: Reading) -> None:
    """Refuse a table with days and amounts, which is a journal or a statement, and a list of taxes."""
    columns = [reading.seen(place) for place in range(len(reading.table.headings))]
    fields = [(one, fields_of(one.heading, "ledger")) for one in columns]
    days = [one.heading for one, own in fields if "date" in own and one.most(is_day, 0.5)]
    amounts = [one.heading for one, own in fields if own & {*MONEY} and one.filled and one.are_amounts(1)]
    if days and amounts:
        reading.problems.ask("no_chart", headings=[days[0], amounts[0]])
    rates = [one.heading for one in columns if one.is_headed("tax_rate", "rate") and one.share > 0.5]
    are_accounts = any(one.is_headed("account_code", "account", "account_name", "number") for one in columns)
    if rates and (not are_accounts or any(one.is_headed("tax_code") and not one.repeats for one in columns)):
        reading.problems.ask("list_of_rates", headings=rates)


def _leave_titles(reading: Reading) -> None:
    """Leave out titles and second copies of a row; accounts that are there twice are problems."""
    if reading.books is not None:
        return
    table = reading.table
    no_identity = reading.blank("code")
    if reading.has("external_id"):
        no_identity &= reading.blank("external_id")
    filled = np.add.reduce([~cells.blank(column) for column in table.columns], dtype=np.int64)
    is_total = cells.each(reading.column("name"), terms.is_total, schema.FLAG)
    is_alone = (filled <= 1) & (len(table.columns) > 1)
    # A footer may stand in the column of the codes, which may be that of the names.
    is_one = reading.places["code"] == reading.places["name"]
    is_word = np.zeros(len(filled), dtype=bool)
    if have_digits(reading.seen(reading.places["code"])):
        is_word = ~cells.matches(reading.column("code"), r"\d")
    is_footer = is_alone & (reading.blank("name") | is_one) & (is_word | (len(table.columns) > 2))
    is_title = is_footer | (no_identity & (is_alone | cells.mask(is_total) | reading.blank("name")))
    reading.note_rows("titles", is_title)
    reading.note_rows("no_code", no_identity & ~is_title)
    reading.table = table = table.rows(~is_title)
    # What is not read, such as a number of the row, makes no other account.
    is_copy = cells.duplicated(*(table.columns[place] for place in {*reading.places.values()}))
    reading.note_rows("same_rows", is_copy)
    reading.table = table.rows(~is_copy)
    if not len(reading.table.lines):
        raise table.error("no_rows", table.heading_line)
    code = reading.or_null("code")
    again = cells.duplicated(reading.or_null("external_id") if reading.has("external_id") else code)
    if not reading.has("company_id") and len(cells.unique(code)) * 2 < len(code):
        # Most codes are there again, also where each row has an ID of its own: they are no accounts' codes.
        again |= cells.duplicated(code)
    choices = []
    if reading.has("external_id") and not cells.duplicated(code).any():
        # The codes tell the accounts apart.
        choices = [{"columns": {"external_id": ""}}]
    reading.ask_of_rows("code_twice", again, choices)


def _find_ids(reading: Reading) -> None:
    if not reading.has("id"):
        ask_for(reading, "id", ())
    reading.raise_problems()
    reading.table = cells.without_blank_rows(reading.table, reading.places.values())
    has_id = ~reading.blank("id")
    if has_id.sum() * 2 > len(has_id):
        # The service did not give an ID to the others.
        reading.note_rows("accounts_without_id", ~has_id)
        reading.table = reading.table.rows(has_id)


def _read_ids(reading: Reading) -> None:
    result = reading.result
    with reading.trying():
        result["id"] = cells.uuids(reading.table, reading.places["id"], required=True)
        reading.ask_of_rows("code_twice", cells.duplicated(result["id"]))
    reading.ask_of_rows("code_twice", cells.duplicated(result["external_id"], result["company_id"]))
    if not reading.has("external_id"):
        reading.note("no_external_ids")


def _read_accounts(reading: Reading, company: str | None) -> None:
    """Read the fields of each account; values that cannot be are problems."""
    if reading.kind == "chart":
        reading.places.setdefault("external_id", reading.places["code"])
        reading.note_rows("no_name", reading.blank("name"))
    _leave_rates(reading)
    nothing = terms.values("none")
    reading.result |= {name: reading.or_null(name) for name in ("external_id", "code", "name", "type")}
    if reading.kind == "chart":
        # A name may be empty; blanks before it are the indentation of a tree.
        reading.result["name"] = pc.utf8_ltrim_whitespace(reading.column("name"))
    reading.result["tax_code_external_id"] = cells.each(
        reading.or_null("tax_code_external_id"),
        # A cell such as N/A says that there is none.
        lambda text: None if not text.strip() or terms.normal(text) in nothing else text,
        schema.TEXT,
    )
    reading.result["company_id"] = _company_ids(reading, company)
    reading.result["archived"] = _archived(reading)
    with reading.trying():
        for place in {reading.places[name] for name in ("external_id", "code", "name") if reading.has(name)}:
            _refuse_text(reading.table, place)


def _leave_rates(reading: Reading) -> None:
    """Take no column of tax rates as tax codes, unless an option names it; a note tells of each."""
    field = "tax_code_external_id"
    if reading.has("tax_rate"):
        reading.note("tax_rate", heading=reading.heading("tax_rate"))
        reading.leave("tax_rate")
    if reading.has(field) and not reading.is_asked(field):
        column = reading.or_null(field).drop_null()
        if len(column) and (cells.matches(column, _RATE).all() or cells.matches(column, _PERCENT).any()):
            reading.note("tax_rate", heading=reading.heading(field))
            reading.leave(field)


def _refuse_text(table: Table, place: int) -> None:
    """Refuse text that is too long, or a number that a workbook does not keep."""
    column = table.columns[place]
    long = cells.mask(pc.greater(pc.utf8_length(column), LONGEST_TEXT))
    cells.refuse(table, place, long, "too_long", most=LONGEST_TEXT)
    if table.sheet is not None and place in table.numeric:
        cells.refuse(table, place, cells.matches(column, _MORE_DIGITS), "number_cut")


def _are_uuids(column: pa.ChunkedArray) -> bool:
    return bool(cells.matches(column, rules.UUID_REGEX).any())


def _company_ids(reading: Reading, company: str | None) -> pa.ChunkedArray:
    """Return each row's company: the one asked for, the file's, or null; any other one is a problem."""
    if reading.has("company_id") and not _are_uuids(reading.column("company_id")):
        # An ID of another system, such as DATEV's client.
        reading.note("company_of_another_system", heading=reading.heading("company_id"))
        reading.leave("company_id")
    if not reading.has("company_id"):
        return reading.constant(company, schema.TEXT)
    ids = pc.ascii_lower(reading.or_null("company_id"))
    is_other = ~cells.matches(ids, rules.UUID_REGEX)
    if company is not None:
        is_other |= cells.mask(pc.not_equal(ids, company))
    # One other company is the one asked for, or unknown; several are not.
    choices = [{"columns": {"company_id": ""}}] if len(cells.unique(ids.drop_null())) == 1 else []
    facts = {"heading": reading.heading("company_id"), "company": company}
    reading.ask_of_rows("other_company", is_other, choices, **facts)
    return ids


def _archived(reading: Reading) -> pa.ChunkedArray:
    """Return which rows are archived, by the archived or the active column or both; by default none."""
    result = reading.constant(False, schema.FLAG)
    for field, yes in (("archived", True), ("active", False)):
        if not reading.has(field):
            continue
        meanings = {"yes": yes, "no": not yes, "active": False, "archived": True}
        flag_of = {"": False} | {word: flag for name, flag in meanings.items() for word in terms.values(name)}
        column = cells.trimmed(reading.column(field))
        texts = cells.each(column, terms.normal, schema.TEXT)
        flags = cells.each(texts, flag_of.get, schema.FLAG)
        unknown = cells.mask(pc.is_null(flags))
        facts = {"heading": reading.heading(field), "value": column[int(unknown.argmax())].as_py()}
        reading.ask_of_rows("no_flag", unknown, [{"columns": {field: ""}}], field=field, **facts)
        result = pc.or_kleene(result, pc.fill_null(flags, False))
    return result
