"""Ledgers that are reports, as Xero, QuickBooks and others write them: by account, or by transaction.

By account, the account stands in a row above its postings, and its total below them. In a journal, the number
of a transaction stands so, or its first row has its date, and its total stands below the last. The layout is
proven by the totals, by running balances, or because all postings together balance; a balance that does not
follow, or the total of an account that is not open, shows that rows are missing.
QuickBooks Online writes amounts by the nature of each account, positive where it grows: the signs are those
under which all vouchers balance.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import groupby, pairwise
from typing import NamedTuple

from bktools.inputs import terms
from bktools.inputs.formats.format import Books, File, Total
from bktools.inputs.notes import Note, note
from bktools.inputs.table import Grid, Rows
from bktools.inputs.values.amounts import EACH, money, number
from bktools.inputs.values.days import is_day, lacks_year

# The lines of a report's title.
_HEAD = 20
_CODE = re.compile(r"(\d[\d.\-]*)\s*[·:-]?\s+(.+)")
# A row such as "Account: 101 - Cash".
_ACCOUNT = re.compile(r"(?i)account(?: no\.?| number| code)?\s*:\s*(?=\S)")
_TOTAL = re.compile(r"(?i)total\s+(?:for\s+)?(.+?)(?:\s+with sub-?accounts)?")
_COLUMNS = {
    "date": ("date", "transactiondate", "postdate", "postingdate", "docdate"),
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
    """A row that is a posting: the titles of its account, the first row of its voucher, and the voucher."""

    row: _Row
    path: tuple[str, ...]
    head: Mapping[str, str]
    voucher: str

    @property
    def account(self) -> str:
        """The account with those above it, as QuickBooks writes it."""
        return ":".join(self.path)

    @property
    def balance(self) -> Decimal | None:
        """The running balance beside it, None without any."""
        text = self.row.cells.get("balance", "")
        value, amount = _value(text), money(text)
        return -value if value and amount and amount.side == "credit" else value

    def add_to(self, rows: Rows, sign: int = 1, *, is_whole: bool = False) -> None:
        """Add it with the code and the name in its title, or with its whole path, which says both."""
        parts = None if is_whole else _CODE.fullmatch(self.path[-1])
        account = self.account if is_whole else self.path[-1]
        party = self.row.cells.get("party") or self.head.get("party")
        rows.add_fields(
            self.row.line,
            account_code=parts[1] if parts else account,
            account_name=parts[2] if parts else account,
            date=self.head["date"],
            document_number=self.head.get("number", ""),
            voucher_id=self.voucher,
            text=" ".join(filter(None, (party, self.row.cells.get("text")))),
            amount=f"{sign * (self.row.amount or 0):f}",
        )


class _Report(NamedTuple):
    """Postings under their titles, the totals of the titles, and what shows that rows are missing."""

    postings: Sequence[_Posting]
    totals: Sequence[Total]
    doubts: Sequence[Note]
    # Pairs of lines whose balances do not follow from each other, of so many.
    jumps: Sequence[tuple[int, int]]
    steps: int

    @property
    def is_proven(self) -> bool:
        """Whether the layout is shown by totals, by most balances, or by the sum of all postings."""
        return bool(self.totals or self._is_running or not _sum(self.postings))

    @property
    def _is_running(self) -> bool:
        right = self.steps - len(self.jumps)
        return right > 1 and len(self.jumps) < right

    @property
    def failures(self) -> list[Note]:
        """What the report contradicts of itself."""
        pair = self.jumps[:1] if self._is_running else ()
        jumps = [note("balance_jumps", count=len(self.jumps), before=one, line=other) for one, other in pair]
        return [*self.doubts, *jumps]


def by_account(file: File, grid: Grid) -> Books | None:
    """Return the postings of a report by account with the totals of its accounts, None for another table."""
    top, places = _columns(grid, {"date", "balance"})
    if "account" in places or not ({"debit", "credit"} <= places.keys() or "amount" in places):
        return None
    are_marked = any(map(_ACCOUNT.match, (cell for row in grid.head for cell in row)))
    # An account with a mark or its code may stand above its headings.
    is_above = top > 0 and _CODE.fullmatch(" ".join(filter(None, grid.head[top - 1])))
    first = -1 if are_marked else top - 2 if is_above else top
    is_by_nature = "debit" not in places
    minus = not is_by_nature and any(map(_is_negative, grid.columns[places["credit"]].to_pylist()))
    # Credits with a minus have signs of their own, or are reversed: balances tell which, else the sum.
    ways = [_rows(grid, first, places, credit) for credit in ((-1, 1) if minus else (-1,))]
    reports = [
        report
        for way in ways
        if (
            report := _under_titles([row for row in way if not are_marked or row.is_dated or _is_marked(row)])
        )
    ]
    if not reports:
        return None
    report = min(reports, key=lambda one: (len(one.jumps), abs(_sum(one.postings))))
    postings = report.postings
    signs = _signs(postings) if is_by_nature else {}
    rows = Rows("account_code", "account_name", "date", "document_number", "text", "amount")
    titles = Counter(path[-1] for path in {posting.path for posting in postings})
    for posting in postings:
        # A title of two accounts names neither.
        posting.add_to(rows, signs.get(posting.account, 1), is_whole=titles[posting.path[-1]] > 1)
    is_open = is_by_nature and not _balance(postings, signs)
    doubts = [*report.failures, *([note("signs_by_nature")] if is_open else [])]
    table = file.table(rows, "ledger by account")
    return Books(table, date_format=None, totals=report.totals, doubts=doubts)


def journal(file: File, grid: Grid) -> Books | None:
    """Return the postings of a journal, each with the date of its transaction; None for another table."""
    top, places = _columns(grid, {"date", "kind", "account", "debit", "credit"})
    if not places:
        return None
    rows = Rows("account_code", "account_name", "date", "document_number", "voucher_id", "text", "amount")
    totals: list[Total] = []
    report = _under_titles([*_rows(grid, top, places)])
    if report and report.totals:
        for posting in report.postings:
            posting.add_to(rows)
        table = file.table(rows, "QuickBooks journal")
        return Books(table, date_format=None, totals=report.totals, doubts=report.failures)
    opened: _Row | None = None
    debit, are_ordinary = Decimal(), False
    for row in _rows(grid, top, places):
        if row.is_dated:
            # Where each row has its date it is an ordinary table.
            are_ordinary |= opened is not None and row.line == opened.line + 1
            opened, debit = row, Decimal()
        if row.amount is None or opened is None:
            continue
        if row.cells["account"]:
            debit += max(row.amount, Decimal())
            _Posting(row, (row.cells["account"],), opened.cells, f"line {opened.line}").add_to(rows)
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


def _rows(grid: Grid, top: int, places: Mapping[str, int], credit: int = -1) -> Iterator[_Row]:
    columns = [column.slice(top + 1).to_pylist() for column in grid.columns]
    signs = {"debit": 1, "credit": credit} if {"debit", "credit"} <= places.keys() else {"amount": 1}
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


def _is_negative(text: str) -> bool:
    return (_value(text) or 0) < 0


def _is_marked(row: _Row) -> bool:
    return any(map(_ACCOUNT.match, row.filled))


def _under_titles(rows: Sequence[_Row]) -> _Report | None:
    """Return the postings under titles, which are accounts, or vouchers where each row has its account.

    None where a row has no title, or without proof.
    """
    postings: list[_Posting] = []
    totals: list[Total] = []
    doubts: list[Note] = []
    # An account such as Opening Balance Equity has a total, and a balance has none.
    heads = [row.filled[0] for row in rows if row.filled]
    with_totals = {total[1] for text in heads if (total := _TOTAL.fullmatch(text))}
    # The titles that are open, outermost first, each with the number of postings above it.
    opened: list[tuple[str, int]] = []
    for row in rows:
        total = _TOTAL.fullmatch(row.filled[0]) if row.filled else None
        names = [name for name, _ in opened]
        if total and total[1] in names:
            at = len(names) - 1 - names[::-1].index(total[1])
            summed = _sum(postings[opened[at][1] :])
            totals += [] if row.amount is None else [Total(total[0], row.amount, summed)]
            opened = opened[:at]
        elif total and names and names[-1] not in with_totals and len(postings) > opened[-1][1]:
            doubts.append(note("total_of_another", name=total[0], line=row.line, account=names[-1]))
        elif total:
            continue
        elif row.amount is not None and row.is_dated:
            if not opened:
                return None
            voucher = " ".join(row.cells.get(name, "") for name in ("date", "kind", "number", "party"))
            account = row.cells.get("account")
            path, voucher = ((account,), names[-1]) if account else (tuple(names), voucher)
            postings.append(_Posting(row, path, row.cells, voucher))
        elif row.account and (row.account in with_totals or not terms.report_rank(row.account)):
            # Without a total, the account above ends where the next one begins.
            opened = [one for one in opened if one[0] in with_totals]
            opened.append((row.account, len(postings)))
    if not postings:
        return None
    jumps, steps = _jumps(postings)
    report = _Report(postings, totals, doubts[:1], jumps, steps)
    return report if report.is_proven else None


def _sum(postings: Sequence[_Posting]) -> Decimal:
    return sum((posting.row.amount or Decimal() for posting in postings), Decimal())


def _jumps(postings: Sequence[_Posting]) -> tuple[list[tuple[int, int]], int]:
    """Return pairs of lines whose balances do not follow from the amount, and how many were compared.

    The balance of an account grows by debits, or by credits.
    """
    have_signs = any((posting.balance or 0) < 0 for posting in postings)
    jumps: list[tuple[int, int]] = []
    count = 0
    for _, group in groupby(postings, key=lambda posting: posting.path):
        own = [posting for posting in group if posting.balance is not None]
        ways = [_wrong_steps(own, sign, have_signs=have_signs) for sign in (1, -1)]
        fewest = min(ways, key=len)
        jumps += fewest
        count += len(own[1:]) + sum(abs(one.balance or 0) == abs(one.row.amount or 0) for one in own[:1])
    return jumps, count


def _wrong_steps(postings: Sequence[_Posting], sign: int, *, have_signs: bool) -> list[tuple[int, int]]:
    """Return pairs of lines of an account whose balances do not differ by the amount.

    Balances without signs may be on either side.
    """
    wrong = []
    for before, posting in pairwise(postings):
        old, new = before.balance or Decimal(), posting.balance or Decimal()
        amount = sign * (posting.row.amount or Decimal())
        if new - old != amount and (have_signs or abs(amount) not in (abs(new - old), new + old)):
            wrong.append((before.row.line, posting.row.line))
    first = postings[0] if postings else None
    # An account without an opening balance begins with its first amount.
    if first and have_signs and first.balance == -sign * (first.row.amount or 0) != 0:
        wrong.append((first.row.line, first.row.line))
    return wrong


def _sums(postings: Sequence[_Posting]) -> list[dict[str, Decimal]]:
    """Return what each voucher posts to each account."""
    vouchers: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for posting in postings:
        vouchers[posting.voucher][posting.account] += posting.row.amount or 0
    return [*vouchers.values()]


def _signs(postings: Sequence[_Posting]) -> dict[str, int]:
    """Return 1 or -1 for each account: by its name, else so that vouchers balance."""
    signs: dict[str, int] = {}
    for posting in postings:
        # The innermost title that says a nature counts.
        title = next((one for one in posting.path[::-1] if _DEBIT.search(one) or _CREDIT.search(one)), None)
        if title is not None:
            signs[posting.account] = -1 if _CREDIT.search(title) else 1
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
