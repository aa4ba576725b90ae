"""One rate for the processes that use one token, on one machine, whatever becomes of file, lock and clock."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

import filelock
import pytest
from scripted_server import answer
from small_service import COMPANY, SmallService, row

from bktools.errors import RateLimitedError, ServerError
from bktools.service import rate as rate_module
from bktools.service.rate import WINDOW, Rate, SharedWindow
from bktools.service.retry import RetryPolicy

ROWS = [row(number) for number in range(3)]
PART = WINDOW / 60


class Clock:
    """Time that passes when it is told to: `wall` may jump, `steady` does not."""

    def __init__(self):
        self.wall, self.steady = 1_800_000_000.0, 0.0

    def sleep(self, seconds):
        """Let time pass."""
        self.wall += seconds
        self.steady += seconds

    def client(self, folder, limit):
        """Return the rate of one more process."""
        shared = SharedWindow(folder, "rate", clock=lambda: self.wall)
        return Rate(limit, shared=shared, clock=lambda: self.steady, sleep=self.sleep)


def test_two_processes_finish_under_the_limit_of_one(serve, tmp_path):
    """Each may send 20 a window, the service takes 24 and counts: both processes get all their answers."""
    window, asked, refused = 1.5, deque(), []
    lock = threading.Lock()
    small = SmallService(ROWS)

    def counting(request):
        with lock:
            now = time.monotonic()
            while asked and asked[0] <= now - window:
                asked.popleft()
            if len(asked) >= 24:
                refused.append(now)
                return answer(b"", 429)
            asked.append(now)
        return small(request)

    server = serve(counting)
    command = [sys.executable, str(Path(__file__).with_name("rate_worker.py"))]
    command += [server.url, str(tmp_path / "cache"), "30", "20", str(window)]
    workers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    failures = [worker.communicate(timeout=60)[1] for worker in workers]
    print(f"60 requests of 2 processes, {len(refused)} refused")
    assert failures == ["", ""]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert (small.count, refused) == (60, [])


def test_what_one_client_sends_counts_for_the_other(tmp_path):
    """Neither of two clients, nor both together, ever send more than the limit in any window."""
    clock, sent = Clock(), []
    clients = [clock.client(tmp_path, 5) for _ in range(2)]
    for index in range(40):
        clients[index % 2].wait()
        sent.append(clock.steady)
        clock.sleep(0.7)
    assert all(later - earlier >= WINDOW for earlier, later in zip(sent, sent[5:], strict=False))
    # Dated to a sixtieth of a window, it loses no more than that for each window.
    assert sent[-1] <= 8 * (WINDOW + PART)


@pytest.mark.parametrize("jump", [-1e9, -86_400, -30, 30, 86_400, 1e9])
def test_a_clock_that_jumps(tmp_path, jump):
    """Nobody waits longer than a window, and a jump lets no more through than the limit once more."""
    clock = Clock()
    clients = [clock.client(tmp_path, 6) for _ in range(4)]
    for index in range(6):
        clients[index % 4].wait()
    clock.wall += jump
    begin, sent = clock.steady, [0.0] * 6
    for index in range(18):
        before = clock.steady
        clients[index % 4].wait()
        sent.append(clock.steady)
        assert clock.steady - before <= WINDOW + PART
    assert clock.steady - begin <= 3 * (WINDOW + PART)
    assert all(later - earlier >= WINDOW for earlier, later in zip(sent, sent[12:], strict=False))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 100,
        b'{"sent":[[1,',
        b'{"sent":[[1e308,3]],"held":[1e308,1e308]}',
        b'{"sent":[[0,-9]]}',
        b"[" * 70_000,
        b'{"held":[1800000000,1e300]}',
    ],
    ids=["empty", "zeros", "cut", "far away", "negative", "deep", "held for ever"],
)
def test_a_damaged_file_holds_nobody_up(tmp_path, content):
    """A file that was cut by a kill, or that somebody wrote, is counted anew; no wait is longer than a promised one."""
    (tmp_path / "rate.json").write_bytes(content)
    clock = Clock()
    client = clock.client(tmp_path, 2)
    for _ in range(4):
        client.wait()
    assert clock.steady <= rate_module.LONGEST_HOLD + 2 * (WINDOW + PART)


def test_a_folder_that_cannot_be_written_is_said_once(serve, converse, tmp_path, caplog):
    """Each process then counts for itself, and every request is answered."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "rate").write_text("no folder")
    service = converse(serve(SmallService(ROWS)))
    with caplog.at_level(logging.WARNING, logger="bktools"):
        for _ in range(3):
            service.search_categories(COMPANY)
    assert [
        record.message for record in caplog.records if "only the requests of this process are counted" in record.message
    ]
    assert len(caplog.records) == 1


