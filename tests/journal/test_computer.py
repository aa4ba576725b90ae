"""The identity of this computer."""

from __future__ import annotations

import sys

import pytest

from bktools.journal import computer
from bktools.journal.computer import this_computer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the file of Linux is read")


@pytest.mark.parametrize("content", ["b2f1c9\n", "", None])
def test_a_system_has_an_identity_or_none(tmp_path, monkeypatch, content):
    """It is a digest, and a container without the file, or with an empty one, has none."""
    monkeypatch.setattr(computer, "MACHINE_ID", tmp_path / "machine-id")
    if content is not None:
        (tmp_path / "machine-id").write_text(content)
    this_computer.cache_clear()
    try:
        assert (len(this_computer()), "b2f1c9" in this_computer()) == (16 if content else 0, False)
    finally:
        this_computer.cache_clear()
