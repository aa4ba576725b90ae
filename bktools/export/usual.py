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


# The entries whose amounts are compared, whatever their sign, have one of each of these.
WITHIN = ("company_id", "currency")


def with_amounts_before(rows: pl.DataFrame, history: pl.DataFrame) -> pl.DataFrame:
    """Add whether the supplier had an amount in an earlier month, too: a bill that comes again is usual."""
    if not {*WITHIN, "supplier", "amount", "day"} <= {*rows.columns}:
        return rows
    of_supplier, bills = (*WITHIN, "supplier_key", "entry"), [*WITHIN, "supplier_key", "size"]
    key = lower("supplier").str.strip_chars()
    sent = history.filter(c.state == "ACCEPTED").with_columns(supplier_key=key, entry=c.entry_id)
    sent = sent.group_by(of_supplier).agg(_size(), c.date.min())
    first = sent.group_by(bills).agg(first_sent=c.date.min())
    rows = _with_entries(rows.with_columns(supplier_key=key)).with_columns(_size().over(of_supplier))
    rows = rows.join(first, on=bills, how="left", maintain_order="left")
    is_before = (c.first_sent < c.day.dt.month_start()).fill_null(value=False)
    return rows.with_columns(is_amount_before=is_before).drop("size", "first_sent", "entry")


def with_usual(rows: pl.DataFrame) -> pl.DataFrame:
    """Add to an entry with an unusual amount what is usual: of what, the median, and of how many entries.

    The amount of a split entry is the sum of its lines of the supplier, or of the category; its first line
    has what was found. Entries of later months are not compared. An amount that the supplier had before, as
    `with_amounts_before` says, is usual.
    """
    if not {*WITHIN, "amount"} <= {*rows.columns}:
        return rows
    if "supplier" in rows.columns:
        rows = rows.with_columns(supplier_key=lower("supplier").str.strip_chars())
    levels = [(level, key) for level, key in LEVELS if key in rows.columns]
    if not levels:
        return rows
    compared = rows.filter(~c.is_copy & ~c.is_conflict & (c.currency != ""))
    if {"day", "last_day"} <= {*rows.columns}:
        compared = compared.filter((c.day <= c.last_day).fill_null(value=True))
    compared = _with_entries(compared).with_columns(
        pl.when(c.row == c.row.min().over("entry", key))
        .then(_size().over("entry", key))
        .replace(0, None)
        .alias(f"size_by_{level}")
        for level, key in levels
    )
    usual = [_usual_of(level, key) for level, key in levels]
    usual_rows = compared.select("row", usual=pl.coalesce(usual)).drop_nulls().unnest("usual")
    unusual = usual_rows.filter(c.size > TIMES * c.usual_amount).drop("size")
    if "is_amount_before" in rows.columns:
        unusual = unusual.join(rows.filter("is_amount_before"), on="row", how="anti")
    return joined(rows, unusual, "row")


def _with_entries(rows: pl.DataFrame) -> pl.DataFrame:
    """Add `entry`, the first row of the entry of each row."""
    first = c.row.min().over("id") if (rows["split_line"] > 0).any() else c.row
    return rows.with_columns(entry=pl.when(c.split_line > 0).then(first).otherwise(c.row))


def _size() -> pl.Expr:
    """Return the amount of the lines of an entry, whatever its sign."""
    return c.amount.sum().cast(pl.Float64).abs().alias("size")


def _usual_of(level: str, key: str) -> pl.Expr:
    """Return what is usual among the entries with one value of a column, null where they are too few."""
    group, size = (*WITHIN, key), c(f"size_by_{level}")
    usual = pl.struct(
        size=size,
        usual_of=pl.lit(level),
        usual_amount=size.median().over(group).round(2),
        usual_entries=size.count().over(group),
    )
    return pl.when((c(key) != "") & (size.count().over(group) >= ENOUGH)).then(usual)
