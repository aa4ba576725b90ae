"""The worlds of the attacks: a service that fails, people who do what messages say, and shares side by side.

An attack runs in shares. Each share is a process of its own, with its own service, folder and clock, so that
shares that wait cost nothing, and the heavy libraries are loaded once.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import pickle
import random
import signal
import sys
import tempfile
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd
from honest import filled, has_placeholder, printed_commands, say, settle, typed, unknown_to
from raw_service import accepted_by, faulty_service

import bktools
from bktools.cli.exits import Exit
from bktools.errors import BktoolsError, StorageError
from bktools.journal import attempts, clock
from bktools.journal.folders import machine_folder
from bktools.journal.journal import Journal
from bktools.journal.sent_log import SENT_LOG
from bktools.service import service as service_module
from bktools.service.transport import Limits

DAY = dt.timedelta(days=1)
# Seconds after which the end of a killed sender must be known.
PATIENCE = 10.0
# Seconds after which an intent of these senders is too old; they sleep about as long. On a busy computer, a
# second may pass between an intent and its first byte.
MOST_AGE = 2.0
# Days after which a person who still waits goes in a circle.
DAYS = 60

# How a sender ends; another code is an error that is not of bktools.
ENDED, REFUSED, OUTCOME_PRINTED = 0, 3, 4
ENDS = {ENDED: "ended", REFUSED: "refused", OUTCOME_PRINTED: "outcomes printed"}

# A person's word that nobody else exports; it is true of each of these worlds.
SENT_HOW = {"apply": True, "wait": 0, "progress": False, "first_export": True, "by": "Ada"}

# Figures that must be 0 at the end of each attack.
WRONG = ("doubles", "answers lost", "wrong histories", "foreign errors", "shares failed", "flips not noticed")
WRONG += ("placeholders believed", "restored without a word", "waiting at the end")


class Clock:
    """A clock that is ahead of the real one."""

    def __init__(self) -> None:
        self.ahead = dt.timedelta(0)

    def now(self) -> dt.datetime:
        """Return the time of this clock."""
        return dt.datetime.now(dt.UTC) + self.ahead

    def moment(self) -> Moment:
        """Return this moment, whose age grows with this clock."""
        return Moment(self)


class Moment:
    """A moment of a clock, in the place of `clock.Moment`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at = self._seconds()

    def age(self) -> float:
        """Return the seconds since this moment."""
        return self._seconds() - self._at

    def _seconds(self) -> float:
        return time.monotonic() + self._clock.ahead.total_seconds()


@contextmanager
def set_clock() -> Iterator[Clock]:
    """Give the journal and submissions a clock that a test sets forward."""
    own = Clock()
    with patch.object(clock, "Moment", own.moment), patch.object(clock, "now", own.now):
        yield own


@dataclass
class World:
    """What a share of an attack has for itself, and the figures that it counts."""

    address: str
    folder: Path
    chance: random.Random
    clock: Clock
    figures: Counter[str] = field(default_factory=Counter)

    def most(self, name: str, count: int) -> None:
        """Keep the largest count of a name."""
        self.figures[f"most {name}"] = max(self.figures[f"most {name}"], count)

    def booked(self) -> dict[str, int]:
        """Return how often the service accepted each entry."""
        return accepted_by(self.address)


