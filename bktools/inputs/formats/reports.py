"""Ledgers that are reports, as Xero, QuickBooks and others write them: by account, or by transaction.

By account, the account stands in a row above its postings, and its total below them. In a journal, the first
row of a transaction has its date, and its total stands below the last. The layout is proven by the totals, by
running balances, or because all postings together balance.
QuickBooks Online writes amounts by the nature of each account, positive where it grows: the signs are those
under which all vouchers balance.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from bktools.inputs import terms
from bktools.inputs.formats.format import Books, File, Total
from bktools.inputs.notes import note
from bktools.inputs.table import Grid, Rows
from bktools.inputs.values.amounts import EACH, money, number
from bktools.inputs.values.days import is_day, lacks_year

# The lines of a report's title.
_HEAD = 20
_CODE = re.compile(r"(\d[\d.\-]*)\s*[·:-]?\s+(.+)")
# A row such as "Account: 101 - Cash".
_ACCOUNT = re.compile(r"(?i)account(?: no\.?| number| code)?\s*:\s*(?=\S)")
_TOTAL = re.compile(r"total\s+(?:for\s+)?", re.IGNORECASE)
_COLUMNS = {
    "date": ("date", "postdate", "postingdate", "docdate"),
    "amount": ("amount",),
    "debit": ("debit", "debits"),
    "credit": ("credit", "credits"),
    "balance": ("runningbalance", "balance"),
    "kind": ("transactiontype", "type", "source"),
    "number": ("num", "no", "reference", "source"),
    "party": ("name",),
    "text": ("memodescription", "description", "memo", "details", "comment"),
    "account": ("account", "accountname", "accountfullname", "accountcode"),
}
# Accounts whose nature their name says; that of others follows by the vouchers.
_DEBIT = re.compile(r"(?i)\b(?:bank|checking|savings|cash|receivable|undeposited|expenses?|cost of)\b")
_CREDIT = re.compile(r"(?i)\b(?:payable|income|revenue|sales|equity|credit card|loan|retained)\b")


class _Row(NamedTuple):
    """A row of a report: its cells by column, those that hold something, and its amount, if it has one."""

    line: int
    cells: Mapping[str, str]
    filled: Sequence[str]
    amount: Decimal | None
    # What it holds, but for the balance and what stands right of it.
    texts: Sequence[str]

    @property
    def is_dated(self) -> bool:
        """Whether it has a day, with or without a year."""
        return is_day(self.cells["date"]) or lacks_year(self.cells["date"])

    @property
    def account(self) -> str:
        """The account that a row without an amount names: alone, or behind its code; "" in other rows."""
        for text in self.filled:
            if match := _ACCOUNT.match(text):
                return text[match.end() :]
        texts = list(dict.fromkeys(self.texts))
        first, *others = texts or ("",)
        is_named = not others or (len(others) == 1 and first.replace("-", "").isdigit())
        is_other = self.amount is not None or is_day(first) or not first
        return " ".join(texts) if is_named and not is_other else ""


class _Posting(NamedTuple):
    """A row that is a posting, with its account, the date and number of its voucher, and the voucher."""

    row: _Row
    account: str
    head: Mapping[str, str]
    voucher: str

    def add_to(self, rows: Rows, sign: int = 1) -> None:
        parts = _CODE.fullmatch(self.account)
        party = self.row.cells.get("party") or self.head.get("party")
        rows.add_fields(
            self.row.line,
            account_code=parts[1] if parts else self.account,
            account_name=parts[2] if parts else self.account,
            date=self.head["date"],
            document_number=self.head.get("number", ""),
            voucher_id=self.voucher,
            text=" ".join(filter(None, (party, self.row.cells.get("text")))),
            amount=f"{sign * (self.row.amount or 0):f}",
        )


def by_account(file: File, grid: Grid) -> Books | None:
    """Return the postings of a report by account with the totals of its accounts, None for another table."""
    top, places = _columns(grid, {"date", "balance"})
    if "account" in places or not ({"debit", "credit"} <= places.keys() or "amount" in places):
        return None
    are_marked = any(map(_ACCOUNT.match, (cell for row in grid.head for cell in row)))
    # A marked account may stand above its headings.
    every = _rows(grid, -1 if are_marked else top, places)
    read = _under_accounts([row for row in every if not are_marked or row.is_dated or _names_account(row)])
    if read is None:
        return None
    postings, totals = read
    is_by_nature = "debit" not in places
    signs = _signs(postings) if is_by_nature else {}
    rows = Rows("account_code", "account_name", "date", "document_number", "text", "amount")
    for posting in postings:
        posting.add_to(rows, signs.get(posting.account, 1))
    doubts = [note("signs_by_nature")] if is_by_nature and not _balance(postings, signs) else []
    lines = _jumps(postings)
    notes = [note("balance_jumps", count=len(lines), lines=lines[:4])] if lines else []
    table = file.table(rows, "ledger by account", *notes)
    return Books(table, date_format=None, totals=totals, doubts=doubts)


def journal(file: File, grid: Grid) -> Books | None:
    """Return the postings of a journal, each with the date of its transaction; None for another table."""
    top, places = _columns(grid, {"date", "kind", "account", "debit", "credit"})
    rows = Rows("account_code", "account_name", "date", "document_number", "voucher_id", "text", "amount")
    totals: list[Total] = []
    opened: _Row | None = None
    debit, are_ordinary = Decimal(), False
    for row in _rows(grid, top, places) if places else ():
        if row.is_dated:
            # Where each row has its date it is an ordinary table.
            are_ordinary |= opened is not None and row.line == opened.line + 1
            opened, debit = row, Decimal()
        if row.amount is None or opened is None:
            continue
        if row.cells["account"]:
            debit += max(row.amount, Decimal())
            _Posting(row, row.cells["account"], opened.cells, f"line {opened.line}").add_to(rows)
        elif row.cells["debit"] and row.cells["credit"] and debit:
            # A row with both sums and no account is the total of the transaction.
            stated = _value(row.cells["debit"])
            totals.append(Total(f"line {opened.line}", stated or Decimal(), debit))
            debit = Decimal()
    if not rows or are_ordinary:
        return None
    return Books(file.table(rows, "QuickBooks journal"), date_format=None, totals=totals)


def _columns(grid: Grid, needed: Collection[str]) -> tuple[int, dict[str, int]]:
    """Return the first row with the needed headings, and the column of each name; no columns without one."""
    for top, row in enumerate(grid.head[:_HEAD]):
        own = [terms.normal(cell) for cell in row]
        # The first of a name's headings that the row has.
        places = {
            name: own.index(text) for name, texts in _COLUMNS.items() for text in texts[::-1] if text in own
        }
        if {*needed} <= places.keys():
            return top, places
    return 0, {}


def _rows(grid: Grid, top: int, places: Mapping[str, int]) -> Iterator[_Row]:
    columns = [column.slice(top + 1).to_pylist() for column in grid.columns]
    signs = {"amount": 1}
    if {"debit", "credit"} <= places.keys():
        values = [value for text in columns[places["credit"]] if (value := _value(text))]
        # Some write credits with a minus.
        signs = {"debit": 1, "credit": 1 if values and max(values) < 0 else -1}
    for line, *row in zip(grid.lines[top + 1 :].tolist(), *columns, strict=True):
        texts = [text.strip() for text in row]
        cells = {name: texts[place] for name, place in places.items()}
        end = places.get("balance", len(texts))
        filled, before = ([text for text in own if text] for own in (texts, texts[:end]))
        parts = [(sign, _value(cells[name])) for name, sign in signs.items()]
        amounts = [sign * part for sign, part in parts if part is not None]
        yield _Row(line, cells, filled, sum(amounts, Decimal()) if amounts else None, before)


def _value(text: str) -> Decimal | None:
    """Return the amount of a cell, None without any."""
    amount = money(text)
    return number(amount, EACH) if amount and amount.digits else None


def _names_account(row: _Row) -> bool:
    return any(map(_ACCOUNT.match, row.filled))


def _under_accounts(rows: Sequence[_Row]) -> tuple[list[_Posting], list[Total]] | None:
    """Return the postings and the totals of accounts; None where a row has no account, or without proof."""
    postings: list[_Posting] = []
    totals: list[Total] = []
    # An account such as Opening Balance Equity has a total, and a balance has none.
    heads = [row.filled[0] for row in rows if row.filled]
    with_totals = {text[match.end() :] for text in heads if (match := _TOTAL.match(text))}
    # The accounts that are open, outermost first, each with the place of its first posting.
    opened: list[tuple[str, int]] = []
    for row in rows:
        first = row.filled[0] if row.filled else ""
        if total := _TOTAL.match(first):
            names = [name for name, _ in opened]
            if first[total.end() :] in names:
                at = names.index(first[total.end() :])
                summed = _sum(postings[opened[at][1] :])
                totals += [] if row.amount is None else [Total(first, row.amount, summed)]
                opened = opened[:at]
        elif row.amount is not None and row.is_dated:
            if not opened:
                return None
            voucher = " ".join(row.cells.get(name, "") for name in ("date", "kind", "number", "party"))
            postings.append(_Posting(row, opened[-1][0], row.cells, voucher))
        elif row.account and (row.account in with_totals or not terms.report_rank(row.account)):
            opened.append((row.account, len(postings)))
    is_proven = totals or (postings and (_jumps(postings) is not None or not _sum(postings)))
    return (postings, totals) if postings and is_proven else None


def _sum(postings: Sequence[_Posting]) -> Decimal:
    return sum((posting.row.amount or Decimal() for posting in postings), Decimal())


def _jumps(postings: Sequence[_Posting]) -> list[int] | None:
    """Return the lines whose balance is not the one before and the amount; None if balances prove nothing."""
    right = 0
    wrong: list[int] = []
    for before, posting in pairwise(postings):
        old, new = (_value(one.row.cells["balance"]) for one in (before, posting))
        if before.account == posting.account and old is not None and new is not None:
            if abs(abs(new) - abs(old)) == abs(posting.row.amount or 0):
                right += 1
            else:
                wrong.append(posting.row.line)
    return wrong if right > 1 and len(wrong) * 10 <= right else None


def _sums(postings: Sequence[_Posting]) -> list[dict[str, Decimal]]:
    """Return what each voucher posts to each account."""
    vouchers: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for posting in postings:
        vouchers[posting.voucher][posting.account] += posting.row.amount or 0
    return [*vouchers.values()]


def _signs(postings: Sequence[_Posting]) -> dict[str, int]:
    """Return 1 or -1 for each account: by its name, else so that vouchers balance."""
    accounts = {posting.account for posting in postings}
    signs = {
        account: -1 if _CREDIT.search(account) else 1
        for account in accounts
        if _DEBIT.search(account) or _CREDIT.search(account)
    }
    known, vouchers = -1, _sums(postings)
    while known < len(signs):
        known = len(signs)
        for amounts in vouchers:
            unknown = [account for account in amounts if account not in signs]
            balance = sum(signs[account] * amount for account, amount in amounts.items() if account in signs)
            if len(unknown) == 1 and balance and abs(balance) == abs(amounts[unknown[0]]):
                signs[unknown[0]] = -1 if balance == amounts[unknown[0]] else 1
    return signs


def _balance(postings: Sequence[_Posting], signs: Mapping[str, int]) -> bool:
    return all(
        account in signs and not sum(signs.get(one, 0) * amount for one, amount in amounts.items())
        for amounts in _sums(postings)
        for account in amounts
    )


REPORTS = (by_account, journal)
