"""The sandbox with many categories: a page at the end against one at the start, and pages a second.

Run: python tests/benchmarks/run.py sandbox [--tiny].
"""

from __future__ import annotations

import http.client
import json
import re
import shlex
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from page import machine, write_section

HEADING = "## The sandbox"
PAGE = 100


class Client:
    """One connection that searches categories and keeps no more than it must, so that the server is what is measured."""

    def __init__(self, address: str, token: str, company: str) -> None:
        self._connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=300)
        self._body = json.dumps({"companyId": company})
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def search(self, **paging: Any) -> bytes:
        """Return the body of a page."""
        target = f"/v1/bookkeeping-categories:search?{urlencode(paging | {'limit': PAGE}, doseq=True)}"
        self._connection.request("POST", target, self._body, self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return body

    def timed(self, **paging: Any) -> float:
        """Return the seconds that a page takes."""
        begun = time.perf_counter()
        self.search(**paging)
        return time.perf_counter() - begun


@contextmanager
def serving(categories: int) -> Iterator[tuple[Client, float, int]]:
    """Serve a new world in a process of its own; give a client, the seconds until it served, and the file's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "world.sqlite"
        command = [sys.executable, "-m", "bktools", "sandbox", "serve", "--db", file, "--categories", str(categories)]
        begun = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                exported = next(line for line in process.stdout if line.startswith("export "))
                taken = time.perf_counter() - begun
                known = dict(pair.split("=", 1) for pair in shlex.split(exported)[1:])
                client = Client(*(known[f"BKTOOLS_{name}"] for name in ("BASE_URL", "TOKEN", "COMPANY")))
                with closing(client):
                    yield client, taken, file.stat().st_size
            finally:
                process.kill()


def ends_of(client: Client, categories: int, rounds: int) -> dict[str, float]:
    """Return median seconds of the first page after a cursor and of the last, taken in turn, and of the very first."""
    begun = time.perf_counter()
    first = json.loads(client.search())["pagination"]["endCursor"]
    unprepared = time.perf_counter() - begun
    offset = max(categories - PAGE - 1, 0)
    last = json.loads(client.search(offset=offset))["pagination"]["startCursor"]
    end_page = json.loads(client.search(after=last))
    assert not end_page["pagination"]["hasNextPage"]
    assert len(end_page["data"]) == min(PAGE, categories - 1)
    seconds: dict[str, list[float]] = {"start": [], "end": []}
    for _ in range(rounds):
        seconds["start"].append(client.timed(after=first))
        seconds["end"].append(client.timed(after=last))
    medians = {name: statistics.median(taken) for name, taken in seconds.items()}
    return medians | {"ratio": medians["end"] / medians["start"], "unprepared": unprepared}


def pages_a_second(client: Client, rounds: int, pages: int) -> list[float]:
    """Return pages a second of one client that reads on from cursor to cursor, for each round."""
    rates = []
    for _ in range(rounds):
        cursor: dict[str, str] = {}
        begun = time.perf_counter()
        for _ in range(pages):
            # The cursor is found without decoding: the client shares the two cores with the server.
            found = re.search(rb'"endCursor": "([A-Z2-7=~]+)"', client.search(**cursor)[-2000:])
            cursor = {"after": found[1].decode()} if found else {}
        rates.append(pages / (time.perf_counter() - begun))
    return rates


def measure(categories: int, rounds: int, pages: int) -> dict[str, Any]:
    """Return all measurements."""
    with serving(categories) as (client, seconds, size):
        ends = ends_of(client, categories, rounds)
        rates = pages_a_second(client, max(rounds // 5, 1), pages)
        return {"made": seconds, "bytes": size, "ends": ends, "rates": rates}


def table(categories: int, measured: dict[str, Any]) -> str:
    """Return the measurements in Markdown."""
    how = f"{categories:,} categories of one company, pages of {PAGE}, one client on loopback, the server a process of its own"
    rates, ends = measured["rates"], measured["ends"]
    start, end, first = (1000 * ends[name] for name in ("start", "end", "unprepared"))
    spread = f"median of {len(rates)} rounds, {min(rates):.0f} to {max(rates):.0f}"
    made = f"{measured['made']:.0f} s, {measured['bytes'] / 2**20:,.0f} MiB"
    return f"""`python tests/benchmarks/run.py sandbox` writes this section.

{machine("starlette", "uvicorn")}, SQLite {sqlite3.sqlite_version}

{how}. Goals: end ÷ start ≤ 1.5, 500 pages a second or more.

| page at the start, ms | page at the end, ms | end ÷ start | very first page, ms |
| ---: | ---: | ---: | ---: |
| {start:.2f} | {end:.2f} | {ends["ratio"]:.2f} | {first:.0f} |

Start and end are medians of pages taken in turn. The very first page of a search counts the rows.

Pages a second, read on from cursor to cursor: {statistics.median(rates):.0f} ({spread}). World made and served: {made}.
"""


def run(*, tiny: bool, peers: bool) -> None:
    """Measure, print the table and write it; a tiny run writes nothing."""
    categories, rounds, pages = (300, 2, 5) if tiny else (1_000_000, 30, 1000)
    text = table(categories, measure(categories, rounds, pages))
    print(text)
    if not tiny:
        write_section(HEADING, text)
