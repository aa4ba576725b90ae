"""What was handed in: the columns that are needed, of the types they must have, and the company of the chart."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import narwhals as nw
import pyarrow as pa

from bktools.errors import ArgumentError, InputError
from bktools.frames import schema
from bktools.frames.engine import Lazy, collect, lazy_frames

# Accounts in any other state were refused, or may never have arrived: they count as not known.
KNOWN_STATES = ("CREATED", "MATCHED", "EXISTS", "IMPORTED")

# Columns that every row must have a value in. A missing external ID is a finding, not a reason to refuse the chart.
FILLED: Mapping[str, tuple[str, ...]] = {
    "chart": ("archived",),
    "accounts": ("company_id", "external_id", "state"),
    "categories": ("id", "company_id", "archived"),
}

USED: Mapping[str, tuple[str, ...]] = {
    "chart": ("company_id", "external_id", "code", "name", "archived", "tax_code_external_id"),
    "accounts": ("company_id", "external_id", "id", "name", "code", "archived", "tax_code_external_id", "state"),
    "categories": ("id", "company_id", "name", "archived", "account_id", "tax_code_id"),
}

SCHEMAS: Mapping[str, pa.Schema] = {
    "chart": schema.CHART,
    "accounts": schema.ACCOUNTS,
    "categories": schema.CATEGORIES,
}


@dataclasses.dataclass(frozen=True)
class Given:
    """The three frames with their used columns alone, on one engine; accounts are those known to the service.

    `compared` are the optional columns that both chart and accounts have: what was not given is not compared.
    """

    chart: Lazy
    accounts: Lazy
    categories: Lazy
    compared: frozenset[str]


def read(chart: Any, accounts: Any, categories: Any) -> Given:
    """Return the frames as they are used, or raise what is wrong with them."""
    frames = dict(zip(SCHEMAS, lazy_frames(chart, accounts, categories), strict=True))
    if any(frame is not None and frame.implementation.is_dask() for frame in frames.values()):
        raise ArgumentError("frames", "of Dask cannot be grouped and joined as this needs: hand over their compute()")
    compared = set(USED["chart"]) & set(USED["accounts"])
    for name, frame in frames.items():
        if frame is None:
            raise ArgumentError(name, "must be a frame; an empty one where there is nothing")
        if name in ("chart", "accounts"):
            compared &= set(frame.collect_schema())
        frames[name] = _typed(frame, name)
    for name, frame in frames.items():
        _refuse_gaps(frame, name)
    known = frames["accounts"].filter(nw.col("state").is_in(KNOWN_STATES))
    return Given(_with_company(**frames), known, frames["categories"], frozenset(compared))


def _typed(frame: Lazy, name: str) -> Lazy:
    columns = frame.collect_schema()
    missing = [field.name for field in SCHEMAS[name] if not field.nullable and field.name not in columns]
    if missing:
        raise InputError(f"needs the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}", source=name)
    return frame.select(*[_column(name, column, columns.get(column)) for column in USED[name]])


def _column(name: str, column: str, dtype: Any) -> nw.Expr:
    flag = column == "archived"
    wanted = nw.Boolean if flag else nw.String
    if dtype is None:
        return nw.lit(None, wanted).alias(column)
    # A column of nulls alone has no type of its own, and a UUID's type is not known to every engine.
    takes = (nw.Boolean, nw.Unknown) if flag else (nw.String, nw.Categorical, nw.Enum, nw.Unknown)
    # DuckDB gives a column of nulls alone the type of a small number.
    if dtype not in takes:
        kind = "true or false" if flag else "text (a number has lost its leading zeros)"
        raise InputError(f"column {column} must be {kind}, is {dtype}", source=name)
    return nw.col(column) if dtype == wanted else nw.col(column).cast(wanted)


def _refuse_gaps(frame: Lazy, name: str) -> None:
    gaps = collect(frame.select(*[nw.col(column).null_count() for column in FILLED[name]])).to_pylist()[0]
    for column, count in gaps.items():
        if count:
            raise InputError(f"column {column} is empty in {count} row{'s' if count > 1 else ''}: fill it", source=name)


def _with_company(chart: Lazy, accounts: Lazy, categories: Lazy) -> Lazy:
    """Return the chart with its company in every row; rows without one are of the only company there is."""
    without = collect(chart.select(nw.col("company_id").null_count())).column(0)[0].as_py()
    if not without:
        return chart
    companies = nw.concat([frame.select("company_id") for frame in (chart, accounts, categories)])
    found = sorted(collect(companies.filter(~nw.col("company_id").is_null()).unique()).column(0).to_pylist())
    if len(found) != 1:
        seen = f"{len(found)} companies" if found else "no company"
        raise ArgumentError(
            "chart", f"does not say its company, and accounts and categories are of {seen}: give a column company_id"
        )
    return chart.with_columns(nw.lit(found[0]).alias("company_id"))
