"""The fields of each kind of file: what each is called, what its cells hold, and whether a column can be it.

A new field is one item of `fields.toml`, and new words are one line of `terms.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa

from bktools.caller import argument_name
from bktools.contract import rules
from bktools.inputs import cells, terms
from bktools.inputs.options import OF_KIND, Options, checked
from bktools.inputs.values.amounts import has_digits, is_not_zero, mark_of, money, number
from bktools.inputs.values.days import is_day, is_serial

# The share of a column's cells that have a type.
_MOST = 0.8
# Cells that tell the type of a column.
_TELLING, _FIRST = 400, 300
_FIGURES_OF_CODES = 9


def most(texts: Iterable[str], test: Callable[[str], object], share: float = _MOST) -> bool:
    """Whether the test holds for such a share of the different filled cells; False without any."""
    filled = [text for text in dict.fromkeys(texts) if text.strip()][:_TELLING]
    return bool(filled) and sum(bool(test(text)) for text in filled) >= share * len(filled)


def side_of(text: str) -> str:
    """Return debit or credit where a cell says it, "" elsewhere."""
    return "" if text.strip() in ("-", "/", "") else terms.sides().get(terms.normal(text), "")


@dataclass(frozen=True)
class Column:
    """A column with its heading and a sample of its cells."""

    heading: str
    cells: pa.ChunkedArray
    sample: Sequence[str]

    @cached_property
    def filled(self) -> list[str]:
        """The cells of the sample that hold something."""
        return [cell for cell in self.sample if cell.strip()]

    @property
    def share(self) -> float:
        """The share of cells that hold something."""
        return len(self.filled) / len(self.sample) if self.sample else 0

    @cached_property
    def kinds(self) -> set[str]:
        """The different cells of the sample."""
        return {*self.sample}

    @property
    def repeats(self) -> bool:
        """Whether a cell is there twice."""
        return len(self.kinds) < len(self.sample)

    def most(self, test: Callable[[str], object], share: float = _MOST) -> bool:
        """Whether the test holds for such a share of the different filled cells; False without any."""
        return most(self.filled, test, share)

    def is_headed(self, *tables: str) -> bool:
        """Whether its heading is a word of these tables."""
        return not terms.headings(*tables).isdisjoint(terms.forms(terms.bare(self.heading)))

    def says(self, *tables: str) -> bool:
        """Whether a whole word of its heading is one of these tables."""
        return terms.are_inside(self.heading, terms.headings(*tables))

    @property
    def says_balance(self) -> bool:
        """Whether its heading says a balance, which is neither an amount of an entry nor an account."""
        return self.is_headed("balance") or self.says("balance")

    @property
    def says_another_amount(self) -> bool:
        """Whether its heading says a price, a rate or the like, which is no amount of an entry."""
        others = terms.headings("other_amount", "tax", "fee") - terms.headings("debit", "credit")
        return terms.are_inside(terms.without_brackets(self.heading), others)

    def are_days(self) -> bool:
        """Whether most cells are days, or numbers of days."""
        return self.most(lambda text: is_day(text) or is_serial(text))

    def are_amounts(self, share: float = _MOST) -> bool:
        """Whether such a share of the cells are amounts."""
        return self.most(
            lambda text: money(text) is not None and (has_digits(text) or not is_day(text)), share
        )

    def has_cents(self) -> bool:
        """Whether an amount among the cells has a mark."""
        return any(map(_has_mark, self.filled))

    def are_currencies(self) -> bool:
        """Whether nearly all cells are currencies."""
        return self.most(terms.currencies_of)

    def has_currencies(self) -> bool:
        """Whether a cell is a currency, or most have its form: one that nobody knows holds its entry back."""
        return any(map(terms.currencies_of, self.filled)) or self.most(_THREE_LETTERS.fullmatch)

    def are_codes(self) -> bool:
        """Whether figures are codes: days, long or with zeros in front, without marks."""
        some = self.filled[:_FIRST]
        if sum(map(is_day, some)) * 2 > len(some):
            return True
        plain = [text.strip() for text in some if text.strip().isdigit()]
        return len(plain) * 10 > len(some) * 9 and any(
            len(text) > _FIGURES_OF_CODES or (text[0] == "0" and len(text) > 1) for text in plain
        )

    def are_uuids(self) -> bool:
        """Whether nearly each row has a UUID, and most their own: the parts of a split entry share one."""
        return self.most(_UUID.match, 0.9) and len(cells.unique(self.cells)) * 2 > len(self.cells)


Test = Callable[[Column], bool]

# Words of headings that say another amount than the entry's.
_FOREIGN: Final = frozenset({"foreign", "original", "instructed", "asset", "local", "fremd", "origine"})
_CODE = re.compile(r"[\w.\-/ ]*\d{3}[\w.\-/ ]*")
# Codes with a point look like amounts, such as 60.01.
_DOTTED = re.compile(r"\d{1,3}(?:\.\d{1,4})+")
_PARTS = re.compile(r"\d{1,4}(?:\.\d{1,4})*")
# Two signs of East Asia are a word.
_NAME = re.compile(r"[^\W\d_]{3}|[\u3040-\u9fff\uac00-\ud7af]{2}")
_DIGIT, _LETTER = re.compile(r"\d"), re.compile(r"[^\W\d_]")
# The number of a voucher, which VT or BQ1, the code of a journal, is not.
_NUMBER = re.compile(r"\d\d|^\d$")
_UUID = re.compile(rules.UUID_REGEX)
_THREE_LETTERS = re.compile(r"\s*[A-Z]{3}\s*")
# The number of an account at a bank, which is none of a ledger.
IBAN: Final = re.compile(r"\s*[A-Z]{2}\d{2}[A-Z0-9 ]{11,34}\s*$")
_FEW_ROWS, _FEW_KINDS = 3, 6


class Type(NamedTuple):
    """What the cells of a field hold."""

    # Whether a column can be the field, which settles a heading with two meanings.
    fits: Test = lambda _: True
    # Of several columns with a heading, the one counts of which this is true; by default the one that fits.
    tells: Test | None = None
    # Whether a question names a column under an unknown heading.
    offers: Test = lambda column: column.share >= 0.2 and not column.says_balance
    # Of several columns that are offered, those go first of which each of these is true.
    prefers: Sequence[Test] = ()
    # Whether it is read to the letter.
    is_text: bool = False


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a kind of file says of each row, as `fields.toml` describes it."""

    name: str
    headings: str = ""
    type: str = "text"
    needed: bool = False
    instead: tuple[str, ...] = ()
    sole: bool = False
    identity: bool = False
    seldom: bool = False
    weak: str = ""

    @property
    def groups(self) -> list[list[str]]:
        """The tables of its headings, in groups."""
        return [group.split() for group in self.headings.split("|")]

    @property
    def holds(self) -> Type:
        """What its cells hold."""
        return TYPES[self.type]


