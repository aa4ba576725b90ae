"""`bktools entries`: how a file of accounting entries is read."""

from __future__ import annotations

from typing import Annotated

from typer import Option

import bktools
from bktools.cli import file_options, results
from bktools.cli.file_options import pairs, show_file


def entries(
    file: file_options.File,
    column: file_options.Column = None,
    headings: file_options.Headings = None,
    skip_rows: file_options.SkipRows = None,
    delimiter: file_options.Delimiter = None,
    encoding: file_options.Encoding = None,
    sheet: file_options.Sheet = None,
    decimal: file_options.Decimal = None,
    date_format: file_options.DateFormat = None,
    year: file_options.Year = None,
    currency: file_options.Currency = None,
    side: file_options.Side = None,
    negate: file_options.Negate = False,
    net: file_options.Net = False,
    fill_down: file_options.FillDown = None,
    approved_values: Annotated[
        str | None,
        Option(
            "--approved-values",
            metavar="VALUES",
            help="Values of the approval column that count, such as OK,NOT_REQUIRED.",
        ),
    ] = None,
    split_lines: Annotated[
        bool,
        Option("--split-lines", help="Lines with equal ID, company, date and currency are one entry."),
    ] = False,
    mapping: file_options.ByMapping = None,
    save_mapping: file_options.SaveMapping = None,
    format: results.Format = results.TextFormat.TEXT,
    output: results.Output = None,
    profile: results.CsvProfile = None,
) -> None:
    """Show how a file of entries is read, and keep the options that read it.

    Other commands read the file in the same way: they find a saved mapping by the file's headings.

    Example: bktools entries card.csv --column "amount=Amount (EUR)" --save-mapping card
    """
    given = {
        "columns": pairs("--column", column),
        "headings": headings,
        "skip_rows": skip_rows and ";".join(skip_rows),
        "delimiter": delimiter,
        "encoding": encoding,
        "sheet": sheet,
        "decimal": decimal,
        "date_format": date_format,
        "year": year,
        "currency": currency,
        "sides": pairs("--side", side),
        "negate": negate,
        "net": net,
        "fill_down": fill_down,
        "approved_values": approved_values,
        "split_lines": split_lines,
    }
    show_file(
        bktools.read_entries,
        "entries",
        file,
        given,
        mapping,
        save_mapping,
        format,
        output,
        profile,
        money="decimal",
    )
