"""Refusals of files: the problem and the one command that settles it on the first line, all else below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bktools.caller import settings_text
from bktools.errors import InputError

Settings = Sequence[tuple[str, Any]]


def refusal(
    why: str,
    source: str,
    line: int | None = None,
    *,
    field: str = "",
    details: Iterable[str] = (),
    settings: Settings = (),
) -> InputError:
    """Return an error with the arguments that settle it after the problem, and details on own lines."""
    error = InputError(f"{why}{way_out(settings)}", source=source, line=line)
    error.why, error.field, error.details, error.settings = why, field, tuple(details), tuple(settings)
    return error


def way_out(settings: Settings) -> str:
    """Return the end of a message that says how the file is read."""
    return f": read it with {settings_text(settings)}" if settings else ""


def settle(error: InputError, settings: Settings) -> None:
    """Make other arguments the way out of an error."""
    other = refusal(error.why, error.source, error.line, settings=settings)
    error.args, error.settings = other.args, other.settings
