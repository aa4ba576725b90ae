"""The house: floors, where libraries are imported, public names, and the three lists of endpoints."""

from __future__ import annotations

import ast
import graphlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from sources import ROOT, nodes_of, room_of, sources

import bktools
from bktools.contract import ENDPOINTS
from bktools.sandbox.routes import SERVED
from bktools.service import Service

# From the ground up. A room, or a file at the root, imports from lower floors and itself, never its own
# floor.
FLOORS = (
    {"visible", "caller", "addresses", "release", "currencies"},
    {"consoles", "views", "wording"},
    {"errors"},
    {"settings", "disk", "progress"},
    {"contract", "findings"},
    {"service", "sandbox"},
    {"connection", "frames"},
    {"snapshots", "inputs"},
    {"journal", "reconcile", "ledger"},
    {"export"},
    {"submit", "spending", "checkup"},
    {"close", "widgets"},
    {"reports", "agents"},
    {"month_end"},
    {"cli"},
    {"__init__", "__main__"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

ONLY_IN = {
    "httpx": ("service/",),
    "sqlite3": ("sandbox/store.py",),
    "apsw": ("journal/",),
    "psycopg": ("journal/",),
    "matplotlib": ("reports/",),
    "jinja2": ("views/", "reports/"),
    "mcp": ("agents/",),
    "rich": ("consoles.py", "visible.py", "cli/"),
}


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_the_guide_has_the_floors():
    """The table of the page "changing" has every room on its floor."""
    page = (ROOT / "guide" / "changing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", page, re.MULTILINE)
    # The last floor is the package itself, whose files are no rooms.
    floors = {int(floor): {*re.findall(r"`(\w+)`", rooms)} for floor, rooms in rows}
    assert floors == dict(enumerate(FLOORS[:-1]))


def test_floors():
    """A file imports from lower floors and from its own room alone."""
    wrong = []
    for place, _, tree in sources():
        room = room_of(place)
        assert room in FLOOR, f"{place} is in no room of the house"
        for name in _imports(tree):
            package, _, rest = name.partition(".")
            other = rest.split(".")[0]
            if package == "bktools" and other in FLOOR and other != room and FLOOR[other] >= FLOOR[room]:
                wrong.append(f"{place} imports {name}")
        # The package itself stands above all rooms.
        if FLOOR[room] < FLOOR["cli"]:
            used = {
                node.attr
                for node in nodes_of(tree)
                if isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "bktools"
            }
            wrong += [f"{place} uses bktools.{name}" for name in sorted(used - {"__version__"})]
    assert wrong == []


def test_no_two_files_import_each_other():
    """No two files import each other, at their top, inside of functions or for types."""
    names = {
        place: f"bktools/{place}".removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for place, *_ in sources()
    }
    modules = {*names.values()} - {"bktools"}
    graph: dict[str, set[str]] = {}
    for place, _, tree in sources():
        imported = graph.setdefault(names[place], set())
        for node in nodes_of(tree):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                # `from bktools.cli import options` imports a file of the package, not the package.
                members = {f"{node.module}.{alias.name}" for alias in node.names}
                imported |= (members & modules) | ({node.module} if members - modules else set())
        imported &= modules - {names[place]}
    # Raises when there is a circle, and names it.
    assert {*graphlib.TopologicalSorter(graph).static_order()} >= modules


def test_libraries_are_imported_where_they_belong():
    """httpx, sqlite3, matplotlib stay in their rooms, and pandas from the floor of frames up."""
    wrong = []
    for place, _, tree in sources():
        for name in _imports(tree):
            library = name.split(".")[0]
            if library in ONLY_IN and not place.startswith(ONLY_IN[library]):
                wrong.append(f"{place} imports {library}")
            if library == "pandas" and FLOOR[room_of(place)] < FLOOR["frames"]:
                wrong.append(f"{place} imports pandas")
    assert wrong == []


# Each had several meanings: say what the thing is.
WORN_OUT = {"said", "told", "taken", "alike", "rest", "out", "found"}


def test_names_say_what_the_thing_is():
    """No function, class, parameter, variable or attribute has a worn-out word alone as its name."""
    worn = []
    for place, _, tree in sources():
        for node in nodes_of(tree):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    pass
                case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                    pass
                case ast.Attribute(attr=name, ctx=ast.Store()):
                    pass
                case _:
                    continue
            if name.strip("_").lower() in WORN_OUT:
                worn.append(f"{place}, line {getattr(node, 'lineno', 0)}: {name}")
    assert worn == []


def test_the_sandbox_takes_no_rules_from_the_client():
    """Client and server share no mistake: the sandbox imports no validation or paging of the contract."""
    taken = {name for place, _, tree in sources() if room_of(place) == "sandbox" for name in _imports(tree)}
    rules = ("bktools.contract.rules", "bktools.contract.paging")
    assert not {name for name in taken if name.startswith(rules)}


def test_public_names_are_all_there():
    """Each public name exists, and no other one does."""
    for name in bktools.__all__:
        assert getattr(bktools, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        bktools.nothing  # noqa: B018 - reading it is the test


def test_completion_shows_public_names_only():
    """After use, `dir(bktools)`, which completion reads, has the public names and the errors."""
    code = "import bktools, bktools.cli; bktools.connect; print(*dir(bktools))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = [name for name in done.stdout.split() if not name.startswith("__")]
    assert names == sorted([*bktools.__all__, "errors"])


def test_three_lists_of_endpoints_are_one():
    """Contract, client and sandbox have the same operations; the sandbox takes methods and paths from it."""
    operations = {endpoint.operation for endpoint in ENDPOINTS}
    members = inspect.getmembers(Service, inspect.isfunction)
    methods = {name for name, _ in members if not name.startswith("_")}
    assert methods == operations | {"pages", "close"}
    assert SERVED.keys() == operations, "described in sandbox/nouns.py, or an operation in sandbox/routes.py"


def test_import_does_nothing_heavy():
    """`import bktools` loads no library that takes long and starts nothing."""
    heavy = ["pandas", "pyarrow", "httpx", "matplotlib", "polars", "starlette", "uvicorn", "sqlite3"]
    code = f"import sys, bktools; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
