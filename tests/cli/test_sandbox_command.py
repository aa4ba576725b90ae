"""`bktools sandbox`, run as a user runs it."""

from __future__ import annotations

import contextlib
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
from pathlib import Path

import pytest

import bktools
from bktools.cli.exits import Exit
from bktools.cli.guide import text_of
from bktools.sandbox import parse_fault, write_account_list, write_sample_data
from bktools.settings import load_settings


@contextlib.contextmanager
def served(*options):
    """Serve a sandbox; give what it printed as variables, its lines, and the process."""
    command = [sys.executable, "-m", "bktools", "sandbox", "serve", *map(str, options)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            lines = []
            while not lines or lines[-1] != "bktools categories":
                lines.append(process.stdout.readline().rstrip("\n"))
                assert lines[-1] or process.poll() is None, f"it ended before it served: {lines}"
            exported = next(line for line in lines if line.startswith("export "))
            yield dict(pair.split("=", 1) for pair in shlex.split(exported)[1:]), lines, process
        finally:
            process.kill()


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


def test_what_is_printed_can_be_pasted(tmp_path):
    """The printed lines work in a shell as they stand, and the guide's curl lines after them."""
    guide = text_of("programs")
    block = re.search(r"```bash\n(.*?)```", guide, re.DOTALL)[1].replace("\\\n", "")
    of_guide = re.findall(r"^curl.*", block, re.MULTILINE)
    with served() as (variables, lines, _):
        own = os.environ | {"BKTOOLS_DATA_DIR": str(tmp_path / "d"), "BKTOOLS_CACHE_DIR": str(tmp_path / "c")}
        pasted = [line for line in lines if line.startswith("export ")]
        bktools = f'bktools() {{ {shlex.quote(sys.executable)} -m bktools "$@"; }}'
        shell = "\n".join([bktools, *pasted, *of_guide, "bktools categories --format json"])
        done = subprocess.run(
            ["bash", "-c", shell], env=own, cwd=tmp_path, capture_output=True, text=True, check=True
        )
    page, *categories = done.stdout.splitlines()
    first = json.loads(page)
    assert {row["companyId"] for row in first["data"]} == {variables["BKTOOLS_COMPANY"]}
    names = [row["name"] for row in first["data"]]
    assert (len(names), names) == (2, sorted(names))
    assert len(json.loads("".join(categories))) == 240
    assert set(re.findall(r"\$(BKTOOLS_[A-Z_]+)", guide)) <= {*variables}
    assert all(parse_fault(option) for option in re.findall(r"--fault ([a-z_:=0-9]+)", guide))


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ("--fault error:times=many", Exit.INPUT, "^bktools: .*times must be a whole number, got 'many'$"),
        ("--port 70000", Exit.USAGE, "--port"),
        ("--port {port}", Exit.STORAGE, r"^bktools: port \d+ of .* cannot be used \(.*\): give another one"),
    ],
)
def test_options_that_cannot_be(run, options, code, message):
    """What cannot be is refused in one line."""
    with socket.socket() as in_use:
        in_use.bind(("127.0.0.1", 0))
        in_use.listen()
        done = run(f"sandbox serve {options.format(port=in_use.getsockname()[1])}")
    assert (done.returncode, done.stdout) == (code, "")
    assert re.search(message, done.stderr, re.MULTILINE)
    assert code == Exit.USAGE or done.stderr.count("\n") == 1


def test_ctrl_c_keeps_the_state_and_a_reset_forgets_it(run):
    """After Ctrl-C the next one has the same token; in use, nothing is removed; a reset removes the state."""
    with served("--quiet") as (first, _, process):
        search(first)
        refused = run("sandbox reset --yes")
        assert (refused.returncode, refused.stdout) == (Exit.STORAGE, "")
        assert re.fullmatch(
            r"bktools: the sandbox in .* is running .*: nothing was removed.*\n", refused.stderr
        )
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=20)
        assert (process.returncode, rest.splitlines()[-1], errors) == (0, "stopped; its state is kept", "")
    with bktools.connect("sandbox") as service:
        assert service.settings.token.reveal() == first["BKTOOLS_TOKEN"]
    assert run("sandbox reset").returncode != Exit.DONE, "it asks without --yes"
    assert load_settings("sandbox").state_dir.exists()
    done = run("sandbox reset --yes")
    assert (done.returncode, done.stdout) == (Exit.DONE, "The next start makes a new sandbox.\n")
    assert not load_settings("sandbox").state_dir.exists()


def test_sample_data(run, tmp_path):
    """The sample files are written, named, and those of the library to the byte."""
    done = run("sandbox sample-data samples")
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
    refused = run("sandbox sample-data file")
    assert (refused.returncode, refused.stderr.count("\n")) == (Exit.STORAGE, 1)


def test_each_request_is_a_line():
    """Each request is a line of method, path, status and time, without query and credential."""
    with served("--fault", "reset:operation=search_employees") as (variables, _, process):
        address, token = variables["BKTOOLS_BASE_URL"], variables["BKTOOLS_TOKEN"]
        search(variables, "?limit=1")
        with pytest.raises(ConnectionError):
            get(f"{address}/v2/employees?email=anna%40b.example", token)
        with pytest.raises(urllib.error.HTTPError) as refused:
            get(f"{address}/%1b%5b31m", token)
        refused.value.read()
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=20)
    assert not {token, "anna", "\x1b"} & {*re.split(r"[ =?@]", log)}
    line = r"^(POST|GET) (\S+) (\d+|no answer) \d+ ms$"
    search_path = "/v1/bookkeeping-categories:search"
    assert re.findall(line, log, re.MULTILINE) == [
        ("POST", search_path, "200"),
        ("GET", "/v2/employees", "no answer"),
        ("GET", "/\\x1b[31m", "404"),
    ]
