"""What cells look like: whether a column could hold a field, whatever its heading says."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import combinations

import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.rules import UUID_REGEX
from bktools.errors import InputError
from bktools.inputs import amounts, cells, dates, sides, words
from bktools.inputs.table import Table

_MOST, _HALF, _FEW = 0.9, 0.5, 0.1
_FIRST_ROWS, _FEW_ROWS = 1000, 3
_LONG_NAMES = 60
_CODE = r"^\s*\d[0-9A-Za-z]*(?:[.\-/ ]\d[0-9A-Za-z]*)*\.?\s*$"
_CURRENCY = rf"^\s*(?:[A-Za-z]{{3}}|[{words.CURRENCY_SIGNS}])\s*$"
_EMAIL = r"^[^@\s]+@[^@\s]+\.[^@\s]+$"
# Days without a year, and codes with zeros in front, have the look of amounts.
_DAYS = r"\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4}|\.)"
# Days as spreadsheets and programs count them.
_SERIAL = r"^(?:[34]\d{4}(?:\.\d+)?|(?:19|20)\d{6}|1\d{9}|1\d{12})$"
_DAY = r"^(?:0?[1-9]|[12]\d|3[01])\.(?:0[1-9]|1[0-2])\.?$"
_ZEROS = r"^0\d"
_CENTS = r"[.,]\d\d\D*$"
_FIGURES = r"^[-+]?[1-9][\d ,.]*$"
_CODE_AND_NAME = r"^\s*\d[\d.-]*[\s:\x{B7}-]+\pL{2}"
_WITH_TAX = frozenset({"inc", "incl", "including", "gross", "total", "brutto", "ttc", "inkl"})
_TWO_LETTERS = r"\s*\w{1,2}\s*[/ ]\s*\w{1,2}\s*"
_PERIODS = frozenset({"year", "month", "period", "quarter", "jahr", "monat"})
_NUMBERED = _PERIODS | {"id", "no", "nr"}
# The tables of headings of the two sides: an account's, and those of money.
_SIDES = (("debit", "money_out"), ("credit", "money_in"))
# A ledger posts to some of its accounts several times.
_LEAST_REPEATED = 10


def fits(field: str, table: Table, place: int) -> bool:
    """Whether the cells of a column can be those of a field.

    They can where the field may hold anything, or where there are no cells.
    """
    check = FITS.get(field)
    return check is None or not len(filled(table, place)) or check(table, place)


def columns_like(field: str, table: Table, free: Sequence[int]) -> list[int]:
    """Return the columns whose cells look like a field, though their headings do not say it."""
    alike = all_like(field, table, free)
    if field == "amount":
        # Amounts without cents are looked for where no column has any.
        head = table.head(_FIRST_ROWS)
        alike = alike or [place for place in free if _are_figures(head, place)]
    # Codes stand before names.
    return alike[:1] if field in ("code", "account_code") else likeliest_first(field, table, alike)


def all_like(field: str, table: Table, free: Sequence[int]) -> list[int]:
    """Return all columns whose cells look like a field; amounts are those with cents."""
    head = table.head(_FIRST_ROWS)
    return [place for place in free if _looks(field, head, place)]


def is_full(table: Table, place: int) -> bool:
    """Whether nearly all cells of a column hold something."""
    return len(filled(table, place)) >= max(1, _MOST * len(table.lines))


def may_say_days(table: Table, place: int) -> bool:
    """Whether some cells may be days: written as dates, with a month's name, or as a spreadsheet's number."""
    column = filled(table.head(_FIRST_ROWS), place)
    names = [re.escape(name) for month, others in words.months().items() for name in (month, *others)]
    month = rf"(?:{'|'.join(names)})"
    written = rf"{_DAYS}|(?i:\d\W{{0,3}}{month}\b|\b{month}\W{{0,3}}\d)"
    is_written = cells.matches(column, written).any()
    return len(column) > 0 and bool(is_written or cells.matches(column, _SERIAL).all())


def likeliest_first(
    field: str, table: Table, candidates: Sequence[int], *, beside_currency: bool = False
) -> list[int]:
    """Return candidates in their order, but unlikely ones last.

    Unlikely are long texts as names, and amounts in one currency beside a currency's column.
    """

    def is_unlikely(place: int) -> bool:
        if field == "name":
            return bool(pc.mean(pc.utf8_length(table.columns[place])).as_py() > _LONG_NAMES)
        heading = table.headings[place]
        return (
            beside_currency and field == "amount" and words.normal(heading) != words.without_extras(heading)
        )

    def of_tax(place: int) -> int:
        """Return the rank of amounts by tax: those with it first, those without it third, tax alone last."""
        heading = table.headings[place]
        if words.are_inside(heading, words.headings("without_tax")):
            return 2
        is_of_tax = words.are_inside(heading, words.headings("tax"))
        return 0 if words.are_inside(heading, _WITH_TAX) else 3 if is_of_tax else 1

    return sorted(
        candidates, key=lambda place: (of_tax(place) if field == "amount" else 0, is_unlikely(place))
    )


def debit_and_credit(table: Table, free: Collection[int], alike: Collection[int]) -> tuple[int, int] | None:
    """Return two columns of amounts that are debit and credit of the same rows, None where no two are.

    Two headings say it, such as Withdrawal and Deposit; or of all columns of amounts just two have one amount
    a row, and no other column looks like the amount. `alike` is the columns that do.
    """
    has_amount = {
        place: cells.matches(table.columns[place], "[1-9]") for place in free if _are_amounts(table, place)
    }
    pairs = [
        (one, other)
        for one, other in combinations(has_amount, 2)
        if (has_amount[one] ^ has_amount[other]).mean() >= _MOST
        and has_amount[one].any()
        and has_amount[other].any()
    ]
    out, back = (words.headings(side) | words.headings(money) for side, money in _SIDES)
    headings = {place: table.headings[place] for pair in pairs for place in pair}
    said = [
        (one, other)
        for pair in pairs
        for one, other in (pair, pair[::-1])
        if words.are_inside(headings[one], out) and words.are_inside(headings[other], back)
    ]
    if len(said) == 1:
        return said[0]
    if len(pairs) != 1 or (len(alike) == 1 and not {*alike} & {*pairs[0]}):
        return None
    one, other = pairs[0]
    is_credit_first = words.are_inside(headings[one], back) or words.are_inside(headings[other], out)
    return (other, one) if is_credit_first else (one, other)


def money_out_and_in(table: Table, free: Collection[int]) -> tuple[int, int] | None:
    """Return two columns whose whole headings are money that goes out and comes in, such as Withdrawal.

    Each row has an amount in one of them at most; None where no two are such columns, or several are.
    """
    texts = {place: words.without_words(table.headings[place], words.headings("amount")) for place in free}
    out_and_in = [
        [place for place, text in texts.items() if {words.normal(text), words.without_extras(text)} & side]
        for side in map(words.headings, ("money_out", "money_in"))
    ]
    if [*map(len, out_and_in)] != [1, 1] or out_and_in[0] == out_and_in[1]:
        return None
    places = out_and_in[0][0], out_and_in[1][0]
    has_amount = [cells.matches(table.columns[place], "[1-9]") for place in places]
    is_pair = (
        all(_are_amounts(table, place) for place in places)
        and all(rows.any() for rows in has_amount)
        and not (has_amount[0] & has_amount[1]).any()
    )
    return places if is_pair else None


def count_rows(table: Table, place: int) -> bool:
    """Whether a column numbers the rows from 1, or from 0."""
    texts = filled(table, place).to_pylist()
    return len(texts) > _FEW_ROWS and any(
        texts == [str(row + first) for row in range(len(texts))] for first in (0, 1)
    )


def hold_codes_and_names(table: Table, place: int) -> bool:
    """Whether a column holds a code and a name in each of its cells."""
    column = filled(table, place)
    return len(column) > 0 and _share(column, _CODE_AND_NAME) >= _HALF


def hold_currencies(table: Table, place: int) -> bool:
    """Whether each cell of a column is the code of a currency that is known here."""
    column = filled(table, place)
    return len(column) == len(table.lines) and bool(
        cells.matches(column, rf"^(?:{words.CURRENCY_CODES})$").all()
    )


def filled(table: Table, place: int) -> pa.ChunkedArray:
    """Return the cells of a column that hold something, without white space at their ends."""
    column = cells.trimmed(table.columns[place])
    return column.filter(pc.not_equal(column, ""))


def _share(column: pa.ChunkedArray, pattern: str) -> float:
    return float(cells.matches(column, pattern).mean())


def _are_codes(table: Table, place: int) -> bool:
    """Whether most cells have a digit and hardly any has words behind it; they are neither UUIDs nor dates.

    Titles of sections may stand among codes. Words such as loans_receivable, once each, are codes, too.
    """
    column = filled(table, place)
    if dates.are_dates(column) or cells.matches(column, UUID_REGEX).any():
        return False
    if _share(column, r"\d") >= _HALF and _share(column, r"\d\S*\s.*\pL{2}") <= _FEW:
        return True
    is_one_word = cells.matches(column, r"^[a-z0-9]+(?:_[a-z0-9]+)*$").all()
    is_varied = pc.count_distinct(column).as_py() == len(column)
    return bool(is_one_word and is_varied and cells.matches(column, "_").any())


def _are_names(table: Table, place: int) -> bool:
    column = filled(table, place)
    has_words = _share(column, r"\pL") >= _MOST and _share(column, r"^\s*\d{2}") <= _FEW
    return has_words and not _are_codes(table, place)


def _are_dates(table: Table, place: int) -> bool:
    return dates.are_dates(filled(table, place), short=True)


def _are_currencies(table: Table, place: int) -> bool:
    return _share(filled(table, place), _CURRENCY) >= _MOST


def _say_approval(table: Table, place: int) -> bool:
    known = frozenset().union(*map(words.values, ("approved", "not_approved", "yes", "no")))
    return bool(cells.mask(words.are(filled(table, place), known)).any())


def _are_no_words(table: Table, place: int) -> bool:
    return not cells.matches(filled(table, place), r"^\D*\pL{3}\D*$").all()


def _are_amounts(table: Table, place: int) -> bool:
    column = filled(table, place)
    if dates.are_dates(column, short=True) or cells.matches(column, _DAY).all():
        return False
    try:
        amounts.amounts(table, place, None)
    except InputError as unread:
        # An amount that could be read in two ways is one.
        return bool(unread.settings)
    return True


def _are_sides(table: Table, place: int, *, of_money: bool = True) -> bool:
    """Whether cells say debit or credit, or a heading such as D/C says that they should."""
    return re.fullmatch(_TWO_LETTERS, table.headings[place]) is not None or sides.say_sides(
        table, place, of_money=of_money
    )


# Fields that not every cell can be of; other fields may hold anything.
FITS: Mapping[str, Callable[[Table, int], bool]] = {
    "code": _are_codes,
    "account_code": _are_codes,
    "name": _are_names,
    "account_name": _are_names,
    "date": _are_dates,
    "currency": _are_currencies,
    "amount": _are_amounts,
    # Names of accounts may stand under debit and credit.
    "debit": _are_no_words,
    "credit": _are_no_words,
    "approved": _say_approval,
    "sign": _are_sides,
    "side": partial(_are_sides, of_money=False),
}


def _looks(field: str, table: Table, place: int) -> bool:
    column = filled(table, place)
    is_full = len(column) >= max(1, (_HALF if field in ("code", "name") else _MOST) * len(table.lines))
    # Codes and names of a chart are there once each, but for a few; one row shows nothing.
    least = (_HALF if field == "name" else _MOST) * len(column)
    is_varied = len(column) > 1 and pc.count_distinct(column).as_py() >= least
    looks: Mapping[str, Callable[[], bool]] = {
        "code": lambda: is_varied and _are_like_codes(table, place, column),
        "account_code": lambda: _are_repeated(column) and _are_like_codes(table, place, column),
        "name": lambda: (
            is_varied and _share(column, r"\pL{2}") >= _MOST and _share(column, UUID_REGEX) < _MOST
        ),
        "date": lambda: dates.are_dates(column),
        "amount": lambda: _have_cents(column) and _are_amounts(table, place),
        "employee_id": lambda: bool(cells.matches(column, _EMAIL).all()),
    }
    return is_full and field in looks and looks[field]()


def _are_like_codes(table: Table, place: int, column: pa.ChunkedArray) -> bool:
    is_period = words.are_inside(table.headings[place], _PERIODS) or count_rows(table, place)
    is_other = is_period or dates.are_dates(column) or cells.matches(column, UUID_REGEX).any()
    # Nothing but 0 and 1 answers a question, such as whether the day is a holiday.
    is_other = is_other or cells.matches(column, "^[01]$").all()
    return _share(column, _CODE) >= _MOST and not is_other


def _are_repeated(column: pa.ChunkedArray) -> bool:
    """Whether accounts may have these codes: a number that differs in each row is an ID."""
    return len(column) < _LEAST_REPEATED or pc.count_distinct(column).as_py() < len(column)


def _have_cents(column: pa.ChunkedArray) -> bool:
    has_amounts = cells.matches(column, r"[1-9]").any() and cells.matches(column, _CENTS).any()
    return bool(has_amounts and not cells.matches(column, _ZEROS).any())


def _are_figures(table: Table, place: int) -> bool:
    column = filled(table, place)
    is_full = len(column) >= max(1, _MOST * len(table.lines))
    is_number = words.are_inside(table.headings[place], _NUMBERED) or count_rows(table, place)
    return is_full and not is_number and _share(column, _FIGURES) >= _MOST
