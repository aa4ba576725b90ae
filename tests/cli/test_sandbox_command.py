"""`bktools sandbox`, run as a user runs it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
import uuid
from pathlib import Path

import pandas as pd
import pytest

import bktools
from bktools.cli.exits import Exit
from bktools.cli.guide import text_of
from bktools.sandbox import parse_fault, write_account_list, write_sample_data
from bktools.sandbox.faults import KINDS, OPERATIONS, OPTIONS, Fault
from bktools.settings import load_settings


@contextlib.contextmanager
def served(*options):
    """Serve a sandbox; give what it printed as variables, its curl line, and the process."""
    command = [sys.executable, "-m", "bktools", "sandbox", "serve", *map(str, options)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            lines = read_until_curl(process.stdout)
            exported = next(line for line in lines if line.startswith("export "))
            variables = dict(pair.split("=", 1) for pair in shlex.split(exported)[1:])
            yield variables, lines, process
        finally:
            process.kill()


def read_until_curl(stream):
    lines = []
    for line in stream:
        lines.append(line.rstrip("\n"))
        if line.startswith("curl "):
            return lines
    raise AssertionError(f"it ended before it served: {lines}")


def get(url, token):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def search(variables, query=""):
    request = urllib.request.Request(
        f"{variables['BKTOOLS_BASE_URL']}/v1/bookkeeping-categories:search{query}",
        json.dumps({"companyId": variables["BKTOOLS_COMPANY"]}).encode(),
        {"Authorization": f"Bearer {variables['BKTOOLS_TOKEN']}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_what_is_printed_can_be_pasted(tmp_path):
    """The lines for another terminal work in a shell as they are printed, with every credential in them."""
    with served() as (variables, lines, process):
        pasted = [
            *(line for line in lines if line.startswith(("export ", "curl "))),
            process.stdout.readline(),
        ]
        own = os.environ | {"BKTOOLS_DATA_DIR": str(tmp_path / "d"), "BKTOOLS_CACHE_DIR": str(tmp_path / "c")}
        bktools = f'bktools() {{ {shlex.quote(sys.executable)} -m bktools "$@"; }}'
        shell = "\n".join([bktools, *pasted, "bktools config"])
        done = subprocess.run(["bash", "-c", shell], env=own, capture_output=True, text=True, check=True)
        balance = get(
            f"{variables['BKTOOLS_BALANCE_URL']}/v1/companies/balance", variables["BKTOOLS_BALANCE_TOKEN"]
        )
    answer, *rows = done.stdout.splitlines()
    page = json.loads(answer)
    assert {row["companyId"] for row in page["data"]} == {variables["BKTOOLS_COMPANY"]}
    assert pasted[-1] == "bktools categories\n"
    assert sum(row.count("\t") == 4 for row in rows) == 241
    assert all(variables[f"BKTOOLS_{name}"] in done.stdout for name in ("BASE_URL", "BALANCE_URL", "COMPANY"))
    assert balance.keys() == {"currency", "current", "available"}


def test_the_page_of_the_guide_runs_as_it_stands(tmp_path):
    """Every curl of the sandbox's page, pasted in order after the printed line, is answered as it says."""
    section = text_of("sandbox")
    block = re.search(r"```bash\n(.*?)```", section, re.DOTALL)[1].replace("\\\n", "")
    commands = re.findall(r"^(?:curl|NEXT).*", block, re.MULTILINE)
    with served() as (variables, _, _):
        environment = os.environ | variables
        shell = "\n".join(commands)
        done = subprocess.run(
            ["bash", "-c", shell], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        told = section.split("the first sets ")[1].split(", which")[0]
        assert set(re.findall(r"`([A-Z_]+)`", told)) == variables.keys()
    first, second, employees, account, job, balance, document = answers
    names = [row["name"] for page in (first, second) for row in page["data"]]
    assert len(names) == 4
    assert names == sorted(names)
    assert second["pagination"]["hasPreviousPage"] is True
    assert {row["companyId"] for row in employees["data"]} == {variables["BKTOOLS_COMPANY"]}
    assert account["data"]["externalId"] == "0400-curl"
    assert job["data"]["status"] == "pending"
    assert balance.keys() == {"currency", "current", "available"}
    assert document["openapi"] == "3.1.0"
    for option in re.findall(r"--fault ([a-z_:=0-9]+)", section):
        parse_fault(option)


def test_port_and_file_are_chosen(tmp_path):
    """The sandbox serves on the port and keeps its state in the file; another file is another world."""
    port, db = free_port(), tmp_path / "deep" / "world.db"
    with served("--port", port, "--db", db) as (variables, _, _):
        assert variables["BKTOOLS_BASE_URL"] == f"http://127.0.0.1:{port}"
        assert db.exists()
        token = variables["BKTOOLS_TOKEN"]
    with served("--db", tmp_path / "other.db") as (other, _, _):
        assert other["BKTOOLS_TOKEN"] != token


def test_a_sandbox_whose_companies_are_ready_takes_their_exports(tmp_path):
    """With --ready, an export job of every company is accepted, also of those that are refused otherwise."""
    with served("--db", tmp_path / "ready.db", "--ready") as (variables, _, _):
        folders = {f"{name}_dir": tmp_path / name for name in ("data", "cache", "sent_log")}
        address, token = variables["BKTOOLS_BASE_URL"], variables["BKTOOLS_TOKEN"]
        companies = {row["companyId"] for row in get(f"{address}/v2/employees", token)["data"]}
        entries = pd.DataFrame(
            {"company_id": sorted(companies), "id": [str(uuid.uuid4()) for _ in companies]}
        )
        with bktools.connect(address, token=token, **folders) as service:
            plan = bktools.compose_export_jobs(entries)
            sent = bktools.submit_export_jobs(plan, apply=True, first_export=True, by="Ada", service=service)
            outcomes = sent["outcome"]
        assert outcomes.to_list() == ["ACCEPTED"] * 3


def test_faults_are_in_force():
    """Faults of the command line are in force, each as often as it says."""
    faults = (
        "--fault",
        "error:operation=search_categories,times=1,status=503",
        "--fault",
        "rate_limited:times=1,skip=1",
    )
    with served(*faults) as (variables, _, _):
        for status in ("503", "429"):
            with pytest.raises(urllib.error.HTTPError, match=status):
                search(variables)
        assert search(variables, "?limit=1")["data"]


def test_a_bad_fault_is_one_line(run):
    """A fault that cannot be read is refused by name before anything is made or served."""
    done = run("sandbox", "serve", "--fault", "error:times=many")
    assert (done.returncode, done.stdout) == (Exit.INPUT, "")
    assert done.stderr.startswith("bktools: ")
    assert "times must be a number, got 'many'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not load_settings("sandbox").state_dir.exists()


def test_faults_are_listed(run):
    """Each kind, option and operation of a fault is listed in one place, with the real options."""
    told = run("sandbox", "faults").stdout
    assert {field.name for field in dataclasses.fields(Fault)} == {"kind", *OPTIONS}
    assert [word for word in (*KINDS.values(), *OPTIONS.values(), *OPERATIONS) if word not in told] == []
    assert "bktools sandbox faults" in " ".join(
        run("sandbox", "serve", "--help", COLUMNS="200").stdout.split()
    )


def test_a_port_in_use_is_one_line(run):
    """A port that is taken is named, with the way out."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("sandbox", "serve", "--port", port)
    assert done.returncode == Exit.STORAGE
    assert done.stderr == (
        f"bktools: port {port} of 127.0.0.1 cannot be used (Address already in use); "
        "give another one or none\n"
    )


@pytest.mark.parametrize(
    ("option", "value", "code", "said"),
    [
        ("--port", 70000, Exit.USAGE, "--port"),
        ("--db", ".", Exit.USAGE, "--db"),
        ("--db", "notes.txt", Exit.STORAGE, r"^bktools: notes\.txt cannot be used .* database \(.*\);"),
        ("--db", "notes.txt/world.db", Exit.STORAGE, r"^bktools: notes\.txt"),
    ],
)
def test_options_that_cannot_be(run, option, value, code, said):
    """What cannot be is refused by the option's name, and a file that is something else stays as it is."""
    notes = "my notes, which are no database" * 100
    Path("notes.txt").write_text(notes)
    done = run("sandbox", "serve", option, value)
    assert done.returncode == code
    assert re.search(said, done.stderr)
    assert code == Exit.USAGE or done.stderr.count("\n") == 1
    assert Path("notes.txt").read_text() == notes


def test_ctrl_c_keeps_the_state():
    """Ctrl-C ends it in order, which logs nothing when quiet; the next one has the same tokens and world."""
    with served("--quiet") as (first, _, process):
        search(first)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=20)
        assert (process.returncode, rest.splitlines()[-1], errors) == (0, "stopped; its state is kept", "")
    with served() as (second, _, _):
        assert second["BKTOOLS_TOKEN"] == first["BKTOOLS_TOKEN"]
        assert search(second)["pagination"]["total"] == 240


