"""A person who does what a message says, word by word."""

from __future__ import annotations

import re
import shlex

from typer.testing import CliRunner

from bktools.cli.app import app
from bktools.errors import BktoolsError

EVIDENCE = "ledger of November, every entry looked up"


def printed_commands(said: str) -> list[str]:
    """Return the commands that a text prints, with name and evidence filled in, for `bktools`."""
    found = re.findall(
        r"bktools ((?:journal (?:restore|move)|export (?:status|resolve)) .*?)(?= \(|\)|;|\. | says |, "
        r"|\n|$)",
        said,
    )
    return [
        command.replace("NAME", "Ada")
        .replace('"..."', f'"{EVIDENCE}"')
        .replace('"accepted|released"', "accepted")
        for command in found
        if " FILE" not in command and not command.endswith("PLAN")
    ]


def typed(command: str) -> tuple[int | None, str]:
    """Run a command in this process; return its exit code, None for an error of bktools, and what it said."""
    result = CliRunner().invoke(app, shlex.split(command))
    if result.exception is None or isinstance(result.exception, SystemExit):
        return result.exit_code, result.output
    if not isinstance(result.exception, BktoolsError):
        raise result.exception
    return None, str(result.exception)
