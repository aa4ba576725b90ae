"""Standard output that takes any text, and whose failures are one line."""

from __future__ import annotations

import io
import sys
from typing import Any

from bktools.errors import StorageError


class _Told(io.FileIO):
    """A file whose first failed write is an error of ours; what comes after it is dropped.

    A reader that goes away (`| head`) has read enough: the command goes on, because it may be writing to the service.
    """

    _has_failed = False

    def write(self, data: Any) -> int:
        if self._has_failed:
            # What is left in buffers when the process ends.
            return len(data)
        try:
            return super().write(data)
        except BrokenPipeError:
            self._has_failed = True
            return len(data)
        except OSError as error:
            self._has_failed = True
            raise StorageError(f"the output cannot be written: {error.strerror}") from error


def tell_failed_output() -> None:
    """From here on, standard output escapes what its encoding lacks, and a full disk is a `StorageError`."""
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return
    sys.stdout.reconfigure(errors="backslashreplace")
    # A terminal is never full, and some are more than a file.
    if not sys.stdout.isatty():
        file = io.BufferedWriter(_Told(sys.stdout.fileno(), "wb", closefd=False))
        out = sys.stdout
        sys.stdout = io.TextIOWrapper(
            file, out.encoding, out.errors, line_buffering=out.line_buffering, write_through=out.write_through
        )
