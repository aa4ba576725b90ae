"""A command in a terminal of a width, as somebody sits before it."""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Iterator
from contextlib import suppress

import warm


def _run(terminal: str, width: int, words: list[str]) -> Iterator[None]:
    """Run a command in a terminal."""
    from bktools.cli import main

    os.environ["COLUMNS"] = str(width)
    # The device, not a file beside it.
    screen = open(terminal, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - it is closed below
    errors = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - until the process ends
    yield
    sys.argv, sys.stdout, sys.stderr = ["bktools", *words], screen, errors
    with suppress(SystemExit):
        main()
    sys.stdout.flush()
    os.close(screen.fileno())
    yield


def in_terminal(width: int, *arguments: object) -> list[str]:
    """Return the lines that a command shows in a terminal of a width."""
    screen, end = pty.openpty()
    shown = b""
    with warm.Process(_run, os.ttyname(end), width, [*map(str, arguments)]) as process:
        process.read()
        os.close(end)
        # Linux ends the reading of a terminal that nobody writes to any more by an error.
        with suppress(OSError):
            while piece := os.read(screen, 65_536):
                shown += piece
        process.read()
    os.close(screen)
    return shown.decode().splitlines()
