"""The two frames of a match: checked, as Arrow tables with all columns, and as the engine reads them."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import ArgumentError, InputError
from bktools.frames import schema
from bktools.frames.tables import (
    Shape,
    checked,
    in_memory,
    source_of,
    split_lines,
    tables_in_one_scale,
    texts_of,
    without_columns,
)
from bktools.ledger.annotated_postings import vouchers_of
from bktools.ledger.whole_numbers import MOST_DIGITS, Columns, Numbers, are_distinct
from bktools.wording import Sentence

EPOCH = dt.date(1970, 1, 1)

# The texts and amounts that are read of each frame, with their names in the engine.
TEXTS = {
    "exported": {
        "entry_id": "id",
        "batch_id": "batch",
        "company_id": "company",
        "state": "state",
        "account_code": "account",
        "account_name": "account_name",
        "currency": "currency",
        "supplier": "supplier",
        "description": "description",
        "document_number": "document",
        "employee_id": "employee",
        "employee_name": "person",
        "tax_code": "code",
        "cost_centre": "centre",
        "period": "period",
    },
    "ledger": {
        "voucher_id": "voucher",
        "account_code": "account",
        "account_name": "account_name",
        "currency": "currency",
        "text": "text",
        "document_number": "document",
        "foreign_currency": "fcurrency",
        "cost_centre": "centre",
    },
}
AMOUNTS = {"exported": {"amount": "cents"}, "ledger": {"amount": "cents", "foreign_amount": "fcents"}}
SHAPES = {
    name: Shape(
        source,
        needed,
        {"date": schema.DATE}
        | dict.fromkeys(TEXTS[name], schema.TEXT)
        | dict.fromkeys(AMOUNTS[name], schema.MONEY),
        filled=needed,
    )
    for name, source, needed in (
        ("exported", "load_export_jobs(entries=True)", ("entry_id",)),
        ("ledger", "read_general_ledger", ("account_code", "date", "amount")),
    )
}
# Columns without which less is compared, by frame.
EXPECTED = {
    "exported": ("account_code", "date", "amount", "currency"),
    "ledger": ("currency", "text", "voucher_id"),
}

# The columns that a match adds to entries, besides the posting's; an entry has no others of these names.
ADDED = ("status", "days_late", "differences", "reason", "to_do", "who")
OF_POSTING = "booked_"
# Amounts have two decimals at least.
CENTS = pa.table({"amount": pa.array([], pa.decimal128(schema.DIGITS, 2))})


@dataclass(frozen=True)
class Inputs:
    """The frames as they are matched.

    Parameters
    ----------
    exported, ledger : pyarrow.Table
        Both frames with all their columns; their amounts have the same decimals.
    entries, postings : DataFrame
        The same rows as the engine reads them: whole cents (or smaller units), days since 1970-01-01, texts.
        A column that a frame lacks is empty. Postings have the number of their voucher, `v`.
    order : array
        The row of each posting in the frame as it was given.
    lacking : tuple of str
        The columns that a frame lacks: its name and the column's.
    not_sent : mapping
        How many entries of batches that were not sent were left out, by state.
    options : mapping
        What a person or the file says of the ledger: `style`, `reverse_sign`, `currency`; `until`, the last
        day that it shows; `explained`, the rows of postings that hold no entry.
    """

    exported: pa.Table
    ledger: pa.Table
    entries: pl.DataFrame
    postings: pl.DataFrame
    order: Numbers
    lacking: tuple[str, ...]
    not_sent: Mapping[str, int]
    options: Mapping[str, Any]

    @property
    def scale(self) -> int:
        """The decimals of the amounts."""
        return int(self.ledger.schema.field("amount").type.scale)


def read(
    exported: Any,
    ledger: Any,
    *,
    explained: Sequence[str] = (),
    style: str | None = None,
    reverse_sign: bool | None = None,
    currency: str | None = None,
    are_sent: bool = True,
    beside: Any = None,
) -> Inputs:
    """Return both frames as they are matched; raise when one cannot be matched.

    Of entries that `are_sent` those of batches that were not sent are left out. Amounts have the decimals of
    all frames, also of one with entries that are matched `beside` these.
    """
    options = options_of(ledger, style, reverse_sign)
    entries, postings = in_memory(exported, "exported"), postings_in(ledger)
    others = CENTS if beside is None else in_memory(beside, "exported")
    if "entry_id" not in entries.column_names and "id" in entries.column_names:
        names = ["entry_id" if name == "id" else name for name in entries.column_names]
        entries = entries.rename_columns(names)
    of_posting = [name for name in entries.column_names if name.startswith(OF_POSTING)]
    entries = without_columns(entries, [*ADDED, *of_posting])
    entries = checked(entries, "exported", SHAPES["exported"])
    entries, postings, *_ = tables_in_one_scale(entries, postings, CENTS, others)
    not_sent: dict[str, int] = {}
    if are_sent and "state" in entries.column_names:
        was_sent = pc.is_in(entries["state"], pa.array([*schema.MAYBE_SENT, None], schema.TEXT))
        states = entries.filter(pc.invert(was_sent))["state"].value_counts().to_pylist()
        not_sent = {state["values"]: state["counts"] for state in states}
        entries = entries.filter(was_sent)
    _refuse_companies(entries)
    _refuse_repeated(entries)
    theirs = _typed(postings, "ledger")
    ours = _in_codes_of(theirs, _typed(entries, "exported")).with_columns(sent=pl.lit(are_sent))
    for side, name in ((ours, "exported"), (theirs, "ledger")):
        if int(side["cents"].abs().max() or 0) >= 10**MOST_DIGITS:  # type: ignore[arg-type]
            raise InputError(Sentence("error.too_many_digits", most=MOST_DIGITS), source=name)
    theirs, order = _in_own_order(theirs, ours["account"])
    postings = postings.take(order)
    options |= {"currency": currency, "explained": _explained_rows(postings, explained)}
    options["until"] = _last_day(ledger, postings)
    lacking = (*_lacking(entries, postings),)
    return Inputs(entries, postings, ours, theirs, order, lacking, not_sent, options)


def postings_in(ledger: Any) -> pa.Table:
    """Return a ledger as an Arrow table; raise when it cannot be matched."""
    return checked(in_memory(ledger, "ledger"), "ledger", SHAPES["ledger"])


def options_of(
    ledger: Any,
    style: str | None = None,
    reverse_sign: bool | None = None,  # noqa: FBT001 - as a caller gave it
) -> dict[str, Any]:
    """Return what a person says about a ledger, by these arguments, else by those it was read with."""
    source = source_of(ledger)
    style = source.get("style") if style is None else style
    if style is not None and style not in schema.STYLES:
        raise ArgumentError("style", Sentence("rule.one_of", choices=", ".join(schema.STYLES)), style)
    is_reversed = source.get("reverse_sign") if reverse_sign is None else reverse_sign
    return {"style": style, "reverse_sign": is_reversed}


def _lacking(entries: pa.Table, postings: pa.Table) -> Iterator[str]:
    """Yield the columns that a frame lacks, each with the name of its frame."""
    for name, table in {"exported": entries, "ledger": postings}.items():
        yield from (f"{name}_{column}" for column in EXPECTED[name] if not has_values(table, column))
    if has_values(postings, "cost_centre") and not has_values(entries, "cost_centre"):
        yield "exported_cost_centre"


def has_values(table: pa.Table, name: str) -> bool:
    """Whether a table has a column with a value; the journal has all columns, empty ones, too."""
    return name in table.column_names and (not len(table) or table.column(name).null_count < len(table))


def _typed(table: pa.Table, name: str) -> pl.DataFrame:
    """Return a frame as the engine reads it: days as numbers since 1970-01-01."""
    frame = pl.DataFrame(pl.from_arrow(table))
    there = {column for column, kind in frame.schema.items() if kind != pl.Null}
    scale = table.schema.field("amount").type.scale if "amount" in there else 2

    def own(column: str, kind: Any) -> pl.Expr:
        return pl.col(column).cast(kind) if column in there else pl.lit(None, kind)

    columns = {new: own(column, pl.String) for column, new in TEXTS[name].items()}
    columns["currency"] = columns["currency"].str.to_uppercase()
    for column, new in AMOUNTS[name].items():
        columns[new] = (own(column, pl.Decimal(38, scale)) * 10**scale).cast(pl.Int64)
    days = {"day": own("date", pl.Date)}
    if name == "ledger":
        columns["fcurrency"] = columns["fcurrency"].str.to_uppercase()
    else:
        days["period_day"] = columns.pop("period").str.to_date("%Y-%m", strict=False)
        is_text = frame.schema.get("sent_at") == pl.String
        sent_at = own("sent_at", pl.String if is_text else pl.Date)
        days["sent_day"] = sent_at.str.head(10).str.to_date(strict=False) if is_text else sent_at
    numbers = {column: day.cast(pl.Int32).cast(pl.Int64) for column, day in days.items()}
    return frame.select(**columns, **numbers)


def _in_own_order(postings: pl.DataFrame, accounts: pl.Series) -> tuple[pl.DataFrame, Numbers]:
    """Return postings with their vouchers, in an order of their own, and the row of each in the file.

    Vouchers are in the order of their days and names, those without a name as in the file. Lines of a voucher
    are by document and text, then the costs of the entries' accounts, then tax and contra accounts.
    """
    lines = Columns(postings)
    has_values = (
        postings.select(pl.all_horizontal(pl.col("day", "cents").is_not_null())).to_series().to_numpy()
    )
    v = np.full(len(lines), -1)
    v[has_values] = vouchers_of(lines.take(has_values))
    name = pl.coalesce("voucher", "document", "text").min().over("v").fill_null("")
    by_voucher = (pl.col("day").min().over("v"), name.str.len_chars(), name, "v")
    is_cost = pl.col("account").is_in(accounts.unique().implode()).fill_null(value=False)
    by_line = ("document", "text", ~is_cost, "account", -pl.col("cents"))
    rows = postings.with_columns(v=pl.Series(v)).with_row_index("row").sort(*by_voucher, *by_line)
    return rows.drop("row").with_columns(pl.col("v").rle_id().cast(pl.Int64)), rows["row"].to_numpy()


def _in_codes_of(postings: pl.DataFrame, entries: pl.DataFrame) -> pl.DataFrame:
    """Return entries with the ledger's codes of their accounts, where not one code of both is the same.

    One side may have names in place of codes, or numbers that were written in another way.
    """
    names = ("account", "account_name")
    if entries["account"].unique().is_in(postings["account"].unique().implode()).any():
        return entries
    ours, theirs = (side.select(names).unique() for side in (entries, postings))
    codes = defaultdict(set)
    for code, name in theirs.drop_nulls("account").rows():
        codes[_plain(code)].add(code)
        codes[_plain(name)].add(code)
    one = {text: min(own) for text, own in codes.items() if text and len(own) == 1}
    own = {code: one.get(_plain(code)) or one.get(_plain(name)) for code, name in ours.rows()}
    codes_of = pl.col("account").replace_strict(own, default=None, return_dtype=pl.String)
    return entries.with_columns(account=codes_of.fill_null(pl.col("account")))


def _plain(name: str | None) -> str:
    """Return a code or name without what may differ: case, blanks, leading zeros, decimals."""
    return " ".join((name or "").casefold().split()).lstrip("0").removesuffix(".0")


def _last_day(ledger: Any, postings: pa.Table) -> int | None:
    """Return the last day that a ledger shows; postings of later days are planned: they cover no day."""
    exported_at = source_of(ledger).get("exported_at")
    days = postings.column("date")
    if not exported_at or not len(days):
        return None
    last: dt.date = min(dt.date.fromisoformat(exported_at), pc.max(days).as_py())
    return (last - EPOCH).days


def _explained_rows(ledger: pa.Table, explained: Sequence[str]) -> frozenset[int]:
    """Return the rows of vouchers, or documents, by their names."""
    by_name = defaultdict(set)
    for column in ("voucher_id", "document_number") if explained else ():
        for row, value in enumerate(texts_of(ledger, column)):
            by_name[" ".join((value or "").split())].add(row)
    names = [" ".join(name.split()) for name in explained]
    for name in names:
        if not name or name not in by_name:
            raise ArgumentError("explained", Sentence("rule.voucher"), name)
    return frozenset().union(*(by_name[name] for name in names))


def _refuse_companies(entries: pa.Table) -> None:
    if "company_id" in entries.column_names:
        companies = pc.unique(entries.column("company_id").drop_null())
        count = len(pc.unique(pc.ascii_lower(companies)))
        if count > 1:
            raise ArgumentError("exported", Sentence("rule.one_company", count=count))


def _refuse_repeated(entries: pa.Table) -> None:
    """Refuse entries that are there twice; of a split entry each line is there once."""
    ids = pl.Series(pl.from_arrow(entries.column("entry_id"))).str.to_lowercase()
    if are_distinct(ids):
        return
    keys = pl.DataFrame({"id": ids, "line": pl.Series(split_lines(entries))})
    repeated = sorted({*keys["id"].filter(keys.is_duplicated())})
    if repeated:
        raise InputError(
            Sentence("error.repeated_entries", count=len(repeated), first=repeated[0]), source="exported"
        )
