"""A column of a table: what its heading says, and what its cells look like in the first rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from bktools.contract import rules
from bktools.inputs import cells, terms
from bktools.inputs.values.amounts import has_digits, mark_of, money
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
        bare = re.sub(r" \(column \d+\)$", "", self.heading)
        return not terms.headings(*tables).isdisjoint(terms.forms(bare))

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
        others = terms.headings("other_amount", "tax") - terms.headings("debit", "credit")
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
        return any((amount := money(text)) and mark_of(amount.digits) for text in self.filled)

    def are_currencies(self) -> bool:
        """Whether nearly all cells are currencies."""
        return self.most(terms.currencies_of)

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
        """Whether each row has a UUID, and most have their own: the parts of a split entry share one."""
        return (
            len(self.cells) > 0
            and bool(cells.matches(self.cells.slice(0, 100), rules.UUID_REGEX).all())
            and bool(cells.matches(self.cells, rules.UUID_REGEX).all())
            and len(cells.unique(self.cells)) * 2 > len(self.cells)
        )
