"""All that the checks of entries read: one row per entry, with what the other frames say of it.

Each function adds columns. Those that need a frame or a column that is missing add nothing, so that the
checks which read them are skipped.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from bktools.currencies import MINOR_UNITS
from bktools.frames.columns import days_of, decimals_of, split_lines
from bktools.frames.schema import MAYBE_SENT

c = pl.col

# An amount is compared with others once there are so many in the currency.
ENOUGH = 10
# Amounts of a kind lie evenly on a logarithmic scale, so medians and deviations are of logarithms. An amount
# is unusual beyond 3.5 deviations, which is a usual limit.
DEVIATIONS = 3.5
# The median absolute deviation times this is the standard deviation of a normal distribution.
TO_STANDARD = 1.4826
# The deviations of all kinds are wide: ten times the amount that one of ten exceeds is unusual, too.
TOP, REACH_OF_TOP, ENOUGH_FOR_TOP = 0.9, 10.0, 20


@dataclass(frozen=True)
class Kind:
    """Entries with which an amount is compared.

    `reach` is how many times the median is never unusual: the more kinds of purchases, the more. `enough` is
    the least number of entries, and `spread` the widest median deviation of their logarithms. Only among
    amounts of one kind may an amount be too small, too.
    """

    level: str
    keys: tuple[str, ...]
    reach: float
    enough: int = ENOUGH
    spread: float = math.inf
    is_both_ways: bool = False


# First the narrowest. Few entries of a supplier of steady amounts show a decimal point in the wrong place.
KINDS = (
    Kind("category", ("category_key",), 3.0, is_both_ways=True),
    Kind("supplier", ("supplier",), 8.0, enough=5, spread=math.log(1.2), is_both_ways=True),
    Kind("supplier", ("supplier",), 5.0),
    Kind("account", ("account_key",), 10.0),
    Kind("company", (), 10.0),
)
_KEYS = sorted({key for kind in KINDS for key in kind.keys})

# Lines that a finding names; the others are counted.
NAMED = 3

CURRENCIES = pl.DataFrame(
    {"currency": [*MINOR_UNITS], "units": pl.Series([*MINOR_UNITS.values()], dtype=pl.Int8)}
)

# Columns of entries that are read as they are.
_TEXTS = (
    "company_id",
    "currency",
    "category_id",
    "category_name",
    "employee_id",
    "employee_name",
    "tax_code",
    "supplier",
    "description",
    "export_status",
)

# The facts that are compared when an entry comes again, with their columns in the file and in the history.
COMPARED = {
    "date": "day",
    "amount": "amount",
    "currency": "currency",
    "category": "category_key",
    "tax_code": "tax_code",
    "supplier": "supplier",
}

BLANK = " \t\r\n"


@dataclass(frozen=True)
class Arguments:
    """The arguments of the checks; None where one was not given.

    Parameters
    ----------
    company : str
        The only company that is exported.
    period : str
        The month, as 2026-10; `first_day` and `last_day` are its days.
    own_currency : str
        The company's own currency.
    """

    company: str | None = None
    period: str | None = None
    first_day: dt.date | None = None
    last_day: dt.date | None = None
    own_currency: str | None = None


# A file's words for an export by hand in the service; "recorded" is a person's word in the journal.
EXPORTED_ELSEWHERE = ("exported", "queued", "in_progress")
RECORDED = "recorded"


def columns_of(entries: pa.Table, frames: Mapping[str, pl.DataFrame], arguments: Arguments) -> pl.DataFrame:
    """Return a row for each entry, in the order of the entries, with all columns that errors need.

    Parameters
    ----------
    entries : pyarrow.Table
        As `frames.typed` returns it.
    frames : mapping
        Those given of categories, accounts, employees and history, as Polars frames made by `frames.typed`.
    arguments : Arguments
        What the caller said.
    """
    rows = _read(entries)
    rows = rows.with_columns(
        **{name: pl.lit(value) for name, value in vars(arguments).items() if value is not None}
    )
    rows = _with_repeats(rows, entries)
    rows = _with_elsewhere(rows, frames.get("elsewhere"))
    rows = rows.with_columns(
        is_cleared=c.id.is_in(frames["not_booked"]["id"].implode())
        if "not_booked" in frames
        else pl.lit(value=False)
    )
    if "currency" in rows.columns:
        rows = rows.join(CURRENCIES, on="currency", how="left", maintain_order="left")
    if "categories" in frames and "category_key" in rows.columns:
        rows = _with_categories(rows, frames["categories"])
    if "accounts" in frames and "account_key" in rows.columns:
        rows = _with_accounts(rows, frames["accounts"])
    if "employees" in frames and "employee_id" in rows.columns:
        ids = (
            frames["employees"].select(employee_key=_lower("id"), employee_found=pl.lit(value=True)).unique()
        )
        rows = _joined(rows.with_columns(employee_key=_lower("employee_id")), ids, "employee_key")
    if "history" in frames:
        rows = _with_history(rows, frames["history"], frames.get("categories"))
        rows = _with_sent_twins(_with_party(rows), frames["history"])
    return rows


def further_columns(rows: pl.DataFrame, frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of `columns_of` with the columns that only warnings and infos need."""
    return _with_usual(_with_twins(rows if "history" in frames else _with_party(rows)))


