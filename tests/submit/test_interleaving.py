"""Two processes' worth of plans, submissions, crashes and settlements in any order, held against a model."""

from __future__ import annotations

import queue
import threading
import uuid
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

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
    UnreachableError,
)
from bktools.journal.journal import Journal
from bktools.settings import load_settings

COMPANIES = [str(uuid.UUID(int=number, version=4)) for number in (1, 2)]
ENTRIES = pd.DataFrame(
    {
        "id": [str(uuid.UUID(int=100 + number, version=4)) for number in range(12)],
        "company_id": [COMPANIES[number % 2] for number in range(12)],
    }
)
ANSWERS = (
    "created",
    "in progress",
    "refused",
    "unreachable",
    "lost after",
    "lost before",
    "killed after",
    "killed before",
)


class Killed(BaseException):
    """The process is no more: what it would have written is not written."""


_settle = Journal.settle


def _settle_unless_dead(*arguments: Any, **options: Any) -> None:
    if getattr(threading.current_thread(), "is_dead", False):
        raise Killed
    _settle(*arguments, **options)


class Process(threading.Thread):
    """One submission. It runs until it sends, and goes on when it is told what became of the request.

    The service's side is scripted here, so that every interleaving can be had; what real sockets and kills do is in the
    tests beside this one.
    """

    def __init__(self, plan: bktools.ExportPlan, where: Any, accepted: Counter[str]) -> None:
        super().__init__(daemon=True)
        self.settings = where
        self.plan = plan
        self.accepted = accepted
        self.told: queue.Queue[str] = queue.Queue()
        self.stands: queue.Queue[str] = queue.Queue()
        self.is_dead = False
        self.error: BaseException | None = None

    def run(self) -> None:
        """Submit, and say how it ended."""
        try:
            bktools.submit_export_jobs(self.plan, apply=True, wait=0, progress=False, service=self)  # type: ignore[arg-type]
        except BaseException as error:  # noqa: BLE001 - judged by the thread that waits
            self.error = error
        self.stands.put("ended")

    def create_export_job(self, entry_ids: list[str], company_id: str, **_: object) -> ExportJob:
        """Do what it is told became of the request."""
        self.stands.put("sending")
        what, _, when = self.told.get().partition(" ")
        if what == "created" or when == "after":
            self.accepted.update(entry_ids)
        if what == "killed":
            self.is_dead = True
            raise Killed
        if what == "lost":
            raise ConnectionLostError("lost")
        if what == "unreachable":
            raise UnreachableError("nobody there")
        if what == "in":
            raise ExportAlreadyInProgressError("in progress", status=409)
        if what == "refused":
            raise MissingContraAccountsError("refused", status=400)
        return ExportJob(id=str(uuid.uuid4()), company_id=company_id, number_of_items=len(entry_ids))

    def goes_on(self, answer: str | None = None) -> bool:
        """Let it run to its next request; tell whether there is one."""
        if answer is None:
            self.start()
        else:
            self.told.put(answer)
        is_sending = self.stands.get(timeout=20) == "sending"
        if not is_sending:
            self.join()
            assert self.error is None or isinstance(self.error, BktoolsError | Killed), self.error
        return is_sending


class Exports(RuleBasedStateMachine):
    """Analysts compose and submit, processes die, a person settles."""

    def __init__(self) -> None:
        super().__init__()
        Journal.settle = _settle_unless_dead
        self.folder = TemporaryDirectory()
        self.settings = load_settings(
            "http://127.0.0.1:9", env={}, config_file=self._config(), token="t", data_dir=Path(self.folder.name)
        )
        self.accepted: Counter[str] = Counter()
        self.plans: list[bktools.ExportPlan] = []
        self.processes: dict[int, Process] = {}

    def _config(self) -> Path:
        path = Path(self.folder.name) / "config.toml"
        path.touch()
        return path

    @rule(chosen=st.sets(st.integers(0, 11), min_size=1), size=st.integers(1, 4), knows=st.booleans())
    def compose(self, chosen, size, knows):
        """An analyst selects entries, with the history or without."""
        history = bktools.load_export_jobs(entries=True, service=self) if knows else None
        plan = bktools.compose_export_jobs(ENTRIES.iloc[sorted(chosen)], max_entries=size, history=history)
        self.plans = [*self.plans[-3:], plan]

    @rule(number=st.integers(0, 1), which=st.integers(0, 3))
    def submit(self, number, which):
        """A process begins to submit one of the last plans."""
        if number not in self.processes and self.plans:
            self._step(number, Process(self.plans[which % len(self.plans)], self.settings, self.accepted), None)

    @rule(number=st.integers(0, 1), answer=st.sampled_from(ANSWERS))
    def answer(self, number, answer):
        """Something becomes of a request on its way."""
        if number in self.processes:
            self._step(number, self.processes[number], answer)

    @rule()
    def settle(self):
        """A person looks at the service's books and says what is there."""
        history = bktools.load_export_jobs(entries=True, service=self)
        for batch_id, rows in history[history["state"] == "UNKNOWN"].groupby("batch_id"):
            times = {self.accepted[entry] for entry in rows["entry_id"]}
            outcome = "accepted" if times == {1} else "released"
            try:
                bktools.resolve_export_job(batch_id, outcome, evidence="the books", by="Ada", service=self)
            except JournalBusyError:
                continue

    @invariant()
    def nothing_is_booked_twice_and_states_are_true(self):
        """What the journal says of the books is so, at every moment."""
        assert max(self.accepted.values(), default=0) <= 1
        history = bktools.load_export_jobs(entries=True, service=self)
        for state, entry in zip(history["state"], history["entry_id"], strict=True):
            if state == "ACCEPTED":
                assert self.accepted[entry] == 1
        live = history[history["state"].isin(["PLANNED", "SENDING", "ACCEPTED", "UNKNOWN"])]
        assert live["entry_id"].is_unique
        sent = set(live.loc[live["state"] != "PLANNED", "entry_id"])
        assert {entry for entry, times in self.accepted.items() if times} <= sent

    def teardown(self):
        """In the end nothing is lost: every entry can be brought to its one booking."""
        try:
            for number, process in list(self.processes.items()):
                self._step(number, process, "killed before")
            for _ in range(40):
                self.settle()
                history = bktools.load_export_jobs(entries=True, service=self)
                plan = bktools.compose_export_jobs(ENTRIES, history=history)
                if plan.entries.empty:
                    break
                process = Process(plan, self.settings, self.accepted)
                answer = None
                while process.goes_on(answer):
                    answer = "created"
            assert set(self.accepted.values()) == {1}
            assert set(self.accepted) == set(ENTRIES["id"])
        finally:
            Journal.settle = _settle
            self.folder.cleanup()

    def _step(self, number: int, process: Process, answer: str | None) -> None:
        if process.goes_on(answer):
            self.processes[number] = process
        else:
            self.processes.pop(number, None)
            assert not isinstance(process.error, JournalError) or isinstance(process.error, JournalBusyError), (
                process.error
            )
            assert process.error is None or isinstance(process.error, PlanError | JournalBusyError | Killed)


TestExports = Exports.TestCase
TestExports.settings = settings(
    max_examples=20, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
