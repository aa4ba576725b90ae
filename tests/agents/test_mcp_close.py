"""A close that an assistant prepares and a person sends; the server's process has no code that sends."""

from __future__ import annotations

import inspect
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from conversations import CHART, ENTRIES, MONTH, answered, arguments_of
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from serving import SERVING

from bktools.agents.desk import TOOLS, Call, Desk, run
from bktools.agents.folders import Folders


@dataclass
class Talk:
    """A conversation over standard input and output, as a client starts it from its settings."""

    settings: dict[str, Any]
    listed: list[Any]
    close: dict[str, Any]
    answers: dict[str, dict[str, Any]]
    steps: list[str]
    created: list[str]
    modules: list[str]


@pytest.fixture(scope="module")
def talk(world) -> Talk:
    """A close of the sample in six calls, and then a call of each other tool, with the SDK's client."""
    printed = world.person(f"bktools mcp --folder {world.folder} --print-config")
    settings = json.loads(printed.output)["mcpServers"]["bktools"]
    modules = world.root / "modules"
    arguments = [str(SERVING), *settings["args"][2:]]
    variables = os.environ | world.variables | {"MODULES": str(modules)}
    started = StdioServerParameters(command=settings["command"], args=arguments, env=variables)
    preparing = [
        ("check", {}),
        ("read_file", {"path": CHART, "kind": "chart"}),
        ("read_file", {"path": ENTRIES, "kind": "entries"}),
        ("reconcile", {"chart": CHART}),
        ("plan_export", {"entries": ENTRIES, "month": "2026-10"}),
        ("close_month", MONTH),
    ]

    steps: list[str] = []

    async def progress(_count: float, _total: float | None, name: str | None) -> None:
        steps.append(str(name))

    async def talked() -> Talk:
        async with Client(stdio_client(started)) as client:
            answers = {}
            for name, given in preparing:
                answers[name] = answered(await client.call_tool(name, given, progress_callback=progress))
            close = answers["close_month"]
            table = next(
                each["table"] for each in answers["plan_export"]["tables"] if "not_ready" in each["table"]
            )
            for name, given in arguments_of(table).items():
                if name not in answers:
                    answers[name] = answered(await client.call_tool(name, given))
            listed = (await client.list_tools()).tools
        loaded = modules.read_text(encoding="utf-8").split()
        return Talk(settings, listed, close, answers, steps, [*world.created], loaded)

    return anyio.run(talked)


def test_every_tool_answers_the_sdk_s_client(talk):
    """Each tool that is listed answers in at most 60 lines, with files of its tables, and progress."""
    assert tuple(tool.name for tool in talk.listed) == TOOLS
    assert all(tool.description and tool.annotations.read_only_hint for tool in talk.listed)
    assert {*talk.answers} == {*TOOLS}
    assert talk.steps == ["check", "read_file", "read_file", "reconcile", "plan_export", "close_month"]
    assert all(("tables" in facts) == (name != "rows") for name, facts in talk.answers.items())
    *rows, _ = talk.answers["rows"]["rows"]
    assert {row["currency"] for row in rows} == {"CHF"}
    assert talk.answers["read_file"]["tables"][0]["amounts"]["EUR"] == "127687.41"


def test_the_server_s_process_has_no_code_that_sends(talk, world):
    """It has loaded neither `submit` nor what composes, after all its tools ran; nothing was created."""
    assert "bktools.agents.server" in talk.modules
    others = ("bktools.submit", "bktools.close", "bktools.export", "bktools.month_end", "bktools.reports")
    assert [name for name in talk.modules if name.startswith(others)] == []
    assert talk.created == []
    assert "not_compared" in talk.answers["reconcile"]
    assert talk.answers["plan_export"]["questions"] == []
    assert talk.settings["command"] == sys.executable
    assert world.server.token not in str(talk.settings)


def test_a_close_is_sent_by_one_command_of_a_person(talk, world, tmp_path):
    """The figures are those of `month-end`, and the printed command sends what was prepared."""
    files = f"--chart {world.folder / CHART} --entries {world.folder / ENTRIES}"
    options = f"--month 2026-10 --out {tmp_path / 'planned'} --format json"
    figures = json.loads(world.person(f"bktools month-end {files} {options}").output)
    names = ("entries", "reasons", "to_do", "by_role", "against")
    assert {name: talk.close[name] for name in names} == {name: figures[name] for name in names}

    done = world.person(talk.close["person_runs"], "--format", "json")
    assert done.code == 0, done.errors
    sent = json.loads(done.output)
    assert sent["entries"]["all"] == talk.close["entries"]["all"]
    assert sent["entries"]["exported"]["entries"] > 200
    assert len(world.created) == sum(talk.close["accounts"].values()) + len(sent["jobs"])


def calls_of(world, table: Path) -> dict[str, Call]:
    """Return the call of each tool that runs a command, with arguments that look like options."""
    desk = Desk({"environment": "sandbox"}, {"company": "c"}, Folders([world.folder], {"table": table}))
    hostile = {"by": ["--apply"], "threshold": "--apply", "topic": "--apply"}
    calls = {}
    for tool, usual in arguments_of("table").items():
        names = inspect.signature(getattr(desk, tool)).parameters
        wanted = usual | {name: value for name, value in hostile.items() if name in names}
        call = getattr(desk, tool)(**wanted)
        if isinstance(call, Call):
            calls[tool] = call
    return calls


def test_no_tool_runs_a_command_that_sends(world, tmp_path):
    """Each command is one that reads or plans, and no argument of an assistant becomes an option of it."""
    (tmp_path / "table.csv").write_text("id,currency\n", encoding="utf-8")
    calls = calls_of(world, tmp_path / "table.csv")
    assert {*calls} == {*TOOLS} - {"rows"}
    for call in calls.values():
        assert call.command in READING
        line = call.line(tmp_path)
        assert "--apply" not in line[: line.index("--")]


READING = {
    *("check", "categories", "employees", "chart", "entries", "ledger", "reconcile", "export compose"),
    *("month-end", "verify", "spend", "versus", "guide"),
}


def test_a_command_that_sends_would_be_refused(world, monkeypatch, tmp_path):
    """Should a tool run one by mistake, its service is only read."""
    for name, value in world.variables.items():
        monkeypatch.setenv(name, value)
    before = len(world.created)
    call = Call("accounts create --apply", {"chart": world.folder / CHART}, {})
    error = anyio.run(run, call, tmp_path)["error"]
    assert (error["kind"], len(world.created)) == ("ConfigurationError", before)
    assert "read_only (BKTOOLS_READ_ONLY) is set: nothing was written" in error["message"]
