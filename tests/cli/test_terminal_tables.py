"""Tables in a terminal fit it and say what they leave out; a program gets every row, one a line."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from terminal import in_terminal
from typer.testing import CliRunner

from bktools.cli.app import app
from bktools.visible import width as width_of_text

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.mark.parametrize("width", [60, 200])
def test_a_table_fits_the_terminal(width):
    """Names fold in their column, the heading is there once, and the line below says how to see all."""
    lines = in_terminal(width, "categories", "--sandbox")
    heading, *rows, told = lines
    rows = [row for row in rows if not row.startswith(" ")]
    assert len(rows) == 50
    assert max(width_of_text(line) for line in lines[:-1]) <= width
    assert re.split(r" {2,}", heading)[:2] == ["name", "archived"]
    # An ID that is shown can be copied.
    assert width < 80 or all(UUID.search(row) for row in rows)
    # Every cell begins below its heading, however wide its letters are.
    assert width < 75 or all(
        width_of_text(row[: row.index("False")]) == heading.index("archived")
        for row in rows
        if "False" in row
    )
    assert told.startswith("… and 190 more rows")
    assert told.endswith("(all of it: --output FILE)")
    assert ("tax_code_id" in told) == ("tax_code_id" not in heading) == (width < 150)


def test_a_program_gets_all_of_it(run):
    """Outside of a terminal, a table has all rows and whole IDs, with tabs between cells and no more."""
    done = run("categories", "--sandbox")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(rows) == 1 + 240
    assert {len(row) for row in rows} == {5}
    assert {len(row[2]) for row in rows[1:]} == {36}
    assert done.stderr == ""


def test_a_cell_never_makes_a_row(monkeypatch, capsys):
    """Line ends in a cell are spaces, escapes are written out, null is empty, and times are ISO."""
    from bktools.cli.tables import show

    frame = pd.DataFrame(
        {
            "name": ["two\nlines\tand \x1b[31mred", None],
            "entries": [1234567, 1],
            "at": pd.to_datetime(["2026-10-31 12:00:00.5", None], utc=True),
        }
    )
    show(frame)
    assert capsys.readouterr().out == (
        "name\tentries\tat\ntwo lines and \\x1b[31mred\t1234567\t2026-10-31 12:00:00Z\n\t1\t\n"
    )
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "53")
    show(frame)
    assert capsys.readouterr().out.splitlines() == [
        "name                    entries  at",
        "two lines and         1,234,567  2026-10-31 12:00:00Z",
        "\\x1b[31mred",
        "                              1",
    ]


def test_commands_are_offered_by_the_shell():
    """Completion offers the commands and the options that begin as typed."""
    for typed, offered in (
        (
            "export ",
            ["compose", "history", "import", "not-booked", "resolve", "status", "submit", "undo-import"],
        ),
        ("check --comp", ["--company"]),
    ):
        variables = {"_TYPER_COMPLETE_ARGS": f"bktools {typed}", "_BKTOOLS_COMPLETE": "complete_zsh"}
        found = CliRunner().invoke(app, [], env=variables, prog_name="bktools").output
        assert sorted(re.findall(r'^"([\w-]+)":', found.replace("(", "\n"), re.MULTILINE)) == offered
