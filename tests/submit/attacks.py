"""Attacks on one booking for an entry: kills, sleep, cuts, flipped bytes, cut files, old copies, lost disks.

    PYTHONPATH=tests python tests/submit/attacks.py --kills 1000 --flips 500 --truncations 200 --restores 200
    PYTHONPATH=tests python tests/submit/attacks.py --shared --kills 500 --cuts 200 --restores 50

The first line attacks the file of one machine, the second one a database that three machines share: each
share starts a PostgreSQL server of its own, and the machines are folders with their own sent logs. The
service is another process on bare sockets, which accepts and then fails in most cases, also like a gateway
that answers JSON, says in milliseconds when its jobs end, and counts what it accepted. The last line of
output is a JSON object with the figures.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pandas as pd
from attack_worlds import (
    DAY,
    ENDED,
    ENDS,
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
from honest import WORD, settle, typed
from postgres_server import PASSWORD, Server, server

import bktools
from bktools.cli.exits import Exit
from bktools.errors import BktoolsError
from bktools.journal.journal import Journal
from bktools.journal.right_journal import problems
from bktools.journal.writing import open_for_writing

COMPANIES = 3
BATCH = 2
WAYS = ("pg_restore", "psql", "volume", "new", "replica")
NAMES = ("ada", "bob", "eve")
# What the owner grants to each of the team, as the message of a role without rights says.
RIGHTS = (
    "GRANT USAGE ON SCHEMA bktools TO {role}; "
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA bktools TO {role}"
)

Files = dict[str, bytes]


def kills(world: World, kills: int) -> None:
    """Kill or stop processes that submit with one file, again and again, until the last plan ends."""
    Hits(world, [Person(world).service]).run({"kills": kills, "sleepers": kills // 10})


def kills_and_cuts(world: World, kills: int, cuts: int) -> None:
    """Kill, stop and cut processes of three machines until it is enough, then let the last plan end."""
    with server() as postgres, postgres.database() as database:
        team = [Person(world, name, postgres.address(database)) for name in NAMES]
        for person in team:
            open_for_writing(person.service.settings).close()
        hits = Hits(world, [person.service for person in team], lambda: postgres.cut(database))
        hits.run({"kills": kills, "cuts": cuts, "sleepers": kills // 10})


class Hits:
    """Senders, of one machine or of several, that are killed, stopped and cut."""

    def __init__(
        self, world: World, services: list[bktools.Service], cut: Callable[[], int] | None = None
    ) -> None:
        self.world, self.services, self.cut = world, services, cut
        self.figures, self.chance = world.figures, world.chance
        # Processes that share a file wait for each other; those that share a database may be refused.
        self.ends = ENDS if cut else {ENDED: ENDS[ENDED]}

    def run(self, wanted: Mapping[str, int]) -> None:
        """Send plan after plan, with one hit in each round."""

        def left() -> list[str]:
            return [name for name, count in wanted.items() if self.figures[name] < count]

        while left():
            plan = new_plan(self.figures["plans"])
            while not is_accepted(plan, self.services[0]):
                self.hit(plan, self.chance.choice(left() or [""]), wanted.get("cuts", 0))
                judge_and_settle(self.world, self.chance.choice(self.services))
            self.figures["plans"] += 1
        history = bktools.load_export_jobs(entries=True, service=self.services[0])
        self.figures["waiting at the end"] += int((history["state"] != "ACCEPTED").sum())
        booked = self.world.booked()
        lost = answers_lost(self.services[0], booked, pd.DataFrame({"id": [*booked]}))
        self.figures["answers lost"] += lost

    def hit(self, plan: bktools.ExportPlan, hit: str, cuts: int) -> None:
        """Let one to three processes send a plan, and hit them until they end."""
        senders = self.chance.choices(self.services, k=self.chance.choice((1, 2, 3)))
        running = {forked(plan, sender) for sender in senders}
        if hit == "kills":
            await_moment(self.chance, senders)
            for process in running:
                os.kill(process, signal.SIGKILL)
        if hit == "sleepers":
            self.sleep(plan, senders, running)
        while running:
            if self.cut and hit == "cuts" and self.figures["cuts"] < cuts:
                await_moment(self.chance, senders)
                self.figures["cuts"] += self.cut()
            time.sleep(0.01)
            self.count_ended(running)

    def sleep(self, plan: bktools.ExportPlan, senders: Iterable[bktools.Service], running: set[int]) -> None:
        """Stop the senders; a colleague may settle what they were sending, and send on; then they wake."""
        await_moment(self.chance, senders)
        for process in running:
            os.kill(process, signal.SIGSTOP)
        self.figures["sleepers"] += len(running)
        # What they had sent before has ended after this time, and the server has ended their sessions.
        time.sleep(1.2 * MOST_AGE if self.cut else self.chance.uniform(0.0, 2 * MOST_AGE))
        if self.cut:
            self.cut()
        if self.cut and self.chance.random() < 0.7:
            os.waitpid(forked(plan, self.chance.choice(self.services)), 0)
            judge_and_settle(self.world, self.services[0])
            os.waitpid(forked(plan, self.chance.choice(self.services)), 0)
        for process in running:
            os.kill(process, signal.SIGCONT)

    def count_ended(self, running: set[int]) -> None:
        """Count the processes that have ended."""
        for process in list(running):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                running.discard(process)
                self.figures["kills"] += int(os.WIFSIGNALED(status))
                if os.WIFEXITED(status):
                    self.figures[self.ends.get(os.WEXITSTATUS(status), "foreign errors")] += 1


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


# A database that comes back from before


def restored_databases(world: World, restores: int) -> None:
    """Restore as often as wanted, in each way in turn.

    In each round three people send, a copy of the database is kept, they send on, and the copy takes the
    place of the database. Then all of them submit everything again. Whoever is refused runs the printed
    command, and looks at the books on the next day.
    """
    plans = (entries_of_numbers(range(8 * number, 8 * number + 8), 2) for number in itertools.count())
    with server() as postgres, postgres.database() as database:
        team = _team(world, postgres, database)
        for number in range(restores):
            way = WAYS[number % len(WAYS)]
            before = [next(plans) for _ in team]
            for person, entries in zip(team, before, strict=True):
                person.finishes(entries)
            _restore(
                world, team, before, [next(plans) for _ in team], lambda way=way: postgres.kept(database, way)
            )
            world.figures["restores"] += 1
            world.figures[way] += 1


def _restore(
    world: World,
    team: list[Person],
    before: list[pd.DataFrame],
    plans: list[pd.DataFrame],
    keep: Callable[[], Callable[[], None]],
) -> None:
    """Keep a copy, send on, restore it, and submit all again; count what became of the answers."""
    go_back = keep()
    later = plans[: world.chance.choice((1, 2, 3))]
    for person, entries in zip(world.chance.sample(team, len(later)), later, strict=True):
        if world.chance.random() < 0.5:
            person.finishes(entries)
        else:
            person.submits(entries)
    for person in team:
        # Only what a machine has seen reveals a volume that was rolled back.
        open_for_writing(person.service.settings).close()
    answered = _jobs(team[0])
    go_back()
    for person in team:
        person.commands = 0
    for person in world.chance.sample(team, len(team)):
        for entries in later:
            person.finishes(entries)
    for person in team:
        world.most("commands", person.commands)
    world.figures["commands"] += sum(person.commands for person in team)
    entries = pd.concat(before + later)
    world.figures["answers lost"] += answers_lost(team[0].service, world.booked(), entries)
    # Such a batch is known by a person's look at the books, without the ID of its job.
    world.figures["jobs of answers lost"] += len(answered - _jobs(team[0]))


def _jobs(person: Person) -> set[tuple[str, str]]:
    """Return each accepted batch of the journal with its job."""
    history = bktools.load_export_jobs(service=person.service)
    known = history[history["state"] == "ACCEPTED"].dropna(subset="job_id")
    return {*zip(known["batch_id"], known["job_id"], strict=True)}


def _team(world: World, postgres: Server, database: str) -> list[Person]:
    """Return people whose roles own nothing; the owner has opened the journal first."""
    owner = Person(world, "owner", postgres.address(database))
    open_for_writing(owner.service.settings).close()
    team = []
    for name in NAMES:
        postgres.sql(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
        postgres.sql(RIGHTS.format(role=name), database)
        team.append(Person(world, name, postgres.address(database, name)))
        open_for_writing(team[-1].service.settings).close()
    return team


ATTACKS = (
    Attack(kills, {"kills": 125}),
    *(Attack(each, {"restores": 25}) for each in (old_copies, lost_folders, new_disks)),
    Attack(flips, {"flips": 125}),
    Attack(truncations, {"truncations": 100}),
)
SHARED = (
    Attack(restored_databases, {"restores": 13}),
    Attack(kills_and_cuts, {"kills": 125, "cuts": 50}),
)

if __name__ == "__main__":
    if "--shared" in sys.argv:
        sys.argv.remove("--shared")
        sys.exit(main(SHARED, __doc__, kills=500, cuts=200, restores=50))
    sys.exit(main(ATTACKS, __doc__, kills=1000, flips=500, truncations=200, restores=200))
