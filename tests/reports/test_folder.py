"""The month-end folder: whole or none, what is in it, and the earlier one kept."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from october import October

from bktools.close.close import Close
from bktools.errors import InputError, StorageError
from bktools.reports import folder as folder_module
from bktools.reports.folder import MANIFEST, README, WORKBOOK, check_target, folder_of, write_folder
from bktools.reports.workbook import workbook_of


@pytest.fixture(scope="module")
def small(close: Close) -> Close:
    """The close with the first rows of its tables, which is written sooner."""
    return replace(
        close,
        actions=close.actions[:1],
        tables={name: table.slice(0, 3) for name, table in close.tables.items()},
    )


def _manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_every_file_is_in_the_manifest_and_in_the_readme(folder: Path):
    """The manifest names each file with digest and size, README.txt explains it; nothing else is there."""
    listed = _manifest(folder)["files"]
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert there == {*listed, MANIFEST}
    for name, described in listed.items():
        content = (folder / name).read_bytes()
        assert described["sha256"] == hashlib.sha256(content).hexdigest()
        assert described["bytes"] == len(content)
    lines = (folder / README).read_text(encoding="utf-8").splitlines()
    told = {line.split("  ")[0].strip() for line in lines}
    assert there - {README} <= told


def test_the_manifest_says_what_was_done(october: October, samples: tuple[Path, Path]):
    """Persons, plan, files that were read, sources, and where the known accounts come from."""
    close = october.fixed
    manifest = _manifest(close.folder)
    persons = [manifest[name] for name in ("state", "approved_by", "prepared_by", "applied", "company")]
    assert persons == ["approved", "Hedy", "Grace", True, close.company]
    assert (manifest["begun_at"], manifest["plan_id"]) == (
        close.run.begun_at.isoformat(),
        close.run.plan.plan_id,
    )
    assert [job["outcome"] for job in manifest["jobs"]] == ["ACCEPTED"]
    assert manifest["done_by"]
    for name, source in zip(("chart", "entries"), samples, strict=True):
        about, digest = manifest["inputs"][name], hashlib.sha256(source.read_bytes()).hexdigest()
        copy = close.folder / about["file"]
        assert copy.read_bytes() == source.read_bytes()
        assert about["sha256"] == manifest["files"][copy.name]["sha256"] == digest
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert manifest["sources"][name]["source"] == str(source)


def test_the_same_close_gives_the_same_workbook(folder: Path, close: Close):
    """Two runs of the writer give the same bytes, so that a digest in a manifest means something."""
    assert workbook_of(close) == (folder / WORKBOOK).read_bytes()


def test_an_earlier_close_is_kept(small: Close, folder: Path, tmp_path: Path):
    """A second close of the month takes the folder's name; the first stands beside it under its time."""
    folder = Path(shutil.copytree(folder, tmp_path / "october"))
    first = (folder / MANIFEST).read_bytes()
    begun = small.run.begun_at.replace(year=2030)
    write_folder(replace(small, run=replace(small.run, begun_at=begun)), folder)
    moved = f"october.{small.run.begun_at:%Y-%m-%dT%H%M%S.%fZ}"
    assert {path.name for path in tmp_path.glob("october*")} == {"october", moved}
    assert (tmp_path / moved / MANIFEST).read_bytes() == first
    assert _manifest(folder)["begun_at"] == begun.isoformat()


def test_a_run_that_changed_nothing_leaves_no_folder(small: Close, tmp_path: Path):
    """What wrote to the service is kept as evidence; what came after it, with the same month, is replaced."""
    wrote = small.run
    for year, run in enumerate((wrote, *[replace(wrote, created=(), jobs=())] * 3), start=2030):
        begun = wrote.begun_at.replace(year=year)
        write_folder(replace(small, run=replace(run, begun_at=begun)), tmp_path / "october")
    kept, folder = sorted(tmp_path.iterdir(), key=lambda path: len(path.name), reverse=True)
    assert (_manifest(kept)["begun_at"][:4], _manifest(folder)["begun_at"][:4]) == ("2030", "2033")