def _money(least: float, *prefers: Test) -> Type:
    """Return the type of amounts that such a share of rows has."""

    def offers(column: Column) -> bool:
        return (
            column.share >= least
            and not column.says_balance
            and not column.are_codes()
            and not column.says("no_amount", "no_code")
            and _are_any(column)
        )

    return Type(Column.are_amounts, _are_any, offers=offers, prefers=prefers)


def _are_any(column: Column) -> bool:
    """Whether cells are amounts, and not all of them nothing."""
    return column.are_amounts() and any(map(is_not_zero, column.filled))


def _are_plainly_days(column: Column) -> bool:
    return column.share >= 0.2 and column.are_days() and not column.most(is_serial)


def _may_be_code(column: Column) -> bool:
    is_telling = have_digits(column) or not column.repeats
    is_share = not _has_no_cents(column) and (column.says_another_amount or not _are_dotted(column))
    is_another = column.says("no_code") or column.most(is_day) or is_share
    # A few titles may have none.
    return column.share > 0.9 and not is_another and is_telling


def _may_be_name(column: Column) -> bool:
    # A column of few kinds, such as sides, is no column of names.
    are_many = len(column.kinds) * 2 > len(column.sample)
    return column.share == 1 and not column.says("no_code") and column.most(_LETTER.search) and are_many


def _has_mark(text: str) -> bool:
    amount = money(text)
    # 1.1.2 is a code.
    return amount is not None and mark_of(amount.digits) is not None and number(amount, "") is not None


def _has_no_cents(column: Column) -> bool:
    """Whether most cells are no amounts with a mark."""
    return not column.most(_has_mark, 0.5)


def _are_dotted(column: Column) -> bool:
    return column.most(_DOTTED.fullmatch, 1) and not any(cell.endswith(".00") for cell in column.filled)


def have_digits(column: Column) -> bool:
    """Whether most cells have a digit, as codes have."""
    return column.most(_DIGIT.search)


def may_be_account(column: Column) -> bool:
    """Whether cells repeat and are codes, or names; IDs that never repeat are no accounts."""
    return (
        column.share >= 0.5
        and (1 < len(column.kinds) < len(column.sample) or len(column.cells) < _FEW_ROWS)
        and not column.most(is_day)
        and (_has_no_cents(column) or _are_dotted(column))
        and not column.most(_UUID.match)
        and not column.most(IBAN.match)
        and not column.says_balance
        and not column.says("no_code")
        and (are_account_codes(column) or _are_dotted(column) or all(map(_NAME.search, column.sample)))
    )


def are_account_codes(column: Column) -> bool:
    """Whether most cells have the form of account codes."""
    return column.most(_CODE.fullmatch)


def _may_be_voucher(column: Column) -> bool:
    """Whether cells are numbers of vouchers, which have several rows, and no codes of journals."""
    return column.repeats and (not column.is_headed("journal") or column.most(_NUMBER.search))