def _read(entries: pa.Table) -> pl.DataFrame:
    """Return the columns of entries that the checks read, with the days and the decimals of the amounts."""
    names = entries.column_names
    columns: dict[str, Any] = {"id": entries["id"]}
    columns |= {name: entries[name] for name in (*_TEXTS, "approved", "amount") if name in names}
    columns |= {"day": days_of(entries)} if "date" in names else {}
    columns |= {"decimals": decimals_of(entries["amount"])} if "amount" in names else {}
    columns["split_line"] = split_lines(entries)
    # How many lines an entry has says nothing where they have no numbers.
    columns["split_lines"] = (
        split_lines(entries, "split_lines") if "split_line" in names else columns["split_line"]
    )
    rows = polars_of(pa.table(columns)).with_row_index("row")
    rows = rows.with_columns(line=polars_of(entries.select(["line"]))["line"])
    if "category_id" in rows.columns:
        rows = rows.with_columns(category_key=_lower("category_id"))
    missing = [name for name in ("category_name", "employee_name") if name not in rows.columns]
    return rows.with_columns(pl.lit(None, pl.String).alias(name) for name in missing)


def _with_repeats(rows: pl.DataFrame, entries: pa.Table) -> pl.DataFrame:
    """Add is_copy, is_conflict and missing: what lines with one ID are to one another.

    Lines with one ID that differ are the parts of a split entry where they are numbered from 1 without a gap,
    and have one company, day and currency.
    """
    none = {
        "is_copy": pl.lit(value=False),
        "is_conflict": pl.lit(value=False),
        "missing": pl.lit(0, pl.Int64),
    }
    repeated = rows.filter(c.id.is_not_null() & (c.id.is_duplicated() | c.id.is_in(split_entries(rows))))
    if repeated.is_empty():
        return rows.with_columns(**none)
    chosen = entries.take(pa.array(repeated["row"].to_arrow()))
    content = polars_of(chosen.drop_columns("line"))
    # Two columns of a person may differ in capitals alone; here they are told apart by their places.
    content.columns = [str(number) for number in range(content.width)]
    whole = [name for name in ("company_id", "day", "currency") if name in repeated.columns]
    lines = repeated.with_columns(content=content.select(pl.struct(pl.all()).hash()).to_series()).sort(
        "line", "row"
    )
    lines = lines.with_columns(is_copy=~pl.struct("id", "content").is_first_distinct())
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
    lines = lines.select("row", "is_copy", "missing", is_conflict=(c.several > 1) & ~is_entry)
    return _joined(rows, lines, "row").with_columns(
        c.is_copy.fill_null(value=False), c.is_conflict.fill_null(value=False), c.missing.fill_null(0)
    )


def split_entries(rows: pl.DataFrame) -> pl.Series:
    """Return the IDs of entries with numbered lines, as a list of one row."""
    return rows.filter(c.split_line > 0)["id"].unique().implode()


def _with_elsewhere(rows: pl.DataFrame, recorded: pl.DataFrame | None) -> pl.DataFrame:
    """Add how an export outside of the journal is known: by the file of the entry, or by a person's word."""
    told = [pl.lit(None, pl.String)]
    if "export_status" in rows.columns:
        told.append(pl.when(c.export_status.is_in(EXPORTED_ELSEWHERE)).then(c.export_status))
    if recorded is not None:
        told.append(pl.when(c.id.is_in(recorded["id"].implode())).then(pl.lit(RECORDED)))
    return rows.with_columns(elsewhere=pl.coalesce(told))


def _with_categories(rows: pl.DataFrame, categories: pl.DataFrame) -> pl.DataFrame:
    """Add the category's facts: several rows in combined snapshots, each of which may hold an entry back."""
    account = _lower("account_id").str.strip_chars(BLANK)
    account = pl.when(account != "").then(account)
    company = _lower("company_id")
    known = categories.group_by(category_key=_lower("id")).agg(
        category_company=pl.when(company.min() == company.max()).then(company.min()),
        category_archived=c.archived.any(ignore_nulls=True),
        account_key=pl.when(account.is_not_null().all()).then(account.min()),
        known_name=c.name.min(),
        category_found=pl.lit(value=True),
    )
    rows = _joined(rows, known.filter(c.category_key.is_not_null()), "category_key")
    return rows.with_columns(category_name=pl.coalesce("known_name", "category_name"))


