"""What the journal knows of an entry: whether it was sent, with which data, or under another ID."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from bktools.export.keys import joined, lower
from bktools.frames.facts import compared, plain
from bktools.frames.schema import COMPARED, MAYBE_SENT

c = pl.col

# The facts that are compared when an entry comes again, with their columns in the file and in the history.
FACT_COLUMNS = {
    fact: {"date": "day", "category": "category_key"}.get(fact, fact)
    for fact in (name.removesuffix("_id") for name in COMPARED)
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
    after = _lines(rows.filter(~c.is_copy & (c.sent_state == "ACCEPTED")))
    sent = history.filter(c.state == "ACCEPTED").with_columns(
        id=lower("entry_id"),
        day=c.date,
        category_key=lower("category_id"),
        split_line=c.split_line.fill_null(0),
    )
    before = _lines(sent).join(after, on="id", how="semi")
    facts = [name for name, column in FACT_COLUMNS.items() if column in rows.columns]
    facts += ["lines"] if {"amount", "category"} <= {*facts} else []
    if not facts:
        return pl.DataFrame(schema={"id": pl.String, "changes": pl.String})
    # Nearly all entries are unchanged, so that only the lines of the others are grouped.
    differs = (c(name).is_not_null() & c(name).ne_missing(c(f"{name}_after")) for name in facts)
    pairs = before.join(after, on="id", suffix="_after").filter(pl.any_horizontal(*differs))
    sides = (
        _by_entry(lines.join(pairs, on="id", how="semi"), facts, categories) for lines in (before, after)
    )
    changed = next(sides).join(next(sides), on="id", suffix="_after")
    changes = [
        pl.when(c(name).list.len() > 0, c(name) != c(f"{name}_after")).then(_change(name)) for name in facts
    ]
    changed = changed.select("id", changes=pl.concat_list(changes).list.drop_nulls())
    return changed.filter(c.changes.list.len() > 0)


def _lines(rows: pl.DataFrame) -> pl.DataFrame:
    """Return what is compared of each line as text, null where it is unknown, and the category's name."""
    facts = {
        fact: compared(fact, c(name)) if name in rows.columns else pl.lit(None, pl.String)
        for fact, name in FACT_COLUMNS.items()
    }
    lines = rows.select("id", "split_line", "category_name", **facts)
    # In a split entry, each amount is compared with its category.
    is_part = (c.split_line > 0) & c.category.is_not_null()
    return lines.with_columns(
        lines=pl.when(is_part).then(pl.format("{} {}", c.amount.fill_null(""), c.category))
    )


def _by_entry(lines: pl.DataFrame, facts: Sequence[str], categories: pl.DataFrame | None) -> pl.DataFrame:
    """Return the values of each entry's lines in one order, so that two entries can be compared."""
    known = pl.DataFrame(schema={"category": pl.String, "known_name": pl.String})
    if categories is not None:
        known = categories.select(category=lower("id"), known_name="name").unique("category")
    lines = joined(lines, known, "category").sort("lines", "category")
    name = pl.coalesce("category_name", "known_name", "category")
    return lines.group_by("id", maintain_order=True).agg(
        *(c(fact).drop_nulls().sort() for fact in facts),
        main_currency=c.currency.drop_nulls().first(),
        categories=name.filter(c.category.is_not_null()),
        amounts_of_lines=c.amount.filter(c.lines.is_not_null()),
        categories_of_lines=name.filter(c.lines.is_not_null()),
    )


def _change(fact: str) -> pl.Expr:
    """Return a change of a fact, with the values as a person reads them."""
    values = {"category": "categories", "lines": "amounts_of_lines"}.get(fact, fact)
    fields: dict[str, pl.Expr] = {"field": pl.lit(fact), "currency": c.main_currency}
    for side, suffix in (("before", ""), ("after", "_after")):
        fields[side] = c(values + suffix)
        fields[f"{side}_categories"] = (
            c(f"categories_of_lines{suffix}") if fact == "lines" else pl.lit(None, pl.List(pl.String))
        )
    return pl.struct(value.alias(name) for name, value in fields.items())


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
    sized = rows.filter((c.amount != 0) & ~c.is_copy & ~c.is_conflict).join(sent, on=keys[:-1], how="semi")
    sized = sized.select("row", "id", "sent_in", *keys[:-1], number=plain(c.amount))
    twins = sized.join(sent, on=keys, how="inner").filter(
        c.entry_key.ne_missing(c.id), c.sent_in.is_null() | c.sent_period.ne_missing(c.sent_in)
    )
    first = twins.sort("row", "rank").unique("row", keep="first", maintain_order=True)
    return joined(rows, first.select("row", *_OF_TWIN), "row")
