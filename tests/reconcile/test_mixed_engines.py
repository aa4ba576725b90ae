"""Frames of several tools are reconciled together."""

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
import reconcile_world as world

from bktools.errors import InputError
from bktools.reconcile import reconcile_accounts
from bktools.reconcile.results import RESULTS


def test_frames_of_several_tools_give_the_same_tables(tmp_path):
    """A relation, a lazy frame and a file give what pandas gives, whatever is in them."""
    rows = world.side_by_side({seed: world.seeded(seed, 12) for seed in range(3)} | {"nasty": world.nasty()})
    tables = world.tables(rows)
    expected = world.reconciled(rows)
    pq.write_table(tables["categories"], tmp_path / "categories.parquet")
    result = reconcile_accounts(
        duckdb.connect(":memory:").from_arrow(tables["chart"]),
        pl.from_arrow(tables["accounts"]).lazy(),
        tmp_path / "categories.parquet",
    )
    for name in RESULTS:
        assert result.table(name).equals(expected.table(name)), name
    assert len(expected.findings) > 100


@pytest.mark.parametrize("content", [b"external_id,code\n1,1\n", b"PAR1" + b"\0" * 40 + b"PAR1", None])
def test_a_file_that_is_no_parquet_is_one_line(tmp_path, content):
    """A CSV file, a damaged file and a missing one are named, with the function that reads files."""
    path = tmp_path / "chart.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"^chart .*: cannot be read as Parquet \(.*read_chart_of") as caught:
        reconcile_accounts(**world.frames(world.plain()) | {"chart": path})
    assert "\n" not in str(caught.value)
