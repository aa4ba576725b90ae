"""An assistant that prepares a close and cannot book, over MCP with the SDK's client."""

from __future__ import annotations

import csv
import inspect
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from conversations import CHART, ENTRIES, NAMES, answered, arguments_of, conversations, refused

import bktools.agents
from bktools.agents.desk import TOOLS, Call, Desk, run
from bktools.agents.folders import Folders


@dataclass
class Talk:
    """The tools that a client lists, and the answer of each."""

    listed: list[Any]
    answers: dict[str, dict[str, Any]]
    created: list[str]


@pytest.fixture(scope="module")
def talk(spoken, world) -> Talk:
    """A close of the sample, and then a call of each other tool."""
    preparing = ("check", "read_file", "reconcile", "plan_export", "close_month")

    async def talked(client):
        answers: dict[str, Any] = {}
        for name in (*preparing, *(name for name in TOOLS if name not in preparing)):
            tables = answers.get("plan_export", {}).get("tables", ())
            not_ready = next((each["file"] for each in tables if "not_ready" in each["file"]), "")
            answers[name] = answered(await client.call_tool(name, arguments_of(not_ready)[name]))
        return Talk((await client.list_tools()).tools, answers, [*world.created])

    return spoken(talked)


def test_every_tool_answers(talk):
    """Each tool that is listed answers, with files of its tables; the rows of a table can be chosen."""
    assert tuple(tool.name for tool in talk.listed) == TOOLS
    assert all(tool.description and tool.annotations.read_only_hint for tool in talk.listed)
    assert all(("tables" in facts) == (name != "rows") for name, facts in talk.answers.items())
    *rows, _ = talk.answers["rows"]["rows"]
    assert {row["currency"] for row in rows} == {"CHF"}
    assert talk.answers["read_file"]["tables"][0]["amounts"]["EUR"] == "127687.41"


def test_the_server_s_process_has_no_code_that_sends(talk, assistant, world):
    """It has loaded neither `submit` nor what composes, after all its tools ran; nothing was created."""
    modules = assistant.modules.read_text(encoding="utf-8").split()
    assert "bktools.agents.server" in modules
    others = ("bktools.submit", "bktools.close", "bktools.export", "bktools.month_end", "bktools.reports")
    assert [name for name in modules if name.startswith(others)] == []
    assert talk.created == []
    assert "not_compared" in talk.answers["reconcile"]
    assert talk.answers["plan_export"]["questions"] == []
    assert assistant.settings["command"] == sys.executable
    assert world.server.token not in str(assistant.settings)


def test_a_close_is_sent_by_one_command_of_a_person(talk, world):
    """Each printed command sends what was prepared, and the service books what the answer has."""
    close = talk.answers["close_month"]
    done = world.person(close["person_runs"], "--format", "json")
    assert done.code == 0, done.errors
    sent = json.loads(done.output)
    assert sent["entries"]["all"] == close["entries"]["all"]
    assert sent["entries"]["exported"]["entries"] > 200
    assert len(world.created) == sum(close["accounts"].values()) + len(sent["jobs"])
    others = [talk.answers[name]["person_runs"] for name in ("reconcile", "plan_export")]
    assert [world.person(command).code for command in others] == [0, 0]


def test_no_tool_runs_a_command_that_sends(world):
    """Each command is one that reads or plans, and no argument of an assistant becomes an option of it."""
    desk = Desk({"environment": "sandbox", "company": "c"}, Folders([world.folder]))
    hostile = {"by": ["--apply"], "threshold": "--apply", "topic": "--apply"}
    for tool, usual in arguments_of(ENTRIES).items():
        names = inspect.signature(getattr(desk, tool)).parameters
        call = getattr(desk, tool)(**usual | {name: hostile[name] for name in hostile if name in names})
        assert (tool == "rows") != isinstance(call, Call)
        if isinstance(call, Call):
            assert call.command in READING
            assert "--apply" not in call.line[: call.line.index("--")]


READING = {
    *("check", "categories", "employees", "chart", "entries", "ledger", "reconcile", "export compose"),
    *("month-end", "verify", "spend", "versus", "guide"),
}


def test_a_command_that_sends_would_be_refused(world, monkeypatch, tmp_path):
    """Should a tool run one by mistake, its service is only read."""
    for name, value in world.variables.items():
        monkeypatch.setenv(name, value)
    before = len(world.created)
    call = Call(tmp_path, "accounts create --apply", {"chart": world.folder / CHART})
    error = anyio.run(run, call)["error"]
    assert (error["kind"], len(world.created)) == ("ConfigurationError", before)
    assert "read_only (BKTOOLS_READ_ONLY) is set: nothing was written" in error["message"]


def content_of(root: Path) -> dict[Path, bytes]:
    """Return the content of each file of a person: not those of results, and of the state of both sides."""
    own = ("books/bktools-prepared", "data", "cache", "sent_log", "service", "log", "modules")
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    places = {path: path.relative_to(root).as_posix() for path in files}
    return {path: path.read_bytes() for path, place in places.items() if not place.startswith(own)}


def test_hostile_conversations_create_nothing(assistant, spoken, world):
    """No call creates anything or writes outside of the results; each refusal says what to do."""
    secret = world.root / "secret.csv"
    secret.write_text("id,amount\n1,2\n", encoding="utf-8")
    (world.folder / "link.csv").symlink_to(secret)
    (world.folder / "linked").symlink_to(world.root)
    (world.folder / "loop").symlink_to(world.folder / "loop")
    (world.folder / "inner").mkdir()
    os.mkfifo(world.folder / "pipe")
    before, created = content_of(world.root), [*world.created]

    async def talk(client):
        for name, arguments in conversations(secret):
            error = refused(await client.call_tool(name, arguments))
            assert error["exit_code"] in (1, 4), (name, arguments, error)
            assert "failed unexpectedly" not in error["message"], (name, arguments)
            assert error["to_do"], (name, arguments)
        plans = set()

        async def once():
            plans.add(answered(await client.call_tool("plan_export", {"entries": ENTRIES}))["plan_id"])

        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(once)
        assert len(plans) == 1

    spoken(talk)
    assert (content_of(world.root), world.created) == (before, created)
    # Nothing of the person's is in what an assistant may read, nor was there an error that nobody expected.
    results = [path.read_bytes() for path in (world.folder / "bktools-prepared").rglob("*") if path.is_file()]
    assert not [content for content in results if world.server.token.encode() in content]
    assert "Traceback" not in assistant.log.read_text(encoding="utf-8")


def test_names_with_instructions_stay_values(spoken, world):
    """A supplier's name is a quoted value in one line, cut, with every hidden character shown."""
    rows = [{"date": "2026-10-03", "amount": "1.00", "currency": "EUR", "supplier": name} for name in NAMES]
    with (world.folder / "names.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)

    async def talk(client):
        read = await client.call_tool("read_file", {"path": "names.csv", "kind": "entries"})
        file = answered(read)["tables"][0]["file"]
        summed = await client.call_tool("spend", {"entries": "names.csv", "by": ["supplier"]})
        return [
            result.content[0].text
            for result in (read, summed, await client.call_tool("rows", {"file": file}))
        ]

    for text in spoken(talk):
        assert "person_runs" not in json.loads(text)
        assert len(text) < 20_000
        # Whatever is beyond ASCII in these names is what nobody sees.
        assert not {char for name in NAMES for char in name if not char.isascii()} & {*text}
        assert text.replace("\n", "").isprintable()


def test_what_is_asked_is_answered_by_a_person(spoken, world):
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

    asked, facts = spoken(talk)
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
