"""The notebooks run top to bottom on the sandbox, quickly, and are kept without outputs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NAMES = sorted(path.name for path in NOTEBOOKS.glob("*.ipynb"))


def test_all_of_them_are_here():
    """The stories of the first hour."""
    assert [
        f"0{number}.ipynb"
        for number in ("1_first_look", "2_reconcile_accounts", "3_export_jobs", "4_month_end", "5_did_it_arrive")
    ] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_kept_without_outputs(name: str):
    """What is committed has neither outputs nor counts, so that a change of data is no change of the notebook."""
    cells = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))["cells"]
    assert [cell["id"] for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.parametrize("name", NAMES)
def test_two_lines_switch_to_the_real_service(name: str):
    """The first code cell has the line for the sandbox and the one for the real service."""
    cells = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))["cells"]
    first = "".join(next(cell["source"] for cell in cells if cell["cell_type"] == "code"))
    assert 'service = bktools.connect("sandbox"' in first
    assert "# service = bktools.connect()" in first


@pytest.mark.parametrize("name", NAMES)
def test_it_runs(name: str, tmp_path: Path):
    """It runs from the first cell to the last without an error, within half a minute of one processor."""
    shutil.copy(NOTEBOOKS / name, tmp_path)
    command = [sys.executable, "-m", "pytest", "--nbmake", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", name]
    environment = os.environ | {"PYTHONPATH": str(NOTEBOOKS.parent), "IPYTHONDIR": str(tmp_path / "ipython")}
    # Of the processor, not of the clock: other tests run beside this one.
    before = _seconds_of_children()
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert 0 < _seconds_of_children() - before < 30


def _seconds_of_children() -> float:
    used = os.times()
    return used.children_user + used.children_system
