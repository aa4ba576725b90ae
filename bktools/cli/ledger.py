"""`bktools ledger`: a general ledger of any accounting system, summed up and as CSV."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bktools.caller import command
from bktools.cli import options, results
from bktools.cli.mappings import remembered
from bktools.cli.output import remark, tell

if TYPE_CHECKING:
    import pandas as pd


@results.table
def ledger(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="SIE, DATEV, FEC, SAF-T, JPK_KR, GnuCash, CSV, Excel or Parquet; - is standard input.",
        ),
    ],
    column: options.FileColumn = None,
    delimiter: options.FileDelimiter = None,
    encoding: options.FileEncoding = None,
    sheet: options.FileSheet = None,
    decimal: options.Decimal = None,
    date_format: options.DateFormat = None,
    verify: Annotated[
        str,
        typer.Option(
            "--verify", help="strict: an error when a voucher or a total of the file does not agree. warn: a warning."
        ),
    ] = "strict",
    save_mapping: options.SaveFileMapping = None,
) -> None:
    """Read a general ledger and show the sums of its accounts.

    The ledger is held to its own totals. Files, CSV and JSON have every posting.

    Example: bktools ledger bookkeeping.se --output postings.csv
    """
    from bktools import read_general_ledger
    from bktools.cli.reconcile import recognised

    given = options.reading(column, delimiter, encoding, sheet, decimal, date_format)
    with (
        command(options.READS_ENTRIES | {"verify": "--verify"}),
        warnings.catch_warnings(),
        results.readable(file) as path,
        remembered("ledger", path, given, save_mapping) as read_as,
    ):
        warnings.showwarning = lambda message, *_: tell(f"bktools: {message}")
        postings = read_general_ledger(path, verify=verify, **read_as)
    remark(recognised(postings.attrs["bktools"]))
    remark(_summary(postings))
    results.hand_over(_by_account(postings) if results.is_for_people() else postings)


def _summary(postings: pd.DataFrame) -> str:
    about, days = postings.attrs["bktools"], postings["date"]
    vouchers = f", {postings['voucher_id'].nunique():,} vouchers" if "voucher_id" in postings else ""
    return (
        f"{len(postings):,} postings{vouchers} from {days.min():%Y-%m-%d} to {days.max():%Y-%m-%d}: debit {about['debit']},"
        f" credit {about['credit']}"
    )


def _by_account(postings: pd.DataFrame) -> pd.DataFrame:
    names = [name for name in ("account_code", "account_name", "currency") if name in postings]
    return postings.groupby(names, dropna=False, sort=True)["amount"].agg(postings="size", amount="sum").reset_index()
