"""Snapshots in Delta tables: each one once, whole, and read back to the row by other programs."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow.compute as pc
import pytest
from caches import ADDRESS, COMPANY, QUERY, TOKEN, Cache
from deltalake import DeltaTable

import bktools
from bktools.errors import ArgumentError, ConfigurationError, SnapshotNotFoundError, StorageError
from bktools.service import Service
from bktools.store import DeltaStore, Query
from bktools.store import delta as delta_module

on_object_storage = pytest.mark.xdist_group("object-storage")

OCTOBER = dt.datetime(2026, 10, 31, 12, tzinfo=dt.UTC)
A_DAY = dt.timedelta(days=1)


def published_names(uri, **options):
    """Return the names of each published snapshot with their number, as another program reads them."""
    rows = pl.read_delta(f"{uri}/categories", **options)
    return {row["name"]: row["len"] for row in rows.group_by("name").len().to_dicts()}


def listed(uri, **options):
    """Return how many snapshots the list has."""
    return pl.read_delta(f"{uri}/snapshots", **options).height


@on_object_storage
def test_what_is_published_reads_back_to_the_row_in_two_engines(storage, service, monkeypatch, tmp_path):
    """Polars, DuckDB and another machine's `as_of` read the loaded tables from object storage, equal to the row."""
    for name, value in storage.items():
        monkeypatch.setenv(name, value)
    uri = "s3://books/read-back"
    loaded = {
        "categories": bktools.load_categories(service=service),
        "employees": bktools.load_employees("all", service=service),
    }
    told = bktools.to_delta(uri, service=service)
    assert told[["table", "snapshots", "already_there"]].to_numpy().tolist() == [
        ["categories", 1, 0],
        ["employees", 1, 0],
    ]
    other = replace(service.settings, snapshots=uri, cache_dir=tmp_path / "another machine")
    with Service(other) as elsewhere:
        now = dt.datetime.now(dt.UTC)
        again = {
            "categories": bktools.load_categories(as_of=now, service=elsewhere),
            "employees": bktools.load_employees("all", as_of=now, service=elsewhere),
        }
    for table, frame in loaded.items():
        by_polars = pl.read_delta(f"{uri}/{table}").sort("id")
        by_duckdb = duckdb.from_arrow(DeltaTable(f"{uri}/{table}").to_pyarrow_dataset()).order("id").to_arrow_table()
        expected = frame.sort_values("id", ignore_index=True)
        for rows in (by_polars.to_arrow(), by_duckdb):
            found = rows.to_pandas()[list(frame.columns)].astype(expected.dtypes)
            pd.testing.assert_frame_equal(found, expected)
        assert by_polars["environment"].unique().to_list() == ["sandbox"]
        assert by_polars["fetched_at"].unique()[0] == pd.Timestamp(frame.attrs["bktools"]["fetched_at"][0])
        assert by_polars["snapshot"].n_unique() == 1
        pd.testing.assert_frame_equal(again[table].sort_values("id", ignore_index=True), expected)
        assert again[table].attrs["bktools"]["snapshot"] == frame.attrs["bktools"]["snapshot"]


@on_object_storage
def test_six_machines_publish_to_object_storage_at_once(storage, tmp_path, monkeypatch):
    """Six simultaneous publishers, one of them from two processes' places, lose nothing and double nothing."""
    for name, value in storage.items():
        monkeypatch.setenv(name, value)
    uri = "s3://books/at-once"
    machines = [Cache(tmp_path / f"machine {number}", token=f"token {number}".replace(" ", "-")) for number in range(6)]
    for number, machine in enumerate(machines):
        machine.commit(f"{number}a", moment=OCTOBER + number * A_DAY)
        machine.commit(f"{number}b", moment=OCTOBER + (number + 10) * A_DAY)
    publishers = [*machines, machines[0], machines[0]]
    together = threading.Barrier(len(publishers))

    def publish(machine):
        together.wait()
        return machine.publish(uri)

    with ThreadPoolExecutor(len(publishers)) as threads:
        added = list(threads.map(publish, publishers))
    assert published_names(uri) == {f"{number}{part}": 3 for number in range(6) for part in "ab"}
    assert (listed(uri), sum(added)) == (12, 12)


