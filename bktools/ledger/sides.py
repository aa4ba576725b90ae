"""Entries and postings as a verdict reads them: accounts, currencies, days and money are whole numbers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.ledger.inputs import Inputs, has_values

Numbers: TypeAlias = npt.NDArray[np.int64]

# A text with at least a letter or a digit; "-" says nothing.
SAYS_SOMETHING = r"[\p{L}\p{N}]"
# An entry ID in a document number or a text.
ENTRY_ID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
LENGTH_OF_AN_ID = 36
# The currency of postings of which it is not known.
UNKNOWN = "??"
# Accounts are numbered by this many, so that a key is an account and a currency.
CURRENCIES = 1_024
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
    currencies = [_text(ours, "currency"), _text(theirs, "currency")]
    currencies = [one.str.to_uppercase() for one in currencies]
    own_currency = _text(theirs, "foreign_currency").str.to_uppercase()
    accounts = [_text(ours, "account_code", inputs), _text(theirs, "account_code", inputs)]
    if "account_code" not in inputs.compared:
        accounts = [one.fill_null("") for one in accounts]
    days = [_days(ours, inputs), _days(theirs, inputs)]
    is_compared = "currency" in inputs.compared
    home = _home(currencies, accounts, days, (gross, amount), is_compared=is_compared)
    of_books = UNKNOWN if home is None else home
    # An entry without a currency is in the ledger's where that is known, and else in one of its own.
    currencies = [currencies[0].fill_null("?" if home is None else home), currencies[1].fill_null(of_books)]
    account_numbers = _numbered(*accounts)
    numbers = _numbered(*currencies, own_currency, pl.Series([of_books], dtype=pl.String))
    home_number = numbers[3][0]
    in_ledger = pl.concat([currencies[1], own_currency.drop_nulls()]).unique().implode()
    entries = pl.DataFrame(
        {
            "e": np.arange(len(ours)),
            "account": account_numbers[0],
            "key": account_numbers[0] * CURRENCIES + numbers[0],
            "home": account_numbers[0] * CURRENCIES + home_number,
            **_calendar(days[0]),
            "gross": nulls(len(ours), pl.Int64) if gross is None else gross,
            "currency": currencies[0],
            "is_home": currencies[0].is_in(currencies[1].unique().implode()),
            "is_shown": currencies[0].is_in(in_ledger),
            **{
                name: _text(ours, source)
                for name, source in (
                    ("supplier", "supplier"),
                    ("document", "document_number"),
                    ("batch", "batch_id"),
                    ("tax_code", "tax_code"),
                )
            },
            "description": _text(ours, "description"),
            "cost_centre": _text(ours, "cost_centre"),
            "id": _text(ours, "entry_id").str.to_lowercase(),
        }
    )
    is_known = pl.col("gross").is_not_null() & pl.col("day").is_not_null() & pl.col("account").is_not_null()
    postings = pl.DataFrame(
        {
            "p": np.arange(len(theirs)),
            "currency": currencies[1],
            "account": account_numbers[1],
            "key": account_numbers[1] * CURRENCIES + numbers[1],
            **_calendar(days[1]),
            "amount": nulls(len(theirs), pl.Int64) if amount is None else amount,
            "own": nulls(len(theirs), pl.Int64) if own is None else own,
            "own_key": account_numbers[1] * CURRENCIES + numbers[2],
            "voucher": _text(theirs, "voucher_id"),
            "document": _text(theirs, "document_number"),
            "text": _text(theirs, "text"),
            "cost_centre": _text(theirs, "cost_centre"),
        }
    )
    postings = postings.with_columns(id=_named_ids(postings, entries))
    return Sides(
        entries.with_columns(is_known=is_known, document=_alike("document")),
        postings.with_columns(document=_alike("document")),
        scale,
        home,
    )


def refuse_repeated(entries: pa.Table) -> None:
    """Refuse entries that are there twice; of a split entry each line is there once."""
    key = ["entry_id", *(["split_line"] if has_values(entries, "split_line") else [])]
    frame = pl.DataFrame(pl.from_arrow(entries.select(key))).with_columns(
        pl.col("entry_id").str.strip_chars().str.to_lowercase()
    )
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


def _text(table: pa.Table, name: str, inputs: Inputs | None = None) -> pl.Series:
    """Return a column of trimmed texts, nulls for empty ones; only nulls if it is missing or not compared."""
    column = _column(table, name, inputs)
    if column is None or pa.types.is_null(column.type):
        return nulls(len(table), pl.String)
    texts = (
        pl.Series(pl.from_arrow(column), dtype=pl.String).str.strip_chars()
        if len(column)
        else pl.Series(dtype=pl.String)
    )
    is_empty = texts.str.len_bytes() == 0
    return texts.set(is_empty, None) if is_empty.any() else texts


def nulls(count: int, kind: Any) -> pl.Series:
    """Return a column of nulls."""
    return pl.Series(values=None, dtype=kind).extend_constant(None, count)


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
    dates = days.cast(pl.Int32).cast(pl.Date)
    return {"day": days, "month": (dates.dt.year().cast(pl.Int64) - EPOCH_YEAR) * MONTHS + dates.dt.month()}


def _numbered(*columns: pl.Series) -> list[pl.Series]:
    """Return texts as numbers, the same text with the same number in each of the columns."""
    ends = [*itertools.accumulate((len(column) for column in columns), initial=0)]
    numbers = pl.concat(columns).cast(pl.Categorical).to_physical().cast(pl.Int64)
    return [numbers[start:end] for start, end in itertools.pairwise(ends)]


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
