"""Benchmarks of fetching and loading: bktools, an analyst's loop, dlt, and bare sockets, in turn."""

from __future__ import annotations

import functools
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq
from page_server import COMPANY
from rows import Row, in_turn, measured, python_with, versions_in

from bktools.service import Service
from bktools.settings import load_settings
from bktools.snapshots.snapshot import Query
from bktools.snapshots.store import Store
from bktools.snapshots.tables import load_categories

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DLT = ("dlt[parquet]", "pandas")
LIBRARIES = ("httpx", "msgspec", "numpy", "pandas", "pyarrow")


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rows: int = 200_000
    many_rows: int = 2_000_000
    slow_rows: int = 200_000  # with latency
    latency: float = 0.05  # seconds before each of their pages
    rounds: int = 5  # how often each way is run in turn
    peers: bool = True  # dlt, in a virtual environment made here


TINY = Size(rows=3_000, many_rows=6_000, slow_rows=600, latency=0.03, rounds=1)


@dataclass(frozen=True)
class Server:
    """The page server, in a process of its own: its address, and a function that counts the pages it sent."""

    url: str
    sent: Callable[[], int]


@contextmanager
def serving(rows: int, cap: int, latency: float = 0.0) -> Iterator[Server]:
    """Serve a table while a measurement runs."""
    command = [sys.executable, str(HERE / "page_server.py"), str(rows), str(cap), str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, answers = process.stdin, process.stdout

        def sent() -> int:
            asked.write("\n")
            asked.flush()
            return int(answers.readline())

        yield Server(answers.readline().strip(), sent)


def timed(
    way: str, server: Server, rows: int, *, python: str = sys.executable, runs: int = 3
) -> tuple[float]:
    """Run a way in a process of its own and return its seconds, when it has read every row."""
    with tempfile.TemporaryDirectory() as folder:
        command = [python, str(HERE / "ways.py"), way, server.url, folder, str(runs)]
        environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": folder}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            raise RuntimeError(f"{way}: {done.stderr[-2000:]}")
        said = json.loads(done.stdout.splitlines()[-1])
        if int(said["rows"]) != rows:
            raise RuntimeError(f"{way} read {said['rows']} of {rows} rows")
    return (float(said["seconds"]),)


def fetch(size: Size) -> list[Row]:
    """Measure fetching without latency, pages of 1,000."""
    work = f"fetch {size.rows:,} categories, pages of 1,000"
    with serving(size.rows, 1000) as server:
        ways: dict[str, Callable[[], tuple[float]]] = {
            name: functools.partial(timed, name, server, size.rows) for name in ("bktools", "raw", "loop")
        }
        if size.peers:
            ways["dlt"] = functools.partial(timed, "dlt", server, size.rows, python=python_with(*DLT), runs=2)
        seconds = {name: figure for name, (figure,) in in_turn(ways, size.rounds).items()}
        before = server.sent()
        timed("bktools", server, size.rows, runs=1)
        pages = server.sent() - before
    ours, least = seconds["bktools"], math.ceil(size.rows / 1000)
    note = ", ".join(f"{name} {value:.3f} s" for name, value in seconds.items())
    rows = [Row(work, "÷ httpx loop, times faster", seconds["loop"] / ours, 2.0, at_most=False, note=note)]
    if size.peers:
        versions = versions_in(python_with(*DLT), "dlt")
        dlt = Row(work, "÷ dlt, times faster", seconds["dlt"] / ours, 10.0, at_most=False, note=versions)
        rows.insert(0, dlt)
    why = "beyond the sockets: HTTP parsing, ids checked and counted, the file digested and synced"
    rows.append(Row(work, "time ÷ raw sockets", ours / seconds["raw"], 1.7, at_most=True, note=why))
    rows.append(Row(work, f"requests beyond {least}", pages - least, 2.0, at_most=True))
    return rows


def fetch_slowly(size: Size) -> list[Row]:
    """Measure fetching with latency, pages of 100, 16 at once."""
    work = f"fetch {size.slow_rows:,} categories, {size.latency * 1000:.0f} ms a request, pages of 100"
    with serving(size.slow_rows, 100, size.latency) as server:
        names = ("bktools", "raw-16")
        ways = {name: functools.partial(timed, name, server, size.slow_rows, runs=1) for name in names}
        seconds = {name: figure for name, (figure,) in in_turn(ways, min(size.rounds, 3)).items()}
        before = server.sent()
        timed("bktools", server, size.slow_rows, runs=1)
        pages = server.sent() - before
        if size.peers:
            (seconds["loop"],) = timed("loop", server, size.slow_rows, runs=1)
            (seconds["dlt"],) = timed("dlt", server, size.slow_rows, python=python_with(*DLT), runs=1)
    ours, least = seconds["bktools"], math.ceil(size.slow_rows / 100)
    note = ", ".join(f"{name} {value:.2f} s" for name, value in seconds.items())
    rows = [
        Row(work, "time ÷ raw sockets, 16 at once", ours / seconds["raw-16"], 1.1, at_most=True, note=note)
    ]
    rows += [
        Row(work, f"÷ {name}, times faster", seconds[name] / ours, 14.0, at_most=False)
        for name in ("loop", "dlt")
        if name in seconds
    ]
    why = "each page but the first asks for the row before it once more, which is what proves that pages join"
    rows.append(Row(work, f"requests beyond {least}", pages - least, 2.0, at_most=True, note=why))
    return rows


def warm(size: Size) -> list[Row]:
    """Measure loading from a snapshot against pandas reading the same file."""
    found = []
    for rows in (size.rows, size.many_rows):
        with serving(rows, 1000) as server, tempfile.TemporaryDirectory() as folder:
            folders = {"cache_dir": folder, "data_dir": folder}
            own = {"token": "t", "company": COMPANY, "requests_per_minute": 0}
            settings = load_settings(server.url, env={}, **folders, **own)
            with Service(settings) as service:
                load_categories(service=service)
                path = Store(settings).history(Query("categories", {"company_id": COMPANY}))[-1].path
                load = functools.partial(load_categories, service=service, progress=False)
                ways = {
                    "bktools": functools.partial(measured, load),
                    "pandas": functools.partial(measured, lambda path=path: pq.read_table(path).to_pandas()),
                }
                seconds = {name: wall for name, (wall, _) in in_turn(ways, size.rounds * 3).items()}
        note = (
            f"bktools {seconds['bktools'] * 1000:.1f} ms, read_table {seconds['pandas'] * 1000:.1f} ms, "
            "which checks nothing"
        )
        work, ratio = f"warm load of {rows:,} rows, checks included", seconds["bktools"] / seconds["pandas"]
        found.append(Row(work, "time ÷ read_table", ratio, 1.2, at_most=True, note=note))
    return found


def measure(*, tiny: bool, peers: bool) -> list[Row]:
    """Return the rows of fetching and loading."""
    size = replace(TINY if tiny else Size(), peers=peers and not tiny)
    return [*fetch(size), *fetch_slowly(size), *warm(size)]
