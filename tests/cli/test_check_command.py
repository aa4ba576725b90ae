"""`bktools check`: the outcome of each check in good and in bad situations, and the exit code."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from world_files import lines_of, pairs

import bktools
from bktools.cli.exits import Exit
from bktools.journal.journal import Journal
from bktools.settings import load_settings

OTHER = "123e4567-e89b-42d3-a456-426614174000"
GOOD = dict.fromkeys(("version", "configuration", "connection", "company", "journal"), "ok")


@pytest.fixture
def check(sandbox, typed, monkeypatch):
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
    """A server that answers with a page, and as a proxy refuses."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            body = b"<html>Sign in</html>"
            self.send_response_only(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_CONNECT(self):
            self.send_error(407, "Proxy Authentication Required")

        def log_message(self, *_):
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_all_is_well(check):
    """Each check has a line; a journal's events are checked; Python has the same rows."""
    code, outcomes, text = check()
    assert (code, outcomes) == (Exit.DONE, GOOD)
    path = load_settings().state_dir / "journal.sqlite"
    assert f"none yet; it will be {path}" in text
    with Journal(load_settings()):
        pass
    code, outcomes, text = check()
    assert (code, outcomes) == (Exit.DONE, GOOD)
    assert re.search(rf"{re.escape(str(path))} is whole: \d+ event", text)
    rows = bktools.check()
    assert dict(zip(rows["check"], rows["outcome"], strict=True)) == GOOD


def test_nothing_is_configured(run):
    """Without an environment the way out is printed, and nothing else is checked."""
    done = run("check")
    assert done.returncode == Exit.CONFIGURATION
    assert re.fullmatch(r"ok +version .*\nfailed +configuration .*BKTOOLS_ENVIRONMENT.*\n", done.stdout)


def test_the_journal_is_damaged(check):
    """A journal whose bytes were changed, with the command that restores a backup."""
    with Journal(load_settings()) as journal:
        path = Path(journal.location)
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 64] = b"\xff" * 64
    path.write_bytes(content)
    code, outcomes, text = check()
    assert code in {Exit.JOURNAL, Exit.STORAGE}
    assert outcomes == GOOD | {"journal": "failed"}
    assert "bktools journal" in text


@pytest.mark.parametrize("case", lines_of("cli/checks.csv"), ids=lambda case: case["promise"])
def test_what_is_wrong_has_an_outcome_a_code_and_a_way_out(check, other_service, case):
    """The check that fails says why and what to do; checks that need it are left out, no secret is shown."""
    settings = pairs(case["settings"].replace("{host}", other_service))
    code, outcomes, text = check(**settings)
    # A check without an outcome is not made.
    expected = {check: outcome for check, outcome in (GOOD | pairs(case["outcomes"])).items() if outcome}
    assert (code, outcomes) == (Exit[case["code"]], expected)
    assert re.search(case["printed"].replace("{host}", other_service), text)
    assert "hunter2" not in text
