"""The log of a command on standard error, for runs that nobody watches: --log-level and --quiet."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from bktools.progress import hushed
from bktools.visible import visible_line

# The least level that is logged.
LogLevel = StrEnum("LogLevel", ["DEBUG", "INFO", "WARNING", "ERROR"])


class _Formatter(logging.Formatter):
    """One line for each record, with the time in UTC; no text controls the terminal."""

    converter = staticmethod(time.gmtime)
    default_time_format, default_msec_format = "%Y-%m-%dT%H:%M:%S", "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        return visible_line(super().format(record))


@contextmanager
def logged(level: LogLevel | None, *, quiet: bool) -> Iterator[None]:
    """Log this level and worse while the context lasts; then, or when quiet, notes and bars are not shown."""
    log, handler = logging.getLogger("bktools"), logging.StreamHandler()
    handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(message)s"))
    if level is not None:
        log.addHandler(handler)
        log.setLevel(level.upper())
    if quiet or level is not None:
        hushed.set()
    try:
        yield
    finally:
        hushed.clear()
        log.removeHandler(handler)
