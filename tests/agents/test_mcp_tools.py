"""The tools over MCP: with the SDK's client, with the inspector, and with assistants that want to book."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from conversations import CHART, ENTRIES, NAMES, Conversation, answered, arguments_of, conversations, refused

import bktools.agents
from bktools.agents.desk import TOOLS


@pytest.fixture(scope="module", autouse=True)
def _prepared(world):
    """The chart's accounts are in the service, so that entries are ready; files lie beside the folder."""
    done = world.person(f"bktools accounts create --chart {world.folder / CHART} --apply")
    assert done.code == 0, done.errors
    world.created.clear()
    secret = world.root / "secret.csv"
    secret.write_text("id,amount\n1,2\n", encoding="utf-8")
    (world.folder / "link.csv").symlink_to(secret)
    (world.folder / "linked").symlink_to(world.root)
    (world.folder / "loop").symlink_to(world.folder / "loop")
    (world.folder / "inner").mkdir()
    os.mkfifo(world.folder / "pipe")


def spoken(assistant, talk):
    """Run a conversation of the SDK's client; return what it returns."""

    async def run():
        async with assistant.client() as client:
            return await talk(client)

    return anyio.run(run)


@pytest.fixture(scope="module")
def not_ready(assistant, world) -> str:
    """The name of a table of entries that are not ready."""

    async def talk(client):
        return answered(await client.call_tool("plan_export", {"entries": ENTRIES}))

    return next(each["table"] for each in spoken(assistant, talk)["tables"] if "not_ready" in each["table"])


