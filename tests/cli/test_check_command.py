"""`bktools check`: the outcome of each check in good and in bad situations, and the exit code."""

from __future__ import annotations

import datetime as dt
import json
import re
import threading
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bktools
from bktools.cli.app import app
from bktools.cli.exits import Exit
from bktools.journal.journal import Journal
from bktools.settings import load_settings

OTHER = "123e4567-e89b-42d3-a456-426614174000"

GOOD = dict.fromkeys(
    (
        "version",
        "configuration",
        "credential",
        "connection",
        "access",
        "company",
        "clock",
        "journal",
        "disk",
    ),
    "ok",
)


@pytest.fixture
def run(sandbox, typed, monkeypatch):
    """Run `bktools check` against the sandbox; return its code, the outcome of each check, and the text."""

    def check(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(f"BKTOOLS_{name}", value)
        done = typed("check")
        assert sandbox.server.token not in done.output
        outcomes = re.findall(r"^(ok|warning|failed) +(\w+) ", done.stdout, re.MULTILINE)
        return done.exit_code, {check: outcome for outcome, check in outcomes}, done.stdout

    return check


@pytest.fixture
def other_service():
    """A server of the test's own: its clock is an hour ahead, a portal answers with a page, and as a proxy it
    refuses.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            is_portal = self.path.startswith("/portal")
            body = b"<html>Sign in</html>" if is_portal else json.dumps({"data": [{"id": OTHER}]}).encode()
            self.send_response_only(200)
            self.send_header(
                "Date", format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(hours=1), usegmt=True)
            )
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_CONNECT(self):
            self.send_error(407, "Proxy Authentication Required")

        def log_message(self, *_):
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def without(*checks):
    """Return the good outcomes without those of some checks."""
    return {check: outcome for check, outcome in GOOD.items() if check not in checks}


def test_all_is_well(run):
    """Each check has a line; a journal's events and sent log are checked; Python has the same rows."""
    code, outcomes, text = run()
    assert (code, outcomes) == (Exit.DONE, GOOD)
    assert "token, set and not shown (BKTOOLS_TOKEN)" in text
    path = load_settings().state_dir / "journal.sqlite"
    assert f"none yet; it will be {path}" in text
    with Journal(load_settings()):
        pass
    code, outcomes, text = run()
    assert (code, outcomes) == (Exit.DONE, GOOD)
    assert re.search(rf"{re.escape(str(path))} is whole: \d+ events, and the sent log agrees", text)
    found = bktools.check()
    assert dict(zip(found["check"], found["outcome"], strict=True)) == GOOD


def test_nothing_is_configured():
    """Without an environment the way out is said, and nothing else is checked."""
    done = CliRunner().invoke(app, ["check"])
    assert done.exit_code == Exit.CONFIGURATION
    assert re.fullmatch(r"ok +version .*\nfailed +configuration .*BKTOOLS_ENVIRONMENT.*\n", done.stdout)


def test_nobody_is_at_the_address(run, sandbox):
    """A service that is away; what is on this machine is checked all the same."""
    sandbox.server.stop()
    code, outcomes, text = run()
    assert (code, outcomes) == (
        Exit.UNREACHABLE,
        without("access", "company", "clock") | {"connection": "failed"},
    )
    assert "nothing was sent" in text
    assert "bktools config" in text


def test_the_file_of_certificates_is_missing(run, tmp_path):
    """A file of certificates that cannot be read is a failure of the connection, with the setting's name."""
    code, outcomes, text = run(CA_BUNDLE=str(tmp_path / "none.pem"))
    assert (code, outcomes["connection"]) == (Exit.CONFIGURATION, "failed")
    assert f"ca_bundle {tmp_path / 'none.pem'}" in text


@pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="this system has no /proc, in which nobody can write"
)
def test_the_data_folder_cannot_be_written(run):
    """The folder, the reason and what to do are told, with the code of storage."""
    code, outcomes, text = run(DATA_DIR="/proc/bktools")
    assert (code, outcomes["disk"]) == (Exit.STORAGE, "failed")
    assert re.search(r"/proc/bktools.*: No such file or directory\n.*set BKTOOLS_DATA_DIR", text)


def test_the_token_is_refused(run):
    """A wrong token is an access that failed, and is not shown."""
    code, outcomes, text = run(TOKEN="wrong-token-of-somebody")
    assert (code, outcomes) == (Exit.REFUSED, without("company") | {"access": "failed"})
    assert "wrong-token" not in text
    assert "401" in text


def test_the_company_is_unknown(run):
    """A company that the credential may not read, with what to do."""
    code, outcomes, text = run(COMPANY=OTHER)
    assert (code, outcomes) == (Exit.REFUSED, without("access") | {"company": "failed"})
    assert "403 (user_scope_insufficient)" in text
    assert "(--company, BKTOOLS_COMPANY)" in text


def test_no_company_is_configured(run, monkeypatch):
    """Without a company the access is checked all the same, and the companies of the employees are named."""
    monkeypatch.setenv("BKTOOLS_COMPANY", "")
    code, outcomes, text = run()
    assert (code, outcomes) == (Exit.DONE, GOOD | {"company": "warning"})
    with bktools.connect() as service:
        companies = sorted(set(bktools.load_employees(service=service)["company_id"]))
    assert len(companies) > 1
    assert ", ".join(companies) in text
    assert "BKTOOLS_COMPANY" in text


def test_the_answer_is_of_something_else(run, other_service):
    """A page in place of an answer, as portals send it, is a failed access and not a traceback."""
    code, outcomes, text = run(BASE_URL=f"{other_service}/portal")
    assert (code, outcomes["access"]) == (Exit.SERVICE, "failed")
    assert "is not JSON" in text


def test_the_clock_is_off(run, other_service):
    """An hour between the clocks is a failure, with its consequence."""
    code, outcomes, text = run(BASE_URL=other_service)
    assert (code, outcomes) == (Exit.CONFIGURATION, GOOD | {"clock": "failed"})
    assert "1:00:00 behind the service's" in text
    assert "set the clock" in text


def test_the_journal_is_damaged(run):
    """A journal whose bytes were changed, with the command that restores a backup."""
    with Journal(load_settings()) as journal:
        path = Path(journal.location)
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 64] = b"\xff" * 64
    path.write_bytes(content)
    code, outcomes, text = run()
    assert code in {Exit.JOURNAL, Exit.STORAGE}
    assert outcomes == GOOD | {"journal": "failed"}
    assert "bktools journal" in text


def test_a_proxy_refuses(run, other_service):
    """A proxy that wants a name and a password is named without them."""
    code, outcomes, text = run(
        BASE_URL="https://books.example.com", PROXY=other_service.replace("//", "//ada:hunter2@")
    )
    assert (code, outcomes["connection"]) == (Exit.UNREACHABLE, "failed")
    assert "hunter2" not in text
    assert f"the proxy {other_service} refuses" in text
    assert "407" in text
    assert "BKTOOLS_PROXY" in text
