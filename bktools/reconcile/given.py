"""What was handed in: the columns that are needed, of the types they must have, and the company of the chart."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa

from bktools.errors import ArgumentError, InputError
from bktools.frames import schema
from bktools.frames.engine import Lazy, collect, in_memory, kept, lazy_frames

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

    `compared` are the optional columns that both chart and accounts have: what was not given is not compared. `charts`
    has a row per company of the chart: `shortest` and `longest` of its codes that are numbers, `zeros` whether one of
    them starts with 0. `company` is the one that all rows of the chart and of the accounts are of, None where that is
    not known; `unique` whether it is known that no external ID is on several rows of one side. `own` is whether the frames are in memory: then queries may run here, and what they say be used.
    """

    chart: Lazy
    accounts: Lazy
    categories: Lazy
    charts: Lazy
    compared: frozenset[str]
    company: str | None
    unique: bool
    own: bool

    def keep(self, frame: Lazy) -> Lazy:
        """Run a frame that is used many times once, where the engine would run it anew each time."""
        return kept(frame) if self.own else frame

    def look(self, frame: Lazy, column: str) -> tuple[Lazy, set[str] | None]:
        """Run a frame and return it with the values of a column; None for a frame that is not to be run here."""
        if not self.own:
            return frame, None
        rows = kept(frame)
        return rows, set(collect(rows.group_by(column).agg()).column(0).to_pylist())


def read(chart: Any, accounts: Any, categories: Any) -> Given:
    """Return the frames as they are used, or raise what is wrong with them."""
    own = in_memory(chart, accounts, categories)
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
    seen = {name: _seen(frame, name, count_ids=own and name != "categories") for name, frame in frames.items()}
    # The same UUID in capitals is the same company. A frame of one company that has none is left as it is, and quick.
    frames |= {
        name: frame.with_columns(nw.col("company_id").str.to_lowercase())
        for name, frame in frames.items()
        if not seen[name].is_plain
    }
    if seen["chart"].without_company:
        company: str | None = _only_company(*frames.values())
        frames["chart"] = frames["chart"].with_columns(nw.lit(company).alias("company_id"))
    else:
        # Accounts without a row are of no other company.
        others = seen["accounts"]
        company = seen["chart"].company if others.is_empty or others.company == seen["chart"].company else None
    known = frames["accounts"].filter(nw.col("state").is_in(schema.KNOWN_STATES))
    charts = _charts(frames["chart"])
    return Given(
        chart=frames["chart"],
        accounts=known,
        categories=frames["categories"],
        charts=kept(charts) if own else charts,
        compared=frozenset(compared),
        company=company if own else None,
        unique=own and seen["chart"].unique and seen["accounts"].unique,
        own=own,
    )


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


class _Seen(NamedTuple):
    """What one pass over a frame shows."""

    without_company: int
    company: str | None  # the one that all rows are of, if there is one, in lower case
    is_plain: bool  # whether it stands there in lower case
    is_empty: bool
    unique: bool  # whether each row has an external ID of its own


def _seen(frame: Lazy, name: str, *, count_ids: bool) -> _Seen:
    """Refuse gaps, and return what else the same pass shows."""
    company = nw.col("company_id")
    shown = {
        **{f"gaps_{column}": nw.col(column).null_count() for column in FILLED[name]},
        "without_company": company.null_count(),
        "first": company.min(),
        "last": company.max(),
        "rows": nw.len(),
    }
    if count_ids:
        shown["ids"] = nw.col("external_id").n_unique()
    query = frame.select(**shown)
    row = collect(query).to_pylist()[0]
    for column in FILLED[name]:
        count = row[f"gaps_{column}"]
        if count:
            raise InputError(f"column {column} is empty in {count} row{'s' if count > 1 else ''}: fill it", source=name)
    one = row["first"] if row["first"] == row["last"] else None
    return _Seen(
        row["without_company"],
        None if one is None else one.lower(),
        one is not None and one == one.lower(),
        row["rows"] == 0,
        row.get("ids") == row["rows"],
    )


def _only_company(*frames: Lazy) -> str:
    """Return the only company there is, for a chart that does not say its own."""
    companies = nw.concat([frame.select("company_id") for frame in frames])
    found = sorted(collect(companies.filter(~nw.col("company_id").is_null()).unique()).column(0).to_pylist())
    if len(found) != 1:
        seen = f"{len(found)} companies" if found else "no company"
        raise ArgumentError(
            "chart", f"does not say its company, and accounts and categories are of {seen}: give a column company_id"
        )
    company: str = found[0]
    return company


def _charts(chart: Lazy) -> Lazy:
    """Return the companies of the chart, each with the lengths of its codes that are numbers."""
    number = nw.col("code").str.contains("^[0-9]+$")
    digits = chart.select(
        "company_id",
        digits=nw.when(number).then(nw.col("code").str.len_chars()),
        zero=nw.when(number).then(nw.col("code").str.starts_with("0").cast(nw.Int64)),
    )
    return digits.group_by("company_id").agg(
        shortest=nw.col("digits").min(), longest=nw.col("digits").max(), zeros=nw.col("zero").max()
    )
