"""`bktools config`, and commands with nothing to send or with findings."""

from __future__ import annotations

import re
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


def test_reconcile_fails_on_findings_when_asked(run):
    """A scheduled check ends with a code of its own when there are errors."""
    done = run("reconcile", "--sandbox", "--fail-on", "error", "--out", "findings")
    assert done.returncode == Exit.FINDINGS
    assert list(Path("findings").glob("*.csv"))
    assert run("reconcile", "--sandbox").returncode == Exit.DONE
    assert run("reconcile", "--sandbox", "--fail-on", "blue").returncode == Exit.INPUT


def test_a_plan_without_ready_entries_sends_nothing(run):
    """Neither a dry run nor --apply asks for another step where no entry of the plan is ready."""
    composed = run("export", "compose", "--sandbox", "--month", "2026-08", "--out", "august.plan")
    assert "there is nothing to submit" in composed.stdout
    for apply in ([], ["--apply"]):
        sent = run("export", "submit", "august.plan", "--sandbox", *apply)
        assert sent.returncode == Exit.DONE
        assert "Nothing was sent: no entry of the plan is ready." in sent.stdout
        assert "run again with --apply" not in sent.stdout
