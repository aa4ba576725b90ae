"""`bktools chart`: how a chart of accounts is read."""

from __future__ import annotations

from typing import Annotated

from typer import Option

import bktools
from bktools.cli import file_options, results
from bktools.cli.file_options import pairs, show_file


def chart(
    file: file_options.File,
    column: file_options.Column = None,
    headings: file_options.Headings = None,
    skip_rows: file_options.SkipRows = None,
    delimiter: file_options.Delimiter = None,
    encoding: file_options.Encoding = None,
    sheet: file_options.Sheet = None,
    split_account: file_options.SplitAccount = False,
    account_list: Annotated[
        bool, Option("--account-list", help="The file is the account export of your spend tool.")
    ] = False,
    mapping: file_options.ByMapping = None,
    save_mapping: file_options.SaveMapping = None,
    format: results.Format = results.TextFormat.TEXT,
    output: results.Output = None,
    profile: results.CsvProfile = None,
) -> None:
    """Show how a chart of accounts is read, and keep the options that read it.

    Other commands read the file in the same way: they find a saved mapping by the file's headings.

    Example: bktools chart chart_of_accounts.csv --output chart.xlsx
    """
    from bktools.inputs.accounts import read_accounts

    options = {
        "columns": pairs("--column", column),
        "headings": headings,
        "skip_rows": skip_rows and ";".join(skip_rows),
        "delimiter": delimiter,
        "encoding": encoding,
        "sheet": sheet,
        "split_account": split_account,
    }
    reader = read_accounts if account_list else bktools.read_chart_of_accounts
    kind = "accounts" if account_list else "chart"
    show_file(reader, kind, file, options, mapping, save_mapping, format, output, profile)
