"""The smaller commands: config, accounts, export history and resolve, sandbox."""

from __future__ import annotations

import csv
import json
import re
import urllib.request
from pathlib import Path

from bktools.cli.exits import Exit


def test_config_masks_secrets(run):
    """`config` shows each value and its source, and no secret."""
    proxy = "http://user:hunter2@proxy.example:8080"
    done = run(
        "config", BKTOOLS_BASE_URL="https://books.example", BKTOOLS_TOKEN="very-secret", BKTOOLS_PROXY=proxy
    )
    assert done.returncode == Exit.DONE
    assert "very-secret" not in done.stdout
    assert "hunter2" not in done.stdout
    said = {line.split()[0]: line.split(maxsplit=1)[1] for line in done.stdout.splitlines()[1:]}
    assert said["environment"] == "https://books.example  (BKTOOLS_BASE_URL)"
    assert said["token"] == "set, not shown  (BKTOOLS_TOKEN)"
    assert said["proxy"] == "set, not shown  (BKTOOLS_PROXY)"
    assert said["api_key"] == "(not set)"


def test_config_names_every_source(run):
    """A value names its variable, also where the environment is an address; so does an unused value."""
    address = "https://books.example"
    done = run("config", BKTOOLS_ENVIRONMENT=f" {address.upper()}/ ", BKTOOLS_TOKEN="very-secret")
    said = {line.split()[0]: line.split(maxsplit=1)[1] for line in done.stdout.splitlines()[1:]}
    assert said["environment"] == said["base_url"] == f"{address}  (BKTOOLS_ENVIRONMENT)"
    assert said["token"] == "set, not shown  (BKTOOLS_TOKEN)"
    other = run(
        "config", "-e", "https://other.example", BKTOOLS_ENVIRONMENT=address, BKTOOLS_COMPANY="c"
    ).stdout
    assert "(not set; BKTOOLS_COMPANY is not for https://other.example)" in other
    both = run("config", "--sandbox", "-e", address)
    assert (both.returncode, both.stderr) == (
        Exit.INPUT,
        f"bktools: --sandbox cannot be combined with --environment {address}\n",
    )


def test_config_without_a_configuration_says_how(run):
    """Unconfigured, `bktools config` says how to configure, and does not send the reader back to itself."""
    done = run("config")
    assert done.returncode == Exit.CONFIGURATION
    assert re.match(r"bktools: no environment is configured: set .*config\.toml.*--sandbox\n", done.stderr)
    assert "bktools config" not in done.stderr


def test_accounts_create_import_list(run):
    """Accounts are created from a chart, those made elsewhere imported, and both listed."""
    Path("chart.csv").write_text("Account;Name\n0400;Bank\n", encoding="utf-8")
    planned = run("accounts", "create", "--sandbox", "--chart", "chart.csv")
    assert "1 PLANNED" in planned.stderr
    created = run("accounts", "create", "--sandbox", "--chart", "chart.csv", "--apply")
    assert "1 CREATED" in created.stderr
    Path("made.csv").write_text(
        "id,external_id,name\n123e4567-e89b-42d3-a456-426614174000,0500,Kasse\n", encoding="utf-8"
    )
    assert "2 accounts are known now" in run("accounts", "import", "made.csv", "--sandbox").stdout
    listed = run("accounts", "list", "--sandbox").stdout
    assert "0400" in listed
    assert "0500" in listed
    assert "IMPORTED" in listed


def test_reconcile_fails_on_findings_when_asked(run):
    """A scheduled check ends with a code of its own when there are errors."""
    done = run("reconcile", "--sandbox", "--fail-on", "error", "--out", "findings")
    assert done.returncode == Exit.FINDINGS
    assert list(Path("findings").glob("*.csv"))
    assert run("reconcile", "--sandbox").returncode == Exit.DONE
    assert run("reconcile", "--sandbox", "--fail-on", "blue").returncode == Exit.INPUT


def test_sandbox_sample_data_and_reset(run):
    """Sample files are written anywhere; a reset lets the sandbox and its journal begin anew."""
    assert run("sandbox", "sample-data", "samples").returncode == Exit.DONE
    with Path("samples/accounting_entries.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 320
    Path("chart.csv").write_text("Account;Name\n0400;Bank\n", encoding="utf-8")
    run("accounts", "create", "--sandbox", "--chart", "chart.csv", "--apply")
    assert "0400" in run("accounts", "list", "--sandbox").stdout
    assert run("sandbox", "reset", "--yes").returncode == Exit.DONE
    assert "0400" not in run("accounts", "list", "--sandbox").stdout


def test_sandbox_serve_prints_what_curl_needs(tmp_path):
    """The served sandbox answers at the address and with the token that it prints."""
    import os
    import signal
    import subprocess
    import sys

    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "bktools", "sandbox", "serve"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    try:
        lines = [process.stdout.readline() for _ in range(8)]
        said = {line.split()[0]: line.split()[-1] for line in lines if len(line.split()) >= 2}
        request = urllib.request.Request(f"{said['address']}/v2/employees?limit=1")
        request.add_header("Authorization", f"Bearer {lines[1].split()[-1]}")
        with urllib.request.urlopen(request) as answer:
            assert len(json.load(answer)["data"]) == 1
    finally:
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=20)[0]
    assert "its state is kept" in rest
    assert process.returncode == 0
