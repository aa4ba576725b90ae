"""Frames of several engines: what is in memory follows the lazy ones, and what cannot be joined is refused."""

import pandas as pd
import pytest
import reconcile_reference as reference
import reconcile_world as world
from reconcile_engines import PYSPARK, DuckDB, Pandas

from bktools.errors import ArgumentError
from bktools.reconcile import reconcile_accounts


@pytest.mark.parametrize("lazy", ["chart", "accounts", "categories"])
def test_pandas_follows_lazy_frames(lazy, engine):
    """Frames of pandas beside one of Polars give frames of Polars, with the same findings; DuckDB refuses them."""
    if isinstance(engine, DuckDB):
        with pytest.raises(ArgumentError, match="of pandas or Arrow do not follow to duckdb"):
            reconcile_accounts(**mixed(engine, lazy, world.seeded(3, 12)))
        return
    _follows(lazy, engine)


# One of the three: Spark takes half a minute for each.
@pytest.mark.parametrize("any_engine", [PYSPARK], ids=["pyspark"], indirect=True)
def test_pandas_follows_spark(any_engine):
    """Frames of pandas beside one of PySpark give frames of PySpark, with the same findings."""
    _follows("categories", any_engine)


def _follows(lazy, engine):
    rows = world.seeded(3, 12)
    given = mixed(engine, lazy, rows)
    result = reconcile_accounts(**given)
    assert type(result.findings) is type(given[lazy])
    findings, _, _ = reference.reconcile(**rows)
    found = engine.rows(result.findings)
    assert len(found) > 10
    assert reference.in_order(row[:-1] for row in found) == reference.in_order(findings)


def mixed(engine, lazy, rows):
    """Return pandas frames, one of them of the engine."""
    tables = world.tables(rows)
    return Pandas().frames(tables) | {lazy: engine.frames(tables)[lazy]}


def test_frames_of_two_lazy_engines_are_refused():
    """Polars beside DuckDB would have to be collected by somebody: by the caller, who is told so."""
    polars = pytest.importorskip("polars", reason="polars comes with bktools[bench]")
    given = DuckDB().frames(world.tables(world.plain()))
    given["chart"] = polars.from_arrow(world.tables(world.plain())["chart"]).lazy()
    with pytest.raises(ArgumentError, match=r"^frames must be of one engine, are of .*: convert all but one$"):
        reconcile_accounts(**given)


def test_dask_is_refused_with_the_way_out():
    """Dask cannot do what is needed; compute() can be handed over."""
    dask = pytest.importorskip("dask.dataframe", reason="dask is not part of any extra")
    given = {
        noun: dask.from_pandas(frame, npartitions=1)
        for noun, frame in Pandas().frames(world.tables(world.plain())).items()
    }
    with pytest.raises(ArgumentError, match=r"of Dask cannot be .*: hand over their compute\(\)$"):
        reconcile_accounts(**given)
    assert isinstance(
        reconcile_accounts(**{noun: frame.compute() for noun, frame in given.items()}).findings, pd.DataFrame
    )
