"""The first answers of a process, read by several threads at once."""

from __future__ import annotations

import json
import os
import sys
import threading

import pytest

from bktools.contract.endpoint import Data
from bktools.contract.export_jobs import CREATE_EXPORT_JOB, ExportJob
from bktools.service import answers

JOB = {"id": "1", "companyId": "2", "numberOfItems": 1, "status": "pending"}
BODY = json.dumps({"data": JOB}).encode()


def read_at_once(threads: int = 6) -> None:
    """Read the first answers of a process, each in a thread, which take turns as often as they can."""
    sys.setswitchinterval(1e-6)
    barrier = threading.Barrier(threads)

    class Fresh(ExportJob, frozen=True):
        """A type that no decoder was built for."""

    def read() -> None:
        barrier.wait()
        answers.read_answer((201, {}, BODY), Data[Fresh], CREATE_EXPORT_JOB)

    running = [threading.Thread(target=read) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a crash of a process is seen in a fork")
def test_first_answers_of_several_threads_crash_nothing():
    """Companies that are sent at once get their first answers at once: msgspec builds a decoder once."""
    ends = []
    for _ in range(60):
        process = os.fork()
        if not process:
            code = 1
            try:
                read_at_once()
                code = 0
            finally:
                os._exit(code)
        ends.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
    assert set(ends) == {0}
