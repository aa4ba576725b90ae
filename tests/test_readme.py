"""What the README shows, runs, and README and CONTRIBUTING name what there is."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.main import get_command

from bktools.cli.app import app
from bktools.cli.guide import TOPICS, text_of

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")


FIRST, PLAN = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_first_lines_print_what_the_readme_shows():
    """The first lines run as they stand, and print the table below them."""
    *lines, last = FIRST.strip().splitlines()
    program = "\n".join([*lines, f"print({last})"])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == re.search(r"```text\n(.*?)```", README, re.DOTALL)[1]


def test_a_plan_is_made_as_shown(tmp_path, monkeypatch, capsys):
    """The lines that lead to a plan run as they stand, in a folder with `data`."""
    shutil.copytree(ROOT / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(PLAN, names)
    names["service"].close()
    assert capsys.readouterr().err == ""
    assert all(len(names[name]) for name in ("created", "categories"))
    # Whoever copies these lines sends nothing that was not checked.
    assert (len(names["plan"].batches) > 0, names["plan"].unchecked) == (True, ())


def test_continuous_integration_runs_the_readme():
    """Two lines of the README make an environment, the main job and the tests; `.ci/run` runs them."""
    main_job, tests = re.findall(r"^    (python3 -m venv .*)$", README, re.MULTILINE)
    assert main_job.endswith("bktools month-end --sandbox --apply")
    assert tests.endswith("-m pytest")
    assert "README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_readme_is_read_in_ten_minutes():
    """It has at most 200 lines; the guide has the rest."""
    assert README.count("\n") <= 200


def options_of(command: Any) -> set[str]:
    """Return the options of a command, and of those below it."""
    own = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return own.union({"--help"}, *map(options_of, getattr(command, "commands", {}).values()))


def test_commands_and_files_that_are_named_exist():
    """Commands, options and files that README, changelog, guide and CONTRIBUTING name exist."""
    commands = {word for _, word in re.findall(r"(`|    )bktools ([a-z][a-z-]+)", README + CHANGELOG)}
    assert commands <= {*get_command(app).commands}
    texts = [README, CHANGELOG, *map(text_of, TOPICS)]
    named = {option for text in texts for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)}
    assert named <= options_of(get_command(app)) | {"--no-deps", "--group"}
    files = re.findall(r"\]\(((?!http)[^)]+)\)", README) + re.findall(
        r"(?:tests|bktools)/[\w./-]+\w", CONTRIBUTING
    )
    assert [file for file in [*files, ".ci/run", "CHANGELOG.md"] if not (ROOT / file).exists()] == []


def test_top_level_holds_nothing_else():
    """pyproject, README, CHANGELOG, bktools, notebooks, data, tests, and dot files."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    top = {name.split("/")[0] for name in files if not name.startswith(".") and (ROOT / name).exists()}
    documents = {"README.md", "CHANGELOG.md", "LICENSE"}
    assert top <= {"pyproject.toml", "bktools", "notebooks", "data", "tests"} | documents
