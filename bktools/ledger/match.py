"""`match_ledger`: did every exported entry arrive in the accounting system? It only reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.frames.schema import IN_DOUBT, Month
from bktools.ledger.findings import about
from bktools.ledger.inputs import Inputs, read
from bktools.ledger.ledger_match import LedgerMatch
from bktools.ledger.matched_tables import matched_tables
from bktools.ledger.model import verdict_of
from bktools.ledger.tables import match_of
from bktools.ledger.verdict import THERE, Verdict
from bktools.wording import Sentence, words


def match_ledger(
    exported: Any,
    ledger: Any,
    *,
    period: Month | tuple[Month, Month] | None = None,
    style: str | None = None,
    reverse_sign: bool | None = None,
    currency: str | None = None,
    explained: Sequence[str] = (),
    language: str | None = None,
) -> LedgerMatch:
    """Compare every exported entry with the postings of the accounting system's general ledger.

    A ledger books groups of entries as vouchers. Which entries make a group, and how many days later its
    voucher follows, is what explains the most entries. An entry is `booked`, or `in_a_sum`, where the
    vouchers of its amount are as many as its groups. An error is named only where every explanation with the
    fewest mistakes agrees on it. Everything else is `open`, with the postings to look at, or
    `not_comparable`, with the reason.

    Parameters
    ----------
    exported : DataFrame
        One row per entry, and per line of a split one, as `load_export_jobs(entries=True)` returns it:
        entry_id or id; optional split_line, batch_id, state, sent_at, period, date, amount (exact, a refund
        is negative), currency, account_code, supplier, description, document_number, employee_id,
        employee_name, tax_code, cost_centre, and other names. Give all entries that were ever sent: a sum may
        hold entries of several months. Entries of batches that were not sent are left out. A column named as
        one of the result's, such as status, is replaced.
    ledger : DataFrame
        One row per posting, as `read_general_ledger` returns it: account_code, date, amount (exact, debit is
        positive); optional currency, foreign_amount and foreign_currency, text, document_number, voucher_id,
        account_name, cost_centre, line.
    period : str, Period, date or datetime, or two of them; optional
        The month that is shown, such as "2026-10", or the first and the last month. All entries are compared;
        the result has those of the month: of its close (`period`), else of their date. Default: all.
    style : str, optional
        What has one posting, where the ledger does not show it: "entry", "supplier_day", "account_day",
        "week", "document", "batch" or "month". By default as it was said to `read_general_ledger`.
    reverse_sign : bool, optional
        Whether credits of the ledger are costs. By default as it was said to `read_general_ledger`, else the
        side on which the entries' accounts have most.
    currency : str, optional
        The ledger's currency, such as "EUR", where the ledger has no column of it.
    explained : sequence of str
        Vouchers, or documents, that a person has looked up: they hold none of the entries. One that proves
        what became of an entry, or has its document, is refused.
    language : str, optional
        Of the sentences: "en" or "de"; by default the configured one.

    Each frame is a pandas, pyarrow, Polars or DuckDB frame, or the path of a Parquet file. None is changed.

    Returns
    -------
    LedgerMatch
        What became of each entry, with the evidence; the open groups; the postings; totals of both sides; the
        findings.

    Raises
    ------
    ArgumentError
        When a frame is of another kind or of several companies, or an argument is not what it must be.
    InputError
        When a column is missing, has a wrong type or gaps, an entry is there twice, or a file is unreadable.

    Notes
    -----
    Amounts in another currency are compared by the ledger's original amounts where it keeps them; else an
    entry is booked at what the one voucher has that only it can be. No rate is estimated. Interface, sections
    3 and 4.2: the service cannot say what became of a job.

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
    [['e1', 'booked', 'A 1'], ['e2', 'open', '']]
    """
    months = _months(period)
    inputs = read(
        exported, ledger, explained=explained, style=style, reverse_sign=reverse_sign, currency=currency
    )
    if inputs.options["explained"]:
        _refuse_proofs(
            inputs, verdict_of(inputs.entries, inputs.postings, **{**inputs.options, "explained": ()})
        )
    verdict = verdict_of(inputs.entries, inputs.postings, **inputs.options)
    return match_of(matched_tables(inputs, verdict, months), words(language))


def _refuse_proofs(inputs: Inputs, verdict: Verdict) -> None:
    """Refuse explained postings that hold an entry: without them it would be booked once more.

    These are the postings of its verdict, and those to look at with a document that it alone has. An entry in
    doubt is held by none: a person says which postings are its own.
    """
    explained, document = inputs.options["explained"], inputs.entries["document"]
    groups = np.unique(verdict.posting_group[[*explained]])
    is_held = np.isin(verdict.group, groups[groups >= 0])
    is_alone = document.is_unique() & document.is_not_null()
    for entry, rows in verdict.evidence.items():
        own = [row for row in rows if row in explained]
        has_document = is_alone[entry] and document[entry] in inputs.postings["document"][own]
        is_held[entry] |= bool(own) and (verdict.status[entry] in THERE or has_document)
    in_doubt = inputs.entries["state"].is_in(IN_DOUBT).fill_null(value=False).to_numpy()
    for entry in np.flatnonzero(is_held & ~in_doubt)[:1].tolist():
        (row,) = inputs.exported.slice(entry, 1).to_pylist()
        raise ArgumentError("explained", Sentence("rule.holds_entry", entry=about(row, words())))


def _months(period: Any) -> pl.Expr | None:
    """Return which months are shown, None for all."""
    if period is None:
        return None
    both = period if isinstance(period, tuple) else (period, period)
    first, last = (dt.date.fromisoformat(f"{rules.month('period', month)}-01") for month in both)
    return pl.col("month").is_between(first, last)
