"""The version of this copy, its commit, and its platform. The build reads this file without the package."""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
LIBRARIES = ("pandas", "pyarrow", "polars")


def commit() -> str | None:
    """Return the commit of this copy, with `-dirty` if files were changed since; None where it is not known.

    A wheel has the file that its build wrote. A checkout asks git.
    """
    recorded = HERE / "commit.txt"
    if recorded.exists():
        return recorded.read_text(encoding="utf-8")
    if not (HERE.parent / ".git").exists():
        return None
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    try:
        # The words are those of the line above.
        asked = subprocess.run(  # noqa: S603
            command, cwd=HERE, capture_output=True, encoding="utf-8", check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        # Without git, or where git refuses the folder, the version is still worth showing.
        return None
    return asked.stdout.strip()


@functools.cache
def release() -> str:
    """Return version and commit of this copy, as in "bktools 1.0 (0123456789)". New journals keep them."""
    from bktools import __version__

    return f"bktools {__version__} ({commit() or 'commit not known'})"


def version_line() -> str:
    """Return one line for the report of a problem: version, commit, Python, main libraries, system."""
    return ", ".join(
        [
            release(),
            f"Python {platform.python_version()}",
            *(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES),
            f"{platform.system()} {platform.release()} {platform.machine()}",
        ]
    )
