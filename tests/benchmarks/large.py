"""Work that is larger than memory, and how its cost grows: seconds and peak memory of a process, by number of rows.

Reconciling reads Parquet by DuckDB under 8 GB; composing goes to a folder under 2 GB. Each is a process of its own, and one
whose peak is above the limit ends the benchmark. At the smallest size the result is held against that of
the same work without a limit, to the row. The exponent is that of a power of the number of rows, fitted by least squares.

Run: python tests/benchmarks/run.py large [--tiny].
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from compose import CATEGORIES, uuids
from page import machine, write_section

from bktools.export import compose_export_jobs
from bktools.frames import engine
from bktools.frames.schema import to_arrow
from bktools.reconcile import reconcile_accounts

HEADING = "## Larger than memory"
GB = 1000**3
PIECE = 500_000
COMPANIES = 100

# A count, an ID, and what returns a digest of all rows.
Done: TypeAlias = tuple[int, str, Callable[[], str]]


def write_charts(folder: Path, accounts: int) -> None:
    """Write a chart, accounts in another order of which 1 % differ in name, and categories, in Parquet."""
    company = uuids(COMPANIES, 1).to_pylist()
    order = np.random.default_rng(1).permutation(accounts)
    _in_pieces(folder / "chart.parquet", accounts, lambda places: _accounts(company, places, {}))
    _in_pieces(folder / "accounts.parquet", accounts, lambda places: _known(company, order[places]))
    numbers = np.arange(min(accounts, 30_000)) * 3 % accounts
    ids = pa.array(np.char.add("id-", numbers.astype(str)), pa.large_string())
    categories = {"id": uuids(len(numbers), 2), "company_id": _company(company, numbers), "name": ids}
    archived = pa.array(np.zeros(len(numbers), dtype=bool))
    pq.write_table(pa.table({**categories, "archived": archived, "account_id": ids}), folder / "categories.parquet")


def _in_pieces(path: Path, rows: int, piece_of: Callable[[Any], pa.Table]) -> None:
    parts = [np.arange(begin, min(begin + PIECE, rows)) for begin in range(0, rows, PIECE)]
    with pq.ParquetWriter(path, piece_of(parts[0]).schema, compression="zstd") as writer:
        for places in parts:
            writer.write_table(piece_of(places))


def _company(company: Sequence[str], places: Any) -> pa.Array:
    return pa.array(company, pa.large_string()).take(pa.array(places % len(company)))


def _accounts(company: Sequence[str], places: Any, more: Mapping[str, Any]) -> pa.Table:
    code = pa.array(np.char.mod("%08d", places + 1000), pa.large_string())
    name = pa.array(np.char.add("Account ", places.astype(str)), pa.large_string())
    columns = {"company_id": _company(company, places), "external_id": code, "code": code, "name": name}
    return pa.table(columns | {"archived": pa.array(np.zeros(len(places), dtype=bool))} | more)


def _known(company: Sequence[str], places: Any) -> pa.Table:
    names = np.where(places % 100 == 0, "renamed", np.char.add("Account ", places.astype(str)))
    more = {
        "name": pa.array(names, pa.large_string()),
        "id": pa.array(np.char.add("id-", places.astype(str)), pa.large_string()),
        "state": pa.array(["CREATED"] * len(places), pa.large_string()),
    }
    return _accounts(company, places, more)


def write_entries(folder: Path, entries: int) -> None:
    """Write entries and categories in Parquet; 1 % of the entries are not approved, 2 % of the categories are archived."""
    company, category = uuids(COMPANIES, 2), uuids(COMPANIES * CATEGORIES, 3)

    def piece_of(places: Any) -> pa.Table:
        chance = np.random.default_rng([4, int(places[0])])
        count, of_entry = len(places), chance.integers(0, COMPANIES, len(places))
        cents = pa.array(chance.integers(100, 1_000_000, count)).cast(pa.decimal128(20, 0))
        return pa.table(
            {
                "id": uuids(count, 1000 + int(places[0])),
                "company_id": company.take(pa.array(of_entry)),
                "date": pa.array(chance.integers(20_000, 20_031, count, dtype=np.int32)).cast(pa.date32()),
                "amount": cents.cast(pa.decimal128(38, 2)),
                "currency": pa.array(["EUR", "USD"], pa.large_string()).take(pa.array(chance.integers(0, 2, count))),
                "category_id": category.take(pa.array(of_entry * CATEGORIES + chance.integers(0, CATEGORIES, count))),
                "approved": pa.array(chance.random(count) > 0.01),
            }
        )

    _in_pieces(folder / "entries.parquet", entries, piece_of)
    numbers = np.arange(COMPANIES * CATEGORIES)
    beside = {"id": category, "company_id": company.take(pa.array(numbers // CATEGORIES))}
    archived = {"archived": pa.array(numbers % 50 == 7), "account_id": category}
    pq.write_table(pa.table(beside | archived), folder / "categories.parquet")


def digest(*frames: pd.DataFrame | pa.Table) -> str:
    """Return a digest of all rows of frames, in their order."""
    found = hashlib.sha256()
    for frame in frames:
        found.update("\n".join(map(str, to_arrow(frame).to_pylist())).encode())
    return found.hexdigest()[:20]


def reconcile(folder: Path, *, is_limited: bool) -> Done:
    """Reconcile, from Parquet or from frames; return the findings and actions."""
    if is_limited:
        engine.SETTINGS = {**engine.SETTINGS, "memory_limit": "5GB"}
    paths = [folder / f"{name}.parquet" for name in ("chart", "accounts", "categories")]
    given = paths if is_limited else [pq.read_table(path) for path in paths]
    found = reconcile_accounts(*given)
    return len(found.findings), "", lambda: digest(found.findings, found.actions)


def on_spark(folder: Path, *, is_limited: bool) -> Done:
    """Reconcile by PySpark, or here; return the findings."""
    paths = [folder / f"{name}.parquet" for name in ("chart", "accounts", "categories")]
    if is_limited:
        session = started_spark()
        begin = time.perf_counter()
        found = reconcile_accounts(*[session.read.parquet(str(path)) for path in paths]).findings.toArrow()
        SECONDS.append(time.perf_counter() - begin)
    else:
        found = to_arrow(reconcile_accounts(*paths).findings)
    return len(found), "", lambda: in_any_order(found)


def in_any_order(table: pa.Table) -> str:
    """Return a digest of all rows, whatever their order: a cluster has none."""
    rows = sorted(str({name: row[name] for name in sorted(row)}) for row in table.to_pylist())
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:20]


# What a work took, where its start is not part of it.
SECONDS: list[float] = []


def started_spark() -> Any:
    """Return a Spark session of two workers that is started, Python too."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8", "spark.driver.memory": "3g"}
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.range(1).count()
    return session