class Person:
    """Somebody at a machine with folders of its own, and with the address of a database, if any."""

    def __init__(self, world: World, name: str = "person", journal: str | None = None) -> None:
        self.world, self.folder = world, world.folder / name
        self.commands = 0
        folders = {f"{kind}_dir": self.folder / kind for kind in ("data", "cache", "sent_log")}
        self.variables = {f"BKTOOLS_{kind.upper()}": str(path) for kind, path in folders.items()}
        self.variables |= {"BKTOOLS_BASE_URL": world.address, "BKTOOLS_TOKEN": "t"}
        self.variables |= {"BKTOOLS_JOURNAL": journal} if journal else {}
        connecting = {"token": "t", "requests_per_minute": 0, "journal": journal, **folders}
        self.service = bktools.connect(world.address, **connecting)

    def submits(self, entries: pd.DataFrame, batch: int = 4) -> str:
        """Submit entries, and return all messages; only an error of bktools may come back."""
        plan = bktools.compose_export_jobs(entries, max_entries=batch)
        try:
            sent = bktools.submit_export_jobs(plan, service=self.service, **SENT_HOW)
        except BktoolsError as error:
            self.world.figures["refused"] += 1
            return str(error)
        except Exception as error:  # noqa: BLE001 - counted, and the run fails for it
            self.world.figures["foreign errors"] += 1
            return f"{type(error).__name__}: {error}"
        return "\n".join(f"{row.outcome} {row.message}" for row in sent.itertuples())

    def types(self, command: str) -> int | None:
        """Run a command on this machine; return its exit code, None for an error of bktools."""
        return typed(command, self.variables)[0]

    def obeys(self, text: str) -> None:
        """Paste each printed command, which changes nothing; run the one that goes on, with an own word."""
        commands = printed_commands(text)
        for command in filter(has_placeholder, {*commands}):
            before = self._events()
            is_believed = self.types(command) == Exit.DONE or self._events() != before
            self.world.figures["placeholders pasted"] += 1
            self.world.figures["placeholders believed"] += is_believed
        for command in commands:
            if command.startswith("journal restore"):
                code, output = typed(filled(command), self.variables)
                assert code == Exit.DONE, output
                self.commands += 1
                return

    def _events(self) -> int:
        """Return the number of the journal's events, 0 where it cannot be read."""
        try:
            with Journal(self.service.settings) as journal:
                return journal.last_event()["event_id"]
        except BktoolsError:
            return 0

    def finishes(self, entries: pd.DataFrame, batch: int = 4) -> None:
        """Bring every entry to its one booking: commands of the messages, looks at the books, and days."""
        for _ in range(DAYS):
            left = unknown_to(self.service, entries)
            if left.empty:
                break
            text = self.submits(left, batch)
            self.obeys(text)
            self.world.clock.ahead += DAY
            booked = self.world.booked()
            try:
                settle(self.service, booked)
                say(self.service, entries, booked)
            except BktoolsError as error:
                self.world.figures["refused"] += 1
                text = str(error)
        else:
            raise AssertionError(f"{self.folder.name} goes in a circle: {text}")
        states = {*bktools.load_export_jobs(service=self.service)["state"]}
        self.world.figures["waiting at the end"] += bool({"UNKNOWN", "SENDING"} & states)


def entries_of_numbers(numbers: Iterable[int], companies: int) -> pd.DataFrame:
    """Return an entry for each number, of one company after another."""
    pairs = [(number + 1, 2**64 + number % companies) for number in numbers]
    ids = [[str(uuid.UUID(int=number, version=4)) for number in pair] for pair in pairs]
    return pd.DataFrame(ids, columns=["id", "company_id"])


def new_plan(number: int) -> bktools.ExportPlan:
    """Return a plan of 12 entries of each of six companies; those of another number are others."""
    return bktools.compose_export_jobs(
        entries_of_numbers(range(72 * number, 72 * number + 72), 6), max_entries=4
    )


def is_accepted(plan: bktools.ExportPlan, service: bktools.Service) -> bool:
    """Tell whether the journal has all of a plan as accepted."""
    history = bktools.load_export_jobs(service=service).set_index("batch_id")["state"]
    return bool((history.reindex(plan.batches["batch_id"]) == "ACCEPTED").all())


def answers_lost(service: bktools.Service, booked: Mapping[str, int], entries: pd.DataFrame) -> int:
    """Return how many of some entries the service has booked, of which the journal does not know."""
    return sum(entry in booked for entry in unknown_to(service, entries)["id"])


def judge_and_settle(world: World, service: bktools.Service) -> None:
    """Compare the journal with the service, and settle what is in doubt on the next day."""
    accepted = world.booked()
    assert max(accepted.values(), default=0) <= 1, "an entry was accepted twice"
    history = bktools.load_export_jobs(entries=True, service=service)
    # A database notices after a moment that a sender was killed; until then it may be sending.
    end = time.monotonic() + PATIENCE
    while (history["state"] == "SENDING").any() and time.monotonic() < end:
        time.sleep(0.05)
        history = bktools.load_export_jobs(entries=True, service=service)
    booked = history["entry_id"].map(accepted).fillna(0)
    for (batch_id, state), times in booked.groupby([history["batch_id"], history["state"]]):
        expected = {"ACCEPTED": ({1},), "UNKNOWN": ({0}, {1}), "SENDING": ()}.get(state, ({0},))
        assert {*times} in expected, f"batch {batch_id} is {state}, its entries were accepted {times} times"
    world.clock.ahead += DAY
    world.figures.update(settle(service, accepted))


