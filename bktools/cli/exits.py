"""Exit codes, each declared once."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum

from bktools import errors


class Exit(IntEnum):
    """Exit codes of the commands."""

    DONE = 0
    FAILED = 1
    USAGE = 2  # click's own for a wrong option
    CONFIGURATION = 3
    INPUT = 4
    UNREACHABLE = 5
    REFUSED = 6
    SERVICE = 7
    STORAGE = 8
    JOURNAL = 9
    INCOMPLETE = 10  # part of the work was not done; the output lists it with the reasons
    FINDINGS = 11  # there are findings of the severity that --fail-on names
    SOME_COMPANIES = 12  # some companies failed; the others are done, standard error has a line for each that failed
    INTERRUPTED = 130


# For the help.
MEANINGS = {
    Exit.DONE: "done",
    Exit.FAILED: "failed",
    Exit.USAGE: "wrong option",
    Exit.CONFIGURATION: "configuration",
    Exit.INPUT: "a file or an argument cannot be used",
    Exit.UNREACHABLE: "no connection to the service",
    Exit.REFUSED: "credentials refused",
    Exit.SERVICE: "the service failed",
    Exit.STORAGE: "a file or the storage failed",
    Exit.JOURNAL: "the journal refuses",
    Exit.INCOMPLETE: "part of the work was not done, as listed",
    Exit.FINDINGS: "findings, as --fail-on asks",
    Exit.SOME_COMPANIES: "some companies failed, the others are done",
    Exit.INTERRUPTED: "interrupted",
}
# Codes of some commands alone, and the parameter that a command needs to end with one.
ONLY_WITH = {
    Exit.CONFIGURATION: {"environment"},
    Exit.UNREACHABLE: {"environment"},
    Exit.REFUSED: {"environment"},
    Exit.SERVICE: {"environment"},
    Exit.JOURNAL: {"environment"},
    Exit.INCOMPLETE: {"apply", "ledger", "month", "company"},
    Exit.FINDINGS: {"fail_on"},
    Exit.SOME_COMPANIES: {"companies", "companies_file"},
}


def told(parameters: Collection[str] | None = None) -> str:
    """Return the sentence about the exit codes that a command with these parameters has; by default all codes."""
    known = {
        code: meaning
        for code, meaning in MEANINGS.items()
        if parameters is None or code not in ONLY_WITH or ONLY_WITH[code] & set(parameters)
    }
    return f"Exit codes: {', '.join(f'{code:d} {meaning}' for code, meaning in known.items())}."


# The first class that fits decides.
BY_ERROR: tuple[tuple[type[BaseException], Exit], ...] = (
    (errors.ConfigurationError, Exit.CONFIGURATION),
    (errors.ArgumentError, Exit.INPUT),
    (errors.InputError, Exit.INPUT),
    (errors.PlanError, Exit.INPUT),
    (errors.SnapshotNotFoundError, Exit.INPUT),
    (errors.NotSentError, Exit.UNREACHABLE),
    (errors.ConnectionLostError, Exit.UNREACHABLE),
    (errors.AuthenticationError, Exit.REFUSED),
    (errors.ScopeError, Exit.REFUSED),
    (errors.ServiceError, Exit.SERVICE),
    (errors.StorageError, Exit.STORAGE),
    (errors.JournalError, Exit.JOURNAL),
    (errors.BktoolsError, Exit.FAILED),
)


def exit_of(error: BaseException) -> Exit:
    """Return the exit code of an error."""
    return next((code for kind, code in BY_ERROR if isinstance(error, kind)), Exit.FAILED)
