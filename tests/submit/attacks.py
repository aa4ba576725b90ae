"""Attacks on one booking for an entry: kills, sleep, flipped bytes, cut files, old copies, lost disks, locks.

    python tests/submit/attacks.py --kills 1000 --flips 500 --truncations 200 --restores 200

The service is another process on bare sockets, which accepts and then fails in most cases, also like a
gateway that answers JSON, says in milliseconds when its jobs end, and counts what it accepted. The last line
of output is a JSON object with the figures. `shared_attacks.py` attacks a journal in a database.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import random
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
from unittest.mock import patch

import pandas as pd
from clocks import DAY, Clock, set_clock
from honest import WORD, filled, has_placeholder, printed_commands, say, settle, typed, unknown_to
from raw_service import accepted_by, faulty_service

import bktools
from bktools.cli.exits import Exit
from bktools.errors import BktoolsError, StorageError
from bktools.journal import attempts
from bktools.journal.journal import Journal
from bktools.journal.right_journal import problems
from bktools.service import service as service_module
from bktools.service.transport import Limits

COMPANIES = 3
BATCH = 2
# Seconds after which the end of a killed sender must be known.
PATIENCE = 10.0
# Seconds after which an intent of these senders is too old; they sleep about as long.
MOST_AGE = 0.5

# How a sender ends; another code is an error that is not of bktools.
ENDED, REFUSED, OUTCOME_TOLD = 0, 3, 4
ENDS = {ENDED: "ended", REFUSED: "refused", OUTCOME_TOLD: "outcomes told"}

# A person's word that nobody else exports; it is true of each of these worlds.
FIRST = {"first_export": True, "by": "Ada"}

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


def judge_and_settle(address: str, service: bktools.Service, clock: Clock) -> Counter[str]:
    """Hold the journal against the service, and settle what is in doubt on the next day."""
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
    clock.ahead += DAY
    return Counter(settle(service, accepted))


def forked(plan: bktools.ExportPlan, service: bktools.Service) -> int:
    """Submit a plan in a process of its own; return its number."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        # What the journal tells about cut connections is not for this output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        bktools.submit_export_jobs(plan, apply=True, wait=0, progress=False, service=service, **FIRST)
        code = ENDED
    except StorageError as error:
        code = OUTCOME_TOLD if "the journal could not be written" in str(error) else REFUSED
    except BktoolsError:
        code = REFUSED
    finally:
        os._exit(code)


def kills(address: str, count: int, chance: random.Random, clock: Clock) -> dict[str, Any]:
    """Kill or stop one or two processes that submit a plan, again and again, until the last plan ends."""
    figures: Counter[str] = Counter()
    with bktools.connect(address, token="t", requests_per_minute=0) as service:
        while figures["kills"] < count:
            plan = new_plan(figures["plans"])
            while not is_accepted(plan, service):
                running = [forked(plan, service) for _ in range(chance.choice((1, 1, 2)))]
                is_hit, sleeps = figures["kills"] < count, chance.random() < 0.25
                if is_hit:
                    time.sleep(chance.uniform(0.0, 0.1))
                if is_hit and sleeps:
                    figures["sleepers"] += asleep(running, chance.uniform(0.0, 2 * MOST_AGE))
                for process in running:
                    if is_hit and not sleeps:
                        os.kill(process, signal.SIGKILL)
                    _, status = os.waitpid(process, 0)
                    figures["kills"] += int(os.WIFSIGNALED(status))
                    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
                        raise AssertionError(f"a submission ended with {status}")
                figures += judge_and_settle(address, service, clock)
            figures["plans"] += 1
        states = bktools.load_export_jobs(service=service)["state"].value_counts()
    return {**figures, "states": states.to_dict()}


def asleep(running: list[int], seconds: float) -> int:
    """Stop processes, and let them go on after some seconds; return how many were stopped."""
    for process in running:
        os.kill(process, signal.SIGSTOP)
    time.sleep(seconds)
    for process in running:
        os.kill(process, signal.SIGCONT)
    return len(running)


