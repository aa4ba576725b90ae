"""`bktools accounts`: what needs a person comes first, and the sandbox has a list to import."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from terminal import in_terminal

from bktools.cli.exits import Exit
from bktools.sandbox import Fault


def test_what_needs_a_person_comes_first(run):
    """Accounts with another name in the service head a table, with the way out; an import settles them."""
    lines = in_terminal(120, "accounts", "create", "--sandbox", "--apply")
    heading = next(place for place, line in enumerate(lines) if line.startswith("external_id"))
    # A message goes on below itself.
    codes = [line.split()[0] for line in lines[heading + 1 :] if not line.startswith(" ")]
    assert codes[:3] == ["454000", "465000", "001000"]
    assert "… and 43 more rows" in lines[-1]
    assert "(all of it: --output FILE)" in lines[-1]
    told = run("accounts", "list", "--sandbox")
    assert [row.split("\t")[4] for row in told.stdout.splitlines()[1:4]] == ["exists", "exists", "matched"]
    assert told.stderr.startswith("2 exists: in the service with different data")
    assert "bktools sandbox sample-data FOLDER" in told.stderr
    assert "bktools accounts import FILE --sandbox" in told.stderr
    run("sandbox", "sample-data", "samples")
    assert run("accounts", "import", "samples/accounts.csv", "--sandbox").returncode == Exit.DONE
    settled = run("accounts", "list", "--sandbox")
    assert ("exists" in settled.stdout, settled.stderr) == (False, "")
    # No category is on an account that is not known.
    run("reconcile", "--sandbox", "--out", "findings")
    findings = pd.read_csv("findings/findings.csv")
    assert not findings["message"].str.contains("not known here").any()
    assert len(findings) > 0


def test_accounts_that_were_refused_are_no_success(run, sandbox, access):
    """What was asked was not done, so the exit code says it; run again without the fault, it is."""
    Path("chart.csv").write_text("Konto;Name\n990001;First\n990002;Second\n", encoding="utf-8")
    command = ("accounts", "create", "--chart", "chart.csv")
    sandbox.server.inject(Fault("error", "create_account", status=422, times=2))
    assert run(*command, **access).returncode == Exit.DONE
    refused = run(*command, "--apply", **access)
    assert "\n2 refused\n" in refused.stderr
    assert "2 refused: refused: correct the chart" in refused.stderr
    assert refused.returncode == Exit.INCOMPLETE
    made = run(*command, "--apply", **access)
    assert (made.stderr.splitlines()[-1], made.returncode) == ("2 created", Exit.DONE)


def test_a_complete_list_says_what_it_lacks(run):
    """Accounts that a complete list lacks are counted, named as data, and known no longer."""
    head, bank, fees = (
        "id,external_id,name",
        "123e4567-e89b-42d3-a456-426614174000",
        "223e4567-e89b-42d3-a456-426614174000",
    )
    Path("all.csv").write_text(f"{head}\n{bank},\x1b[31m0400,Bank\n{fees},0500,Fees\n", encoding="utf-8")
    Path("fewer.csv").write_text(f"{head}\n{fees},0500,Fees\n", encoding="utf-8")
    assert "2 accounts known now" in run("accounts", "import", "all.csv", "--sandbox").stdout
    assert "2 accounts known now" in run("accounts", "import", "fewer.csv", "--sandbox").stdout
    told = run("accounts", "import", "fewer.csv", "--complete", "--sandbox").stdout
    assert "1 no longer known, because the list lacks them (--format json names them)\n1 account" in told
    run("accounts", "import", "all.csv", "--sandbox")
    data = run("accounts", "import", "fewer.csv", "--complete", "--sandbox", "--format", "json").stdout
    assert json.loads(data)["no_longer_known"] == ["\x1b[31m0400"]
