"""Journals of the tests: of one machine, of machines that share a database, and a clock that is set."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from batches import ADDRESS

from bktools.journal import clock
from bktools.journal.writable import WritableJournal
from bktools.journal.writing import open_for_writing
from bktools.settings import Settings, load_settings


@pytest.fixture
def settings(tmp_path, backend) -> Settings:
    """The settings of a journal in folders of its own, or in the test's database."""
    folders = {f"{kind}_dir": tmp_path / kind for kind in ("data", "sent_log")}
    return load_settings(ADDRESS, env={}, **folders, journal=backend)


@pytest.fixture
def opened(settings) -> Iterator[WritableJournal]:
    """The open journal of these settings."""
    with open_for_writing(settings) as journal:
        yield journal


@pytest.fixture
def journal(service) -> Iterator[WritableJournal]:
    """The open journal of a sandbox."""
    with open_for_writing(service.settings) as opened:
        yield opened


@pytest.fixture
def machine(tmp_path, backend) -> Callable[..., Settings]:
    """A function that gives the settings of a machine with a memory of its own.

    Machines share the journal: the database, or the folder with the file.
    """

    def settings(name: str = "first", *, url: str = ADDRESS, own: bool = False, **others: Any) -> Settings:
        folders = {f"{kind}_dir": tmp_path / name / kind for kind in ("cache", "sent_log")}
        data = tmp_path / (name if own else "shared") / "data"
        return load_settings(
            url, env={}, data_dir=data, journal=None if own else backend, **folders, **others
        )

    return settings


@pytest.fixture
def today(monkeypatch) -> Callable[[str], None]:
    """A function that sets the clock to a moment of which the journal writes."""

    def set_to(moment: str) -> None:
        now = dt.datetime.fromisoformat(f"{moment}+00:00")
        monkeypatch.setattr(clock, "now", lambda: now)

    return set_to
