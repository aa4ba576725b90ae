"""Charts of accounts as ERPs export them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs import accounts, cells, words
from bktools.inputs.cells import collected, question, raise_all
from bktools.inputs.columns import Columns, Vocabulary, fits
from bktools.inputs.evidence import are_headings, says_report
from bktools.inputs.file import read_table
from bktools.inputs.formats.registry import chart_of_format
from bktools.inputs.proposals import proposing
from bktools.inputs.table import Table

# Codes unlike the others are asked about where they are few among many.
_FEW, _LEAST_CODES = 0.02, 4
_MOST, _HALF, _LEAST_PARTS = 0.9, 0.5, 2
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
) -> pd.DataFrame:
    r"""Read a chart of accounts from a CSV, TSV, Excel or Parquet file of an ERP, or from SIE, DATEV, FEC, SAF-T and others.

    Text stays as it is in the file: leading zeros, spaces at the end, newlines. What was recognised is listed in
    `frame.attrs["bktools"]`, and each of it can be set. Rows with nothing but a name are titles of sections: they are
    skipped, and a note counts them. Accounts without a code are kept; their external ID is null.

    Parameters
    ----------
    path : str or path
        The file.
    columns : mapping, optional
        Field to heading, for what is not recognised: `external_id`, `code`, `name`, `archived`, `active`,
        `tax_code_external_id`, `type`, `company_id`. An empty heading leaves the field out.
    company : str, optional
        UUID of the company the chart belongs to.
    delimiter : str, optional
        One character.
    encoding : str, optional
        A name such as `"cp1252"`.
    sheet : str or int, optional
        Name of the workbook's sheet, or its position from 0.

    Returns
    -------
    pandas.DataFrame
        One row per account, in the file's order, with the columns of `bktools.frames.schema.CHART`. `external_id` is
        the code where the file has no column of its own for it. Empty optional cells are null. A file of SIE, SAF-T or
        DATEV names its company: `frame.attrs["bktools"]["company_in_file"]`.

    Raises
    ------
    InputError
        When the file cannot be read, has no column for code or name, or an external ID is empty, too long or there
        twice. The message names the line and the way out.
    ArgumentError
        When an argument is not what it must be.

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
    company = None if company is None else rules.uuid_text("company", company)
    vocabulary = Vocabulary("chart", columns)
    chart = chart_of_format(path, encoding, delimiter=delimiter, sheet=sheet)
    problems: list[InputError] = []
    notes: list[str] = []
    if chart and not columns:
        # A format says which column is which.
        table, places = chart.table, dict(chart.places)
    else:
        table = (
            chart.table
            if chart
            else read_table(path, vocabulary.score, delimiter=delimiter, encoding=encoding, sheet=sheet)
        )
        places = vocabulary.assign(table, required=("code", "name"), problems=problems, notes=notes)
    table = cells.without_broken(table, places.values(), problems)
    if {"code", "name"} <= places.keys():
        with collected(problems):
            table = _accounts_only(table, places, notes)
        if chart is None and not vocabulary.is_settled("code", "name"):
            with collected(problems):
                _ask_of_odd_rows(table, places)
            problems += _ask_of_columns_in_parts(table, places)
    places = accounts.without_rates(table, places, notes, said="tax_code_external_id" in vocabulary.chosen)
    if "code" in places:
        places.setdefault("external_id", places["code"])
    checked = _checked(table, places, company, problems)
    raise_all(problems, table)
    result = pa.table(checked, schema=schema.CHART)
    notes += _doubts(table, places)
    return schema.to_pandas(result, table.provenance(result.num_rows, places, notes))


def _accounts_only(table: Table, places: Mapping[str, int], notes: list[str]) -> Table:
    """Return the rows that are accounts: neither blank, nor headings again, nor titles of sections, nor totals.

    A title has nothing but its words in the whole row. An account without a code has more, and is kept.
    """
    code, name = (table.columns[places[field]] for field in ("code", "name"))
    no_code, no_name = cells.blank(code), cells.blank(name)
    no_identity = no_code
    if "external_id" in places:
        no_identity = no_code & cells.blank(table.columns[places["external_id"]])
    headings_again = are_headings(table, [places["code"], places["name"]])
    named = {places.get(field) for field in ("external_id", "code", "name")}
    rest = [cells.blank(column) for place, column in enumerate(table.columns) if place not in named]
    is_alone = np.logical_and.reduce([np.ones(len(no_code), dtype=bool), *rest])
    titles = (no_identity & ~no_name & is_alone) | _titles_in_code_column(table, places, no_code)
    totals = (
        cells.mask(words.begin(name, words.TOTALS)) & no_identity | cells.mask(words.are(code, words.TOTALS)) & no_name
    )
    titles &= ~totals
    lines_of_report = says_report(code) & no_name & ~titles & ~totals
    notes += cells.counted(
        table,
        {
            "rows skipped as headings that are repeated": headings_again,
            "rows skipped as titles of sections, not accounts": titles,
            "rows skipped as totals, not accounts": totals,
            "rows skipped as lines of a report, not accounts": lines_of_report,
        },
    )
    is_account = ~(headings_again | titles | totals | lines_of_report | (no_identity & no_name))
    if (no_identity | ~is_account).all():
        raise InputError("no row below the headings has a code", source=table.source, line=table.heading_line)
    return table.rows(is_account)


