"""Reports of a ledger by account: Xero's account transactions and ledger detail, QuickBooks' general ledger.

An account stands alone in a row above its postings, and its total below them, which proves them. QuickBooks
Online writes amounts by the nature of each account, positive where it grows: the signs are those under which
all vouchers balance.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from bktools.inputs import words
from bktools.inputs.days import is_day
from bktools.inputs.formats.format import File, Ledger, TableFormat, Total
from bktools.inputs.formats.reports import account_parts, amount_of, columns_named, rows_of
from bktools.inputs.notes import note
from bktools.inputs.table import Grid, Rows

_TOTAL = re.compile(r"total\s+(?:for\s+)?", re.IGNORECASE)
_COLUMNS = {
    "date": ("date",),
    "amount": ("amount",),
    "debit": ("debit",),
    "credit": ("credit",),
    "balance": ("runningbalance", "balance"),
    "kind": ("transactiontype", "type", "source"),
    "number": ("num", "no", "reference"),
    "party": ("name",),
    "text": ("memodescription", "description", "memo"),
}
# Accounts whose nature their name says; that of others follows by the vouchers.
_DEBIT = re.compile(r"(?i)\b(?:bank|checking|savings|cash|receivable|undeposited|expenses?|cost of)\b")
_CREDIT = re.compile(r"(?i)\b(?:payable|income|revenue|sales|equity|credit card|loan|retained)\b")


class _Posting(NamedTuple):
    line: int
    account: str
    amount: Decimal
    cells: dict[str, str]

    @property
    def voucher(self) -> tuple[str, ...]:
        return tuple(self.cells.get(name, "") for name in ("date", "kind", "number", "party"))


def ledger(file: File, grid: Grid) -> Ledger | None:
    """Return the postings of a report by account with the totals of its accounts, None for another table."""
    columns = columns_named(grid, _COLUMNS, needed=("date", "balance"), never=("account", "accountcode"))
    if columns is None or not ({"debit", "credit"} <= columns[1].keys() or "amount" in columns[1]):
        return None
    top, places = columns
    read = _postings(grid, top, places)
    if read is None:
        return None
    postings, totals = read
    is_by_nature = "debit" not in places
    signs = _signs(postings) if is_by_nature else {}
    rows = Rows("account_code", "account_name", "date", "document_number", "text", "amount")
    for posting in postings:
        amount = posting.amount * signs.get(posting.account, 1)
        cells = posting.cells
        text = " ".join(filter(None, (cells.get("party"), cells.get("text"))))
        rows.add(
            posting.line,
            *account_parts(posting.account),
            cells["date"],
            cells.get("number", ""),
            text,
            f"{amount:f}",
        )
    name = "QuickBooks general ledger" if "kind" in places and places["date"] else "Xero ledger by account"
    is_doubtful = is_by_nature and not _balance(postings, signs)
    doubts = [note("signs_by_nature")] if is_doubtful else []
    table = file.table(rows, "has no postings", note("format", name=name))
    return Ledger(table, date_format=None, totals=totals, doubts=doubts)


def _postings(grid: Grid, top: int, places: dict[str, int]) -> tuple[list[_Posting], list[Total]] | None:
    """Return the postings and the totals of accounts; None where a row has no account, or without totals."""
    postings: list[_Posting] = []
    totals: list[Total] = []
    # The accounts that are open, outermost first, each with the place of its first posting.
    opened: list[tuple[str, int]] = []
    for line, texts in rows_of(grid, top + 1):
        filled = [text for text in texts if text]
        amount = amount_of(texts, places)
        total = _TOTAL.match(filled[0]) if filled else None
        if total:
            names = [name for name, _ in opened]
            account = filled[0][total.end() :]
            if account in names:
                at = names.index(account)
                summed = sum((posting.amount for posting in postings[opened[at][1] :]), Decimal())
                totals += [] if amount is None else [Total(filled[0], amount, summed)]
                opened = opened[:at]
        elif amount is not None and is_day(texts[places["date"]]):
            if not opened:
                return None
            cells = {name: texts[place] for name, place in places.items()}
            postings.append(_Posting(line, opened[-1][0], amount, cells))
        elif len(filled) == 1 and not is_day(filled[0]) and not words.report_rank(filled[0]):
            opened.append((filled[0], len(postings)))
    return (postings, totals) if postings and totals else None


def _signs(postings: Sequence[_Posting]) -> dict[str, int]:
    """Return 1 or -1 for each account: by its name, else so that vouchers balance."""
    vouchers: dict[tuple[str, ...], dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for posting in postings:
        vouchers[posting.voucher][posting.account] += posting.amount
    signs: dict[str, int] = {}
    for account in dict.fromkeys(posting.account for posting in postings):
        if _DEBIT.search(account) or _CREDIT.search(account):
            signs[account] = -1 if _CREDIT.search(account) else 1
    while True:
        known = len(signs)
        for amounts in vouchers.values():
            unknown = [account for account in amounts if account not in signs]
            balance = sum(
                (signs[account] * amount for account, amount in amounts.items() if account in signs),
                Decimal(),
            )
            if len(unknown) == 1 and abs(balance) == abs(amounts[unknown[0]]) and balance:
                signs[unknown[0]] = -1 if balance == amounts[unknown[0]] else 1
        if len(signs) == known:
            return signs


def _balance(postings: Sequence[_Posting], signs: dict[str, int]) -> bool:
    sums: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
    for posting in postings:
        sums[posting.voucher] += posting.amount * signs.get(posting.account, 0)
    return not any(sums.values()) and {posting.account for posting in postings} <= signs.keys()


TABLE_FORMATS = (TableFormat("ledger by account", ledger),)