class World:
    """An analyst's folder, the service that counts, and entries that nobody had before."""

    def __init__(self, address: str, folder: Path, chance: random.Random, number: int, clock: Clock) -> None:
        self.address, self.folder, self.chance, self.clock = address, folder, chance, clock
        self.figures: Counter[str] = Counter()
        # The commands of the honest person, by attack.
        self.steps: dict[str, list[int]] = {}
        # Far from those of the plans that are killed, and of other worlds.
        self._entries = 10**9 + number * 10**6
        folders = {f"{kind}_dir": folder / kind for kind in ("data", "sent_log")}
        self.service = bktools.connect(address, token="t", requests_per_minute=0, **folders)
        with Journal(self.service.settings) as journal:
            assert journal.path is not None
            self.path = journal.path

    def entries(self, batches: int) -> pd.DataFrame:
        """Return new entries."""
        numbers = range(self._entries, self._entries + COMPANIES * BATCH * batches)
        self._entries = numbers.stop
        return entries_of_numbers(numbers, COMPANIES)

    def submit(self, entries: pd.DataFrame) -> str:
        """Submit entries, and return all messages; only an error of bktools may come back."""
        plan = bktools.compose_export_jobs(entries, max_entries=BATCH)
        try:
            options = {"apply": True, "wait": 0, "progress": False, **FIRST}
            sent = bktools.submit_export_jobs(plan, service=self.service, **options)
        except BktoolsError as error:
            self.figures["refused"] += 1
            return str(error)
        except Exception as error:  # noqa: BLE001 - counted, and the run fails for it
            self.figures["foreign errors"] += 1
            return f"{type(error).__name__}: {error}"
        return "\n".join(f"{row.outcome} {row.message}" for row in sent.itertuples())

    def finish(self, entries: pd.DataFrame, name: str = "") -> None:
        """Bring every entry to its one booking: commands of the messages, looks at the books, and days."""
        commands = 0
        for _ in range(200):
            left = unknown_to(self.service, entries)
            if left.empty:
                break
            text = self.submit(left)
            self.paste(text)
            for command in printed_commands(text):
                if command.startswith(("journal restore", "journal rename")):
                    code, said = typed(filled(command))
                    assert code == Exit.DONE, said
                    commands += 1
                    break
            self.clock.ahead += DAY
            booked = accepted_by(self.address)
            try:
                settle(self.service, booked)
                say(self.service, entries, booked)
            except BktoolsError:
                self.figures["refused"] += 1
        else:
            raise AssertionError(f"the entries do not end: {text}")
        states = {*bktools.load_export_jobs(service=self.service)["state"]}
        self.figures["waiting at the end"] += bool({"UNKNOWN", "SENDING"} & states)
        if name:
            self.steps.setdefault(name, []).append(commands)

    def paste(self, text: str) -> None:
        """Paste each printed command as it stands: one with a placeholder changes nothing."""
        for command in {*printed_commands(text)}:
            if not has_placeholder(command):
                continue
            before = self.events()
            code, _ = typed(command)
            self.figures["placeholders pasted"] += 1
            self.figures["placeholders believed"] += code == Exit.DONE or self.events() != before

    def events(self) -> int:
        """Return the number of the journal's events, 0 where it cannot be read."""
        try:
            with Journal(self.service.settings) as journal:
                return journal.last_event()["event_id"]
        except BktoolsError:
            return 0

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
    entries = world.entries(4)
    world.finish(entries)
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
        world.submit(entries)
    world.put(whole)


def _is_found(world: World) -> bool:
    try:
        with Journal(world.service.settings) as journal:
            return bool(problems(journal))
    except BktoolsError:
        return True


def truncations(world: World, count: int) -> None:
    """Cut the journal's file or its log at any place: nothing is sent a second time."""
    entries = world.entries(4)
    bktools.load_export_jobs(service=world.service)
    with Journal(world.service.settings):
        # While it is open, the newest events are in the log alone.
        world.finish(entries)
        whole = world.files()
    for _ in range(count):
        which = world.chance.choice(list(whole))
        cut = dict(whole)
        cut[which] = whole[which][: world.chance.randrange(len(whole[which]))]
        world.put(cut)
        world.figures["truncations"] += 1
        world.submit(entries)
        world.put(whole)


def restores(world: World, count: int) -> None:
    """Put older copies back; the printed command and a look at the books bring all to one booking."""
    world.finish(world.entries(1))
    copies: list[Files] = [world.files()]
    for _ in range(count):
        entries = world.entries(1)
        world.submit(entries)
        if world.chance.random() < 0.5:
            world.clock.ahead += DAY
            settle(world.service, accepted_by(world.address))
        world.put(world.chance.choice(copies[-6:]))
        world.figures["restores"] += 1
        world.finish(entries, "old copy")
        copies.append(world.files())


def lost_folders(world: World, count: int) -> None:
    """Lose the data folder: a person who types the printed command goes on with an empty journal."""
    for _ in range(count):
        entries = world.entries(2)
        world.submit(entries)
        shutil.rmtree(world.folder / "data")
        world.figures["data folders lost"] += 1
        world.finish(entries, "data folder lost")


