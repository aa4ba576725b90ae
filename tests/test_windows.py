"""What Windows does otherwise: open files, names of devices, code pages, the words of its shell."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pandas as pd
import pytest

import bktools
from bktools import caller, disk
from bktools.errors import StorageError
from bktools.visible import printable

CODES = pd.DataFrame({"code": ["0400"]})


@pytest.fixture
def on_windows(monkeypatch):
    """Refuse to replace a file that this process holds open, as Windows does."""
    replace = os.replace

    def refusing(source, target):
        held = {os.path.realpath(entry.path) for entry in os.scandir("/proc/self/fd")}
        if os.path.realpath(target) in held:
            error = PermissionError(13, "The process cannot access the file", str(target))
            error.winerror = 32
            raise error
        replace(source, target)

    monkeypatch.setattr(disk, "ON_WINDOWS", True)
    monkeypatch.setattr(disk, "PATIENCE", 0.2)
    monkeypatch.setattr(Path, "replace", refusing)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs the list of open files of Linux")
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


@pytest.mark.parametrize("name", ["NUL.csv", "codes.csv.", "totals: October.csv"])
def test_a_table_is_never_written_to_a_device(name, tmp_path, monkeypatch):
    """Windows would send the table to a device, or change the name: it is refused with a name that works."""
    monkeypatch.setattr(disk, "ON_WINDOWS", True)
    said = f"on Windows: choose another name, such as {disk.file_name(name)}$"
    with pytest.raises(StorageError, match=said):
        bktools.to_csv(CODES, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_code_page_without_a_letter_is_no_error():
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
