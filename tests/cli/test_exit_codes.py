"""Exit codes of errors: --verbose adds the traceback and changes no code."""

from __future__ import annotations

import pytest

import bktools
from bktools.cli.exits import Exit

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
    ("fault", "code"),
    [("error:status=401", Exit.REFUSED), ("error:status=501", Exit.SERVICE), (None, Exit.UNREACHABLE)],
)
def test_verbose_keeps_the_exit_code_of_the_service_s_errors(run, tmp_path, fault, code):
    """With --verbose a refused credential, a failure and a missing service have their own codes."""
    with bktools.Sandbox(tmp_path / "sandbox", faults=[fault] if fault else []) as service:
        settings = service.settings
        address = str(settings.base_url) if fault else "http://127.0.0.1:9"
        variables = {"BKTOOLS_TOKEN": settings.token.reveal(), "BKTOOLS_COMPANY": settings.company}
        done = run("categories", "--verbose", BKTOOLS_BASE_URL=address, BKTOOLS_RETRIES="0", **variables)
    assert (done.returncode, "Traceback" in done.stderr) == (code, True)
