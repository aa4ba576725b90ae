import importlib.util
import shutil

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


PYSPARK = pytest.param(
    PySpark,
    marks=[
        pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark comes with bktools[spark]"),
        pytest.mark.skipif(shutil.which("java") is None, reason="PySpark needs Java 17 or newer on the path"),
        # pyspark says so of itself when it is handed Arrow tables.
        pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
        pytest.mark.xdist_group("pyspark"),
    ],
)


@pytest.fixture(params=[*IN_PROCESS, PYSPARK], ids=["pandas", "duckdb", "polars", "pyspark"])
def any_engine(request):
    """Give any engine; Spark takes many seconds for one reconciliation."""
    return request.param()
