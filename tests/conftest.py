"""What tests share: folders of their own, and the real sandbox over HTTP."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings

import bktools
from bktools.close.close import Close
from bktools.sandbox.sample import write_sample_data
from bktools.service import Service
from bktools.settings import Secret
from bktools.wording import reader

# A background shell has the tests ignore Ctrl-C, and so would the programs that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A few examples each time, as many as wanted with BKTOOLS_TEST_RUNS; a slow machine is no failure.
settings.register_profile(
    "bktools",
    deadline=None,
    max_examples=int(os.environ.get("BKTOOLS_TEST_RUNS", "25")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("bktools")

MONEY = pd.ArrowDtype(pa.decimal128(38, 2))

# What a spreadsheet or a careless writer would change.
AWKWARD = [
    *("0400", "12345678901234567", "1E5", "1-2", "=SUM(1)", "+49 221 101", "-12,50 Skonto", "@name", "\tTab"),
    *("'apostrophe", "'=1+1", '="0400"', 'say "so", twice; or not', "Zeile eins\nZeile zwei", "trailing "),
    *(" 0400", "Größe ÄÖÜß", "会議費 🥨", "دعوة عشاء", None, "true", "null", "NaN"),
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option that adds the long tests."""
    parser.addoption("--long", action="store_true", help="run the tests marked as long, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mix the rooms, so that waiting tests meet computing ones; leave long tests out without `--long`.

    A room stays together: its worlds, such as closed months and matched ledgers, are made in one process.
    """
    items.sort(
        key=lambda item: hashlib.sha256(
            item.path.parent.relative_to(config.rootpath).as_posix().encode()
        ).digest()
    )
    if not config.getoption("long"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.fixture(scope="session")
def _folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names of folders, a new one for each test."""
    # pytest lists all folders to number a new one, which takes longer than many of the thousands of tests.
    above = tmp_path_factory.mktemp("own")
    return (above / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _own_environment() -> Iterator[None]:
    """Variables that a test or a command sets are gone when the test ends."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture(autouse=True)
def _own_folders(_own_environment: None, _folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the settings of whoever runs it, or writes to their folders."""
    own = next(_folders)
    own.mkdir()
    monkeypatch.setattr(reader, "language", None)
    for name in [name for name in os.environ if name.startswith("BKTOOLS_")]:
        monkeypatch.delenv(name)
    config = own / "config.toml"
    config.touch()
    monkeypatch.setenv("BKTOOLS_CONFIG", str(config))
    monkeypatch.setenv("BKTOOLS_DATA_DIR", str(own / "data"))
    monkeypatch.setenv("BKTOOLS_CACHE_DIR", str(own / "cache"))
    monkeypatch.setenv("BKTOOLS_SENT_LOG_DIR", str(own / "sent_log"))


@pytest.fixture(autouse=True)
def _no_open_figures() -> Iterator[None]:
    """What a test draws is gone when it ends."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """A PostgreSQL server for the journals of this process's tests."""
    from postgres_server import programs, server

    if os.name != "posix" or programs() is None:
        pytest.skip("the programs of a PostgreSQL server (initdb, postgres) are not installed")
    with server() as running:
        yield running


@pytest.fixture
def database(postgres: Any) -> Iterator[str]:
    """The name of an empty database."""
    with postgres.database() as name:
        yield name


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str | None:
    """Where the journal of the test is: None for a file, otherwise the address of an empty database."""
    if getattr(request, "param", "file") == "file":
        return None
    return request.getfixturevalue("postgres").address(request.getfixturevalue("database"))  # type: ignore[no-any-return]


@pytest.fixture
def sandbox(backend: str | None) -> Iterator[bktools.Sandbox]:
    """A sandbox of the test's own; `sandbox.server` is the running server, `sandbox.service` talks to it."""
    running = bktools.Sandbox(job_seconds=0.05)
    with running as service:
        settings = service.settings if backend is None else replace(service.settings, journal=Secret(backend))
        with Service(settings) as own:
            running.service = own  # type: ignore[attr-defined]
            yield running


@pytest.fixture
def service(sandbox: bktools.Sandbox) -> Service:
    """A service that is connected to a sandbox of the test's own."""
    return sandbox.service  # type: ignore[attr-defined,no-any-return]


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sample chart of accounts and accounting entries of the sandbox's world."""
    return write_sample_data(tmp_path_factory.mktemp("samples"))


@pytest.fixture
def closed(service: Service, samples: tuple[Path, Path]) -> Callable[..., Close]:
    """A function that closes the sample month, or other entries, without the folder, which takes longest."""
    chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)

    def closed(entries: pd.DataFrame | None = None, **options: object) -> Close:
        rows = bktools.read_entries(samples[1]) if entries is None else entries
        return bktools.close_month(chart, rows, **{"folder": False, "service": service, **options})

    return closed


@pytest.fixture(scope="session")
def awkward() -> pd.DataFrame:
    """A frame with every type of column that bktools hands on, and text that is easily spoilt."""
    rows = len(AWKWARD)
    texts = ["-12.50", "0.00", "", "99999999999999999.99"] * 6
    amounts = [Decimal(text) if text else None for text in texts[:rows]]
    return pd.DataFrame(
        {
            "code": pd.Series(AWKWARD, dtype="str"),
            "amount": pd.array(amounts, dtype=MONEY),
            "date": pd.to_datetime(["2026-10-31"] * (rows - 1) + [None]).as_unit("s"),
            "at": pd.Series([pd.Timestamp("2026-10-31T23:59:59Z")] * (rows - 1) + [pd.NaT]).dt.as_unit("us"),
            "archived": [True, False] * (rows // 2) + [True] * (rows % 2),
            "count": range(rows),
        }
    )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own that is nearly full."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this system does not let a small disk be mounted")
    yield place
    subprocess.run(["umount", "-l", place], check=True)
