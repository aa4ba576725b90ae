"""What the store promises of a query's history: which snapshots are its, which files are removed, how errors come out."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import filelock
import pyarrow.parquet as pq
import pytest
from test_kills_and_damage import COMPANY, QUERY, commit, history, read, rows_of, store_in

from bktools.errors import DamagedStoreWarning, StorageError
from bktools.store import Facts, History, Query

LONG_AGO = (0, 0)


def line(body):
    """Return a line of a history whose checksum is right."""
    text = json.dumps(body, sort_keys=True)
    return json.dumps({"body": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}).encode() + b"\n"


def test_a_query_is_the_same_in_any_order_of_its_filters(tmp_path):
    """The same filters in another order find the same snapshots, which are listed, under a key that never changes."""
    store = store_in(tmp_path)
    filters = {"email": "zoë@example.com", "company_id": COMPANY}
    query = Query("search_employees", filters)
    other = Query("search_employees", dict(reversed(filters.items())))
    assert store.folder(query) == store.folder(other)
    assert query.canonical() == other.canonical()
    assert query.canonical() == (
        f'["search_employees", {{"company_id": "{COMPANY}", "email": "zo\\u00eb@example.com"}}]'
    )

    def write(path):
        pq.write_table(rows_of(1), path)
        return Facts("2026-10-31T12:00:00+00:00", 200)

    taken = store.append(query, write)
    assert store.history(other).snapshots == (taken,)
    assert store.queries() == [query]


def test_a_history_from_before_lines_had_checksums(tmp_path):
    """It is read without a warning, its query is listed, and the next commit keeps its snapshots in their order."""
    store = store_in(tmp_path)
    for version in (1, 2):
        commit(store, version)
    before = history(store)
    path = store.folder(QUERY) / "manifest.json"
    said = [json.loads(json.loads(text)["body"]) for text in path.read_text().splitlines()]
    lines = [body for body in said[: len(said) // 2] if "number" in body]
    path.write_bytes(line({"operation": QUERY.operation, "filters": QUERY.narrowed_to, "snapshots": lines}) * 2)
    assert store.history(QUERY) == History(QUERY, before, damage="", lost=False)
    assert store.queries() == [QUERY]
    newest = commit(store, 3)
    assert store.history(QUERY) == History(QUERY, (*before, newest))
    assert read(store, before[0]).equals(rows_of(1))


@pytest.mark.parametrize("said", [7, ["number"], "number", None])
def test_a_line_that_says_nothing_of_a_snapshot_is_damage(tmp_path, said):
    """A line with a right checksum that holds no object is reported as damage, and hides no snapshot."""
    store = store_in(tmp_path)
    commit(store, 1)
    before = history(store)
    path = store.folder(QUERY) / "manifest.json"
    path.write_bytes(path.read_bytes() + line(said))
    with pytest.warns(DamagedStoreWarning, match=f"snapshots {path} is damaged: .* second copy"):
        assert history(store) == before


@pytest.mark.parametrize("has_lost", [False, True], ids=["whole", "history lost"])
def test_only_own_files_that_nobody_needs_are_removed(tmp_path, has_lost):
    """A commit removes old leftovers of bktools alone; after a lost history every file with rows stays."""
    store = store_in(tmp_path)
    commit(store, 1)
    folder = store.folder(QUERY)
    names = {"tmp-killed", f"damaged-{'0' * 16}", f"{'0' * 64}.parquet", "notes.txt", "tmp.csv"}
    if has_lost:
        names.add("damaged-manifest-0")
    for name in names:
        (folder / name).write_text("old")
        (folder / f"{name[:4]}-young{name[4:]}").write_text("young")
    (folder / "tmp-link").symlink_to("nowhere")  # as good as removed by somebody else meanwhile
    (folder / "tmp-folder").mkdir()
    (folder / "tmp-folder" / "part").touch()
    before = {path.name for path in folder.iterdir()}
    for path in folder.iterdir():
        if "-young" not in path.name:
            os.utime(path, LONG_AGO, follow_symlinks=False)
    new = commit(store, 2)
    gone = {"tmp-killed", f"damaged-{'0' * 16}", "tmp-folder"} | (set() if has_lost else {f"{'0' * 64}.parquet"})
    assert {path.name for path in folder.iterdir()} == before - gone | {new.file}
    assert [read(store, item).equals(rows_of(version)) for version, item in enumerate(history(store), 1)] == [True] * 2


@pytest.mark.parametrize(
    "error",
    [ConnectionResetError(104, "Connection reset by peer"), OSError("a page that is none"), StorageError("own words")],
)
def test_an_error_that_is_not_of_the_folder_comes_as_it_is(tmp_path, error):
    """What the service or a reader says while a snapshot is written is not called a folder that cannot be written."""

    def write(path):
        raise error

    store = store_in(tmp_path)
    with pytest.raises(type(error)) as caught:
        store.append(QUERY, write)
    assert caught.value is error


def test_a_full_drive_is_named_by_its_folder(tmp_path):
    """What the drive refuses while a snapshot is written names the folder and says that nothing is lost."""

    def write(path):
        raise OSError(28, "No space left on device")

    store = store_in(tmp_path)
    with pytest.raises(StorageError, match="No space left on device; the last one is unchanged") as caught:
        store.append(QUERY, write)
    assert str(store.folder(QUERY)) in str(caught.value)


def test_a_file_with_fewer_rows_than_were_fetched_is_no_snapshot(tmp_path):
    """The rows that can be read back are counted before a snapshot is committed; the error says both numbers."""

    def write(path):
        pq.write_table(rows_of(1), path)
        return Facts("2026-10-31T12:00:00+00:00", 201)

    store = store_in(tmp_path)
    with pytest.raises(StorageError, match=r"201 rows were written to .*, 200 can be read back") as caught:
        store.append(QUERY, write)
    assert f"to {store.folder(QUERY)}," in str(caught.value)
    assert history(store) == ()


def test_a_secret_of_an_earlier_version_is_used(tmp_path):
    """A cache of an earlier version, whose secret is 32 bytes, stays in use: its snapshots are found."""
    (tmp_path / "secret").write_bytes(bytes(32))
    store = store_in(tmp_path)
    commit(store, 1)
    assert (tmp_path / "secret").read_bytes() == bytes(32)
    assert len(history(store)) == 1


def test_pruning_waits_for_whoever_holds_the_lock(tmp_path, monkeypatch):
    """While another process has the lock of a query, nothing of it is pruned."""
    monkeypatch.setattr("bktools.store.folder.REPORT_AFTER", 0.1)
    monkeypatch.setattr("bktools.store.folder.GIVE_UP_AFTER", 0.1)
    store = store_in(tmp_path)
    for version in (1, 2):
        commit(store, version)
    before = history(store)
    with (
        filelock.FileLock(store.folder(QUERY) / "manifest.lock"),
        pytest.raises(StorageError, match="another process has held"),
    ):
        store.prune(QUERY, dt.timedelta(0))
    assert history(store) == before


def test_queries_of_another_credential_are_not_listed(tmp_path):
    """In one cache, each credential sees the queries that it loaded itself."""
    commit(store_in(tmp_path, "mine"), 1)
    assert store_in(tmp_path, "mine").queries() == [QUERY]
    (tmp_path / "snapshots" / "notes.txt").write_text("of somebody else")
    assert store_in(tmp_path, "theirs").queries() == []


def test_a_file_that_was_made_whole_meanwhile_stays(tmp_path, monkeypatch, caplog):
    """A reader that met a damaged file sets nothing aside when a whole one has taken its place in the meantime."""
    monkeypatch.setattr("bktools.store.folder.REPORT_AFTER", 0.05)
    store = store_in(tmp_path)
    snapshot = commit(store, 1)
    path = store.path(QUERY, snapshot)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with ThreadPoolExecutor() as threads:
        with filelock.FileLock(path.with_name("manifest.lock")):
            reader = threads.submit(read, store, snapshot)
            until = time.monotonic() + 20
            while "waiting for another process" not in caplog.text:
                assert time.monotonic() < until
                time.sleep(0.02)
            path.write_bytes(whole)
        with pytest.raises(
            StorageError, match=rf"the snapshot {path} cannot be read: it was changed after it was written"
        ):
            reader.result()
    assert read(store, snapshot).equals(rows_of(1))
    assert not list(path.parent.glob("damaged-*"))


def test_a_footer_is_known_by_its_digest(tmp_path):
    """What a history says of a footer is the digest of the file's end, as every version writes and compares it."""
    store = store_in(tmp_path)
    snapshot = commit(store, 1)
    content = store.path(QUERY, snapshot).read_bytes()
    length = pq.read_metadata(store.path(QUERY, snapshot)).serialized_size
    assert snapshot.footer == hashlib.sha256(content[-length - 8 :]).hexdigest()
    assert (snapshot.size, snapshot.file) == (len(content), f"{hashlib.sha256(content).hexdigest()}.parquet")
