"""A cache folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from caches import Cache


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """The cache folder of this machine."""
    return Cache(tmp_path / "cache")
