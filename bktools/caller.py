"""Names arguments in messages: as Python arguments, or as options where a command runs.

A message says `decimal='.'` in Python, and `--decimal .` in a command that has this option.
"""

from __future__ import annotations

import inspect
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import NamedTuple

# There file names may be those of devices, open files keep their names, and folders cannot be opened.
ON_WINDOWS = os.name == "nt"
# Neither PowerShell nor cmd needs quotes around these, and cmd does not know single ones.
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_:\\/.=+\[\]-]+")
# PowerShell ends a text at each of these.
_APOSTROPHES = re.compile("['\u2018\u2019\u201a\u201b]")


class Command(NamedTuple):
    """A running command: its options by Python argument, and the environment that they select, if any."""

    options: Mapping[str, str]
    environment: str | None = None


_PYTHON = Command({})
_running: ContextVar[Command] = ContextVar("command", default=_PYTHON)


@contextmanager
def command(options: Mapping[str, str], environment: str | None = None) -> Iterator[None]:
    """Make messages name a command's options by Python argument, and show notes, while the context lasts."""
    before = _running.set(Command(options, environment))
    try:
        yield
    finally:
        _running.reset(before)


def running() -> Command:
    """Return the running command; in Python it has no options."""
    return _running.get()


def is_command() -> bool:
    """Whether a command is running."""
    return running() is not _PYTHON


def can_set(argument: str) -> bool:
    """Whether the caller can set an argument: in Python always, in a command when it has an option for it."""
    return not is_command() or argument in running().options


def argument_name(argument: str) -> str:
    """Return the option for an argument, or the argument's own name in Python."""
    return running().options.get(argument, argument)


def setting(argument: str, value: object = None) -> str:
    """Return the text that sets an argument, ready to be copied: as Python or as shell words.

    Parameters
    ----------
    argument : str
        Its name in Python.
    value : str, True or mapping, optional
        The value to set; a mapping is field to heading. Without it the text ends before the value.
    """
    option = running().options.get(argument)
    if option is None:
        return f"{argument}={'' if value is None else repr(value)}"
    # A flag has no value.
    values = [value] if isinstance(value, str) else []
    if isinstance(value, Mapping):
        values = [f"{field}={heading}" for field, heading in value.items()]
    # A command to copy is one line; headings are compared without their spaces.
    return " ".join([option, *(in_shell(" ".join(text.split())) for text in values)])


def in_shell(text: str) -> str:
    """Return text as one word of a command to copy: for PowerShell on Windows, for sh elsewhere."""
    if not ON_WINDOWS:
        return shlex.quote(text)
    return text if _PLAIN_WORD.fullmatch(text) else _in_powershell(text)


def _in_powershell(text: str) -> str:
    return "'" + _APOSTROPHES.sub(r"\g<0>\g<0>", text) + "'"


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called bktools, however many of its own functions are between."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "bktools":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def set_variables(values: Mapping[str, object]) -> str:
    """Return the line that sets variables of the environment in the system's shell."""
    if ON_WINDOWS:
        return "; ".join(f"$env:{name} = {_in_powershell(str(value))}" for name, value in values.items())
    return "export " + " ".join(f"{name}={shlex.quote(str(value))}" for name, value in values.items())


def install_command(extra: str) -> str:
    """Return the command that adds an extra to the running environment, installed from a wheel or a checkout.

    What is installed satisfies `bktools[extra]`, so pip and uv look for the libraries of the extra only.
    """
    python = in_shell(sys.executable)
    if find_spec("pip") is None:
        installer = f"uv pip install --python {python}"
    else:
        # PowerShell runs a quoted path only behind an ampersand.
        installer = f"{'& ' if ON_WINDOWS and python != sys.executable else ''}{python} -m pip install"
    return f"{installer} {in_shell(f'bktools[{extra}]')}"
