"""Sums of entries: number and exact amount, by any keys and by currency."""

from __future__ import annotations

import decimal
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import compress
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.currencies import MINOR_UNITS
from bktools.errors import ArgumentError
from bktools.frames.schema import COUNT, DIGITS, MONEY, TEXT
from bktools.frames.tables import amounts_of, split_lines, text_of, with_column
from bktools.wording import Sentence, words
from bktools.wording.words import NO_CURRENCY

c = pl.col

# The column of amounts in the company's own currency, where rates were given.
HOME = "home_amount"
# A change of more than 1000% says only that there was next to nothing before.
MEANINGLESS = 10


@dataclass(frozen=True)
class Money:
    """Entries of one currency: their number and their exact amount, None where no entry has an amount.

    `home` is the amount in the company's own currency, None where not each amount was converted.
    """

    entries: int
    amount: Decimal | None
    home: Decimal | None = None


NO_MONEY = Money(0, None)


class Valued:
    """Something with the number and the exact amount of entries by currency."""

    money: Mapping[str, Money]

    @property
    def home(self) -> Decimal | None:
        """The exact amount of all currencies in the company's own, None where one was not converted."""
        homes = [money.home for money in self.money.values() if money.amount is not None]
        return None if None in homes or not homes else total(homes)

    @property
    def entries(self) -> int:
        """Number of entries of all currencies; the lines of a split entry are one."""
        return sum(money.entries for money in self.money.values())

    @property
    def amounts(self) -> dict[str, Decimal]:
        """Exact amount by currency; amounts of currencies are never added."""
        return {currency: money.amount for currency, money in self.money.items() if money.amount is not None}

    @property
    def texts(self) -> list[str]:
        """The number of entries, and the amount in each currency, as a person reads them."""
        texts = words()
        amounts = (texts.money({currency: amount}) for currency, amount in self.amounts.items())
        return [texts.counted(self.entries, "entry"), *amounts]

    @property
    def for_programs(self) -> dict[str, Any]:
        """Both for programs: amounts as text, so that none is rounded."""
        return {
            "entries": self.entries,
            "amounts": {name: f"{amount:f}" for name, amount in self.amounts.items()},
        }


@dataclass(frozen=True)
class Sum(Valued):
    """What some entries sum up to.

    `sum["fate"]` is what the entries have in common, one of the `keys`. Of the currencies the company's own
    is the first, then the largest where they were converted, else the one with most entries.
    """

    keys: Mapping[str, Any]
    money: Mapping[str, Money]

    def __getitem__(self, name: str) -> Any:
        return self.keys[name]


def summed(rows: pa.Table, *keys: str) -> pl.DataFrame:
    """Return number and exact amount of the entries of each group: the keys, entries (count) and amount.

    The lines of a split entry are one entry. The amount is null where no entry of the group has one. Where
    entries have a `home_amount`, it is added up, too: null for a group with an amount that was not converted,
    but one that `has_no_rate` adds nothing.

    Raises
    ------
    InputError
        When the amounts are no numbers, or have too many digits.
    """
    columns = {key: rows[key] for key in keys} | {"amount": amounts_of(rows)}
    if HOME in rows.column_names:
        columns[HOME] = pc.if_else(has_no_rate(rows), pa.scalar(0, rows[HOME].type), rows[HOME])
    lines, count = pl.DataFrame(pa.table(columns)), pl.len()
    if pc.max(split_lines(rows)).as_py():  # telling the entries apart would take most of the time
        lines, count = (
            lines.with_columns(number_of_entry=numbers_of_entries(rows)),
            c.number_of_entry.n_unique(),
        )
    known = c.amount.count()
    sums = {
        name: pl.when(c(name).count() == known, known > 0).then(c(name).sum())
        for name in columns
        if name not in keys
    }
    return lines.group_by(keys, maintain_order=True).agg(entries=count.cast(pl.Int64), **sums)


def has_no_rate(rows: pa.Table) -> pa.ChunkedArray:
    """Return whether an amount was not converted, and cannot be: it has no day, or no existing currency."""
    can_have = has_currency(rows)
    if "date" in rows.column_names:
        can_have = pc.and_(can_have, pc.is_valid(rows["date"]))
    is_left = pc.and_(pc.is_null(rows[HOME]), pc.is_valid(rows["amount"]))
    return pc.and_(is_left, pc.invert(can_have))


def has_currency(rows: pa.Table) -> pa.ChunkedArray:
    """Return whether rows have a currency that exists."""
    return pc.is_in(text_of(rows, "currency"), pa.array([*MINOR_UNITS], TEXT))


def number_of_entries(rows: pa.Table) -> int:
    """Return how many entries some rows are: the lines of a split entry are one."""
    return numbers_of_entries(rows).n_unique()


def with_one_reason(rows: pa.Table, fates: Mapping[str, str]) -> pa.Table:
    """Return rows in which the lines of a split entry have one reason, so that it counts once.

    It is the first of their reasons in the order of `fates`, which has the fate of each reason. Lines with
    several fates have one reason for each; one that is not in `fates` stays.
    """
    places = {reason: place for place, reason in enumerate(fates)}
    lines = pl.DataFrame({"entry": numbers_of_entries(rows), "split": pl.from_arrow(split_lines(rows))})
    lines = lines.with_columns(pl.Series("reason", pl.from_arrow(rows["reason"]), pl.String))
    place, fate = (c.reason.replace_strict(of, default=None) for of in (places, dict(fates)))
    first = pl.when(c.split > 0).then(place.min().over("entry", fate)).otherwise(place)
    reasons = dict(enumerate(fates))
    one = lines.select(
        first.replace_strict(reasons, default=None, return_dtype=pl.String).fill_null(c.reason)
    )
    return with_column(rows, "reason", pc.cast(one.to_series().to_arrow(), TEXT))


