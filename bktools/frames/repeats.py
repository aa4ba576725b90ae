"""Entries of one file: copies, conflicts, and the lines of a split entry."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

c = pl.col

# Lines that a finding names; the others are counted.
NAMED_LINES = 3


def with_repeats(rows: pl.DataFrame, entries: pa.Table) -> pl.DataFrame:
    """Add what lines with one ID are: is_copy, is_conflict, is_unlike, missing, id_lines and id_count.

    Lines with one ID that differ are the parts of a split entry where they are numbered from 1 without a gap,
    and have one company, day and currency. Else they are a conflict, and one entry: the first line counts,
    the others are left out as copies are; those are unlike it.
    """
    repeated = rows.filter(c.id.is_not_null() & (c.id.is_duplicated() | c.id.is_in(split_entries(rows))))
    chosen = entries.take(pa.array(repeated["row"].to_arrow()))
    content = pl.DataFrame(chosen.drop_columns("line"))
    # Two columns of a person may differ in capitals alone; here they are told apart by their places.
    content.columns = [str(number) for number in range(content.width)]
    whole = [name for name in ("company_id", "day", "currency") if name in repeated.columns]
    lines = repeated.with_columns(content=content.select(pl.struct(pl.all()).hash()).to_series()).sort(
        "line", "row"
    )
    several = c.content.n_unique().over("id")
    number = pl.when(c.split_line != 0).then(c.split_line).n_unique() - (c.split_line == 0).any().cast(
        pl.Int64
    )
    lines = lines.with_columns(
        missing=pl.max_horizontal(c.split_lines.max().over("id"), c.split_line.max().over("id"))
        - number.cast(pl.Int64).over("id"),
        are_numbered=(c.split_line.min().over("id") > 0) & (several == c.split_line.n_unique().over("id")),
        wholes=pl.struct(whole).n_unique().over("id"),
        several=several,
    )
    is_entry = c.are_numbered & (c.missing == 0) & (c.wholes == 1)
    differ, is_first = (c.several > 1) & ~is_entry, c.id.is_first_distinct()
    is_distinct = pl.struct("id", "content").is_first_distinct()
    lines = lines.select(
        "row",
        "missing",
        is_copy=pl.when(differ).then(~is_first).otherwise(~is_distinct),
        is_conflict=differ & is_first,
        is_unlike=differ & ~is_first,
        id_lines=c.line.head(NAMED_LINES).implode().over("id"),
        id_count=pl.len().over("id").cast(pl.Int64),
    )
    return rows.join(lines, on="row", how="left", maintain_order="left").with_columns(
        c("is_copy", "is_conflict", "is_unlike").fill_null(value=False), c.missing.fill_null(0)
    )


def split_entries(rows: pl.DataFrame) -> pl.Series:
    """Return the IDs of entries with numbered lines, as a list of one row."""
    return rows.filter(c.split_line > 0)["id"].unique().implode()
