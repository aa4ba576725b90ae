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
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from commands import working_commands
from typer.testing import CliRunner

import bktools
from bktools.cli.app import app
from bktools.cli.exits import Exit

# By command: its arguments, and its exit codes besides 0. {…} stands for something of the world.
MAIN_PATHS = {
    "month-end": ("--chart {chart} --entries {entries} --apply --max-entries 100 --wait 0", Exit.INCOMPLETE),
    "reconcile": ("--chart {chart}", None),
    "ledger": ("{ledger}", None),
    "fixes": ("", None),
    "verify": ("--ledger {ledger}", Exit.INCOMPLETE),
    "categories": ("", None),
    "employees": ("", None),
    "guide": ("", None),
    "spend": ("{entries} --by supplier", None),
    "versus": ("{entries} {entries} --by supplier", None),
    "compare": ("2026-09 2026-10", None),
    "balance": ("", None),
    "check": ("", None),
    "config": ("", None),
    "accounts list": ("", None),
    "accounts create": ("--chart {chart} --apply", None),
    "accounts import": ("{accounts}", None),
    "export compose": ("{entries} --out new.plan", None),
    "export submit": ("first.plan", None),
    "export status": ("", None),
    "export history": ("--entries", None),
    "export resolve": ("{waiting} --outcome released --evidence 'not in the ERP' --by Ada", None),
    "export import": ("{elsewhere} --by Ada --evidence 'list of exports'", None),
    "export undo-import": ("{event} --by Ada --evidence 'it failed'", None),
    "export not-booked": ("123e4567-e89b-42d3-a456-426614174000 --by Ada --evidence 'looked it up'", None),
    "journal": ("", None),
    "journal backup": ("another.sqlite", None),
    "journal restore": ("copy.sqlite --by Ada", None),
    "journal verify": ("", None),
    "journal rename": ("old {own} --by Ada", None),
    "journal move": ("--by Ada", None),
    "journal rights": ("analyst", None),
    "journal waive": ("bob@laptop#3f9c2a1b --from 2026-10-01 --to 2026-10-31 --evidence x --by Ada", None),
    "mappings list": ("", None),
    "mappings show": ("erp", None),
    "periods": ("", None),
    "periods close": ("2026-08 --by Ada", None),
    "periods reopen": ("2026-07 --by Ada --reason late", None),
    "sandbox serve": ("", None),
    "sandbox sample-data": ("samples", None),
    "sandbox faults": ("", None),
    "sandbox reset": ("--yes", None),
    "snapshots list": ("", None),
    "snapshots show": ("{key}", None),
    "snapshots path": ("", None),
    "snapshots prune": ("", None),
}
# Those whose result is a table, which JSON has as a list of rows.
TABLES = {
    *shlex.split("check guide ledger fixes spend versus categories employees compare config 'accounts list'"),
    *("accounts create", "export history", "mappings list", "periods", "sandbox faults"),
    *("snapshots list", "snapshots show"),
}
IN_A_DATABASE = {"journal move", "journal rights", "journal waive"}

# The event of a restore that a machine has to confirm.
RESTORED = """
    INSERT INTO bktools.events (at, code, facts) VALUES ('2026-10-31', 'restore_noticed',
        '{"restore": "a", "database": "", "sender": ["eve", "0"],
        "senders": [["bob@laptop", "3f9c2a1b"]]}')
"""


def invoke(line: str, code: int | None = None, stdin: bytes | None = None):
    """Run a command in this process; with a code, it ends with 0 or with this one."""
    done = CliRunner().invoke(app, shlex.split(line), input=stdin)
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
        invoke("export submit first.plan --apply --wait 0", Exit.INCOMPLETE)
        invoke("periods close 2026-07 --by Ada")
        invoke("journal backup copy.sqlite")
        invoke("ledger ledger.csv --delimiter ';' --save-mapping erp")
        history = json.loads(invoke("export history --format json").stdout)
        for name in ("elsewhere", "undone"):
            words[name] = folder / f"{name}.csv"
            words[name].write_text(
                f"id,company_id,date,amount,currency\n{uuid.uuid4()},{settings.company},2026-10-01,1.00,EUR\n"
            )
        imported = invoke(f"export import {words['undone']} --by Ada --evidence list --format json").stdout
        words["event"] = json.loads(imported)["event"]
        words["own"] = settings.base_url
        words["waiting"] = next(row["batch_id"] for row in history if row["state"] == "PLANNED")
        words["key"] = json.loads(invoke("snapshots list --format json").stdout)[0]["key"]
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


