"""Submissions that are killed, again and again, and in between what a person says who looked.

Each round forks one or two processes that submit the same plan, and kills them at random instants. Then the service is
asked what it accepted, the journal is held against it, and what is in doubt is settled as the service has it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
import urllib.request
import uuid
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pandas as pd

import bktools
from bktools.service import service as service_module
from bktools.service.transport import Limits

# A plan of three batches for each company, so that a round ends soon.
COMPANIES = 6
ENTRIES = 12  # of a company and a plan
BATCH = 4
# Seconds after which the end of a killed sender must be known.
PATIENCE = 10.0


def killed(address: str, kills: int, seed: int) -> Iterator[dict[str, Any]]:
    """Kill until it is enough, and let the last plan end; yield the figures."""
    warnings.simplefilter("error")
    service_module.limits_of = lambda *_, **__: Limits(connect=5.0, read=0.15, whole=5.0)
    chance = random.Random(seed)
    figures: Counter[str] = Counter()
    with bktools.connect(address, token="t", requests_per_minute=0) as service:
        while figures["kills"] < kills:
            plan = _plan(figures)
            while not _is_done(plan, service):
                running = [_forked(plan, service) for _ in range(chance.choice((1, 1, 2)))]
                is_killed = figures["kills"] < kills
                if is_killed:
                    time.sleep(chance.uniform(0.0, 0.1))
                for process in running:
                    if is_killed:
                        os.kill(process, signal.SIGKILL)
                    _, status = os.waitpid(process, 0)
                    figures["kills"] += int(os.WIFSIGNALED(status))
                    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
                        raise AssertionError(f"a submission ended with {status}")
                _judge_and_settle(address, service, figures)
            figures["plans"] += 1
        accepted = _accepted(address)
        figures["entries"] = len(accepted)
        figures["requests_of_entries"] = sum(accepted.values())
        states = bktools.load_export_jobs(service=service)["state"].value_counts()
    yield {**figures, "states": states.to_dict()}


def _plan(figures: Counter[str]) -> bktools.ExportPlan:
    first = figures["plans"] * COMPANIES * ENTRIES
    numbers = range(first, first + COMPANIES * ENTRIES)
    entries = pd.DataFrame(
        {
            "id": [str(uuid.UUID(int=number + 1, version=4)) for number in numbers],
            "company_id": [str(uuid.UUID(int=number % COMPANIES + 1, version=4)) for number in numbers],
        }
    )
    return bktools.compose_export_jobs(entries, max_entries=BATCH)


def _is_done(plan: bktools.ExportPlan, service: bktools.Service) -> bool:
    history = bktools.load_export_jobs(service=service).set_index("batch_id")["state"]
    return (history.reindex(plan.batches["batch_id"]) == "ACCEPTED").all()


def _forked(plan: bktools.ExportPlan, service: bktools.Service) -> int:
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        bktools.submit_export_jobs(plan, apply=True, wait=0, service=service)
        code = 0
    finally:
        os._exit(code)


def _accepted(address: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{address}/accepted") as answer:
        return json.load(answer)


def _judge_and_settle(address: str, service: bktools.Service, figures: Counter[str]) -> None:
    """Hold the journal against the service, and settle what is in doubt as the service has it."""
    accepted = _accepted(address)
    assert max(accepted.values(), default=0) <= 1, "an entry was accepted twice"
    history = bktools.load_export_jobs(entries=True, service=service)
    # A database notices after a moment that a sender was killed; until then it may be sending.
    end = time.monotonic() + PATIENCE
    while (history["state"] == "SENDING").any() and time.monotonic() < end:
        time.sleep(0.05)
        history = bktools.load_export_jobs(entries=True, service=service)
    for batch_id, rows in history.groupby("batch_id"):
        state = rows["state"].iloc[0]
        times = {accepted.get(entry, 0) for entry in rows["entry_id"]}
        expected = {"ACCEPTED": ({1},), "UNKNOWN": ({0}, {1}), "SENDING": ()}.get(state, ({0},))
        assert times in expected, f"batch {batch_id} is {state}, its entries were accepted {times} times"
        if state == "UNKNOWN":
            outcome = "accepted" if times == {1} else "released"
            figures[outcome] += 1
            bktools.resolve_export_job(
                batch_id, outcome, evidence="the service's count", by="Ada", service=service
            )