def sums_of(rows: pa.Table, *keys: str, own: str | None = None) -> list[Sum]:
    """Return number and exact amount of entries by currency, for each group of keys, the largest group first.

    Without keys all entries are one group. The amounts in the company's `own` currency decide what is large;
    where entries have a `home_amount`, those of all currencies do.
    """
    currency = text_of(rows, "currency")
    currency = pc.fill_null(pc.if_else(pc.equal(currency, ""), None, currency), NO_CURRENCY)
    groups: dict[tuple[Any, ...], dict[str, Money]] = defaultdict(dict)
    for row in summed(with_column(rows, "currency", currency), *keys, "currency").to_dicts():
        group = tuple(row[name] for name in keys)
        groups[group][row["currency"]] = Money(row["entries"], row["amount"], row.get(HOME))
    ranks = {name: place for place, name in enumerate(currencies_of(groups.values(), own))}
    sums = [
        Sum(dict(zip(keys, group, strict=True)), dict(sorted(money.items(), key=lambda item: ranks[item[0]])))
        for group, money in groups.items()
    ]
    return sorted(sums, key=lambda part: largest_first(part.money, own))


def money_of(rows: pa.Table, own: str | None = None) -> dict[str, Money]:
    """Return number and exact amount of all entries by currency."""
    sums = sums_of(rows, own=own)
    return dict(sums[0].money) if sums else {}


def largest_first(money: Mapping[str, Money], own: str | None) -> tuple[Decimal, int]:
    """Return the key that sorts by amount, then by number of entries.

    The amount is that of all currencies where they were converted, else that in the company's own.
    """
    homes = [value.home for value in money.values() if value.home is not None]
    amount = total(homes) if homes else money[own].amount if own is not None and own in money else None
    return -abs(amount or Decimal(0)), -sum(value.entries for value in money.values())


def currencies_of(groups: Iterable[Mapping[str, Money]], own: str | None) -> tuple[str, ...]:
    """Return all currencies: the company's own first, then the largest; entries without one last.

    The largest is by amount where it was converted, then by number of entries.
    """
    parts = defaultdict[str, list[Money]](list)
    for money in groups:
        for currency, value in money.items():
            parts[currency].append(value)

    def place(name: str) -> tuple[Any, ...]:
        size = abs(total(value.home for value in parts[name]))
        return name != own, name == NO_CURRENCY, -size, -sum(value.entries for value in parts[name]), name

    return tuple(sorted(parts, key=place))


def total(amounts: Iterable[Any]) -> Any:
    """Return the exact sum of amounts; one that is null or not a number adds nothing."""
    # Python's own sum is rounded to 28 digits.
    with decimal.localcontext(prec=DIGITS):
        return sum(amount for amount in amounts if amount is not None and amount == amount)  # noqa: PLR0124 - not a number


def shares_of(amounts: Sequence[Any]) -> list[Any]:
    """Return the share of each amount among those that have the sign of their sum, None for the others."""
    side = total(amounts)
    is_counted = [amount is not None and amount * side > 0 for amount in amounts]
    whole = total(compress(amounts, is_counted))
    return [amount / whole if counts else None for amount, counts in zip(amounts, is_counted, strict=True)]


def threshold_of(value: str | float | Decimal | None) -> pl.Expr:
    """Return whether a difference is worth a row: from 500 or "5%" on, every one without a threshold.

    It reads the columns difference and percent. Of a share, a difference in a group that had nothing before
    always is.
    """
    text = "0" if value is None else str(value).strip()
    try:
        least = Decimal(text.removesuffix("%"))
    except InvalidOperation:
        least = Decimal(-1)
    if not least.is_finite() or least < 0:
        raise ArgumentError("threshold", Sentence("rule.threshold"), value)
    if text.endswith("%"):
        return c.percent.is_null() | (c.percent.abs() >= least)
    return c.difference.abs() >= least


def by_currency(keys: tuple[str, ...], sums: Iterable[Sum]) -> pa.Table:
    """Return sums as a table: the keys, and a row for each currency with number and exact amount.

    Where amounts were converted, there is the amount in the company's own currency, too.
    """
    rows = [
        {**part.keys} | {"currency": name, HOME: money.home} | vars(money)
        for part in sums
        for name, money in part.money.items()
    ]
    kinds = dict.fromkeys((*keys, "currency"), TEXT) | {"entries": COUNT, "amount": None, HOME: None}
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()}
    if pa.types.is_null(columns["amount"].type):
        columns["amount"] = pc.cast(columns["amount"], MONEY)
    if pa.types.is_null(columns[HOME].type):
        del columns[HOME]
    return pa.table(columns)


def numbers_of_entries(rows: pa.Table) -> pl.Series:
    """Return the number of the first line of each row's entry; in the journal an entry's ID is `entry_id`."""
    ids = pl.from_arrow(text_of(rows, "entry_id" if "entry_id" in rows.column_names else "id"))
    lines = pl.DataFrame({"id": ids, "split": pl.from_arrow(split_lines(rows))}).with_row_index("row")
    # A line without an ID is an entry.
    entry = pl.when(c.split > 0).then(c.id.str.to_lowercase())
    first = pl.when(entry.is_null()).then(c.row).otherwise(c.row.first().over(entry))
    return lines.select(first.cast(pl.Int64)).to_series()
