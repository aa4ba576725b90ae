"""Checks the frames of a reconciliation (required columns, types and gaps), and makes them comparable."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from bktools.errors import ArgumentError
from bktools.frames import schema
from bktools.frames.schema import COUNT, FLAG, KNOWN_STATES, TEXT
from bktools.frames.tables import Shape, checked, in_memory, refuse_gaps, source_of, with_missing
from bktools.wording import Sentence

c = pl.col

COMPANY, TAX_CODE = "company_id", "tax_code_external_id"
# Where an account is in its file, for messages.
LINE = "line"

USED: Mapping[str, tuple[str, ...]] = {
    "chart": ("company_id", "external_id", "code", "name", "archived", "tax_code_external_id", LINE),
    "accounts": (
        "company_id",
        "external_id",
        "id",
        "name",
        "code",
        "archived",
        "tax_code_external_id",
        "state",
    ),
    "categories": ("id", "company_id", "name", "archived", "account_id", "tax_code_id"),
}

# Columns for messages, which no check reads: when a list of accounts was imported.
READ = {"accounts": ("updated_at",)}

SHAPES: Mapping[str, Shape] = {
    noun: Shape(
        source,
        tuple(name for name in USED[noun] if not columns.field(name).nullable),
        {name: FLAG if name == "archived" else TEXT for name in USED[noun] if name != LINE},
    )
    for noun, source, columns in (
        ("chart", "read_chart_of_accounts", schema.CHART),
        ("accounts", "load_accounts", schema.ACCOUNTS),
        ("categories", "load_categories", schema.CATEGORIES),
    )
}

# Columns without gaps. The chart's external IDs may have gaps: each is a finding. Its companies may have some
# where the frames have exactly one company.
FILLED: Mapping[str, tuple[str, ...]] = {
    "chart": ("archived", "company_id"),
    "accounts": ("company_id", "external_id", "state"),
    "categories": ("id", "company_id", "archived"),
}


@dataclass(frozen=True)
class Frames:
    """The frames of a reconciliation as checks compare them: each column in its type, a missing one null.

    Parameters
    ----------
    chart, known, categories : polars.DataFrame
        The chart, the accounts that exist in the service, and the categories.
    compared : frozenset of str
        The columns that chart and accounts both have.
    """

    chart: pl.DataFrame
    known: pl.DataFrame
    categories: pl.DataFrame
    compared: frozenset[str]


def comparable(tables: Mapping[str, pa.Table]) -> Frames:
    """Return frames from `read` as checks compare them; raise when a column has gaps."""
    typed = {noun: _as_compared(noun, table) for noun, table in tables.items()}
    companies = {company for frame in typed.values() for company in frame[COMPANY].unique().drop_nulls()}
    empty = {noun: {name: typed[noun][name].null_count() for name in names} for noun, names in FILLED.items()}
    check_gaps(empty, len(companies))
    # Only rows beside a single company may have none.
    company = pl.lit(min(companies, default=None), pl.String)
    chart = typed["chart"].with_columns(c.company_id.fill_null(company))
    return Frames(
        chart,
        typed["accounts"].filter(c.state.is_in(KNOWN_STATES)),
        typed["categories"],
        frozenset(tables["chart"].column_names) & frozenset(tables["accounts"].column_names),
    )


def _as_compared(noun: str, table: pa.Table) -> pl.DataFrame:
    """Return the used columns of a frame, companies in lower case; one that the frame lacks is null."""
    frame = pl.DataFrame(with_missing(table, pa.schema({**SHAPES[noun].types, LINE: COUNT})))
    if noun == "chart":
        # A chart may have a column of this name that holds no lines, and a name of white space is none.
        is_line = frame[LINE].dtype.is_numeric()
        frame = frame.with_columns(
            pl.when(c.name.str.strip_chars() != "").then(c.name).alias("name"),
            pl.when(is_line).then(LINE).alias(LINE).cast(pl.Int64),
        )
    return frame.with_columns(c.company_id.str.to_lowercase()).select(USED[noun])


def read(frames: Mapping[str, Any]) -> dict[str, pa.Table]:
    """Return the frames as Arrow with the used columns; refuse missing columns and wrong types."""
    tables = {
        noun: in_memory(frame, noun, (*USED[noun], *READ.get(noun, ()))) for noun, frame in frames.items()
    }
    tables = {noun: checked(table, noun, SHAPES[noun]) for noun, table in tables.items()}
    if "chart" in tables:
        columns = source_of(frames["chart"]).get("columns")
        tables["chart"] = _without_unread_tax_codes(tables["chart"], columns)
    return tables


def _without_unread_tax_codes(chart: pa.Table, columns: Collection[str] | None) -> pa.Table:
    """Return a chart without tax codes that its file has no column for: the chart is silent about them."""
    if columns is None or TAX_CODE in columns or TAX_CODE not in chart.column_names:
        return chart
    return chart if chart[TAX_CODE].null_count < len(chart) else chart.drop_columns([TAX_CODE])


def check_gaps(empty: Mapping[str, dict[str, int]], companies: int) -> None:
    """Refuse gaps in columns that must be filled; `empty` counts empty rows by noun and column of FILLED."""
    for noun, counts in empty.items():
        refuse_gaps(
            noun, {name: count for name, count in counts.items() if (noun, name) != ("chart", COMPANY)}
        )
    if empty["chart"][COMPANY] and companies != 1:
        raise ArgumentError("chart", Sentence("rule.chart_without_company", count=companies))