def compose(folder: Path, *, is_limited: bool) -> Done:
    """Compose to a folder, or in memory; return the plan."""
    engine.SETTINGS = {**engine.SETTINGS, "max_temp_directory_size": "6GB"}
    where = {"to": folder / "plan"} if is_limited else {}
    plan = compose_export_jobs(folder / "entries.parquet", categories=folder / "categories.parquet", **where)
    return len(plan.batches), plan.plan_id, lambda: digest(plan.entries, plan.not_ready, plan.findings)


@dataclass(frozen=True)
class Work:
    """What is measured: how its files are written, how it runs, and its limit of memory in bytes."""

    write: Callable[[Path, int], None]
    run: Callable[..., Done]
    limit: int
    sizes: tuple[int, ...]
    noun: str


WORKS = {
    "reconcile": Work(
        write_charts, reconcile, 8 * GB, (1_000_000, 2_000_000, 5_000_000, 10_000_000), "accounts on each side, Parquet"
    ),
    "spark": Work(
        write_charts, on_spark, 8 * GB, (1_000, 1_000_000), "accounts on each side, by PySpark after its start"
    ),
    "compose": Work(
        write_entries,
        compose,
        2 * GB,
        (1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000),
        "entries, to a folder",
    ),
}


def run_one(folder: Path, name: str, *, is_limited: bool, compares: bool) -> None:
    """Do one work in this process and print what it took."""
    work = WORKS[name]
    start = time.perf_counter()
    count, name, rows = work.run(folder, is_limited=is_limited)
    taken = SECONDS[0] if SECONDS else time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    # Comparing all rows takes more memory than the work.
    result = [count, name, rows() if compares else ""]
    sys.stdout.write(json.dumps({"seconds": taken, "peak": peak, "result": result}))


