"""A running sandbox: the service on two loopback ports, in a thread of this process."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import uvicorn

from bktools.addresses import LOOPBACK
from bktools.errors import StorageError
from bktools.sandbox.app import OnRequest, build_app
from bktools.sandbox.auth import BALANCE_AUDIENCE, MAIN_AUDIENCE, Caller
from bktools.sandbox.faults import Fault, Faults
from bktools.sandbox.jobs import as_answered
from bktools.sandbox.store import State, Store, new_id
from bktools.sandbox.world import World
from bktools.wording import Sentence, reason_of

DATABASE = "service.sqlite"
_START_SECONDS = 60.0

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _of_the_store(method: Callable[Concatenate[Store, _P], _R]) -> Callable[Concatenate[Server, _P], _R]:
    """Return a method of the store as a method of the server, which opens the store for each call."""

    @wraps(method)
    def call(self: Server, /, *args: _P.args, **options: _P.kwargs) -> _R:
        with self._store() as store:
            return method(store, *args, **options)

    return call


class Server:
    """A sandbox that runs in this process, on 127.0.0.1, inside a `with` block or between `start` and `stop`.

    It is the whole service of the interface over real HTTP. Its state is one SQLite file in `folder`: a
    missing file is created with a new world, an existing one is kept. Several servers and processes may share
    it.

    Parameters
    ----------
    folder : Path
        Folder of the state.
    port : int
        Port of the main host; a free one unless given.
    seed : int
        The same seed gives the same new world.
    companies, categories, employees : int
        Size of a new world: companies in all, categories and employees of the first; others have a quarter.
    max_limit : int
        Most rows of a page; a request for more silently gets this many.
    job_seconds : float
        Seconds from the creation of an export job to its end.
    faults : iterable of Fault or str
        Faults active from the start, also as text such as "error:status=503" (see `parse_fault`).
    on_request : callable, optional
        Called after each request with its method, path, status (None where no answer began) and seconds.

    Attributes
    ----------
    base_url, token, api_key : str
        Address of the main host and credentials for it. All attributes exist from `start` on.
    balance_url, balance_token : str
        Address of the balance host and the token for it.
    company_id : str
        The first company.
    company_names : dict of str to str
        The name of each company, by its ID.

    Examples
    --------
    >>> import tempfile, urllib.request
    >>> from bktools.sandbox import Server
    >>> with tempfile.TemporaryDirectory() as folder, Server(folder) as server:
    ...     request = urllib.request.Request(f"{server.base_url}/v2/employees?limit=1")
    ...     request.add_header("Authorization", f"Bearer {server.token}")
    ...     urllib.request.urlopen(request).status
    200
    """

    base_url: str
    token: str
    api_key: str
    balance_url: str
    balance_token: str
    company_id: str
    company_names: dict[str, str]

    def __init__(
        self,
        folder: Path | str,
        *,
        port: int = 0,
        seed: int = 1,
        companies: int = 3,
        categories: int = 240,
        employees: int = 27,
        max_limit: int = 100,
        job_seconds: float = 1.0,
        faults: Iterable[Fault | str] = (),
        on_request: OnRequest | None = None,
    ) -> None:
        self.file = Path(folder) / DATABASE
        self._world = World(seed, companies, categories, employees)
        self._port = port
        self._on_request = on_request or (lambda *_: None)
        self._faults = Faults(faults)
        self._conduct = (max_limit, job_seconds)
        self._uvicorn: _WebServer | None = None
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def start(self) -> Self:
        """Start serving and return this server, with its addresses and credentials set.

        Raises
        ------
        StorageError
            The state cannot be used, or a port is taken.
        """
        if self._thread is not None:
            return self
        with self._store() as store:
            self.token, self.api_key = store.settings["token"], store.settings["api_key"]
            self.balance_token = store.settings["balance_token"]
            self.company_names = {company.id: company.name for company in store.companies()}
            self.company_id = next(iter(self.company_names))
        # A program that logs at INFO would get a line for each request. It gets them if it sets this logger's
        # level.
        web_server = logging.getLogger("uvicorn")
        if web_server.level == logging.NOTSET:
            web_server.setLevel(logging.WARNING)
        with ExitStack() as opened:
            sockets = [opened.enter_context(_listen(port)) for port in (self._port, 0)]
            opened.pop_all()
        self.base_url, self.balance_url = (f"http://{LOOPBACK}:{s.getsockname()[1]}" for s in sockets)
        self._failure = None
        # A daemon, so that a notebook's kernel or a script can end.
        self._thread = threading.Thread(
            target=self._run, args=(sockets,), name="bktools-sandbox", daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + _START_SECONDS
        while not (self._uvicorn and self._uvicorn.started):
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.stop()
                raise StorageError(Sentence("error.sandbox_start", why=str(self._failure)))
            time.sleep(0.002)
        return self

    @property
    def access(self) -> dict[str, str]:
        """Addresses and credentials by the names of a client's settings."""
        names = ("base_url", "token", "api_key", "balance_url", "balance_token")
        return {name: getattr(self, name) for name in names}

    def stop(self) -> None:
        """Stop serving and keep the state. Does nothing when the server is not running."""
        if self._thread is None:
            return
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True
        self._thread.join()
        self._thread = None
        self._uvicorn = None

    def wait(self) -> None:
        """Wait until the server stops; Ctrl-C ends the waiting as usual."""
        while self._thread is not None and self._thread.is_alive():
            # A join without a timeout blocks Ctrl-C on some platforms.
            self._thread.join(0.5)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        address = self.base_url if self._thread is not None else "not running"
        return f"Server({str(self.file)!r}, {address})"

    # For tests and demonstrations, besides the interface

    def inject(self, fault: Fault | str) -> None:
        """Add a fault, from the next request on."""
        self._faults.add(fault)

    def clear_faults(self) -> None:
        """Remove all faults."""
        self._faults.clear()

    def issue_token(
        self,
        scopes: Sequence[str] | None = None,
        *,
        companies: Sequence[str] | None = None,
        expires_in: float | None = None,
        balance: bool = False,
    ) -> str:
        """Return another token.

        Parameters
        ----------
        scopes : sequence of str, optional
            As the OpenAPI document names them for each operation; "organisation:read" also lists the
            employees of all companies. All by default.
        companies : sequence of str, optional
            Companies the token may see; all by default.
        expires_in : float, optional
            Seconds until the token expires.
        balance : bool
            True for a token of the balance host, for the first of `companies`.
        """
        audience = BALANCE_AUDIENCE if balance else MAIN_AUDIENCE
        expires_at = None if expires_in is None else time.time() + expires_in
        with self._store() as store:
            return store.issue_token(Caller(audience, scopes, companies, expires_at))

    companies = _of_the_store(Store.companies)
    configure_company = _of_the_store(Store.configure_company)
    remove_category = _of_the_store(Store.remove_category)
    category_ids = _of_the_store(Store.category_ids)
    accounts = _of_the_store(Store.accounts)
    accepted_entries = _of_the_store(Store.accepted_entries)

    def add_category(self, name: str, *, id: str | None = None, account_id: str | None = None) -> str:
        """Add a category at the table's end and return its id."""
        category = {
            "id": id or new_id(),
            "companyId": self.company_id,
            "categoryGroupId": next(self._world.categories_of(0))["categoryGroupId"],
            "name": name,
            "archived": False,
            "accountId": account_id,
            "taxCodeId": None,
            "metadata": None,
        }
        with self._store() as store:
            store.add_category(category)
        return str(category["id"])

    def export_jobs(self) -> list[dict[str, Any]]:
        """Return every export job as it was answered, the oldest first."""
        with self._store() as store:
            return [as_answered(job) for job in store.export_jobs()]

    def _store(self) -> closing[Store]:
        return closing(Store(self.file, self._world))

    def _run(self, sockets: list[socket.socket]) -> None:
        try:
            with self._store() as store:
                state = State(store, self._faults, *self._conduct)
                app = build_app(state, self.base_url, self.balance_url, self._on_request)
                config = uvicorn.Config(
                    app,
                    http="h11",
                    ws="none",
                    loop="asyncio",
                    lifespan="off",
                    log_config=None,
                    access_log=False,
                    server_header=False,
                    # An idle connection outlives the pause between two cells of a notebook.
                    timeout_keep_alive=75,
                    timeout_graceful_shutdown=1,
                )
                self._uvicorn = _WebServer(config)
                self._uvicorn.run(sockets=sockets)
        except BaseException as error:  # noqa: BLE001 - told to the thread that waits for the start
            self._failure = error
        finally:
            for listening in sockets:
                listening.close()


class _WebServer(uvicorn.Server):
    """A web server that ends at once without connections, where uvicorn waits up to a fifth of a second."""

    async def main_loop(self) -> None:
        """Serve until the server is to end."""
        while not await self.on_tick(0):  # noqa: ASYNC110 - other threads end it by an attribute
            await asyncio.sleep(0.01)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the sockets, and let connected clients have their answers."""
        await asyncio.sleep(0)
        if self.server_state.connections:
            await super().shutdown(sockets)
        else:
            for listening in (*self.servers, *(sockets or ())):
                listening.close()


def _listen(port: int) -> socket.socket:
    try:
        listening = socket.create_server((LOOPBACK, port), backlog=2048)
    except OSError as error:
        raise StorageError(Sentence("error.port", port=port, why=reason_of(error))) from error
    # Connections inherit it. Without it each small answer waits 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
