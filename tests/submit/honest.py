"""A person who does what a message says, word by word."""

from __future__ import annotations

import re

EVIDENCE = "ledger of November, every entry looked up"


def printed_commands(said: str) -> list[str]:
    """Return the commands that a text prints, with a name and evidence filled in; the arguments of `bktools`."""
    found = re.findall(
        r"bktools ((?:journal (?:restore|move)|export (?:status|resolve)) .*?)(?= \(|\)|;| says |, |\n|$)", said
    )
    return [
        command.replace("NAME", "Ada").replace('"..."', f'"{EVIDENCE}"').replace("accepted|released", "accepted")
        for command in found
        if " FILE" not in command and not command.endswith("PLAN")
    ]
