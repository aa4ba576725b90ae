"""Charts of accounts as ERPs export them."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.connection import company_named
from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs import accounts, cells, words
from bktools.inputs.cells import question, raise_all
from bktools.inputs.columns import Columns, Reading, Vocabulary, opened
from bktools.inputs.formats.registry import recognised
from bktools.inputs.looks import fits
from bktools.inputs.prepared_rows import split_accounts
from bktools.inputs.proposals import proposing
from bktools.inputs.report_rows import are_headings, says_report
from bktools.inputs.table import Table

# Codes unlike the others are asked about where they are few among many.
_FEW, _LEAST_CODES = 0.02, 4
_MOST, _HALF, _LEAST_PARTS, _LEAST_FULL = 0.9, 0.5, 2, 2
_REPORT = words.TOTALS | words.values("balance") | words.values("footer")
# A word with more behind it, which no code is.
_WORDS = r"^\s*\pL{3,}\S*\s"


@proposing("accounts")
def read_chart_of_accounts(
    path: str | PathLike[str],
    *,
    columns: Columns | None = None,
    company: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    split_account: bool = False,
) -> pd.DataFrame:
    r"""Read a chart of accounts from a table (CSV, TSV, Excel, Parquet), SIE, DATEV, FEC, SAF-T and others.

    Text stays as it is in the file: leading zeros, spaces at the end, newlines. What was recognised is listed
    in `frame.attrs["bktools"]`, and each of it can be set. Rows with nothing but a name are titles of
    sections: they are skipped, and a note counts them. Accounts without a code are kept; their external ID is
    null.

    Parameters
    ----------
    path : str or path
        The file.
    columns : mapping, optional
        Field to heading, for what is not recognised: `external_id`, `code`, `name`, `archived`, `active`,
        `tax_code_external_id`, `type`, `company_id`. An empty heading leaves the field out.
    company : str, optional
        UUID or short name of the company the chart belongs to.
    delimiter : str, optional
        One character.
    encoding : str, optional
        A name such as `"cp1252"`.
    sheet : str or int, optional
        Name of the workbook's sheet, or its position from 0.
    split_account : bool
        True when a column holds the code and the name of an account in one cell, such as `466300 Travel`.

    Returns
    -------
    pandas.DataFrame
        One row per account, in the file's order, with the columns of `bktools.frames.schema.CHART`.
        `external_id` is the code where the file has no column of its own for it. Empty optional cells are
        null. A file of SIE, SAF-T or DATEV names its company: `frame.attrs["bktools"]["company_in_file"]`.

    Raises
    ------
    InputError
        When the file cannot be read, has no column for code or name, or an external ID is empty, too long or
        there twice. The message names the line and the way out.
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
    company = None if company is None else company_named(company)
    vocabulary = Vocabulary("chart", columns)
    of_format = recognised(path, encoding, delimiter=delimiter, sheet=sheet)
    if of_format is None:
        reading = opened(path, vocabulary, delimiter=delimiter, encoding=encoding, sheet=sheet)
    else:
        file, form = of_format
        reading = Reading(form.chart(file), vocabulary)
    split_accounts(reading, split_account and of_format is None, "code", "name")
    reading.assign(required=("code", "name"))
    places, problems = reading.places, reading.problems
    reading.skip_broken()
    if reading.has("code", "name"):
        with reading.trying():
            reading.table = _accounts_only(reading)
        if of_format is None and not reading.is_settled("code", "name"):
            with reading.trying():
                _ask_of_odd_rows(reading)
            problems += _ask_of_columns_in_parts(reading)
    if reading.has("code"):
        places.setdefault("external_id", places["code"])
    has_accounts = reading.has("code", "name")
    fields = accounts.checked(reading, company, are_accounts=has_accounts)
    if has_accounts:
        with reading.trying():
            _refuse_empty_ids(reading)
    raise_all(problems, reading.table)
    # A name is kept as it is, also where it is empty.
    fields |= {"name": reading.column("name"), "type": reading.or_null("type"), "line": reading.lines()}
    result = pa.table(fields, schema=schema.CHART)
    _note_doubts(reading)
    reading.warn_of_notes()
    return schema.to_pandas(result, reading.provenance(result.num_rows, places))


def _accounts_only(reading: Reading) -> Table:
    """Return the rows that are accounts: not blank, repeated headings, titles of sections, or totals.

    A title has nothing but its words in the whole row. An account without a code has more, and is kept.
    """
    table, places = reading.table, reading.places
    code, name = reading.column("code"), reading.column("name")
    no_code, no_name = cells.blank(code), cells.blank(name)
    no_identity = no_code & reading.blank("external_id") if reading.has("external_id") else no_code
    headings_again = are_headings(table, [places["code"], places["name"]])
    # A title has no code, or stands in the column of codes where the others have digits.
    wordy = _are_wordy(code) & ~no_code
    wordy &= wordy.sum() <= (~no_code).sum() / 2
    is_title = no_identity & ~no_name & _are_blank_but(reading, "external_id", "code", "name")
    is_title |= wordy & _are_blank_but(reading, "code")
    totals = cells.mask(words.begin(name, words.TOTALS)) & no_identity
    totals |= cells.mask(words.are(code, words.TOTALS)) & no_name
    titles = is_title & ~totals
    lines_of_report = says_report(code) & no_name & ~titles & ~totals
    reading.note_skipped(
        {
            "rows skipped as headings that are repeated": headings_again,
            "rows skipped as titles of sections, not accounts": titles,
            "rows skipped as totals, not accounts": totals,
            "rows skipped as lines of a report, not accounts": lines_of_report,
        }
    )
    is_account = ~(headings_again | titles | totals | lines_of_report | (no_identity & no_name))
    if (no_identity | ~is_account).all():
        raise table.error("no row below the headings has a code", table.heading_line)
    return table.rows(is_account)


