"""Attacks on one booking for an entry: kills, sleep, flipped bytes, cut files, old copies, lost disks.

    PYTHONPATH=tests python tests/submit/attacks.py --kills 1000 --flips 500 --truncations 200 --restores 200

The service is another process on bare sockets, which accepts and then fails in most cases, also like a
gateway that answers JSON, says in milliseconds when its jobs end, and counts what it accepted. The last line
of output is a JSON object with the figures. `shared_attacks.py` attacks a journal in a database.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pandas as pd
from attack_worlds import (
    MOST_AGE,
    Attack,
    Person,
    World,
    answers_lost,
    await_moment,
    entries_of_numbers,
    forked,
    is_accepted,
    judge_and_settle,
    main,
    new_plan,
)
from clocks import DAY
from honest import WORD, settle, typed

import bktools
from bktools.cli.exits import Exit
from bktools.errors import BktoolsError
from bktools.journal.journal import Journal
from bktools.journal.right_journal import problems

COMPANIES = 3
BATCH = 2

Files = dict[str, bytes]


def kills(world: World, kills: int) -> None:
    """Kill or stop one or two processes that submit a plan, again and again, until the last plan ends."""
    figures, chance = world.figures, world.chance
    service = Person(world).service
    while figures["kills"] < kills:
        plan = new_plan(figures["plans"])
        while not is_accepted(plan, service):
            running = [forked(plan, service) for _ in range(chance.choice((1, 1, 2)))]
            is_hit, sleeps = figures["kills"] < kills, chance.random() < 0.25
            if is_hit:
                await_moment(chance, [service])
            if is_hit and sleeps:
                figures["sleepers"] += sleep(running, chance.uniform(0.0, 2 * MOST_AGE))
            for process in running:
                if is_hit and not sleeps:
                    os.kill(process, signal.SIGKILL)
                _, status = os.waitpid(process, 0)
                figures["kills"] += int(os.WIFSIGNALED(status))
                figures["foreign errors"] += os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0
            judge_and_settle(world, service)
        figures["plans"] += 1
    history = bktools.load_export_jobs(entries=True, service=service)
    figures["waiting at the end"] += int((history["state"] != "ACCEPTED").sum())
    booked = world.booked()
    figures["answers lost"] += answers_lost(service, booked, pd.DataFrame({"id": [*booked]}))


def sleep(running: list[int], seconds: float) -> int:
    """Stop processes, and let them go on after some seconds; return how many were stopped."""
    for process in running:
        os.kill(process, signal.SIGSTOP)
    time.sleep(seconds)
    for process in running:
        os.kill(process, signal.SIGCONT)
    return len(running)


class Analyst(Person):
    """A person whose journal is a file, which somebody damages or puts back."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._numbers = itertools.count()
        with Journal(self.service.settings) as journal:
            assert journal.path is not None
            self.path = journal.path

    def entries(self, batches: int) -> pd.DataFrame:
        """Return new entries."""
        return entries_of_numbers(itertools.islice(self._numbers, COMPANIES * BATCH * batches), COMPANIES)

    def submits(self, entries: pd.DataFrame, batch: int = BATCH) -> str:
        """Submit entries in small batches."""
        return super().submits(entries, batch)

    def finishes(self, entries: pd.DataFrame, batch: int = BATCH) -> None:
        """Bring entries to their one booking, by at most one command."""
        self.commands = 0
        super().finishes(entries, batch)
        self.world.most("commands", self.commands)

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


def flips(world: World, flips: int) -> None:
    """Flip a bit of the journal's file: the check finds it, and neither history nor sending is wrong."""
    person, figures = Analyst(world), world.figures
    entries = person.entries(4)
    person.finishes(entries)
    whole = person.files()
    history = bktools.load_export_jobs(entries=True, service=person.service)
    for _ in range(flips):
        place = world.chance.randrange(len(whole[""]))
        flipped = bytearray(whole[""])
        flipped[place] ^= 1 << world.chance.randrange(8)
        person.put({"": bytes(flipped)})
        figures["flips"] += 1
        figures["flips not noticed"] += not _is_noticed(person)
        try:
            read = bktools.load_export_jobs(entries=True, service=person.service)
            figures["wrong histories"] += not read.equals(history)
        except BktoolsError:
            pass
        except Exception:  # noqa: BLE001 - counted, and the run fails for it
            figures["foreign errors"] += 1
        person.submits(entries)
    person.put(whole)


def _is_noticed(person: Analyst) -> bool:
    try:
        with Journal(person.service.settings) as journal:
            return bool(problems(journal))
    except BktoolsError:
        return True


def truncations(world: World, truncations: int) -> None:
    """Cut the journal's file or its log at any place: nothing is sent a second time."""
    person = Analyst(world)
    entries = person.entries(4)
    with Journal(person.service.settings):
        # While it is open, the newest events are in the log alone.
        person.finishes(entries)
        whole = person.files()
    for _ in range(truncations):
        which = world.chance.choice(list(whole))
        person.put(whole | {which: whole[which][: world.chance.randrange(len(whole[which]))]})
        world.figures["truncations"] += 1
        person.submits(entries)
        person.put(whole)


def old_copies(world: World, restores: int) -> None:
    """Put older copies back; the printed command and a look at the books bring all to one booking."""
    person = Analyst(world)
    person.finishes(person.entries(1))
    copies = [person.files()]
    for _ in range(restores):
        entries = person.entries(1)
        person.submits(entries)
        if world.chance.random() < 0.5:
            world.clock.ahead += DAY
            settle(person.service, world.booked())
        person.put(world.chance.choice(copies[-6:]))
        world.figures["old copies"] += 1
        person.finishes(entries)
        copies.append(person.files())


def lost_folders(world: World, restores: int) -> None:
    """Lose the data folder: a person who types the printed command goes on with an empty journal."""
    person = Analyst(world)
    for _ in range(restores):
        entries = person.entries(2)
        person.submits(entries)
        shutil.rmtree(person.folder / "data")
        world.figures["lost data folders"] += 1
        person.finishes(entries)


def new_disks(world: World, restores: int) -> None:
    """Lose everything but backups: the new computer is a newcomer, until a later look at the books."""
    person = Analyst(world)
    for number in range(restores):
        entries = person.entries(2)
        backups = []
        for half in (entries.iloc[: len(entries) // 2], entries):
            person.submits(half)
            backups.append(world.folder / f"backup-{number}-{len(backups)}.sqlite")
            with Journal(person.service.settings) as journal:
                journal.backup(backups[-1])
        for name in ("data", "sent_log"):
            shutil.rmtree(person.folder / name)
        world.figures["new disks"] += 1
        command = f"journal restore {world.chance.choice(backups)} --environment {world.address} --by Ada"
        code = person.types(command)
        world.figures["restored without a word"] += code in {Exit.DONE, Exit.INCOMPLETE}
        code, output = typed(f'{command} --evidence "{WORD["evidence"]}"', person.variables)
        assert code in {Exit.DONE, Exit.INCOMPLETE}, output
        person.finishes(entries)


ATTACKS = (
    Attack(kills, {"kills": 125}),
    *(Attack(each, {"restores": 25}) for each in (old_copies, lost_folders, new_disks)),
    Attack(flips, {"flips": 125}),
    Attack(truncations, {"truncations": 100}),
)

if __name__ == "__main__":
    sys.exit(main(ATTACKS, __doc__, kills=1000, flips=500, truncations=200, restores=200))
