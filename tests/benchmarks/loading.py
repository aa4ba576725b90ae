"""Fetching and loading: bktools and an analyst's loop, and a snapshot as pandas reads its file, in turn."""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pyarrow.parquet as pq
from page_server import COMPANY
from rows import Row, in_turn, measured, shown

from bktools.service import Service
from bktools.settings import load_settings
from bktools.snapshots.snapshot import Query
from bktools.snapshots.store import Store
from bktools.snapshots.tables import load_categories

LIBRARIES = ("httpx", "msgspec", "numpy", "pandas", "pyarrow")
PATH = "/v1/bookkeeping-categories:search"


@dataclass(frozen=True)
class Server:
    """The page server, in a process of its own: its address, and a function that counts the pages it sent."""

    url: str
    sent: Callable[[], int]


@contextmanager
def serving(rows: int, cap: int, latency: float = 0.0) -> Iterator[Server]:
    """Serve a table while a measurement runs."""
    program = str(Path(__file__).with_name("page_server.py"))
    command = [sys.executable, program, str(rows), str(cap), str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, answers = process.stdin, process.stdout

        def sent() -> int:
            asked.write("\n")
            asked.flush()
            return int(answers.readline())

        yield Server(answers.readline().strip(), sent)


def by_loop(url: str, folder: str) -> int:
    """Return what an analyst writes: httpx, a list, a DataFrame, a Parquet file."""
    rows: list[dict[str, Any]] = []
    params: dict[str, Any] = {"limit": 1000}
    with httpx.Client(base_url=url, headers={"Authorization": "Bearer t"}, trust_env=False) as client:
        while True:
            answer = client.post(PATH, params=params, json={"companyId": COMPANY}).raise_for_status().json()
            rows += answer["data"]
            if not answer["pagination"]["hasNextPage"]:
                break
            params["after"] = answer["pagination"]["endCursor"]
    frame = pd.DataFrame(rows)
    frame.to_parquet(Path(folder) / "loop.parquet")
    return len(frame)


@contextmanager
def connected(url: str, folder: str) -> Iterator[Service]:
    """Connect with folders of its own, and without a limit of requests."""
    own = {"token": "t", "company": COMPANY, "requests_per_minute": 0}
    with Service(load_settings(url, env={}, cache_dir=folder, data_dir=folder, **own)) as service:
        yield service


def fetch(rows: int, cap: int, latency: float, rounds: int, goal: float) -> list[Row]:
    """Measure fetching pages of a size."""
    work = f"fetch {rows:,} categories, pages of {cap:,}"
    work += f", {latency * 1000:.0f} ms a request" if latency else ""
    with (
        serving(rows, cap, latency) as server,
        tempfile.TemporaryDirectory() as folder,
        connected(server.url, folder) as service,
    ):
        load = partial(load_categories, service=service, refresh=True, progress=False)
        assert len(load()) == by_loop(server.url, folder) == rows
        before = server.sent()
        load()
        pages = server.sent() - before
        ways = {"bktools": partial(measured, load), "loop": partial(measured, by_loop, server.url, folder)}
        figures = in_turn(ways, rounds)
    least = math.ceil(rows / cap)
    return [
        Row(work, "÷ httpx loop, times faster", *shown(figures, "loop"), goal, at_most=False),
        # Side by side, each page asks for the row before it once more, which proves that pages join.
        Row(work, f"requests beyond {least}", pages - least, "", 2 + 0.015 * least, at_most=True),
    ]


def warm(rows: int, rounds: int) -> Row:
    """Measure loading from a snapshot against pandas reading the same file."""
    with (
        serving(rows, 1000) as server,
        tempfile.TemporaryDirectory() as folder,
        connected(server.url, folder) as service,
    ):
        load = partial(load_categories, service=service, progress=False)
        load()
        path = Store(service.settings).history(Query("categories", {"company_id": COMPANY}))[-1].path
        read = partial(measured, lambda: pq.read_table(path).to_pandas())
        figures = in_turn({"bktools": partial(measured, load), "read_table": read}, 3 * rounds)
    work = f"warm load of {rows:,} rows, checks included"
    faster, note = shown(figures, "read_table")
    return Row(work, "time ÷ read_table", 1 / faster, note, 1.2, at_most=True)


def measure(*, tiny: bool) -> list[Row]:
    """Return the rows of fetching and loading."""
    rows, slow, rounds = (3_000, 600, 1) if tiny else (200_000, 20_000, 5)
    fetched = [*fetch(rows, 1000, 0.0, rounds, 2), *fetch(slow, 100, 0.05, min(rounds, 3), 10)]
    return [*fetched, *(warm(size, rounds) for size in (rows, 10 * rows))]
