"""The state outlives everything: restarts, kills, and processes that start at once.

`BKTOOLS_TEST_KILLS=200 pytest -s tests/sandbox/test_sandbox_state.py -k kills` kills that often and prints
what was lost.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import sqlite3
import stat
import threading
import time
from pathlib import Path

import httpx
import pytest
import warm
from plain_http import HTTP

from bktools.errors import StorageError
from bktools.sandbox import Server
from bktools.sandbox.server import _listen

KILLS = int(os.environ.get("BKTOOLS_TEST_KILLS", "2"))


def serve(folder, categories):
    """Serve until the process is killed; yield what a client needs."""
    server = Server(folder, categories=categories).start()
    yield server.base_url, server.token, server.company_id
    server.wait()


def write_until_killed(folder, kill_number, seconds):
    """Create accounts one by one until the server is killed; return the answered external IDs."""
    process = warm.Process(serve, folder, 240)
    url, token, company = process.read()
    # It begins with the first answer, so that a slow machine does not kill before anything was written.
    kill, answered = threading.Timer(seconds, process.kill), []
    with (
        contextlib.suppress(httpx.TransportError),
        httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as client,
    ):
        for number in range(100_000):
            name = f"{kill_number}-{number}"
            body = {"companyId": company, "externalId": name, "name": name, "archived": False}
            assert client.post("/v1/chart-of-accounts", json=body).status_code == 201
            answered.append(name)
            if number == 0:
                kill.start()
    process.wait()
    return answered


@pytest.mark.timeout(60 + 3 * KILLS)
def test_kills_lose_nothing_that_was_answered(tmp_path):
    """After kills at random instants, every answered create is there, and the file is sound."""
    instants, answered = random.Random(1), []
    for number in range(KILLS):
        answered += write_until_killed(tmp_path, number, instants.uniform(0, 0.15))
    with Server(tmp_path) as server:
        stored = {account.external_id for account in server.accounts()}
    lost = set(answered) - stored
    print(f"{KILLS} kills while writing: {len(answered)} creates answered, {len(lost)} of them lost")
    assert len(answered) >= KILLS
    assert lost == set()
    with contextlib.closing(sqlite3.connect(tmp_path / "service.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_kills_while_the_world_is_made(tmp_path):
    """A start that is killed before its world is whole leaves nothing that the next one could use."""
    instants = random.Random(2)
    cut_short = False
    while not cut_short:
        with warm.Process(serve, tmp_path, 8_000) as process:
            while not (tmp_path / "service.sqlite").exists():
                time.sleep(0.001)
            time.sleep(instants.uniform(0, 0.2))
            process.kill()
            try:
                process.read()
            except EOFError:
                cut_short = True
    with Server(tmp_path, categories=8_000) as server:
        assert len(server.category_ids()) == 8_000


def test_processes_that_start_at_once_share_one_world(tmp_path):
    """Several processes that find no state make one world together, and have the same tokens."""
    with warm.Process(serve, tmp_path, 240) as first, warm.Process(serve, tmp_path, 240) as second:
        told = [process.read() for process in (first, second)]
    assert len({url for url, _, _ in told}) == 2
    assert len({(token, company) for _, token, company in told}) == 1


def test_restart_keeps_state_and_tokens(tmp_path):
    """A second start has the same credentials and data, whatever world it was asked for."""
    with Server(tmp_path) as first:
        known = first.token, first.api_key, first.balance_token, first.company_id
        added = first.add_category("kept")
    with Server(tmp_path, seed=2, categories=5) as second:
        assert (second.token, second.api_key, second.balance_token, second.company_id) == known
        assert second.category_ids()[-1] == added


def test_tokens_are_random(tmp_path):
    """Two sandboxes of the same world have other tokens, which the other one does not take."""
    with Server(tmp_path / "a") as first, Server(tmp_path / "b") as second:
        assert first.company_id == second.company_id
        assert len({first.token, second.token, first.api_key, second.api_key, first.balance_token}) == 5
        headers = {"Authorization": f"Bearer {second.token}"}
        assert HTTP.get(f"{first.base_url}/v2/employees", headers=headers).status_code == 401


@pytest.mark.skipif(os.name != "posix", reason="file modes are of POSIX")
def test_files_are_private(tmp_path):
    """Folder 0700, files 0600: the state holds credentials."""
    folder = tmp_path / "state"
    with Server(folder) as server:
        server.add_category("written")
        files = list(folder.iterdir())
        assert {file.name for file in files} >= {"service.sqlite", "service.sqlite-wal"}
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(("system", "is_taken_again"), [("posix", True), ("nt", False)])
def test_a_port_is_one_process_s(monkeypatch, system, is_taken_again):
    """A port can be had again at once, but not on the system where the option for it gives a port to two."""
    with monkeypatch.context() as patched:
        patched.setattr(os, "name", system)
        listening = _listen(0)
    with listening:
        assert bool(listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)) == is_taken_again


def test_a_foreign_file_is_refused(tmp_path):
    """A file that is no sandbox database is left as it is and refused with the way out."""
    file = tmp_path / "service.sqlite"
    file.write_bytes(b"not a database, by no means" * 100)
    with pytest.raises(StorageError, match="reset the sandbox"):
        Server(tmp_path).start()
    assert file.read_bytes().startswith(b"not a database")


def test_a_state_of_another_version_is_refused(tmp_path):
    """A state with tables of another version is left as it is and refused with the way out."""
    file = tmp_path / "service.sqlite"
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 3")
    before = file.read_bytes()
    with pytest.raises(StorageError, match="bktools sandbox reset") as refusal:
        Server(tmp_path).start()
    assert file.read_bytes() == before
    # The error keeps the frames that raised it.
    assert refusal.value
    assert str(file.resolve()) not in map(os.path.realpath, Path("/proc/self/fd").glob("*"))


def test_a_taken_port_is_refused(server, tmp_path):
    """A port in use is named, and the server can be started on another one."""
    port = int(server.base_url.rpartition(":")[2])
    with pytest.raises(StorageError, match=f"port {port} of 127.0.0.1"):
        Server(tmp_path / "other", port=port).start()


def test_the_port_that_was_given(tmp_path):
    """A port that is asked for is the one it listens on, on loopback alone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Server(tmp_path, port=port) as server:
        assert server.base_url == f"http://127.0.0.1:{port}"
        assert server.balance_url.startswith("http://127.0.0.1:")


def test_start_and_stop_again(tmp_path):
    """Starting twice is one start, stopping twice one stop, and a stopped server can start again."""
    server = Server(tmp_path)
    server.stop()
    assert server.start() is server.start()
    url = server.base_url
    server.stop()
    server.stop()
    with pytest.raises(httpx.ConnectError):
        HTTP.get(f"{url}/openapi.json")
    with server:
        assert HTTP.get(f"{server.base_url}/openapi.json").status_code == 200


@pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
def test_ctrl_c_ends_the_waiting(tmp_path):
    """Ctrl-C reaches the main thread as KeyboardInterrupt; the server's thread does not swallow it."""
    with warm.Process(serve, tmp_path, 240) as process:
        url, *_ = process.read()
        assert HTTP.get(f"{url}/openapi.json").status_code == 200
        process.send_signal(signal.SIGINT)
        with pytest.raises(AssertionError, match=r"server\.wait\(\)(.|\n)*KeyboardInterrupt$"):
            process.read()


def test_start_is_quick(tmp_path):
    """The default world is made and served in well under a second."""
    begun = time.monotonic()
    with Server(tmp_path):
        assert time.monotonic() - begun < 1
