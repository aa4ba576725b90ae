"""Files opened and saved by a real spreadsheet program, where one is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

_IS_HERE = pytest.mark.skipif(
    shutil.which("soffice") is None,
    reason="no LibreOffice is installed to open files with (apt-get install libreoffice-calc)",
)


def needs_office(test: Callable[..., None]) -> Callable[..., None]:
    """Leave a test out of short runs, and where there is no LibreOffice."""
    return pytest.mark.long(_IS_HERE(test))


def saved(path: Path, kind: str, folder: Path, *options: str) -> Path:
    """Open a file in LibreOffice and save it as another kind in a folder, in which its settings stand."""
    command = ["soffice", "--headless", "--norestore", f"-env:UserInstallation=file://{folder / 'profile'}"]
    command += [*options, "--convert-to", kind, "--outdir", str(folder), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    made = folder / f"{path.stem}.{kind}"
    assert made.exists(), done.stdout + done.stderr
    return made
