import pytest
from reconcile_engines import IN_PROCESS, in_process


@pytest.fixture(params=IN_PROCESS)
def engine(request, tmp_path):
    """Give an engine that answers within a second."""
    return in_process(request.param, tmp_path)
