"""Attacks on one booking for an entry: kills, flipped bytes, cut files, copies put back, lost disks.

    python tests/submit/attacks.py --kills 1000 --flips 500 --truncations 200 --restores 200

The service is another process on bare sockets, which accepts and then fails in most cases, and counts what it
accepted. The last line of output is a JSON object with the figures. `shared_attacks.py` attacks a journal in
a database.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from honest import printed_commands, typed
from raw_service import accepted_by, faulty_service

import bktools
from bktools.cli.exits import Exit
from bktools.errors import BktoolsError
from bktools.journal.backups import restore
from bktools.journal.journal import Journal
from bktools.service import service as service_module
from bktools.service.transport import Limits

COMPANIES = 3
MOST_LOSSES = 40
BATCH = 2
# Seconds after which the end of a killed sender must be known.
PATIENCE = 10.0

Files = dict[str, bytes]


def new_plan(number: int, *, companies: int = 6, entries: int = 12, batch: int = 4) -> bktools.ExportPlan:
    """Return a plan of some entries of each company; those of another number are others."""
    numbers = range(number * companies * entries, (number + 1) * companies * entries)
    return bktools.compose_export_jobs(entries_of_numbers(numbers, companies), max_entries=batch)


def entries_of_numbers(numbers: range, companies: int) -> pd.DataFrame:
    """Return an entry for each number, of one company after another."""
    ids = [str(uuid.UUID(int=number + 1, version=4)) for number in numbers]
    owners = [str(uuid.UUID(int=2**64 + number % companies, version=4)) for number in numbers]
    return pd.DataFrame({"id": ids, "company_id": owners})


def is_accepted(plan: bktools.ExportPlan, service: bktools.Service) -> bool:
    """Tell whether the journal has all of a plan as accepted."""
    history = bktools.load_export_jobs(service=service).set_index("batch_id")["state"]
    return bool((history.reindex(plan.batches["batch_id"]) == "ACCEPTED").all())


def settle(service: bktools.Service, accepted: dict[str, int]) -> Counter[str]:
    """Settle what is in doubt as the service has it, like a person who looked; return the outcomes."""
    history = bktools.load_export_jobs(entries=True, service=service)
    outcomes: Counter[str] = Counter()
    for batch_id, rows in history[history["state"] == "UNKNOWN"].groupby("batch_id"):
        times = {accepted.get(entry, 0) for entry in rows["entry_id"]}
        outcome = "accepted" if times == {1} else "released"
        told = {"evidence": "the service's count", "by": "Ada"}
        bktools.resolve_export_job(str(batch_id), outcome, service=service, **told)
        outcomes[outcome] += 1
    return outcomes


def judge_and_settle(address: str, service: bktools.Service) -> Counter[str]:
    """Hold the journal against the service, and settle what is in doubt; return the outcomes."""
    accepted = accepted_by(address)
    assert max(accepted.values(), default=0) <= 1, "an entry was accepted twice"
    history = bktools.load_export_jobs(entries=True, service=service)
    # A database notices after a moment that a sender was killed; until then it may be sending.
    end = time.monotonic() + PATIENCE
    while (history["state"] == "SENDING").any() and time.monotonic() < end:
        time.sleep(0.05)
        history = bktools.load_export_jobs(entries=True, service=service)
    for (batch_id, state), rows in history.groupby(["batch_id", "state"]):
        times = {accepted.get(entry, 0) for entry in rows["entry_id"]}
        expected = {"ACCEPTED": ({1},), "UNKNOWN": ({0}, {1}), "SENDING": ()}.get(state, ({0},))
        assert times in expected, f"batch {batch_id} is {state}, its entries were accepted {times} times"
    return settle(service, accepted)


def kills(address: str, count: int, chance: random.Random) -> dict[str, Any]:
    """Kill one or two processes that submit a plan, again and again, until the last plan ends."""
    figures: Counter[str] = Counter()
    with bktools.connect(address, token="t", requests_per_minute=0) as service:
        while figures["kills"] < count:
            plan = new_plan(figures["plans"])
            while not is_accepted(plan, service):
                running = [_forked(plan, service) for _ in range(chance.choice((1, 1, 2)))]
                is_killed = figures["kills"] < count
                if is_killed:
                    time.sleep(chance.uniform(0.0, 0.1))
                for process in running:
                    if is_killed:
                        os.kill(process, signal.SIGKILL)
                    _, status = os.waitpid(process, 0)
                    figures["kills"] += int(os.WIFSIGNALED(status))
                    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
                        raise AssertionError(f"a submission ended with {status}")
                figures += judge_and_settle(address, service)
            figures["plans"] += 1
        states = bktools.load_export_jobs(service=service)["state"].value_counts()
    return {**figures, "states": states.to_dict()}


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


class World:
    """An analyst's folder, the service that counts, and entries that nobody had before."""

    def __init__(self, address: str, folder: Path, chance: random.Random, number: int) -> None:
        self.address = address
        self.chance = chance
        self.figures: Counter[str] = Counter()
        # Of each honest person, the number of commands.
        self.steps: dict[str, list[int]] = {}
        self.folder = folder
        # Far from those of the plans that are killed, and of other worlds.
        self._entries = 10**9 + number * 10**6
        folders = {f"{kind}_dir": folder / kind for kind in ("data", "sent_log")}
        self.service = bktools.connect(address, token="t", requests_per_minute=0, **folders)
        with Journal(self.service.settings) as journal:
            self.path = journal.path

    def entries(self, batches: int) -> pd.DataFrame:
        """Return new entries."""
        numbers = range(self._entries, self._entries + COMPANIES * BATCH * batches)
        self._entries = numbers.stop
        return entries_of_numbers(numbers, COMPANIES)

    def plan(self, batches: int) -> bktools.ExportPlan:
        """Return a plan of new entries."""
        return bktools.compose_export_jobs(self.entries(batches), max_entries=BATCH)

    def submit(self, plan: bktools.ExportPlan) -> str:
        """Submit a plan, and return what was said; only an error of bktools may come back."""
        try:
            sent = bktools.submit_export_jobs(plan, apply=True, wait=0, progress=False, service=self.service)
        except BktoolsError as error:
            self.figures["refused"] += 1
            return str(error)
        except Exception as error:  # noqa: BLE001 - counted, and the run fails for it
            self.figures["foreign errors"] += 1
            return f"{type(error).__name__}: {error}"
        return " ".join(sent["outcome"])

    def finish(self, plan: bktools.ExportPlan) -> None:
        """Bring every entry of a plan to its one booking."""
        for _ in range(200):
            if set(self.submit(plan).split()) == {"ACCEPTED"}:
                return
            settle(self.service, accepted_by(self.address))
        raise AssertionError("the plan does not end")

    def files(self) -> Files:
        """Return the journal's files as they are, while it is open: with the log beside it."""
        paths = {suffix: self._beside(suffix) for suffix in ("", "-wal")}
        return {suffix: path.read_bytes() for suffix, path in paths.items() if path.exists()}

    def put(self, files: Files) -> None:
        """Put files in the place of the journal's, by hand."""
        for suffix in ("", "-wal", "-shm"):
            self._beside(suffix).unlink(missing_ok=True)
        for suffix, data in files.items():
            self._beside(suffix).write_bytes(data)

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)


