"""Files that are whole or not there, and who may read them."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import bktools
from bktools import disk
from bktools.cli import formats
from bktools.errors import StorageError, UnreachableError
from bktools.service import Service


@pytest.fixture(params=[0o022, 0o027, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """What the user takes away from others, in three habits."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_that_is_not_private_is_what_the_user_makes_files(umask: int, tmp_path: Path):
    """The umask decides who may read it; a private one is its owner's in any case."""
    shared = disk.write_whole(tmp_path / "shared", lambda file: file.write(b"x"), private=False)
    assert _mode(shared) == 0o666 & ~umask
    assert _mode(disk.write_whole(tmp_path / "private", lambda file: file.write(b"x"))) == 0o600


def test_folders_above_a_private_one_are_private(tmp_path: Path):
    """Those that are made are; those that were there are as they were."""
    tmp_path.chmod(0o755)
    made = disk.private_folder(tmp_path / "cache" / "bktools" / "categories")
    assert [_mode(folder) for folder in (made, made.parent, made.parent.parent)] == [0o700] * 3
    assert _mode(tmp_path) == 0o755
    assert disk.private_folder(made) == made


def test_only_the_disk_s_errors_are_about_the_disk(tmp_path: Path):
    """An error of bktools that passes through stays as it is, though Python calls it a system error."""

    def refused(_: object) -> None:
        raise PermissionError(13, "Permission denied")

    def unreachable(_: object) -> None:
        raise UnreachableError("no connection stood")

    with pytest.raises(StorageError, match="file cannot be written: permission denied; grant"):
        disk.write_whole(tmp_path / "file", refused)
    with pytest.raises(UnreachableError):
        disk.write_whole(tmp_path / "file", unreachable)
    assert list(tmp_path.iterdir()) == []


ID = "123e4567-e89b-42d3-a456-426614174000"
CHART = pd.DataFrame({"external_id": ["0400"], "code": ["0400"], "name": ["Bank"], "archived": [False]})
ACCOUNTS = pd.DataFrame({"company_id": [], "external_id": [], "state": []}, dtype="str")
CATEGORIES = pd.DataFrame(
    {"id": [ID], "company_id": [ID], "category_group_id": [ID], "name": ["Fees"], "archived": [False]}
)
WRITERS: dict[str, Callable[[Path, bktools.Service], object]] = {
    "to_csv": lambda folder, _: bktools.to_csv(CHART, folder / "chart.csv"),
    "to_excel": lambda folder, _: bktools.to_excel(CHART, folder / "chart.xlsx"),
    "plan": lambda folder, _: bktools.compose_export_jobs(CATEGORIES[["id", "company_id"]]).to_csv(folder),
    "reconciliation": lambda folder, _: bktools.reconcile_accounts(CHART, ACCOUNTS, CATEGORIES).to_csv(
        folder
    ),
    "parquet": lambda folder, _: formats.write_table(CHART, folder / "chart.parquet", ".parquet", "machine"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_every_file_is_on_the_disk_with_its_name(
    writer: str, service: bktools.Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whoever writes a file syncs it before it takes its name, and then the folder that holds the name."""
    synced: list[bool] = []
    real = os.fsync

    def watched(descriptor: int) -> None:
        about = os.fstat(descriptor)
        if stat.S_ISREG(about.st_mode) or os.path.samestat(about, tmp_path.stat()):
            synced.append(stat.S_ISDIR(about.st_mode))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    WRITERS[writer](tmp_path, service)
    files = list(tmp_path.iterdir())
    assert synced[-2 * len(files) :] == [False, True] * len(files)
    assert {_mode(path) for path in files} == {0o600}


def test_an_existing_file_keeps_its_mode(tmp_path: Path):
    """Who may read a replaced file may read the new one, private or not; a new file is private."""
    path = tmp_path / "table.csv"
    path.write_bytes(b"old")
    path.chmod(0o640)
    disk.write_whole(path, lambda file: file.write(b"new"))
    assert (path.read_bytes(), _mode(path)) == (b"new", 0o640)


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path):
    """What a link leads to is replaced as a whole, in its own folder, also where it is not there yet."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    (shelf / "table.csv").write_bytes(b"old")
    (shelf / "table.csv").chmod(0o644)
    for target, mode in (("table.csv", 0o644), ("new.csv", 0o600)):
        link = tmp_path / f"link to {target}"
        link.symlink_to(Path("shelf", target))
        disk.write_whole(link, lambda file: file.write(b"new"))
        assert link.is_symlink()
        assert ((shelf / target).read_bytes(), _mode(shelf / target)) == (b"new", mode)
    assert sorted(path.name for path in shelf.iterdir()) == ["new.csv", "table.csv"]


def test_the_advice_fits_the_disk(service: Service, small_disk: Path):
    """A full disk asks for space, a read-only one for another place, for all kinds of files."""

    def load() -> None:
        with Service(replace(service.settings, cache_dir=small_disk / "cache")) as own:
            bktools.load_categories(service=own)

    writes = [
        lambda: bktools.to_csv(CHART, small_disk / "chart.csv"),
        load,
    ]
    with contextlib.suppress(OSError):
        (small_disk / "filled").write_bytes(bytes(2**17))
    ways = ("free some space on its drive", "on another one")
    for way_out, others in (ways, ways[::-1]):
        for write in writes:
            with pytest.raises(StorageError, match=way_out) as caught:
                write()
            assert not [words for words in (others, "reset", "grant", "\n") if words in str(caught.value)]
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)


def test_only_an_ordinary_file_is_replaced(tmp_path: Path):
    """A pipe, as a device or a folder, stays as it is, and the name is refused in one line."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(StorageError, match="is no ordinary file: choose another name"):
            disk.write_whole(path, lambda file: file.write(b"rows"))
    assert stat.S_ISFIFO(pipe.stat().st_mode)