def test_a_reset_forgets_what_is_not_in_use(run):
    """A served sandbox keeps its files; without --yes it asks; then the next start has tokens of its own."""
    with served() as (before, _, _):
        refused = run("sandbox", "reset", "--yes")
        assert (refused.returncode, refused.stdout) == (Exit.STORAGE, "")
        assert re.fullmatch(
            r"bktools: the sandbox in .* is running .*: nothing was removed; stop it first\n", refused.stderr
        )
        assert search(before)["pagination"]["total"] == 240
    assert run("sandbox", "reset").returncode != Exit.DONE
    assert load_settings("sandbox").state_dir.exists()
    done = run("sandbox", "reset", "--yes")
    assert (done.returncode, done.stdout) == (Exit.DONE, "The next start makes a new sandbox.\n")
    assert not load_settings("sandbox").state_dir.exists()
    assert run("sandbox", "reset", "--yes").returncode == Exit.DONE
    with served() as (after, _, _):
        assert after["BKTOOLS_TOKEN"] != before["BKTOOLS_TOKEN"]
        assert after["BKTOOLS_COMPANY"] == before["BKTOOLS_COMPANY"]


def test_sample_data(run, tmp_path):
    """The sample files are written, named, and those of the library to the byte."""
    done = run("sandbox", "sample-data", "samples")
    assert done.returncode == Exit.DONE
    written = [Path(line) for line in done.stdout.splitlines()]
    assert [path.name for path in written] == [
        "chart_of_accounts.csv",
        "accounting_entries.csv",
        "accounts.csv",
    ]
    again = tmp_path / "again"
    for mine, theirs in zip(written, (*write_sample_data(again), write_account_list(again)), strict=True):
        assert mine.read_bytes() == theirs.read_bytes()
    Path("file").touch()
    refused = run("sandbox", "sample-data", "file")
    assert refused.returncode != Exit.DONE
    assert refused.stderr.startswith("bktools: ")
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("option", [(), ("--log-level", "info")])
def test_each_request_is_a_line(option):
    """Each request is a line of method, path, status and time, without query and credential."""
    with served(*option, "--fault", "reset:operation=search_employees") as (variables, _, process):
        search(variables, "?limit=1")
        with pytest.raises(ConnectionError):
            get(
                f"{variables['BKTOOLS_BASE_URL']}/v2/employees?email=anna%40b.example",
                variables["BKTOOLS_TOKEN"],
            )
        with pytest.raises(urllib.error.HTTPError) as refused:
            get(f"{variables['BKTOOLS_BASE_URL']}/%1b%5b31m", variables["BKTOOLS_TOKEN"])
        refused.value.read()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=20)
    assert not {variables["BKTOOLS_TOKEN"], "anna", "\x1b"} & set(re.split(r"[ =?@]", told))
    line = r"(?:\S+ INFO )?(POST|GET) (\S+) (\d+|no answer) \d+ ms"
    requests = [match.groups() for text in told.splitlines() if (match := re.fullmatch(line, text))]
    path = "/v1/bookkeeping-categories:search"
    shown = "/\\x1b[31m"
    assert requests == [("POST", path, "200"), ("GET", "/v2/employees", "no answer"), ("GET", shown, "404")]
