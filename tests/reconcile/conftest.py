import pytest
from reconcile_engines import IN_PROCESS, PYSPARK, PySpark, in_process


@pytest.fixture(params=IN_PROCESS)
def engine(request, tmp_path):
    """Give an engine that answers within a second."""
    return in_process(request.param, tmp_path)


@pytest.fixture(params=[*IN_PROCESS, PYSPARK])
def any_engine(request, tmp_path):
    """Give any engine; Spark takes many seconds for one reconciliation."""
    return PySpark() if request.param == "pyspark" else in_process(request.param, tmp_path)


@pytest.fixture(params=[PYSPARK])
def spark():
    """Give Spark alone."""
    return PySpark()