def _may_be_side(column: Column) -> bool:
    if len(column.kinds) > _FEW_KINDS:
        return False
    # Some programs mark one of the sides alone, such as CR.
    are_words = all(len(text.strip()) > 1 and side_of(text) for text in {*column.filled})
    return {"debit", "credit"} <= {*map(side_of, column.kinds)} or (0 < column.share < 1 and are_words)


def says_kind(text: str) -> bool:
    """Whether a cell says money in or out, such as revenue, which is no side of a posting."""
    kinds = terms.values("money_in", "money_out") - terms.values("debit", "credit")
    return terms.normal(text) in kinds


def _are_posting_sides(column: Column) -> bool:
    return column.most(lambda text: side_of(text) and not says_kind(text), 1)


def _may_be_currency(column: Column) -> bool:
    return column.are_currencies() and not terms.are_inside(column.heading, _FOREIGN)


def _are_words_of(*tables: str) -> Test:
    """Return the test for columns of which most cells are words of these tables of values."""
    return lambda column: column.most(lambda text: terms.normal(text) in terms.values(*tables))


TYPES: Final[Mapping[str, Type]] = {
    "text": Type(is_text=True),
    "words": Type(is_text=True),
    "day": Type(
        Column.are_days,
        offers=lambda column: (
            not column.says("no_day") and (_are_plainly_days(column) or column.most(is_day, 0.6))
        ),
        prefers=(_are_plainly_days,),
    ),
    "amount": _money(0.8, lambda column: column.has_cents() or column.says("amount")),
    # Few rows may have a credit.
    "half": _money(0.02),
    "currency": Type(Column.has_currencies, offers=_may_be_currency),
    "side": Type(lambda column: column.most(side_of, 1), offers=_may_be_side),
    "posting_side": Type(
        _are_posting_sides, offers=lambda column: _may_be_side(column) and _are_posting_sides(column)
    ),
    "account": Type(
        tells=are_account_codes,
        offers=may_be_account,
        prefers=(_has_no_cents, are_account_codes),
    ),
    "account_of_side": Type(
        lambda column: _has_no_cents(column) or (column.repeats and column.most(_PARTS.fullmatch, 1)),
        offers=may_be_account,
    ),
    # Codes have digits, also where one is there twice, which is to be corrected; words are names.
    "code": Type(
        lambda column: column.most(_DIGIT.search, 0.5) and not column.most(_UUID.match),
        tells=have_digits,
        offers=_may_be_code,
        prefers=(have_digits, lambda column: not column.repeats),
    ),
    "name": Type(offers=_may_be_name),
    "flag": Type(_are_words_of("approved", "not_approved", "yes", "no")),
    "state": Type(_are_words_of("active", "archived", "yes", "no")),
    "number": Type(),
    "voucher": Type(_may_be_voucher, is_text=True),
    "tax_code": Type(_has_no_cents, is_text=True),
    "uuid": Type(offers=Column.are_uuids),
}


@cache
def of_kind(kind: str) -> Mapping[str, Field]:
    """Return the fields of a kind of file (chart, accounts, entries, ledger) by name, in their order."""
    text = files(__package__).joinpath("fields.toml").read_text(encoding="utf-8")
    listed = tomllib.loads(text)[kind]
    return {name: msgspec.convert({"name": name, **own}, Field) for name, own in listed.items()}


def needed_in(kind: str, names: frozenset[str]) -> int:
    """Return how many of the fields that a kind of file needs are among these."""
    needed = [{field.name, *field.instead} for field in of_kind(kind).values() if field.needed]
    return sum(not names.isdisjoint(ways) for ways in needed)


def has_needed(kind: str, names: frozenset[str]) -> bool:
    """Whether all fields that a kind of file needs are among these."""
    return needed_in(kind, names) == sum(field.needed for field in of_kind(kind).values())


def options_of(kind: str, options: Mapping[str, Any]) -> Options:
    """Return the keywords of a kind's reader as options; None says nothing.

    An option or a field that this kind of file does not have is an `ArgumentError`.
    """
    rules.refuse_unknown(options, OF_KIND[kind], kind)
    stated = checked(options)
    rules.refuse_unknown(stated.get("columns") or (), of_kind(kind), kind, argument_name("columns"))
    return stated


@cache
def _by_word(kind: str) -> Mapping[str, frozenset[str]]:
    by_word: dict[str, set[str]] = {}
    for field in of_kind(kind).values():
        for word in terms.headings(*(table for group in field.groups for table in group)):
            by_word.setdefault(word, set()).add(field.name)
    return {word: frozenset(names) for word, names in by_word.items()}


@lru_cache(1 << 14)
def fields_of(heading: str, kind: str) -> frozenset[str]:
    """Return the fields that a heading can be."""
    by_word = _by_word(kind)
    return frozenset().union(*(by_word.get(form, frozenset()) for form in terms.forms(heading)))
