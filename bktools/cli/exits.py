"""Exit codes, each declared once, and the end of a command that fails."""

from __future__ import annotations

import itertools
import sys
import traceback
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NoReturn

from bktools import errors
from bktools.cli.output import tell
from bktools.progress import note
from bktools.visible import visible
from bktools.wording import LANGUAGES, words


class Exit(IntEnum):
    """Exit codes of the commands; `wording` has what each means, and the next step."""

    DONE = 0
    FAILED = 1
    # The parser's own.
    USAGE = 2
    CONFIGURATION = 3
    INPUT = 4
    UNREACHABLE = 5
    REFUSED = 6
    SERVICE = 7
    STORAGE = 8
    JOURNAL = 9
    INCOMPLETE = 10
    FINDINGS = 11
    SOME_COMPANIES = 12
    INTERRUPTED = 130

    @property
    def to_do(self) -> str:
        """The next step, for programs that read no messages."""
        return words()(f"exit.{self.name.lower()}.do")


def exit_codes() -> str:
    """Return the sentence about the exit codes, in the language of help."""
    texts = words(LANGUAGES[0])
    codes = (f"{code:d} {texts.name('exit', code.name)}" for code in Exit)
    return f"Exit codes: {', '.join(codes)}."


# By error, its exit code and the page of the guide about it. The first class that fits decides.
BY_ERROR: tuple[tuple[type[BaseException], Exit, str], ...] = (
    (errors.ConfigurationError, Exit.CONFIGURATION, "settings"),
    (errors.ArgumentError, Exit.INPUT, ""),
    (errors.InputError, Exit.INPUT, "files"),
    (errors.PlanError, Exit.INPUT, "after-export"),
    (errors.SnapshotNotFoundError, Exit.INPUT, "notebooks"),
    (errors.NotSentError, Exit.UNREACHABLE, "settings"),
    (errors.ConnectionLostError, Exit.UNREACHABLE, "promises"),
    (errors.AuthenticationError, Exit.REFUSED, "settings"),
    (errors.ScopeError, Exit.REFUSED, "settings"),
    (errors.ExportRefusedError, Exit.SERVICE, "reasons"),
    (errors.ServiceError, Exit.SERVICE, "promises"),
    (errors.StorageError, Exit.STORAGE, "promises"),
    (errors.JournalError, Exit.JOURNAL, "after-export"),
)
# Errors whose line cannot say all that a person needs: the page of the guide is named below it.
LONG_STORIES = (errors.ConfigurationError, errors.JournalError)
# Attributes of errors that are no fields for programs. The body of an answer is for people.
NO_DATA = ("body", "headers", "__notes__")


def exit_of(error: BaseException) -> Exit:
    """Return the exit code of an error."""
    if _is_of_the_parser(error):
        return Exit.USAGE
    return next((code for kind, code, _ in BY_ERROR if isinstance(error, kind)), Exit.FAILED)


def fail(error: Exception, arguments: Sequence[str]) -> NoReturn:
    """End the command with an error's exit code, after one line about it, and as data where asked for."""
    data = described(error)
    # The arguments are read as text, because the parser may have refused them.
    if "--format=json" in arguments or ("--format", "json") in itertools.pairwise(arguments):
        from bktools.cli.results import write_json

        write_json({"error": data})
    is_expected = isinstance(error, errors.BktoolsError)
    if not _is_of_the_parser(error) and ("--verbose" in arguments or not is_expected):
        print(visible("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    else:
        tell(f"bktools: {data['message']}")
        if isinstance(error, LONG_STORIES):
            note(words()("command.more_about", command=data["guide"]))
    sys.exit(data["exit_code"])


def described(error: Exception) -> dict[str, Any]:
    """Return an error as data for programs; the guide is a command, and fields keep the error's names."""
    code, is_usage = exit_of(error), _is_of_the_parser(error)
    page = next((page for kind, _, page in BY_ERROR if isinstance(error, kind)), "")
    # The parser's errors hold its objects.
    fields = {} if is_usage else vars(error)
    return {
        "kind": "UsageError" if is_usage else type(error).__name__,
        "message": _of_the_parser(error) if is_usage else str(error),
        "to_do": code.to_do,
        "guide": f"bktools guide {page}" if page else None,
        "exit_code": int(code),
        "fields": {
            name: value
            for name, value in fields.items()
            if name not in NO_DATA and not (value is None or (isinstance(value, str | tuple) and not value))
        },
    }


def _is_of_the_parser(error: BaseException) -> bool:
    """Whether the parser refused the command; its classes have another home in each version of Typer."""
    return hasattr(error, "format_message")


def _of_the_parser(error: Any) -> str:
    """Return why the parser refused a command; the parser itself speaks English alone."""
    texts, message = words(), error.format_message().rstrip(".")
    if texts.language != LANGUAGES[0]:
        parameter, name = getattr(error, "param", None), getattr(error, "option_name", None)
        if parameter is not None:
            name = parameter.metavar if parameter.param_type_name == "argument" else parameter.opts[0]
        key = f"usage.{type(error).__name__}"
        facts = {"name": name, "message": error.message.rstrip(".")}
        message = texts(key if texts.has(key) else "usage.other", **facts)
    return texts(
        "usage.see_help", message=message, command=error.ctx.command_path if error.ctx else "bktools"
    )
