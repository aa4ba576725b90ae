"""The public names, as a type checker in strict mode sees them from a user's script."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import bktools

SCRIPT = Path(__file__).with_name("user_script.py")
ROOT = Path(bktools.__file__).parents[1]


def test_a_users_script_passes_and_a_wrong_call_is_found(tmp_path: Path):
    """A strict checker passes a script with all public names, and finds the faults in another one."""
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert set(bktools.__all__) - used == {"Service"}
    wrong = {
        "bktools.to_csv(2, 'x')": "arg-type",
        "bktools.load_categories(nope=1)": "call-arg",
        "bktools.read_entries('x.csv', decimal=3)": "arg-type",
        "bktools.import_accounts('x.csv', nope=1)": "call-arg",
        "n: int = bktools.connect()": "assignment",
        "bktools.errors.NoSuchError()": "attr-defined",
    }
    script = tmp_path / "wrong.py"
    script.write_text("\n".join(["import bktools", *wrong]) + "\n")
    options = ["--strict", "--no-error-summary", "--config-file", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-m", "mypy", *options, str(SCRIPT), str(script)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(told) == len(wrong), done.stdout + done.stderr
    for (number, kind), line in zip(enumerate(wrong.values(), start=2), told, strict=True):
        # mypy repeats what it remembers of the same text with the path that it had then.
        assert f"/{script.name}:{number}:" in line
        assert f"[{kind}]" in line
