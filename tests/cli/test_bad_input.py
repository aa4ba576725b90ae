"""Bad input gets one clear line and its exit code, and nothing is half-written."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import every_command

from bktools.cli.exits import Exit

HEADINGS = "entry_id,company_id,date,amount,currency,category_id,employee_id,status,description\n"
ENTRY = (
    "123e4567-e89b-42d3-a456-426614174000,9b48711b-7e43-4f5c-8a36-341a5037711f,"
    "2026-10-01,1.00,EUR,,,approved,x\n"
)


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the line of the error; the line after it may name the page of the guide."""
    line, *more = done.stderr.splitlines(keepends=True)
    assert [text for text in more if not text.startswith("bktools: more about this: bktools guide ")] == []
    assert line.startswith("bktools: ")
    return line


MONTH = "--month must be a month such as 2026-10, got "
AGES = ["900000d", "9" * 5000 + "s"]
# What an option takes is checked before the service is opened and a file is looked for.
WRONG = {
    "month-end --chart missing.csv --month October": f"{MONTH}'October'",
    "export compose missing.csv --month October": f"{MONTH}'October'",
    "verify --ledger missing.csv --month 2026-13": f"{MONTH}'2026-13'",
    "month-end --chart missing.csv --fail-on all": "--fail-on must be one of held, error, warning, got 'all'",
    "month-end --chart missing.csv --from few": "--from must be an amount such as 500, or a share",
    "month-end --chart missing.csv --profile lotus": "--profile must be one of excel, excel-eu, machine",
    "month-end --apply --chart missing.csv": "missing.csv",
    "month-end --apply --out close": "--out",
    "month-end --apply --out .": ". is the folder you are in: give another folder with --out",
    "month-end --apply --entries wrong.csv": "line 3.*123e4567[+]",
    **{f"categories --max-age {age}": f"--max-age must be at most 36500d, got '{age[:6]}" for age in AGES},
    **{f"snapshots prune --older-than {age}": "--older-than must be at most 36500d, got '" for age in AGES},
}


@pytest.mark.parametrize("command", WRONG, ids=lambda command: command[:60])
def test_a_wrong_option_is_one_line(run, command):
    """What an option or a file must be is said in one line; nothing is written, here or in the service."""
    Path("close").mkdir()
    Path("close/mine.txt").write_text("mine")
    Path("wrong.csv").write_text(HEADINGS + ENTRY + ENTRY.replace("7-", "7+", 1), encoding="utf-8")
    done = run(*command.split(), "--sandbox")
    # A close that would be applied says first what it read.
    assert (done.returncode, done.stdout != "") == (Exit.INPUT, "--apply" in command)
    assert re.search(WRONG[command], one_line(done))
    assert sorted(path.name for path in Path().rglob("*")) == ["close", "mine.txt", "wrong.csv"]
    assert run("accounts", "list", "--sandbox").stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Konto;Bezeichnung\n0400;Bank\n0400;Kasse\n", "0400"),
        ("Konto;Bezeichnung;ID\n0400;Bank;\n0500;Cash;7\n", "line 2"),
        ("Farbe;Form\nrot;rund\n", "--column code=HEADING --column name=HEADING"),
        ("Konto;Farbe\n0400;rot\n", "--column name=HEADING"),
        ("", "empty"),
        ("Konto;Bezeichnung\n", "headings but no rows"),
    ],
)
def test_bad_chart(run, text, message):
    """A chart that cannot be taken is told by line, columns and option; a proposal may follow."""
    Path("chart.csv").write_text(text, encoding="utf-8")
    done = run("accounts", "create", "--sandbox", "--apply", "--chart", "chart.csv")
    assert done.returncode == Exit.INPUT
    assert re.search(message, done.stderr.splitlines()[0]), done.stderr


@pytest.mark.parametrize(
    ("command", "settings", "code", "said"),
    [
        ("month-end --sandbx", {}, Exit.USAGE, "--sandbx"),
        ("month-end", {}, Exit.CONFIGURATION, "--sandbox"),
        ("month-end", {"TOKEN": "hunter2"}, Exit.INPUT, "--chart and --entries must be given"),
        (
            "month-end --apply --chart {chart} --entries {entries}",
            {"TOKEN": "hunter2"},
            Exit.REFUSED,
            "renew",
        ),
        (
            "month-end --apply --chart {chart} --entries {entries}",
            {"BASE_URL": "http://127.0.0.1:9", "RETRIES": "1"},
            Exit.UNREACHABLE,
            "127.0.0.1:9",
        ),
    ],
)
def test_a_wrong_setting_is_told_with_the_way_out(run, access, samples, command, settings, code, said):
    """Configuration, credential and address: what is wrong is named, no token is shown, no folder made."""
    variables = access | {f"BKTOOLS_{name}": value for name, value in settings.items()} if settings else {}
    done = run(*command.format(chart=samples[0], entries=samples[1]).split(), **variables)
    assert done.returncode == code
    assert said in done.stderr
    assert "hunter2" not in done.stderr
    assert list(Path().iterdir()) == []


def test_the_option_that_the_error_names_works(run):
    """Mapping the columns as the error says makes the same chart readable."""
    Path("chart.csv").write_text("Farbe;Form\n0400;rund\n", encoding="utf-8")
    mapped = ("--column", "code=Farbe", "--column", "name=Form")
    done = run("reconcile", "--sandbox", "--chart", "chart.csv", *mapped)
    assert (done.returncode, done.stderr) == (Exit.DONE, "")


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
    assert not list(Path().glob("month-end*"))
    done = run(*close, "--entry-column", "employee_id=")
    assert done.returncode == Exit.DONE, done.stderr


def test_full_disk(run, small_disk):
    """A disk that is full at the folder or the journal is reported; no half folder stays, nothing is sent."""
    done = run("month-end", "--sandbox", "--apply", BKTOOLS_DATA_DIR=str(small_disk))
    assert (done.returncode, one_line(done)[:9]) == (Exit.STORAGE, "bktools: ")
    assert list(Path().iterdir()) == []
    shutil.rmtree(small_disk / "sandbox", ignore_errors=True)
    done = run("month-end", "--sandbox", "--apply", "--out", small_disk / "close")
    assert done.returncode == Exit.STORAGE
    assert "No space left" in one_line(done)
    assert list(small_disk.iterdir()) == []
    again = run("month-end", "--sandbox", "--apply")
    assert again.returncode == Exit.DONE
    assert "exported" in Path("month-end-2026-10/entries.csv").read_text(encoding="utf-8-sig")


@pytest.mark.parametrize(
    "command", [one for _, one in every_command() if not hasattr(one, "commands")], ids=lambda one: one.name
)
def test_every_command_teaches_with_an_example(command):
    """Each command's help has an example that calls it."""
    assert re.search(rf"^Example: .*\bbktools .*\b{command.name}\b", command.help, re.MULTILINE)
