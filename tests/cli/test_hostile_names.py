"""Names that hold escape sequences and direction marks reach no terminal as what they are."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from terminal import in_terminal

HOSTILE = "Bank \x1b]0;owned\x07\x1b[31m\u202eknaB\u2066"
SHOWN = r"Bank \x1b]0;owned\x07\x1b[31m\u202eknaB\u2066"
ORDINARY = "Größe שלום 東京"


@pytest.fixture
def chart(tmp_path):
    path = tmp_path / "chart.csv"
    path.write_text(f'Konto;Name\n9001;"{HOSTILE}"\n9002;"{ORDINARY}"\n', encoding="utf-8")
    return path


def test_a_program_reads_what_is_shown(run, chart):
    """A pipe gets text that is safe to show; a file for a spreadsheet gets the data itself."""
    done = run("accounts", "create", "--sandbox", "--chart", chart)
    assert not any(mark in done.stdout + done.stderr for mark in ("\x1b", "\x07", "\u202e", "\u2066"))
    assert f"9001\t{SHOWN}\t" in done.stdout
    assert f"9002\t{ORDINARY}\t" in done.stdout
    run("accounts", "create", "--sandbox", "--chart", chart, "--output", "made.csv", "--profile", "machine")
    with Path("made.csv").open(encoding="utf-8", newline="") as file:
        assert [row["name"] for row in csv.DictReader(file) if row["external_id"] == "9001"] == [HOSTILE]


def test_a_terminal_is_not_steered(tmp_path, monkeypatch, chart):
    """In a terminal, and in the message about a file whose heading steers."""
    monkeypatch.chdir(tmp_path)
    lines = in_terminal(200, "accounts", "create", "--sandbox", "--chart", chart)
    assert not any(mark in line for line in lines for mark in ("\x1b", "\x07", "\u202e", "\u2066"))
    assert any(SHOWN in line for line in lines)


def test_an_error_is_not_steered(run, tmp_path):
    """Escapes in a path and a heading are shown in the error's lines, before the page of the guide."""
    path = tmp_path / "a\x1b[31m.csv"
    path.write_text(f"{HOSTILE};x\n1;2\n", encoding="utf-8")
    done = run("reconcile", "--sandbox", "--chart", path)
    assert "\x1b" not in done.stderr
    assert done.stderr.count("\n") == 3
    assert r"a\x1b[31m.csv: 2 problems: (1) no column" in done.stderr
