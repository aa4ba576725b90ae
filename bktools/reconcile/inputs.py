"""Checks the frames of a reconciliation: required columns, types and gaps."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.errors import ArgumentError, InputError
from bktools.frames import schema
from bktools.frames.engine import Scannable, scannable, source_of

SCHEMAS: Mapping[str, pa.Schema] = {
    "chart": schema.CHART,
    "accounts": schema.ACCOUNTS,
    "categories": schema.CATEGORIES,
}

TAX_CODE = "tax_code_external_id"
# Where an account is in its file, for messages.
LINE = "line"

USED: Mapping[str, tuple[str, ...]] = {
    "chart": ("company_id", "external_id", "code", "name", "archived", "tax_code_external_id", LINE),
    "accounts": ("company_id", "external_id", "id", "name", "code", "archived", "tax_code_external_id", "state"),
    "categories": ("id", "company_id", "name", "archived", "account_id", "tax_code_id"),
}

# Columns without gaps. The chart's external IDs may have gaps: each is a finding.
FILLED: Mapping[str, tuple[str, ...]] = {
    "chart": ("archived",),
    "accounts": ("company_id", "external_id", "state"),
    "categories": ("id", "company_id", "archived"),
}


def read(frames: Mapping[str, Any]) -> dict[str, Scannable]:
    """Return the frames as Arrow with only the used columns; raise when a column is missing or has a wrong type."""
    for noun, frame in frames.items():
        if frame is None:
            raise ArgumentError(noun, "must be a frame: give an empty one if there are no rows")
    tables = {noun: scannable(frame, noun, USED[noun]) for noun, frame in frames.items()}
    for noun, table in tables.items():
        check_columns(noun, table.schema)
    return tables


def without_unread_tax_codes(chart: Any) -> Any:
    """Return a chart without the tax codes that its file does not tell: no column for them is not the same as none."""
    columns = source_of(chart).get("columns")
    if columns is None or TAX_CODE in columns:
        return chart
    if isinstance(chart, pa.Table) and TAX_CODE in chart.column_names:
        is_empty = chart[TAX_CODE].null_count == len(chart)
        return chart.drop_columns([TAX_CODE]) if is_empty else chart
    is_empty = isinstance(chart, pd.DataFrame) and TAX_CODE in chart.columns and chart[TAX_CODE].isna().all()
    return chart.drop(columns=TAX_CODE) if is_empty else chart


def unchecked(columns: Collection[str]) -> tuple[str, ...]:
    """Return a line for what a chart with these columns does not tell, and is therefore not compared."""
    return () if TAX_CODE in columns else ("tax codes, because the chart has no column for them",)


def check_columns(noun: str, columns: pa.Schema) -> None:
    """Refuse a frame without a required column, or with one of the wrong type."""
    missing = [name for name in USED[noun] if not SCHEMAS[noun].field(name).nullable and name not in columns.names]
    if missing:
        raise InputError(f"needs the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}", source=noun)
    for name in (name for name in USED[noun] if name in columns.names and name != LINE):
        kind = columns.field(name).type
        fits, wanted = (
            (pa.types.is_boolean, "true or false")
            if name == "archived"
            else (_is_text, "text (a number has lost its leading zeros)")
        )
        # A column of only nulls has the type null.
        if not (pa.types.is_null(kind) or fits(kind)):
            raise InputError(f"column {name} must be {wanted}, is {_words(kind)}", source=noun)


def check_gaps(gaps: Mapping[tuple[str, str], int]) -> None:
    """Refuse gaps in columns that must be filled; `gaps` has the number of empty rows by (noun, column)."""
    for (noun, name), count in gaps.items():
        if count:
            raise InputError(f"column {name} is empty in {count} row{'s' if count > 1 else ''}: fill it", source=noun)


def check_companies(companies: int) -> None:
    """Refuse chart rows without a company, unless the frames have exactly one company."""
    if companies != 1:
        seen = f"{companies} companies" if companies else "no company"
        raise ArgumentError(
            "chart", f"has rows without a company, and the frames have {seen}: add a column company_id to the chart"
        )


def _is_text(kind: pa.DataType) -> bool:
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return value in (pa.string(), pa.large_string(), pa.string_view(), pa.uuid())


def _words(kind: pa.DataType) -> str:
    return "text" if _is_text(kind) else str(kind)
