"""What the README shows, runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from bktools.cli.app import app
from bktools.sandbox.sample import write_account_list, write_sample_data
from bktools.settings import SETTINGS, load_settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_first_lines_run(tmp_path):
    """The notebook's first lines run as they stand, in a folder with `data`, and make a plan."""
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    assert len([line for line in code.splitlines() if line]) <= 14
    shutil.copytree(ROOT / "data", tmp_path / "data")
    program = f"{code}\nprint(len(plan.batches), len(created), len(categories), not plan.unchecked)\nservice.close()\n"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    *figures, is_checked = done.stdout.split()
    assert all(int(figure) > 0 for figure in figures)
    # Whoever copies these lines sends nothing that was not checked.
    assert is_checked == "True"


def test_other_engines_read_a_snapshot(tmp_path):
    """The lines for DuckDB and Polars run as they stand, and count the rows of the newest snapshot."""
    section = README.partition("\n## Snapshots as files\n")[2].partition("\n## ")[0]
    examples = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert [len([*filter(None, example.splitlines())]) for example in examples] == [3, 3]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = os.environ | {"BKTOOLS_ENVIRONMENT": "sandbox", "PATH": path}
    subprocess.run(["bktools", "categories"], env=variables, capture_output=True, check=True)
    for example in examples:
        done = subprocess.run(
            [sys.executable, "-c", example], env=variables, capture_output=True, text=True, check=True
        )
        assert sum(map(int, re.findall(r"\b(?:true|false) +[│┆] +(\d+)", done.stdout))) == 240


def test_the_config_file_is_read(tmp_path):
    """The config file of the README is a valid one."""
    text = re.search(r"```toml\n(.*?)```", README, re.DOTALL)[1].replace("…", "token")
    path = tmp_path / "readme.toml"
    path.write_text(text, encoding="utf-8")
    settings = load_settings(config_file=path, env={})
    assert (settings.environment, settings.base_url) == ("production", "https://books.example.com")
    assert load_settings("staging", config_file=path, env={}).token is None


def test_every_setting_is_told():
    """Each setting has its line in the table, and the table names no other."""
    told = set(re.findall(r"`BKTOOLS_([A-Z_]+)(?:=true)?`", README))
    assert told == {name.upper() for name in SETTINGS} | {"ENVIRONMENT", "CONFIG"}


def test_every_command_told_is_one():
    """A command that the README or the changelog names exists."""
    known = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    told = set(re.findall(r"bktools ([a-z][a-z-]+)", README + CHANGELOG))
    assert told - known - {"month-end"} <= {"turns"}


def test_data_is_in_step_with_the_sandbox(tmp_path):
    """The files in `data` are those that the generator writes today, to the byte."""
    for path in (*write_sample_data(tmp_path), write_account_list(tmp_path)):
        assert path.read_bytes() == (ROOT / "data" / path.name).read_bytes()


def test_top_level_holds_nothing_else():
    """pyproject, README, CHANGELOG, bktools, notebooks, data, tests, and dot files."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    top = {name.split("/")[0] for name in files if not name.startswith(".") and (ROOT / name).exists()}
    documents = {"README.md", "CHANGELOG.md", "LICENSE"}
    assert top <= {"pyproject.toml", "bktools", "notebooks", "data", "tests"} | documents
