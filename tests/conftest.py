"""What tests share: folders of their own, and the real sandbox over HTTP."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import bktools
from bktools.sandbox.sample import write_sample_data
from bktools.service import Service


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the settings of whoever runs it, or writes to their folders."""
    own = tmp_path_factory.mktemp("own")
    for name in [name for name in os.environ if name.startswith("BKTOOLS_")]:
        monkeypatch.delenv(name)
    config = own / "config.toml"
    config.touch()
    monkeypatch.setenv("BKTOOLS_CONFIG", str(config))
    monkeypatch.setenv("BKTOOLS_DATA_DIR", str(own / "data"))
    monkeypatch.setenv("BKTOOLS_CACHE_DIR", str(own / "cache"))


@pytest.fixture(autouse=True)
def _no_open_figures() -> Iterator[None]:
    """What a test draws is gone when it ends."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


@pytest.fixture
def sandbox() -> Iterator[bktools.Sandbox]:
    """A sandbox of the test's own; `sandbox.server` is the running server, `sandbox.service` talks to it."""
    running = bktools.Sandbox(job_seconds=0.05)
    with running as service:
        running.service = service  # type: ignore[attr-defined]
        yield running


@pytest.fixture
def service(sandbox: bktools.Sandbox) -> Service:
    """A conversation with a sandbox of the test's own."""
    return sandbox.service  # type: ignore[attr-defined,no-any-return]


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sample chart of accounts and accounting entries of the sandbox's world."""
    return write_sample_data(tmp_path_factory.mktemp("samples"))
