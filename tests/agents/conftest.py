"""A person's world beside an assistant's: a sandbox that counts what is created, and `bktools mcp`."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from anyio.from_thread import start_blocking_portal
from conversations import LEDGER, POSTINGS
from serving import SERVING

from bktools.cli import main
from bktools.sandbox import Server
from bktools.sandbox.sample import write_sample_data

# Its import takes longer than many a room: only the process that runs these tests has it.
if TYPE_CHECKING:
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters

if find_spec("mcp") is None:
    pytest.skip("the extra mcp is not installed", allow_module_level=True)

# Requests that create: all other requests of the interface read.
CREATING = ("/v1/chart-of-accounts", "/v3/export-jobs")


@dataclass
class World:
    """A sandbox and the variables of its client, the folder of an assistant, and what was created."""

    root: Path
    server: Server
    variables: dict[str, str]
    created: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The folder that the assistant may read."""
        return self.root / "books"

    def person(self, command: str, *more: str) -> Done:
        """Run a command of a person as it was printed, in this process, which starts sooner."""
        program, *words = shlex.split(command)
        assert program == "bktools"
        output, errors = self.root / "output", self.root / "errors"
        with (
            pytest.MonkeyPatch.context() as patch,
            output.open("w", encoding="utf-8") as out,
            errors.open("w", encoding="utf-8") as err,
        ):
            for name, value in self.variables.items():
                patch.setenv(name, value)
            for name, value in {"argv": [program, *words, *more], "stdout": out, "stderr": err}.items():
                patch.setattr(sys, name, value)
            try:
                code = main()
            except SystemExit as end:
                code = end.code
        return Done(code or 0, output.read_text(encoding="utf-8"), errors.read_text(encoding="utf-8"))


class Done(NamedTuple):
    """How a command ended."""

    code: int
    output: str
    errors: str


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The sample month of the sandbox's first company, with nothing in the service yet."""
    root = tmp_path_factory.mktemp("world")
    created: list[str] = []

    def on_request(method: str, path: str, *_: Any) -> None:
        if method != "GET" and path.startswith(CREATING):
            created.append(path)

    (root / "books").mkdir()
    write_sample_data(root / "books")
    (root / "books" / LEDGER).write_text(POSTINGS, encoding="utf-8")
    (root / "config.toml").touch()
    with Server(root / "service", job_seconds=0.05, on_request=on_request) as server:
        values = {"BASE_URL": server.base_url, "TOKEN": server.token, "COMPANY": server.company_id}
        values |= {f"{name}_DIR": str(root / name.lower()) for name in ("DATA", "CACHE", "SENT_LOG")}
        values |= {"CONFIG": str(root / "config.toml"), "ENVIRONMENT": "sandbox"}
        yield World(root, server, {f"BKTOOLS_{name}": value for name, value in values.items()}, created)


@dataclass
class Assistant:
    """What starts `bktools mcp` for a client, with its log and the list of the modules that it loaded."""

    settings: dict[str, Any]
    started: StdioServerParameters
    log: Path
    modules: Path


@pytest.fixture(scope="module")
def spoken(assistant: Assistant) -> Iterator[Callable[[Callable[[Client], Awaitable[Any]]], Any]]:
    """A function that runs a conversation; all of them are with one server."""
    from mcp.client import Client
    from mcp.client.stdio import stdio_client

    with (
        start_blocking_portal() as portal,
        assistant.log.open("a", encoding="utf-8") as errors,
        portal.wrap_async_context_manager(Client(stdio_client(assistant.started, errlog=errors))) as client,
    ):
        yield lambda talk: portal.call(talk, client)


@pytest.fixture(scope="module")
def assistant(world: World) -> Assistant:
    """An assistant for the folder of the world."""
    from mcp.client.stdio import StdioServerParameters

    printed = world.person(f"bktools mcp --folder {world.folder} --print-config")
    settings = json.loads(printed.output)["mcpServers"]["bktools"]
    log, modules = world.root / "log", world.root / "modules"
    variables = os.environ | world.variables | {"MODULES": str(modules)}
    arguments = [str(SERVING), *settings["args"][2:]]
    started = StdioServerParameters(command=settings["command"], args=arguments, env=variables)
    return Assistant(settings, started, log, modules)