def _with_accounts(rows: pl.DataFrame, accounts: pl.DataFrame) -> pl.DataFrame:
    """Add what is known of the category's account, and when a list of accounts was last imported."""
    tax_code = c.tax_code_external_id.str.strip_chars(" ")
    known = accounts.group_by(account_key=_lower("id")).agg(
        account_archived=c.archived.any(ignore_nulls=True),
        wanted_tax_code=pl.when(tax_code != "").then(tax_code).max(),
        account_found=pl.lit(value=True),
    )
    rows = _joined(rows, known.filter(c.account_key.is_not_null()), "account_key")
    is_listed = accounts["state"].null_count() < len(accounts) or accounts.is_empty()
    last = (
        accounts.filter(c.state == "IMPORTED").select(c.updated_at.cast(pl.String).str.head(10).max()).item()
    )
    return rows.with_columns(
        known_since=pl.lit(last, pl.String),
        none_imported=pl.lit(True if is_listed and last is None else None, pl.Boolean),
    )


def _with_history(rows: pl.DataFrame, history: pl.DataFrame, categories: pl.DataFrame | None) -> pl.DataFrame:
    """Add the state of an entry that may have been sent, and the changes of one that was exported."""
    sent = (
        history.filter(c.state.is_in(MAYBE_SENT))
        .group_by(id=_lower("entry_id"))
        .agg(sent_state=c.state.min())
    )
    rows = _joined(rows, sent.filter(c.id.is_not_null()), "id")
    return _joined(rows, _changes(rows, history, categories), "id")


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
        id=_lower("entry_id"),
        day=c.date,
        category_key=_lower("category_id"),
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
    names = {} if categories is None else dict(categories.select(_lower("id"), "name").iter_rows())
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
            return _plain(column)
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


def _with_party(rows: pl.DataFrame) -> pl.DataFrame:
    """Add who was paid: the supplier, or else the employee."""
    parts = [name for name in ("supplier", "employee_id") if name in rows.columns]
    if not parts:
        return rows
    filled = [pl.when(text != "").then(text) for text in (c(name).str.strip_chars() for name in parts)]
    kind = pl.when(filled[0].is_not_null()).then(pl.lit("supplier" if parts[0] == "supplier" else "employee"))
    return rows.with_columns(
        party=pl.coalesce(filled).str.to_lowercase(), party_kind=kind.otherwise(pl.lit("employee"))
    )


_TWINS = ("company_id", "day", "currency", "party", "size")


def _with_twins(rows: pl.DataFrame) -> pl.DataFrame:
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
    entries = sized.group_by("group", "is_plus", "entry").agg(c.line.min()).sort("line", "entry")
    groups = entries.group_by("group", "is_plus", maintain_order=True).agg(
        count=pl.len(), first=pl.struct("entry", "line").head(NAMED + 1)
    )
    for name, side in (("same", c.is_plus), ("opposite", ~c.is_plus)):
        of_row = sized.select("row", "group", "entry", is_plus=side).join(
            groups, on=["group", "is_plus"], how="inner"
        )
        own = (
            of_row.select("group", "is_plus", "entry")
            .join(entries, on=["group", "is_plus", "entry"], how="semi")
            .unique()
        )
        others = of_row.explode("first").with_columns(
            other=c.first.struct.field("entry"), other_line=c.first.struct.field("line")
        )
        lines = (
            others.filter(c.other != c.entry)
            .group_by("row", maintain_order=True)
            .agg(c.other_line.head(NAMED).alias(f"{name}_lines"))
        )
        counts = of_row.join(
            own.with_columns(mine=pl.lit(1)), on=["group", "is_plus", "entry"], how="left"
        ).select("row", (pl.col("count") - c.mine.fill_null(0)).alias(f"{name}_count"))
        rows = _joined(_joined(rows, lines, "row"), counts, "row")
    return rows


def _with_usual(rows: pl.DataFrame) -> pl.DataFrame:
    """Add to rows with an unusual amount the usual one: of category, else of supplier, account or company."""
    if not {"company_id", "amount", "currency"} <= {*rows.columns}:
        return rows
    sized = rows.filter((c.amount != 0) & ~c.is_copy & ~c.is_conflict & (c.currency != ""))
    sized = sized.with_columns(size=c.amount.cast(pl.Float64).abs().log())
    if "supplier" in rows.columns:
        sized = sized.with_columns(supplier=_lower("supplier").str.strip_chars())
    sized = sized.select(
        "row",
        "size",
        "units",
        "company_id",
        "currency",
        *(key for key in _KEYS if key in rows.columns),
        is_credit=c.amount < 0,
    )
    kinds = [_unusual_in(sized.lazy(), kind) for kind in KINDS if {*kind.keys} <= {*rows.columns}]
    found = pl.concat(pl.collect_all(kinds)).unique("row", keep="first", maintain_order=True)
    limits = {"usual_low": _rounded(c.told_low.exp()), "usual_high": _rounded(c.told_high.exp())}
    return _joined(rows, found.select("row", "usual_entries", "usual_of", **limits), "row")