@pytest.mark.parametrize("command", MAIN_PATHS)
def test_the_main_path_is_read_by_a_program(command, world, request, monkeypatch, tmp_path):
    """Standard output of each command is one JSON value, rows or an object; other text is elsewhere."""
    if command in IN_A_DATABASE:
        postgres, database = request.getfixturevalue("postgres"), request.getfixturevalue("database")
        monkeypatch.setenv("BKTOOLS_DATA_DIR", str(tmp_path / "data"))
        monkeypatch.setenv("BKTOOLS_SENT_LOG_DIR", str(tmp_path / "sent_log"))
        invoke("journal")
        monkeypatch.setenv("BKTOOLS_JOURNAL", postgres.address(database))
        if command == "journal waive":
            invoke("journal")
            postgres.sql(RESTORED, database)
    arguments, code = MAIN_PATHS[command]
    line = f"{command} {arguments.format(**world)} --format json"
    text = served_until_it_answers(line) if command == "sandbox serve" else invoke(line, code).stdout
    found = json.loads(text, parse_constant=pytest.fail)
    assert isinstance(found, list if command in TABLES else dict)
    assert found or command in {"fixes", "compare", "versus", "accounts create"}


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
    unknown = defaultdict(lambda: "x.csv", key="0123", event="1")
    for path, command in working_commands().items():
        line = f"{path} {MAIN_PATHS[path][0].format_map(unknown)}"
        options = {name for parameter in command.params for name in parameter.opts}
        lines = {"UsageError": (f"{line} --nothing", Exit.USAGE)}
        if "--output" in options:
            lines["ArgumentError"] = f"{line} --output x.csv", Exit.INPUT
        # The table of `check` has the error of a setting as a row; a plan is read before its service is
        # asked.
        if "--environment" in options and path not in {"check", "export submit"}:
            lines["ConfigurationError"] = f"{line} --environment nowhere", Exit.CONFIGURATION
        for kind, (wrong, code) in lines.items():
            done = run(*shlex.split(wrong), "--format", "json")
            error = json.loads(done.stdout)["error"]
            assert (error["kind"], error["exit_code"], done.returncode) == (kind, code, code), wrong
            assert error.keys() == {"kind", "message", "to_do", "guide", "exit_code", "fields"}
            assert error["to_do"]
            # People read the same message, as always.
            assert " ".join(error["message"].split()[:5]) in " ".join(done.stderr.split())


def test_the_fields_of_an_error_are_data(run):
    """A program reads the file, field and option that settle an error; a person gets the guide's page."""
    Path("chart.csv").write_text("Kontonr alt;Bez\n0400;Bank\n", encoding="utf-8")
    done = run("reconcile", "--chart", "chart.csv", "--sandbox", "--format=json")
    error = json.loads(done.stdout)["error"]
    assert (error["kind"], error["exit_code"], error["guide"]) == ("InputError", 4, "bktools guide files")
    assert error["fields"]["source"] == "chart.csv"
    done = run("categories", "--environment", "nowhere")
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == "bktools: more about this: bktools guide settings"


def test_part_of_a_list(world):
    """Every command that lists gives its first rows, or its counts with exact sums, in each format."""
    whole = json.loads(invoke("export history --entries --format json").stdout)
    assert json.loads(invoke("export history --entries --limit 3 --format json").stdout) == whole[:3]
    table = json.loads(invoke("export history --entries --summary --format json").stdout)
    of_all = {row["currency"]: row for row in table if row["column"] == "rows"}
    assert sum(row["rows"] for row in of_all.values()) == len(whole)
    euros = [Decimal(row["amount"]) for row in whole if row["currency"] == "EUR"]
    assert (Decimal(of_all["EUR"]["amount"]), of_all["EUR"]["rows"]) == (sum(euros), len(euros))
    states = Counter((row["state"], row["currency"]) for row in whole)
    assert {
        (row["value"], row["currency"]): row["rows"] for row in table if row["column"] == "state"
    } == states
    assert "id" not in {row["column"] for row in table}
    line = f"reconcile --chart {world['chart']} --format json"
    rows, counts = invoke(line).stdout, invoke(f"{line} --summary").stdout
    assert len(counts) * 20 < len(rows)
    assert {"column": "rows", "value": "all", "rows": 93} in json.loads(counts)["actions"]
    assert len(json.loads(invoke(f"{line} --limit 2").stdout)["actions"]) == 2
    assert invoke("categories --limit 2 --format csv").stdout.count("\n") == 3
    limited, counted = (invoke(f"categories --limit 2{more}") for more in ("", " --summary"))
    assert "the first 2 of" in limited.stderr
    assert "the first" not in counted.stderr, "counts are of all rows"


