"""Where commands write: standard output takes any text and its failures are one line; nothing steers the terminal."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import typer

from bktools.errors import StorageError
from bktools.visible import visible


class _Told(io.BufferedIOBase):
    """Standard output whose first failed write is an error of ours; what comes after it is dropped.

    A reader that goes away (`| head`) has read enough: the command goes on, because it may be writing to the service.
    Nothing is held here, so that a Ctrl-C in the midst of a write does not have it written again.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._has_failed = False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._handle

    def write(self, data: Any) -> int:
        left = memoryview(data)
        while left and not self._has_failed:
            try:
                left = left[os.write(self._handle, left) :]
            except OSError as error:
                self._has_failed = True
                if not isinstance(error, BrokenPipeError):
                    raise StorageError(f"the output cannot be written: {error.strerror}") from error
        return len(data)


class _Visible(io.TextIOWrapper):
    """Text whose control characters and direction marks are written out."""

    def write(self, text: str) -> int:
        super().write(visible(text))
        return len(text)


def tell(text: str) -> None:
    """Write a line on standard error, where bars are drawn too, so that only the text itself is made visible."""
    typer.echo(visible(text), err=True)


def guard_output() -> None:
    """From here on, standard output shows control characters, escapes what its encoding lacks, and tells a full disk."""
    out = sys.stdout
    if not isinstance(out, io.TextIOWrapper):
        return
    # A terminal is never full, and some are more than a file.
    target: Any = out.buffer if out.isatty() else _Told(out.fileno())
    sys.stdout = _Visible(
        target, out.encoding, "backslashreplace",
        line_buffering=out.line_buffering, write_through=out.write_through,
    )  # fmt: skip
