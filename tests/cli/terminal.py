"""A command in a terminal of a width, as somebody sits before it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys


def in_terminal(width: int, *arguments: object) -> list[str]:
    """Return the lines that a command shows in a terminal of a width."""
    screen, end = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "bktools", *map(str, arguments)],
            stdout=end,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"COLUMNS": str(width)},
        )
        os.close(end)
        shown = b""
        # Linux ends the reading of a terminal that nobody writes to any more by an error.
        try:
            while piece := os.read(screen, 65_536):
                shown += piece
        except OSError:
            pass
        process.wait(timeout=60)
    finally:
        os.close(screen)
    return shown.decode().splitlines()
