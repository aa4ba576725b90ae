"""Snapshots on disk: whole, private, and never mixed."""

from __future__ import annotations

import stat

import pytest

import bktools
from bktools.errors import StorageError
from bktools.store import FolderStore, Query


@pytest.fixture
def query(service):
    bktools.load_categories(service=service)
    return Query("search_categories", {"company_id": service.settings.company})


@pytest.fixture
def store(service):
    return FolderStore(service.settings)


@pytest.fixture
def folder(store, query):
    return store.folder(query)


def test_unchanged_content_adds_a_line_and_no_file(store, query, folder, service):
    bktools.load_categories(refresh=True, service=service)
    assert len(store.history(query).snapshots) == 2
    assert len(list(folder.glob("*.parquet"))) == 1


def test_files_are_readable_by_the_owner_alone(folder):
    for path in folder.parent.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_nothing_is_left_over(folder):
    assert not list(folder.glob("tmp-*"))


def test_a_damaged_file_is_set_aside_and_fetched_again(store, query, folder, service):
    """A flipped bit anywhere in the data is found, and the next load is whole again."""
    whole = bktools.load_categories(service=service)
    newest = store.history(query).snapshots[-1]
    path = store.path(query, newest)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 3] ^= 1
    path.write_bytes(raw)
    with pytest.raises(StorageError, match="cannot be read"):
        list(store.read(query, newest))
    assert list(folder.glob("damaged-*"))
    again = bktools.load_categories(service=service)
    assert again["id"].tolist() == whole["id"].tolist()
    newest = store.history(query).snapshots[-1]
    assert sum(rows.num_rows for rows in store.read(query, newest)) == len(whole)


def test_no_text_from_outside_in_a_file_name(folder, service):
    names = [path.name for path in folder.parent.rglob("*")]
    assert all(set(name.split(".")[0]) <= set("0123456789abcdefghijklmnopqrstuvwxyz") for name in names)
    assert not any(service.settings.company in name for name in names)
