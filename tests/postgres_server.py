"""A PostgreSQL server of the tests' own: as a plain user, in a folder of its own, on loopback."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

OWNER, PASSWORD = "keeper", "hunter2-never-shown"


def programs() -> Path | None:
    """Return the folder of the server's programs, None where it is not installed."""
    found = shutil.which("initdb")
    known = [
        *sorted(Path("/usr/lib/postgresql").glob("*/bin")),
        *([Path(found).resolve().parent] if found else []),
    ]
    return known[0] if known else None


class Server:
    """A running server."""

    def __init__(self, folder: Path, port: int, run: Callable[[str, str], subprocess.Popen[bytes]]) -> None:
        self.folder = folder
        self.port = port
        self._run = run
        self._process: subprocess.Popen[bytes] | None = None
        # Connecting takes longer than most statements.
        self._open: psycopg.Connection | None = None

    def start(self, options: str = "") -> None:
        """Start it, and wait until it answers."""
        self._process = None
        for _ in range(2000):
            # A connection of another process may have the port for a moment.
            if self._process is None or self._process.poll() is not None:
                self._process = self._run("postgres", f"-D {self.folder}/data -p {self.port} {options}")
            try:
                self._open = psycopg.connect(self.address("postgres"), autocommit=True)
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError((self.folder / "log").read_text())

    def stop(self) -> None:
        """Stop it at once."""
        if self._process is not None and self._open is not None:
            self._open.close()
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(30)

    def address(self, database: str, user: str = OWNER, password: str = PASSWORD, port: int = 0) -> str:
        """Return the address of a database."""
        return f"postgresql://{user}:{password}@127.0.0.1:{port or self.port}/{database}"

    def sql(self, text: str, database: str = "postgres") -> list[tuple]:
        """Run statements as the server's owner; return the last one's rows."""
        if database == "postgres" and self._open is not None:
            return _rows(self._open.execute(text))
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            return _rows(connection.execute(text))

    def kept(self, database: str, way: str) -> Callable[[], None]:
        """Keep a copy of a database; return what puts the copy in its place, in a way."""
        if way in {"volume", "replica"}:
            self.keep("kept")
            return lambda: self.roll_back("kept", is_replica=way == "replica")
        copy = self.copy_of(database, *(("--clean", "--if-exists") if way == "psql" else ("-Fc",)))
        return lambda: self.restore(database, way, copy)

    @contextmanager
    def database(self) -> Iterator[str]:
        """Make a database, and drop it at the end."""
        name = f"journal_{secrets.token_hex(6)}"
        # With what the first connection to the template has put into its folder.
        self.sql(f"CREATE DATABASE {name} STRATEGY file_copy")
        yield name
        self.sql(f"DROP DATABASE {name} WITH (FORCE)")

    def copy_of(self, database: str, *options: str) -> bytes:
        """Return what `pg_dump` writes about a database."""
        return self._done("pg_dump", *options, "-d", self.address(database))

    def restore(self, database: str, way: str, copy: bytes) -> None:
        """Restore a copy: with pg_restore or psql in place, or into a new database of the same name."""
        if way == "new":
            self.sql(f"DROP DATABASE {database} WITH (FORCE)")
            self.sql(f"CREATE DATABASE {database} TEMPLATE template0")
        if way == "psql":
            self._done("psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.address(database), given=copy)
        else:
            in_place = () if way == "new" else ("--clean", "--if-exists")
            self._done("pg_restore", *in_place, "-d", self.address(database), given=copy)

    @contextmanager
    def stopped(self) -> Iterator[Path]:
        """Stop the server, yield the folder of its data, and start it again."""
        assert self._process is not None
        assert self._open is not None
        self._open.close()
        # Every connection is cut, and what was committed is on disk.
        self._process.send_signal(signal.SIGINT)
        self._process.wait(30)
        yield self.folder / "data"
        self.start()

    def keep(self, name: str) -> None:
        """Copy the folder of the data, as a volume's snapshot or a base backup does."""
        with self.stopped() as data:
            subprocess.run(["cp", "-a", data, self.folder / name], check=True)

    def roll_back(self, name: str, *, is_replica: bool = False) -> None:
        """Put a copy in the place of the data; a replica is promoted, which begins another timeline."""
        with self.stopped() as data:
            shutil.rmtree(data)
            (self.folder / name).rename(data)
            if is_replica:
                (data / "standby.signal").touch()
        if is_replica:
            self.sql("SELECT pg_promote()")

    def _done(self, program: str, *options: str, given: bytes = b"") -> bytes:
        found = programs()
        assert found is not None
        return subprocess.run(
            [found / program, *options], input=given, capture_output=True, check=True
        ).stdout

    def cut(self, database: str) -> int:
        """Cut every connection to a database; return their number."""
        return len(
            self.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
        )


def _rows(cursor: psycopg.Cursor) -> list[tuple]:
    return cursor.fetchall() if cursor.description else []


@contextmanager
def server() -> Iterator[Server]:
    """Run a server that keeps what it commits."""
    found = programs()
    assert found is not None
    # In memory where that is possible: a sync of the file system is quick there.
    memory = Path("/dev/shm")
    folder = Path(
        tempfile.mkdtemp(prefix="bktools-postgres-", dir=memory if os.access(memory, os.W_OK) else None)
    )
    (folder / "password").write_text(PASSWORD)
    plain = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    if plain:
        for path in (folder, folder / "password"):
            shutil.chown(path, "nobody", "nogroup")
    log = (folder / "log").open("wb")

    def run(program: str, options: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [found / program, *options.split()], stdout=log, stderr=log, cwd=folder, **plain
        )

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    made = run(
        "initdb",
        f"-D {folder}/data -U {OWNER} -A scram-sha-256 --pwfile {folder}/password -E UTF8 --locale=C -N",
    )
    running = Server(folder, port, run)
    try:
        assert made.wait(300) == 0, (folder / "log").read_text()
        settings = (
            f"listen_addresses = '127.0.0.1'\nunix_socket_directories = '{folder}'\nmax_connections = 60\n"
        )
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write(settings)
        running.start()
        psycopg.connect(running.address("template1")).close()
        yield running
    finally:
        running.stop()
        log.close()
        shutil.rmtree(folder)
