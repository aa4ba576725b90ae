"""Exit codes of errors: --verbose adds the traceback and changes no code."""

from __future__ import annotations

import pytest

from bktools.cli.exits import Exit
from bktools.sandbox import Fault

UNKNOWN_BATCH = "export resolve 0 --outcome released --evidence seen --by Ada --sandbox"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("categories --environment nowhere", Exit.CONFIGURATION),
        ("month-end --sandbox --month October", Exit.INPUT),
        ("categories --sandbox --output missing/x.csv", Exit.STORAGE),
        (UNKNOWN_BATCH, Exit.JOURNAL),
    ],
)
def test_verbose_keeps_the_exit_code(run, command, code):
    """With --verbose an error ends a command with its own code, after the traceback."""
    done = run("--verbose", *command.split())
    assert (done.returncode, "Traceback" in done.stderr) == (code, True)


@pytest.mark.parametrize(
    ("status", "code"), [(401, Exit.REFUSED), (501, Exit.SERVICE), (None, Exit.UNREACHABLE)]
)
def test_verbose_keeps_the_exit_code_of_the_service_s_errors(run, sandbox, access, status, code):
    """With --verbose a refused credential, a failure and a missing service have their own codes."""
    if status:
        sandbox.server.inject(Fault("error", status=status))
    else:
        sandbox.server.stop()
    done = run("categories", "--verbose", BKTOOLS_RETRIES="0", **access)
    assert (done.returncode, "Traceback" in done.stderr) == (code, True)
