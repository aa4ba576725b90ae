"""Runs calls concurrently in threads, and stops all threads within a second.

Code that waits in a thread (for the rate, before a repeat) calls `pause`, which ends when the thread must
stop. `transport` ends the requests of threads whose `stop_of_this_thread` is set.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import wait as wait_for
from typing import TypeVar

from bktools.caller import ON_WINDOWS

Result = TypeVar("Result")

# Seconds between checks whether a waiting thread must stop.
LOOK = 0.1

# Seconds that requests in progress get to end after Ctrl-C, where their outcome must be known.
GRACE = 2.0

_here = threading.local()

_Task = tuple[Callable[[], Result], "Future[Result]"]


class Stopped(Exception):
    """Raised inside a worker that must stop; never outside of one."""


def stop_of_this_thread() -> threading.Event | None:
    """Return the event that tells this worker to stop; None in a thread that is not a worker."""
    stop: threading.Event | None = getattr(_here, "stop", None)
    return stop


def pause(seconds: float) -> None:
    """Wait; raise `Stopped` at once in a worker that must stop."""
    stop = stop_of_this_thread()
    if stop is None:
        # Sleeping for no time hands the interpreter to another thread, and a request would wait for its
        # return.
        if seconds:
            time.sleep(seconds)
    elif stop.wait(seconds):
        raise Stopped


def as_they_end(
    calls: Iterable[Callable[[], Result]],
    threads: int,
    *,
    in_order: bool = False,
    ending: threading.Event | None = None,
) -> Generator[tuple[int, Result], None, None]:
    """Yield the number and the result of each call, as the calls end, or with `in_order` as they begin.

    `calls` is read lazily: at most two calls per thread are started before their result is needed. A slow one
    delays no other, as long as a thread is free. With one thread the calls run in this thread, one after
    another.

    `ending` is for calls that must write down what became of their requests: it is set at the end, the
    running calls get `GRACE` seconds before they are stopped, and are waited for. They begin nothing new once
    it is set.

    The first failure is raised. After a failure, at Ctrl-C, and when the caller closes the generator, running
    calls are stopped, and the others are dropped.
    """
    if threads == 1:
        yield from ((number, call()) for number, call in enumerate(calls))
        return
    stop = threading.Event()
    tasks: queue.SimpleQueue[_Task[Result] | None] = queue.SimpleQueue()
    numbered = enumerate(calls)
    # The calls whose result was not yielded, in their order.
    numbers: dict[Future[Result], int] = {}

    def start(count: int) -> None:
        for number, call in itertools.islice(numbered, count):
            future: Future[Result] = Future()
            numbers[future] = number
            tasks.put((call, future))

    # Daemon threads: a thread that is blocked in a DNS look-up must not keep the process alive.
    for _ in range(threads):
        threading.Thread(target=_work, args=(tasks, stop), daemon=True).start()
    try:
        start(2 * threads)
        while numbers:
            future = _next([next(iter(numbers))] if in_order else numbers)
            result = future.result()
            yield numbers.pop(future), result
            start(1)
    finally:
        running = [future for future in numbers if not future.cancel() and not future.done()]
        try:
            if ending is not None:
                ending.set()
                wait_for(running, timeout=GRACE)
        finally:
            stop.set()
            for _ in range(threads):
                tasks.put(None)
        # Another Ctrl-C ends this wait.
        while ending is not None and wait_for(running, timeout=LOOK).not_done:
            pass


def interruptible(call: Callable[[], Result]) -> Result:
    """Return the result of a call that may block; Ctrl-C ends it on Windows, too.

    There, Ctrl-C interrupts no read of a socket, so the main thread waits for another one.
    """
    if not ON_WINDOWS or threading.current_thread() is not threading.main_thread():
        return call()
    [(_, result)] = as_they_end([call], threads=2)
    return result


def _next(futures: Iterable[Future[Result]]) -> Future[Result]:
    """Return a future that has ended.

    In a worker that must stop, raise `Stopped`, which stops its own workers too.
    """
    stop = stop_of_this_thread()
    while stop is None or not stop.is_set():
        # A timeout, because on some platforms Ctrl-C does not interrupt an unlimited wait.
        if ended := wait_for(futures, timeout=LOOK, return_when=FIRST_COMPLETED).done:
            return ended.pop()
    raise Stopped


def _work(tasks: queue.SimpleQueue[_Task[Result] | None], stop: threading.Event) -> None:
    _here.stop = stop
    while (task := tasks.get()) is not None and not stop.is_set():
        call, future = task
        if not future.set_running_or_notify_cancel():
            continue
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)
