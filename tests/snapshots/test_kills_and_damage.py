"""Kills, many processes, a full disk, a flipped bit: a snapshot is old or new, whole, never mixed."""

from __future__ import annotations

import os
import random
import resource
import signal
import time

import pytest
import warm
from caches import QUERY, Cache

from bktools.errors import StorageError

# More by these variables, however long they take.
KILLS = int(os.environ.get("BKTOOLS_TEST_KILLS", "100"))
SECONDS = 2.0 if "BKTOOLS_TEST_KILLS" not in os.environ else float("inf")
FLIPS = int(os.environ.get("BKTOOLS_TEST_FLIPS", "120"))


def committing_child(folder, name):
    """Fork a process that commits a snapshot; return once it is about to."""
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            cache = Cache(folder)
            os.write(tell, b"!")
            cache.commit(name)
        finally:
            os._exit(0)
    os.close(tell)
    assert os.read(ready, 1) == b"!"
    os.close(ready)
    return child


@pytest.mark.long
def test_killed_while_committing(tmp_path):
    """After each kill the newest snapshot is the previous or the new one, and all are whole."""
    cache = Cache(tmp_path)
    cache.commit(0)
    taken = []
    for number in (1, 2, 3):
        child = committing_child(tmp_path, number)
        begin = time.monotonic()
        os.waitpid(child, 0)
        taken.append(time.monotonic() - begin)
    # Another process may have held one of them up, and kills would then come too late.
    usual = min(taken)
    before, killed, newer = "3", 0, 0
    begin = time.monotonic()
    for number in range(4, KILLS + 4):
        child = committing_child(tmp_path, number)
        time.sleep(random.uniform(0, usual * 1.5))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        found = cache.newest()
        assert found in {before, f"{number}"}
        newer += found == f"{number}"
        before = found
        # On a machine under load it takes longer until there is one of each.
        if time.monotonic() - begin > SECONDS and killed > 5 and newer:
            break
    print(f"{killed} kills while committing, {newer} new snapshots, each whole")
    assert killed > 5
    assert newer > 0
    assert None not in map(cache.name_in, cache.history())


def writes_and_reads(folder, name):
    """Commit snapshots for a time, and read the newest after each; yield their number."""
    cache = Cache(folder)
    end = time.monotonic() + 0.2
    count = 0
    while time.monotonic() < end:
        cache.commit(f"{name} {count}")
        assert cache.newest()
        count += 1
    yield count


def test_processes_write_and_read_the_same(tmp_path):
    """Processes that share a new cache see all snapshots, read whole ones, and lose no commit."""
    running = [warm.Process(writes_and_reads, tmp_path, number) for number in range(2)]
    counts = [process.read() for process in running]
    assert [process.wait() for process in running] == [0] * 2
    cache = Cache(tmp_path)
    names = [cache.name_in(snapshot) for snapshot in cache.history()]
    assert set(names) == {
        f"{number} {place}" for number, count in enumerate(counts) for place in range(count)
    }
    for number in range(2):
        own = [name for name in names if name.startswith(f"{number} ")]
        assert own == [f"{number} {place}" for place in range(counts[number])]


def test_a_full_disk(tmp_path):
    """What does not fit is one clear error that names the folder, and the last snapshot is as it was."""
    cache = Cache(tmp_path)
    cache.commit(1)
    folder = cache.store.folder(QUERY)
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for bytes_left in (0, 100, 2_000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, usual[1]))
            with pytest.raises(StorageError, match="the last snapshot is unchanged") as error:
                cache.commit(2, rows=20_000)
            assert str(folder) in str(error.value)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, previous)
    assert cache.newest() == "1"
    assert len(list(folder.iterdir())) == 1


def test_a_flipped_bit_anywhere(tmp_path):
    """Every flipped bit of a file is noticed, also in its footer; the snapshot before can still be read."""
    random.seed(7)
    cache = Cache(tmp_path)
    old, new = cache.commit(1), cache.commit(2)
    whole = new.path.read_bytes()
    # One bit of each byte of the end, where the facts are, and any others.
    places = [*range(len(whole) - 8, len(whole)), *(random.randrange(len(whole)) for _ in range(FLIPS))]
    for place in places:
        raw = bytearray(whole)
        raw[place] ^= 1 << random.randrange(8)
        new.path.write_bytes(raw)
        assert cache.store.read(new) is None
        # It keeps its place in the history, so that nobody takes the one before for it.
        assert [snapshot.is_damaged for snapshot in cache.history()] == [False, True]
    assert cache.name_in(old) == "1"