def test_every_tool_answers_the_inspector(assistant, not_ready):
    """The inspector's command-line mode lists and calls every tool."""
    inspector = shutil.which("mcp-inspector")
    if shutil.which("node") is None or inspector is None:
        pytest.skip(
            "node and mcp-inspector are not installed: npm install -g @modelcontextprotocol/inspector@latest"
        )

    def inspected(*words: str) -> Any:
        header = f"Authorization: {assistant.headers['Authorization']}"
        command = [inspector, "--cli", assistant.url, "--transport", "http", "--header", header, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def call(name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        pairs = [
            f"{key}={value if isinstance(value, str) else json.dumps(value)}"
            for key, value in arguments.items()
        ]
        given = ["--tool-arg", *pairs] if pairs else []
        result = inspected("--method", "tools/call", "--tool-name", name, *given)
        return name, not result.get("isError", False)

    listed = inspected("--method", "tools/list")["tools"]
    assert tuple(tool["name"] for tool in listed) == TOOLS
    with ThreadPoolExecutor(3) as pool:
        calls = arguments_of(not_ready).items()
        assert dict(pool.map(lambda each: call(*each), calls)) == dict.fromkeys(TOOLS, True)


def tree(root: Path, *without: str) -> dict[str, str]:
    """Return a digest of each file below a folder, but of those below some of its folders."""
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return {
        place: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if not (place := path.relative_to(root).as_posix()).startswith(without)
    }


def test_hostile_conversations_create_nothing(assistant, world, not_ready):
    """No conversation creates anything or writes outside of the results; each refusal is one line."""
    before = tree(world.root, "books/bktools-prepared", "data", "cache", "sent_log", "service")
    talks = [*conversations(world.root / "secret.csv", not_ready)]
    parallel = [Conversation("retried", (("plan_export", {"entries": ENTRIES}),) * 3, is_refused=False)]
    parallel += [Conversation("retried", (("rows", {"table": not_ready}),) * 3, is_refused=False)]

    async def talk(client):
        for conversation in talks:
            for name, arguments in conversation.calls:
                result = await client.call_tool(name, arguments)
                error = refused(result)
                assert error["exit_code"] in (1, 4), (conversation.name, error)
                assert "failed unexpectedly" not in error["message"], conversation.name
                assert error["to_do"], conversation.name
        for conversation in parallel:
            plans = set()

            async def once(name, arguments, plans=plans):
                plans.add(answered(await client.call_tool(name, arguments)).get("plan_id"))

            async with anyio.create_task_group() as group:
                for name, arguments in conversation.calls:
                    group.start_soon(once, name, arguments)
            assert len(plans) == 1

    spoken(assistant, talk)
    assert len(talks) + len(parallel) >= 150
    assert world.created == []
    assert tree(world.root, "books/bktools-prepared", "data", "cache", "sent_log", "service") == before
    assert assistant.process.poll() is None
    # Nothing of the person's is in what an assistant may read, nor was there an error that nobody expected.
    results = [path.read_bytes() for path in (world.folder / "bktools-prepared").rglob("*") if path.is_file()]
    assert not [content for content in results if world.server.token.encode() in content]
    assert "Traceback" not in assistant.log.read_text(encoding="utf-8")


def test_names_with_instructions_stay_values(assistant, world, not_ready):
    """A supplier's name is a quoted value in one line, cut, with every hidden character shown."""
    rows = [{"date": "2026-10-03", "amount": "1.00", "currency": "EUR", "supplier": name} for name in NAMES]
    with (world.folder / "names.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)

    async def talk(client):
        texts = []
        table = answered(await client.call_tool("read_file", {"path": "names.csv", "kind": "entries"}))
        name = table["tables"][0]["table"]
        for tool, arguments in (
            ("read_file", {"path": "names.csv", "kind": "entries"}),
            ("spend", {"entries": "names.csv", "by": ["supplier"]}),
            ("rows", {"table": name}),
            ("plan_export", {"entries": "names.csv"}),
        ):
            result = await client.call_tool(tool, arguments)
            texts.append(result.content[0].text)
        return texts

    for text in spoken(assistant, talk):
        facts = json.loads(text)
        assert "person_runs" not in facts
        assert len(text) < 20_000
        # Whatever is beyond ASCII in these names is what nobody sees.
        assert not {char for name in NAMES for char in name if not char.isascii()} & {*text}
        assert text.replace("\n", "").isprintable()


def test_what_is_asked_is_answered_by_a_person(assistant, world):
    """A file that is not understood is asked about; the mapping that a person saves is used from then on."""
    text = (world.folder / ENTRIES).read_text(encoding="utf-8").replace("amount", "Wert X", 1)
    (world.folder / "asked.csv").write_text(text, encoding="utf-8")

    async def talk(client):
        arguments = {"path": "asked.csv", "kind": "entries"}
        asked = refused(await client.call_tool("read_file", arguments))
        answer = f"{world.folder / 'asked.csv'} --column 'amount=Wert X' --save-mapping asked"
        done = world.person(f"bktools entries {answer}")
        assert done.code == 0, done.errors
        return asked, answered(await client.call_tool("read_file", arguments))

    asked, facts = spoken(assistant, talk)
    assert "amount" in asked["message"]
    assert facts["tables"][0]["amounts"]["EUR"] == "127687.41"


def test_an_installation_without_the_extra_says_so(world, monkeypatch):
    """Without the extra, the command is one line with the command that installs it."""
    for name in [name for name in sys.modules if name.startswith("bktools.agents.server")]:
        monkeypatch.delitem(sys.modules, name)
    # A test before may have imported the file, which the package then has as an attribute.
    monkeypatch.delattr(bktools.agents, "server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    done = world.person(f"bktools mcp --folder {world.folder}")
    assert (done.code, done.output) == (3, "")
    assert "'bktools[mcp]'" in done.errors


def test_http_needs_the_token_and_its_own_host(assistant):
    """Without the token of this start nothing is answered, nor for a page of another host."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    usual = {"Accept": "application/json, text/event-stream"}
    for headers in (
        {},
        {"Authorization": "Bearer x"},
        {"Authorization": ""},
        {"Authorization": "Basic eDp4"},
    ):
        assert httpx.post(assistant.url, json=call, headers=usual | headers).status_code == 401
    foreign = usual | assistant.headers | {"Host": "evil.example"}
    assert httpx.post(assistant.url, json=call, headers=foreign).status_code in (403, 421)
