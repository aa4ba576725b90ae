"""`bktools check`: what it says in good and in bad situations, word for word, and the code that it ends with."""

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

GOOD = """\
ok       version        bktools VERSION
ok       configuration  http://127.0.0.1:PORT (BKTOOLS_BASE_URL)
ok       credential     token, set and not shown (BKTOOLS_TOKEN)
ok       connection     127.0.0.1:PORT answered in N s, plain HTTP on this machine
ok       access         the credential is accepted (200)
ok       company        COMPANY can be read
ok       clock          agrees with the service's within a minute
ok       journal        none yet; it will be DATA/FOLDER/journal.sqlite
ok       disk           DATA can be written, N GiB are free
"""


@pytest.fixture
def run(sandbox, monkeypatch):
    """Run `bktools check` against the sandbox; return the code, and the transcript without what differs each time."""
    server = sandbox.server
    for name, value in {
        "BASE_URL": server.base_url,
        "TOKEN": server.token,
        "COMPANY": server.company_id,
    }.items():
        monkeypatch.setenv(f"BKTOOLS_{name}", value)

    def check(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(f"BKTOOLS_{name}", value)
        settings = load_settings()
        done = CliRunner().invoke(app, ["check"])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        assert server.token not in done.output
        text = done.stdout.replace(str(settings.data_dir), "DATA").replace(settings.state_dir.name, "FOLDER")
        text = re.sub(r"bktools \d.*", "bktools VERSION", text).replace(server.company_id, "COMPANY")
        text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
        return done.exit_code, re.sub(r"\b[\d.,]+ (s|GiB|events)\b", r"N \1", text)

    return check


@pytest.fixture
def other_service():
    """A server of the test's own: its clock is an hour ahead, a portal answers with a page, and as a proxy it refuses."""

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


def changed(*lines):
    """Return the good transcript with the lines of some checks replaced; None takes a check away."""
    found = {line.split()[1]: line for line in GOOD.splitlines()} | dict(lines)
    return "".join(f"{line}\n" for line in found.values() if line is not None)


def test_all_is_well(run):
    """Each check has a line; with a journal its events and marks are checked; Python has the same rows."""
    assert run() == (Exit.DONE, GOOD)
    with Journal(load_settings()):
        pass
    whole = "ok       journal        DATA/FOLDER/journal.sqlite is whole: N events, and the sent log agrees"
    assert run() == (Exit.DONE, changed(("journal", whole)))
    found = bktools.check()
    assert found["check"].to_list() == [line.split()[1] for line in GOOD.splitlines()]
    assert set(found["outcome"]) == {"ok"}


def test_nothing_is_configured(monkeypatch):
    """Without an environment the way out is said, and nothing else is checked."""
    done = CliRunner().invoke(app, ["check"])
    assert done.exit_code == Exit.CONFIGURATION
    assert re.fullmatch(
        r"ok       version .*\nfailed   configuration  no environment is configured: set BKTOOLS_ENVIRONMENT, or .*\n",
        done.stdout,
    )


def test_nobody_is_at_the_address(run, sandbox):
    """A service that is away; what is on this machine is checked all the same."""
    sandbox.server.stop()
    told = (
        "failed   connection     no connection to 127.0.0.1:PORT ([Errno 111] Connection refused): nothing was sent\n"
        "                        bktools config shows the address and the sources of the credentials"
    )
    assert run() == (
        Exit.UNREACHABLE,
        changed(("connection", told), ("access", None), ("company", None), ("clock", None)),
    )


def test_the_file_of_certificates_is_missing(run, tmp_path):
    """A file of certificates that cannot be read is a failure of the connection, with the setting's name."""
    code, text = run(CA_BUNDLE=str(tmp_path / "none.pem"))
    assert code == Exit.CONFIGURATION
    assert f"failed   connection     ca_bundle {tmp_path / 'none.pem'} cannot be read" in text


@pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="this system has no /proc, in which nobody can write"
)
def test_the_data_folder_cannot_be_written(run):
    """The folder, the reason and what to do are told, with the code of storage."""
    code, text = run(DATA_DIR="/proc/bktools")
    assert code == Exit.STORAGE
    told = text.splitlines()[-2:]
    assert re.match(
        r"failed   disk           the data folder .* cannot be written: No such file or directory", told[0]
    )
    assert told[1].strip() == "correct its permissions, or set BKTOOLS_DATA_DIR"


