"""`bktools ledger`: how a general ledger of any accounting system is read."""

from __future__ import annotations

from functools import partial

import bktools
from bktools.cli import file_options, results
from bktools.cli.file_options import show_file
from bktools.cli.options import option


def ledger(
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
    split_account: file_options.SplitAccount = False,
    style: str | None = option(
        "--style STYLE",
        "What one posting books, if the ledger does not show it: entry, supplier_day, account_day, "
        "document, batch or month.",
    ),
    reverse_sign: bool | None = option(
        "--reverse-sign/--keep-sign",
        "Whether credits of the ledger are costs. By default the ledger shows it.",
    ),
    verify: str | None = option(
        "--verify strict|warn",
        "strict (default): the ledger must agree with its own totals. warn: a warning.",
    ),
    mapping: file_options.ByMapping = None,
    save_mapping: file_options.SaveMapping = None,
    output: results.Output = None,
) -> None:
    """Show how a general ledger is read.

    --save-mapping keeps the options: other commands find them by the file's headings.
    SIE, DATEV, FEC, SAF-T and JPK_KR need none. A ledger is compared with its own totals.

    Example: bktools ledger bookkeeping.se --output postings.csv
    """
    show_file(partial(bktools.read_general_ledger, money="decimal"), "ledger", locals())
