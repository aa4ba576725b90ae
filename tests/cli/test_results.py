"""The result of every command as data: alone on standard output, exact, and read back by a program."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import uuid
from collections import defaultdict

import pandas as pd
import pytest
from commands import working_commands
from typer.testing import CliRunner
from world_files import lines_of

import bktools
from bktools.cli.app import app
from bktools.cli.exits import Exit

# By command: its arguments, where {…} stands for something of the world, a code that it may end with besides
# 0, and whether its result is a table, which JSON has as a list of rows.
MAIN_PATHS = {case["command"]: case for case in lines_of("cli/main_paths.csv")}
# Two jobs with the same entries are made in tests of the journal, a workbook in `test_fixes_command`.
NEEDS_MORE = {"export tick-off", "fixes"}
IN_A_DATABASE = {"journal move"}


def invoke(line: str, code: int | None = None):
    """Run a command in this process; with a code, it ends with 0 or with this one."""
    done = CliRunner().invoke(app, shlex.split(line))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code in {0, code}, done.output
    return done


@pytest.fixture(scope="module")
def served(tmp_path_factory, samples):
    """A served sandbox after a first export; its variables, and the words of `MAIN_PATHS`."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "config.toml").touch()
    ledger = folder / "ledger.csv"
    ledger.write_text(
        "account;date;amount;currency;text\n0400;2026-10-01;12.50;EUR;=1+1\n5800;2026-10-02;-12.50;EUR;\n"
    )
    words = {
        "chart": samples[0],
        "entries": samples[1],
        "ledger": ledger,
        "accounts": folder / "accounts.csv",
    }
    with bktools.Sandbox(folder / "state", job_seconds=60) as service, pytest.MonkeyPatch.context() as patch:
        settings = service.settings
        variables = {
            "BASE_URL": settings.base_url,
            "TOKEN": settings.token.reveal(),
            "COMPANY": settings.company,
            "BALANCE_URL": settings.balance_url,
            "BALANCE_TOKEN": settings.balance_token.reveal(),
            "CONFIG": folder / "config.toml",
            "DATA_DIR": folder / "data",
            "CACHE_DIR": folder / "cache",
            "SENT_LOG_DIR": folder / "sent_log",
        }
        variables = {f"BKTOOLS_{name}": str(value) for name, value in variables.items()}
        for name, value in variables.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        invoke("sandbox sample-data .")
        invoke(f"accounts create --chart {words['chart']} --apply")
        invoke(f"export compose {words['entries']} --out first.plan --max-entries 100")
        invoke("export submit first.plan --apply --wait 0 --first-export --by Ada", Exit.INCOMPLETE)
        invoke("periods close 2026-07 --by Ada")
        invoke("journal backup copy.sqlite")
        invoke("ledger ledger.csv --delimiter ';' --save-mapping erp")
        history = json.loads(invoke("export status --format json", Exit.INCOMPLETE).stdout)
        for name in ("elsewhere", "undone"):
            words[name] = folder / f"{name}.csv"
            words[name].write_text(
                f"id,company_id,date,amount,currency\n{uuid.uuid4()},{settings.company},2026-10-01,1.00,EUR\n"
            )
        imported = invoke(
            f"export import {words['undone']} --by Ada --evidence 'list of exports' --format json"
        ).stdout
        words["event"] = json.loads(imported)["event"]
        words["waiting"] = next(row["batch_id"] for row in history if row["state"] == "PLANNED")
        yield folder, variables, words


@pytest.fixture
def world(served, monkeypatch):
    """The words of `MAIN_PATHS`, with the settings of the served sandbox in force."""
    folder, variables, words = served
    monkeypatch.chdir(folder)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return words


def test_every_command_has_its_main_path_here():
    """A new command needs a line in `MAIN_PATHS`, and with it a result that a program can read."""
    assert working_commands().keys() == MAIN_PATHS.keys()


@pytest.mark.parametrize("command", [name for name in MAIN_PATHS if name not in NEEDS_MORE])
def test_the_main_path_is_read_by_a_program(command, world, request, monkeypatch, tmp_path):
    """Standard output of each command is one JSON value, rows or an object; other text is elsewhere."""
    if command in IN_A_DATABASE:
        postgres, database = request.getfixturevalue("postgres"), request.getfixturevalue("database")
        monkeypatch.setenv("BKTOOLS_DATA_DIR", str(tmp_path / "data"))
        monkeypatch.setenv("BKTOOLS_SENT_LOG_DIR", str(tmp_path / "sent_log"))
        invoke("journal")
        monkeypatch.setenv("BKTOOLS_JOURNAL", postgres.address(database))
    case = MAIN_PATHS[command]
    code = Exit[case["also"] or "DONE"]
    line = f"{command} {case['arguments'].format(**world)}{'' if command == 'mcp' else ' --format json'}"
    text = served_until_it_answers(line) if command == "sandbox serve" else invoke(line, code).stdout
    value = json.loads(text, parse_constant=pytest.fail)
    assert isinstance(value, list if case["result"] == "table" else dict)
    assert value or command in {"fixes", "compare", "versus", "accounts create"}


