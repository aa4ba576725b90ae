"""Calls side by side in threads, their results in order, all of them stopped within a second.

A thread learns here that it is to stop. Code that waits in one (for the rate, before a repeat) calls `pause`, and
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

# How often somebody who waits looks whether it is to stop.
LOOK = 0.1

_here = threading.local()

_Task = tuple[Callable[[], Result], "Future[Result]"]


class Stopped(Exception):  # noqa: N818 - no error: what was begun is given up because nobody waits for it any more
    """Raised in a worker that is to stop; never seen outside of one."""


def stop_of_this_thread() -> threading.Event | None:
    """Return what tells this thread to stop; None in a thread that is no worker."""
    found: threading.Event | None = getattr(_here, "stop", None)
    return found


def pause(seconds: float) -> None:
    """Wait; a worker that is to stop does not."""
    stop = stop_of_this_thread()
    if stop is None:
        time.sleep(seconds)
    elif stop.wait(seconds):
        raise Stopped


def side_by_side(calls: Iterable[Callable[[], Result]], threads: int) -> Generator[Result, None, None]:
    """Yield the results of calls in their order, while the next ones are under way.

    Parameters
    ----------
    calls : iterable of callable
        Taken as they are needed: at most two a thread are ahead of what was yielded.
    threads : int
        How many at once.

    Raises
    ------
    BaseException
        The first failure, in the order of the calls. Then, at Ctrl-C, and when the caller stops asking, every thread
        stops.
    """
    stop = threading.Event()
    tasks: queue.SimpleQueue[_Task[Result] | None] = queue.SimpleQueue()
    # Daemons: a thread that the operating system keeps in a look-up of a name must not keep the process.
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
        # Also where every result is there at once: threads below threads stop with the ones above.
        if stop is not None and stop.is_set():
            raise Stopped
        try:
            # In pieces: without an end, Ctrl-C would have to wait on some platforms.
            return future.result(timeout=LOOK)
        except TimeoutError:
            if future.done():
                return future.result()