def test_a_dry_run_takes_the_place_of_an_untouched_one(small: Close, tmp_path: Path):
    """Dry runs leave one folder; one whose workbook somebody filled in, or that has a file more, is kept."""
    planned = replace(small, run=replace(small.run, applied=False))
    folder = tmp_path / "october"
    for _ in range(2):
        write_folder(planned, folder)
    assert [path.name for path in tmp_path.iterdir()] == ["october"]
    (folder / "notes.txt").write_text("asked Ada")
    write_folder(planned, folder)
    assert len([*tmp_path.iterdir()]) == 2
    assert not (folder / "notes.txt").exists()


def test_whole_or_none(small: Close, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A disk that is full in the middle leaves the earlier close as it was and nothing half-written."""
    folder = Path(shutil.copytree(folder, tmp_path / "october"))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    left = iter(range(3))
    real = folder_module.csv_of

    def full(*args, **kwargs):
        if next(left, None) is None:
            raise OSError(28, "No space left on device")
        return real(*args, **kwargs)

    monkeypatch.setattr(folder_module, "csv_of", full)
    with pytest.raises(StorageError, match="no space left; free some"):
        write_folder(small, folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert [path.name for path in tmp_path.iterdir() if "october" in path.name] == ["october"]


def test_folders_of_something_else_are_refused(tmp_path: Path):
    """A close is not written over somebody's files."""
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")
    with pytest.raises(InputError, match="holds something else than a close"):
        check_target(tmp_path / "photos", "production", "a")
    with pytest.raises(InputError, match="is a file"):
        check_target(tmp_path / "photos" / "cat.jpg", "production", "a")
    (tmp_path / "empty").mkdir()
    check_target(tmp_path / "empty", "production", "a")


def test_the_close_of_other_books_stays(small: Close, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A trial in the sandbox, or a close of another company, never takes the place of real evidence."""
    folder = write_folder(
        replace(small, environment="production", company_name="Muster"), tmp_path / "october"
    )
    said = r"holds the close of Muster in production: .*, such as --out .*october-acme"
    own = small.company
    for environment, company in (("sandbox", own), ("production", "another"), ("staging", own)):
        with pytest.raises(InputError, match=said):
            check_target(folder, environment, company, "acme")
    check_target(folder, "production", small.company)
    monkeypatch.chdir(tmp_path)
    folder.rename("month-end-2026-10")
    for books, name in (
        ((own, "acme"), ""),
        (("another", "acme"), "-acme"),
        (("another",) * 2, "-production"),
    ):
        assert folder_of("2026-10", "production", *books) == Path(f"month-end-2026-10{name}")
    invented = write_folder(small, tmp_path / "trial")
    check_target(invented, "production", "another")


def test_a_file_that_changed_since_it_was_read_is_not_copied(small: Close, tmp_path: Path):
    """The folder holds what was read or nothing, and the manifest says so."""
    changed = tmp_path / "entries.csv"
    changed.write_text("something else")
    sources = {**small.run.sources, "entries": {**small.run.sources["entries"], "source": str(changed)}}
    folder = write_folder(replace(small, run=replace(small.run, sources=sources)), tmp_path / "october")
    about = _manifest(folder)["inputs"]["entries"]
    assert (about["file"], about["note"][:10]) == (None, "not copied")
    assert not (folder / "input_entries.csv").exists()
    assert (folder / "input_chart.csv").exists()


def test_a_manifest_that_cannot_be_read_is_not_put_aside(small: Close, tmp_path: Path):
    """What is not certainly a close stays where it is."""
    folder = tmp_path / "october"
    folder.mkdir()
    (folder / MANIFEST).write_text("{}")
    for write in (
        lambda: check_target(folder, "sandbox", small.company),
        lambda: write_folder(small, folder),
    ):
        with pytest.raises(StorageError, match="cannot be read"):
            write()
    assert (folder / MANIFEST).read_text() == "{}"
