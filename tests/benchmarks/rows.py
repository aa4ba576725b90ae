"""The benchmarks share runs in turn, rows of one form, environments of peers, and the page of results."""

from __future__ import annotations

import datetime as dt
import functools
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")


@dataclass(frozen=True)
class Row:
    """One goal and what was reached: less is better where the goal is `at_most`."""

    work: str
    measure: str
    reached: float
    goal: float
    at_most: bool
    note: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the goal is reached."""
        return self.reached <= self.goal if self.at_most else self.reached >= self.goal

    def line(self) -> str:
        """Return the row of the table."""
        goal = f"{'≤' if self.at_most else '≥'} {self.goal:g}"
        verdict = "met" if self.is_met else f"missed by {abs(self.reached / self.goal - 1):.0%}"
        return f"| {self.work} | {self.measure} | {goal} | {self.reached:.2f} | {verdict} | {self.note} |"


def in_turn(ways: Mapping[str, Callable[[], tuple[float, ...]]], rounds: int) -> dict[str, tuple[float, ...]]:
    """Return the medians of the figures of each way, all of them run once in every round."""
    taken: dict[str, list[tuple[float, ...]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            taken[name].append(way())
    return {name: tuple(map(statistics.median, zip(*runs, strict=True))) for name, runs in taken.items()}


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that passed, and those of the processor, also in processes that ended meanwhile."""
    begin, used = time.perf_counter(), _processor_seconds()
    work()
    return time.perf_counter() - begin, _processor_seconds() - used


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def ratios(figures: Mapping[str, tuple[float, ...]], peer: str) -> tuple[float, float]:
    """Return how many times faster bktools is than a peer: by the clock, and by processor time."""
    wall, processor = (theirs / ours for theirs, ours in zip(figures[peer], figures["bktools"], strict=True))
    return wall, processor


def in_words(figures: Mapping[str, tuple[float, ...]]) -> str:
    """Return the seconds of each way by the clock and of the processor."""
    return "; ".join(f"{name} {wall:.3f} s, processor {used:.3f} s" for name, (wall, used) in figures.items())


@functools.cache
def python_with(*packages: str) -> str:
    """Make a virtual environment with packages, which may pin other versions, and return its Python."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-qqq", *packages], check=True)
    return python


def versions_in(python: str, *packages: str) -> str:
    """Return the versions of packages in an environment."""
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    done = subprocess.run([python, "-c", code, *packages], capture_output=True, text=True, check=True)
    return ", ".join(map(" ".join, zip(packages, done.stdout.split(), strict=True)))


def write(name: str, rows: Sequence[Row], libraries: Sequence[str], *, path: Path = RESULTS) -> None:
    """Write the section of a benchmark in the place of the one that was there; the other sections stay."""
    versions = versions_in(sys.executable, *libraries)
    machine = (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    day = f"{dt.datetime.now(dt.UTC):%Y-%m-%d}"
    about = f"{machine} at the end, Python {platform.python_version()}, {versions}; {day}"
    heading = name.capitalize()
    table = [
        "| work | measure | goal | reached | | notes |",
        "| --- | --- | --- | --- | --- | --- |",
        *(row.line() for row in rows),
    ]
    lines = [
        heading,
        "",
        f"`python tests/benchmarks/run.py {name}` writes this section.",
        "",
        about,
        "",
        *table,
    ]
    title, *parts = path.read_text(encoding="utf-8").split("\n## ")
    sections = {part.split("\n", 1)[0]: part.strip() for part in parts} | {heading: "\n".join(lines)}
    body = "".join(f"\n## {section}\n" for section in sections.values())
    path.write_text(f"{title.rstrip()}\n{body}", encoding="utf-8")
