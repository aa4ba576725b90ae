"""Attacks on a journal that three machines share: killed senders, cut connections, restored databases.

    PYTHONPATH=tests python tests/submit/shared_attacks.py --kills 1000 --cuts 200 --restores 50

It starts a PostgreSQL server of its own. The service is another process, which accepts and then fails in most
cases, and counts what it accepted. The machines are three data folders, each with its own sent log, whose
processes send the same plans at the same time. The last line of output is a JSON object with the figures.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import shlex
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

from attacks import is_accepted, judge_and_settle, new_plan, program, world_of
from postgres_server import PASSWORD, Server, server
from raw_service import accepted_by
from typer.testing import CliRunner

import bktools
from bktools.cli.app import app
from bktools.errors import BktoolsError, JournalError, StorageError
from bktools.journal import postgres as postgres_module
from bktools.journal.journal import Journal
from bktools.journal.records import named, this_user
from bktools.settings import Secret

WAYS = ("pg_restore", "psql", "volume", "new", "replica")
MOVED = "two moved files"
NAMES = ("ada", "bob", "eve")

# A person who was refused this often goes in a circle.
REFUSALS = 200

MACHINES = 3

SENDING = "SELECT 1 FROM bktools.batches WHERE state = 'SENDING'"

# How a sender ends; another code is an error that is not of bktools.
ENDED, REFUSED, OUTCOME_TOLD = 0, 3, 4
ENDS = {ENDED: "ended", REFUSED: "refused", OUTCOME_TOLD: "outcomes told"}


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


def kills_and_cuts(
    postgres: Server,
    database: str,
    services: list[bktools.Service],
    address: str,
    arguments: Namespace,
    chance: random.Random,
) -> Counter[str]:
    """Kill and cut until it is enough, then let the last plan end."""
    figures: Counter[str] = Counter()
    while figures["kills"] < arguments.kills or figures["cuts"] < arguments.cuts:
        plan = new_plan(figures["plans"])
        while not is_accepted(plan, services[0]):
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
            figures += judge_and_settle(address, chance.choice(services))
        figures["plans"] += 1
    return figures


class Person:
    """One of the team: a machine with its own folders, and a role of the database, or a file without one."""

    def __init__(self, name: str, folder: Path, address: str, journal: str | None) -> None:
        self.name = name
        self.address = address
        self.steps: Counter[str] = Counter()
        folders = {f"{kind}_dir": folder / name / kind for kind in ("data", "cache", "sent_log")}
        self._variables = {f"BKTOOLS_{kind.upper()}": str(path) for kind, path in folders.items()}
        self._variables |= {"BKTOOLS_BASE_URL": address, "BKTOOLS_TOKEN": "t"}
        if journal is not None:
            self._variables["BKTOOLS_JOURNAL"] = journal
        self.service = bktools.connect(address, token="t", requests_per_minute=0, journal=journal, **folders)

    def look(self) -> None:
        """Look at the journal, as every command does."""
        bktools.load_export_jobs(service=self.service)

    def machine(self) -> str:
        """Return the name of the machine in messages."""
        with Journal(self.service.settings) as journal:
            return named(this_user(), journal.sent_log.machine())

    def runs(self, line: str) -> None:
        """Run a printed command, with a name in the place of the placeholder."""
        line = line.replace("--by NAME", f"--by {self.name}")
        before = {name: os.environ.get(name) for name in self._variables}
        os.environ |= self._variables
        try:
            done = CliRunner().invoke(app, shlex.split(line)[1:])
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise AssertionError(f"{line}: {done.exception}") from done.exception
        assert done.exit_code == 0, f"{line}: {done.output}"

    def refusals(self, plan: bktools.ExportPlan) -> list[str]:
        """Submit a plan; return why some of it was not accepted."""
        try:
            sent = bktools.submit_export_jobs(plan, apply=True, wait=0, progress=False, service=self.service)
        except JournalError as error:
            return [str(error)]
        return sent.loc[sent["outcome"] != "ACCEPTED", "message"].to_list()

    def submits(self, plan: bktools.ExportPlan, team: list[Person]) -> None:
        """Submit a plan until all of it is accepted, and do what the messages say."""
        for _ in range(REFUSALS):
            said = self.refusals(plan)
            if not said:
                return
            for message in said:
                if self.obeys(message, team):
                    break
        raise AssertionError(f"{self.name} goes in a circle: {said[0]}")

    def obeys(self, message: str, team: list[Person]) -> bool:
        """Do what one message says; return whether that concerns all of the journal."""
        confirm = re.search(r"bktools journal restore .*?--by NAME", message)
        resolve = re.search(
            r'(bktools export resolve (\S+) .*?--outcome) "accepted\|released" (--evidence ".*?" --by NAME)',
            message,
        )
        if "did not confirm the restore" in message and confirm:
            for colleague in team:
                if colleague.machine() in message:
                    colleague.confirms(confirm[0])
        elif confirm:
            self.confirms(confirm[0])
        elif resolve:
            self.looks_up(resolve)
        else:
            # The first message about a batch says what to do; the others name it.
            assert re.search("Waiting: first resolve|not sent, because|was stopped", message), message
        return confirm is not None

    def confirms(self, command: str) -> None:
        """Run the command that confirms a restore."""
        if self.steps["confirmed"]:
            self.steps["confirmed again"] += 1
        self.steps["confirmed"] += 1
        self.runs(command)

    def looks_up(self, found: re.Match[str]) -> None:
        """Look the entries of a batch up at the service, and record the outcome."""
        history = bktools.load_export_jobs(entries=True, batch=found[2], service=self.service)
        if (history["state"] != "UNKNOWN").all():
            # A colleague has recorded it since.
            return
        accepted = accepted_by(self.address)
        times = {accepted.get(entry, 0) for entry in history["entry_id"]}
        assert times in ({0}, {1}), f"the entries of batch {found[2]} were accepted {times} times"
        self.steps["looked up"] += 1
        self.runs(f"{found[1]} {'accepted' if times == {1} else 'released'} {found[3]}")


def restores(
    postgres: Server, database: str, address: str, folder: Path, count: int, chance: random.Random
) -> Counter[str]:
    """Restore as often as wanted, in each way in turn; return the figures.

    In each round three people send, a copy of the database is kept, they send on, and the copy takes the
    place of the database. Then all of them submit everything again. In other rounds two of them move their
    files to one database. Whoever is refused runs the printed command to the letter, or asks the colleagues
    whom the message names to run it; whoever is told that an outcome is unknown looks it up and records it.
    The figures count these steps and the answers of the service that the journal lost.
    """
    figures: Counter[str] = Counter()
    plans = (new_plan(number, companies=2, entries=4) for number in itertools.count(10**6))
    team = _team(postgres, database, address, folder)
    for number in range(count):
        way = (*WAYS, MOVED)[number % (len(WAYS) + 1)]
        if way == MOVED:
            _move_files(postgres, address, folder / str(number), plans)
        else:
            keep = partial(postgres.kept, database, way)
            figures["answers lost"] += _restore(way, team, keep, plans, chance)
            for name in ("confirmed again", "looked up"):
                figures[name] += sum(person.steps[name] for person in team)
            steps = [person.steps["confirmed"] for person in team]
            figures["most steps to confirm"] = max(figures["most steps to confirm"], *steps)
        figures["restores"] += 1
        figures[way] += 1
    return figures


def _restore(
    way: str,
    team: list[Person],
    keep: Callable[[], Callable[[], None]],
    plans: Iterator[bktools.ExportPlan],
    chance: random.Random,
) -> int:
    """Send, keep a copy, send on, restore it, and submit all again; return the number of lost answers."""
    for person in team:
        # Everybody has sent before the copy, so that its rows name all of them.
        person.submits(next(plans), team)
    go_back = keep()
    later = []
    for person in chance.sample(team, chance.choice((1, 2, 3))):
        later.append(next(plans))
        if chance.random() < 0.5:
            person.submits(later[-1], team)
        else:
            person.refusals(later[-1])
    for person in team:
        # Nothing but what somebody has seen reveals a rolled back volume.
        if way == "volume" or chance.random() < 0.5:
            person.look()
    answers = _answers(team[0])
    go_back()
    for person in team:
        person.steps.clear()
    for person in chance.sample(team, len(team)):
        for plan in later:
            person.submits(plan, team)
    return len(answers.items() - _answers(team[0]).items())


def _move_files(postgres: Server, address: str, folder: Path, plans: Iterator[bktools.ExportPlan]) -> None:
    """Two people send with their own files, move both to one database, and submit what the other one sent."""
    with postgres.database() as database:
        sent = {}
        for name in NAMES[:2]:
            person = Person(name, folder, address, None)
            sent[name] = next(plans)
            person.refusals(sent[name])
        # Only the owner of the tables may copy rows of the past.
        team = [Person(name, folder, address, postgres.address(database)) for name in sent]
        for person in team:
            person.runs(f"bktools journal move --by NAME --environment {address}")
        for person, plan in zip(team, reversed(sent.values()), strict=True):
            person.submits(plan, team)


def _team(postgres: Server, database: str, address: str, folder: Path) -> list[Person]:
    """Return people whose roles have the least rights; the owner has opened the journal first."""
    Person("owner", folder, address, postgres.address(database)).look()
    team = []
    for name in NAMES:
        own = postgres.address(database, name)
        postgres.sql(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
        postgres.sql(postgres_module.rights(Secret(own), name), database)
        team.append(Person(name, folder, address, own))
    return team


def _answers(person: Person) -> dict[str, str]:
    """Return the job of each batch that the service accepted, as the journal has it."""
    history = bktools.load_export_jobs(service=person.service).dropna(subset="job_id")
    return dict(zip(history["batch_id"], history["job_id"], strict=True))


def attacked(arguments: Namespace) -> Iterator[dict[str, Any]]:
    """Run the attacks, and yield the figures."""
    began, chance = time.monotonic(), random.Random(arguments.seed)
    with ExitStack() as stack:
        address, folder = stack.enter_context(world_of(arguments.seed))
        postgres = stack.enter_context(server())
        database = stack.enter_context(postgres.database())
        team = [Person(str(each), folder, address, postgres.address(database)) for each in range(MACHINES)]
        services = [person.service for person in team]
        figures = kills_and_cuts(postgres, database, services, address, arguments, chance)
        report = {"foreign errors": 0, **figures, "entries": len(accepted_by(address)), "answers lost": 0}
        report["states"] = bktools.load_export_jobs(service=services[0])["state"].value_counts().to_dict()
        restored = stack.enter_context(postgres.database())
        report |= restores(postgres, restored, address, folder / "restores", arguments.restores, chance)
        report["doubles"] = sum(times > 1 for times in accepted_by(address).values())
    yield report | {"seconds": round(time.monotonic() - began)}


if __name__ == "__main__":
    sys.exit(program(attacked, __doc__, ("answers lost",), kills=1000, cuts=200, restores=50))
