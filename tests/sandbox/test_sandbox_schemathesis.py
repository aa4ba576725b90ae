"""Schemathesis, a fuzzer for OpenAPI descriptions, against the sandbox's main host, with all its checks.

`BKTOOLS_TEST_RUNS=1000 pytest -s tests/sandbox/test_sandbox_schemathesis.py` tries that many cases an
operation, those of its other phases as well, and prints how many there were.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from plain_http import HTTP

from bktools.contract import ENDPOINTS

IS_LONG = "BKTOOLS_TEST_RUNS" in os.environ
CASES = int(os.environ.get("BKTOOLS_TEST_RUNS", "10"))
HERE = Path(__file__).parent
BALANCE = next(endpoint.path for endpoint in ENDPOINTS if endpoint.on_balance_host)
MAIN_LABELS = {f"{e.method} {e.path}" for e in ENDPOINTS if not e.on_balance_host}

pytestmark = pytest.mark.timeout(60 + CASES)


def fuzz(server, folder):
    """Run Schemathesis; return exit code, output, and how often each operation gave which status."""
    report = folder / "report.ndjson"
    code = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"
    program = [sys.executable, "-c", code]
    options = f"--url {server.base_url} --exclude-path {BALANCE} --max-examples {CASES} --seed 1 --checks all"
    options += " --continue-on-failure" + ("" if IS_LONG else " --phases fuzzing")
    kept = f"--generation-database none --no-color --report ndjson --report-ndjson-path {report}"
    headers = {"Authorization": f"Bearer {server.token}"}
    employees = HTTP.get(f"{server.base_url}/v2/employees?limit=3", headers=headers).json()["data"]
    given = ["--config-file", HERE / "schemathesis.toml", "run", f"{server.base_url}/openapi.json"]
    header = f"--header=Authorization: Bearer {server.token}"
    variables = {
        "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]),
        "SCHEMATHESIS_HOOKS": "schemathesis_hooks",
        "SANDBOX_COMPANIES": " ".join(company.id for company in server.companies()),
        "SANDBOX_EMPLOYEES": " ".join(employee["id"] for employee in employees),
    }
    how = {"cwd": folder, "env": os.environ | variables, "capture_output": True, "text": True}
    command = [*program, *given, header, *options.split(), *kept.split()]
    done = subprocess.run(command, **how, check=False)
    return done.returncode, done.stdout + done.stderr, answered(report)


def answered(report):
    """Return how often each operation answered which status, by the report's line of every scenario."""
    found = {}
    for line in report.read_text("utf-8").splitlines():
        recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
        for interaction in recorder.get("interactions", {}).values():
            status = (interaction["response"] or {}).get("status_code")
            found.setdefault(recorder["label"], Counter())[status] += 1
    return found


@pytest.mark.long
def test_main_host_keeps_its_description(idle, tmp_path):
    """Whatever is sent, the server never fails, breaks a schema, or gives an undescribed status."""
    code, printed, statuses = fuzz(idle[0], tmp_path)
    for label, counted in sorted(statuses.items()):
        print(f"{label}: {counted.total()} cases, {dict(sorted(counted.items()))}")
    assert code == 0, printed
    assert statuses.keys() >= MAIN_LABELS
    for label in MAIN_LABELS:
        assert statuses[label].total() >= CASES
        assert statuses[label][200] + statuses[label][201] > 0, "nothing was accepted, so little was tried"
    given = [status for counted in statuses.values() for status in counted]
    assert not [status for status in given if status is None or status >= 500]