def measure(name: str, sizes: Sequence[int], folder: Path | None = None) -> list[dict[str, Any]]:
    """Return seconds, peak and result by size; raise where the limited way does not give the rows of the other one."""
    found = []
    for size in sizes:
        # A cluster returns findings alone, few enough to be compared at every size.
        is_compared = size == sizes[0] or name == "spark"
        with tempfile.TemporaryDirectory(dir=folder) as place:
            WORKS[name].write(Path(place), size)
            ways = {
                way: _in_process(Path(place), name, way, compares=is_compared)
                for way in ("limited", "free")[: 1 + is_compared]
            }
        if is_compared and ways["free"]["result"] != ways["limited"]["result"]:
            raise SystemExit(f"{name}: the limited way gives other rows: {ways}")
        if ways["limited"]["peak"] > WORKS[name].limit:
            raise SystemExit(f"{name} of {size:,}: {ways['limited']['peak']:,} bytes are above the limit")
        found.append({"rows": size, **ways["limited"]})
        print(name, found[-1], flush=True)
    return found


def _in_process(folder: Path, name: str, way: str, *, compares: bool) -> dict[str, Any]:
    command = [
        sys.executable,
        __file__,
        name,
        "--folder",
        str(folder),
        "--way",
        way,
        *(["--compare"] if compares else []),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} ended with {done.returncode}: {done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def exponent(found: Sequence[Mapping[str, Any]]) -> float:
    """Return the power of the number of rows that the seconds grow with."""
    rows, seconds = (np.log([row[name] for row in found]) for name in ("rows", "seconds"))
    return float(np.polyfit(rows, seconds, 1)[0])


def table(measured: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the measurements in Markdown."""
    lines = [
        "`python tests/benchmarks/run.py large` writes this section. At the smallest size all rows are those of the same work",
        "without a limit; the rows of a cluster are compared at every size.",
        "",
        machine("duckdb", "pandas", "pyarrow"),
        "",
        "| work | rows | seconds | peak of the process, MB | limit, MB |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, found in measured.items():
        work = WORKS[name]
        lines += [
            f"| {name}: {work.noun} | {row['rows']:,} | {row['seconds']:.1f} | {row['peak'] / 1e6:,.0f} | {work.limit / 1e6:,.0f} |"
            for row in found
        ]
    grown = [f"{name} {exponent(found):.2f}" for name, found in measured.items() if name != "spark"]
    return "\n".join([*lines, "", f"Seconds grow with the number of rows to the power of: {', '.join(grown)}."])


def run(*, tiny: bool, peers: bool) -> None:
    """Measure, print the table and write it; a tiny run writes nothing."""
    names = ("reconcile", "compose") if tiny else WORKS
    measured = {name: measure(name, (1000, 2000) if tiny else WORKS[name].sizes) for name in names}
    text = table(measured)
    print(text)
    if not tiny:
        write_section(HEADING, text)


def main() -> None:
    """Do one work in this process: each is measured in one of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=WORKS)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--way", choices=("limited", "free"), required=True)
    parser.add_argument("--compare", action="store_true")
    asked = parser.parse_args()
    run_one(asked.folder, asked.name, is_limited=asked.way == "limited", compares=asked.compare)


if __name__ == "__main__":
    main()
