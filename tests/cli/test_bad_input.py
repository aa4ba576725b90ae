"""Bad input gets one clear line and its exit code, and nothing is half-written."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from bktools.cli.app import app
from bktools.cli.exits import Exit
from bktools.sandbox import Server

HEADINGS = "entry_id,company_id,date,amount,currency,category_id,employee_id,status,description\n"
ENTRY = (
    "123e4567-e89b-42d3-a456-426614174000,9b48711b-7e43-4f5c-8a36-341a5037711f,"
    "2026-10-01,1.00,EUR,,,approved,x\n"
)

CHARTS = [
    ("Konto;Bezeichnung\n0400;Bank\n0400;Kasse\n", "0400"),
    ("Konto;Bezeichnung;ID\n0400;Bank;\n0500;Cash;7\n", "line 2"),
    ("Farbe;Form\nrot;rund\n", "--column code=HEADING --column name=HEADING"),
    ("Konto;Farbe\n0400;rot\n", "--column name=HEADING"),
    ("", "empty"),
    ("Konto;Bezeichnung\n", "headings but no rows"),
]


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the line of the error; the line after it may name the page of the guide."""
    line, *more = done.stderr.splitlines(keepends=True)
    assert [text for text in more if not text.startswith("bktools: more about this: bktools guide ")] == []
    assert line.startswith("bktools: ")
    return line


def nothing_written() -> bool:
    return not [path for path in Path().iterdir() if "month-end" in path.name]


def test_no_such_file(run):
    """A file that is not there is named."""
    done = run("month-end", "--sandbox", "--apply", "--chart", "missing.csv")
    assert done.returncode == Exit.INPUT
    assert "missing.csv" in one_line(done)
    assert nothing_written()


@pytest.mark.parametrize(("text", "message"), CHARTS)
def test_bad_chart(run, text, message):
    """A chart that cannot be taken is told by line, columns and option; a proposal may follow."""
    Path("chart.csv").write_text(text, encoding="utf-8")
    done = run("accounts", "create", "--sandbox", "--apply", "--chart", "chart.csv")
    assert done.returncode == Exit.INPUT
    assert re.search(message, done.stderr.splitlines()[0]), done.stderr
    assert nothing_written()


def test_the_option_that_the_error_names_works(run):
    """Mapping the columns as the error says makes the same chart readable."""
    Path("chart.csv").write_text("Farbe;Form\n0400;rund\n", encoding="utf-8")
    mapped = ("--column", "code=Farbe", "--column", "name=Form")
    done = run("reconcile", "--sandbox", "--chart", "chart.csv", *mapped)
    assert (done.returncode, done.stderr) == (Exit.DONE, "")


def test_malformed_uuid_in_the_entries(run):
    """An entry whose ID is no UUID is told by its line and value."""
    Path("entries.csv").write_text(
        HEADINGS + ENTRY + ENTRY.replace("123e4567-", "123e4567+"), encoding="utf-8"
    )
    done = run("month-end", "--sandbox", "--apply", "--entries", "entries.csv")
    assert done.returncode == Exit.INPUT
    line = one_line(done)
    assert "line 3" in line
    assert "123e4567+" in line
    assert nothing_written()


def test_a_column_that_a_check_needs_and_nobody_named(run, samples):
    """A column that only looks like the employees stops a close that writes, until somebody decides."""
    text = samples[1].read_text(encoding="utf-8-sig").replace("employee_id", "Courriel du salarié", 1)
    lines = [line.split(",") for line in text.splitlines()]
    place = lines[0].index("Courriel du salarié")
    mails = [",".join([*line[:place], "ada@example.com", *line[place + 1 :]]) for line in lines[1:]]
    Path("entries.csv").write_text("\n".join([",".join(lines[0]), *mails]), encoding="utf-8")
    close = ("month-end", "--sandbox", "--apply", "--entries", "entries.csv")
    done = run(*close)
    assert done.returncode == Exit.INPUT
    assert "a check would be skipped: 'Courriel du salarié' looks like employee_id" in one_line(done)
    assert nothing_written()
    done = run(*close, "--entry-column", "employee_id=")
    assert done.returncode == Exit.DONE, done.stderr


