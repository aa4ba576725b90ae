"""Journals of the tests: of one machine, and of machines that share a database."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from batches import ADDRESS
from postgres_server import PASSWORD

from bktools.journal.writing import WritableJournal, open_for_writing
from bktools.settings import Settings, load_settings


@pytest.fixture
def settings(tmp_path, backend) -> Settings:
    """The settings of a journal in folders of its own, or in the test's database."""
    folders = {f"{kind}_dir": tmp_path / kind for kind in ("data", "sent_log")}
    return load_settings(ADDRESS, env={}, **folders, journal=backend)


@pytest.fixture
def journal(service) -> Iterator[WritableJournal]:
    """The open journal of a sandbox."""
    with open_for_writing(service.settings) as opened:
        yield opened


@pytest.fixture
def machine(tmp_path, postgres, database) -> Callable[..., Settings]:
    """A function that gives the settings of a machine: its folders, and the database or its own file."""

    def settings(
        name: str = "first",
        address: str | None = None,
        *,
        file: bool = False,
        url: str = ADDRESS,
        **others: Any,
    ) -> Settings:
        folders = {f"{kind}_dir": tmp_path / name / kind for kind in ("data", "cache", "sent_log")}
        journal = None if file else address or postgres.address(database)
        return load_settings(url, env={}, **folders, journal=journal, **others)

    return settings


@pytest.fixture
def role(postgres, database) -> Iterator[Callable[[str], str]]:
    """A function that makes a user of the database without rights, and gives the user's address."""
    made = []

    def role(name: str) -> str:
        made.append(f"{name}_{os.getpid()}")
        postgres.sql(f"CREATE ROLE {made[-1]} LOGIN PASSWORD '{PASSWORD}'", database)
        return postgres.address(database, made[-1])

    yield role
    for name in made:
        postgres.sql(f"DROP OWNED BY {name}", database)
        postgres.sql(f"DROP ROLE {name}")
