"""What the journal knows of an entry: whether it was sent, with which data, or under another ID."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from bktools.export.keys import joined, lower, plain
from bktools.frames.schema import MAYBE_SENT

c = pl.col

# The facts that are compared when an entry comes again, with their columns in the file and in the history.
COMPARED = {
    "date": "day",
    "amount": "amount",
    "currency": "currency",
    "category": "category_key",
    "tax_code": "tax_code",
    "supplier": "supplier",
}


def with_history(rows: pl.DataFrame, history: pl.DataFrame, categories: pl.DataFrame | None) -> pl.DataFrame:
    """Add the state of an entry that may have been sent, and the changes of one that was exported."""
    sent = (
        history.filter(c.state.is_in(MAYBE_SENT))
        .group_by(id=lower("entry_id"))
        .agg(sent_state=c.state.min(), sent_in=c.period.min())
    )
    rows = joined(rows, sent.filter(c.id.is_not_null()), "id")
    return joined(rows, _changes(rows, history, categories), "id")


def _changes(rows: pl.DataFrame, history: pl.DataFrame, categories: pl.DataFrame | None) -> pl.DataFrame:
    """Return the entries that were exported with other data: id, and changes.

    A change has field, currency, and the values before and after as lists; of the lines of a split entry
    their amounts and their categories.

    A value that the journal did not keep, and a column that the entries lack, is not compared.
    """
    after = rows.filter(~c.is_copy & (c.sent_state == "ACCEPTED")).select(
        "id", *_compared(rows, "split_line"), category_name="category_name"
    )
    renamed = history.filter(c.state == "ACCEPTED").with_columns(
        id=lower("entry_id"),
        day=c.date,
        category_key=lower("category_id"),
        split_line=c.split_line.fill_null(0),
    )
    before = renamed.join(after, on="id", how="semi").select(
        "id", *_compared(renamed, "split_line"), category_name="category_name"
    )
    facts = [name for name, column in COMPARED.items() if column in rows.columns]
    facts += ["lines"] if {"amount", "category"} <= {*facts} else []
    pairs = before.join(after, on="id", suffix="_after")
    # Entries with none of the columns have nothing that could differ.
    differs = pl.any_horizontal(
        pl.lit(value=False),
        *(c(name).is_not_null() & c(name).ne_missing(c(f"{name}_after")) for name in facts),
    )
    suspects = pairs.filter(differs).select("id").unique()
    if suspects.is_empty():
        return pl.DataFrame(schema={"id": pl.String, "changes": _CHANGES})
    names = {} if categories is None else dict(categories.select(lower("id"), "name").iter_rows())
    made = {
        (side, entry): part
        for side, frame in (("before", before), ("after", after))
        for (entry,), part in frame.join(suspects, on="id", how="semi")
        .partition_by("id", as_dict=True)
        .items()
    }
    changes = []
    for (entry,) in suspects.iter_rows():
        old, new = made["before", entry], made["after", entry]
        different = [
            {
                "field": name,
                "currency": next(iter(old["currency"].drop_nulls()), None),
                **_values("before", old, name, names),
                **_values("after", new, name, names),
            }
            for name in facts
            if old[name].drop_nulls().len()
            and old[name].drop_nulls().sort().to_list() != new[name].drop_nulls().sort().to_list()
        ]
        if different:
            changes.append({"id": entry, "changes": different})
    return pl.DataFrame(changes, schema={"id": pl.String, "changes": _CHANGES})


_TEXTS_OF = pl.List(pl.String)
_CHANGES = pl.List(
    pl.Struct(
        {
            "field": pl.String,
            "currency": pl.String,
            "before": _TEXTS_OF,
            "before_categories": _TEXTS_OF,
            "after": _TEXTS_OF,
            "after_categories": _TEXTS_OF,
        }
    )
)


def _compared(rows: pl.DataFrame, split_line: str) -> list[pl.Expr]:
    """Return what is compared of a line as text: null where it is unknown."""

    def text(name: str) -> pl.Expr:
        if name not in rows.columns:
            return pl.lit(None, pl.String)
        column = c(name)
        if name == "amount":
            return plain(column)
        column = column.cast(pl.String).str.strip_chars(" ")
        return pl.when(column != "").then(column)

    columns = {fact: text(name) for fact, name in COMPARED.items()}
    # In a split entry, each amount is compared with its category.
    is_part = (c(split_line) > 0) & columns["category"].is_not_null()
    columns["lines"] = pl.when(is_part).then(
        pl.format("{} {}", columns["amount"].fill_null(""), columns["category"])
    )
    return [column.alias(fact) for fact, column in columns.items()]


def _values(
    side: str, lines: pl.DataFrame, fact: str, names: Mapping[str, str]
) -> dict[str, list[str] | None]:
    """Return the values of a fact in the order in which they are compared; categories have their names."""
    rows = lines.filter(c(fact).is_not_null()).sort(fact)
    categories = [
        own or names.get(key, key) for own, key in rows.select("category_name", "category").iter_rows()
    ]
    if fact == "lines":
        return {side: rows["amount"].to_list(), f"{side}_categories": categories}
    return {side: categories if fact == "category" else rows[fact].to_list(), f"{side}_categories": None}


# The facts of a sent entry with the same data.
TWIN = ("sent_day", "sent_party", "sent_period", "sent_batch")
_OF_TWIN = (*TWIN, "sent_in_file")


def with_sent_twins(rows: pl.DataFrame, history: pl.DataFrame) -> pl.DataFrame:
    """Add to an entry another one with its data that may have been sent, from the same file if possible.

    For an entry that was sent, those of its own month count as entries of the same file, not as sent before.
    """
    if not {"party", "day", "amount", "currency"} <= {*rows.columns}:
        return rows
    # A column that the entries lack is not compared.
    party = c.supplier.str.strip_chars() if "supplier" in rows.columns else pl.lit(None, pl.String)
    sent = (
        history.filter(c.state.is_in(MAYBE_SENT))
        .select(
            "company_id",
            "currency",
            day=c.date,
            party=pl.coalesce(pl.when(party != "").then(party), "employee_id").str.to_lowercase(),
            number=plain(c.amount),
            sent_party=pl.coalesce(party, "employee_id"),
            sent_period="period",
            sent_batch="batch_id",
            entry_key=lower("entry_id"),
            sent_in_file=lower("entry_id").is_in(rows["id"].drop_nulls().implode()),
        )
        .with_columns(sent_day="day")
    )
    keys = ["company_id", "day", "currency", "party", "number"]
    sent = (
        sent.drop_nulls(keys)
        .with_columns(c.sent_batch.fill_null(""))
        .sort(~c.sent_in_file, "sent_day", "sent_party", "sent_batch", "sent_period")
        .with_row_index("rank")
    )
    if sent.is_empty():
        return rows.with_columns(**{name: pl.lit(None, sent.schema[name]) for name in _OF_TWIN})
    sized = rows.filter((c.amount != 0) & ~c.is_copy & ~c.is_conflict).join(sent, on=keys[:-1], how="semi")
    sized = sized.select("row", "id", "sent_in", *keys[:-1], number=plain(c.amount))
    twins = sized.join(sent, on=keys, how="inner").filter(
        c.entry_key.ne_missing(c.id), c.sent_in.is_null() | c.sent_period.ne_missing(c.sent_in)
    )
    first = twins.sort("row", "rank").unique("row", keep="first", maintain_order=True)
    return joined(rows, first.select("row", *_OF_TWIN), "row")
