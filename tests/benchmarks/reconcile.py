"""Benchmarks of reconciling: bktools, what an analyst writes in pandas, and datacompy on Polars, in turn.

Run: python tests/benchmarks/run.py reconcile [--tiny] [--without-peers].
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import tempfile
import time
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from page import RESULTS, machine, write_section

from bktools.reconcile import reconcile_accounts

HERE = Path(__file__).parent
HEADING = "## Reconcile"
PROFILE = "the merge alone finds nothing; what an analyst writes to find differences takes longer"
PEERS = ("datacompy", "polars", "pyarrow", "pandas")
KEY = ["company_id", "external_id"]
FIELDS = ["name", "code", "tax_code_external_id", "archived"]
COMPANY = "123e4567-e89b-42d3-a456-426614174000"


@dataclass(frozen=True)
class Row:
    """One goal and what was reached: the median, and the same in time of the processor, which neighbours disturb less."""

    work: str
    measure: str
    goal: float
    at_most: bool
    reached: float
    by_processor: float
    note: str

    def line(self) -> str:
        """Return the row of the table."""
        is_met = self.reached <= self.goal if self.at_most else self.reached >= self.goal
        verdict = "met" if is_met else f"missed by {abs(self.reached / self.goal - 1):.0%}"
        goal = f"{'≤' if self.at_most else '≥'} {self.goal:g}"
        figures = f"{self.reached:.2f} | {self.by_processor:.2f}"
        return f"| {self.work} | {self.measure} | {goal} | {figures} | {verdict} | {self.note} |"


def world(accounts: int, categories: int) -> dict[str, pd.DataFrame]:
    """Return a chart and accounts in another order, of which 1 % differ in name and 1.5 % are on one side alone."""
    ids = np.char.mod("%08d", np.arange(accounts) + 1000).astype(object)
    chart = pd.DataFrame(
        {"company_id": COMPANY, "external_id": ids, "code": ids, "name": ids, "archived": False}
    )
    chart["name"] = "Account " + chart["name"]
    chart["tax_code_external_id"] = "V19"
    known = chart.sample(frac=1, random_state=1).reset_index(drop=True).assign(state="CREATED")
    known["id"] = "id-" + known["external_id"]
    known.loc[::100, "name"] = "renamed"
    chart, known = chart.iloc[: int(accounts * 0.995)], known.iloc[: int(accounts * 0.99)]
    places = np.arange(categories) * 3 % max(len(known), 1)
    used = pd.DataFrame({"account_id": known["id"].to_numpy()[places]})
    used = used.assign(
        id="category", company_id=COMPANY, category_group_id="group", name="Category", archived=False
    )
    numbers = pd.Series(np.arange(categories).astype("str"), dtype="str")
    used["id"], used["name"], used["tax_code_id"] = used["id"] + numbers, used["name"] + numbers, "tax"
    frames = {"chart": chart, "accounts": known, "categories": used}
    return {
        noun: frame.astype({name: "str" for name in frame if name != "archived"})
        for noun, frame in frames.items()
    }


def by_pandas(chart: pd.DataFrame, accounts: pd.DataFrame, categories: pd.DataFrame) -> pd.DataFrame:
    """Return what an analyst would write: a merge, and a row for each field that differs, with both values."""
    merged = by_merge(chart, accounts, categories)
    both = merged[merged["_merge"] == "both"]
    found = []
    for field in FIELDS:
        left, right = both[field], both[f"{field}_service"]
        rows = both[(left != right) & ~(left.isna() & right.isna())]
        found.append(
            pd.DataFrame(
                {"external_id": rows["external_id"], "field": field, "left": rows[field].astype("str")}
            )
        )
        found[-1]["right"] = rows[f"{field}_service"].astype("str")
    sides = {
        side: merged.loc[merged["_merge"] == side, ["external_id"]] for side in ("left_only", "right_only")
    }
    found += [rows.assign(field=side) for side, rows in sides.items()]
    return pd.concat(found, ignore_index=True)


def by_merge(chart: pd.DataFrame, accounts: pd.DataFrame, categories: pd.DataFrame) -> pd.DataFrame:
    """Return the merge alone."""
    return chart.merge(accounts, on=KEY, how="outer", suffixes=("", "_service"), indicator=True)


def by_bktools(chart: pd.DataFrame, accounts: pd.DataFrame, categories: pd.DataFrame) -> pd.DataFrame:
    """Return the findings of all checks, with field and both values."""
    findings: pd.DataFrame = reconcile_accounts(chart, accounts, categories).findings
    return findings


def in_one_form(found: pd.DataFrame) -> list[tuple[str, str, str, str]]:
    """Return rows (external ID, field or side, left, right) of either way, so that they can be compared."""
    if "check" in found:
        sides = {"missing_in_service": "left_only", "missing_in_erp": "right_only"}
        differing = found["check"].str.endswith("_differs")
        found = found[differing | found["check"].isin(list(sides))].assign(
            field=found["field"].where(differing, found["check"].map(sides)), left=found["erp_value"]
        )
        found = found.rename(columns={"service_value": "right"})
    rows = (
        found[["external_id", "field", "left", "right"]].astype("object").fillna("").itertuples(index=False)
    )
    return sorted(tuple(row) for row in rows)


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Return seconds that passed, and of the processor."""
    begin, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter() - begin, after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime


class Peer:
    """datacompy, in a process and a virtual environment of its own, with its frames read before it is measured."""

    def __init__(self, frames: Mapping[str, pd.DataFrame]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="bench-datacompy-")
        folder = Path(self._folder.name)
        for noun in ("chart", "accounts"):
            frames[noun].to_parquet(folder / f"{noun}.parquet")
        venv.create(folder / "env", with_pip=True)
        python = str(folder / "env" / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS], check=True)
        command = [python, str(HERE / "reconcile_by_datacompy.py"), str(folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.versions: str = self._line()["versions"]

    def run(self) -> tuple[float, float]:
        """Compare once and return seconds that passed, and of the processor."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        said = self._line()
        self.rows = said["rows"]
        return said["seconds"], said["processor"]

    def stop(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()
        self._folder.cleanup()

    def _line(self) -> dict[str, object]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("datacompy ended early: its error is above")
        return json.loads(line)


# Accounts on each side, and how many times faster than a pandas merge alone.
SIZES = {1_000_000: 4, 100_000: 2}
FEW = (1_000, 300)


def medians_of(ways: Mapping[str, Callable[[], tuple[float, float]]], rounds: int) -> dict[str, list[float]]:
    """Return the medians of seconds that passed, and of the processor, of ways that are taken in turn."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            taken[name].append(way())
    return {
        name: [statistics.median(side) for side in zip(*runs, strict=True)] for name, runs in taken.items()
    }


def measure_size(accounts: int, goal: float, rounds: int, *, peers: bool) -> tuple[list[Row], str]:
    """Return the rows of a size, and the versions of the peers."""
    frames = world(accounts, 0)
    peer = Peer(frames) if peers else None
    ways: dict[str, Callable[[], tuple[float, float]]] = {
        "pandas merge": lambda: measured(lambda: by_merge(**frames)),
        "pandas": lambda: measured(lambda: by_pandas(**frames)),
        "bktools": lambda: measured(lambda: by_bktools(**frames)),
    }
    if peer:
        ways["datacompy"] = peer.run
    ours, theirs = in_one_form(by_bktools(**frames)), in_one_form(by_pandas(**frames))
    if ours != theirs:
        raise RuntimeError(f"bktools finds {len(ours)} differences and pandas {len(theirs)}, or other ones")
    medians = medians_of(ways, rounds)
    work = f"reconcile {accounts:,} by {accounts:,} accounts"
    note = "; ".join(f"{name} {wall:.3f} s, processor {used:.3f} s" for name, (wall, used) in medians.items())
    wall, used = (medians["pandas merge"][place] / medians["bktools"][place] for place in (0, 1))
    rows = [Row(work, "÷ pandas merge alone, times faster", goal, False, wall, used, f"{note}; {PROFILE}")]
    if not peer:
        return rows, ""
    if peer.rows != len(theirs):
        raise RuntimeError(f"datacompy finds {peer.rows} differences and pandas {len(theirs)}")
    wall, used = (medians["datacompy"][place] / medians["bktools"][place] for place in (0, 1))
    rows.append(Row(work, "÷ datacompy (Polars), times faster", 1, False, wall, used, ""))
    peer.stop()
    return rows, peer.versions


def measure(
    sizes: Mapping[int, float], few: tuple[int, int], rounds: int, *, peers: bool
) -> tuple[list[Row], str]:
    """Return the rows, and the versions of the peers."""
    rows: list[Row] = []
    versions = ""
    for place, (accounts, goal) in enumerate(sizes.items()):
        more, known = measure_size(accounts, goal, rounds, peers=peers and place == 0)
        rows += more
        versions = versions or known
    small = world(*few)
    by_bktools(**small)
    wall, used = (
        figure * 1000
        for figure in medians_of({"": lambda: measured(lambda: by_bktools(**small))}, rounds * 3)[""]
    )
    rows.append(Row(f"reconcile {few[0]:,} accounts, {few[1]:,} categories", "ms", 25, True, wall, used, ""))
    return rows, versions


def write(rows: Sequence[Row], versions: str, *, path: Path = RESULTS) -> None:
    """Write the section of these benchmarks, and leave the others as they are."""
    about = machine("polars", "pandas", "pyarrow") + (f"; peers {versions}" if versions else "")
    lines = [
        "`python tests/benchmarks/run.py reconcile` writes this section.",
        "",
        about,
        "",
        "| work | measure | goal | reached | by processor time | | notes |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *[row.line() for row in rows],
    ]
    write_section(HEADING, "\n".join(lines), path)


def run(*, tiny: bool, peers: bool) -> None:
    """Measure, print the table and write it; a tiny run writes nothing."""
    sizes, few = ({1_000: 2}, (100, 30)) if tiny else (SIZES, FEW)
    rows, versions = measure(sizes, few, 1 if tiny else 5, peers=peers)
    for row in rows:
        print(row.line())
    if not tiny:
        write(rows, versions)