def _ask_of_odd_rows(table: Table, places: Mapping[str, int]) -> None:
    """Raise an error for rows that may be lines of a report: nearly all codes have digits and no words, theirs have not."""
    code, name = (table.columns[places[field]] for field in ("code", "name"))
    no_code = cells.blank(code)
    unlike = ~no_code & (~cells.matches(code, r"\d") | cells.matches(code, _WORDS))
    unlike &= unlike.sum() <= max(1, _FEW * (~no_code).sum()) and (~no_code).sum() > _LEAST_CODES
    unlike |= ~no_code & ~cells.matches(code, r"^\s*\d") & says_report(code)
    odd = unlike | no_code & says_report(name)
    if odd.any():
        row = int(odd.argmax())
        shown = ", ".join(cells.quoted(column[row].as_py()) for column in (code, name))
        raise question(
            f"{shown} is unlike the other accounts ({cells.lines_of(table, odd)}): delete such lines if they are no accounts;"
            " if they are, name the columns with",
            table.source,
            {field: table.headings[places[field]] for field in ("code", "name")},
            int(table.lines[row]),
        )


def _ask_of_columns_in_parts(table: Table, places: Mapping[str, int]) -> Iterator[InputError]:
    """Yield a problem where rows without a code, or without a name, have one in another column, as in a chart by levels."""
    for field in ("code", "name"):
        empty = cells.blank(table.columns[places[field]])
        for other, column in enumerate(table.columns):
            if other in places.values() or empty.sum() < _LEAST_PARTS or not fits(field, table, other):
                continue
            in_part = ~cells.blank(column)
            if in_part[empty].mean() >= _HALF and in_part[~empty].mean() <= 1 - _MOST:
                yield question(
                    f"{table.headings[other]!r} has a {field} in rows where {table.headings[places[field]]!r} has none"
                    f" ({cells.lines_of(table, empty)}), as in a chart by levels: put all of them into one column, or leave"
                    " the others out with",
                    table.source,
                    {each: table.headings[places[each]] for each in ("code", "name")},
                )
                break


def _titles_in_code_column(table: Table, places: Mapping[str, int], no_code: cells.Mask) -> cells.Mask:
    """Return rows with a word, or words, as code and nothing else, in a chart whose other codes have digits."""
    code = table.columns[places["code"]]
    wordy = (~cells.matches(code, r"\d") | cells.matches(code, _WORDS)) & ~no_code
    if not wordy.any() or wordy.sum() > (~no_code).sum() / 2:
        return np.zeros(len(no_code), dtype=bool)
    rest = [column for place, column in enumerate(table.columns) if place != places["code"]]
    titles: cells.Mask = np.logical_and.reduce([wordy, *(cells.blank(column) for column in rest)])
    return titles


def _checked(
    table: Table, places: Mapping[str, int], company: str | None, problems: list[InputError]
) -> dict[str, pa.ChunkedArray]:
    """Return the columns of the chart; add problems of their values to the list."""
    columns: dict[str, pa.ChunkedArray] = {}
    with collected(problems):
        columns["company_id"] = accounts.company_ids(table, places, company)
    with collected(problems):
        columns["archived"] = accounts.archived(table, places)
    if {"code", "name"} <= places.keys():
        own = places["external_id"]
        if own != places["code"]:
            with collected(problems):
                code = places["code"]
                whole = (
                    {}
                    if cells.blank(table.columns[code]).any()
                    else dict.fromkeys(("external_id", "code"), table.headings[code])
                )
                rule = "is the external ID and must not be empty (fill it in)"
                cells.refuse(table, own, cells.blank(table.columns[own]), rule, instead=whole)
        with collected(problems):
            accounts.refuse_long_text(table, places)
        columns["external_id"] = cells.or_null(table.columns[own])
        if "company_id" in columns:
            with collected(problems):
                keys = [columns["external_id"], columns["company_id"]]
                accounts.refuse_duplicates(table, own, "external ID", keys)
        without_code = cells.blank(table.columns[places["code"]])
        columns["code"] = pc.if_else(
            pa.array(without_code), pa.scalar(None, schema.TEXT), table.columns[places["code"]]
        )
        columns["name"] = table.columns[places["name"]]
    columns["tax_code_external_id"] = accounts.tax_codes(table, places)
    columns["type"] = accounts.optional(table, places, "type")
    columns["line"] = pa.chunked_array([pa.array(table.lines, type=schema.COUNT)])
    return columns


def _doubts(table: Table, places: Mapping[str, int]) -> list[str]:
    """Return notes of values that look wrong and are kept to the letter."""
    code, name, own = (table.columns[places[field]] for field in ("code", "name", "external_id"))
    notes = cells.counted(
        table,
        {
            "accounts without a name": cells.blank(name),
            "accounts without a code, kept": cells.blank(code),
            "external IDs with white space at an end, which is kept": ~cells.mask(pc.equal(own, cells.trimmed(own))),
            "codes that seem to have lost leading zeros which others still have, kept as they are": _lost_zeros(code),
        },
    )
    if places["code"] in table.numeric and pc.count_distinct(pc.utf8_length(code)).as_py() > 1:
        notes.append("codes are numbers of different lengths in the file: leading zeros, if they had any, are lost")
    return notes


def _lost_zeros(code: pa.ChunkedArray) -> cells.Mask:
    """Return codes shorter than the one length that every code with a leading zero has."""
    digits = cells.matches(code, r"^\d+$")
    length = pc.utf8_length(code).to_numpy()
    if not digits.any():
        return np.zeros(len(length), dtype=bool)
    zero = digits & cells.mask(pc.starts_with(code, "0"))
    fixed = np.unique(length[zero])
    if len(fixed) != 1 or length[digits].max() != fixed[0]:
        return np.zeros(len(length), dtype=bool)
    short: cells.Mask = digits & (length < fixed[0])
    return short