def test_the_token_is_refused(run):
    """A wrong token is an access that failed, and is not shown."""
    code, text = run(TOKEN="wrong-token-of-somebody")
    assert "wrong-token" not in text
    told = next(line for line in text.splitlines() if line.startswith("failed"))
    assert re.match(r"failed   access         search_categories was answered 401 .*: the credential is", told)
    assert code == Exit.REFUSED
    assert re.sub(r"failed .*\n +.*\n", "", text) == changed(("access", None), ("company", None))


def test_the_company_is_unknown(run):
    """A company that the credential may not read, with what to do."""
    told = (
        "failed   company        search_categories was answered 403 (user_scope_insufficient): the credential lacks "
        "permission, or access to this company: ask for it, or use another credential\n"
        "                        ask for access to the company, or choose another one (--company, BKTOOLS_COMPANY)"
    )
    assert run(COMPANY=OTHER) == (Exit.REFUSED, changed(("access", None), ("company", told)))


def test_no_company_is_configured(run, sandbox, monkeypatch):
    """Without a company the access is checked all the same, and the companies of the employees are named."""
    monkeypatch.setenv("BKTOOLS_COMPANY", "")
    code, text = run()
    told = (
        "warning  company        no company is configured\n"
        "                        set BKTOOLS_COMPANY, or give --company; the employees are of COMPANIES"
    )
    with bktools.connect() as service:
        companies = sorted(set(bktools.load_employees(service=service)["company_id"]))
    assert len(companies) > 1
    shown = ", ".join(companies).replace(sandbox.server.company_id, "COMPANY")
    assert (code, text.replace(shown, "COMPANIES")) == (Exit.DONE, changed(("company", told)))


def test_the_answer_is_of_something_else(run, other_service):
    """A page in place of an answer, as portals send it, is a failed access and not a traceback."""
    code, text = run(BASE_URL=f"{other_service}/portal")
    assert "failed   access         the answer to search_categories is not JSON (" in text
    assert "is the address right?" in text
    assert code == Exit.SERVICE


def test_the_clock_is_off(run, other_service):
    """An hour between the clocks is a failure, with its consequence."""
    told = (
        "failed   clock          this machine's clock is about 1:00:00 behind the service's\n"
        "                        set the clock (or its time zone): ages of snapshots and times of exports depend on it"
    )
    assert run(BASE_URL=other_service) == (Exit.CONFIGURATION, changed(("clock", told)))


def test_the_journal_is_damaged(run):
    """A journal whose bytes were changed, with the command that restores a backup."""
    with Journal(load_settings()) as journal:
        path = Path(journal.location)
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 64] = b"\xff" * 64
    path.write_bytes(content)
    code, text = run()
    assert code in {Exit.JOURNAL, Exit.STORAGE}
    told = next(line for line in text.splitlines() if line.startswith("failed"))
    assert told.startswith("failed   journal        ")
    assert "bktools journal" in told
    assert changed(("journal", None)) == "".join(
        f"{line}\n" for line in text.splitlines() if not line.startswith(("failed", " "))
    )


def test_a_proxy_refuses(run, other_service):
    """A proxy that wants a name and a password is named without them."""
    code, text = run(
        BASE_URL="https://books.example.com", PROXY=other_service.replace("//", "//ada:hunter2@")
    )
    assert code == Exit.UNREACHABLE
    assert "hunter2" not in text
    assert (
        "failed   connection     the proxy http://127.0.0.1:PORT refuses to connect to books.example.com (407 Proxy "
        "Authentication Required): nothing was sent; is BKTOOLS_PROXY right, with user name and password where it wants "
        "them?\n"
    ) in text
