"""Charts of accounts as ERPs export them."""

from __future__ import annotations

from functools import partial
from os import PathLike
from typing import Unpack

import numpy as np
import pandas as pd
import pyarrow as pa

from bktools.connection import company_named
from bktools.frames import schema
from bktools.inputs import cells, words
from bktools.inputs.account_fields import account_fields, duplicated
from bktools.inputs.assignment import ask_for, candidates
from bktools.inputs.formats.registry import books_of
from bktools.inputs.headings import opened
from bktools.inputs.options import ChartOptions, Options, takes_options
from bktools.inputs.question import answered
from bktools.inputs.reading import Reading
from bktools.inputs.source import Source
from bktools.inputs.split_accounts import split_accounts
from bktools.inputs.table import Mask


@takes_options("chart")
def read_chart_of_accounts(
    path: str | PathLike[str], *, company: str | None = None, **options: Unpack[ChartOptions]
) -> pd.DataFrame:
    r"""Read a chart of accounts from a table (CSV, TSV, Excel, Parquet), SIE, DATEV, FEC, SAF-T and others.

    Text stays as it is in the file: leading zeros, spaces at the end, newlines. What was recognised is listed
    in `frame.attrs["bktools"]`, and each of it can be set. Rows with nothing but a name are titles of
    sections: they are left out, and a note counts them.

    Parameters
    ----------
    path : str or path
        The file.
    company : str, optional
        UUID or short name of the company the chart belongs to.
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
    company = None if company is None else company_named(company)
    return answered(partial(_read, source, company=company), Options.of("chart", options))


def _read(source: Source, options: Options, *, company: str | None) -> pd.DataFrame:
    books = books_of(source, options)
    if books is None:
        reading = opened(source, options)
        split_accounts(reading, "code", "name")
        _ask_of_columns(reading)
        reading.raise_problems()
        reading.table = reading.table.rows(_accounts_only(reading))
    else:
        table = books[1].table
        reading = Reading(source, options, table, dict(table.places))
    reading.places.setdefault("external_id", reading.places["code"])
    fields = account_fields(reading, company)
    reading.raise_problems()
    # A name is kept as it is, also where it is empty.
    fields |= {"name": reading.column("name"), "type": reading.or_null("type"), "line": reading.lines()}
    result = pa.table(fields, schema=schema.CHART)
    reading.note_rows("no_name", reading.blank("name"))
    about = reading.provenance(result.num_rows, reading.places)
    reading.warn_of_notes()
    return schema.to_pandas(result, about)


def _ask_of_columns(reading: Reading) -> None:
    """Ask for code and name where no heading is known: codes are there once, and both are in every row."""
    table, places = reading.table, reading.places
    if "code" not in places and "external_id" in places:
        places["code"] = places["external_id"]
    for field in ("code", "name"):
        if field in places:
            continue
        offered = candidates(reading, field)
        if field == "name" and not offered and "code" in places:
            # An account may have its name alone.
            offered = [places["code"]]
        # Any list has codes and names: under headings that are not known, the codes may be of something else.
        is_doubtful = field == "code" and table.heading_line > 0 and not table.is_known
        choices = [table.choice(field, place) for place in offered]
        ask_for(reading, field, choices, is_doubtful=is_doubtful)


def _accounts_only(reading: Reading) -> Mask:
    """Return the rows that are accounts: no titles, no second copies of a row; others are problems."""
    table = reading.table
    code, name = reading.column("code"), reading.column("name")
    no_code = cells.blank(code)
    no_identity = no_code & reading.blank("external_id") if reading.has("external_id") else no_code
    filled = np.add.reduce([~cells.blank(column) for column in table.columns], dtype=np.int64)
    is_title = no_identity & (filled <= 1) & (len(table.columns) > 1)
    is_total = no_identity & cells.mask(
        cells.each(name, lambda text: words.normal(text) in words.TOTALS, schema.FLAG)
    )
    is_title |= is_total
    reading.note_rows("titles", is_title)
    reading.note_rows("no_code", no_identity & ~is_title)
    rows = table.rows(~is_title)
    is_copy = np.zeros(len(table.lines), dtype=bool)
    is_copy[~is_title] = duplicated(*rows.columns)
    reading.note_rows("same_rows", is_copy)
    keep: Mask = ~(is_title | is_copy)
    again = np.zeros(len(table.lines), dtype=bool)
    again[keep] = duplicated(
        reading.or_null("external_id" if reading.has("external_id") else "code").filter(pa.array(keep))
    )
    if not reading.has("company_id") and len(cells.unique(code.filter(pa.array(keep)))) * 2 < keep.sum():
        # Most codes are there again, also where each row has an ID of its own: they are no accounts' codes.
        again[keep] |= duplicated(code.filter(pa.array(keep)))
    reading.ask_of_rows("code_twice", again)
    reading.raise_problems()
    if not keep.any():
        reading.problems.ask("nothing")
        reading.raise_problems()
    return keep
