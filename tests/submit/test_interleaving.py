"""Submissions, crashes, backups, second folders and aliases in any order: nothing is booked twice."""

from __future__ import annotations

import datetime as dt
import os
import queue
import shutil
import sys
import threading
import uuid
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pandas as pd
from hypothesis import HealthCheck, Phase, settings
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
from bktools.journal.backups import restore
from bktools.journal.journal import Journal
from bktools.journal.writing import WritableJournal
from bktools.settings import Settings, load_settings

RUNS = int(os.environ.get("BKTOOLS_TEST_RUNS", "6"))

COMPANIES = [str(uuid.UUID(int=number, version=4)) for number in (1, 2)]
ENTRIES = pd.DataFrame(
    {
        "id": [str(uuid.UUID(int=100 + number, version=4)) for number in range(12)],
        "company_id": [COMPANIES[number % 2] for number in range(12)],
    }
)
ANSWERS = ("created", "created", "repeated", "in progress", "refused", "unreachable")
ANSWERS += ("lost after", "lost before", "killed after", "killed before")
# Where an analyst works: a data folder, and an environment by its name or by its address in some spelling.
PLACES = (
    ("first", "http://127.0.0.1:9"),
    ("first", "http://LOCALHOST:9/./"),
    ("first", "live"),
    ("second", "http://127.0.0.1:9"),
)
FIGURES: Counter[str] = Counter()


class Killed(BaseException):
    """The process is no more: what it would have written is not written."""


class Service:
    """The service's side, scripted for every interleaving; other tests have sockets and kills."""

    def __init__(self) -> None:
        self.accepted: Counter[str] = Counter()
        self.running: set[str] = set()

    def create(self, entry_ids: list[str], company_id: str) -> None:
        """Create a job. It runs longer than a test."""
        self.accepted.update(entry_ids)
        self.running.add(company_id)


class Process(threading.Thread):
    """One submission. It runs until it sends, and goes on when it is told what became of the request."""

    def __init__(self, plan: bktools.ExportPlan, where: Settings, service: Service) -> None:
        super().__init__(daemon=True)
        self.settings = where
        self.plan = plan
        self.service = service
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
        FIGURES["requests"] += 1
        is_free = company_id not in self.service.running
        if what == "created" or when == "after" or (what == "repeated" and is_free):
            self.service.create(entry_ids, company_id)
        if what == "killed":
            self.is_dead = True
            raise Killed
        if what == "lost":
            raise ConnectionLostError("lost")
        if what == "unreachable":
            raise UnreachableError("nobody there")
        if what in {"in", "repeated"}:
            # A gateway that repeats a request gives the answer to its second copy.
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
        is_sending = self.stands.get(timeout=60) == "sending"
        if not is_sending:
            self.join()
            assert self.error is None or isinstance(self.error, BktoolsError | Killed), self.error
        return is_sending


_settle = WritableJournal.settle


def _settle_unless_dead(*arguments: Any, **options: Any) -> None:
    if getattr(threading.current_thread(), "is_dead", False):
        raise Killed
    _settle(*arguments, **options)


