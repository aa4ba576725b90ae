"""Lint, format and types hold, so that one command runs them with the tests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

CHECKS = {
    "lint": ["ruff", "check", "--quiet", "."],
    "format": ["ruff", "format", "--check", "--quiet", "."],
    "types": ["mypy", "--no-error-summary"],
}


@pytest.mark.parametrize("check", CHECKS)
def test_check(check: str):
    """The tool finds nothing."""
    done = subprocess.run(
        [sys.executable, "-m", *CHECKS[check]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout + done.stderr).strip() == ""
    assert done.returncode == 0


def test_the_first_lines_have_the_types_of_editors(tmp_path: Path):
    """pyright, which editors run, finds no error in the first lines of the README."""
    pytest.importorskip("basedpyright", reason="basedpyright brings pyright and what runs it")
    lines = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    (tmp_path / "first_lines.py").write_text(lines, encoding="utf-8")
    settings = {"typeCheckingMode": "basic", "extraPaths": [str(ROOT)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = ["basedpyright", "--project", str(tmp_path), "--pythonpath", sys.executable]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines()[-1:], done.returncode) == (["0 errors, 0 warnings, 0 notes"], 0)