def test_part_of_a_text(world):
    """Text, too, has the first rows of each list or its counts where asked, and no list otherwise."""
    line = f"reconcile --chart {world['chart']}"
    whole, limited, counted = (invoke(line + more).stdout for more in ("", " --limit 2", " --summary"))
    assert limited.startswith(whole)
    assert "(the first 2 of 93)" in limited
    first = limited.split("(the first 2 of 93):\n")[1].split("\n\n")[0]
    assert first.strip().count("\n") == 2, "a heading and two rows"
    assert ["rows", "all", "93"] in [row.split("\t") for row in counted.splitlines()]
    assert "the first" not in counted, "counts are of all rows"
    assert "Actions" not in whole


def test_formats_agree(world, tmp_path):
    """One table in every format, on screen and in files: the same rows, exact amounts, dates and nulls."""
    rows = json.loads(invoke("export history --entries --format json").stdout)
    assert rows[0]["date"].startswith("2026-10-")
    assert len(rows[0]["date"]) == 10
    assert rows[0]["sent_at"].endswith("Z")
    assert isinstance(rows[0]["amount"], str)
    lines = invoke("export history --entries --format jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == rows
    told = invoke("export history --entries --format csv").stdout
    assert not told.startswith("\ufeff")
    as_csv = list(csv.DictReader(io.StringIO(told)))
    for name in ("amount", "entry_id"):
        assert [row[name] for row in as_csv] == [row[name] for row in rows]
    for suffix in ("csv", "json", "jsonl", "md", "xlsx", "parquet"):
        done = invoke(f"export history --entries --output {tmp_path}/history.{suffix}")
        assert done.stdout == ""
        assert f"{len(rows)} rows written to" in done.stderr
    assert json.loads((tmp_path / "history.json").read_bytes()) == rows
    book = pd.read_excel(tmp_path / "history.xlsx", engine="calamine")
    for frame in (book, pd.read_parquet(tmp_path / "history.parquet")):
        assert frame["entry_id"].to_list() == [row["entry_id"] for row in rows]
    assert (tmp_path / "history.md").read_text().count("\n") == len(rows) + 2
    invoke(f"categories --output {tmp_path}/c.parquet")
    assert len(pd.read_parquet(tmp_path / "c.parquet")) == 240


def test_hostile_text_is_text_in_markdown_and_json(tmp_path, monkeypatch):
    """Markup, escapes and direction marks are characters of a cell, in each format."""
    from bktools.cli.formats import write_table

    hostile = "<script>|`x`|\x1b[31m\u202eabc\nnext"
    frame = pd.DataFrame({"a_b": [hostile, None], "n": [1, 2]})
    write_table(frame, tmp_path / "t.md", ".md", "")
    assert (tmp_path / "t.md").read_text(encoding="utf-8").splitlines() == [
        "| a_b | n |",
        "| --- | ---: |",
        r"| \<script\>\|\`x\`\|\\x1b\[31m\\u202eabc next | 1 |",
        "|  | 2 |",
    ]
    write_table(frame, tmp_path / "t.json", ".json", "")
    assert json.loads((tmp_path / "t.json").read_bytes()) == [{"a_b": hostile, "n": 1}, {"a_b": None, "n": 2}]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("config --output x.txt", "--output must end in .csv, .xlsx, .json, .jsonl, .md, .parquet, or be"),
        ("config --output x.csv --format json", "--format cannot be json with --output x.csv, whose suffix"),
        ("export compose e.csv --out - --format json", "--format cannot be combined with - for standard"),
    ],
)
def test_what_cannot_be_written_is_refused_first(line, said):
    """A suffix that nothing writes, and two wishes for one output, are one line."""
    assert str(CliRunner().invoke(app, line.split()).exception).startswith(said)


def test_standard_streams(world, tmp_path):
    """Charts, entries and plans come through a pipe; `compose` writes its plan to one with nothing else."""
    content = Path(world["entries"]).read_bytes()
    plan = invoke("export compose - --out - --max-entries 500", stdin=content)
    assert plan.stdout_bytes.startswith(b"PK")
    assert "standard-input.txt" in plan.stderr
    assert "Nothing was sent" in invoke("export submit -", stdin=plan.stdout_bytes).stdout
    assert (
        "93 rows of standard-input.txt"
        in invoke("reconcile --chart -", stdin=Path(world["chart"]).read_bytes()).stdout
    )
    empty = CliRunner().invoke(app, ["reconcile", "--chart", "-"], input=b"")
    assert str(empty.exception) == "standard input: is empty"
