import pytest
from reconcile_engines import IN_PROCESS, PYSPARK, PySpark, in_process


@pytest.fixture(params=IN_PROCESS)
def engine(request, tmp_path):
    """Give an engine that answers within a second."""
    return in_process(request.param, tmp_path)


@pytest.fixture(params=[PYSPARK])
def spark():
    """Give Spark, which takes many seconds for one reconciliation."""
    return PySpark()
