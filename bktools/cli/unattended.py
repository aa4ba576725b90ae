"""Commands that run unattended: --quiet, --log-format and --log-level. All of it is on standard error."""

from __future__ import annotations

import datetime as dt
import io
import itertools
import json
import logging
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from typing import NoReturn, TextIO, TypeVar

from bktools.cli.exits import LONG_STORIES, described, is_of_the_parser
from bktools.cli.output import TextFormat
from bktools.errors import BktoolsError
from bktools.progress import hushed, note
from bktools.visible import visible, visible_line

log = logging.getLogger("bktools")

# The beginning of warnings and errors that commands print.
PREFIX = "bktools: "

FLAGS = ("--verbose", "--quiet")
WITH_VALUE = ("--log-format", "--log-level")

_Words = TypeVar("_Words", bound=StrEnum)

# Fields of a log line beside time, level and message.
FIELDS = ("error", "exit_code", "seconds", "request_id", "guide")


class LogLevel(StrEnum):
    """The least level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def common_first(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the options of every command first, because people add them at the end."""
    common, others = [], []
    left = iter(arguments)
    for argument in left:
        if argument == "--":
            others += [argument, *left]
        elif argument in FLAGS or argument.startswith(tuple(f"{name}=" for name in WITH_VALUE)):
            common.append(argument)
        elif argument in WITH_VALUE:
            common.append("=".join([argument, *itertools.islice(left, 1)]))
        else:
            others.append(argument)
    return [*common, *others]


@contextmanager
def unattended(arguments: Sequence[str]) -> Iterator[None]:
    """Set up the log of a command, as its arguments ask; those of every command stand first."""
    is_quiet, log_format = "--quiet" in arguments, _log_format(arguments)
    level = _value("--log-level", LogLevel, arguments) or ("warning" if is_quiet else "info")
    out, started = sys.stderr, time.monotonic()
    with ExitStack() as stack:
        stack.callback(setattr, sys, "stderr", out)
        if log_format is not None:
            _log_to(out, log_format, level.upper(), stack)
        if log_format is TextFormat.JSON:
            sys.stderr = _Logged()
        if is_quiet or log_format is not None:
            stack.callback(hushed.clear)
            hushed.set()
        try:
            yield
        except SystemExit as end:
            code, seconds = int(end.code or 0), round(time.monotonic() - started, 1)
            log.info(
                "ended after %s s, exit code %d", seconds, code, extra={"exit_code": code, "seconds": seconds}
            )
            raise


def fail(error: Exception, arguments: Sequence[str]) -> NoReturn:
    """End the command with an error's exit code, after one line about it, and as data where asked for."""
    data = described(error)
    # Also where the arguments cannot be parsed.
    if "--format=json" in arguments or ("--format", "json") in itertools.pairwise(arguments):
        from bktools.cli.results import write_json

        write_json({"error": data})
    is_expected = isinstance(error, BktoolsError) or is_of_the_parser(error)
    wants_traceback = "--verbose" in arguments or not is_expected
    if _log_format(arguments) is not None:
        fields = {"error": data["kind"], "exit_code": data["exit_code"], "guide": data["guide"]}
        log.error("%s", data["message"], exc_info=error if wants_traceback else None, extra=fields)
    elif is_of_the_parser(error):
        error.show()  # type: ignore[attr-defined]
    elif wants_traceback:
        print(visible("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    else:
        print(f"{PREFIX}{error}", file=sys.stderr)
        if isinstance(error, LONG_STORIES) or getattr(error, "settings", False):
            note(f"{PREFIX}more about this: {data['guide']}")
    sys.exit(data["exit_code"])


def _log_format(arguments: Sequence[str]) -> TextFormat | None:
    """Return the format of the log; a level alone asks for text."""
    by_level = TextFormat.TEXT if _value("--log-level", LogLevel, arguments) else None
    return _value("--log-format", TextFormat, arguments) or by_level


def _value(option: str, words: type[_Words], arguments: Sequence[str]) -> _Words | None:
    """Return the word that an option has; None for a wrong one, which the command's parser refuses."""
    value = dict(argument.partition("=")[::2] for argument in arguments).get(option)
    return words(value) if value in set(words) else None


def _log_to(out: TextIO, log_format: TextFormat, level: str, stack: ExitStack) -> None:
    """Write the log to a stream until the stack is closed."""
    handler = logging.StreamHandler(out)
    handler.setFormatter(_JsonFormatter() if log_format is TextFormat.JSON else _TextFormatter())
    stack.callback(log.removeHandler, handler)
    # Setting the attribute would leave the cache of enabled levels as it was.
    stack.callback(log.setLevel, log.level)
    stack.callback(setattr, log, "propagate", log.propagate)
    log.addHandler(handler)
    log.setLevel(level)
    log.propagate = False


class _Logged(io.TextIOBase):
    """A stream whose lines become lines of the log. They are warnings: notes are logged, not printed."""

    def __init__(self) -> None:
        # Threads print their lines in several pieces.
        self._pieces = threading.local()

    def write(self, text: str) -> int:
        *lines, self._pieces.rest = (getattr(self._pieces, "rest", "") + text).split("\n")
        for line in filter(str.strip, lines):
            log.warning("%s", line.removeprefix(PREFIX).strip())
        return len(text)


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = f"{_time(record)} {record.levelname} {visible_line(record.getMessage())}"
        return (
            text if record.exc_info is None else f"{text}\n{visible(self.formatException(record.exc_info))}"
        )


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        trace = record.exc_info and self.formatException(record.exc_info)
        line = {
            "time": _time(record),
            "level": record.levelname,
            "message": record.getMessage(),
            "traceback": trace,
        }
        line |= {name: getattr(record, name, None) for name in FIELDS}
        return json.dumps({name: value for name, value in line.items() if value is not None})


def _time(record: logging.LogRecord) -> str:
    moment = dt.datetime.fromtimestamp(record.created, dt.UTC)
    return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
