"""A person's world beside an assistant's: a sandbox that counts what is created, and `bktools mcp`."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conversations import LEDGER, POSTINGS
from serving import SERVING

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from bktools.cli import main
from bktools.sandbox import Server
from bktools.sandbox.sample import write_sample_data

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
    """A running `bktools mcp --http`, and how its clients connect."""

    url: str
    headers: dict[str, str]
    process: subprocess.Popen[str]
    log: Path

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """Connect a client of the SDK."""
        async with (
            httpx2.AsyncClient(headers=self.headers, timeout=60) as http,
            Client(streamable_http_client(self.url, http_client=http)) as client,
        ):
            yield client


@pytest.fixture(scope="module")
def assistant(world: World) -> Iterator[Assistant]:
    """A server over HTTP, for the folder of the world."""
    command = [sys.executable, str(SERVING), "mcp", "--folder", str(world.folder), "--http", "0"]
    variables, log = os.environ | world.variables, world.root / "log"
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while lines[-1] not in ("}\n", ""):
            lines.append(process.stdout.readline())
        settings = json.loads("".join(lines))["mcpServers"]["bktools"]
        yield Assistant(settings["url"], settings["headers"], process, log)
        process.terminate()
