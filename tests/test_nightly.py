"""The nightly jobs of the README run as they stand there."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
NIGHTLY = README.partition("\n## A nightly job\n")[2].partition("\n## ")[0]


def example(language):
    """Return the only example in a language."""
    [text] = re.findall(rf"```{language}\n(.*?)```", NIGHTLY, re.DOTALL)
    return text


@pytest.fixture
def variables(tmp_path):
    """The configuration of the job: the sandbox, and shared tables in a folder."""
    return {"BKTOOLS_ENVIRONMENT": "sandbox", "BKTOOLS_SNAPSHOTS": str(tmp_path / "shared"), "HOME": str(tmp_path)}


def rows_of(variables, table):
    """Return how many rows each published snapshot of a table has."""
    rows = pl.read_delta(f"{variables['BKTOOLS_SNAPSHOTS']}/{table}")
    return sorted(rows.group_by("snapshot").len()["len"].to_list())


def test_the_line_for_cron_runs(tmp_path, variables):
    """Cron's line runs the script: two tables are published, all is logged, and a failure is shown and has its code."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "bktools-nightly"
    script.write_text(example("sh"), encoding="utf-8")
    script.chmod(0o700)
    (tmp_path / "bktools" / ".venv").mkdir(parents=True)
    (tmp_path / "bktools" / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    schedule = re.fullmatch(r"(?:[\d*,/-]+ ){5}(.*)\n", example("crontab"))

    def run(**others):
        return subprocess.run(
            ["sh", "-c", schedule[1]], env=os.environ | variables | others, capture_output=True, text=True, check=False
        )

    done = run()
    assert (done.stdout, done.stderr) == ("", "")
    assert rows_of(variables, "categories") == [240]
    lines = [json.loads(line) for line in (tmp_path / "bktools.log").read_text(encoding="utf-8").splitlines()]
    assert [line["exit_code"] for line in lines if "exit_code" in line] == [0, 0, 0]
    assert any(line["message"].endswith("shared: snapshots 1, rows 240") for line in lines)
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]) for line in lines)
    failed = run(BKTOOLS_ENVIRONMENT="nowhere")
    assert '"exit_code": 3' in failed.stdout


@pytest.mark.skipif(importlib.util.find_spec("dagster") is None, reason="the package dagster is not installed")
def test_the_job_for_dagster_runs(tmp_path, variables):
    """Dagster runs the job twice, each night adds its snapshots, and the schedule is cron's."""
    code = f"{example('python')}\n\nprint(defs.resolve_job_def('nightly').execute_in_process().success)"
    code += "\nprint(defs.resolve_schedule_def('nightly_schedule').cron_schedule)"
    code += "\nprint(defs.resolve_job_def('nightly').execute_in_process().success)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    schedule = example("crontab").partition(" $HOME")[0]
    assert done.stdout.splitlines() == ["True", schedule, "True"], done.stderr[-2000:]
    assert rows_of(variables, "categories") == [240, 240]
    assert len(rows_of(variables, "employees")) == 2