@on_object_storage
def test_the_command_publishes_and_says_what(storage, run_here):
    """`bktools snapshots publish` takes the storage's own variables, and adds nothing when it is run again."""
    done = run_here("categories", "--sandbox", **storage)
    assert done.returncode == 0
    first = run_here("snapshots", "publish", "s3://books/by-command", "--sandbox", **storage)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.startswith("categories: 1 snapshot with 240 rows published to s3://books/by-command/categories")
    again = run_here("snapshots", "publish", "--sandbox", BKTOOLS_SNAPSHOTS="s3://books/by-command", **storage)
    assert "categories: 0 snapshots with 0 rows" in again.stdout
    assert "1 already there" in again.stdout


@on_object_storage
def test_a_refusal_of_the_storage_is_one_line_without_credentials(storage, cache, monkeypatch):
    """A wrong key is one line that shows neither the key nor the secret."""
    for name, value in (
        storage | {"AWS_ACCESS_KEY_ID": "WRONGKEY00", "AWS_SECRET_ACCESS_KEY": "hunter2hunter2"}
    ).items():
        monkeypatch.setenv(name, value)
    cache.commit("a")
    with pytest.raises(StorageError, match="shared snapshots in s3://books/refused cannot be used") as refused:
        cache.publish("s3://books/refused")
    text = str(refused.value)
    assert "\n" not in text
    assert "\x1b" not in text
    assert "403" in text or "InvalidAccessKeyId" in text
    assert not {"WRONGKEY00", "hunter2hunter2"} & {word.strip("<>/,;") for word in text.replace("<", " <").split()}
    assert "WRONGKEY00" not in text


def test_only_what_is_missing_is_added(cache, tmp_path):
    """A second publish adds nothing, and a third one the new snapshot alone."""
    uri = tmp_path / "shared"
    cache.commit("a")
    assert [cache.publish(uri), cache.publish(uri)] == [1, 0]
    cache.commit("b")
    cache.commit("b")  # the same rows fetched again are a snapshot of their own
    assert cache.publish(uri) == 2
    assert published_names(uri) == {"a": 3, "b": 6}
    assert listed(uri) == 3


def test_a_local_folder_is_private(cache, tmp_path):
    """Tables in a new folder are for its owner alone."""
    cache.commit("a")
    cache.publish(tmp_path / "shared")
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o700


def test_no_secret_and_nothing_to_guess_it_by(cache, tmp_path):
    """No published byte holds the token, its digest, or the secret of the cache."""
    cache.commit("a")
    cache.publish(tmp_path / "shared")
    secret = (tmp_path / "cache" / "secret").read_bytes()
    hidden = [TOKEN, hashlib.sha256(TOKEN.encode()).hexdigest(), secret.hex(), cache.store.folder(QUERY).name]
    content = b"".join(path.read_bytes() for path in (tmp_path / "shared").rglob("*") if path.is_file())
    assert ADDRESS.encode() in content  # texts can be found at all
    assert not [text for text in hidden if text.encode() in content]
    assert secret not in content


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_killed_publisher_leaves_whole_snapshots_or_none(cache, tmp_path, moment, number):
    """Killed around each of its two commits: a reader finds whole snapshots or none, and the next run completes them."""
    uri = tmp_path / "shared"
    for name in ("a", "b"):
        cache.commit(name, rows=5)
    worker = Path(__file__).parent / "publish_worker.py"
    arguments = [ADDRESS, TOKEN, tmp_path / "cache", uri, moment, number]
    done = subprocess.run([sys.executable, worker, *map(str, arguments)], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "ready\n")
    has_rows = (moment, number) != ("before", 1)
    assert published_names(uri) == ({"a": 5, "b": 5} if has_rows else {})
    found = cache.shared(uri).history(QUERY).snapshots
    assert len(found) == (2 if (moment, number) == ("after", 2) else 0)
    assert cache.publish(uri) == 2 - len(found)
    assert published_names(uri) == {"a": 5, "b": 5}
    assert listed(uri) == 2


