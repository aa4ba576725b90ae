"""Ledgers that are reports, as Xero, QuickBooks and others write them: an account stands above its postings.

A report becomes the table that it is made of: the titles above a posting are its account, or its voucher
where each row has an account, and rows without a posting are left out. Totals below the postings show whether
rows are missing.
QuickBooks Online writes amounts by the nature of each account, positive where it grows: the signs are those
under which all vouchers balance.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.assignment import MONEY
from bktools.inputs.notes import Note, note
from bktools.inputs.reading import Reading
from bktools.inputs.table import Mask
from bktools.inputs.values.amounts import Figures
from bktools.inputs.values.days import lacks_year, may_be_days

# 420 - Travel, and Travel (420).
_CODE = re.compile(r"(?P<code>\d[\d.\-]*)\s*[·:-]?\s+(?P<name>.+)")
_CODE_BEHIND = re.compile(r"(?P<name>.+?)\s*\((?P<code>\d[\d.\-]*)\)")
# Accounts whose nature their name says; that of others follows by the vouchers.
_DEBIT = re.compile(r"(?i)\b(?:bank|checking|savings|cash|receivable|undeposited|expenses?|cost of)\b")
_CREDIT = re.compile(r"(?i)\b(?:payable|income|revenue|sales|equity|credit card|loan|retained)\b")
# The headings of the columns that are made of titles.
_HEADINGS = {"account_code": "title", "account_name": "title (name)"}
_ZERO = Decimal()
# The headings of columns that tell vouchers of one day apart.
_OF_VOUCHER = ("number", "document_number", "name", "supplier", "voucher_type", "entry_type")
# Titles, the outermost first.
_Path = tuple[str, ...]


def under_titles(reading: Reading) -> None:
    """Take the titles above postings for their accounts or vouchers; do nothing where a table has none."""
    # A report may have gross amounts beside both sides.
    money = MONEY[1:] if reading.has(*MONEY[1:]) else MONEY
    fields = [name for name in money if reading.has(name)]
    if not (reading.has("date") and fields) or reading.is_asked("account_code"):
        return
    days = reading.column("date")
    is_dated = may_be_days(days, reading.options) | cells.mask(cells.each(days, lacks_year, schema.FLAG))
    amounts = _Amounts(reading, fields)
    is_posting = is_dated & amounts.are_there
    if is_posting.all() or not is_posting.any():
        return
    has_account = np.full(len(days), False)
    if reading.has("account_code"):
        has_account = ~reading.blank("account_code")
    are_accounts = not has_account[is_posting].any()
    if not _take_titles(amounts, is_posting, are_accounts=are_accounts) and {*fields} >= {"debit", "credit"}:
        _take_vouchers(amounts, is_dated, amounts.are_there & has_account)


class _Amounts:
    """The amounts of a table by row, and what its totals say of them."""

    def __init__(self, reading: Reading, fields: Sequence[str]) -> None:
        self.reading = reading
        self._figures = {name: Figures.of(reading.column(name)) for name in fields}
        self.are_there: Mask = np.logical_or.reduce([own.has_amount for own in self._figures.values()])

    @cached_property
    def _columns(self) -> dict[str, list[Decimal | None]]:
        return {name: own.values(own.own_mark)[0].to_pylist() for name, own in self._figures.items()}

    def sums(self, *rows: int) -> dict[str, Decimal]:
        """Return the sum of rows by field."""
        return {
            name: sum((column[row] or _ZERO for row in rows), _ZERO) for name, column in self._columns.items()
        }

    def net(self, *rows: int) -> Decimal:
        """Return the sum of rows, positive for debit."""
        return sum((-own if name == "credit" else own for name, own in self.sums(*rows).items()), _ZERO)

    def hold(self, name: str, total: int, rows: Sequence[int]) -> None:
        """Hold rows to the total below them: by field, or by the difference of both sides."""
        self.reading.proofs.append(name)
        stated, summed = self.net(total), self.net(*rows)
        if stated != summed and self.sums(total) != self.sums(*rows):
            facts = {"name": name, "stated": str(stated), "summed": str(summed)}
            self.reading.doubts.append(note("total_differs", **facts))


def _behind_account(text: str) -> str:
    """Return what stands behind a word for an account, as in Account: 101 - Cash; "" in another text."""
    word, _, name = text.partition(":")
    is_marked = terms.normal(word) in terms.headings("account", "account_code")
    return name.strip() if is_marked else ""


def _title(texts: Sequence[str], *, are_marked: bool) -> str:
    """Return the title that a row is: behind a word for an account, else alone or behind its code."""
    if are_marked:
        return next(filter(None, map(_behind_account, texts)), "")
    first, *others = dict.fromkeys(texts) or ("",)
    is_one = not others or (len(others) == 1 and first.replace("-", "").isdigit())
    return " ".join([first, *others]) if is_one else ""


def _is_total_of(title: str, text: str) -> bool:
    return title.casefold() in text.casefold() and terms.report_rank(text) == terms.MAYBE


class _Titles(NamedTuple):
    """The titles of a table, and the totals of titles."""

    # The rows that are no postings.
    rows: Sequence[int]
    # The titles that are open above the first of these rows, and below each of them.
    paths: Sequence[_Path]
    # The text of each total, its row, and the row of its title.
    totals: Sequence[tuple[str, int, int]]
    # The totals of titles that are not open.
    of_others: Sequence[Note]
    # Rows with an amount that are no totals: they are asked about.
    unclear: Sequence[int]

    def at(self, rows: Sequence[int]) -> list[_Path]:
        """Return the titles of each row."""
        return [self.paths[at] for at in np.searchsorted(self.rows, rows, side="right").tolist()]


def _titles(amounts: _Amounts, is_posting: Mask, end: int | None) -> _Titles:
    """Return the titles of a table: texts that stand alone in the columns before `end`."""
    table, rows = amounts.reading.table, np.flatnonzero(~is_posting).tolist()
    columns = [column.take(rows).to_pylist() for column in table.columns[:end]]
    texts = [[*filter(None, map(str.strip, row))] for row in zip(*columns, strict=True)]
    are_marked = any(map(_behind_account, chain(table.above, *texts)))
    names = [_title(own, are_marked=are_marked) for own in (table.above, *texts)]
    all_totals = [own[0] for own in texts if own and terms.report_rank(own[0]) == terms.MAYBE]
    with_total = {name for name in names if name and any(_is_total_of(name, text) for text in all_totals)}
    # The open titles, each with its row.
    opened = [(names[0], -1)] if names[0] else []
    paths: list[_Path] = [tuple(name for name, _ in opened)]
    totals, of_others, unclear = [], [], []
    for row, own, name in zip(rows, texts, names[1:], strict=True):
        text = own[0] if own else ""
        rank = terms.report_rank(text)
        closed = [at for at, (title, _) in enumerate(opened) if _is_total_of(title, text)]
        if closed:
            totals.append((text, row, opened[closed[-1]][1]))
            opened = opened[: closed[-1]]
        elif rank == terms.MAYBE and opened and opened[-1][0] not in with_total:
            facts = {"name": text, "line": int(table.lines[row]), "account": opened[-1][0]}
            of_others.append(note("total_of_another", **facts))
        elif amounts.are_there[row]:
            unclear += [] if rank else [row]
        elif name and (name in with_total or not rank):
            # Without a total, the account above ends where the next one begins.
            opened = [*(one for one in opened if one[0] in with_total), (name, row)]
        paths.append(tuple(title for title, _ in opened))
    return _Titles(rows, paths, totals, of_others, unclear)


def _take_titles(amounts: _Amounts, is_posting: Mask, *, are_accounts: bool) -> bool:
    """Make columns of the titles above postings; return whether each posting has titles that are certain."""
    reading, table = amounts.reading, amounts.reading.table
    balances = [place for place in reading.free() if reading.seen(place).says_balance]
    titles = _titles(amounts, is_posting, min(balances, default=None))
    postings = np.flatnonzero(is_posting).tolist()
    paths = titles.at(postings)
    # Titles have totals or balances, or their postings balance as a whole.
    is_certain = bool(titles.totals or balances) or not amounts.net(*postings)
    if not all(paths) or not (is_certain if are_accounts else titles.totals):
        return False
    for text, row, first in titles.totals:
        if amounts.are_there[row]:
            amounts.hold(text, row, postings[bisect(postings, first) : bisect(postings, row)])
    reading.doubts += titles.of_others[:1]
    if are_accounts and not reading.has("debit", "credit"):
        reading.turned = frozenset(table.lines[_turned(amounts, postings, paths)].tolist())
    rows = sorted([*postings, *titles.unclear])
    reading.table = table.rows(np.isin(np.arange(len(is_posting)), rows))
    if are_accounts:
        reading.leave("account_code", "account_name", "side")
        codes = _codes({*titles.at(rows)})
        for at, (field, heading) in enumerate(_HEADINGS.items()):
            texts = [codes[path][at] for path in titles.at(rows)]
            reading.add(field, pa.chunked_array([texts], schema.TEXT), heading)
    names = pa.array([":".join(path[-1:]) for path in titles.at(rows)], schema.TEXT)
    accounts = pa.table([reading.column("account_code"), names], ["code", "title"])
    counts = accounts.group_by("title").aggregate([("code", "count_distinct")])["code_count_distinct"]
    are_vouchers = not are_accounts and pc.max(counts).as_py() > 1
    if are_vouchers:
        # Titles above several accounts are vouchers.
        reading.add("voucher_id", accounts["title"], "title")
    _take_number_and_party(reading, "journal_by_voucher" if are_vouchers else "ledger_by_account")
    return True


def _codes(paths: set[_Path]) -> dict[_Path, tuple[str, str]]:
    """Return the code and the name in each title; of a title of two accounts, the path names both."""
    counts = Counter(path[-1] for path in paths if path)
    codes = {}
    for path in paths:
        whole = path[-1] if path and counts[path[-1]] == 1 else ":".join(path)
        parts = _CODE.fullmatch(whole) or _CODE_BEHIND.fullmatch(whole) if whole == path[-1] else None
        codes[path] = (parts["code"], parts["name"]) if parts else (whole, whole)
    return codes


def _take_vouchers(amounts: _Amounts, is_dated: Mask, is_posting: Mask) -> None:
    """Fill the day of a voucher down to the sum of both sides below its rows."""
    reading, table = amounts.reading, amounts.reading.table
    first = np.maximum.accumulate(np.where(is_dated, np.arange(len(is_dated)), -1)).tolist()
    sums: dict[int, int] = {}
    for row in np.flatnonzero(amounts.are_there & ~is_posting & ~is_dated).tolist():
        # The sum of all vouchers stands below that of the last one.
        sums.setdefault(first[row], row)
    if {*sums} != {*np.flatnonzero(is_dated).tolist()} or is_dated[is_posting].all():
        return
    for start, end in sums.items():
        amounts.hold(f"line {table.lines[start]}", end, [row for row in range(start, end) if is_posting[row]])
    start_of = pa.array(np.array(first)[is_posting])
    lines = pc.take(pc.cast(pa.array(table.lines), schema.TEXT), start_of)
    reading.table = table.rows(is_posting)
    _take_number_and_party(reading, "journal_by_voucher")
    for name in filter(reading.has, ("date", "document_number")):
        reading.put(name, table.columns[reading.places[name]].take(start_of))
    reading.add("voucher_id", pa.chunked_array([lines]))


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


def _turned(amounts: _Amounts, rows: Sequence[int], paths: Sequence[_Path]) -> list[int]:
    """Return the rows whose sign turns where amounts have the sign of their account's nature.

    An account's nature follows by its name, else so that vouchers balance.
    """
    reading = amounts.reading
    columns = map(reading.seen, range(len(reading.table.headings)))
    keys = [reading.column("date"), *(one.cells for one in columns if one.is_headed(*_OF_VOUCHER))]
    texts = zip(*(column.take(rows).to_pylist() for column in keys), strict=True)
    sums: dict[tuple[str, ...], dict[_Path, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for row, path, voucher in zip(rows, paths, texts, strict=True):
        sums[voucher][path] += amounts.net(row)
    vouchers = [*sums.values()]
    if not any(sum(own.values()) for own in vouchers):
        return []
    signs: dict[_Path, int] = {}
    for path in {*paths}:
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
    is_open = any(path not in signs for path in paths)
    if is_open or any(sum(signs[path] * amount for path, amount in own.items()) for own in vouchers):
        reading.doubts.append(note("signs_by_nature"))
    return [row for row, path in zip(rows, paths, strict=True) if signs.get(path) == -1]
