"""Ways to read all categories into a Parquet file and a DataFrame, each run in a process of its own.

    python ways.py WAY URL FOLDER RUNS

It prints the median seconds of the runs after the first, and how many rows were read.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

COMPANY = str(uuid.UUID(int=1))
PATH = "/v1/bookkeeping-categories:search"


def bktools_way() -> Callable[[str, Path], object]:
    """Return how bktools does it."""
    from bktools.service import Service
    from bktools.settings import load_settings
    from bktools.snapshots.tables import load_categories

    def run(url: str, folder: Path) -> object:
        settings = load_settings(
            url, env={}, token="t", company=COMPANY, cache_dir=folder, data_dir=folder, requests_per_minute=0
        )
        with Service(settings) as service:
            return len(load_categories(service=service))

    return run


def raw_way(threads: int) -> Callable[[str, Path], object]:
    """Return the least that can be done."""
    import raw_sockets

    return lambda url, folder: raw_sockets.read(url, folder, COMPANY, threads)


def loop_way() -> Callable[[str, Path], object]:
    """Return what an analyst writes: httpx, a list, a DataFrame."""
    import httpx
    import pandas as pd

    def run(url: str, folder: Path) -> object:
        rows: list[dict[str, Any]] = []
        params: dict[str, Any] = {"limit": 1000}
        with httpx.Client(base_url=url, headers={"Authorization": "Bearer t"}, trust_env=False) as client:
            while True:
                answer = (
                    client.post(PATH, params=params, json={"companyId": COMPANY}).raise_for_status().json()
                )
                rows += answer["data"]
                if not answer["pagination"]["hasNextPage"]:
                    break
                params["after"] = answer["pagination"]["endCursor"]
        frame = pd.DataFrame(rows)
        frame.to_parquet(folder / "loop.parquet")
        return len(frame)

    return run


def dlt_way() -> Callable[[str, Path], object]:
    """Return how dlt does it, tuned: Parquet files, large buffers, no nested tables, no telemetry."""
    os.environ |= {
        "RUNTIME__DLTHUB_TELEMETRY": "false",
        "RUNTIME__LOG_LEVEL": "ERROR",
        "DATA_WRITER__BUFFER_MAX_ITEMS": "50000",
        "NORMALIZE__DATA_WRITER__BUFFER_MAX_ITEMS": "50000",
        "NORMALIZE__PARQUET_NORMALIZER__ADD_DLT_LOAD_ID": "false",
    }
    import dlt
    import pyarrow.parquet as pq
    from dlt.sources.rest_api import rest_api_source

    def run(url: str, folder: Path) -> object:
        endpoint = {
            "path": PATH.lstrip("/"),
            "method": "POST",
            "json": {"companyId": COMPANY},
            "params": {"limit": 1000},
            "data_selector": "data",
        }
        pages = {"type": "cursor", "cursor_path": "pagination.endCursor", "cursor_param": "after"}
        client = {"base_url": url, "headers": {"Authorization": "Bearer t"}, "paginator": pages}
        columns = {"metadata": {"data_type": "json"}}
        table = {"name": "categories", "endpoint": endpoint, "columns": columns}
        source = rest_api_source({"client": client, "resources": [table]}, max_table_nesting=0)
        pipeline = dlt.pipeline(
            f"bench_{uuid.uuid4().hex[:8]}",
            pipelines_dir=str(folder / "pipelines"),
            destination=dlt.destinations.filesystem(bucket_url=(folder / "lake").as_uri()),
            dataset_name="bench",
        )
        pipeline.run(source, loader_file_format="parquet")
        files = list((folder / "lake").rglob("categories/*.parquet"))
        return sum(len(pq.read_table(file).to_pandas()) for file in files)

    return run


WAYS: dict[str, Callable[[], Callable[[str, Path], object]]] = {
    "bktools": bktools_way,
    "raw": lambda: raw_way(1),
    "raw-16": lambda: raw_way(16),
    "loop": loop_way,
    "dlt": dlt_way,
}


def main() -> None:
    """Run one way as the command line says."""
    name, url, folder, runs = sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
    run = WAYS[name]()
    taken = []
    for number in range(runs):
        place = folder / str(number)
        place.mkdir()
        begin = time.perf_counter()
        result = run(url, place)
        taken.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": statistics.median(taken[1:] or taken), "rows": str(result)}))


if __name__ == "__main__":
    main()
