"""Attacks on a journal that three machines share: killed and sleeping senders, cut connections, restores.

    PYTHONPATH=tests python tests/submit/shared_attacks.py --kills 500 --cuts 200 --restores 50

Each share starts a PostgreSQL server of its own. The service is another process, which accepts and then fails
in most cases, and counts what it accepted. The machines are three folders, each with its own sent log, whose
processes send the same plans at the same time. The last line of output is a JSON object with the figures.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from collections.abc import Callable

import pandas as pd
from attack_worlds import (
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
from postgres_server import PASSWORD, Server, server

import bktools
from bktools.journal.writing import open_for_writing

WAYS = ("pg_restore", "psql", "volume", "new", "replica")
NAMES = ("ada", "bob", "eve")
# What the owner grants to each of the team, as the message of a role without rights says.
RIGHTS = (
    "GRANT USAGE ON SCHEMA bktools TO {role}; "
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA bktools TO {role}"
)


def kills_and_cuts(world: World, kills: int, cuts: int) -> None:
    """Kill, stop and cut until it is enough, then let the last plan end."""
    with server() as postgres, postgres.database() as database:
        team = [Person(world, name, postgres.address(database)) for name in NAMES]
        for person in team:
            open_for_writing(person.service.settings).close()
        Hits(world, postgres, database, [person.service for person in team]).run(kills, cuts)


class Hits:
    """Senders of three machines that are killed, stopped and cut."""

    def __init__(
        self, world: World, postgres: Server, database: str, services: list[bktools.Service]
    ) -> None:
        self.world, self.postgres, self.database, self.services = world, postgres, database, services
        self.figures, self.chance = world.figures, world.chance

    def run(self, kills: int, cuts: int) -> None:
        """Send plan after plan, with one hit in each round."""
        wanted = {"kills": kills, "cuts": cuts, "sleepers": kills // 10}
        while any(self.figures[name] < count for name, count in wanted.items()):
            plan = new_plan(self.figures["plans"])
            while not is_accepted(plan, self.services[0]):
                left = [name for name, count in wanted.items() if self.figures[name] < count]
                self.hit(plan, self.chance.choice(left) if left else "", cuts)
                judge_and_settle(self.world, self.chance.choice(self.services))
            self.figures["plans"] += 1
        history = bktools.load_export_jobs(entries=True, service=self.services[0])
        self.figures["waiting at the end"] += int((history["state"] != "ACCEPTED").sum())
        booked = self.world.booked()
        self.figures["answers lost"] += answers_lost(
            self.services[0], booked, pd.DataFrame({"id": [*booked]})
        )

    def hit(self, plan: bktools.ExportPlan, hit: str, cuts: int) -> None:
        """Let one to three machines send a plan, and hit them until they end."""
        senders = self.chance.sample(self.services, self.chance.choice((1, 2, 3)))
        running = {forked(plan, sender) for sender in senders}
        if hit == "kills":
            await_moment(self.chance, senders)
            for process in running:
                os.kill(process, signal.SIGKILL)
        if hit == "sleepers":
            self.sleep(plan, senders, running)
        while running:
            if hit == "cuts" and self.figures["cuts"] < cuts:
                await_moment(self.chance, senders)
                self.figures["cuts"] += self.postgres.cut(self.database)
            time.sleep(0.01)
            self.count_ended(running)

    def sleep(self, plan: bktools.ExportPlan, senders: list[bktools.Service], running: set[int]) -> None:
        """Stop the senders; meanwhile a colleague settles what they were sending, and sends on; they wake."""
        await_moment(self.chance, senders)
        for process in running:
            os.kill(process, signal.SIGSTOP)
        # What they had sent before has ended, and the server has ended their sessions.
        time.sleep(1.2 * MOST_AGE)
        self.postgres.cut(self.database)
        self.figures["sleepers"] += len(running)
        if self.chance.random() < 0.7:
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
                    self.figures[ENDS.get(os.WEXITSTATUS(status), "foreign errors")] += 1


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
    Attack(restored_databases, {"restores": 13}),
    Attack(kills_and_cuts, {"kills": 125, "cuts": 50}),
)

if __name__ == "__main__":
    sys.exit(main(ATTACKS, __doc__, kills=500, cuts=200, restores=50))
