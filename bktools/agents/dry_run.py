"""A close in a process of its own, which can be killed: a dry run of the command.

The process of the server has no code that sends. That of a close has it, because `month-end` has it: it runs
without --apply, and its service is only read.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.from_thread
import polars as pl

from bktools.agents.answers import Facts
from bktools.errors import BktoolsError

# A close of 100,000 entries takes about a minute.
SECONDS = 1800.0


def dry_run(words: Sequence[str]) -> Facts:
    """Return what a command prints as JSON; a late or cancelled call kills it."""
    line = [sys.executable, "-m", "bktools", *words, "--format", "json", "--profile", "machine", "--quiet"]

    async def run() -> bytes:
        with anyio.fail_after(SECONDS):
            variables = os.environ | {"BKTOOLS_READ_ONLY": "1"}
            return (await anyio.run_process(line, input=b"", check=False, env=variables)).stdout

    try:
        facts: Facts = json.loads(anyio.from_thread.run(run))
    except TimeoutError:
        raise BktoolsError(f"took longer than {SECONDS:g} s and was ended: ask for less at once") from None
    except ValueError:
        raise BktoolsError("its process ended without an answer, such as for lack of memory") from None
    if "error" in facts:
        raise BktoolsError(facts["error"]["message"])
    return facts


def table_of(file: Path) -> pl.DataFrame:
    """Return a CSV table of a close for programs: its amounts are exact, everything else is text."""
    table = pl.read_csv(file, infer_schema=False)
    scale = max((len(text.partition(".")[2]) for text in table["amount"].drop_nulls()), default=0)
    return table.with_columns(pl.col("amount").cast(pl.Decimal(38, scale)))
