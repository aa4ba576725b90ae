"""Snapshots on disk: whole, private, and never mixed."""

from __future__ import annotations

import stat

import pytest

import bktools
from bktools.tables.snapshots import Question, Shelf


@pytest.fixture
def shelf(service):
    bktools.load_categories(service=service)
    return Shelf(service.settings, Question("search_categories", {"company_id": service.settings.company}))


def test_unchanged_content_adds_a_line_and_no_file(shelf, service):
    bktools.load_categories(refresh=True, service=service)
    assert len(shelf.history()) == 2
    assert len(list(shelf.folder.glob("*.parquet"))) == 1


def test_files_are_readable_by_the_owner_alone(shelf):
    for path in shelf.folder.parent.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_nothing_is_left_over(shelf):
    assert not list(shelf.folder.glob("tmp-*"))


def test_a_damaged_file_is_set_aside_and_fetched_again(shelf, service):
    """A flipped bit anywhere in the data is found, and the next load is whole again."""
    whole = bktools.load_categories(service=service)
    path = shelf.path(shelf.newest())
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 3] ^= 1
    path.write_bytes(raw)
    assert shelf.read(shelf.newest()) is None
    assert list(shelf.folder.glob("damaged-*"))
    again = bktools.load_categories(service=service)
    assert again["id"].tolist() == whole["id"].tolist()
    assert shelf.read(shelf.newest()).num_rows == len(whole)


def test_no_text_from_outside_in_a_file_name(shelf, service):
    names = [path.name for path in shelf.folder.parent.rglob("*")]
    assert all(set(name.split(".")[0]) <= set("0123456789abcdefghijklmnopqrstuvwxyz") for name in names)
    assert not any(service.settings.company in name for name in names)
