"""Attacks on a journal that three machines share: kills of senders, cut connections to the database, and restores of it.

A program of its own: `python tests/submit/shared_attacks.py --kills 1000 --cuts 200 --restores 50`. It starts a PostgreSQL server of its
own. The service is another process, which accepts and then fails in most cases, and counts what it accepted. The machines
are three data folders, each with a sent log of its own, whose processes send the same plans at the same time. The last line of
output is a JSON object with the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import kill_worker  # noqa: E402
import restore_attacks  # noqa: E402
from postgres_server import Server, server  # noqa: E402

import bktools  # noqa: E402
from bktools.errors import BktoolsError, StorageError  # noqa: E402
from bktools.service import service as service_module  # noqa: E402
from bktools.service.transport import Limits  # noqa: E402

MACHINES = 3

SENDING = "SELECT 1 FROM bktools.batches WHERE state = 'SENDING'"

# How a sender ends; another code is an error that is not of bktools.
ENDED, REFUSED, OUTCOME_TOLD = 0, 3, 4


def forked(plan: bktools.ExportPlan, service: bktools.Service) -> int:
    """Submit a plan in a process of its own; return its number."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        # What the journal tells about cut connections is not for this output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        bktools.submit_export_jobs(plan, apply=True, wait=0, progress=False, service=service)
        code = ENDED
    except StorageError as error:
        code = OUTCOME_TOLD if "the journal could not be written" in str(error) else REFUSED
    except BktoolsError:
        code = REFUSED
    finally:
        os._exit(code)


def ends(running: set[int], figures: Counter[str]) -> None:
    """Count the processes that have ended."""
    for process in list(running):
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            running.discard(process)
            figures["kills"] += int(os.WIFSIGNALED(status))
            if os.WIFEXITED(status):
                code = os.WEXITSTATUS(status)
                figures[
                    {ENDED: "ended", REFUSED: "refused", OUTCOME_TOLD: "outcomes told"}.get(
                        code, "foreign errors"
                    )
                ] += 1


def await_moment(postgres: Server, database: str, chance: random.Random) -> None:
    """Wait for a random time, in half of all cases until a batch is between its intent and its outcome."""
    end = time.monotonic() + chance.uniform(0.0, 0.4)
    if chance.random() < 0.5:
        end += 2
        while time.monotonic() < end and not postgres.sql(SENDING, database):
            time.sleep(0.005)
        end = time.monotonic() + chance.uniform(0.0, 0.05)
    time.sleep(max(end - time.monotonic(), 0))


def attack(
    postgres: Server,
    database: str,
    services: list[bktools.Service],
    address: str,
    arguments: argparse.Namespace,
) -> Counter[str]:
    """Kill and cut until it is enough, then let the last plan end."""
    chance = random.Random(arguments.seed)
    figures: Counter[str] = Counter()
    while figures["kills"] < arguments.kills or figures["cuts"] < arguments.cuts:
        plan = kill_worker._plan(figures)
        while not kill_worker._is_done(plan, services[0]):
            senders = chance.sample(services, chance.choice((1, 2, 3)))
            running = {forked(plan, sender) for sender in senders}
            wanted = [name for name in ("kills", "cuts") if figures[name] < getattr(arguments, name)]
            what = chance.choice(wanted) if wanted else ""
            if what == "kills":
                await_moment(postgres, database, chance)
                for process in running:
                    os.kill(process, signal.SIGKILL)
            while running:
                if what == "cuts" and figures["cuts"] < arguments.cuts:
                    await_moment(postgres, database, chance)
                    figures["cuts"] += postgres.cut(database)
                time.sleep(0.01)
                ends(running, figures)
            kill_worker._judge_and_settle(address, chance.choice(services), figures)
        figures["plans"] += 1
    return figures


def main(arguments: argparse.Namespace) -> int:
    """Run the attacks, print the figures, and fail where one of them is not as it must be."""
    service_module.limits_of = lambda *_, **__: Limits(connect=5.0, read=0.15, whole=5.0)
    began = time.monotonic()
    with ExitStack() as stack:
        raw = stack.enter_context(
            subprocess.Popen(
                [sys.executable, str(HERE / "raw_service.py"), str(arguments.seed)],
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        stack.callback(raw.kill)
        assert raw.stdout is not None
        address = raw.stdout.readline().strip()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "config.toml").touch()
        os.environ |= {"BKTOOLS_CONFIG": str(folder / "config.toml")}
        postgres = stack.enter_context(server())
        database = stack.enter_context(postgres.database())
        services = [
            stack.enter_context(
                bktools.connect(
                    address,
                    token="t",
                    requests_per_minute=0,
                    journal=postgres.address(database),
                    **{f"{name}_dir": folder / str(number) / name for name in ("data", "cache", "sent_log")},
                )
            )
            for number in range(MACHINES)
        ]
        figures = attack(postgres, database, services, address, arguments)
        accepted = kill_worker._accepted(address)
        states = bktools.load_export_jobs(service=services[0])["state"].value_counts().to_dict()
        restored = stack.enter_context(postgres.database())
        restores = restore_attacks.attack(
            postgres, restored, address, folder / "restores", restores=arguments.restores, seed=arguments.seed
        )
    report = {"foreign errors": 0, **figures, "entries": len(accepted), "states": states}
    report |= {"doubles": sum(times > 1 for times in accepted.values()), "answers lost": 0, **restores}
    report["seconds"] = round(time.monotonic() - began)
    print(json.dumps(report))
    return 0 if report["doubles"] == report["foreign errors"] == report["answers lost"] == 0 else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("kills", 1000), ("cuts", 200), ("restores", 50), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    sys.exit(main(parser.parse_args()))