def flips(world: World, count: int) -> None:
    """Flip a bit of the journal's file: the check finds it, and neither history nor sending is wrong."""
    plan = world.plan(4)
    world.finish(plan)
    whole = world.files()
    history = bktools.load_export_jobs(entries=True, service=world.service)
    for _ in range(count):
        place = world.chance.randrange(len(whole[""]))
        flipped = bytearray(whole[""])
        flipped[place] ^= 1 << world.chance.randrange(8)
        world.put({"": bytes(flipped)})
        world.figures["flips"] += 1
        world.figures["flips found"] += _is_found(world)
        try:
            read = bktools.load_export_jobs(entries=True, service=world.service)
            world.figures["wrong histories"] += not read.equals(history)
        except BktoolsError:
            pass
        except Exception:  # noqa: BLE001 - counted, and the run fails for it
            world.figures["foreign errors"] += 1
        world.submit(plan)
    world.put(whole)


def _is_found(world: World) -> bool:
    try:
        with Journal(world.service.settings) as journal:
            return bool(journal.problems())
    except BktoolsError:
        return True


def truncations(world: World, count: int) -> None:
    """Cut the journal's file or its log at any place: nothing is sent a second time."""
    plan = world.plan(4)
    bktools.load_export_jobs(service=world.service)
    with Journal(world.service.settings):
        # While it is open, the newest events are in the log alone.
        world.finish(plan)
        whole = world.files()
    for _ in range(count):
        which = world.chance.choice(list(whole))
        cut = dict(whole)
        cut[which] = whole[which][: world.chance.randrange(len(whole[which]))]
        world.put(cut)
        world.figures["truncations"] += 1
        world.submit(plan)
        world.put(whole)