def _are_wordy(code: pa.ChunkedArray) -> cells.Mask:
    """Return where a code has no digit, or is a word with more behind it."""
    return ~cells.matches(code, r"\d") | cells.matches(code, _WORDS)


def _are_blank_but(reading: Reading, *fields: str) -> cells.Mask:
    """Return the rows that hold nothing in any other column than those of the fields."""
    named = {reading.places.get(field) for field in fields}
    blank = np.ones(len(reading.table.lines), dtype=bool)
    for place, column in enumerate(reading.table.columns):
        if place not in named:
            blank &= cells.blank(column)
    return blank


def _ask_of_odd_rows(reading: Reading) -> None:
    """Refuse rows that may be lines of a report: nearly all codes have digits and no words, theirs do not."""
    table, code, name = reading.table, reading.column("code"), reading.column("name")
    no_code = cells.blank(code)
    codes = (~no_code).sum()
    unlike = ~no_code & _are_wordy(code)
    unlike &= unlike.sum() <= max(1, _FEW * codes) and codes > _LEAST_CODES
    # A line of a report has few cells.
    unlike &= ~_are_as_full(reading)
    unlike |= ~no_code & ~cells.matches(code, r"^\s*\d") & says_report(code)
    odd = unlike | no_code & cells.mask(words.are_alone(name, _REPORT))
    if odd.any():
        row = int(odd.argmax())
        shown = ", ".join(cells.quoted(column[row].as_py()) for column in (code, name))
        raise question(
            table,
            f"{shown} is unlike the other accounts ({cells.lines_of(table, odd)}): "
            "delete such lines unless they are accounts",
            {field: cells.heading_of(table, reading.places[field]) for field in ("code", "name")},
            int(table.lines[row]),
        )


def _are_as_full(reading: Reading) -> cells.Mask:
    """Return the rows that hold something in each column that nearly all rows fill, where there are some."""
    own = {reading.places["code"], reading.places["name"]}
    others = [column for place, column in enumerate(reading.table.columns) if place not in own]
    filled = [~cells.blank(column) for column in others]
    usual = [rows for rows in filled if rows.mean() >= _MOST]
    are_many = np.full(len(reading.table.lines), len(usual) >= _LEAST_FULL)
    as_full: cells.Mask = np.logical_and.reduce([*usual, are_many])
    return as_full


def _ask_of_columns_in_parts(reading: Reading) -> Iterator[InputError]:
    """Yield a problem where rows without a code or name have one in another column.

    Charts by levels are such files.
    """
    table = reading.table
    for field in ("code", "name"):
        empty = reading.blank(field)
        for other in reading.free() if empty.sum() >= _LEAST_PARTS else ():
            in_part = ~cells.blank(table.columns[other])
            stands_in = (
                in_part[empty].mean() >= _HALF and in_part[~empty].sum() <= (1 - _MOST) * (~empty).sum()
            )
            if stands_in and fits(field, table, other):
                yield question(
                    table,
                    f"{table.headings[other]!r} has a {field} in rows where {reading.heading(field)!r} has "
                    f"none ({cells.lines_of(table, empty)}), as in a chart by levels: "
                    "put all of them into one column, or leave the others out",
                    {each: cells.heading_of(table, reading.places[each]) for each in ("code", "name")},
                )
                break


def _refuse_empty_ids(reading: Reading) -> None:
    """Refuse an account without an external ID where others have one.

    The codes may be the IDs if all accounts have one.
    """
    if reading.places["external_id"] != reading.places["code"]:
        has_all_codes = not reading.blank("code").any()
        instead = dict.fromkeys(("external_id", "code"), reading.heading("code")) if has_all_codes else {}
        rule = "is the external ID and must not be empty (fill it in)"
        reading.refuse("external_id", reading.blank("external_id"), rule, instead=instead)


def _note_doubts(reading: Reading) -> None:
    """Note values that look wrong and are kept to the letter."""
    code, own = reading.column("code"), reading.column("external_id")
    reading.notes += cells.counted(
        reading.table,
        {
            "accounts without a name": reading.blank("name"),
            "accounts without a code, kept": cells.blank(code),
            "external IDs with white space at an end, which is kept": ~cells.mask(
                pc.equal(own, cells.trimmed(own))
            ),
            "codes that seem to have lost leading zeros which others still have, "
            "kept as they are": _lost_zeros(code),
        },
    )
    if (
        reading.places["code"] in reading.table.numeric
        and pc.count_distinct(pc.utf8_length(code)).as_py() > 1
    ):
        reading.notes.append(
            "codes are numbers of different lengths in the file: leading zeros, if they had any, are lost"
        )


def _lost_zeros(code: pa.ChunkedArray) -> cells.Mask:
    """Return codes shorter than the one length that every code with a leading zero has."""
    digits, length = cells.matches(code, r"^\d+$"), pc.utf8_length(code).to_numpy()
    fixed = np.unique(length[digits & cells.mask(pc.starts_with(code, "0"))])
    if len(fixed) != 1 or length[digits].max() != fixed[0]:
        return np.zeros(len(length), dtype=bool)
    short: cells.Mask = digits & (length < fixed[0])
    return short
