"""Runs calls concurrently in threads, yields their results in order, and stops all threads within a second.

Code that waits in a thread (for the rate, before a repeat) calls `pause`, which ends when the thread must stop.
`transport` ends the requests of threads whose `stop_of_this_thread` is set.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")

# Seconds between checks whether a waiting thread must stop.
LOOK = 0.1

_here = threading.local()

_Task = tuple[Callable[[], Result], "Future[Result]"]


class Stopped(Exception):  # noqa: N818 - not an error: the result is no longer needed
    """Raised inside a worker that must stop; never outside of one."""


def stop_of_this_thread() -> threading.Event | None:
    """Return the event that tells this worker to stop; None in a thread that is not a worker."""
    found: threading.Event | None = getattr(_here, "stop", None)
    return found


def pause(seconds: float) -> None:
    """Wait; raise `Stopped` at once in a worker that must stop."""
    stop = stop_of_this_thread()
    if stop is None:
        # Sleeping for no time hands the interpreter to another thread, and a request waits for it to come back.
        if seconds:
            time.sleep(seconds)
    elif stop.wait(seconds):
        raise Stopped


def side_by_side(calls: Iterable[Callable[[], Result]], threads: int) -> Generator[Result, None, None]:
    """Yield the results of calls in their order, while threads run the next calls.

    Parameters
    ----------
    calls : iterable of callable
        Read lazily: at most two calls per thread are started before their result is needed.
    threads : int
        Number of threads.

    Raises
    ------
    BaseException
        The first failure in the order of the calls. After a failure, at Ctrl-C, and when the caller closes the
        generator, every thread stops.
    """
    stop = threading.Event()
    tasks: queue.SimpleQueue[_Task[Result] | None] = queue.SimpleQueue()
    # Daemon threads: a thread that is blocked in a DNS look-up must not keep the process alive.
    crew = [threading.Thread(target=_work, args=(tasks, stop), daemon=True) for _ in range(threads)]
    for thread in crew:
        thread.start()
    ahead: deque[Future[Result]] = deque()
    try:
        for call in calls:
            ahead.append(Future())
            tasks.put((call, ahead[-1]))
            if len(ahead) >= 2 * threads:
                yield _result(ahead.popleft())
        while ahead:
            yield _result(ahead.popleft())
    finally:
        stop.set()
        for _ in crew:
            tasks.put(None)


def _work(tasks: queue.SimpleQueue[_Task[Result] | None], stop: threading.Event) -> None:
    _here.stop = stop
    while (task := tasks.get()) is not None and not stop.is_set():
        call, future = task
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)


def _result(future: Future[Result]) -> Result:
    stop = stop_of_this_thread()
    while True:
        # Check even when the result is ready: a worker that runs its own workers must stop them too.
        if stop is not None and stop.is_set():
            raise Stopped
        try:
            # A timeout, because on some platforms Ctrl-C does not interrupt an unlimited wait.
            return future.result(timeout=LOOK)
        except TimeoutError:
            if future.done():
                return future.result()
