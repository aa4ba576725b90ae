"""Composing export jobs: bktools and pandas in turn, each in a process of its own; median seconds and added memory.

Both check IDs, repeats and the chain entry → category → account, put what is ready into batches of one company by date
and ID with a digest each, and add up totals. Added memory is the peak above what the entries take. pandas has a frame of
the entries that are ready at the end; a plan makes one when it is asked for, which is measured beside.

Run: [BKTOOLS_BEFORE=CHECKOUT] python tests/benchmarks/run.py compose [--tiny]; an earlier checkout runs in turn with them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from page import machine, write_section

from bktools.export import compose_export_jobs
from bktools.frames.schema import to_pandas

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
HEADING = "## Compose"
CATEGORIES = 50  # of a company
FASTER, SMALLER = 2.0, 1.0
SIZE = 500
FEW, MILLISECONDS = 5000, 150


def uuids(count: int, seed: int) -> pa.Array:
    """Return random UUIDs as text."""
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    letters = digits[np.random.default_rng(seed).integers(0, 16, (count, 36), dtype=np.uint8)]
    letters[:, [8, 13, 18, 23]] = ord("-")
    data = pa.py_buffer(np.ascontiguousarray(letters))
    offsets = pa.py_buffer(np.arange(0, 36 * count + 1, 36, dtype=np.int64))
    return pa.LargeStringArray.from_buffers(count, offsets, data)


def write_world(folder: Path, entries: int, companies: int) -> None:
    """Write entries and categories; 1 % of the entries are not approved, 2 % of the categories are archived."""
    chance = np.random.default_rng(1)
    company = uuids(companies, 2)
    of_entry = chance.integers(0, companies, entries)
    category = uuids(companies * CATEGORIES, 3)
    cents = pc.cast(pa.array(chance.integers(100, 1_000_000, entries)), pa.decimal128(38, 0))
    amount = pc.cast(
        pc.multiply(pc.cast(cents, pa.decimal128(20, 0)), pa.scalar(1, pa.decimal128(3, 2))),
        pa.decimal128(38, 2),
        safe=False,
    )
    table = {
        "id": uuids(entries, 4),
        "company_id": company.take(pa.array(of_entry)),
        "date": pa.array(chance.integers(20_000, 20_031, entries, dtype=np.int32)).cast(pa.date32()),
        "amount": amount,
        "currency": pa.array(["EUR", "USD"], pa.large_string()).take(pa.array(chance.integers(0, 2, entries))),
        "category_id": category.take(pa.array(of_entry * CATEGORIES + chance.integers(0, CATEGORIES, entries))),
        "approved": pa.array(chance.random(entries) > 0.01),
    }
    pq.write_table(pa.table(table), folder / "entries.parquet")
    numbers = np.arange(companies * CATEGORIES)
    beside = {
        "id": category,
        "company_id": company.take(pa.array(numbers // CATEGORIES)),
        "archived": pa.array(numbers % 50 == 7),
        "account_id": category,
    }
    pq.write_table(pa.table(beside), folder / "categories.parquet")


def by_bktools(entries: pd.DataFrame, categories: pd.DataFrame) -> tuple[int, int, str]:
    """Compose the plan."""
    plan = compose_export_jobs(entries, categories=categories, max_entries=SIZE)
    return len(plan.batches), len(plan.not_ready), str(plan.totals["amount"].sum())


def by_bktools_with_frame(entries: pd.DataFrame, categories: pd.DataFrame) -> tuple[int, int, str]:
    """Compose the plan and look at its entries."""
    plan = compose_export_jobs(entries, categories=categories, max_entries=SIZE)
    return len(plan.batches), len(entries) - len(plan.entries), str(plan.entries["amount"].sum())


def by_pandas(entries: pd.DataFrame, categories: pd.DataFrame) -> tuple[int, int, str]:
    """Do what an analyst would write: masks, a merge, a sort, groups, a digest a batch."""
    is_uuid = entries["id"].str.fullmatch(UUID)
    coded = entries.merge(
        categories.rename(columns={"id": "category_id", "company_id": "category_company"}), on="category_id", how="left"
    )
    is_ready = is_uuid.to_numpy() & ~entries["id"].duplicated(keep=False).to_numpy() & entries["approved"].to_numpy()
    is_ready &= (coded["category_company"] == coded["company_id"]).to_numpy()
    is_ready &= ~coded["archived"].fillna(value=True).to_numpy(dtype=bool) & coded["account_id"].notna().to_numpy()
    ready = entries[is_ready].sort_values(["company_id", "date", "id"])
    place = ready.groupby("company_id", sort=False).cumcount() // SIZE
    groups = ready.groupby(["company_id", place], sort=False)
    digests = groups["id"].agg(lambda ids: hashlib.sha256("\n".join(ids).encode()).hexdigest()[:20])
    ready = ready.assign(batch_id=digests.to_numpy()[groups.ngroup()])
    batches = groups.agg(entries=("id", "size"), first_date=("date", "min"), last_date=("date", "max"))
    totals = ready.groupby(["company_id", "currency", "category_id"], as_index=False).agg(
        entries=("id", "size"), amount=("amount", "sum")
    )
    return len(batches), int((~is_ready).sum()), str(totals["amount"].sum())


WAYS: dict[str, Callable[[pd.DataFrame, pd.DataFrame], tuple[int, int, str]]] = {
    "bktools": by_bktools,
    "bktools with plan.entries": by_bktools_with_frame,
    "pandas": by_pandas,
}


# The environment variable that names an earlier checkout, and its name in the table.
BEFORE = "BKTOOLS_BEFORE"
EARLIER = "bktools before"


def run_one(folder: Path, way: str) -> None:
    """Run one way in this process and print what it took; memory in MiB."""
    frames = [to_pandas(pq.read_table(folder / f"{name}.parquet")) for name in ("entries", "categories")]
    pa.default_memory_pool().release_unused()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    before = _memory("VmRSS")
    start = time.perf_counter()
    result = WAYS[way](*frames)
    seconds = time.perf_counter() - start
    sys.stdout.write(json.dumps({"seconds": seconds, "memory": (_memory("VmHWM") - before) / 1024, "result": result}))


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])


def measure(entries: int, companies: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return median seconds and MiB of each way, run in turn, and the ratios pandas ÷ bktools."""
    ways = [*WAYS, *([EARLIER] if BEFORE in os.environ else [])]
    taken: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        write_world(Path(folder), entries, companies)
        for _ in range(rounds):
            for way in ways:
                is_earlier = way == EARLIER
                command = [sys.executable, __file__, "--one", "bktools" if is_earlier else way, "--folder", folder]
                environment = os.environ | ({"PYTHONPATH": os.environ[BEFORE]} if is_earlier else {})
                done = subprocess.run(command, check=True, capture_output=True, env=environment)
                taken[way].append(json.loads(done.stdout))
    results = {json.dumps(run["result"]) for runs in taken.values() for run in runs}
    if len(results) > 1:
        raise SystemExit(f"the two ways do not agree: {results}")
    medians = {
        way: {unit: statistics.median(run[unit] for run in runs) for unit in ("seconds", "memory")}
        for way, runs in taken.items()
    }
    ratio = {unit: medians["pandas"][unit] / medians["bktools"][unit] for unit in ("seconds", "memory")}
    return medians | {"pandas / bktools": ratio}