def restores(world: World, count: int) -> None:
    """Put older copies back; what the messages say brings everything to one booking."""
    copies: list[Files] = [world.files()]
    done = 0
    while done < count:
        plan = world.plan(1)
        world.submit(plan)
        if world.chance.random() < 0.5:
            settle(world.service, accepted_by(world.address))
        for _ in range(world.chance.choice((0, 1, 2))):
            world.put(world.chance.choice(copies[-6:]))
            done += 1
            world.figures["restores"] += 1
            world.submit(plan)
            # As the message says: keep the copy; the batches that it lacks become UNKNOWN.
            restore(world.service.settings, None, by="Ada")
            world.submit(plan)
        copies.append(world.files())
        world.finish(plan)


def lost_folders(world: World, count: int) -> None:
    """Lose the data folder: a person who types each printed command goes on with the sent log."""
    for _ in range(count):
        plan = world.plan(2)
        world.submit(plan)
        shutil.rmtree(world.folder / "data")
        world.figures["data folders lost"] += 1
        steps, said, is_settled = 0, world.submit(plan), False
        while not is_settled:
            # Where nothing is printed, a person looks at the status.
            commands = printed_commands(said) or [f"export status --environment {world.address}"]
            code, said = typed(_answer(world, commands))
            assert code in {Exit.DONE, Exit.INCOMPLETE}, said
            steps += 1
            is_settled = "UNKNOWN" not in set(bktools.load_export_jobs(service=world.service)["state"])
        world.steps.setdefault("data folder lost, sent log kept", []).append(steps)
        world.finish(plan)


def _answer(world: World, commands: list[str]) -> str:
    """Choose the command that is true: release a batch that was not booked, or accept all that are left."""
    accepted = accepted_by(world.address)
    try:
        history = bktools.load_export_jobs(entries=True, service=world.service)
    except BktoolsError:
        # The journal is not there yet.
        return commands[-1]
    for command in commands:
        batch = re.search(r"export resolve (\w+)", command)
        if batch and not {*history.loc[history["batch_id"] == batch[1], "entry_id"]} & {*accepted}:
            return command.replace("--outcome accepted", "--outcome released")
    return commands[-1]


