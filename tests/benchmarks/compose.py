"""Composing export jobs: bktools and pandas in turn, each in a process of its own; median seconds and added memory.

Both check IDs, repeats and the chain entry → category → account, put what is ready into batches of one company by date
and ID with a digest each, and add up totals. Added memory is the peak above what the entries take.

Run: python tests/benchmarks/compose.py --entries 5000000 --companies 300 --rounds 3
"""

from __future__ import annotations

import argparse
import hashlib
import json
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

from bktools.export import compose_export_jobs
from bktools.frames.schema import to_pandas

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
CATEGORIES = 50  # of a company
SIZE = 500


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
    "pandas": by_pandas,
}


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
    taken: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        write_world(Path(folder), entries, companies)
        for _ in range(rounds):
            for way in WAYS:
                command = [sys.executable, __file__, "--one", way, "--folder", folder]
                taken[way].append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    results = {json.dumps(run["result"]) for runs in taken.values() for run in runs}
    if len(results) > 1:
        raise SystemExit(f"the two ways do not agree: {results}")
    medians = {
        way: {unit: statistics.median(run[unit] for run in runs) for unit in ("seconds", "memory")}
        for way, runs in taken.items()
    }
    ratio = {unit: medians["pandas"][unit] / medians["bktools"][unit] for unit in ("seconds", "memory")}
    return medians | {"pandas / bktools": ratio}


def main() -> None:
    """Measure as the command line says and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=5_000_000)
    parser.add_argument("--companies", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", choices=WAYS)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.one:
        run_one(asked.folder, asked.one)
        return
    for way, row in measure(asked.entries, asked.companies, asked.rounds).items():
        sys.stdout.write(f"{way:<18} {row['seconds']:>8.2f} s {row['memory']:>9.1f} MiB\n")


if __name__ == "__main__":
    main()