def served_until_it_answers(line: str) -> str:
    """Return what a serving command prints until it is interrupted."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "bktools", *shlex.split(line)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ,
    )
    lines = []
    while not lines or lines[-1] not in {"}\n", ""}:
        lines.append(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    return "".join(lines) + process.communicate(timeout=60)[0]


def test_an_error_of_every_command_is_read_by_a_program(run):
    """With --format json an error is one object: kind, message, what to do, page of the guide, fields."""
    unknown = defaultdict(lambda: "x.csv", event="1")
    for path, command in working_commands().items():
        line = f"{path} {MAIN_PATHS[path]['arguments'].format_map(unknown)} --format json"
        lines = {"UsageError": (f"{line} --nothing", Exit.USAGE)}
        options = {name for parameter in command.params for name in parameter.opts}
        # The table of `check` has the error of a setting as a row; a plan, and a file that is shown, are read
        # before a service is asked; mcp prints settings, as JSON alone.
        is_read_first = path in {"check", "export submit", "mcp", "chart", "entries", "ledger"}
        if "--environment" in options and not is_read_first:
            lines["ConfigurationError"] = f"{line} --environment nowhere", Exit.CONFIGURATION
        for kind, (wrong, code) in lines.items():
            done = run(wrong)
            error = json.loads(done.stdout)["error"]
            assert (error["kind"], error["exit_code"], done.returncode) == (kind, code, code), wrong
            assert error.keys() == {"kind", "message", "to_do", "guide", "exit_code", "fields"}
            assert error["to_do"]
            # People read the same message, as always.
            assert " ".join(error["message"].split()[:5]) in " ".join(done.stderr.split())


def test_the_fields_of_an_error_are_data(run):
    """A program reads the file that an error is about; a person gets the guide's page below a setting."""
    error = json.loads(run("reconcile --chart x.csv --sandbox --format=json").stdout)["error"]
    assert (error["kind"], error["exit_code"], error["guide"]) == ("InputError", 4, "bktools guide files")
    assert error["fields"]["source"] == "x.csv"
    done = run("categories --environment nowhere")
    assert (done.stdout, done.stderr.splitlines()[-1]) == (
        "",
        "bktools: more about this: bktools guide settings",
    )


def test_formats_agree(world, tmp_path):
    """One table in every format, on screen and in files: the same rows, exact amounts, dates and nulls."""
    rows = json.loads(invoke("export status --entries --format json").stdout)
    assert rows[0]["date"].startswith("2026-10-")
    assert len(rows[0]["date"]) == 10
    assert rows[0]["sent_at"].endswith("Z")
    assert isinstance(rows[0]["amount"], str)
    text = invoke("export status --entries --format csv").stdout
    assert not text.startswith("\ufeff")
    as_csv = list(csv.DictReader(io.StringIO(text)))
    for name in ("amount", "entry_id"):
        assert [row[name] for row in as_csv] == [row[name] for row in rows]
    for suffix in ("csv", "json", "xlsx", "parquet"):
        done = invoke(f"export status --entries --output {tmp_path}/history.{suffix}")
        assert (done.stdout, f"{len(rows)} rows written to" in done.stderr) == ("", True)
    assert json.loads((tmp_path / "history.json").read_bytes()) == rows
    # Half of Europe's spreadsheets read semicolons and decimal commas.
    invoke(f"export status --entries --output {tmp_path}/history.csv --profile excel-eu")
    text = (tmp_path / "history.csv").read_text(encoding="utf-8-sig")
    as_eu = [*csv.DictReader(io.StringIO(text), delimiter=";")]
    assert [row["amount"].replace(",", ".") for row in as_eu] == [row["amount"] for row in rows]
    book = pd.read_excel(tmp_path / "history.xlsx", engine="calamine")
    for frame in (book, pd.read_parquet(tmp_path / "history.parquet")):
        assert frame["entry_id"].to_list() == [row["entry_id"] for row in rows]
