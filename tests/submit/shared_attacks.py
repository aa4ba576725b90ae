"""Attacks on a journal that three machines share: killed and sleeping senders, cut connections, restores.

    PYTHONPATH=tests python tests/submit/shared_attacks.py --kills 500 --cuts 200 --restores 50

It starts a PostgreSQL server of its own. The service is another process, which accepts and then fails in most
cases, and counts what it accepted. The machines are three folders, each with its own sent log, whose
processes send the same plans at the same time. The last line of output is a JSON object with the figures.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from attacks import (
    ENDS,
    FIRST,
    MOST_AGE,
    doubles,
    forked,
    is_accepted,
    judge_and_settle,
    new_plan,
    program,
    tell,
    world_of,
)
from clocks import DAY, Clock
from honest import filled, has_placeholder, printed_commands, say, settle, typed, unknown_to
from postgres_server import PASSWORD, Server, server
from raw_service import accepted_by

import bktools
from bktools.cli.exits import Exit
from bktools.errors import BktoolsError
from bktools.journal.writing import open_for_writing

WAYS = ("pg_restore", "psql", "volume", "new", "replica")
NAMES = ("ada", "bob", "eve")
# Days after which a person who still waits goes in a circle.
DAYS = 30
MACHINES = 3
# What the owner grants to each of the team, as the message of a role without rights says.
RIGHTS = (
    "GRANT USAGE ON SCHEMA bktools TO {role}; "
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA bktools TO {role}"
)
SENDING = "SELECT 1 FROM bktools.batches WHERE state = 'SENDING'"


def ends(running: set[int], figures: Counter[str]) -> None:
    """Count the processes that have ended."""
    for process in list(running):
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            running.discard(process)
            figures["kills"] += int(os.WIFSIGNALED(status))
            if os.WIFEXITED(status):
                figures[ENDS.get(os.WEXITSTATUS(status), "foreign errors")] += 1


def await_moment(postgres: Server, database: str, chance: random.Random) -> None:
    """Wait for a random time, in half of all cases until a batch is between its intent and its outcome."""
    end = time.monotonic() + chance.uniform(0.0, 0.4)
    if chance.random() < 0.5:
        end += 2
        while time.monotonic() < end and not postgres.sql(SENDING, database):
            time.sleep(0.005)
        end = time.monotonic() + chance.uniform(0.0, 0.05)
    time.sleep(max(end - time.monotonic(), 0))


def hits(
    postgres: Server,
    database: str,
    services: list[bktools.Service],
    address: str,
    arguments: Namespace,
    chance: random.Random,
    clock: Clock,
) -> Counter[str]:
    """Kill, stop and cut until it is enough, then let the last plan end."""
    figures: Counter[str] = Counter()
    wanted = {"kills": arguments.kills, "cuts": arguments.cuts, "sleepers": arguments.kills // 10}
    while any(figures[name] < count for name, count in wanted.items()):
        plan = new_plan(figures["plans"])
        while not is_accepted(plan, services[0]):
            senders = chance.sample(services, chance.choice((1, 2, 3)))
            running = {forked(plan, sender) for sender in senders}
            left = [name for name, count in wanted.items() if figures[name] < count]
            hit = chance.choice(left) if left else ""
            if hit == "kills":
                await_moment(postgres, database, chance)
                for process in running:
                    os.kill(process, signal.SIGKILL)
            if hit == "sleepers":
                figures += sleep(postgres, database, running, services, address, plan, chance, clock)
            while running:
                if hit == "cuts" and figures["cuts"] < arguments.cuts:
                    await_moment(postgres, database, chance)
                    figures["cuts"] += postgres.cut(database)
                time.sleep(0.01)
                ends(running, figures)
            figures += judge_and_settle(address, chance.choice(services), clock)
        figures["plans"] += 1
    return figures


def sleep(
    postgres: Server,
    database: str,
    running: set[int],
    services: list[bktools.Service],
    address: str,
    plan: bktools.ExportPlan,
    chance: random.Random,
    clock: Clock,
) -> Counter[str]:
    """Stop the senders; meanwhile a colleague settles what they were sending, and sends on; they wake."""
    await_moment(postgres, database, chance)
    for process in running:
        os.kill(process, signal.SIGSTOP)
    # What they had sent before has ended, and the server has ended their sessions.
    time.sleep(1.2 * MOST_AGE)
    postgres.cut(database)
    figures: Counter[str] = Counter(sleepers=len(running))
    if chance.random() < 0.7:
        colleague = forked(plan, chance.choice(services))
        os.waitpid(colleague, 0)
        figures += judge_and_settle(address, services[0], clock)
        colleague = forked(plan, chance.choice(services))
        os.waitpid(colleague, 0)
    for process in running:
        os.kill(process, signal.SIGCONT)
    return figures


class Person:
    """One of the team: a machine with its own folders, and a role of the database."""

    def __init__(self, name: str, folder: Path, address: str, journal: str) -> None:
        self.name, self.address = name, address
        self.commands = 0
        self.placeholders = self.believed = 0
        folders = {f"{kind}_dir": folder / name / kind for kind in ("data", "cache", "sent_log")}
        self.variables = {f"BKTOOLS_{kind.upper()}": str(path) for kind, path in folders.items()}
        self.variables |= {"BKTOOLS_BASE_URL": address, "BKTOOLS_TOKEN": "t", "BKTOOLS_JOURNAL": journal}
        self.service = bktools.connect(address, token="t", requests_per_minute=0, journal=journal, **folders)

    def opens(self) -> None:
        """Open the journal, as every command does."""
        open_for_writing(self.service.settings).close()

    def submits(self, entries: pd.DataFrame) -> str:
        """Submit entries; return all messages."""
        plan = bktools.compose_export_jobs(entries, max_entries=4)
        options = {"apply": True, "wait": 0, "progress": False, **FIRST}
        try:
            sent = bktools.submit_export_jobs(plan, service=self.service, **options)
        except BktoolsError as error:
            return str(error)
        return "\n".join(sent["message"])

    def obeys(self, text: str) -> None:
        """Paste each printed command; then run the one that goes on after a restore, with an own word."""
        for command in {*printed_commands(text)}:
            if has_placeholder(command):
                self.placeholders += 1
                self.believed += typed(command, self.variables)[0] == Exit.DONE
        for command in printed_commands(text):
            if command.startswith("journal restore"):
                code, said = typed(filled(command), self.variables)
                assert code == Exit.DONE, said
                self.commands += 1
                return

    def finishes(self, entries: pd.DataFrame, clock: Clock) -> None:
        """Bring entries to their one booking: the messages, looks at the books, and days."""
        for _ in range(DAYS):
            left = unknown_to(self.service, entries)
            if left.empty:
                return
            text = self.submits(left)
            self.obeys(text)
            clock.ahead += DAY
            booked = accepted_by(self.address)
            try:
                settle(self.service, booked)
                say(self.service, entries, booked)
            except BktoolsError as error:
                text = str(error)
        raise AssertionError(f"{self.name} goes in a circle: {text}")


def restores(
    postgres: Server,
    database: str,
    address: str,
    folder: Path,
    count: int,
    chance: random.Random,
    clock: Clock,
) -> Counter[str]:
    """Restore as often as wanted, in each way in turn; return the figures.

    In each round three people send, a copy of the database is kept, they send on, and the copy takes the
    place of the database. Then all of them submit everything again. Whoever is refused runs the printed
    command, and looks at the books on the next day.
    """
    figures: Counter[str] = Counter()
    plans = (new_plan(number, companies=2, entries=4) for number in itertools.count(10**6))
    team = _team(postgres, database, address, folder)
    for number in range(count):
        way = WAYS[number % len(WAYS)]
        keep = partial(postgres.kept, database, way)
        figures += _restore(team, keep, plans, chance, clock)
        figures["most commands"] = max(figures["most commands"], *(person.commands for person in team))
        figures["commands"] += sum(person.commands for person in team)
        figures["restores"] += 1
        figures[way] += 1
        tell(f"{way}, restored", address, figures)
    figures["placeholders pasted"] = sum(person.placeholders for person in team)
    figures["placeholders believed"] = sum(person.believed for person in team)
    return figures


def _restore(
    team: list[Person],
    keep: Callable[[], Callable[[], None]],
    plans: Iterator[bktools.ExportPlan],
    chance: random.Random,
    clock: Clock,
) -> Counter[str]:
    """Send, keep a copy, send on, restore it, and submit all again; return what became of the answers."""
    before = [next(plans).entries for _ in team]
    for person, entries in zip(team, before, strict=True):
        person.finishes(entries, clock)
    go_back = keep()
    later = []
    for person in chance.sample(team, chance.choice((1, 2, 3))):
        later.append(next(plans).entries)
        if chance.random() < 0.5:
            person.finishes(later[-1], clock)
        else:
            person.submits(later[-1])
    for person in team:
        # Only what a machine has seen reveals a volume that was rolled back.
        person.opens()
    answered = _jobs(team[0])
    go_back()
    for person in team:
        person.commands = 0
    for person in chance.sample(team, len(team)):
        for entries in later:
            person.finishes(entries, clock)
    return Counter(
        {
            "answers lost": answers_lost(team[0].service, team[0].address, pd.concat(before + later)),
            # Such a batch is known by a person's look at the books, without the ID of its job.
            "jobs of answers lost": len(answered - _jobs(team[0])),
        }
    )


def answers_lost(service: bktools.Service, address: str, entries: pd.DataFrame) -> int:
    """Return how many of some entries the service has booked, of which the journal does not know."""
    booked = accepted_by(address)
    return sum(entry in booked for entry in unknown_to(service, entries)["id"])


def _jobs(person: Person) -> set[tuple[str, str]]:
    """Return each accepted batch of the journal with its job."""
    history = bktools.load_export_jobs(service=person.service)
    known = history[history["state"] == "ACCEPTED"].dropna(subset="job_id")
    return {*zip(known["batch_id"], known["job_id"], strict=True)}


def _team(postgres: Server, database: str, address: str, folder: Path) -> list[Person]:
    """Return people whose roles own nothing; the owner has opened the journal first."""
    Person("owner", folder, address, postgres.address(database)).opens()
    team = []
    for name in NAMES:
        own = postgres.address(database, name)
        postgres.sql(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
        postgres.sql(RIGHTS.format(role=name), database)
        team.append(Person(name, folder, address, own))
    for person in team:
        person.opens()
    return team


def attacked(arguments: Namespace) -> Iterator[dict[str, Any]]:
    """Run the attacks, and yield the figures."""
    began, chance = time.monotonic(), random.Random(arguments.seed)
    with ExitStack() as stack:
        address, folder, clock = stack.enter_context(world_of(arguments.seed))
        postgres = stack.enter_context(server())
        database = stack.enter_context(postgres.database())
        team = [Person(str(each), folder, address, postgres.address(database)) for each in range(MACHINES)]
        for person in team:
            person.opens()
        services = [person.service for person in team]
        figures = hits(postgres, database, services, address, arguments, chance, clock)
        report = {"foreign errors": 0, **figures, "entries": len(accepted_by(address))}
        plans = [new_plan(number).entries for number in range(figures["plans"])]
        lost = answers_lost(services[0], address, pd.concat(plans)) if plans else 0
        tell("kills, cuts and sleep", address, figures)
        report["states"] = bktools.load_export_jobs(service=services[0])["state"].value_counts().to_dict()
        restored = stack.enter_context(postgres.database())
        at = folder / "restores"
        report |= restores(postgres, restored, address, at, arguments.restores, chance, clock)
        report["answers lost"] = lost + report.get("answers lost", 0)
        report["doubles"] = doubles(address)
    yield report | {"seconds": round(time.monotonic() - began)}


if __name__ == "__main__":
    wrong = ("answers lost", "placeholders believed")
    sys.exit(program(attacked, __doc__, wrong, kills=500, cuts=200, restores=50))
