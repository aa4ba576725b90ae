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
    words = {"NAME": "Ada", '"..."': f'"{EVIDENCE}"', '"accepted|released"': "accepted"}
    command = r"(?:journal (?:restore|move)|export (?:status|resolve)) .*?"
    found = re.findall(rf"bktools ({command})(?= \(|\)|;|\. | says |, |\n|$)", said)
    runnable = [line for line in found if " FILE" not in line and not line.endswith("PLAN")]
    placeholders = re.compile("|".join(map(re.escape, words)))
    return [placeholders.sub(lambda each: words[each[0]], line) for line in runnable]


def typed(command: str) -> tuple[int | None, str]:
    """Run a command in this process; return its exit code, None for an error of bktools, and what it said."""
    result = CliRunner().invoke(app, shlex.split(command))
    if result.exception is None or isinstance(result.exception, SystemExit):
        return result.exit_code, result.output
    if not isinstance(result.exception, BktoolsError):
        raise result.exception
    return None, str(result.exception)
