"""`bktools entries`: how a file of accounting entries is read."""

from __future__ import annotations

from functools import partial

import bktools
from bktools.cli import file_options, results
from bktools.cli.file_options import show_file
from bktools.cli.options import option


def entries(
    text: results.Text,
    file: file_options.File,
    columns: file_options.Columns = None,
    headings: file_options.Headings = None,
    skip_rows: file_options.SkipRows = None,
    delimiter: file_options.Delimiter = None,
    encoding: file_options.Encoding = None,
    sheet: file_options.Sheet = None,
    decimal: file_options.Decimal = None,
    date_format: file_options.DateFormat = None,
    year: file_options.Year = None,
    currency: file_options.Currency = None,
    sides: file_options.Sides = None,
    negate: file_options.Negate = False,
    net: file_options.Net = False,
    fill_down: file_options.FillDown = None,
    approved_values: str | None = option(
        "--approved-values VALUES", "Values of the approval column that count, such as OK,NOT_REQUIRED."
    ),
    split_lines: bool = option(
        "--split-lines", "Lines with equal ID, company, date and currency are one entry.", False
    ),
    mapping: file_options.ByMapping = None,
    save_mapping: file_options.SaveMapping = None,
    output: results.Output = None,
) -> None:
    """Show how a file of entries is read.

    --save-mapping keeps the options: other commands find them by the file's headings.

    Example: bktools entries card.csv --column "amount=Amount (EUR)" --save-mapping card
    """
    show_file(partial(bktools.read_entries, money="decimal"), "entries", locals())
