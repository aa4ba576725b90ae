"""`bktools chart`: how a chart of accounts is read."""

from __future__ import annotations

import bktools
from bktools.cli import file_options, results
from bktools.cli.file_options import show_file
from bktools.cli.options import option


def chart(
    text: results.Text,
    file: file_options.File,
    columns: file_options.Columns = None,
    headings: file_options.Headings = None,
    skip_rows: file_options.SkipRows = None,
    delimiter: file_options.Delimiter = None,
    encoding: file_options.Encoding = None,
    sheet: file_options.Sheet = None,
    split_account: file_options.SplitAccount = False,
    account_list: bool = option(
        "--account-list", "The file is the account export of your spend tool.", False
    ),
    mapping: file_options.ByMapping = None,
    save_mapping: file_options.SaveMapping = None,
    output: results.Output = None,
) -> None:
    """Show how a chart of accounts is read.

    --save-mapping keeps the options: other commands find them by the file's headings.

    Example: bktools chart chart_of_accounts.csv --output chart.xlsx
    """
    given = locals()
    from bktools.inputs.readers.accounts import read_accounts

    if account_list:
        show_file(read_accounts, "accounts", given)
    else:
        show_file(bktools.read_chart_of_accounts, "chart", given)
