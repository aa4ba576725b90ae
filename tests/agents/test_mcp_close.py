"""A close that an assistant prepares and a person sends; the server's process has no code that sends."""

from __future__ import annotations

import ast
import json
import os
import sys
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from conversations import CHART, ENTRIES, MONTH, answered, arguments_of
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from sources import ROOT

import bktools
from bktools.agents.desk import TOOLS
from bktools.agents.reading import READS, ReadingService
from bktools.contract import ENDPOINTS
from bktools.errors import ArgumentError

# Runs a command and writes at its end which modules it has.
LISTING = """
import pathlib, sys
from bktools.cli import main

if __name__ == "__main__":
    try:
        main()
    finally:
        pathlib.Path(__file__).with_suffix(".txt").write_text("\\n".join(sys.modules))
"""


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
    program = world.root / "listing.py"
    program.write_text(LISTING, encoding="utf-8")
    arguments = [str(program), *settings["args"][2:]]
    variables = os.environ | world.variables
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
        modules = program.with_suffix(".txt").read_text(encoding="utf-8").split()
        return Talk(settings, listed, close, answers, steps, [*world.created], modules)

    return anyio.run(talked)


def test_every_tool_answers_the_sdk_s_client(talk):
    """Each tool that is listed answers in at most 60 lines, with files of its tables, and progress."""
    assert tuple(tool.name for tool in talk.listed) == TOOLS
    assert all(tool.description and tool.annotations.read_only_hint for tool in talk.listed)
    assert {*talk.answers} == {*TOOLS}
    assert all("not_known" in facts for facts in talk.answers.values())
    assert {"categories", "entries", "close"} <= {*talk.steps}
    *rows, _ = talk.answers["rows"]["rows"]
    assert {row["currency"] for row in rows} == {"CHF"}
    assert talk.answers["read_file"]["tables"][0]["amounts"]["EUR"] == "127687.41"


def test_the_server_s_process_has_no_code_that_sends(talk, world):
    """It has loaded neither `submit` nor what needs it, after all its tools ran; nothing was created."""
    assert "bktools.agents.server" in talk.modules
    others = ("bktools.submit", "bktools.close.request", "bktools.close.run", "bktools.month_end")
    assert [name for name in talk.modules if name.startswith(others)] == []
    assert talk.created == []
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
    assert len(world.created) == talk.close["accounts_to_create"] + len(sent["jobs"])


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.operation)
def test_the_service_of_the_server_only_reads(endpoint, world):
    """What creates is refused before a request; searches are answered, though one of them is a POST."""
    before = len(world.created)
    settings = bktools.connect(
        world.server.base_url, token=world.server.token, company=world.server.company_id
    ).settings
    with ReadingService(settings) as service:
        arguments = {
            "create_account": (settings.company, "1", "x"),
            "create_export_job": (["123e4567-e89b-42d3-a456-426614174000"], settings.company),
            "search_categories": (settings.company,),
            "search_employees": (),
        }
        if endpoint.operation in arguments:
            call = getattr(service, endpoint.operation)
            if endpoint.operation in READS:
                assert call(*arguments[endpoint.operation]).data
            else:
                with pytest.raises(ArgumentError, match="a person sends"):
                    call(*arguments[endpoint.operation])
                # Below the operation, too, where a function may reach it.
                with pytest.raises(ArgumentError, match="a person sends"):
                    service._answered(endpoint, object)
        assert (endpoint.operation in READS) == (endpoint.repeatable or endpoint.method == "GET")
    assert len(world.created) == before


def test_no_file_of_the_room_names_what_sends():
    """No import of `submit`, no call of a function that sends, records or closes, no `apply` of any value."""
    sends = {"submit_export_jobs", "create_accounts", "resolve_export_job", "close_period", "reopen_period"}
    sends |= {"import_accounts"}
    for path in (ROOT / "agents").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and str(node.module).startswith("bktools.submit")), (
                path
            )
            assert not (isinstance(node, ast.keyword) and node.arg == "apply"), path
            assert not (isinstance(node, ast.Attribute) and node.attr in sends), path