def test_a_lock_that_is_held_is_not_waited_for_for_ever(tmp_path, monkeypatch, caplog):
    """Another process was stopped with the lock in its hand: after a while each counts for itself, and says so."""
    monkeypatch.setattr(rate_module, "PATIENCE", 0.2)
    client = Rate(100, shared=SharedWindow(tmp_path, "rate"))
    with filelock.FileLock(tmp_path / "rate.lock"):
        begin = time.monotonic()
        for _ in range(3):
            client.wait()
        assert 0.2 <= time.monotonic() - begin < 2
    assert caplog.text.count("another process holds its lock") == 1


def test_without_a_limit_nothing_is_touched(serve, converse, tmp_path):
    converse(serve(SmallService(ROWS)), requests_per_minute=0).search_categories(COMPANY)
    assert not (tmp_path / "cache").exists()


def test_the_file_holds_no_credential_and_is_private(serve, converse, tmp_path):
    converse(serve(SmallService(ROWS))).search_categories(COMPANY)
    files = list((tmp_path / "cache" / "rate").iterdir())
    assert files
    assert all(file.stat().st_mode & 0o077 == 0 for file in (files[0].parent, *files))
    assert not any("token" in file.name or b"token" in file.read_bytes() for file in files)


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_binds_everybody(serve, converse, status):
    """One request is told to wait a second: other threads, and other processes by the file, wait with it."""
    arrived, small = [], SmallService(ROWS)

    def script(asked):
        arrived.append(time.monotonic())
        return answer(b"", status, retry_after="1") if len(arrived) == 1 else small(asked)

    server = serve(script)
    # Two clients with nothing in common but the folder are as two processes.
    service, other = converse(server), converse(server)
    first = threading.Thread(target=service.search_categories, args=(COMPANY,))
    first.start()
    while not (service._rate._held_until > 0):
        time.sleep(0.001)
    calls = [threading.Thread(target=item.search_categories, args=(COMPANY,)) for item in (service, other)]
    for call in calls:
        call.start()
    for call in (first, *calls):
        call.join()
    assert len(arrived) == 4
    assert min(arrived[1:]) - arrived[0] >= 1


def test_a_wait_beyond_the_deadline_is_said_at_once(serve, converse):
    """The next call is not sent, and does not wait, when the service asked for more time than it has."""
    server = serve(lambda _: answer(b"", 429, retry_after="100"))
    service = converse(server)
    begin = time.monotonic()
    for said in ("too many requests", "nothing was sent"):
        with pytest.raises(RateLimitedError, match=said):
            service.search_categories(COMPANY)
    assert time.monotonic() - begin < 1
    assert len(server.asked) == 1


def test_waiting_costs_no_budget(serve, converse):
    """Waits that the service asked for leave attempts and budget to a service that fails."""
    small = SmallService(ROWS, fault=lambda number: answer(b"", 429, retry_after="0") if number <= 9 else None)
    service = converse(serve(small), retry=RetryPolicy(attempts=2, shortest_pause=0.001, longest_pause=0.002))
    left = service._budget._left
    assert len(service.search_categories(COMPANY).data) == 3
    assert (small.count, service._budget._left) == (10, left)
    small.fault = lambda _: answer(b"", 503)
    with pytest.raises(ServerError):
        service.search_categories(COMPANY)
    assert small.count == 12
