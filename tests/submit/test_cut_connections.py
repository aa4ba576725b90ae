"""Connections to a shared journal that are cut during a submission: no answer is lost."""

from __future__ import annotations

import signal
import threading

import pytest
from entries_by_hand import COMPANY, entries_of, outcomes, submit
from raw_service import created, job, send

import bktools
from bktools.errors import StorageError
from bktools.journal.right_journal import problems
from bktools.journal.writing import open_for_writing
from bktools.submit import request, sender

pytestmark = pytest.mark.parametrize("backend", ["postgres"], indirect=True)


@pytest.fixture
def plan():
    """A plan of three batches."""
    return bktools.compose_export_jobs(entries_of(COMPANY, 3), max_entries=1)


@pytest.mark.parametrize(
    ("place", "step"),
    [(request, "begin"), (sender, "row_unsent"), (request, "still_sending")],
    ids=["begin", "the state", "the question"],
)
def test_a_cut_before_a_request_sends_nothing_twice(
    talking, postgres, database, plan, monkeypatch, place, step
):
    """Wherever the connection is cut before a request, the run ends, and the next one sends the rest once."""
    original = getattr(place, step)

    def cut(journal, *arguments):
        if journal.rows("SELECT 1 FROM batches WHERE state = 'ACCEPTED'"):
            monkeypatch.setattr(place, step, original)
            assert postgres.cut(database)
        return original(journal, *arguments)

    monkeypatch.setattr(place, step, cut)
    with talking(created) as (raw, service):
        with pytest.raises(StorageError):
            outcomes(plan, service)
        assert len(raw.requests) == 1
        assert outcomes(plan, service) == ["ACCEPTED"] * 3
        assert (len(raw.requests), set(raw.accepted.values())) == (3, {1})
        with open_for_writing(service.settings) as journal:
            assert problems(journal) == []


@pytest.mark.parametrize("is_replayed", [False, True])
def test_an_answer_that_was_kept_is_written_by_the_next_run(
    talking, postgres, database, plan, monkeypatch, is_replayed
):
    """An answer that the database could not take waits on the machine; the next run writes it and goes on."""

    def answer(raw, connection, request):
        raw.accepted.update(request["accountingEntryIds"])
        same = {"id": "00000000-0000-4000-8000-00000000000a"} if is_replayed else {}
        if len(raw.requests) == 2:
            postgres.sql(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
            postgres.cut(database)
        send(connection, 201, job(request, **same))

    with talking(answer, read=10.0) as (raw, service):
        with pytest.raises(StorageError, match="kept in this machine's sent log"):
            submit(plan, service)
        postgres.sql(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true")
        rest = ["UNKNOWN", "BLOCKED"] if is_replayed else ["ACCEPTED", "ACCEPTED"]
        assert outcomes(plan, service) == ["ACCEPTED", *rest]
        assert set(raw.accepted.values()) == {1}


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals to a thread are POSIX")
def test_ctrl_c_keeps_the_answer_in_hand(talking, postgres, database, plan):
    """Whoever does not wait for the database to come back loses no answer: the next run writes it."""

    def answer(raw, connection, request):
        if len(raw.requests) == 1:
            postgres.sql(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
            postgres.cut(database)
            main = threading.main_thread().ident
            threading.Timer(1.0, signal.pthread_kill, (main, signal.SIGINT)).start()
        created(raw, connection, request)

    with talking(answer, read=10.0) as (raw, service):
        with pytest.raises(KeyboardInterrupt):
            submit(plan, service)
        postgres.sql(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true")
        assert outcomes(plan, service) == ["ACCEPTED"] * 3
        assert set(raw.accepted.values()) == {1}
