"""Lint, format and types hold, so that one command runs them with the tests."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bktools

ROOT = Path(__file__).parent.parent

SCRIPT = ROOT / "tests" / "typing" / "user_script.py"


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a tool of this environment on the checkout."""
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("check", ["check", "format --check"], ids=["lint", "format"])
def test_check(check: str):
    """The tool finds nothing."""
    done = run("ruff", *check.split(), "--quiet", ".")
    assert (done.stdout + done.stderr, done.returncode) == ("", 0)


# Calls of a user, and the fault that a type checker finds in each.
WRONG = {
    "bktools.to_csv(2, 'x')": "arg-type",
    "bktools.load_categories(nope=1)": "call-arg",
    "bktools.read_entries('x.csv', decimal=3)": "arg-type",
    "bktools.import_accounts('x.csv', nope=1)": "call-arg",
    "n: int = bktools.connect()": "assignment",
    "bktools.errors.NoSuchError()": "attr-defined",
}


def test_types(tmp_path: Path):
    """The checker passes the package and a script with all public names, and finds each fault of another."""
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert set(bktools.__all__) - used == {"Service"}
    wrong = tmp_path / "wrong.py"
    wrong.write_text("\n".join(["import bktools", *WRONG]) + "\n")
    done = run("mypy", "--no-error-summary", "bktools", str(SCRIPT), str(wrong))
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(errors) == len(WRONG), done.stdout + done.stderr
    for (number, kind), line in zip(enumerate(WRONG.values(), start=2), errors, strict=True):
        assert f"wrong.py:{number}:" in line
        assert f"[{kind}]" in line


def test_the_first_lines_have_the_types_of_editors(tmp_path: Path):
    """pyright, which editors run, finds no error in the first lines of the README."""
    pytest.importorskip("basedpyright", reason="basedpyright brings pyright and what runs it")
    lines = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    (tmp_path / "first_lines.py").write_text(lines, encoding="utf-8")
    settings = {"typeCheckingMode": "basic", "extraPaths": [str(ROOT)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = ["basedpyright", "--project", str(tmp_path), "--pythonpath", sys.executable]
    done = run(*command)
    assert (done.stdout.splitlines()[-1:], done.returncode) == (["0 errors, 0 warnings, 0 notes"], 0)