class Exports(RuleBasedStateMachine):
    """Analysts compose and submit, processes die, copies come back, a person settles."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.folder = Path(self.stack.enter_context(TemporaryDirectory()))
        self.ahead = dt.timedelta(0)
        for module in ("bktools.journal.records", "bktools.journal.writing", "bktools.submit.export_jobs"):
            self.stack.enter_context(patch(f"{module}.now", self._now))
        self.stack.enter_context(patch.object(WritableJournal, "settle", _settle_unless_dead))
        # One request at a time, whose answer the machine chooses; the scripted service has no rate.
        self.stack.enter_context(patch("bktools.submit.export_jobs.COMPANIES", 1))
        self.stack.enter_context(patch("bktools.submit.export_jobs.reserve"))
        (self.folder / "config.toml").write_text('[live]\nbase_url = "http://127.0.0.1:9"\n')
        self.places = [self._place(folder, address) for folder, address in PLACES]
        self.service = Service()
        self.plans: list[bktools.ExportPlan] = []
        self.processes: dict[int, Process] = {}
        self.copies: list[tuple[int, Path, Path]] = []
        FIGURES["runs"] += 1

    def _now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC) + self.ahead

    def _place(self, folder: str, address: str) -> Settings:
        return load_settings(
            address,
            env={"BKTOOLS_CONFIG": str(self.folder / "config.toml")},
            token="t",
            data_dir=self.folder / folder,
            sent_log_dir=self.folder / "sent_log",
        )

    @rule(
        chosen=st.sets(st.integers(0, 11), min_size=1),
        size=st.integers(1, 4),
        knows=st.booleans(),
        at=st.integers(0, 3),
    )
    def compose(self, chosen, size, knows, at):
        """An analyst selects entries, with the history of a place or without."""
        history = self._history(at) if knows else None
        plan = bktools.compose_export_jobs(ENTRIES.iloc[sorted(chosen)], max_entries=size, history=history)
        self.plans = [*self.plans[-3:], plan]

    @rule(number=st.integers(0, 1), which=st.integers(0, 3), at=st.sampled_from((0, 0, 0, 1, 2, 3)))
    def submit(self, number, which, at):
        """A process begins to submit one of the last plans, wherever it was composed."""
        if number not in self.processes and self.plans:
            plan = self.plans[which % len(self.plans)]
            self._step(number, Process(plan, self.places[at], self.service), None)

    @rule(
        chosen=st.sets(st.integers(0, 11), min_size=4),
        size=st.integers(1, 4),
        at=st.sampled_from((0, 0, 1, 2, 3)),
        answers=st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=4),
    )
    def compose_and_submit(self, chosen, size, at, answers):
        """An analyst does all of it at once, and gives up at some point."""
        if 0 in self.processes:
            return
        self.compose(chosen, size, True, at)
        self._step(0, Process(self.plans[-1], self.places[at], self.service), None)
        for answer in answers:
            self.answer(0, answer)

    @rule(number=st.integers(0, 1), answer=st.sampled_from(ANSWERS))
    def answer(self, number, answer):
        """Something becomes of a request on its way."""
        if number in self.processes:
            self._step(number, self.processes[number], answer)

    @rule(at=st.integers(0, 3), with_log=st.booleans())
    def copy(self, at, with_log):
        """Somebody copies the journal's files, with the log beside them or without."""
        try:
            with Journal(self.places[at]) as journal:
                path = journal.path
        except JournalError:
            # In the second folder no journal begins beside the first.
            return
        copied = self.folder / f"copy-{len(self.copies)}"
        copied.mkdir()
        for suffix in ("", "-wal") if with_log else ("",):
            if path.with_name(path.name + suffix).exists():
                shutil.copy(path.with_name(path.name + suffix), copied / f"journal.sqlite{suffix}")
        self.copies.append((at, path, copied / "journal.sqlite"))

    @rule(which=st.integers(0, 5), by_command=st.booleans())
    def put_back(self, which, by_command):
        """Somebody puts a copy back, by the command or by hand."""
        if not self.copies or self.processes:
            return
        at, path, copied = self.copies[which % len(self.copies)]
        FIGURES["copies put back"] += 1
        if by_command:
            self._restore(at, copied)
            return
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        for suffix in ("", "-wal"):
            if copied.with_name(copied.name + suffix).exists():
                shutil.copy(copied.with_name(copied.name + suffix), path.with_name(path.name + suffix))

    @rule(at=st.integers(0, 3))
    def go_on(self, at):
        """Somebody goes on with the copy that is there."""
        if not self.processes:
            self._restore(at, None)

    @rule(hours=st.integers(-48, 48))
    def jump(self, hours):
        """The clock of the machine is set, forward or back."""
        self.ahead = dt.timedelta(hours=hours)

    @rule(at=st.integers(0, 3))
    def settle(self, at):
        """A person looks at the service's books and says what is there."""
        history = self._history(at)
        if history is None:
            return
        for batch_id, rows in history[history["state"] == "UNKNOWN"].groupby("batch_id"):
            times = {self.service.accepted[entry] for entry in rows["entry_id"]}
            outcome = "accepted" if times == {1} else "released"
            try:
                bktools.resolve_export_job(
                    batch_id, outcome, evidence="the books", by="Ada", service=self._at(at)
                )
            except (JournalBusyError, JournalError):
                # An old copy settles nothing.
                continue

    @invariant()
    def nothing_is_booked_twice(self):
        """No entry is booked twice, at any moment."""
        assert max(self.service.accepted.values(), default=0) <= 1

    def teardown(self):
        """In the end nothing is lost: every entry can be brought to its one booking."""
        try:
            for number, process in list(self.processes.items()):
                self._step(number, process, "killed before")
            for at in range(len(PLACES)):
                self._restore(at, None)
            for _ in range(30):
                for at in range(len(PLACES)):
                    self.settle(at)
                left = ENTRIES[~ENTRIES["id"].isin(self.service.accepted)]
                if left.empty:
                    break
                # In one of the folders lies the journal of the environment.
                errors = [self._finish(left, at) for at in (0, 3)]
                assert None in errors, errors
            assert set(self.service.accepted.values()) == {1}
            assert set(self.service.accepted) == set(ENTRIES["id"])
        finally:
            FIGURES["entries"] += len(self.service.accepted)
            FIGURES["doubles"] += sum(times > 1 for times in self.service.accepted.values())
            self.stack.close()
            if FIGURES["runs"] % 100 == 0:
                sys.stdout.write(f"\n{dict(FIGURES)}\n")
                sys.stdout.flush()

    def _finish(self, left: pd.DataFrame, at: int) -> BaseException | None:
        """Send what is left from a place; return why that was refused."""
        left = left[~left["id"].isin(self.service.accepted)]
        if left.empty:
            return None
        process = Process(bktools.compose_export_jobs(left), self.places[at], self.service)
        answer = None
        while process.goes_on(answer):
            answer = "created"
        return process.error

    def _restore(self, at: int, source: Path | None) -> None:
        try:
            restore(self.places[at], source, by="Ada")
        except JournalError as error:
            # There is none yet, it is in the other folder, or the copy's journal was used in another place.
            known = ("nothing was ever sent with this data folder", "which still exists")
            if source is None and not any(text in str(error) for text in known):
                raise

    def _at(self, at: int) -> Any:
        return Process(None, self.places[at], self.service)  # type: ignore[arg-type]

    def _history(self, at: int) -> pd.DataFrame | None:
        with suppress(JournalError):
            return bktools.load_export_jobs(entries=True, service=self._at(at))
        return None

    def _step(self, number: int, process: Process, answer: str | None) -> None:
        if process.goes_on(answer):
            self.processes[number] = process
            return
        self.processes.pop(number, None)
        FIGURES["refused"] += isinstance(process.error, JournalError | PlanError)
        assert isinstance(process.error, PlanError | JournalError | Killed | None), process.error


class TestExports(Exports.TestCase):
    """The machine, with a fixed number of runs (more with BKTOOLS_TEST_RUNS=…)."""

    settings = settings(
        max_examples=RUNS,
        stateful_step_count=25,
        suppress_health_check=list(HealthCheck),
        # A failure is shown as it came: to make it smaller takes longer than a test may.
        phases=[Phase.explicit, Phase.generate],
    )

    def runTest(self):  # noqa: N802 - unittest's name
        """Every order of events ends with each entry booked once."""
        super().runTest()
        sys.stdout.write(f"\n{dict(FIGURES)}\n")
        assert FIGURES["doubles"] == 0