def table(entries: int, companies: int, measured: dict[str, dict[str, float]], few: dict[str, dict[str, float]]) -> str:
    """Return the measurements in Markdown."""
    known = {way: row for way, row in measured.items() if way in {*WAYS, EARLIER}}
    ways = [f"{way} {row['seconds']:.2f} s, {row['memory']:,.0f} MiB" for way, row in known.items()]
    small = [f"{way} {few[way]['seconds'] * 1000:.0f} ms" for way in known]
    ratio, milliseconds = measured["pandas / bktools"], few["bktools"]["seconds"] * 1000
    work = f"compose {entries:,} entries in {companies} companies into batches of {SIZE}"
    speed = "met" if ratio["seconds"] >= FASTER else f"missed by {1 - ratio['seconds'] / FASTER:.0%}"
    memory = "met" if ratio["memory"] >= SMALLER else f"missed by {1 - ratio['memory'] / SMALLER:.0%}"
    feel = "met" if milliseconds < MILLISECONDS else f"missed by {milliseconds / MILLISECONDS - 1:.0%}"
    return f"""`python tests/benchmarks/run.py compose` writes this section.

{machine("duckdb", "pandas", "pyarrow")}

| work | measure | goal | reached | | notes |
| --- | --- | --- | --- | --- | --- |
| {work} | ÷ pandas, times faster | ≥ {FASTER:g} | {ratio["seconds"]:.2f} | {speed} | {"; ".join(ways)} |
| {work} | added memory, pandas ÷ bktools | ≥ {SMALLER:g} | {ratio["memory"]:.2f} | {memory} | the plan holds all entries that are ready, as text |
| compose {FEW:,} entries | milliseconds of the first call after import | < {MILLISECONDS} | {milliseconds:.0f} | {feel} | {"; ".join(small)} |
"""


def run(*, tiny: bool, peers: bool) -> None:
    """Measure, print the table and write it; a tiny run writes nothing."""
    entries, companies, rounds = (3000, 5, 1) if tiny else (5_000_000, 300, 3)
    few = measure(FEW, companies, 1 if tiny else 7)
    text = table(entries, companies, measure(entries, companies, rounds), few)
    print(text)
    if not tiny:
        write_section(HEADING, text)


def main() -> None:
    """Run one way in this process: each is measured in one of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", choices=WAYS, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    asked = parser.parse_args()
    run_one(asked.folder, asked.one)


if __name__ == "__main__":
    main()