def new_disks(world: World, count: int) -> None:
    """Lose everything but backups: the new computer is a newcomer, until a later look at the books."""
    for number in range(count):
        entries = world.entries(2)
        backups = []
        for half in (entries.iloc[: len(entries) // 2], entries):
            world.submit(half)
            backups.append(world.folder / f"backup-{number}-{len(backups)}.sqlite")
            with Journal(world.service.settings) as journal:
                journal.backup(backups[-1])
        for name in ("data", "sent_log"):
            shutil.rmtree(world.folder / name)
        world.figures["new disks"] += 1
        command = f"journal restore {world.chance.choice(backups)} --environment {world.address}"
        code, _ = typed(f"{command} --by Ada")
        world.figures["restored without a word"] += code in {Exit.DONE, Exit.INCOMPLETE}
        code, said = typed(f'{command} --by Ada --evidence "{WORD["evidence"]}"')
        assert code in {Exit.DONE, Exit.INCOMPLETE}, said
        world.finish(entries, "new disk")


def renamed(world: World, count: int) -> None:
    """Change name and address of the environment together: the companies are known, and nothing is sent."""
    for number in range(count):
        entries = world.entries(1)
        world.finish(entries)
        before = accepted_by(world.address)
        # The service answers on every path.
        address = f"{world.address}/v{number}"
        folders = {f"{kind}_dir": world.folder / kind for kind in ("data", "sent_log")}
        with bktools.connect(address, token="t", requests_per_minute=0, **folders) as service:
            plan = bktools.compose_export_jobs(entries, max_entries=BATCH)
            sent = bktools.submit_export_jobs(plan, apply=True, wait=0, progress=False, service=service)
        world.figures["renamed"] += 1
        is_asked = set(sent["outcome"]) == {"BLOCKED"} and "journal rename" in sent["message"][0]
        world.figures["renamed without a question"] += not is_asked or accepted_by(world.address) != before


def lying_locks(world: World, count: int) -> None:
    """Let the drive's locks fail, or hold nothing: nothing is sent, and the message names the drive."""
    fails = OSError(37, "No locks available")
    for _ in range(count):
        entries = world.entries(1)
        before = accepted_by(world.address)
        with patch.object(fcntl, "flock", side_effect=world.chance.choice((None, fails))):
            text = world.submit(entries)
        world.figures["lying locks"] += 1
        is_named = "does not lock files" in text and accepted_by(world.address) == before
        world.figures["lying locks believed"] += not is_named
        world.finish(entries)


ATTACKS = {
    "flips": (flips,),
    "truncations": (truncations,),
    "restores": (restores, lost_folders, new_disks, renamed, lying_locks),
}
WRONG = ("wrong histories", "restored without a word", "placeholders believed", "waiting at the end")
WRONG += ("renamed without a question", "lying locks believed")


def attacked(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Run the attacks, and yield the figures."""
    chance = random.Random(arguments.seed)
    figures: Counter[str] = Counter()
    steps: dict[str, list[int]] = {}
    with world_of(arguments.seed) as (address, folder, clock):
        os.environ |= {"BKTOOLS_CACHE_DIR": str(folder / "cache")}
        os.environ |= {"BKTOOLS_BASE_URL": address, "BKTOOLS_TOKEN": "t"}
        of_each = [(attack, name) for name, attacks in ATTACKS.items() for attack in attacks]
        for number, (attack, name) in enumerate(of_each):
            _work_in(folder / str(number))
            world = World(address, folder / str(number), chance, number, clock)
            attack(world, getattr(arguments, name))
            figures.update(world.figures)
            steps |= world.steps
            tell(attack.__name__, address, world.figures)
        _work_in(folder / "kills")
        killed = kills(address, arguments.kills, chance, clock)
        entries, twice = len(accepted_by(address)), doubles(address)
    report = {"foreign errors": 0, **dict.fromkeys(WRONG, 0), **figures}
    report["most steps"] = {person: max(commands) for person, commands in steps.items()}
    yield report | {"entries": entries, "doubles": twice, "killed": killed}


def tell(attack: str, address: str, figures: Counter[str]) -> None:
    """Print the figures of an attack when it ends, with the doubles until then."""
    told = {"doubles": doubles(address), **figures}
    print(f"{attack}: {json.dumps(told)}", file=sys.stderr, flush=True)


def doubles(address: str) -> int:
    """Return how many entries the service has booked more than once."""
    return sum(times > 1 for times in accepted_by(address).values())


@contextmanager
def world_of(seed: int) -> Iterator[tuple[str, Path, Clock]]:
    """Start a service that fails, in a process of its own; give its address, an empty folder and a clock."""
    service_module.limits_of = lambda *_, **__: Limits(connect=5.0, read=0.15, whole=5.0)
    attempts.MOST_AGE = MOST_AGE
    with faulty_service(seed) as address, tempfile.TemporaryDirectory() as folder, set_clock() as clock:
        (Path(folder) / "config.toml").touch()
        os.environ |= {"BKTOOLS_CONFIG": f"{folder}/config.toml"}
        yield address, Path(folder), clock


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
    sys.exit(program(attacked, __doc__, WRONG, **how_often))
