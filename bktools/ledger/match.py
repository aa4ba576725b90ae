"""`match_ledger`: did every exported entry arrive in the accounting system? It only reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bktools.ledger.inputs import explained_rows, read, said_of
from bktools.ledger.ledger_match import LedgerMatch
from bktools.ledger.sides import refuse_repeated, sides_of
from bktools.ledger.tables import result
from bktools.ledger.verdict import verdict_of
from bktools.wording import words


def match_ledger(
    exported: Any,
    ledger: Any,
    *,
    style: str | None = None,
    reverse_sign: bool | None = None,
    explained: Sequence[str] = (),
    language: str = "en",
) -> LedgerMatch:
    """Compare every exported entry with the postings of the accounting system's general ledger.

    The ledger is explained from the top down: its habits first (which side costs are on, its currency, the
    accounts of tax and of creditors, and whether it has one posting for each entry, or sums by supplier, day,
    document, batch or month), then totals that agree to the cent, then groups that are off, then single
    entries. A difference is explained only where one explanation is possible, and `missing` is a proof: the
    style is known, the ledger covers the days, and no free posting could hold the entry. What is neither
    shown nor disproved is `not_decided`, with the postings to look at.

    Parameters
    ----------
    exported : DataFrame
        One row per entry, and per line of a split one, as `load_export_jobs(entries=True)` returns it:
        entry_id or id; optional split_line, batch_id, state, date, amount (exact, a refund is negative),
        currency, account_code, supplier, description, document_number, tax_code, cost_centre, and names.
        Entries of batches that were not sent are left out. A column that is missing is not compared. A column
        named as one of the result's, such as status, is replaced.
    ledger : DataFrame
        One row per posting, as `read_general_ledger` returns it: account_code, date, amount (exact, debit is
        positive); optional currency, foreign_amount and foreign_currency, text, document_number, voucher_id,
        account_name, cost_centre, line.
    style : str, optional
        What has one posting, where the ledger does not show it: "entry", "supplier_day", "account_day",
        "document", "batch" or "month". By default as it was said to `read_general_ledger`.
    reverse_sign : bool, optional
        Whether credits of the ledger are costs. By default as it was said to `read_general_ledger`, else the
        side on which the entries' accounts have most.
    explained : sequence of str
        Vouchers, or documents, that a person has looked up: they hold none of the entries that are not found.
    language : str
        Of the sentences: "en" or "de".

    Each frame is a pandas, pyarrow, Polars or DuckDB frame, or the path of a Parquet file. None is changed.

    Returns
    -------
    LedgerMatch
        What became of each entry, with the evidence; the postings; totals of both sides; the findings.

    Raises
    ------
    ArgumentError
        When a frame is of another kind or of several companies, or an argument is not what it must be.
    InputError
        When a column is missing, has a wrong type or gaps, an entry is there twice, or a file is unreadable.

    Notes
    -----
    A text orders equal candidates and refuses none on the same account. Amounts in a currency that the ledger
    does not have are compared at the rates at which it books several of them, closer than chance. Interface,
    sections 3 and 4.2: the service cannot say what became of a job.

    Examples
    --------
    >>> import pandas as pd
    >>> from decimal import Decimal
    >>> money = pd.ArrowDtype(__import__("pyarrow").decimal128(38, 2))
    >>> entries = {"entry_id": ["e1", "e2"], "account_code": "5800", "description": ["Train", "Taxi"]}
    >>> entries = pd.DataFrame(entries)
    >>> entries["date"] = pd.to_datetime(["2026-10-03", "2026-10-05"])
    >>> entries["amount"] = pd.array([Decimal("800.00"), Decimal("42.50")], dtype=money)
    >>> postings = entries.rename(columns={"description": "text"}).head(1).assign(voucher_id="A 1")
    >>> later = postings.assign(date=pd.Timestamp("2026-11-30"), account_code="1930", voucher_id="A 2")
    >>> match = match_ledger(entries, pd.concat([postings, later]))
    >>> match.entries[["entry_id", "status", "booked_voucher_id"]].fillna("").values.tolist()
    [['e1', 'booked', 'A 1'], ['e2', 'missing', '']]
    """
    said = said_of(ledger, style, reverse_sign)
    inputs = read(exported, ledger)
    sides = sides_of(inputs)
    refuse_repeated(sides, inputs.exported)
    verdict = verdict_of(sides, grain=said.grain, sign=said.sign, explained=explained_rows(inputs, explained))
    return result(inputs, sides, verdict, words(language))
