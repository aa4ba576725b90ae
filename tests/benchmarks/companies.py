"""Many companies: one load that three of them fail, and a submission, against what the rate and the jobs allow.

Run: python tests/benchmarks/run.py companies [--tiny].
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from page import machine, write_section

import bktools
from bktools.service import Service
from bktools.service.retry import RetryPolicy
from bktools.service.transport import Limits
from bktools.settings import load_settings

HEADING = "## Many companies"
MINUTE = 60

# Serves a world; three companies fail until a line comes.
SERVER = """
import sys
from bktools.sandbox import Fault, Server
folder, companies, limit, job_seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) or None, float(sys.argv[4])
with Server(folder, companies=companies, categories=40, employees=1, requests_per_minute=limit,
            job_seconds=job_seconds) as server:
    ids = [company.id for company in server.companies()]
    for company in ids:
        server.configure_company(company, has_contra_accounts=True, has_integration=True)
    for company, fault in zip(ids[3:6], ({}, {"status": 403}, {"kind": "latency", "seconds": 600.0})):
        server.inject(Fault(**{"kind": "error", "company": company} | fault))
    print(server.base_url, server.token, *ids, flush=True)
    sys.stdin.readline()
    server.clear_faults()
    print("cleared", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def serving(
    companies: int, limit: int, job_seconds: float = 1.0
) -> Iterator[tuple[subprocess.Popen[str], Any, list[str]]]:
    """Serve a world in a process of its own; give it, the settings of a client, and the companies."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", SERVER, folder, str(companies), str(limit), str(job_seconds)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                url, token, *ids = process.stdout.readline().split()
                folders = {f"{name}_dir": Path(folder) / name for name in ("cache", "data", "sent_log")}
                yield process, load_settings(url, env={}, token=token, requests_per_minute=limit, **folders), ids
            finally:
                process.kill()


def timed(service: Service, ids: list[str]) -> dict[str, Any]:
    """Load once; return seconds of wall and processor, and what came."""
    wall, processor = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(action="ignore"):
        about = bktools.load_categories(ids, on_error="collect", progress=False, service=service).attrs["bktools"]
    return {
        "wall": time.perf_counter() - wall,
        "cpu": 1000 * (time.process_time() - processor) / len(ids),
        "whole": len(about["snapshot"]),
        "errors": [failure["error"] for failure in about.get("failures", [])],
        "asked": about["source"].count("service") + len(about.get("failures", [])),
    }


def load(companies: int, limit: int, read: float) -> dict[str, Any]:
    """Load all companies while three fail, then again when none does."""
    with serving(companies, limit) as (process, settings, ids):
        assert process.stdin is not None
        assert process.stdout is not None
        limits = Limits(read=read)
        with Service(settings, limits=limits, retry=RetryPolicy(longest_pause=max(read, 1.0))) as service:
            first = timed(service, ids)
            # 500 and the one that hangs are asked for five times.
            first["allowed"] = (companies + 8 - 1) // limit * MINUTE
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()
            return {"first": first, "second": timed(service, ids)}


def submit(companies: int, batches: int, job_seconds: float) -> dict[str, Any]:
    """Submit batches of two entries for each company, whose jobs run one after another."""
    with serving(companies, 0, job_seconds) as (process, settings, ids):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        entries = pd.DataFrame(
            {"id": [str(uuid.uuid4()) for _ in range(2 * batches * companies)], "company_id": ids * 2 * batches}
        )
        plan = bktools.compose_export_jobs(entries, max_entries=2)
        with Service(settings) as service:
            begun = time.perf_counter()
            sent = bktools.submit_export_jobs(plan, apply=True, progress=False, service=service)
            return {"wall": time.perf_counter() - begun, "outcomes": sent["outcome"].value_counts().to_dict()}


def measure(companies: int, limit: int, read: float, jobs: tuple[int, int, float]) -> dict[str, Any]:
    """Return all measurements."""
    return {"load": load(companies, limit, read), "submit": submit(*jobs)}


def table(companies: int, limit: int, jobs: tuple[int, int, float], measured: dict[str, Any]) -> str:
    """Return the measurements in Markdown."""
    first, second = measured["load"]["first"], measured["load"]["second"]
    sent, (several, batches, seconds) = measured["submit"], jobs
    over = f"{100 * (first['wall'] / first['allowed'] - 1):.1f}%" if first["allowed"] else "no limit reached"
    return f"""`python tests/benchmarks/run.py companies` writes this section.

{machine("httpx", "starlette")}

{companies:,} companies of 10 categories or more, {limit:,} requests a minute allowed by the service and by the client, the
service a process of its own. Three companies fail: 500, 403, no answer. Goals: the others whole, at most 5% over what the
rate allows, under 20 ms of processor a company, a second load asks for three.

| load | whole | failed | asked for | seconds | allowed by the rate | over | processor a company, ms |
| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |
| first | {first["whole"]:,} | {", ".join(first["errors"])} | {first["asked"]:,} | {first["wall"]:.1f} | {first["allowed"]} | {over} | {first["cpu"]:.1f} |
| second | {second["whole"]:,} | {", ".join(second["errors"]) or "none"} | {second["asked"]:,} | {second["wall"]:.1f} | | | {second["cpu"]:.1f} |

Export jobs of {several} companies, {batches} batches each, {seconds:g} s a job: {sent["wall"]:.1f} s ({sent["outcomes"]}); one
company after another, the jobs alone would take {several * (batches - 1) * seconds:g} s.
"""


def run(*, tiny: bool, peers: bool) -> None:
    """Measure, print the table and write it; a tiny run writes nothing."""
    companies, limit, read = (30, 1000, 0.2) if tiny else (2000, 600, 5.0)
    jobs = (3, 2, 0.1) if tiny else (10, 3, 3.0)
    text = table(companies, limit, jobs, measure(companies, limit, read, jobs))
    print(text)
    if not tiny:
        write_section(HEADING, text)
