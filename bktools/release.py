"""The version of this copy, with its platform and its main libraries."""

from __future__ import annotations

import importlib.metadata
import platform

LIBRARIES = ("pandas", "pyarrow", "polars")


def version_line() -> str:
    """Return one line for the report of a problem: version, Python, main libraries, system."""
    from bktools import __version__

    return ", ".join(
        [
            f"bktools {__version__}",
            f"Python {platform.python_version()}",
            *(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES),
            f"{platform.system()} {platform.release()} {platform.machine()}",
        ]
    )
