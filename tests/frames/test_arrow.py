"""`to_arrow`: frames in Arrow and Polars, with exact types and nothing of pandas."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa

import bktools
from bktools.service import Service

UTC, DECIMAL = pa.timestamp("us", "UTC"), pa.decimal128(38, 2)


def test_every_type_is_exact(awkward: pd.DataFrame):
    """Polars gets text, decimals, dates, UTC times, flags and counts unchanged; nulls stay null."""
    frame = awkward.assign(
        kind=pd.Categorical(awkward["code"]),
        nano=awkward["at"].dt.tz_convert("Asia/Tokyo").astype("datetime64[ns, Asia/Tokyo]"),
    )
    frame = frame.set_index(pd.Index(range(7, 7 + len(frame)), name="left out"))
    table = bktools.to_arrow(frame)
    kinds = [pa.large_string(), DECIMAL, pa.date32(), UTC, pa.bool_(), pa.int64(), pa.large_string(), UTC]
    assert table.schema.types == kinds
    assert table.schema.metadata is None
    read = pl.from_arrow(table)
    assert isinstance(read, pl.DataFrame)
    assert (
        read["code"].to_list()
        == read["kind"].to_list()
        == [None if pd.isna(text) else text for text in awkward["code"]]
    )
    assert read["amount"].dtype == pl.Decimal(38, 2)
    assert read["amount"].drop_nulls().sum() == sum(awkward["amount"].dropna(), Decimal(0))
    assert read["date"].dtype == pl.Date
    assert read["at"].equals(read["nano"].alias("at"))
    assert read["at"].null_count() == read["date"].null_count() == 1


def test_results_come_with_all_their_tables(service: Service, samples: tuple[Path, Path]):
    """A load carries its source; a plan hands over all tables as it writes them."""
    categories = bktools.load_categories(service=service)
    table = bktools.to_arrow(categories)
    assert pl.from_arrow(table)["id"].to_list() == list(categories["id"])
    assert json.loads(table.schema.metadata[b"bktools"])["rows"] == len(categories)
    plan = bktools.compose_export_jobs(bktools.read_entries(samples[1]))
    counts = {name: table.num_rows for name, table in plan.to_arrow().items()}
    assert counts == {name: len(getattr(plan, name)) for name in counts}
    assert plan.to_arrow()["entries"].schema.field("amount").type == DECIMAL
