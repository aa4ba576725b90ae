"""The usual amount of an entry: the median of its supplier, else of its category."""

from __future__ import annotations

import polars as pl

from bktools.export.keys import joined, lower

c = pl.col

# An amount is unusual if it is more than this many times the median of at least so many entries.
TIMES = 10
ENOUGH = 5

# An entry is compared with those of its supplier, or of its category where the supplier has too few.
LEVELS = (("supplier", "supplier_key"), ("category", "category_key"))


def with_amounts_before(rows: pl.DataFrame, history: pl.DataFrame) -> pl.DataFrame:
    """Add whether the supplier had an amount in an earlier month, too: a bill that comes again is usual."""
    if not {"company_id", "supplier", "amount", "currency", "day"} <= {*rows.columns}:
        return rows
    keys = {"supplier_key": lower("supplier").str.strip_chars(), "size": c.amount.cast(pl.Float64).abs()}
    bills = ["company_id", "currency", *keys]
    sent = history.filter(c.state == "ACCEPTED").with_columns(**keys)
    first = sent.group_by(bills).agg(first_sent=c.date.min())
    rows = rows.with_columns(**keys).join(first, on=bills, how="left", maintain_order="left")
    is_before = (c.first_sent < c.day.dt.month_start()).fill_null(value=False)
    return rows.with_columns(is_amount_before=is_before).drop("size", "first_sent")


def with_usual(rows: pl.DataFrame) -> pl.DataFrame:
    """Add to rows with an unusual amount what is usual: of what, the median, and of how many entries.

    Amounts are compared within a company and a currency, whatever their sign. One that the supplier had
    before, as `with_amounts_before` says, is usual.
    """
    if not {"company_id", "amount", "currency"} <= {*rows.columns}:
        return rows
    if "supplier" in rows.columns:
        rows = rows.with_columns(supplier_key=lower("supplier").str.strip_chars())
    levels = [(level, key) for level, key in LEVELS if key in rows.columns]
    if not levels:
        return rows
    sized = rows.filter((c.amount != 0) & ~c.is_copy & ~c.is_conflict & (c.currency != ""))
    sized = sized.with_columns(size=c.amount.cast(pl.Float64).abs())
    usual = [_usual_of(level, key) for level, key in levels]
    usual_rows = sized.select("row", "size", usual=pl.coalesce(usual)).drop_nulls().unnest("usual")
    unusual = usual_rows.filter(c.size > TIMES * c.usual_amount).drop("size")
    if "is_amount_before" in rows.columns:
        unusual = unusual.join(rows.filter("is_amount_before"), on="row", how="anti")
    return joined(rows, unusual, "row")


def _usual_of(level: str, key: str) -> pl.Expr:
    """Return what is usual among the entries with one value of a column, null where they are too few."""
    group = ("company_id", "currency", key)
    usual = pl.struct(
        usual_of=pl.lit(level),
        usual_amount=c.size.median().over(group).round(2),
        usual_entries=pl.len().over(group),
    )
    return pl.when((c(key) != "") & (pl.len().over(group) >= ENOUGH)).then(usual)
