"""Entries and postings as a verdict reads them: accounts, currencies, days and money are whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.ledger.inputs import Inputs, has_values
from bktools.ledger.text_columns import (
    Numbers,
    Recurring,
    in_lower_case,
    nulls,
    numbers_of,
    recurring,
    trimmed,
)

# A text with at least a letter or a digit; "-" says nothing.
SAYS_SOMETHING = r"[\p{L}\p{N}]"
# An entry ID in a document number or a text.
ENTRY_ID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
LENGTH_OF_AN_ID = 36
# The currency of postings of which it is not known.
UNKNOWN = "??"
# Sums of so much stay exact as whole numbers of 64 bits.
LARGEST_SUM = 2**62
EPOCH_YEAR, MONTHS = 1970, 12


@dataclass(frozen=True)
class Sides:
    """Both sides, one row per row of the frames, in their order.

    Entries have `e`, their row; `account`; `key`, account and currency; `home`, account and the ledger's
    currency; `day`, `month`; `gross`; `is_known`, whether amount, day and account are; `is_home`, whether the
    ledger is in their currency; and the texts `id`, `currency`, `supplier`, `document`, `batch`, `tax_code`,
    `description`. Postings have `p`, `account`, `key`, `day`, `month`, `amount`, `voucher`, `document`,
    `text`, `own` and `own_key`: their amount in another currency, and `id`: the entry that they name.
    """

    entries: pl.DataFrame
    postings: pl.DataFrame
    # Decimals of the whole numbers.
    scale: int
    # The ledger's own currency, None where it is not known.
    currency: str | None


def sides_of(inputs: Inputs) -> Sides:
    """Return both sides of checked frames."""
    ours, theirs = inputs.exported, inputs.ledger
    scale, (gross, amount, own) = _whole(
        _column(ours, "amount", inputs), _column(theirs, "amount", inputs), _column(theirs, "foreign_amount")
    )
    accounts = [_recurring(side, "account_code", inputs) for side in (ours, theirs)]
    if "account_code" not in inputs.compared:
        accounts = [one.filled("") for one in accounts]
    of_ours, of_theirs = numbers_of(*accounts)
    days = [_days(ours, inputs), _days(theirs, inputs)]
    currencies = [_recurring(side, "currency", in_capitals=True) for side in (ours, theirs)]
    home = _home(
        [one.each for one in currencies],
        [of_ours, of_theirs],
        days,
        (gross, amount),
        is_compared="currency" in inputs.compared,
    )
    money = _currencies(currencies, _recurring(theirs, "foreign_currency", in_capitals=True), home)
    entries = pl.DataFrame(
        {
            "e": np.arange(len(ours)),
            "account": of_ours,
            "key": of_ours * money.currencies + money.ours,
            "home": of_ours * money.currencies + money.home,
            **_calendar(days[0]),
            "gross": nulls(len(ours), pl.Int64) if gross is None else gross,
            "currency": money.entries.each,
            "is_home": money.is_home,
            "is_shown": money.is_shown,
            **_texts_of_entries(ours),
        }
    )
    is_known = pl.col("gross").is_not_null() & pl.col("day").is_not_null() & pl.col("account").is_not_null()
    postings = pl.DataFrame(
        {
            "p": np.arange(len(theirs)),
            "currency": money.postings.each,
            "account": of_theirs,
            "key": of_theirs * money.currencies + money.theirs,
            **_calendar(days[1]),
            "amount": nulls(len(theirs), pl.Int64) if amount is None else amount,
            "own": nulls(len(theirs), pl.Int64) if own is None else own,
            "own_key": of_theirs * money.currencies + money.own,
            **_texts_of_postings(theirs),
        }
    )
    postings = postings.with_columns(id=_named_ids(postings, entries))
    return Sides(
        entries.with_columns(is_known=is_known, document=_alike("document")),
        postings.with_columns(document=_alike("document")),
        scale,
        home,
    )


class _Currencies(NamedTuple):
    """The currencies of both sides, as texts and as numbers."""

    entries: Recurring
    postings: Recurring
    ours: pl.Series
    theirs: pl.Series
    # So many numbers make a key of an account and a currency.
    currencies: int
    # Of the amounts that postings have beside the ledger's own.
    own: pl.Series
    # The number of the ledger's currency.
    home: int
    # Whether the ledger has the currency of each entry, and whether it has it as one beside its own, too.
    is_home: pl.Series
    is_shown: pl.Series


def _currencies(both: list[Recurring], own: Recurring, home: str | None) -> _Currencies:
    """Return the currencies. An entry without one has the ledger's if that is known, else one of its own."""
    of_books = UNKNOWN if home is None else home
    ours, theirs = both[0].filled("?" if home is None else home), both[1].filled(of_books)
    books = Recurring(pl.Series([0]), pl.Series([of_books], dtype=pl.String))
    of_ours, of_theirs, of_own, of_home = numbers_of(ours, theirs, own, books)
    shown = pl.concat([theirs.texts, own.texts.drop_nulls()])
    is_home, is_shown = (ours.of_each(ours.texts.is_in(texts.implode())) for texts in (theirs.texts, shown))
    count = sum(len(column.texts) for column in (ours, theirs, own, books))
    return _Currencies(ours, theirs, of_ours, of_theirs, count, of_own, of_home[0], is_home, is_shown)


