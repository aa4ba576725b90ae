import importlib.util

import pytest
from reconcile_engines import DuckDB, Pandas, Polars, PySpark


def _needs(engine, module, extra):
    missing = importlib.util.find_spec(module) is None
    return pytest.param(engine, marks=pytest.mark.skipif(missing, reason=f"{module} comes with bktools[{extra}]"))


IN_PROCESS = [Pandas, DuckDB, _needs(Polars, "polars", "bench")]


@pytest.fixture(params=IN_PROCESS, ids=["pandas", "duckdb", "polars"])
def engine(request):
    """Give an engine that answers within a second."""
    return request.param()


@pytest.fixture(
    params=[*IN_PROCESS, _needs(PySpark, "pyspark", "spark")], ids=["pandas", "duckdb", "polars", "pyspark"]
)
def any_engine(request):
    """Give any engine; Spark takes most of a minute for one reconciliation."""
    return request.param()
