"""Files made by hand, in a folder of the test's own."""

from __future__ import annotations

import pytest


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path."""

    def write(content, name="file.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write
