"""The state outlives everything: restarts, kills, and processes that start at once."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from pathlib import Path

import pytest
import warm
from plain_http import HTTP

from bktools.errors import StorageError
from bktools.sandbox import Server


def serve(folder, categories):
    """Serve until the process is killed; yield what a client needs."""
    server = Server(folder, categories=categories).start()
    yield server.base_url, server.token, server.company_id
    server.wait()


def visit(folder):
    """Start a server, stop it, and yield the categories that it saw."""
    with Server(folder) as server:
        categories = server.category_ids()
    yield categories


def test_processes_that_start_at_once_share_one_world(tmp_path):
    """Several processes that find no state make one world together, and have the same tokens."""
    with warm.Process(serve, tmp_path, 240) as first, warm.Process(serve, tmp_path, 240) as second:
        told = [process.read() for process in (first, second)]
    assert len({url for url, _, _ in told}) == 2
    assert len({(token, company) for _, token, company in told}) == 1


def test_servers_share_a_state_that_is_in_use(tmp_path):
    """A server starts and ends on the folder of a running one: both write to one state, and HTTP shows it."""
    with Server(tmp_path) as server:
        added = [server.add_category("before the other server")]
        log = (tmp_path / "service.sqlite-wal").stat().st_ino
        assert added[0] in warm.result(visit, tmp_path)
        assert (tmp_path / "service.sqlite-wal").stat().st_ino == log
        added.append(server.add_category("after the other server"))
        url = f"{server.base_url}/v1/bookkeeping-categories:search"
        query = {"companyId": server.company_id, "ids": added}
        headers = {"Authorization": f"Bearer {server.token}"}
        rows = HTTP.post(url, json=query, headers=headers).json()["data"]
        assert {row["id"] for row in rows} == {*added}


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
