"""What every benchmark shares: runs in turn, rows of one table, and the page they are written to."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from page import RESULTS, machine, write_section

HEADING = "## Fetch and load"
VERSIONS = ("httpx", "msgspec", "numpy", "pandas", "pyarrow")


@dataclass(frozen=True)
class Row:
    """One goal and what was reached.

    Parameters
    ----------
    work, measure : str
        What is done, and against what.
    value : float
        The figure.
    goal : float
        What it should be.
    at_most : bool
        Whether less is better.
    note : str
        Medians, and what is in the way of a goal that is missed.
    """

    work: str
    measure: str
    value: float
    goal: float
    at_most: bool
    note: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the goal is reached."""
        return self.value <= self.goal if self.at_most else self.value >= self.goal

    def line(self) -> str:
        """Return the row of the table."""
        goal = f"{'≤' if self.at_most else '≥'} {self.goal:g}"
        verdict = "met" if self.is_met else f"missed by {abs(self.value / self.goal - 1):.0%}"
        return f"| {self.work} | {self.measure} | {goal} | {self.value:.2f} | {verdict} | {self.note} |"


def in_turn(ways: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Return the median of each way, all of them run once in every round."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            found[name].append(way())
    return {name: statistics.median(values) for name, values in found.items()}


def write(rows: Sequence[Row], *, path: Path = RESULTS) -> None:
    """Write the table, with the machine and the versions."""
    lines = [
        "`python tests/benchmarks/run.py loading` writes this section.",
        "",
        machine(*VERSIONS),
        "",
        "| work | measure | goal | reached | | notes |",
        "| --- | --- | --- | --- | --- | --- |",
        *[row.line() for row in rows],
    ]
    write_section(HEADING, "\n".join(lines), path)