def test_processes_of_one_cache_publish_each_snapshot_once(cache, tmp_path):
    """Of publishers that look at the same moment, one commits, and the others look again."""
    uri = tmp_path / "shared"
    for name in "abc":
        cache.commit(name)
    together = threading.Barrier(4)

    def publish(_):
        together.wait()
        return cache.publish(uri)

    with ThreadPoolExecutor(4) as threads:
        added = list(threads.map(publish, range(4)))
    assert published_names(uri) == {"a": 3, "b": 3, "c": 3}
    assert (listed(uri), sum(added)) == (3, 3)


def test_a_table_without_rows_is_a_snapshot(cache, tmp_path):
    """An empty table is listed, and reads back as one."""
    snapshot = cache.commit("a", rows=0)
    assert cache.publish(tmp_path / "shared") == 1
    shared = cache.shared(tmp_path / "shared")
    assert [item.fetched_at for item in shared.history(QUERY).snapshots] == [snapshot.fetched_at]
    assert list(shared.read(QUERY, snapshot)) == []


def test_filters_and_companies_are_told_apart(cache, tmp_path):
    """Each query has its own snapshots; the filters are in a column, so that nobody takes a part for the whole."""
    part = Query("search_categories", {"company_id": COMPANY, "name": "Travel"})
    cache.commit("whole")
    cache.commit("part", query=part)
    cache.publish(tmp_path / "shared")
    lines = pl.read_delta(str(tmp_path / "shared" / "snapshots")).sort("filters")
    assert [json.loads(text) for text in lines["filters"]] == [{"name": "Travel"}, {}]
    assert lines["company_id"].to_list() == [COMPANY, COMPANY]
    shared = cache.shared(tmp_path / "shared")
    for query in (QUERY, part):
        snapshots = shared.history(query).snapshots
        names = {name for rows in shared.read(query, snapshots[0]) for name in rows["name"].to_pylist()}
        assert (len(snapshots), names) == (1, {"whole" if query is QUERY else "part"})


def test_a_table_that_was_changed_is_not_read(cache, tmp_path):
    """Rows that somebody deleted from the shared table are missed, and the error says so."""
    snapshot = cache.commit("a")
    cache.publish(tmp_path / "shared")
    DeltaTable(str(tmp_path / "shared" / "categories")).delete("id LIKE '%1'")
    with pytest.raises(StorageError, match="has 2 rows instead of 3"):
        list(cache.shared(tmp_path / "shared").read(QUERY, snapshot))


def test_a_damaged_snapshot_stops_before_anything_is_written(cache, tmp_path):
    """A damaged file of the cache is an error that leaves no table behind."""
    snapshot = cache.commit("a")
    path = cache.store.path(QUERY, snapshot)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(StorageError, match="cannot be read"):
        cache.publish(tmp_path / "shared")
    assert not (tmp_path / "shared" / "categories").exists()


def test_sandbox_and_real_books_never_share_tables(cache, service, tmp_path):
    """The sandbox's snapshots do not go beside those of a real service."""
    cache.commit("a")
    cache.publish(tmp_path / "shared")
    bktools.load_categories(service=service)
    with pytest.raises(ArgumentError, match="must be another one for the sandbox"):
        bktools.to_delta(tmp_path / "shared", service=service)


