"""Processes of Python that begin with the heavy libraries: forks of a process that opens nothing itself.

Importing them anew takes each process a second. Files, locks and threads belong to the fork alone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

_CONTEXT: Any = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
if hasattr(os, "fork"):
    OWN = "connection export.compose journal.journal reconcile.reconcile sandbox.server snapshots.tables"
    OWN += " submit.accounts submit.export_jobs cli.app"
    OTHERS = "polars httpcore httpx keyring.backends.SecretService pandas pyarrow.compute pyarrow.dataset"
    OTHERS += " pyarrow.parquet pytest rich.console typer.testing uvicorn.server"
    _CONTEXT.set_forkserver_preload([*(f"bktools.{name}" for name in OWN.split()), *OTHERS.split()])


class Process:
    """A process that runs a generator, of a module's top level; each value that it yields is read here.

    It has the environment variables of this process, and is killed at the end of a `with` block.
    """

    def __init__(self, function: Callable[..., Iterator[Any]], *arguments: Any) -> None:
        self._values, told = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(
            target=_run, args=(function, arguments, dict(os.environ), Path.cwd(), told), daemon=True
        )
        self._process.start()
        told.close()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid  # type: ignore[no-any-return]

    def read(self) -> Any:
        """Wait for the next value; EOFError when there is none, because the process ended or was killed."""
        value, failure = self._values.recv()
        assert failure is None, failure
        return value

    def send_signal(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it at once."""
        self._process.kill()

    def wait(self) -> int:
        """Wait for its end; return its exit code, or the signal that ended it as a negative number."""
        self._process.join()
        return self._process.exitcode  # type: ignore[no-any-return]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait()
        self._values.close()


def result(function: Callable[..., Iterator[Any]], *arguments: Any) -> Any:
    """Run a generator in a process of its own; return the first value."""
    with Process(function, *arguments) as process:
        return process.read()


def _run(
    function: Callable[..., Iterator[Any]],
    arguments: tuple[Any, ...],
    environment: dict[str, str],
    folder: Path,
    told: Connection,
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for value in function(*arguments):
            told.send((value, None))
    except BaseException:
        told.send((None, traceback.format_exc()))
        raise
