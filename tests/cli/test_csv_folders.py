"""`reconcile --out` and `export compose --csv`: folders of CSV files that open in a spreadsheet."""

from __future__ import annotations

from pathlib import Path

import pytest

from bktools.cli.exits import Exit

RECONCILE = ("reconcile", "--sandbox", "--out", "{folder}")
COMPOSE = ("export", "compose", "--sandbox", "--out", "{folder}.plan", "--csv", "{folder}")


@pytest.mark.parametrize(("command", "file"), [(RECONCILE, "actions.csv"), (COMPOSE, "export_entries.csv")])
def test_folders_are_written_in_a_profile(run, command: tuple[str, ...], file: str):
    """For a spreadsheet by default, for a machine when asked, readable by the owner; else nothing."""
    for folder, options in {"default": (), "machine": ("--profile", "machine")}.items():
        assert run(*(part.format(folder=folder) for part in command), *options).returncode == Exit.DONE
    assert (Path("default") / file).read_bytes().startswith(b"\xef\xbb\xbf")
    assert b"\r\n" not in (Path("machine") / file).read_bytes()
    assert {path.stat().st_mode & 0o777 for path in Path("default").iterdir()} == {0o600}
    refused = run(*(part.format(folder="other") for part in command), "--profile", "lotus")
    assert refused.returncode == Exit.INPUT
    assert "profile must be one of excel, excel-eu, machine" in refused.stderr
    assert not list(Path().glob("other*"))
