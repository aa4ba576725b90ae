"""Where output goes: a full disk is one line, and an encoding that lacks a letter stops nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bktools.cli import main
from bktools.cli.exits import Exit


@pytest.fixture
def write(monkeypatch, capsys):
    """Run a command whose standard output is a file; return its exit code and standard error."""

    def write(path, *words, encoding="utf-8"):
        with path.open("w", encoding=encoding) as output, monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["bktools", *words])
            patch.setattr(sys, "stdout", output)
            with pytest.raises(SystemExit) as end:
                main()
            sys.stdout.flush()
        return end.value.code, capsys.readouterr().err

    return write


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no /dev/full, a disk that is always full"
)
def test_a_full_disk_is_one_line(write):
    """Output that cannot be written is told in one line, with the code of storage."""
    told = write(Path("/dev/full"), "mappings")
    line = "the output cannot be written: no space left; free some space on its drive and run again"
    assert told == (Exit.STORAGE, f"bktools: {line}\n")


def test_letters_that_an_encoding_lacks_are_escaped(write, tmp_path):
    """All rows are there, with what the encoding has as it is and the rest escaped."""
    path = tmp_path / "rows"
    assert write(path, "categories", "--sandbox", encoding="cp1251")[0] == Exit.DONE
    rows = path.read_text(encoding="cp1251").splitlines()
    assert len(rows) == 241
    assert any("Messen IT" in row for row in rows)
    assert any("Messen Filiale M\\xfcnchen" in row for row in rows)