def _unusual_in(rows: pl.LazyFrame, kind: Kind) -> pl.LazyFrame:
    """Return rows whose amount is unusual for their kind, currency and company, with what is usual."""
    reach = pl.max_horizontal(pl.lit(kind.reach).log(), DEVIATIONS * TO_STANDARD * c.spread)
    # Steady amounts lie much closer than what is still not unusual.
    told = pl.min_horizontal(reach, pl.lit(kind.spread))
    top = pl.when(c.usual_entries >= ENOUGH_FOR_TOP).then(c.top + pl.lit(REACH_OF_TOP).log())
    lows = (c.middle - reach, c.middle - told) if kind.is_both_ways else [pl.lit(None, pl.Float64)] * 2
    groups = (
        rows.filter(*(c(key) != "" for key in kind.keys))
        .group_by("company_id", "currency", *kind.keys)
        .agg(
            # Rows that go with their group need no join afterwards.
            "row",
            "size",
            "is_credit",
            usual_entries=pl.len(),
            middle=c.size.median(),
            spread=(c.size - c.size.median()).abs().median(),
            top=c.size.quantile(TOP),
            units=c.units.first(),
        )
        .filter(c.usual_entries >= kind.enough, c.spread <= kind.spread)
        .with_columns(
            low=lows[0],
            high=pl.min_horizontal(c.middle + reach, top),
            told_low=lows[1],
            told_high=pl.min_horizontal(c.middle + told, top),
            usual_of=pl.lit(kind.level),
        )
    )
    of_group = ("usual_entries", "usual_of", "low", "high", "told_low", "told_high", "units")
    each = groups.select("row", "size", "is_credit", *of_group).explode("row", "size", "is_credit")
    # A credit may be of a small part of a purchase.
    return each.filter((c.size > c.high) | ((c.size < c.low) & ~c.is_credit))


def _rounded(value: pl.Expr) -> pl.Expr:
    """Return amounts rounded to the decimals of their currency."""
    cases = [pl.when(c.units == units).then(value.round(units)) for units in sorted({*MINOR_UNITS.values()})]
    return pl.coalesce(*cases, value.round(2))


# The facts of a sent entry with the same data.
TWIN = ("sent_day", "sent_party", "sent_period", "sent_batch")
_OF_TWIN = (*TWIN, "sent_in_file")


def _with_sent_twins(rows: pl.DataFrame, history: pl.DataFrame) -> pl.DataFrame:
    """Add to an unsent entry one with its data that may have been sent, from the same file if possible."""
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
            number=_plain(c.amount),
            sent_party=pl.coalesce(party, "employee_id"),
            sent_period="period",
            sent_batch="batch_id",
            sent_in_file=_lower("entry_id").is_in(rows["id"].drop_nulls().implode()),
        )
        .with_columns(sent_day="day")
    )
    keys = ["company_id", "day", "currency", "party", "number"]
    sent = (
        sent.drop_nulls(keys)
        .with_columns(c.sent_batch.fill_null(""))
        .sort(~c.sent_in_file, "sent_day", "sent_party", "sent_batch", "sent_period")
        .unique(keys, keep="first", maintain_order=True)
    )
    if sent.is_empty():
        return rows.with_columns(**{name: pl.lit(None, sent.schema[name]) for name in _OF_TWIN})
    is_new = c.sent_state.is_null() & (c.amount != 0) & ~c.is_copy & ~c.is_conflict
    sized = rows.filter(is_new).join(sent, on=keys[:-1], how="semi")
    twins = sized.select("row", *keys[:-1], number=_plain(c.amount)).join(sent, on=keys, how="inner")
    return _joined(rows, twins.select("row", *_OF_TWIN), "row")


def _plain(amount: pl.Expr) -> pl.Expr:
    """Return amounts as text without trailing zeros, so that amounts of two scales are compared exactly."""
    text = amount.cast(pl.String)
    return (
        pl.when(text.str.contains(".", literal=True))
        .then(text.str.strip_chars_end("0").str.strip_chars_end("."))
        .otherwise(text)
    )


def _lower(name: str) -> pl.Expr:
    return c(name).str.to_lowercase()


def _joined(rows: pl.DataFrame, other: pl.DataFrame, on: str | list[str]) -> pl.DataFrame:
    """Return rows with the columns of another frame that has each key once."""
    return rows.join(other, on=on, how="left", maintain_order="left", validate="m:1")


def polars_of(table: pa.Table) -> pl.DataFrame:
    """Return an Arrow table as a Polars frame; its values are not copied."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
