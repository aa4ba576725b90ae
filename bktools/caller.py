"""Who calls: a program, which knows arguments, or a command, whose user knows its options alone.

A message names what exists where it is read: `decimal='.'` in Python, `--entry-decimal .` in a command that has it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_options: ContextVar[Mapping[str, str] | None] = ContextVar("options", default=None)


@contextmanager
def command(options: Mapping[str, str]) -> Iterator[None]:
    """Have messages name a command's options, and notes shown, for as long as it lasts.

    Parameters
    ----------
    options : mapping
        Argument to option, for what the command lets its user set.
    """
    before = _options.set(options)
    try:
        yield
    finally:
        _options.reset(before)


def is_command() -> bool:
    """Whether a command calls."""
    return _options.get() is not None


def can_set(argument: str) -> bool:
    """Whether who calls can set an argument: a program all of them, a command's user those that are options."""
    options = _options.get()
    return options is None or argument in options


def name_of(argument: str) -> str:
    """Return what who calls knows an argument by."""
    return (_options.get() or {}).get(argument, argument)


def setting(argument: str, value: object = None) -> str:
    """Return the words that set an argument, ready to be copied: in Python, or as a shell takes them.

    Parameters
    ----------
    argument : str
        Its name in Python.
    value : str, True or mapping, optional
        What to set it to: a mapping is field to heading. Without it the words end where the value begins.
    """
    option = (_options.get() or {}).get(argument)
    if option is None:
        return f"{argument}={'' if value is None else repr(value)}"
    return " ".join([option, *map(_in_shell, _values(value))])


def _values(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{field}={heading}" for field, heading in value.items()]
    return [value] if isinstance(value, str) else []


def _in_shell(text: str) -> str:
    # A command to copy is one line; headings are compared without their spaces.
    return shlex.quote(" ".join(text.split()))
