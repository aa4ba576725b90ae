"""The benchmarks share runs in turn, rows of one form, and the page of results."""

from __future__ import annotations

import datetime as dt
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")


@dataclass(frozen=True)
class Row:
    """One goal and what was reached: less is better where the goal is `at_most`."""

    work: str
    measure: str
    reached: float
    note: str
    goal: float
    at_most: bool

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


def measured(work: Callable[..., object], *arguments: object) -> tuple[float, float]:
    """Return the seconds that passed, and those of the processor, also in processes that ended meanwhile."""
    begin, used = time.perf_counter(), _processor_seconds()
    work(*arguments)
    return time.perf_counter() - begin, _processor_seconds() - used


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def shown(figures: Mapping[str, tuple[float, ...]], peer: str) -> tuple[float, str]:
    """Return how many times faster bktools is than a peer by the clock, and all figures in words."""
    wall, processor = (theirs / ours for theirs, ours in zip(figures[peer], figures["bktools"], strict=True))
    parts = [f"{name} {by_clock:.3f} s, processor {used:.3f} s" for name, (by_clock, used) in figures.items()]
    return wall, f"by processor time {processor:.2f}; {'; '.join(parts)}"


def write(name: str, rows: Sequence[Row], libraries: Sequence[str], *, path: Path = RESULTS) -> None:
    """Write the section of a benchmark in the place of the one that was there; the other sections stay."""
    versions = ", ".join(f"{library} {version(library)}" for library in libraries)
    machine = (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    day = f"{dt.datetime.now(dt.UTC):%Y-%m-%d}"
    lines = [
        name.capitalize(),
        "",
        f"`python tests/benchmarks/run.py {name}` writes this section.",
        "",
        f"{machine} at the end, Python {platform.python_version()}, {versions}; {day}",
        "",
        "| work | measure | goal | reached | | notes |",
        "| --- | --- | --- | --- | --- | --- |",
        *(row.line() for row in rows),
    ]
    title, *parts = path.read_text(encoding="utf-8").split("\n## ")
    sections = {part.split("\n", 1)[0]: part.strip() for part in parts} | {lines[0]: "\n".join(lines)}
    body = "".join(f"\n## {section}\n" for section in sections.values())
    path.write_text(f"{title.rstrip()}\n{body}", encoding="utf-8")
