"""`match_ledger`: did every exported entry arrive in the accounting system? Nothing is sent and nothing is changed."""

from __future__ import annotations

from typing import Any, SupportsIndex

from bktools.caller import name_of
from bktools.contract import rules
from bktools.frames.engine import engine
from bktools.ledger.columns import comparable
from bktools.ledger.inputs import read
from bktools.ledger.ledger_match import LedgerMatch
from bktools.ledger.matches import matches
from bktools.ledger.tables import result

# Days between an entry and its posting: an ERP books what it received within a week.
DAYS = 7
MOST_DAYS = 366


def match_ledger(exported: Any, ledger: Any, *, days: SupportsIndex = DAYS) -> LedgerMatch:
    """Compare every exported entry with the postings of the accounting system's general ledger.

    Entries are matched one to one, exact matches first: a posting that names the entry's ID in its document number or
    text, whatever else differs; the entry's document number; account, amount and date; the sum of a voucher (net and
    tax, or several cost centres); sums of whole groups of entries (a document, account and day, batch and account,
    account and month), with everything that was exported under that key; another date within some days; then one
    difference in account or amount on the same day, where the texts are similar. Equal entries of which only some are booked are ambiguous: nothing is guessed.

    Parameters
    ----------
    exported : DataFrame
        One row per entry, and per line of a split one, as `load_export_jobs(entries=True)` returns it: entry_id or id;
        optional split_line, batch_id, state, date, amount (exact, a refund is negative), currency, account_code, supplier,
        description, document_number, and names. Entries of batches that were not sent are left out. A column that is
        missing is not compared. A column named as one of the result's, such as status, is replaced.
    ledger : DataFrame
        One row per posting, as `read_general_ledger` returns it: account_code, date, amount (exact, debit is positive);
        optional currency, text, document_number, voucher_id, account_name, line.
    days : int
        How many days a posting may be dated before or after its entry, 0 to 366. Default: 7. A posting that names the
        entry may have any date.

    Each frame is a pandas, pyarrow, Polars or DuckDB frame, or the path of a Parquet file. None is changed.

    Returns
    -------
    LedgerMatch
        What became of each entry, with the evidence; the postings; totals of both sides; the findings.

    Raises
    ------
    ArgumentError
        When a frame is of another kind or of several companies, or `days` is out of range.
    InputError
        When a column is missing, of a wrong type or has gaps, an entry is there twice, or a file cannot be read.
    OutOfMemoryError, StorageError
        When the frames need more memory, or more disk space, than there is.

    Notes
    -----
    An amount in a currency that no posting has cannot be compared with the books' own currency: such an entry is
    "not_comparable" unless a posting names it. A voucher's sum is that of one side, when one account of it is one that
    entries have. Texts are similar from 70 of 100 (rapidfuzz, token set ratio), and tell equal entries apart when one
    is 10 above the other. Interface, sections 3 and 4.2: the service cannot say what became of a job.

    Examples
    --------
    >>> import pandas as pd
    >>> from decimal import Decimal
    >>> money = pd.ArrowDtype(__import__("pyarrow").decimal128(38, 2))
    >>> entries = pd.DataFrame({"entry_id": ["e1", "e2"], "account_code": ["5800", "5800"], "description": ["Train", "Taxi"]})
    >>> entries["date"] = pd.to_datetime(["2026-10-03", "2026-10-05"])
    >>> entries["amount"] = pd.array([Decimal("800.00"), Decimal("42.50")], dtype=money)
    >>> postings = entries.rename(columns={"description": "text"}).head(1).assign(voucher_id="A 1")
    >>> match = match_ledger(entries, postings)
    >>> match.entries[["entry_id", "status", "booked_voucher_id"]].fillna("").values.tolist()
    [['e1', 'booked', 'A 1'], ['e2', 'missing', '']]
    """
    days = rules.whole_number(name_of("days"), days, largest=MOST_DAYS)
    frames = read(exported, ledger)
    with engine("match_ledger", exported=frames.exported, ledger=frames.ledger) as connection:
        sides = comparable(connection, frames)
        return result(connection, sides, matches(connection, sides, days), days)
