"""`bktools ledger`: how a general ledger of any accounting system is read."""

from __future__ import annotations

from typing import Annotated

from typer import Option

import bktools
from bktools.cli import file_options, results
from bktools.cli.file_options import pairs, show_file


def ledger(
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
    split_account: file_options.SplitAccount = False,
    style: Annotated[
        str | None,
        Option(
            "--style",
            metavar="STYLE",
            help="What one posting books, if the ledger does not show it: entry, supplier_day, account_day, "
            "document, batch or month.",
        ),
    ] = None,
    reverse_sign: Annotated[
        bool | None,
        Option(
            "--reverse-sign/--keep-sign",
            help="Whether credits of the ledger are costs. By default the ledger shows it.",
        ),
    ] = None,
    verify: Annotated[
        str,
        Option(
            "--verify",
            metavar="strict|warn",
            help="strict: the ledger must agree with its own totals. warn: a warning.",
        ),
    ] = "strict",
    mapping: file_options.ByMapping = None,
    save_mapping: file_options.SaveMapping = None,
    format: results.Format = results.TextFormat.TEXT,
    output: results.Output = None,
    profile: results.CsvProfile = None,
) -> None:
    """Show how a general ledger is read, and keep the options that read it.

    SIE, DATEV, FEC, SAF-T and JPK_KR need none. A ledger is compared with its own totals.

    Example: bktools ledger bookkeeping.se --output postings.csv
    """
    options = {
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
        "split_account": split_account,
        "style": style,
        "reverse_sign": reverse_sign,
        "verify": verify,
    }
    show_file(
        bktools.read_general_ledger,
        "ledger",
        file,
        options,
        mapping,
        save_mapping,
        format,
        output,
        profile,
        money="decimal",
    )