def _texts_of_entries(ours: pa.Table) -> dict[str, pl.Series]:
    return {
        "supplier": _text(ours, "supplier"),
        "document": _text(ours, "document_number"),
        "batch": _recurring(ours, "batch_id").each,
        "tax_code": _recurring(ours, "tax_code").each,
        "description": _text(ours, "description"),
        "cost_centre": _recurring(ours, "cost_centre").each,
        "id": in_lower_case(ours.column("entry_id"), len(ours)),
    }


def _texts_of_postings(theirs: pa.Table) -> dict[str, pl.Series]:
    return {
        "voucher": _text(theirs, "voucher_id"),
        "document": _text(theirs, "document_number"),
        "text": _text(theirs, "text"),
        "cost_centre": _recurring(theirs, "cost_centre").each,
    }


def refuse_repeated(sides: Sides, entries: pa.Table) -> None:
    """Refuse entries that are there twice; of a split entry each line is there once."""
    ids = sides.entries["id"]
    # Different hashes are those of different texts, and are compared faster than texts.
    hashes = np.sort(ids.hash().to_numpy())
    if not (hashes[1:] == hashes[:-1]).any():
        return
    frame = pl.DataFrame({"entry_id": ids})
    if has_values(entries, "split_line"):
        frame = frame.with_columns(split_line=pl.Series(pl.from_arrow(entries.column("split_line"))))
    if frame.n_unique() < frame.height:
        repeated = frame.filter(frame.is_duplicated())["entry_id"].unique().sort()
        raise InputError(
            f"has {len(repeated):,} {'entry' if len(repeated) == 1 else 'entries'} more than once, "
            f"such as {repeated[0]}: give each entry once",
            source="exported",
        )


def _named_ids(postings: pl.DataFrame, entries: pl.DataFrame) -> pl.Series:
    """Return the entry that each posting names by its ID, in the document number or the text."""
    found = nulls(postings.height, pl.String)
    for name in ("text", "document"):
        # Few ledgers have texts so long.
        if int(postings[name].str.len_bytes().max() or 0) >= LENGTH_OF_AN_ID:  # type: ignore[arg-type]
            found = found.fill_null(postings[name].str.extract(f"({ENTRY_ID})").str.to_lowercase())
    return (
        found.set(~found.is_in(entries["id"].implode()), None) if found.null_count() < len(found) else found
    )


def _alike(name: str) -> pl.Expr:
    """Return a document number without case; null where it says nothing, as "-"."""
    text = pl.col(name).str.to_lowercase()
    return pl.when(text.str.contains(SAYS_SOMETHING)).then(text)


def _column(table: pa.Table, name: str, inputs: Inputs | None = None) -> pa.ChunkedArray | None:
    return (
        table.column(name)
        if name in table.column_names and (inputs is None or name in inputs.compared)
        else None
    )


def _text(table: pa.Table, name: str) -> pl.Series:
    return trimmed(_column(table, name), len(table))


def _recurring(
    table: pa.Table, name: str, inputs: Inputs | None = None, *, in_capitals: bool = False
) -> Recurring:
    return recurring(_column(table, name, inputs), len(table), in_capitals=in_capitals)


def _days(table: pa.Table, inputs: Inputs) -> pl.Series:
    """Return the numbers of days; the same one in each row where days are not compared."""
    column = _column(table, "date", inputs)
    if column is None:
        return pl.Series(np.zeros(len(table), dtype=np.int64))
    return pl.Series(
        column.cast(pa.int32()).cast(pa.int64()).to_pylist()
        if not len(column)
        else pl.from_arrow(column.cast(pa.int32()).cast(pa.int64())),
        dtype=pl.Int64,
    )


