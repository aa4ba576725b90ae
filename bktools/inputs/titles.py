"""Ledgers that are reports, as Xero, QuickBooks and others write them: an account stands above its postings.

A report becomes the table that it is made of: the titles above a posting are its account, or its voucher
where each row has an account, and rows without a posting are left out. Totals below the postings show whether
rows are missing.
QuickBooks Online writes amounts by the nature of each account, positive where it grows: the signs are those
under which all vouchers balance.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.assignment import MONEY, code_and_name
from bktools.inputs.formats.format import Total
from bktools.inputs.notes import Note, note
from bktools.inputs.reading import Reading
from bktools.inputs.table import Mask
from bktools.inputs.values.amounts import Figures
from bktools.inputs.values.days import is_day, lacks_year, may_be_days

# Accounts whose nature their name says; that of others follows by the vouchers.
_DEBIT = re.compile(r"(?i)\b(?:bank|checking|savings|cash|receivable|undeposited|expenses?|cost of)\b")
_CREDIT = re.compile(r"(?i)\b(?:payable|income|revenue|sales|equity|credit card|loan|retained)\b")
_ZERO = Decimal()
# The headings of columns that tell vouchers of one day apart.
_OF_VOUCHER = ("number", "document_number", "name", "supplier", "voucher_type", "entry_type")
# What the first row of a voucher may have alone.
_OF_FIRST_ROWS = ("date", "voucher_id", "document_number")
# Titles, the outermost first.
_Path = tuple[str, ...]


def under_titles(reading: Reading) -> None:
    """Take the titles above postings for their accounts or vouchers; do nothing where a table has none."""
    # A report may have gross amounts beside both sides.
    money = MONEY[1:] if reading.has(*MONEY[1:]) else MONEY
    fields = [name for name in money if reading.has(name)]
    if not (reading.has("date") and fields):
        return
    days = reading.column("date")
    is_dated = may_be_days(days, reading.options) | cells.mask(cells.each(days, lacks_year, schema.FLAG))
    places = [reading.places[name] for name in fields]
    figures = [Figures.at(reading.table, place) for place in places]
    has_amount: Mask = np.logical_or.reduce([own.has_amount for own in figures])
    is_posting = is_dated & has_amount
    has_gaps = not is_posting.all() or (reading.has("voucher_id") and reading.blank("voucher_id").any())
    if not has_gaps or not is_posting.any():
        return
    columns = [own.values(own.own_mark)[0].to_pylist() for own in figures]
    signs = [-1 if name == "credit" else 1 for name in fields]
    report = _Report(reading, is_posting, has_amount, places, columns, signs)
    is_blank = reading.blank("account_code") if reading.has("account_code") else np.full(len(days), True)
    has_account = ~is_blank
    are_accounts = not has_account[is_posting].any()
    is_asked = reading.is_asked("account_code") or is_posting.all()
    if is_asked or not (
        _take_titles(report, are_accounts=are_accounts) or _take_accounts_above(reading, is_posting)
    ):
        _take_vouchers(report, has_amount & has_account)


def _take_accounts_above(reading: Reading, is_posting: Mask) -> bool:
    """Take accounts that stand above their postings, in a column of accounts; return whether they do."""
    if not reading.has("account_code"):
        return False
    has_account = ~reading.blank("account_code")
    above = np.maximum.accumulate(np.where(has_account, np.arange(len(has_account)), -1))
    if has_account[is_posting].any() or (above[is_posting] < 0).any():
        return False
    rows = pa.array(np.where(is_posting, above, np.arange(len(above))))
    for name in filter(reading.has, ("account_code", "account_name")):
        reading.put(name, reading.column(name).take(rows))
    reading.note("ledger_by_account")
    return True


class _Report(NamedTuple):
    """A table with rows that are no postings."""

    reading: Reading
    is_posting: Mask
    has_amount: Mask
    # The columns of amounts: their places, what they hold, and the sign of each.
    places: Sequence[int]
    columns: Sequence[Sequence[Decimal | None]]
    signs: Sequence[int]

    def sums(self, *rows: int) -> list[Decimal]:
        """Return the sum of rows by column."""
        return [sum((column[row] or _ZERO for row in rows), _ZERO) for column in self.columns]

    def net(self, *rows: int) -> Decimal:
        """Return the sum of rows, positive for debit."""
        return sum((sign * own for sign, own in zip(self.signs, self.sums(*rows), strict=True)), _ZERO)

    def balances(self, rows: Sequence[int], *, is_dated: bool) -> bool:
        """Whether rows balance at the last one, and not before where another day may begin there."""
        *before, last = accumulate(map(self.net, rows))
        return not last and (is_dated or all(before))

    def hold(self, name: str, total: int, rows: Sequence[int]) -> None:
        """Hold rows to the total below them: by column, or by the difference of both sides."""
        stated, summed = self.net(total), self.net(*rows)
        is_right = self.sums(total) == self.sums(*rows)
        self.reading.totals.append(Total(name, stated, stated if is_right else summed))


def _behind_account(texts: Sequence[str]) -> str:
    """Return what stands behind a word for an account: Account: 101 - Cash, or N/C: in a cell before 1200."""
    for at, text in enumerate(texts):
        word, mark, name = text.partition(":")
        if mark and terms.normal(word) in _account_words():
            parts = [name.strip()] if name.strip() else texts[at + 1 :]
            return " ".join(part for part in parts if not part.endswith(":"))
    return ""


def _title(texts: Sequence[str], *, are_marked: bool) -> str:
    """Return the title that a row is: behind a word for an account, else alone or behind its code."""
    if are_marked:
        return _behind_account(texts)
    first, *others = dict.fromkeys(texts) or ("",)
    if is_day(first):
        # An opening balance of a day is no title.
        return ""
    others = [text for text in others if not terms.report_rank(text)]
    is_one = not others or (len(others) == 1 and first.replace("-", "").isdigit())
    title = " ".join([first, *others]) if is_one else ""
    word, _, name = title.partition(" ")
    return name if name[:1].isdigit() and terms.normal(word) in _account_words() else title


def _account_words() -> frozenset[str]:
    return terms.headings("account", "account_code")


def _above(reading: Reading, *, are_marked: bool) -> str:
    """Return the title above the headings: the nearest row with a word for an account, else the last row.

    Where a column has accounts, the last row says something else, such as the company.
    """
    titles = [_title(row, are_marked=are_marked) for row in reading.table.above]
    has_column = reading.has("account_code") and not reading.blank("account_code").all()
    return next(filter(None, titles if are_marked else titles[: not has_column]), "")


def _is_total_of(title: str, text: str) -> bool:
    """Whether a text is a total that names a title, or its code alone."""
    code, _ = code_and_name(title)
    names_it = title.casefold() in text.casefold() or (code and code in text.split())
    return bool(names_it) and terms.report_rank(text) == terms.MAYBE


def _names_one(text: str) -> bool:
    """Whether a total names an account, other than Totale conto, or Totals and ending balance."""
    is_of_all = terms.are_inside(text, terms.values("balance", "balance_alone"))
    return not is_of_all and any(
        terms.normal(word) not in terms.TOTALS | _account_words() for word in text.split()
    )


class _Titles(NamedTuple):
    """The titles of a table, and the totals of titles."""

    # The titles of each posting, and of each row that has an amount alone, which is asked about.
    paths: dict[int, _Path]
    # The text of each total, its row, and the postings of its title.
    totals: Sequence[tuple[str, int, Sequence[int]]]
    # The totals of titles that are not open.
    of_others: Sequence[Note]
    # Whether words for accounts stand before the titles.
    are_marked: bool


def _titles(report: _Report, end: int) -> _Titles:
    """Return the titles of a table: texts that stand alone in the columns before `end`."""
    table = report.reading.table
    others = np.flatnonzero(~report.is_posting).tolist()
    columns = [column.take(others).to_pylist() for column in table.columns[:end]]
    texts = [[*filter(None, map(str.strip, row))] for row in zip(*columns, strict=True)]
    are_marked = any(map(_behind_account, (*table.above, *texts)))
    above, *names = (
        _above(report.reading, are_marked=are_marked),
        *(_title(own, are_marked=are_marked) for own in texts),
    )
    firsts = [own[0] if own else "" for own in texts]
    all_totals = [text for text in firsts if terms.report_rank(text) == terms.MAYBE]
    all_names = {above, *names} - {""}
    with_total = {
        name for name in all_names if any(name != text and _is_total_of(name, text) for text in all_totals)
    }
    texts_of = dict(zip(others, zip(firsts, names, strict=True), strict=True))
    # Titles with codes in the column of accounts, below its heading, are the accounts.
    are_headed = report.reading.places.get("account_code") == 0 and bool(with_total)
    are_marked |= are_headed and all(code_and_name(name)[0] for name in with_total)
    # The open titles, each with its postings.
    opened: list[tuple[str, list[int]]] = [(above, [])] if above else []
    paths: dict[int, _Path] = {}
    totals, of_others = [], []
    for row in range(len(table.lines)):
        text, name = texts_of.get(row, ("", ""))
        rank = terms.report_rank(text)
        closed = [at for at, (title, _) in enumerate(opened) if _is_total_of(title, text)]
        is_headed = name in with_total
        if report.is_posting[row] or (report.has_amount[row] and not (closed or rank or is_headed)):
            paths[row] = tuple(title for title, _ in opened)
            for _, postings in opened:
                postings.append(row)
        elif closed:
            totals.append((text, row, opened[closed[-1]][1]))
            opened = opened[: closed[-1]]
        elif rank == terms.MAYBE and opened and opened[-1][0] not in with_total and _names_one(text):
            facts = {"name": text, "line": int(table.lines[row]), "account": opened[-1][0]}
            of_others.append(note("total_of_another", **facts))
        elif is_headed or (name and not (report.has_amount[row] or rank)):
            # Without a total, the account above ends where the next one begins.
            opened = [*(one for one in opened if one[0] in with_total), (name, [])]
    return _Titles(paths, totals, of_others, are_marked)


def _take_titles(report: _Report, *, are_accounts: bool) -> bool:
    """Make columns of the titles above postings; return whether each posting has titles that are certain."""
    reading, table = report.reading, report.reading.table
    balances = [place for place in reading.free() if reading.seen(place).says_balance]
    titles = _titles(report, min([*balances, *report.places]))
    postings = {row: path for row, path in titles.paths.items() if report.is_posting[row]}
    are_accounts |= titles.are_marked
    # Titles have totals, balances or a word for accounts, or their postings balance as a whole.
    is_certain = bool(titles.totals or balances or titles.are_marked) or not report.net(*postings)
    if not all(postings.values()) or not (is_certain if are_accounts else titles.totals):
        return False
    for text, row, own in titles.totals:
        if report.has_amount[row]:
            report.hold(text, row, own)
    reading.doubts += titles.of_others[:1]
    if are_accounts and not reading.has("debit", "credit"):
        reading.turned = frozenset(table.lines[_turned(report, postings)].tolist())
    reading.table = table.rows(np.isin(np.arange(len(table.lines)), [*titles.paths]))
    paths = [*titles.paths.values()]
    if are_accounts:
        reading.leave("account_code", "account_name", "side")
        # Of a title of two accounts, all titles above it name each.
        counts = Counter(path[-1] for path in {*paths} if path)
        texts = [path[-1] if path and counts[path[-1]] == 1 else ":".join(path) for path in paths]
        reading.add("account_code", pa.chunked_array([texts], schema.TEXT), "title")
    names = [":".join(path[-1:]) for path in paths]
    accounts = defaultdict(set)
    for name, code in zip(names, reading.column("account_code").to_pylist(), strict=True):
        accounts[name].add(code)
    are_vouchers = not are_accounts and max(map(len, accounts.values())) > 1
    if are_vouchers:
        # Titles above several accounts are vouchers.
        reading.add("voucher_id", pa.chunked_array([names], schema.TEXT), "title")
    _take_number_and_party(reading, "journal_by_voucher" if are_vouchers else "ledger_by_account")
    return True


def _take_vouchers(report: _Report, is_posting: Mask) -> None:
    """Fill down what only the first row of a voucher has, where this is certain.

    The rows of each voucher balance at its last one, and not before, unless all rows have a day or one day
    is that of all; or a sum of both sides stands below.
    """
    reading, table = report.reading, report.reading.table
    blanks = {name: reading.blank(name) for name in filter(reading.has, _OF_FIRST_ROWS)}
    gaps = {name: own for name, own in blanks.items() if own[is_posting].any() and not own.all()}
    if not gaps.keys() & {*_OF_FIRST_ROWS[:2]} or reading.has("side"):
        return
    is_first = ~np.logical_and.reduce([*gaps.values()])
    first = np.maximum.accumulate(np.where(is_first, np.arange(len(is_first)), -1))
    rows_of, sums = defaultdict[int, list[int]](list), dict[int, int]()
    for row in np.flatnonzero(is_posting).tolist():
        rows_of[int(first[row])].append(row)
    for row in np.flatnonzero(report.has_amount & ~is_posting & ~is_first).tolist():
        # The sum of all vouchers stands below that of the last one.
        sums.setdefault(int(first[row]), row)
    if -1 in rows_of or blanks["date"][[*rows_of]].any():
        return
    is_dated = "date" not in gaps or len(rows_of) == 1
    if sums.keys() == rows_of.keys():
        for start, end in sums.items():
            report.hold(f"line {table.lines[start]}", end, rows_of[start])
    elif sums or not all(report.balances(rows, is_dated=is_dated) for rows in rows_of.values()):
        return
    start_of = np.where(is_posting, first, np.arange(len(first)))
    for name in gaps:
        reading.put(name, reading.column(name).take(pa.array(start_of)))
    _take_number_and_party(reading, "journal_by_voucher")
    if not reading.has("voucher_id"):
        reading.leave("journal")
        reading.add("voucher_id", _numbers(reading, [*rows_of]).take(pa.array(start_of)))
    reading.table = reading.table.rows(~np.isin(np.arange(len(first)), [*sums.values()]))


def _numbers(reading: Reading, firsts: Sequence[int]) -> pa.ChunkedArray:
    """Return the numbers of documents, if each of these first rows has one of its own, else the lines."""
    if reading.has("document_number"):
        column = reading.column("document_number")
        of_vouchers = column.take(firsts)
        if not (cells.blank(of_vouchers).any() or cells.duplicated(of_vouchers).any()):
            reading.leave("document_number")
            return column
    return pa.chunked_array([pc.cast(pa.array(reading.table.lines), schema.TEXT)])


def _take_number_and_party(reading: Reading, form: str) -> None:
    """Take the columns that reports have for the number of a document, and for a party beside the text."""
    reading.note(form)
    for place in reading.free():
        column = reading.seen(place)
        if column.is_headed("number"):
            reading.places.setdefault("document_number", place)
        elif column.is_headed("name", "supplier") and reading.places.setdefault("text", place) != place:
            both = (column.cells, reading.column("text"), pa.scalar(" ", schema.TEXT))
            reading.put("text", cells.trimmed(pc.binary_join_element_wise(*both)))


def _turned(report: _Report, postings: Mapping[int, _Path]) -> list[int]:
    """Return the rows whose sign turns where amounts have the sign of their account's nature.

    An account's nature follows by its name, else so that vouchers balance.
    """
    reading = report.reading
    columns = map(reading.seen, range(len(reading.table.headings)))
    keys = [reading.column("date"), *(one.cells for one in columns if one.is_headed(*_OF_VOUCHER))]
    texts = zip(*(column.take([*postings]).to_pylist() for column in keys), strict=True)
    sums: dict[tuple[str, ...], dict[_Path, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for (row, path), voucher in zip(postings.items(), texts, strict=True):
        sums[voucher][path] += report.net(row)
    vouchers = [*sums.values()]
    if not any(sum(own.values()) for own in vouchers):
        return []
    signs: dict[_Path, int] = {}
    for path in {*postings.values()}:
        # The innermost title that says a nature counts.
        title = next((one for one in path[::-1] if _DEBIT.search(one) or _CREDIT.search(one)), None)
        if title is not None:
            signs[path] = -1 if _CREDIT.search(title) else 1
    known = -1
    while known < len(signs):
        known = len(signs)
        for own in vouchers:
            unknown = [path for path in own if path not in signs]
            balance = sum(signs[path] * amount for path, amount in own.items() if path in signs)
            if len(unknown) == 1 and balance and abs(balance) == abs(own[unknown[0]]):
                signs[unknown[0]] = -1 if balance == own[unknown[0]] else 1
    is_open = any(path not in signs for path in postings.values())
    if is_open or any(sum(signs[path] * amount for path, amount in own.items()) for own in vouchers):
        reading.doubts.append(note("signs_by_nature"))
    return [row for row, path in postings.items() if signs.get(path) == -1]
