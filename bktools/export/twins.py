"""Different entries of one file with the same data."""

from __future__ import annotations

import polars as pl

from bktools.export.keys import joined
from bktools.frames.repeats import NAMED_LINES

c = pl.col

_TWINS = ("company_id", "day", "currency", "party", "size")


def with_twins(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the lines of other entries with the same company, day, currency, party and amount (either sign)."""
    if not {"day", "currency", "party", "amount"} <= {*rows.columns}:
        return rows
    sized = rows.filter((c.amount != 0) & ~c.is_copy & ~c.is_conflict).select(
        "row",
        "line",
        *_TWINS[:-1],
        size=c.amount.abs(),
        is_plus=c.amount > 0,
        # The lines of a split entry are one entry.
        entry=pl.coalesce("id", c.row.cast(pl.String)),
    )
    sized = sized.drop_nulls(_TWINS).filter(pl.struct(_TWINS).hash().is_duplicated())
    sized = sized.with_columns(group=pl.struct(_TWINS).rank("dense"))
    entries = (
        sized.group_by("group", "is_plus", "entry").agg(c.line.min(), own=pl.lit(1)).sort("line", "entry")
    )
    first = pl.struct(other="entry", other_line="line").head(NAMED_LINES + 1)
    groups = entries.group_by("group", "is_plus", maintain_order=True).agg(first=first, count=pl.len())
    for name, side in (("same", c.is_plus), ("opposite", ~c.is_plus)):
        others = (
            sized.select("row", "group", "entry", is_plus=side)
            .join(groups, on=["group", "is_plus"])
            .join(entries.drop("line"), on=["group", "is_plus", "entry"], how="left")
            .explode("first")
            .unnest("first")
            .group_by("row")
            .agg(
                c.other_line.filter(c.other != c.entry).head(NAMED_LINES).alias(f"{name}_lines"),
                (pl.col("count") - c.own.fill_null(0)).first().alias(f"{name}_count"),
            )
        )
        rows = joined(rows, others, "row")
    return rows