def _calendar(days: pl.Series) -> dict[str, pl.Series]:
    """Return the numbers of days, and of their months, each of which is worked out once."""
    if days.null_count() == len(days):
        return {"day": days, "month": nulls(len(days), pl.Int64)}
    first, last = int(days.min()), int(days.max())  # type: ignore[arg-type]
    dates = pl.Series(np.arange(first, last + 1, dtype=np.int32)).cast(pl.Date)
    months = (dates.dt.year().cast(pl.Int64) - EPOCH_YEAR) * MONTHS + dates.dt.month()
    return {"day": days, "month": months.gather(days - first)}


def _whole(*columns: pa.ChunkedArray | None) -> tuple[int, list[pl.Series | None]]:
    """Return amounts of one scale as whole numbers, and their decimals; refuse those with inexact sums."""
    known = [column for column in columns if column is not None]
    scale = max((column.type.scale for column in known), default=0)
    wide = [None if column is None else column.cast(pa.decimal128(38, scale)) for column in columns]
    halves = [None if column is None else _halves(column) for column in wide]
    total = sum(float(np.abs(low).sum(dtype=np.float64)) for low, fits in filter(None, halves) if fits)
    if not all(fits for _, fits in filter(None, halves)) or total > LARGEST_SUM:
        # No company's books have such amounts.
        raise InputError(
            f"the sum of the amounts, with {scale} decimals, has more than 18 digits: give fewer rows, "
            "or round the amounts to the decimals of their currency",
            source="exported and ledger",
        )
    return scale, [
        None if half is None or column is None else _with_nulls(half[0], column)
        for half, column in zip(halves, wide, strict=True)
    ]


def _halves(column: pa.ChunkedArray) -> tuple[Numbers, bool]:
    """Return the low halves of decimals, and whether these are the whole of each."""
    parts = []
    for chunk in column.chunks:
        data = np.frombuffer(chunk.buffers()[1], np.int64)[2 * chunk.offset : 2 * (chunk.offset + len(chunk))]
        parts.append(
            data.reshape(-1, 2)
            if chunk.null_count == 0
            else np.where(_valid(chunk)[:, None], data.reshape(-1, 2), 0)
        )
    both: Any = np.concatenate([np.zeros((0, 2), np.int64), *parts])
    return both[:, 0], bool((both[:, 1] == both[:, 0] >> 63).all())


def _valid(chunk: pa.Array) -> npt.NDArray[np.bool_]:
    valid: npt.NDArray[np.bool_] = chunk.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _with_nulls(numbers: Numbers, column: pa.ChunkedArray) -> pl.Series:
    series = pl.Series(numbers)
    return series.set(pl.Series(pl.from_arrow(pc.is_null(column))), None) if column.null_count else series


def _home(
    currencies: list[pl.Series],
    accounts: list[pl.Series],
    days: list[pl.Series],
    amounts: tuple[Any, Any],
    *,
    is_compared: bool,
) -> str | None:
    """Return the currency of the ledger.

    A ledger without one is in the currency of all entries, or in that of which several entries are met to the
    cent and more than of any other; otherwise it is not known.
    """
    if is_compared or currencies[0].null_count() == len(currencies[0]):
        return _most(currencies[1]) or ""
    if currencies[0].drop_nulls().n_unique() < 2:
        return _most(currencies[0])
    ours, theirs = (
        pl.DataFrame({"account": account, "day": day, "size": amount})
        for account, day, amount in zip(accounts, days, amounts, strict=True)
    )
    keys = [pl.col("account"), pl.col("day"), pl.col("size").abs()]
    met = ours.with_columns(currency=currencies[0]).join(theirs.select(keys).unique(), on=keys, how="semi")
    counts = met["currency"].drop_nulls().value_counts(sort=True)
    if (
        not counts.height
        or counts["count"][0] < 2
        or (counts["count"].head(2) == counts["count"][0]).sum() > 1
    ):
        return None
    return str(counts["currency"][0])


def _most(texts: pl.Series) -> str | None:
    counts = texts.drop_nulls().value_counts(sort=True)
    return str(counts[texts.name][0]) if counts.height else None


def money_column(numbers: pl.Series, scale: int) -> pa.Array:
    """Return whole minor units as exact amounts."""
    low = numbers.fill_null(0).cast(pl.Int64).to_numpy()
    data = np.ascontiguousarray(np.stack([low, low >> 63], axis=1))
    kind = pa.decimal128(38, scale)
    amounts = pa.Array.from_buffers(kind, len(low), [None, pa.py_buffer(data)])
    missing = numbers.is_null()
    return (
        pc.if_else(pa.array(missing.to_numpy()), pa.scalar(None, kind), amounts) if missing.any() else amounts
    )
