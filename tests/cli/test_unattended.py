"""Commands that run unattended: a log to read by machine, silence when asked, and exit codes in the help."""

from __future__ import annotations

import json
import re

import click
import pytest
from typer.main import get_command

from bktools.cli.app import app
from bktools.cli.exits import Exit, exit_codes
from bktools.cli.unattended import common_first, fail, unattended
from bktools.errors import ServerError
from bktools.progress import note
from bktools.sandbox import Fault

TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def log_of(done):
    """Return the lines of a log, each of which has a time, a level and a message."""
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert all(TIME.fullmatch(line["time"]) and {"level", "message"} <= line.keys() for line in lines)
    return lines


@pytest.fixture
def failing(sandbox, access):
    """Variables for a service whose first two answers are failures."""
    sandbox.server.inject(Fault("error", times=2, status=503))
    return access


def test_retries_are_visible_in_the_log(run, failing):
    """With --log-format json each line of standard error is an object: each retry, and the exit code."""
    done = run("categories", "--log-format", "json", **failing)
    lines = log_of(done)
    retries = [line["message"] for line in lines if "attempt" in line["message"]]
    attempts = [re.match(r"waiting \d+\.\d s, .*attempt (\d) of 5\): .*503", text)[1] for text in retries]
    assert attempts == ["2", "3"]
    assert (lines[-1]["exit_code"], done.returncode) == (0, 0)
    assert lines[-1]["seconds"] > 0
    assert failing["BKTOOLS_TOKEN"] not in done.stderr
    again = run("--log-format=text", "categories", **failing)
    assert re.fullmatch(
        rf"{TIME.pattern} INFO categories: 240 rows from the snapshot .*", again.stderr.splitlines()[0]
    )


def test_an_error_is_a_line_of_the_log(run):
    """Errors of bktools and of the command line are lines with level ERROR, with the exit code last."""
    refused = run("categories", "--sandbox", "--max-age", "soon", "--log-format", "json")
    error = log_of(refused)[0]
    assert (error["level"], error["error"], error["exit_code"]) == ("ERROR", "ArgumentError", Exit.INPUT)
    assert "traceback" not in error
    unknown = log_of(run("categories", "--nonsense", "--quiet", "--log-format", "json"))
    assert next(line["message"] for line in unknown if line["level"] == "ERROR").startswith("No such option")


def test_quiet_leaves_results_warnings_and_errors(run, failing):
    """--quiet prints the rows and no note, also from the cache; a stale copy is still a warning."""
    failing = failing | {"BKTOOLS_ENVIRONMENT": "live"}
    done = run("categories", "--quiet", **failing)
    assert (done.returncode, done.stderr) == (0, "")
    again = run("categories", **failing)
    assert "rows from the snapshot" in again.stderr
    assert again.stdout == done.stdout
    away = run(
        "categories", "--quiet", "--max-age", "0s", **failing | {"BKTOOLS_BASE_URL": "http://127.0.0.1:9"}
    )
    assert (away.returncode, away.stderr.count("is used instead")) == (0, 1)


@pytest.mark.parametrize(
    ("given", "ordered"),
    [
        ("month-end --sandbox --quiet", "--quiet month-end --sandbox"),
        (
            "export submit --log-format json --apply --verbose",
            "--log-format=json --verbose export submit --apply",
        ),
        ("config --log-format=text", "--log-format=text config"),
        ("config --log-format", "--log-format config"),
        ("config --log-level debug", "--log-level=debug config"),
        ("mappings show -- --quiet", "mappings show -- --quiet"),
    ],
)
def test_common_options_stand_anywhere(given, ordered):
    """The options of every command are moved to the front, with their value."""
    assert common_first(given.split()) == ordered.split()


def commands_of(command, path=()):
    """Return every command and group with its path."""
    yield path, command
    for name, nested in getattr(command, "commands", {}).items():
        yield from commands_of(nested, (*path, name))


def test_the_exit_codes_are_listed_once():
    """`bktools --help` lists all exit codes; the help of a command does not repeat them."""
    found = list(commands_of(get_command(app)))
    assert len(found) > 30
    for path, command in found:
        text = " ".join(command.get_help(click.Context(command, info_name="bktools")).split())
        assert (exit_codes() in text, "Exit codes" in text) == (path == (), path == ()), path


def test_text_from_outside_stays_one_line(capsys):
    """Control characters and line ends of a message do not break a log's line or reach the terminal."""
    hostile = "a\x1b[31m\nb\u202e"
    for log_format in ("json", "text"):
        with unattended([f"--log-format={log_format}"]):
            note(f"{hostile}")
    as_json, as_text = capsys.readouterr().err.splitlines()
    assert json.loads(as_json)["message"] == hostile
    assert not {"\x1b", "\u202e"} & {*as_json, *as_text}
    assert as_text.endswith(r"INFO a\x1b[31m\nb\u202e")


def test_an_error_nobody_expected_keeps_its_traceback(capsys):
    """An unexpected error is a line with its traceback and code 1; without a log the traceback is printed."""
    error = RuntimeError("unexpected")
    with pytest.raises(SystemExit) as ended, unattended(["--log-format=json"]):
        fail(error, ["--log-format=json"])
    assert ended.value.code == Exit.FAILED
    line = json.loads(capsys.readouterr().err.splitlines()[0])
    assert (line["error"], line["exit_code"]) == ("RuntimeError", Exit.FAILED)
    assert "RuntimeError: unexpected" in line["traceback"]
    refused = ServerError("the service failed", status=500)
    with pytest.raises(SystemExit), unattended(["--log-format=json", "--verbose"]):
        fail(refused, ["--log-format=json", "--verbose"])
    assert "ServerError" in json.loads(capsys.readouterr().err.splitlines()[0])["traceback"]
    with pytest.raises(SystemExit) as ended:
        fail(error, [])
    assert ended.value.code == Exit.FAILED
    assert capsys.readouterr().err.endswith("RuntimeError: unexpected\n")
    with pytest.raises(SystemExit) as ended:
        fail(refused, [])
    assert ended.value.code == Exit.SERVICE
    assert capsys.readouterr().err == "bktools: the service failed\n"
