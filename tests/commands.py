"""Commands as processes of their own, forked from one that has the libraries: a second less for each command.

The process that is forked imports the libraries once and starts no threads. A command gets its own folder, environment,
exit code and output, as one that a user starts.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

SECONDS = 110  # after which a command hangs
LIBRARIES = ["bktools.cli.app", "duckdb", "httpx", "matplotlib.pyplot", "pandas", "pyarrow.parquet", "uvicorn"]


def run_command(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `bktools` with arguments, and with environment variables beside those of this process."""
    command = ["bktools", *map(str, arguments)]
    environment = {**os.environ, **variables}
    if sys.platform == "win32" or any(name.startswith("PYTHON") for name in variables):
        # Nothing to fork, or variables that only the start of Python reads.
        return subprocess.run(
            [sys.executable, "-m", *command],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LIBRARIES)
    with tempfile.TemporaryDirectory() as folder:
        output, errors = Path(folder) / "output", Path(folder) / "errors"
        process = context.Process(target=_command, args=(command, Path.cwd(), environment, output, errors))
        process.start()
        process.join(SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(command, SECONDS)
        return subprocess.CompletedProcess(command, process.exitcode, output.read_text(), errors.read_text())


def _command(command: list[str], here: Path, environment: dict[str, str], output: Path, errors: Path) -> None:
    os.chdir(here)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = command
    for stream, path in ((sys.stdout, output), (sys.stderr, errors)):
        with path.open("wb") as file:
            os.dup2(file.fileno(), stream.fileno())
    from bktools.cli import main

    try:
        main()
    finally:
        # The end of a process, which a forked one skips.
        threading._shutdown()
        atexit._run_exitfuncs()
