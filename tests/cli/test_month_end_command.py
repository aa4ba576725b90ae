"""The main job, as a user runs it: the whole close on the sandbox, over HTTP, twice."""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections import Counter
from pathlib import Path

from bktools.cli.exits import Exit
from bktools.sandbox.faults import Fault

TABLES = ("chart", "categories", "employees", "entries", "figures", "export_jobs", "to_do")
FILES = {f"{name}.csv" for name in TABLES}
FILES |= {"manifest.json", "coverage.png", "money.png"}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def accounts_of(folder: Path) -> dict[str, int]:
    """Return how many accounts of the run have each outcome."""
    return dict(json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["accounts"])


def test_first_and_second_run(run, samples):
    """The first run shows every part at work; the second creates nothing twice and keeps all evidence."""
    first = run("month-end", "--sandbox", "--apply")
    assert (first.returncode, first.stderr) == (Exit.DONE, "")
    folder = Path("month-end-2026-10")
    assert {path.name for path in folder.iterdir()} >= FILES
    assert accounts_of(folder).keys() == {"CREATED", "MATCHED", "EXISTS"}
    assert [row["fate"] for row in rows(folder / "export_jobs.csv")] == ["exported"]
    entries = rows(folder / "entries.csv")
    reasons = Counter(row["reason"] for row in entries)
    assert {"no_account", "not_approved", "archived_account", "duplicate", "other_company"} <= reasons.keys()
    assert (len(entries), Counter(row["fate"] for row in entries)["exported"]) == (320, 225)
    for said in ("sandbox", "created", "ACCEPTED", "To do: ", "Written to month-end-2026-10/"):
        assert said.lower() in first.stdout.lower()

    second = run("month-end", "--sandbox", "--apply")
    assert (second.returncode, second.stderr) == (Exit.DONE, "")
    assert accounts_of(folder) == {}
    assert rows(folder / "entries.csv") == entries
    kept = [path for path in Path().iterdir() if path.name.startswith("month-end-2026-10.")]
    assert len(kept) == 1
    assert rows(kept[0] / "entries.csv") == entries
    assert f"The earlier close is kept as {kept[0]}/" in second.stdout
    assert "nothing to send" in second.stdout
    planned = run("month-end", "--sandbox")
    assert "--apply has nothing to do" in planned.stdout
    assert "run again with --apply" not in planned.stdout


def test_without_apply_nothing_is_written(run, monkeypatch, tmp_path):
    """A plan says what would be done; held-back entries fail it where wanted; the company is named once."""
    monkeypatch.setenv("BKTOOLS_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").touch()
    planned = run("month-end", "--sandbox", "--fail-on", "held", "--company-name", "Müller & Söhne GmbH")
    assert planned.returncode == Exit.FINDINGS
    assert "Nothing was written to the service" in planned.stdout
    page = Path("month-end-2026-10/report.html").read_text(encoding="utf-8")
    assert "Müller &amp; Söhne GmbH" in page
    assert accounts_of(Path("month-end-2026-10")).keys() == {"PLANNED"}
    assert run("accounts", "list", "--sandbox").stdout.count("\n") == 1
    assert run("export", "status", "--sandbox").stdout.count("\n") == 1


def test_an_unknown_outcome_comes_first(run, sandbox, access, samples):
    """A close says first that an export job's outcome is unknown; the command in that line settles it."""
    sandbox.server.inject(Fault("drop", "create_export_job", times=1))
    word = ("--first-export", "--by", "Ada")
    close = ("--month", "2026-10", "--chart", samples[0], "--entries", samples[1])
    # A dry run asks what a person answers with the first export.
    assert run("month-end", *close, **access).stdout.count("--first-export") == 1
    close += word
    assert run("month-end", "--apply", *close, **access).returncode == Exit.INCOMPLETE
    again = run("month-end", "--apply", *close, **access)
    assert again.returncode == Exit.INCOMPLETE
    command = re.match(r"outcome unknown: batch .* bktools (export resolve .+?) --outcome", again.stdout)[1]
    assert [row["fate"] for row in rows(Path("month-end-2026-10/export_jobs.csv"))] == ["in_doubt"]
    outcome = ("--outcome", "accepted", "--evidence", "in the ERP", "--by", "Ada")
    settled = run(*shlex.split(command), *outcome, **access)
    assert (settled.returncode, settled.stderr) == (Exit.DONE, "")
    assert run("export", "status", **access).returncode == Exit.DONE
    assert set(sandbox.server.accepted_entries().values()) == {1}
