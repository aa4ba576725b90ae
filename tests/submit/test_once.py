"""Submissions, kills, sleep, copies, cut connections and lost machines in any order: nothing is booked twice.

One state machine over both places of a journal. A process stands where it may be hit, with an open
connection and with its request under way, and the machine says what becomes of it.
"""

from __future__ import annotations

import json
import os
import queue
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pandas as pd
import pytest
from clocks import DAY, set_clock
from honest import WORD, say, settle
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import bktools
from bktools.contract.export_jobs import ExportJob
from bktools.errors import (
    BktoolsError,
    ConnectionLostError,
    ExportAlreadyInProgressError,
    JournalBusyError,
    JournalError,
    MissingContraAccountsError,
    PlanError,
    StatusError,
    UnreachableError,
)
from bktools.journal import sent_log
from bktools.journal.restores import restore
from bktools.journal.writing import open_for_writing
from bktools.settings import Settings, load_settings
from bktools.submit import request

RUNS = int(os.environ.get("BKTOOLS_TEST_RUNS", "4"))
STEPS = int(os.environ.get("BKTOOLS_TEST_STEPS", "25"))

COMPANIES = [str(uuid.UUID(int=number, version=4)) for number in (1, 2)]
ENTRIES = pd.DataFrame(
    {"id": [str(uuid.UUID(int=100 + number, version=4)) for number in range(8)], "company_id": COMPANIES * 4}
)

# What becomes of a request, and of its sender.
ANSWERS = ("created", "created", "repeated", "in progress", "refused", "gateway after", "gateway before")
ANSWERS += ("lost after", "lost before", "killed after", "killed before", "killed with the answer")
# What becomes of a process whose connection stands, before it asks whether it may send.
BEFORE = ("goes on", "goes on", "goes on", "killed", "unreachable")


class Killed(BaseException):
    """The process is no more: what it would have written is not written."""


class World:
    """The service's books."""

    def __init__(self) -> None:
        self.booked: Counter[str] = Counter()
        self.requests = 0


class Process(threading.Thread):
    """A submission. It stops where it may be hit, until the machine decides what becomes of it."""

    def __init__(self, plan: bktools.ExportPlan, where: Settings, world: World, *, is_first: bool) -> None:
        super().__init__(daemon=True)
        self.settings, self.plan, self.world, self.is_first = where, plan, world, is_first
        self.tells: queue.Queue[str] = queue.Queue()
        self.stands: queue.Queue[str] = queue.Queue()
        self.stand = ""
        self.is_dead = self.dies_with_the_answer = False
        self.error: BaseException | None = None
        self.messages: list[str] = []

    def run(self) -> None:
        """Submit, and say how it ended."""
        try:
            word = {"first_export": True, "by": "Ada"} if self.is_first else {}
            options = {"apply": True, "wait": 0, "progress": False} | word
            rows = bktools.submit_export_jobs(self.plan, service=self, **options)  # type: ignore[arg-type]
            self.messages = rows["message"].to_list()
        except BaseException as error:  # noqa: BLE001 - judged by the thread that waits
            self.error = error
        self.stands.put("ended")

    def send(self, body: bytes, before_first_byte: Callable[[], None]) -> ExportJob:
        """Stand with an open connection; ask; stand again while the request is under way."""
        self.stands.put("connected")
        before = self.tells.get()
        if before == "killed":
            self.die()
        if before == "unreachable":
            raise UnreachableError("no connection")
        before_first_byte()
        self.world.requests += 1
        self.stands.put("sent")
        what, _, when = self.tells.get().partition(" ")
        company_id, entries = _fields(body)
        if what in {"created", "repeated"} or when in {"after", "with the answer"}:
            self.world.booked.update(entries)
        if what == "killed" and when != "with the answer":
            self.die()
        self.dies_with_the_answer = what == "killed"
        return _answer(what, company_id, entries)

    def die(self) -> None:
        """End as a killed process does."""
        self.is_dead = True
        raise Killed

    def goes_on(self, what: str | None = None) -> bool:
        """Let it run to where it stands next; tell whether it has not ended."""
        self.start() if what is None else self.tells.put(what)
        self.stand = self.stands.get(timeout=60)
        if self.stand != "ended":
            return True
        self.join()
        if not isinstance(self.error, PlanError | BktoolsError | Killed | None):
            raise self.error
        return False


def _fields(body: bytes) -> tuple[str, list[str]]:
    fields = json.loads(body)
    return fields["companyId"], fields["accountingEntryIds"]


def _answer(what: str, company_id: str, entries: list[str]) -> ExportJob:
    if what == "lost":
        raise ConnectionLostError("lost")
    if what in {"in", "repeated"}:
        # A gateway that repeats a request gives the answer to its second copy.
        raise ExportAlreadyInProgressError("in progress", status=409)
    if what == "gateway":
        raise StatusError("no", status=403, body=b'{"message": "no"}')
    if what == "refused":
        raise MissingContraAccountsError("refused", status=400)
    return ExportJob(
        id=str(uuid.uuid4()), company_id=company_id, number_of_items=len(entries), status="pending"
    )


