"""`bktools ledger`: a general ledger of any accounting system, summed up and as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import bktools
from bktools.cli import files, results
from bktools.progress import note

if TYPE_CHECKING:
    import pandas as pd


@results.table
def ledger(
    file: Annotated[files.FileOptions, files.reads("ledger", "FILE", files.LEDGER_HELP, is_required=True)],
) -> None:
    """Read a general ledger and show the sums of its accounts.

    The ledger is held to its own totals. Files, CSV and JSON have every posting.

    Example: bktools ledger bookkeeping.se --output postings.csv
    """
    postings = file.read(bktools.read_general_ledger, money="decimal")
    note(files.recognised(postings.attrs["bktools"]))
    note(_summary(postings))
    results.hand_over(_by_account(postings) if results.is_for_people() else postings)


def _summary(postings: pd.DataFrame) -> str:
    about, days = postings.attrs["bktools"], postings["date"]
    vouchers = f", {postings['voucher_id'].nunique():,} vouchers" if "voucher_id" in postings else ""
    return (
        f"{len(postings):,} postings{vouchers} from {days.min():%Y-%m-%d} to {days.max():%Y-%m-%d}: "
        f"debit {about['debit']}, credit {about['credit']}"
    )


def _by_account(postings: pd.DataFrame) -> pd.DataFrame:
    names = [name for name in ("account_code", "account_name", "currency") if name in postings]
    return (
        postings.groupby(names, dropna=False, sort=True)["amount"]
        .agg(postings="size", amount="sum")
        .reset_index()
    )
