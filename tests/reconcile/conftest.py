import pytest
from reconcile_engines import IN_PROCESS, PYSPARK


@pytest.fixture(params=IN_PROCESS, ids=["pandas", "duckdb", "polars"])
def engine(request):
    """Give an engine that answers within a second."""
    return request.param()


@pytest.fixture(params=[*IN_PROCESS, PYSPARK], ids=["pandas", "duckdb", "polars", "pyspark"])
def any_engine(request):
    """Give any engine; Spark takes many seconds for one reconciliation."""
    return request.param()