def test_as_of_takes_the_later_of_cache_and_shared_tables(tmp_path):
    """A colleague's later snapshot is taken, an earlier one is not, and the rest of the cache keeps its order."""
    mine, colleague = Cache(tmp_path / "mine", snapshots=tmp_path / "shared"), Cache(tmp_path / "hers", token="hers")
    mine.commit("mine of the 1st", moment=OCTOBER)
    mine.commit("mine of the 3rd", moment=OCTOBER + 2 * A_DAY)
    colleague.commit("hers of the 2nd", moment=OCTOBER + A_DAY)
    colleague.publish(tmp_path / "shared")
    with Service(mine.settings) as service:

        def name(days):
            moment = OCTOBER + days * A_DAY
            return set(bktools.load_categories(COMPANY, as_of=moment, service=service)["name"])

        assert [name(days) for days in range(3)] == [{"mine of the 1st"}, {"hers of the 2nd"}, {"mine of the 3rd"}]
        with pytest.raises(SnapshotNotFoundError):
            name(-1)
        path = bktools.categories_to_parquet(tmp_path / "hers.parquet", COMPANY, as_of=OCTOBER + A_DAY, service=service)
    assert set(pd.read_parquet(path)["name"]) == {"hers of the 2nd"}


def test_shared_tables_that_cannot_be_read_are_an_error(tmp_path):
    """Without the shared tables, `as_of` does not answer from the cache alone."""
    machine = Cache(tmp_path / "cache", snapshots=tmp_path / "shared")
    machine.commit("a", moment=OCTOBER)
    machine.publish(tmp_path / "shared")
    next((tmp_path / "shared" / "snapshots" / "_delta_log").glob("*0.json")).write_text("{")
    with Service(machine.settings) as service, pytest.raises(StorageError, match="shared cannot be used"):
        bktools.load_categories(COMPANY, as_of=OCTOBER, service=service)


def test_a_storage_that_cannot_be_reached_is_named(cache):
    """Without a connection, the error names the address and the reason."""
    options = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ALLOW_HTTP": "true", "max_retries": "0"}
    options |= {"AWS_ACCESS_KEY_ID": "key-of-the-team", "AWS_SECRET_ACCESS_KEY": "hunter2hunter2"}
    with pytest.raises(StorageError, match=r"s3://books/away cannot be used: .*Connection refused") as error:
        DeltaStore(cache.settings, "s3://books/away", options).history(QUERY)
    assert not [secret for secret in ("key-of-the-team", "hunter2hunter2") if secret in str(error.value)]


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("ftp://books", "must be a path, or begin with s3://"),
        ("s3://key:secret@books/x", "must hold no credentials"),
        ("az://books/x?sig=secret", "must hold no credentials"),
        ("", "must be text"),
    ],
)
def test_addresses_that_are_refused(uri, reason, service):
    """An address is checked before anything is read; one with a password is not shown."""
    with pytest.raises(ConfigurationError, match=reason) as refused:
        bktools.to_delta(uri, service=service)
    assert "secret" not in str(refused.value)


def test_no_address_and_no_package(service, monkeypatch):
    """Without an address or without the package, one line says what to do."""
    with pytest.raises(ArgumentError, match="BKTOOLS_SNAPSHOTS"):
        bktools.to_delta(service=service)
    bktools.load_categories(service=service)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(ConfigurationError, match=r"pip install .*'bktools\[delta\]'"):
        bktools.to_delta("s3://books/x", service=service)


def test_old_files_are_left_out_without_opening_them(cache, tmp_path):
    """A snapshot is read from the files of its time: the filter of the read excludes the earlier ones."""
    for day in range(3):
        cache.commit(f"{day}", moment=OCTOBER + day * A_DAY)
        cache.publish(tmp_path / "shared")
    dataset = DeltaTable(str(tmp_path / "shared" / "categories")).to_pyarrow_dataset()
    newest = cache.store.history(QUERY).snapshots[-1]
    assert len(list(dataset.get_fragments())) == 3
    assert len(list(dataset.get_fragments(filter=pc.field("fetched_at") == delta_module._instant(newest)))) == 1
