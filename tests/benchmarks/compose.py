"""A plan of export jobs with its findings, against three pandas merges of the same frames, in turn.

Each runs in a process of its own. The merges join entries with categories, accounts and employees and check
nothing. Added memory is the peak above the frames.

Run: python tests/benchmarks/run.py compose [--tiny].
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rows import Row, in_turn

LIBRARIES = ("pandas", "polars", "pyarrow")
CATEGORIES, EMPLOYEES = 240, 60
# Entries, rounds, the goal in milliseconds, and the goal as a multiple of the merges.
SIZES = ((320, 9, 45, None), (100_000, 5, 350, 3.1), (1_000_000, 3, 3500, 1.7))
TINY = ((320, 1, 45, None), (2_000, 1, 350, 3.1))
FRAMES = ("entries", "categories", "accounts", "employees")


def uuids(count: int, seed: int) -> pa.Array:
    """Return random UUIDs as text."""
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    letters = digits[np.random.default_rng(seed).integers(0, 16, (count, 36), dtype=np.uint8)]
    letters[:, [8, 13, 18, 23]] = ord("-")
    data = pa.py_buffer(np.ascontiguousarray(letters))
    offsets = pa.py_buffer(np.arange(0, 36 * count + 1, 36, dtype=np.int64))
    return pa.LargeStringArray.from_buffers(count, offsets, data)


def write_world(folder: Path, entries: int) -> None:
    """Write a company's entries, of which 5 % are not approved, and its lists; 4 % of them are archived."""
    chance = np.random.default_rng(1)
    company = pa.repeat(uuids(1, 2)[0], entries)
    category, account, employee = uuids(CATEGORIES, 3), uuids(CATEGORIES, 4), uuids(EMPLOYEES, 5)
    cents = pc.cast(pa.array(np.exp(chance.normal(8.5, 1.2, entries)).astype("int64")), pa.decimal128(20, 0))
    amount = pc.cast(pc.multiply(cents, pa.scalar("0.01").cast(pa.decimal128(3, 2))), pa.decimal128(38, 2))

    def one_of(values: list[Any] | pa.Array, kind: pa.DataType | None = None) -> pa.Array:
        values = values if isinstance(values, pa.Array) else pa.array(values, kind)
        return values.take(pa.array(chance.integers(0, len(values), entries)))

    table = {
        "id": uuids(entries, 6),
        "company_id": company,
        "date": pa.array(chance.integers(20_727, 20_758, entries, dtype=np.int32)).cast(pa.date32()),
        "amount": amount,
        "currency": one_of(["EUR"] * 9 + ["CHF"], pa.large_string()),
        "category_id": one_of(category),
        "employee_id": one_of(employee),
        "supplier": one_of([f"Supplier {number}" for number in range(400)], pa.large_string()),
        "description": one_of([f"Receipt {number}" for number in range(997)], pa.large_string()),
        "approved": pa.array(chance.random(entries) > 0.05),
    }
    pq.write_table(pa.table(table), folder / "entries.parquet")
    names = pa.array([f"Category {number}" for number in range(CATEGORIES)], pa.large_string())
    is_archived = pa.array(np.arange(CATEGORIES) % 25 == 7)
    own, named = pa.repeat(company[0], CATEGORIES), {"archived": is_archived, "name": names}
    beside = {
        "categories": {"id": category, "company_id": own, "account_id": account} | named,
        "accounts": {"id": account, "code": names, "external_id": names} | named,
        "employees": {"id": employee, "first_name": employee, "last_name": employee, "email": employee},
    }
    for name, columns in beside.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def plan(entries: pd.DataFrame, *, in_words: bool = False, **frames: pd.DataFrame) -> Any:
    """Compose the plan, with its findings as facts, or as a frame with sentences."""
    from bktools.export import compose_export_jobs

    made = compose_export_jobs(entries, **frames, month="2026-10", currency="EUR")
    return len(made.rows), len(made.held), len(made.findings if in_words else made.finding_facts)


def merges(
    entries: pd.DataFrame, categories: pd.DataFrame, accounts: pd.DataFrame, employees: pd.DataFrame
) -> Any:
    """Merge the same frames by pandas."""
    coded = entries.merge(categories.add_prefix("category_"), on="category_id", how="left")
    known = coded.merge(
        accounts.add_prefix("account_"), left_on="category_account_id", right_on="account_id", how="left"
    )
    return len(known.merge(employees.add_prefix("employee_"), on="employee_id", how="left"))


WAYS: dict[str, Callable[..., Any]] = {
    "plan": plan,
    "in words": partial(plan, in_words=True),
    "merges": merges,
}


def run_one(folder: Path, way: str) -> None:
    """Run one way in this process and print what it took: the first and the second call, and MiB."""
    from bktools.frames.schema import to_pandas

    frames = {name: to_pandas(pq.read_table(folder / f"{name}.parquet")) for name in FRAMES}
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    before, seconds = _memory("VmRSS"), []
    for _ in range(2):
        start = time.perf_counter()
        result = WAYS[way](**frames)
        seconds.append(time.perf_counter() - start)
    memory = (_memory("VmHWM") - before) / 1024
    print(json.dumps({"first": seconds[0], "seconds": seconds[1], "memory": memory, "result": result}))


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])


def measure_size(entries: int, rounds: int, milliseconds: float, most: float | None) -> list[Row]:
    """Return the rows of a size; each way runs in processes of its own."""
    results = set()

    def run(folder: str, way: str) -> tuple[float, ...]:
        command = [sys.executable, __file__, "--one", way, "--folder", folder]
        said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        if way != "merges":
            results.add(tuple(said["result"]))
        return said["seconds"], said["first"], said["memory"]

    with tempfile.TemporaryDirectory() as folder:
        write_world(Path(folder), entries)
        figures = in_turn({way: partial(run, folder, way) for way in WAYS}, rounds)
    if len(results) > 1:
        raise RuntimeError(f"the plans do not agree: {results}")
    note = "; ".join(
        f"{way} {seconds * 1000:,.0f} ms (first call {first * 1000:,.0f}), {memory:,.0f} MiB"
        for way, (seconds, first, memory) in figures.items()
    )
    work, seconds = f"plan with findings of {entries:,} entries", figures["plan"][0]
    rows = [Row(work, "ms", seconds * 1000, milliseconds, at_most=True, note=note)]
    if most is not None:
        ratio = seconds / figures["merges"][0]
        rows.append(Row(work, "or time ÷ three pandas merges", ratio, most, at_most=True))
    return rows


def measure(*, tiny: bool, peers: bool) -> list[Row]:
    """Return the rows of the table."""
    return [
        row
        for size, rounds, goal, most in (TINY if tiny else SIZES)
        for row in measure_size(size, rounds, goal, most)
    ]


def main() -> None:
    """Run one way in this process: each is measured in one of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", choices=WAYS, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    asked = parser.parse_args()
    run_one(asked.folder, asked.one)


if __name__ == "__main__":
    main()
