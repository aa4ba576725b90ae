"""Output of commands: no text controls the terminal, every encoding works, and a failed write is one line."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import typer

from bktools.errors import StorageError
from bktools.visible import printable, visible
from bktools.wording import Sentence, reason_of


class _Output(io.BufferedIOBase):
    """Standard output that raises `StorageError` at its first failed write and drops all later text.

    A reader that closes the pipe (`| head`) causes no error: the command goes on, because it may be writing
    to the service. Nothing is buffered, so that Ctrl-C during a write repeats no text.
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
                    why = reason_of(error)
                    raise StorageError(Sentence("error.output_not_written", why=why)) from error
        return len(data)


class _Visible(io.TextIOWrapper):
    """A text stream that shows control characters and direction marks as escapes."""

    def write(self, text: str) -> int:
        super().write(printable(text, self.encoding))
        return len(text)


def tell(text: str) -> None:
    """Write a line on standard error. Only this text is escaped: progress bars share the stream."""
    typer.echo(visible(text), err=True)


def guard_output() -> None:
    """Make standard output escape control characters and letters it cannot encode, and report a full disk."""
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper):
        return
    # A terminal is never full, and on some systems it is not a plain file.
    target: Any = stream.buffer if stream.isatty() else _Output(stream.fileno())
    sys.stdout = _Visible(
        target,
        stream.encoding,
        "backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