def forked(plan: bktools.ExportPlan, service: bktools.Service) -> int:
    """Submit a plan in a process of its own; return its number."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        # What the journal prints about cut connections is not for this output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        bktools.submit_export_jobs(plan, service=service, **SENT_HOW)
        code = ENDED
    except StorageError as error:
        code = OUTCOME_PRINTED if "the journal could not be written" in str(error) else REFUSED
    except BktoolsError:
        code = REFUSED
    finally:
        os._exit(code)


def await_moment(chance: random.Random, senders: Iterable[bktools.Service]) -> None:
    """Wait for a random time, in half of all cases until a batch is between its intent and its outcome."""
    time.sleep(chance.uniform(0.0, 0.1))
    if chance.random() < 0.5:
        logs = [machine_folder(sender.settings) / SENT_LOG for sender in senders]
        before, end = [*map(_size, logs)], time.monotonic() + 2
        while time.monotonic() < end and [*map(_size, logs)] == before:
            time.sleep(0.002)
        time.sleep(chance.uniform(0.0, 0.05))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


# Shares


class EndedEarly(BaseException):
    """Raised by SIGTERM: the share ends with the figures that it has."""


def _end_early(*_: object) -> None:
    raise EndedEarly


@dataclass(frozen=True)
class Attack:
    """An attack, the options of the command that say how often it is made, and what a share has of each."""

    function: Callable[..., None]
    shares: Mapping[str, int]

    def calls(self, wanted: Mapping[str, int]) -> list[Callable[[int], Counter[str]]]:
        """Return the shares of the attack, each a function of its seed."""
        number = max(-(-wanted[name] // size) for name, size in self.shares.items())
        parts = [
            {
                name: wanted[name] * (share + 1) // number - wanted[name] * share // number
                for name in self.shares
            }
            for share in range(number)
        ]
        return [partial(_share, self.function, part) for part in parts]


def _share(function: Callable[..., None], part: Mapping[str, int], seed: int) -> Counter[str]:
    """Run a share in its own world; return its figures."""
    service_module.limits_of = lambda *_, **__: Limits(connect=5.0, read=0.3, whole=5.0)
    attempts.MOST_AGE = MOST_AGE
    with faulty_service(seed) as address, tempfile.TemporaryDirectory() as folder, set_clock() as ahead:
        (Path(folder) / "config.toml").touch()
        os.environ |= {"BKTOOLS_CONFIG": f"{folder}/config.toml"}
        world = World(address, Path(folder), random.Random(seed), ahead)
        with suppress(EndedEarly):
            function(world, **part)
            world.figures["shares"] += 1
        booked = world.booked()
    world.figures["entries"] = len(booked)
    world.figures["doubles"] = sum(times > 1 for times in booked.values())
    return world.figures


def run(attacks: Iterable[Attack], wanted: Mapping[str, int], *, seed: int, workers: int) -> Counter[str]:
    """Run attacks as often as wanted, some shares at a time; print the figures of each, return all."""
    shares = [(attack.function.__name__, call) for attack in attacks for call in attack.calls(wanted)]
    waiting = [(name, partial(call, 1000 * seed + number)) for number, (name, call) in enumerate(shares)]
    # All attacks advance together, so that a run that is ended early has some of each.
    random.Random(seed).shuffle(waiting)
    # Everything is imported, and the commands are built, once for all shares.
    typed("--help")
    for name in bktools.__all__:
        getattr(bktools, name)
    running: dict[int, tuple[str, int, float]] = {}
    total = Counter(dict.fromkeys(WRONG, 0))
    while waiting or running:
        while waiting and len(running) < workers:
            name, call = waiting.pop(0)
            reader, writer = os.pipe()
            process = os.fork()
            if not process:
                _end_with_figures(call, writer)
            os.close(writer)
            running[process] = (name, reader, time.monotonic())
        process, status = os.wait()
        name, reader, began = running.pop(process)
        with os.fdopen(reader, "rb") as answer:
            figures = Counter({"shares failed": 1}) if status else pickle.load(answer)
        for figure, count in figures.items():
            total[figure] = max(total[figure], count) if figure.startswith("most ") else total[figure] + count
        shown = {figure: count for figure, count in sorted(figures.items()) if count}
        ended = f" ended with {os.waitstatus_to_exitcode(status)}" if status else ""
        seconds = f"{time.monotonic() - began:.0f} s"
        line = f"{name}{ended}, {seconds}, doubles {figures['doubles']}: {json.dumps(shown)}"
        print(line, file=sys.stderr, flush=True)
    return total


def _end_with_figures(call: Callable[[], Counter[str]], writer: int) -> None:
    code = 1
    signal.signal(signal.SIGTERM, _end_early)
    try:
        with os.fdopen(writer, "wb") as answer:
            pickle.dump(call(), answer)
        code = 0
    except BaseException:  # noqa: BLE001 - printed, and the run fails for it
        traceback.print_exc()
    finally:
        os._exit(code)


def main(attacks: Iterable[Attack], about: str | None, **defaults: int) -> int:
    """Run attacks as often as the command says, print the figures, and fail where something is wrong."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (defaults | {"seed": 1, "workers": 4}).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options: dict[str, Any] = vars(parser.parse_args())
    began = time.monotonic()
    wanted = {name: options[name] for name in defaults}
    figures = run(attacks, wanted, seed=options["seed"], workers=options["workers"])
    print(json.dumps({**figures, "seconds": round(time.monotonic() - began)}))
    return int(any(figures[name] for name in WRONG))