def _of_this_process(original: Callable[..., Any], *, dies_after: bool = False) -> Callable[..., Any]:
    """Return a function that a dead process does not run, or after which it dies."""

    def run(*arguments: Any, **options: Any) -> Any:
        process = threading.current_thread()
        if getattr(process, "is_dead", False):
            raise Killed
        result = original(*arguments, **options)
        if dies_after and getattr(process, "dies_with_the_answer", False):
            process.die()  # type: ignore[attr-defined]
        return result

    return run


class Exports(RuleBasedStateMachine):
    """People compose and submit, processes die or sleep, copies come back, machines are lost."""

    # An address of a database, with its server; None for a file.
    server: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.folder = Path(self.stack.enter_context(TemporaryDirectory()))
        self.clock = self.stack.enter_context(set_clock())
        self.database = self.stack.enter_context(self.server.database()) if self.server else None
        for target, name, new in (
            (request, "send_export_job", lambda process, body, ask: process.send(body, ask)),
            (request, "record_outcome", _of_this_process(request.record_outcome)),
            (sent_log, "append", _of_this_process(sent_log.append, dies_after=True)),
        ):
            self.stack.enter_context(patch.object(target, name, new))
        # One request at a time, whose fate the machine chooses; the scripted service has no rate.
        self.stack.enter_context(patch("bktools.submit.export_jobs.COMPANIES", 1))
        self.stack.enter_context(patch("bktools.submit.sender.reserve"))
        self.world = World()
        # A file is on one machine.
        self.machines = (0, 1) if self.server else (0,)
        self.lost = [0, 0]
        self.processes: dict[int, Process] = {}
        self.copies: list[Any] = []

    def place(self, machine: int) -> Settings:
        """Return the settings of a machine, or of the one that took its place; a file is on one machine."""
        machine = machine if self.server else 0
        own = self.folder / f"machine-{machine}-{self.lost[machine]}"
        folders = {f"{kind}_dir": own / kind for kind in ("data", "cache", "sent_log")}
        at = {"journal": self.server.address(self.database)} if self.server else {}
        return load_settings("http://127.0.0.1:9", env={}, token="t", **folders, **at)

    @rule(
        number=st.integers(0, 1),
        machine=st.integers(0, 1),
        chosen=st.sets(st.integers(0, 7), min_size=2),
        size=st.integers(1, 4),
        answers=st.lists(st.sampled_from(ANSWERS), max_size=3),
    )
    def submit(self, number, machine, chosen, size, answers):
        """Somebody composes entries and submits them; some requests get their answers."""
        if number in self.processes:
            return
        plan = bktools.compose_export_jobs(ENTRIES.iloc[sorted(chosen)], max_entries=size)
        # An honest person says so only where nothing was ever sent.
        process = Process(plan, self.place(machine), self.world, is_first=self.world.requests == 0)
        self.step(number, process, None)
        for answer in answers:
            self.answer(number, answer, "goes on")

    @rule(number=st.integers(0, 1), answer=st.sampled_from(ANSWERS), before=st.sampled_from(BEFORE))
    def answer(self, number, answer, before):
        """Something becomes of a process."""
        process = self.processes.get(number)
        if process is not None and process.stand == "connected":
            self.step(number, process, before)
        process = self.processes.get(number)
        if process is not None and process.stand == "sent":
            self.step(number, process, answer)

    @rule(answer=st.sampled_from(("lost after", "lost before")))
    def sleep(self, answer):
        """A day passes, over a process that sleeps with its connection, too. Each request ends within it."""
        for each, process in [*self.processes.items()]:
            if process.stand == "sent":
                self.step(each, process, answer)
        self.clock.ahead += DAY
        self.cut()

    @rule(number=st.integers(0, 1), chosen=st.sets(st.integers(0, 7), min_size=4))
    def sleep_while_a_colleague_sends(self, number, chosen):
        """A sender sleeps before its first byte; a colleague settles its batch and sends; it wakes."""
        process = self.processes.get(number)
        if process is None or process.stand != "connected" or 1 - number in self.processes:
            return
        self.sleep("lost before")
        for _ in range(2):
            self.opened(self.place(1 - number))
            self.look(1 - number)
            self.clock.ahead += DAY
        self.submit(1 - number, 1 - number, chosen, 4, ["created"] * 3)
        self.answer(number, "created", "goes on")

    @rule()
    def cut(self):
        """Every connection to a database is cut."""
        if self.server:
            self.server.cut(self.database)

    @rule()
    def copy(self):
        """Somebody copies the journal."""
        if self.server:
            self.copies.append(self.server.kept(self.database, "pg_restore"))
            return
        if files := [*self.place(0).state_dir.glob("journal.sqlite*")]:
            self.copies.append({path.name: path.read_bytes() for path in files})

    @rule(which=st.integers(0, 5))
    def put_back(self, which):
        """Somebody puts a copy in the place of the journal."""
        if not self.copies:
            return
        copy = self.copies[which % len(self.copies)]
        if self.server:
            copy()
            return
        if files := [*self.place(0).state_dir.glob("journal.sqlite*")]:
            for path in files:
                path.unlink()
            self.put_files(copy)

    def put_files(self, copy):
        """Write the files of a copy; SQLite makes the index of its log anew."""
        for name, content in copy.items():
            if not name.endswith("-shm"):
                (self.place(0).state_dir / name).write_bytes(content)

    @rule(machine=st.integers(0, 1), which=st.integers(0, 5))
    def lose(self, machine, which):
        """A machine is lost with its processes; a new one takes its place, with a backup of the file."""
        machine = machine if self.server else 0
        for number, process in [*self.processes.items()]:
            if process.settings == self.place(machine):
                self.end(number, process)
        self.lost[machine] += 1
        if not self.server and self.copies:
            self.place(0).state_dir.mkdir(parents=True)
            self.put_files(self.copies[which % len(self.copies)])

    @rule(machine=st.integers(0, 1))
    def restore(self, machine):
        """Somebody runs the command that a refusal prints."""
        self.opened(self.place(machine))

    @rule(machine=st.integers(0, 1))
    def look(self, machine):
        """A person looks at the books, settles batches in doubt, and records which entries are booked."""
        # Of a service, only the settings are asked.
        service: Any = SimpleNamespace(settings=self.place(machine))
        is_under_way = any(process.stand == "sent" for process in self.processes.values())
        with suppress(JournalError, JournalBusyError):
            settled = settle(service, self.world.booked)
            # A person cannot see what is under way, so only a doubt is settled then.
            if not is_under_way and "" not in settled:
                say(service, ENTRIES, self.world.booked)

    def opened(self, place: Settings) -> str:
        """Open a journal as a person does who runs the printed command; return why that is refused."""
        try:
            open_for_writing(place).close()
        except JournalBusyError as error:
            return str(error)
        except JournalError as error:
            try:
                restore(place, None, **WORD)
            except (JournalError, BktoolsError) as again:
                return f"{error} / {again}"
        except BktoolsError as error:
            return str(error)
        return ""

    @invariant()
    def nothing_is_booked_twice(self):
        """No entry is booked twice, at any moment."""
        assert max(self.world.booked.values(), default=0) <= 1

    def teardown(self):
        """In the end nothing is lost: by the honest way, every entry is brought to its one booking."""
        try:
            for number, process in [*self.processes.items()]:
                self.end(number, process)
            messages: list[object] = []
            for _ in range(6):
                messages += [self.opened(self.place(machine)) for machine in self.machines]
                self.clock.ahead += DAY
                for machine in self.machines:
                    self.look(machine)
                    messages.append(self.finish(machine))
                    assert max(self.world.booked.values(), default=0) <= 1
                if {*self.world.booked} == {*ENTRIES["id"]}:
                    break
            assert {*self.world.booked} == {*ENTRIES["id"]}, messages[-6:]
        finally:
            self.stack.close()

    def finish(self, machine: int) -> object:
        """Send what is left; return why that was refused."""
        left = ENTRIES[~ENTRIES["id"].isin(self.world.booked)]
        if left.empty:
            return None
        # Nothing is under way, and the books of a later day show what an earlier computer sent.
        plan = bktools.compose_export_jobs(left)
        process = Process(plan, self.place(machine), self.world, is_first=True)
        what = None
        while process.goes_on(what):
            what = "goes on" if process.stand == "connected" else "created"
        return process.error or process.messages

    def end(self, number: int, process: Process) -> None:
        """Kill a process where it stands."""
        self.step(number, process, "killed" if process.stand == "connected" else "killed before")

    def step(self, number: int, process: Process, what: str | None) -> None:
        """Let a process go on to where it stands next."""
        if process.goes_on(what):
            self.processes[number] = process
        else:
            self.processes.pop(number, None)


@pytest.mark.timeout(600 + 60 * RUNS)
@pytest.mark.parametrize("place", ["file", "postgres"])
def test_nothing_is_booked_twice(place, request):
    """Whatever happens, no entry is booked twice, and an honest person brings each to its one booking."""

    class Machine(Exports):
        server = request.getfixturevalue("postgres") if place == "postgres" else None

    run_state_machine_as_test(
        Machine,
        settings=settings(
            # A database takes twice the time of a file.
            max_examples=-(-RUNS // 2) if place == "postgres" else RUNS,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            # A failure is shown as it came: to make it smaller takes longer than a test may.
            phases=[Phase.explicit, Phase.generate],
        ),
    )
