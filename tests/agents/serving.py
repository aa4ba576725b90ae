"""`bktools mcp`, whose commands are forks that begin sooner; after each it writes its modules to $MODULES."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

SERVING = pathlib.Path(__file__)
# The folder of `warm`.
sys.path.append(str(SERVING.parents[1]))


def command(words: list[str], variables: Mapping[str, str]) -> Iterator[tuple[int, bytes]]:
    """Run a command; yield its exit code and standard output."""
    from bktools.cli import main

    os.environ.update(variables)
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as output,
        pathlib.Path(os.devnull).open("w", encoding="utf-8") as errors,
    ):
        sys.argv, sys.stdout, sys.stderr = ["bktools", *words], output, errors
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        sys.stdout.flush()
        output.buffer.seek(0)
        yield code, output.buffer.read()


def _ran(words: list[str], variables: dict[str, str]) -> tuple[int, bytes]:
    import warm

    done = warm.result(command, words, variables)
    pathlib.Path(variables["MODULES"]).write_text("\n".join(sys.modules), encoding="utf-8")
    return done


async def run_process(
    line: list[str], *, env: Mapping[str, str], **_: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run the line of a command as `anyio.run_process` does."""
    import anyio

    code, output = await anyio.to_thread.run_sync(_ran, line[3:], dict(env))
    return subprocess.CompletedProcess(line, code, output, b"")


if __name__ == "__main__":
    import anyio

    from bktools.cli import main

    anyio.run_process = run_process
    main()
