"""The client stays below its rate with all its threads, and waits when the service asks for it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from scripted_server import answer
from small_service import COMPANY, SmallService, row

from bktools.errors import RateLimitedError
from bktools.service.rate import WINDOW, Rate
from bktools.service.retry import RetryPolicy

ROWS = [row(number) for number in range(3)]


def test_the_rate_is_a_sliding_window():
    """No 60 seconds ever hold more requests than allowed, and the first ones do not wait."""
    now, sent = [0.0], []

    def sleep(seconds):
        now[0] += seconds

    rate = Rate(5, clock=lambda: now[0], sleep=sleep)
    for _ in range(17):
        rate.wait(is_export=True)
        sent.append(now[0])
        now[0] += 1.0
    assert sent[4] == 4.0
    for index in range(5, 17):
        assert sent[index] - sent[index - 5] >= 60.0


def test_many_threads_share_one_rate():
    """Threads that send as fast as they can never have more requests in a minute than the limit."""
    counted = threading.local()

    def clock():
        # A minute passes in 0.3 seconds.
        counted.at = time.monotonic() * 200
        return counted.at

    rate = Rate(30, clock=clock, sleep=lambda seconds: time.sleep(seconds / 200))

    def send(_):
        rate.wait()
        return counted.at

    with ThreadPoolExecutor(8) as threads:
        sent = sorted(threads.map(send, range(70)))
    assert all(later - earlier >= 60.0 for earlier, later in zip(sent, sent[30:], strict=False))


@pytest.mark.parametrize(("per_minute", "for_reads"), [(500, 450), (30, 27), (2, 1), (1, 1)])
def test_reads_leave_room_for_exports(per_minute, for_reads):
    """However much is read, an export need not wait; exports may use the whole rate, and reads then wait."""
    now, slept = [0.0], []

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    rate = Rate(per_minute, clock=lambda: now[0], sleep=sleep)
    for _ in range(for_reads):
        rate.wait()
    for _ in range(per_minute - for_reads):
        rate.reserve()
        rate.wait(is_export=True)
    assert slept == []
    rate.wait()
    assert sum(slept) == pytest.approx(WINDOW)


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_makes_every_thread_wait(serve, converse, status):
    """One request is told to wait a second: the requests of other threads wait with it."""
    arrived, small, refused = [], SmallService(ROWS), threading.Event()

    def script(asked):
        arrived.append(time.monotonic())
        if len(arrived) > 1:
            return small(asked)
        refused.set()
        return answer(b"", status, retry_after="1")

    service = converse(serve(script), retry=RetryPolicy(attempts=2, deadline=60.0))
    with ThreadPoolExecutor(3) as threads:
        calls = [threads.submit(service.search_categories, COMPANY)]
        assert refused.wait(30)
        # The answer is on its way, and this is longer than that.
        time.sleep(0.3)
        calls += [threads.submit(service.search_categories, COMPANY) for _ in range(2)]
        assert [len(call.result().data) for call in calls] == [3] * 3
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
    assert time.monotonic() - begin < 60
    assert len(server.asked) == 1
