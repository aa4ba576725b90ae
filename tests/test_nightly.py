"""The nightly job of the guide runs as it stands there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bktools.cli.guide import text_of

NIGHTLY = text_of("automation").partition("\n## Every night\n")[2].partition("\n## ")[0]


def example(language):
    """Return the only example in a language."""
    [text] = re.findall(rf"```{language}\n(.*?)```", NIGHTLY, re.DOTALL)
    return text


@pytest.mark.long
def test_the_line_for_cron_runs(tmp_path):
    """Cron's line runs the script: two tables load, all is logged, and a failure has its code."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "bktools-nightly"
    script.write_text(example("sh"), encoding="utf-8")
    script.chmod(0o700)
    (tmp_path / "bktools" / ".venv").mkdir(parents=True)
    (tmp_path / "bktools" / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    schedule = re.fullmatch(r"(?:[\d*,/-]+ ){5}(.*)\n", example("crontab"))

    def run(environment):
        variables = os.environ | {"BKTOOLS_ENVIRONMENT": environment, "HOME": str(tmp_path)}
        return subprocess.run(
            ["sh", "-c", schedule[1]], env=variables, capture_output=True, text=True, check=False
        )

    done = run("sandbox")
    assert (done.stdout, done.stderr) == ("", "")
    lines = [json.loads(line) for line in (tmp_path / "bktools.log").read_text(encoding="utf-8").splitlines()]
    assert [line["exit_code"] for line in lines if "exit_code" in line] == [0, 0]
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]) for line in lines)
    failed = run("nowhere")
    assert '"exit_code": 3' in failed.stdout
