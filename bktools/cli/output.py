"""Standard output that takes any text, and whose failures are one line."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from bktools.errors import StorageError


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


def tell_failed_output() -> None:
    """From here on, standard output escapes what its encoding lacks, and a full disk is a `StorageError`."""
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return
    sys.stdout.reconfigure(errors="backslashreplace")
    # A terminal is never full, and some are more than a file.
    if not sys.stdout.isatty():
        out = sys.stdout
        sys.stdout = io.TextIOWrapper(
            _Told(out.fileno()), out.encoding, out.errors,
            line_buffering=out.line_buffering, write_through=out.write_through,
        )  # fmt: skip
