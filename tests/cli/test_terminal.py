"""Output in a terminal and in a pipe: tables that fit, text that steers nothing, and a log."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pandas as pd
import pytest
from terminal import in_terminal

from bktools.cli.exits import Exit, fail
from bktools.cli.log import LogLevel, logged
from bktools.cli.results import show
from bktools.errors import ServerError
from bktools.progress import note
from bktools.sandbox import Fault
from bktools.visible import width as width_of_text

HOSTILE = "Bank \x1b]0;owned\x07\x1b[31m\u202eknaB\u2066"
SHOWN = r"Bank \x1b]0;owned\x07\x1b[31m\u202eknaB\u2066"
MARKS = ("\x1b", "\x07", "\u202e", "\u2066")


def test_a_table_fits_the_terminal():
    """Names fold in their column, the heading is there once, and the line below says how to see all."""
    heading, *rows, last = in_terminal(60, "categories", "--sandbox")
    assert len([row for row in rows if not row.startswith(" ")]) == 50
    assert max(map(width_of_text, (heading, *rows))) <= 60
    assert re.split(r" {2,}", heading)[0] == "name"
    assert last.startswith("… and 190 more rows")
    assert last.endswith("(all of it: --output FILE)")


def test_a_cell_never_makes_a_row(monkeypatch, capsys):
    """Line ends in a cell are spaces, escapes are written out, null is empty, and times are in UTC."""
    frame = pd.DataFrame(
        {
            "name": ["two\nlines\tand \x1b[31mred", None],
            "entries": [1234567, 1],
            "at": pd.to_datetime(["2026-10-31 12:00:00.5", None], utc=True),
        }
    )
    show(frame)
    assert capsys.readouterr().out == (
        "name\tentries\tat\ntwo lines and \\x1b[31mred\t1234567\t2026-10-31 12:00:00 UTC\n\t1\t\n"
    )
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "53")
    show(frame)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 53
    assert [text in " ".join(lines) for text in ("1,234,567", r"\x1b[31mred")] == [True, True]


def test_hostile_names_steer_no_terminal(run, tmp_path):
    """Escapes are shown in a terminal, a pipe and an error; a file for a spreadsheet has the data itself."""
    path = tmp_path / "a\x1b[31m.csv"
    path.write_text(f'Konto;Name\n9001;"{HOSTILE}"\n9002;"Größe שלום 東京"\n', encoding="utf-8")
    create = ("accounts", "create", "--sandbox", "--chart", path)
    done = run(*create)
    assert not any(mark in done.stdout + done.stderr for mark in MARKS)
    assert f"9001\t{SHOWN}\t" in done.stdout
    assert "9002\tGröße שלום 東京\t" in done.stdout
    run(*create, "--output", "made.csv")
    with Path("made.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [row["name"] for row in csv.DictReader(file) if row["external_id"] == "9001"] == [HOSTILE]
    lines = in_terminal(200, *create)
    assert not any(mark in line for line in lines for mark in MARKS)
    assert any(SHOWN in line for line in lines)
    path.write_text(f"{HOSTILE};x\n1;2\n", encoding="utf-8")
    refused = run("reconcile", "--sandbox", "--chart", path)
    assert (refused.returncode, "\x1b" in refused.stderr) == (Exit.INPUT, False)
    assert r"a\x1b[31m.csv" in refused.stderr


@pytest.fixture
def failing(sandbox, access):
    """Variables for a service whose first two answers are failures."""
    sandbox.server.inject(Fault("error", times=2, status=503))
    return access


def test_retries_are_in_the_log(run, failing):
    """With --log-level each step and retry is a line with its time; the result is the same."""
    done = run("categories --log-level info", **failing)
    retries = re.findall(
        r"^20\S+Z INFO waiting \d+\.\d s, .*attempt (\d) of 5\): .*503", done.stderr, re.MULTILINE
    )
    assert (retries, done.returncode, done.stdout.count("\n")) == (["2", "3"], 0, 241)
    assert failing["BKTOOLS_TOKEN"] not in done.stderr


def test_quiet_leaves_results_warnings_and_errors(run, failing):
    """--quiet prints the rows and no note, also from the cache; a stale copy is still a warning."""
    failing |= {"BKTOOLS_ENVIRONMENT": "live"}
    done = run("categories --quiet", **failing)
    assert (done.returncode, done.stderr) == (0, "")
    again = run("categories", **failing)
    assert ("rows from the snapshot" in again.stderr, again.stdout) == (True, done.stdout)
    unreachable = failing | {"BKTOOLS_BASE_URL": "http://127.0.0.1:9"}
    away = run("categories --quiet --max-age 0", **unreachable)
    assert (away.returncode, away.stderr.count("is used instead")) == (0, 1)


def test_text_from_outside_stays_one_line_of_the_log(capsys):
    """Control characters and line ends of a message do not break a log's line or reach the terminal."""
    with logged(LogLevel.INFO, quiet=False):
        note("a\x1b[31m\nb\u202e")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(r"INFO a\x1b[31m\nb\u202e")


def test_an_error_nobody_expected_keeps_its_traceback(capsys):
    """An unexpected error ends with 1 and its traceback, an expected one with its code and one line."""
    for error, code, text in (
        (RuntimeError("unexpected"), Exit.FAILED, r"RuntimeError: unexpected\n$"),
        (ServerError("the service failed", status=500), Exit.SERVICE, r"^bktools: the service failed\n$"),
    ):
        with pytest.raises(SystemExit) as ended:
            fail(error, [])
        assert ended.value.code == code
        assert re.search(text, capsys.readouterr().err)