def new_disks(world: World, count: int) -> None:
    """Lose everything but backups: one goes back with evidence alone, and what was sent since is left out."""
    for number in range(count):
        entries = world.entries(2)
        halves = entries.iloc[: len(entries) // 2], entries
        backups: list[tuple[Path, dict[str, int]]] = []
        for half in halves:
            world.submit(bktools.compose_export_jobs(half, max_entries=BATCH))
            if world.chance.random() < 0.5:
                settle(world.service, accepted_by(world.address))
            backup = world.folder / f"backup-{number}-{len(backups)}.sqlite"
            with Journal(world.service.settings) as journal:
                journal.backup(backup)
            backups.append((backup, accepted_by(world.address)))
        if world.chance.random() < 0.5:
            backups.pop()
        for name in ("data", "sent_log"):
            shutil.rmtree(world.folder / name)
        world.figures["new disks"] += 1
        backup, known = world.chance.choice(backups)
        code, said = typed(f"journal restore {backup} --environment {world.address} --by Ada")
        world.figures["restored without a word"] += code is not None
        steps = 2
        if accepted_by(world.address) != known:
            # The accounting system shows later exports: they are left out after the newest backup.
            backup, known = backups[-1]
            _, said = typed(f"journal restore {backup} --environment {world.address} --by Ada")
            steps += 1
        code, said = typed(printed_commands(said)[0])
        assert code == Exit.DONE, said
        world.steps.setdefault("new disk, no sent log", []).append(steps)
        since = {entry for entry in accepted_by(world.address) if entry not in known}
        settle(world.service, accepted_by(world.address))
        left = entries[~entries["id"].isin(since)]
        world.finish(bktools.compose_export_jobs(left, max_entries=BATCH))


def losses_of(count: int) -> list[int]:
    """Return the losses of each world: each one puts all earlier batches without a job in doubt again."""
    return [min(MOST_LOSSES, count - first) for first in range(0, count, MOST_LOSSES)]


def attacked(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Run the attacks, and yield the figures."""
    chance = random.Random(arguments.seed)
    figures: Counter[str] = Counter()
    steps: dict[str, list[int]] = {}
    attacks = [(flips, arguments.flips), (truncations, arguments.truncations), (restores, arguments.restores)]
    attacks += [(lost_folders, count) for count in losses_of(arguments.restores)]
    attacks += [(new_disks, arguments.restores)]
    with world_of(arguments.seed) as (address, folder):
        os.environ |= {"BKTOOLS_CACHE_DIR": str(folder / "cache")}
        os.environ |= {"BKTOOLS_BASE_URL": address, "BKTOOLS_TOKEN": "t"}
        for number, (attack, count) in enumerate(attacks):
            _work_in(folder / str(number))
            world = World(address, folder / str(number), chance, number)
            attack(world, count)
            figures.update(world.figures)
            for person, of_each in world.steps.items():
                steps.setdefault(person, []).extend(of_each)
            print(f"{attack.__name__}: {json.dumps(world.figures)}", file=sys.stderr, flush=True)
        _work_in(folder / "kills")
        killed = kills(address, arguments.kills, chance)
        accepted = accepted_by(address)
    report = {"foreign errors": 0, "wrong histories": 0, "restored without a word": 0, **figures}
    report["most steps"] = {person: max(of_each) for person, of_each in steps.items()}
    report |= {"entries": len(accepted), "doubles": sum(times > 1 for times in accepted.values())}
    yield report | {"killed": killed}


@contextmanager
def world_of(seed: int) -> Iterator[tuple[str, Path]]:
    """Start a service that fails, in a process of its own; give its address and an empty folder."""
    service_module.limits_of = lambda *_, **__: Limits(connect=5.0, read=0.15, whole=5.0)
    with faulty_service(seed) as address, tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.toml").touch()
        os.environ |= {"BKTOOLS_CONFIG": f"{folder}/config.toml"}
        yield address, Path(folder)


def _work_in(folder: Path) -> None:
    os.environ |= {f"BKTOOLS_{kind.upper()}_DIR": str(folder / kind) for kind in ("data", "sent_log")}


def program(attacked: Callable, about: str | None, wrong: tuple[str, ...], **defaults: int) -> int:
    """Run attacks as often as the command says, print the figures, and fail where something is wrong."""
    parser = argparse.ArgumentParser(description=about)
    for name, default in (defaults | {"seed": 1}).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    report = next(attacked(parser.parse_args()))
    print(json.dumps(report))
    is_wrong = any(report[name] for name in ("doubles", "foreign errors", *wrong))
    return int(is_wrong or report.get("flips found", 0) != report.get("flips", 0))


if __name__ == "__main__":
    how_often = {"kills": 1000, "flips": 500, "truncations": 200, "restores": 200}
    sys.exit(program(attacked, __doc__, ("wrong histories", "restored without a word"), **how_often))
