"""The public names, as a type checker in strict mode sees them from a user's script."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import bktools

SCRIPT = Path(__file__).with_name("user_script.py")
ROOT = Path(bktools.__file__).parents[1]


def _mypy(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_users_script_passes():
    """Every public name is in the script, and a strict checker finds nothing."""
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert set(bktools.__all__) - used == {"Service"}
    done = _mypy(SCRIPT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_call_is_found(tmp_path: Path):
    """The names carry types: calls that are wrong are errors, so the script above says something."""
    script = tmp_path / "wrong.py"
    wrong = {
        "bktools.to_csv([1], 2)": "call-overload",
        "bktools.load_categories(nope=1)": "call-arg",
        "n: int = bktools.connect()": "assignment",
        "bktools.Sandbox(latencey=1)": "call-arg",
        "bktools.Sandbox(latency='slow')": "arg-type",
        "bktools.connect(tokn='t')": "call-arg",
        "bktools.connect(requests_per_minute='many')": "arg-type",
        "bktools.errors.NoSuchError()": "attr-defined",
    }
    script.write_text("\n".join(["import bktools", *wrong]) + "\n")
    done = _mypy(script)
    found = done.stdout.splitlines()
    for number, (line, kind) in enumerate(wrong.items(), start=2):
        # mypy repeats what it remembers of the same text with the path that it had then.
        said = [text for text in found if f"/{script.name}:{number}:" in text]
        assert any(f"[{kind}]" in text for text in said), (line, found, done.stderr)
