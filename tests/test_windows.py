"""What Windows refuses, emulated here: open files, device names, code pages, no database of zones."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading

import pandas as pd
import pytest
import windows
from sources import sources

import bktools
from bktools import caller, disk
from bktools.errors import StorageError
from bktools.reports.folder import MANIFEST, WORKBOOK
from bktools.visible import printable

CODES = pd.DataFrame({"code": ["0400"]})
ZONES = "/usr/share/zoneinfo"


@pytest.fixture
def on_windows(monkeypatch):
    """Refuse what Windows refuses."""
    windows.refuse(monkeypatch)


def _with_mount(mount, *command, **variables):
    """Run a command in a namespace of its own with something mounted; skip where the system allows none."""
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*unshare, f"mount {mount}"], check=False).returncode
    ):
        pytest.skip("this system gives no namespaces to mount in")
    return subprocess.run(
        [*unshare, f'mount {mount} && exec "$@"', "sh", *map(str, command)],
        env=os.environ | variables,
        capture_output=True,
        check=False,
    )


@pytest.mark.long
def test_two_months_are_closed_under_all_of_it_at_once(tmp_path):
    """Two closes, a ledger and sums, without zones, POSIX modules or UTF-8: all folders are whole."""
    variables = {"PYTHONIOENCODING": "cp1252", "PYTHONWARNDEFAULTENCODING": "1"}
    command = (sys.executable, windows.__file__, tmp_path)
    done = _with_mount(f"-t tmpfs none {ZONES}", *command, **variables)
    assert done.returncode == 0, done.stderr.decode()
    told = done.stdout.decode("cp1252")
    assert told.count("  exported: ") == 4
    assert "Steuerbüro Hoffmann" in told
    folders = sorted(tmp_path.glob("2026-*"))
    assert [path.name for path in folders] == ["2026-09", "2026-10"]
    for folder in folders:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        assert manifest["applied"]
        assert set(manifest["files"]) < {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    rows = pd.read_csv(folders[0] / "export_jobs.csv")
    assert rows["sent_at"].str.fullmatch(r"2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").all()
    assert [path for path in tmp_path.rglob("*") if path.name.startswith((disk.TEMPORARY, ".2026"))] == []


@pytest.fixture
def given(service, samples):
    chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)
    # Few are quick to create and to export.
    return chart.head(30), bktools.read_entries(samples[1]).head(40)


@pytest.mark.long
def test_a_month_whose_file_is_open_is_never_half_closed(sandbox, service, given, tmp_path, on_windows):
    """Open before: nothing is sent. Opened while sending: the new folder gets another name."""
    folder = bktools.close_month(*given, folder=tmp_path / "october", service=service).folder
    known = len(sandbox.server.accounts())
    open_file = rf"{WORKBOOK} is open in another program, .*: close it there \(in Excel"
    with (folder / WORKBOOK).open("rb"), pytest.raises(StorageError, match=open_file):
        bktools.close_month(*given, folder=folder, apply=True, service=service)
    assert sandbox.server.export_jobs() == []
    assert len(sandbox.server.accounts()) == known
    with contextlib.ExitStack() as excel:

        def opens(step, _):
            if step == "jobs":
                excel.enter_context((folder / WORKBOOK).open("rb"))

        said = "1 export job was sent and is recorded in the journal"
        with pytest.raises(StorageError, match=said) as raised:
            bktools.close_month(*given, folder=folder, apply=True, seen=opens, service=service)
    assert not json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["applied"]
    (beside,) = (path for path in tmp_path.iterdir() if path != folder)
    assert f"the close was written to {beside}" in str(raised.value)
    assert json.loads((beside / MANIFEST).read_text(encoding="utf-8"))["applied"]
    assert len(sandbox.server.export_jobs()) == 1


def test_a_file_that_is_open_elsewhere_is_waited_for(tmp_path, on_windows, monkeypatch):
    """A virus scanner that lets go is no error; Excel that does not is one line, the file as it was."""
    path = bktools.to_csv(CODES, tmp_path / "codes.csv")
    before = path.read_bytes()
    refused = pytest.raises(StorageError, match=r"it is open in another program.*close it there")
    with path.open("rb"), refused as raised:
        bktools.to_csv(CODES, path, "machine")
    assert "\n" not in str(raised.value)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.setattr(disk, "PATIENCE", 10.0)
    scanner = path.open("rb")
    closing = threading.Timer(0.1, scanner.close)
    closing.start()
    bktools.to_csv(CODES, path, "machine")
    closing.join()
    assert path.read_bytes() == b"code\n0400\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *(("CON", "_CON"), ("aux.csv", "_aux.csv"), ("com1", "_com1"), ("Nul.tar.gz", "_Nul.tar.gz")),
        *(("Müller & Co. KG.", "Müller & Co. KG"), ("a/b\\c:d*?", "a_b_c_d__"), (" .. ", "_"), ("", "_")),
        *(("console", "console"), ("com10", "com10"), ("東京支店", "東京支店")),
    ],
)
def test_a_name_of_a_file_works_on_every_system(text, name):
    """Names of devices, characters that Windows reserves, and dots and spaces at the end are replaced."""
    assert disk.file_name(text) == name
    assert disk.file_name(name) == name


@pytest.mark.parametrize("name", ["NUL.csv", "con", "codes.csv.", "totals: October.csv"])
def test_a_table_is_never_written_to_a_device(name, tmp_path, on_windows):
    """Windows would send the table to a device, or change the name: it is refused with a name that works."""
    said = f"on Windows: choose another name, such as {disk.file_name(name)}$"
    with pytest.raises(StorageError, match=said):
        bktools.to_csv(CODES, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_code_page_without_a_letter_is_no_error(monkeypatch):
    """What standard output cannot show is an escape or a plain sign; everything else stays."""
    text = "✖ 0400 → Größe 会議\x1b[0m …"
    assert printable(text, "cp1252") == r"x 0400 -> Größe \u4f1a\u8b70\x1b[0m …"
    assert printable(text, "utf-8") == "✖ 0400 → Größe 会議\\x1b[0m …"


def test_a_command_to_copy_is_for_the_shell_of_the_system(monkeypatch):
    """On Windows, words are quoted as PowerShell reads them: nothing in them is run or left out."""
    assert caller.in_shell("it's 1") == """'it'"'"'s 1'"""
    monkeypatch.setattr(caller, "ON_WINDOWS", True)
    assert caller.in_shell("it's $(1)") == "'it''s $(1)'"
    assert caller.in_shell("@a,b") == "'@a,b'"
    assert caller.in_shell("it\u2019s") == "'it\u2019\u2019s'"
    assert caller.in_shell(r"C:\plans\october.plan") == r"C:\plans\october.plan"
    assert caller.set_variables({"A": "http://h:1", "B": "it's"}) == "$env:A = 'http://h:1'; $env:B = 'it''s'"


ZONED = {"strftime", "assume_timezone", "local_timestamp", "year", "month", "day", "hour", "day_of_week"}


def _uses():
    """Yield each use of a module's attribute in the package: file, top-level statement, module, name."""
    for place, source, tree in sources():
        lines = source.splitlines()
        for statement in tree.body:
            text = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
            for node in ast.walk(statement):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    yield place, text, node.value.id, node.attr
                elif isinstance(node, ast.Import):
                    yield from ((place, text, "import", alias.name) for alias in node.names)


def test_no_call_of_posix_stands_alone():
    """Each has its counterpart for Windows in the same function, and none looks for Arrow's zones."""
    uses = list(_uses())
    assert len(uses) > 1000
    alone = [
        (place, name)
        for place, text, module, name in uses
        if (module == "pc" and name in ZONED)
        or (
            module == "os"
            and name in windows.CALLS
            and not ("ON_WINDOWS" in text or f'hasattr(os, "{name}")' in text)
        )
        or (module == "import" and name in windows.MODULES and "except ImportError" not in text)
        or (module == "signal" and name not in {"SIGINT", "SIGTERM"})
    ]
    assert alone == []
