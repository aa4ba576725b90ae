"""A close that an assistant prepares and a person sends; the server's process has no code that sends."""

from __future__ import annotations

import ast
import json
import os
import sys

import anyio
import pytest
from conversations import CHART, ENTRIES, MONTH, answered
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from sources import ROOT

import bktools
from bktools.agents.reading import READS, ReadingService
from bktools.contract import ENDPOINTS
from bktools.errors import ArgumentError

# Runs a command and writes at its end which modules of bktools it has.
LISTING = """
import sys
from bktools.cli import main
try:
    main()
finally:
    open({path!r}, "w").write("\\n".join(name for name in sys.modules if name.startswith("bktools")))
"""


def test_a_close_is_prepared_in_eight_calls_and_sent_by_one_command(world, tmp_path):
    """The figures are those of `month-end`; a person's one command sends it; nothing was sent before."""
    printed = world.person(f"bktools mcp --folder {world.folder} --print-config")
    settings = json.loads(printed.output)["mcpServers"]["bktools"]
    assert settings["command"] == sys.executable
    assert settings["args"][:3] == ["-m", "bktools", "mcp"]
    assert world.server.token not in printed.output
    listing = LISTING.format(path=str(tmp_path / "modules"))
    started = StdioServerParameters(
        command=sys.executable, args=["-c", listing, *settings["args"][2:]], env=os.environ | world.variables
    )

    async def talk():
        async with Client(stdio_client(started)) as client:
            called = [
                ("check", {}),
                ("read_file", {"path": CHART, "kind": "chart"}),
                ("read_file", {"path": ENTRIES, "kind": "entries"}),
                ("reconcile", {"chart": CHART}),
                ("plan_export", {"entries": ENTRIES, "month": "2026-10"}),
                ("close_month", MONTH),
            ]
            return [answered(await client.call_tool(name, arguments)) for name, arguments in called][-1]

    facts = anyio.run(talk)
    assert world.created == []
    loaded = (tmp_path / "modules").read_text().split()
    assert "bktools.agents.server" in loaded
    assert [
        name for name in loaded if name.startswith(("bktools.submit", "bktools.close", "bktools.reports"))
    ] == []

    files = f"--chart {world.folder / CHART} --entries {world.folder / ENTRIES}"
    planned = world.person(
        f"bktools month-end {files} --month 2026-10 --out {tmp_path / 'planned'} --format json"
    )
    figures = json.loads(planned.output)
    names = ("entries", "reasons", "to_do", "by_role", "against")
    assert {name: facts[name] for name in names} == {name: figures[name] for name in names}

    done = world.person(facts["person_runs"], "--format", "json")
    assert done.code == 0, done.output
    sent = json.loads(done.output)
    assert sent["entries"]["all"] == facts["entries"]["all"]
    assert sent["entries"]["exported"]["entries"] > 200
    assert len(world.created) == facts["accounts_to_create"] + len(sent["jobs"])


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