def test_unreachable_service(run, samples):
    """A service that cannot be reached is told with its address; nothing was sent."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    done = run(
        *("month-end", "--apply", "--chart", samples[0], "--entries", samples[1]),
        BKTOOLS_BASE_URL=f"http://127.0.0.1:{port}",
        BKTOOLS_RETRIES="1",
        BKTOOLS_TOKEN="t",
        BKTOOLS_COMPANY="9b48711b-7e43-4f5c-8a36-341a5037711f",
    )
    assert done.returncode == Exit.UNREACHABLE
    assert f"127.0.0.1:{port}" in one_line(done)
    assert nothing_written()


def test_refused_token(run, samples, tmp_path):
    """A token that the service does not take is told, without showing it."""
    with Server(tmp_path / "server") as server:
        done = run(
            *("month-end", "--apply", "--chart", samples[0], "--entries", samples[1]),
            BKTOOLS_BASE_URL=server.base_url,
            BKTOOLS_TOKEN="expired-token",
            BKTOOLS_COMPANY=server.company_id,
        )
    assert done.returncode == Exit.REFUSED
    line = one_line(done)
    assert "renew" in line
    assert "expired-token" not in line
    assert nothing_written()


def test_files_must_be_named_without_the_sandbox(run):
    """Sample data is never taken for somebody who did not ask for it."""
    done = run(
        "month-end",
        BKTOOLS_BASE_URL="http://127.0.0.1:9",
        BKTOOLS_TOKEN="t",
        BKTOOLS_COMPANY="9b48711b-7e43-4f5c-8a36-341a5037711f",
    )
    assert done.returncode == Exit.INPUT
    assert "--chart and --entries must be given" in one_line(done)


def test_nothing_configured(run):
    """With nothing configured the line says how to configure and how to try it."""
    done = run("month-end")
    assert done.returncode == Exit.CONFIGURATION
    assert "--sandbox" in one_line(done)


def test_a_folder_with_something_else(run):
    """A folder that holds something else than a close is not written to."""
    Path("close").mkdir()
    Path("close/mine.txt").write_text("mine")
    done = run("month-end", "--sandbox", "--apply", "--out", "close")
    assert done.returncode == Exit.INPUT
    assert "--out" in one_line(done)
    assert [path.name for path in Path("close").iterdir()] == ["mine.txt"]


def test_the_folder_one_stands_in(run):
    """A close is put in place as a whole, so it refuses the folder of the shell and sends nothing."""
    done = run("month-end", "--sandbox", "--apply", "--out", ".")
    assert done.returncode == Exit.INPUT
    assert ". is the folder you are in: give another folder with --out" in one_line(done)
    assert list(Path().iterdir()) == []
    assert run("accounts", "list", "--sandbox").stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "month-end --chart missing.csv --month October",
            "--month must be a month such as 2026-10, got 'October'",
        ),
        (
            "export compose missing.csv --month October",
            "--month must be a month such as 2026-10, got 'October'",
        ),
        (
            "verify --ledger missing.csv --month 2026-13",
            "--month must be a month such as 2026-10, got '2026-13'",
        ),
        (
            "month-end --chart missing.csv --fail-on all",
            "--fail-on must be one of held, error, warning, got 'all'",
        ),
        (
            "month-end --chart missing.csv --from few",
            "--from must be an amount such as 500, or a share such as 5%, got 'few'",
        ),
        (
            "month-end --chart missing.csv --profile lotus",
            "--profile must be one of excel, excel-eu, machine, got 'lotus'",
        ),
    ],
)
def test_a_wrong_option_is_told_before_a_file_is_read(run, command, said):
    """What an option takes is checked before the service is opened and a file is looked for."""
    done = run(*command.split(), "--sandbox")
    assert (done.returncode, done.stdout) == (Exit.INPUT, "")
    assert one_line(done) == f"bktools: {said}\n"


@pytest.mark.parametrize("command", ["categories --max-age", "snapshots prune --older-than"])
@pytest.mark.parametrize("age", ["900000d", "99999999999999999d", "9" * 5000 + "s"])
def test_an_age_without_a_date(run, command, age):
    """An age that no date has is refused by its option."""
    done = run(*command.split(), age, "--sandbox")
    assert (done.returncode, done.stdout) == (Exit.INPUT, "")
    assert f"{command.split()[-1]} must be at most 36500d, got '{age[:6]}" in one_line(done)


def test_wrong_option(run):
    """An option that is none ends with the usual code and names it."""
    done = run("month-end", "--sandbx")
    assert done.returncode == Exit.USAGE
    assert "--sandbx" in done.stderr


def test_full_disk(run, small_disk):
    """A disk that is full at the folder is reported; no half folder stays, and the journal knows."""
    done = run("month-end", "--sandbox", "--apply", "--out", small_disk / "close")
    assert done.returncode == Exit.STORAGE
    assert "No space left" in one_line(done)
    assert list(small_disk.iterdir()) == []
    again = run("month-end", "--sandbox", "--apply")
    assert again.returncode == Exit.DONE
    assert "exported" in Path("month-end-2026-10/entries.csv").read_text(encoding="utf-8-sig")


def test_full_disk_under_the_journal(run, small_disk):
    """Where the journal cannot be written, nothing is sent."""
    done = run("month-end", "--sandbox", "--apply", BKTOOLS_DATA_DIR=str(small_disk))
    assert done.returncode == Exit.STORAGE
    one_line(done)
    assert nothing_written()


def commands(group: typer.core.TyperGroup) -> Iterator[typer.core.TyperCommand]:
    for command in group.commands.values():
        yield from commands(command) if isinstance(command, typer.core.TyperGroup) else [command]


@pytest.mark.parametrize(
    "command", list(commands(typer.main.get_command(app))), ids=lambda command: command.name
)
def test_every_command_teaches_with_an_example(command):
    """Each command's help has an example that calls it."""
    assert re.search(rf"^Example: .*\bbktools .*\b{command.name}\b", command.help, re.MULTILINE)
