"""The exported entries that a ledger is compared with, with facts of their file."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

from bktools.errors import InputError
from bktools.frames.columns import split_lines, tables_in_one_scale, with_column, with_missing
from bktools.frames.incoming import in_memory
from bktools.frames.schema import ENTRY_DATA, TEXT, to_pandas
from bktools.wording import Words

# The columns of the file beside those of the journal.
OF_FILE = "_of_file"

# The columns to compare: the code of each name, and the columns whose text is shown, first found first.
COMPARED = {
    "amount": ("amount", ("amount",)),
    "currency": ("currency", ("currency",)),
    "date": ("date", ("date",)),
    "category_id": ("category", ("category_name", "category_id")),
    "tax_code": ("tax_code", ("tax_code",)),
    "supplier": ("supplier", ("supplier",)),
}


def months_of(postings: pd.DataFrame) -> tuple[str, str] | None:
    """Return the first and the last month of a ledger, None without postings."""
    days = postings["date"].dropna().dt.strftime("%Y-%m")
    return (str(days.min()), str(days.max())) if len(days) else None


def of_other_months(
    exported: pd.DataFrame, postings: pd.DataFrame, month: str | None, words: Words
) -> tuple[str, ...]:
    """Return a sentence for each month that is not shown, or for the entries that have no month."""
    months: pd.Series = exported["period"].fillna(exported["date"].dt.strftime("%Y-%m"))
    if month is not None:
        unknown = int(months.isna().sum())
        return (words("match.no_month", count=unknown),) if unknown else ()
    span = months_of(postings)
    others = (months.dropna() if span is None else months[~months.between(*span)].dropna()).value_counts()
    named = None if span is None else [words("match.months", first=span[0], last=span[1])]
    return tuple(
        words("match.other_month", count=int(count), month=other, span=named)
        for other, count in others.sort_index().items()
    )


def with_file(exported: pd.DataFrame, entries: Any, words: Words) -> pd.DataFrame:
    """Return exported entries with values that the journal lacks, from the entries' file, by ID and line.

    An entry that the journal has without an amount gets all its lines of the file; `document_number` is added
    where the file has one, and `changed_since_export` has each value of the journal beside another one of the
    file.
    """
    ours, theirs = _numbered(in_memory(exported, "exported")), _numbered(in_memory(entries, "entries"))
    # Decimals are compared in one scale.
    ours, theirs = tables_in_one_scale(_complete(ours), _complete(theirs))
    has_documents = "document_number" in theirs.column_names
    journal, file = (pl.DataFrame(pl.from_arrow(table)) for table in (ours, theirs))
    key = pl.col("id").str.to_lowercase()
    file = file.select(
        "id", "split_line", "no", *ENTRY_DATA, *(["document_number"] if has_documents else []), key=key
    ).unique(["key", "split_line", *COMPARED], keep="first", maintain_order=True)
    journal = journal.with_columns(key=pl.col("entry_id").str.to_lowercase())
    _refuse_repeated(file, journal)
    # An entry that was sent before the journal kept amounts has all lines of the file.
    is_bare = pl.col("amount").is_null() & (pl.col("split_line") == 0)
    by_line = journal.filter(~is_bare).join(
        file.with_columns(line=pl.col("split_line")), on=["key", "split_line"], how="left", suffix=OF_FILE
    )
    by_entry = journal.filter(is_bare).join(
        file.with_columns(line=pl.col("split_line")), on="key", how="left", suffix=OF_FILE
    )
    joined = pl.concat([by_line, by_entry], how="diagonal").sort("no", "line", nulls_last=False)
    filled = [pl.coalesce(name, f"{name}{OF_FILE}").alias(name) for name in ENTRY_DATA]
    changes = [_change(words, name) for name in COMPARED]
    changed = pl.concat_str(changes, separator="; ", ignore_nulls=True)
    kept = [name for name in exported.columns if name not in {*ENTRY_DATA, "split_line"}]
    table = joined.select(
        *kept,
        *filled,
        *(["document_number"] if has_documents else []),
        split_line=pl.coalesce("line", "split_line"),
        changed_since_export=pl.when(changed.str.len_bytes() > 0).then(changed),
    ).to_arrow()
    kinds = {field.name: field.type for field in ours.schema}
    schema = pa.schema([(name, kinds.get(name, TEXT)) for name in table.column_names])
    return to_pandas(table.cast(schema))


def _change(words: Words, name: str) -> pl.Expr:
    """Return both values of an entry in words where they differ, null where they do not."""
    noun, shown = COMPARED[name]
    before, after = (
        pl.coalesce(*(pl.col(f"{column}{suffix}").cast(pl.String) for column in shown))
        for suffix in ("", OF_FILE)
    )
    value, other = pl.col(name), pl.col(f"{name}{OF_FILE}")
    if name == "category_id":
        value, other = value.str.to_lowercase(), other.str.to_lowercase()
    text = pl.format(f"{words.name('field', noun)} {{}} → {{}}", before, after)
    return pl.when(value != other).then(text)


def _numbered(table: pa.Table) -> pa.Table:
    table = with_column(table, "split_line", split_lines(table))
    return table.append_column("no", pa.array(range(len(table))))


def _complete(table: pa.Table) -> pa.Table:
    """Return a table with all columns that the journal has of an entry; null where it lacks one."""
    table = with_missing(table, pa.schema(ENTRY_DATA))
    for name, kind in ENTRY_DATA.items():
        if name != "amount":
            table = with_column(table, name, table.column(name).cast(kind))
    return table


def _refuse_repeated(file: pl.DataFrame, journal: pl.DataFrame) -> None:
    own = file.join(journal.select("key").unique(), on="key", how="semi")
    repeated = own.filter(pl.struct("key", "split_line").is_duplicated())["id"].unique().sort()
    if len(repeated):
        count = f"{len(repeated):,} exported {'entry is' if len(repeated) == 1 else 'entries are'}"
        raise InputError(
            f"{count} on several lines with different data, such as {repeated[0]}: "
            "give --split-lines where the lines are the parts of one entry, otherwise keep the line that "
            "was exported",
            source="entries",
        )
