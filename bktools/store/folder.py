"""Snapshots in a local folder.

Each query of each credential and environment has its own folder. It holds one Parquet file per distinct content, and one
history file. Replacing the history file is the commit: a kill at any time leaves the old state or the new one. Names of
files and folders are digests, never text from outside. The drive needs only renames and locks, no hard links.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import hmac
import io
import json
import logging
import os
import secrets
import shutil
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

import filelock
import pyarrow as pa
import pyarrow.parquet as pq

from bktools import disk
from bktools.errors import DamagedStoreWarning, StorageError
from bktools.settings import Secret, Settings
from bktools.store import history
from bktools.store.history import Facts, History, Query, Snapshot
from bktools.store.store import Pruned

log = logging.getLogger("bktools")

SNAPSHOTS = "snapshots"
LOCK = "manifest.lock"
SECRET_BYTES = 32

# Part of every folder's key. Increase it when the columns of snapshots change.
SCHEMA_VERSION = 1

# Seconds after which a file that no history lists is taken for a leftover of a killed process.
LEFT_OVER = 86_400.0

# A file whose time is that of the last automatic pruning.
PRUNED = "pruned"
A_DAY = 86_400.0

# One pruning at a time in this process.
_pruning = threading.Lock()

# Seconds of waiting for a lock until it is reported, and then until it is an error.
REPORT_AFTER = 2.0
GIVE_UP_AFTER = 60.0


class FolderStore:
    """The snapshots of one credential in one environment, in a local folder; a `Store`.

    Parameters
    ----------
    settings : Settings
        Environment and credential; another credential never finds these snapshots.
    folder : Path, optional
        Default: the cache folder of the settings.
    """

    def __init__(self, settings: Settings, folder: Path | None = None) -> None:
        self._settings = settings
        self._root = folder or settings.cache_dir
        self._owner = (settings.environment, settings.identity)
        # A folder for one load is deleted after it.
        self._keep = dt.timedelta(days=settings.keep_days) if folder is None else dt.timedelta(0)

    def history(self, query: Query) -> History:
        """Return every snapshot of a query; see `Store`."""
        return self._history(self.folder(query))

    def append(self, query: Query, write: Callable[[Path], Facts]) -> Snapshot:
        """Commit the newest snapshot of a query; identical rows share one file. See `Store`."""
        folder = self.folder(query)
        with _storage_errors(folder), disk.beside(disk.private_folder(folder) / LOCK) as new:
            facts = write(new)
            with new.open("rb+") as file:
                os.fsync(file.fileno())
                name = f"{hashlib.file_digest(file, 'sha256').hexdigest()}.parquet"
                size, footer = file.seek(0, os.SEEK_END), _footer_digest(file)
                readable = pq.ParquetFile(file).metadata.num_rows
            if readable != facts.rows:
                raise StorageError(f"{facts.rows} rows were written to {folder}, {readable} can be read back")
            snapshot = Snapshot(**asdict(facts), file=name, size=size, footer=footer)
            # Lock before the rename, so that no other process removes the file before the history lists it.
            with _locked(folder):
                self._name(new, folder / name)
                disk.folder_to_disk(folder)
                snapshots = (*self._history(folder).snapshots, snapshot)
                history.write(folder, query, snapshots, self._owner)
                _clear(folder, {item.file for item in snapshots})
        self._prune_daily()
        return snapshot

    def read(self, query: Query, snapshot: Snapshot) -> Iterator[pa.Table]:
        """Yield a snapshot's rows in portions; see `Store`. A damaged file is set aside."""
        path = self.path(query, snapshot)
        try:
            yield from _portions(path, snapshot)
        except (OSError, pa.ArrowException) as error:
            self._set_aside(path, snapshot)
            raise StorageError(f"the snapshot {path} cannot be read: {error}") from error

    def prune(self, query: Query, older_than: dt.timedelta, *, now: dt.datetime | None = None) -> Pruned:
        """Remove old snapshots of a query; see `Store`. A damaged history is left alone until a load has repaired it."""
        before, folder = (now or dt.datetime.now(dt.UTC)) - older_than, self.folder(query)
        if not folder.exists():
            return Pruned(0, 0)
        with _storage_errors(folder), _locked(folder):
            found = history.read(folder)
            snapshots = found.snapshots
            if found.damage or not snapshots:
                return Pruned(0, 0)
            last = {f"{item.time:%Y-%m}": item for item in snapshots}.values()
            kept = [item for item in snapshots if item.time >= before or item in last or item == snapshots[-1]]
            if len(kept) < len(snapshots):
                # Write the history before removing files, so that it never lists a missing file.
                history.write(folder, query, kept, self._owner)
            files = {item.file for item in kept}
            sizes = [_remove(folder / name) for name in {item.file for item in snapshots} - files]
            _clear(folder, files)
        return Pruned(len(snapshots) - len(kept), sum(sizes))

    def prune_all(self, older_than: dt.timedelta, *, now: dt.datetime | None = None) -> Pruned:
        """Remove old snapshots of every query, and those that a renewed credential has left behind.

        Those are the snapshots of another credential of this environment, for a query that this credential has a
        snapshot of, if their newest one is old. A damaged history is left alone until a load has repaired it.
        """
        now = now or dt.datetime.now(dt.UTC)
        found = self._histories()
        own = [
            item.query for folder, item in found if item.query and item.snapshots and self.folder(item.query) == folder
        ]
        replaced = {query.canonical() for query in own}
        gone = [self.prune(query, older_than, now=now) for query in own]
        gone += [
            self._prune_replaced(folder, now - older_than)
            for folder, item in found
            if item.owner == self._owner
            and item.query is not None
            and item.query.canonical() in replaced
            and self.folder(item.query) != folder
        ]
        return Pruned(sum(item.snapshots for item in gone), sum(item.size for item in gone))

    def queries(self) -> list[Query]:
        """Return the queries with snapshots, only of this environment and credential."""
        # The folder's name includes environment and credential, so it differs for others.
        found = ((folder, item.query) for folder, item in self._histories())
        return [query for folder, query in found if query is not None and self.folder(query) == folder]

    def newest_of_another_credential(self, query: Query) -> Snapshot | None:
        """Return the newest snapshot of a query that another credential loaded, of the same environment and service."""
        own, text = self.folder(query), query.canonical()
        found = [
            item.snapshots[-1]
            for folder, item in self._histories()
            if folder != own and item.owner == self._owner and item.snapshots and item.query is not None
            if item.query.canonical() == text
        ]
        return max(found, key=lambda snapshot: snapshot.time, default=None)

    @property
    def publisher(self) -> str:
        """The name of this cache folder where its snapshots are published; it reveals nothing."""
        return f"bktools-{hmac.new(self._secret, b'publish', 'sha256').hexdigest()}"

    def folder(self, query: Query) -> Path:
        """Return the folder with a query's snapshots."""
        owner = [
            self._settings.environment,
            self._settings.identity,
            _credential_digest(self._settings),
            SCHEMA_VERSION,
        ]
        text = json.dumps([*owner, query.canonical()])
        return self._root / SNAPSHOTS / hmac.new(self._secret, text.encode(), "sha256").hexdigest()

    def path(self, query: Query, snapshot: Snapshot) -> Path:
        """Return the Parquet file of a snapshot."""
        return self.folder(query) / snapshot.file

    @cached_property
    def _secret(self) -> bytes:
        """The key of the cache's digests, created by the first process that needs it."""
        path = self._root / "secret"
        try:
            if not path.exists():
                with _locked(disk.private_folder(self._root), "secret.lock"):
                    if not path.exists():
                        disk.replace_content(path, secrets.token_bytes(SECRET_BYTES))
            found = path.read_bytes()
        except StorageError:
            raise
        except OSError as error:
            raise StorageError(
                f"the cache folder {self._root} cannot be used: {path.name}: {disk.told(error)} (set by BKTOOLS_CACHE_DIR)"
            ) from error
        if len(found) != SECRET_BYTES:
            raise StorageError(
                f"{path} is damaged: restore it from a backup, or remove it, which makes the snapshots in {self._root} "
                "unusable"
            )
        return found

    def _histories(self) -> list[tuple[Path, History]]:
        folders = (self._root / SNAPSHOTS).glob("*")
        return [(folder, history.read(folder)) for folder in sorted(folders) if folder.is_dir()]

    def _prune_replaced(self, folder: Path, before: dt.datetime) -> Pruned:
        with _storage_errors(folder), _locked(folder):
            # Read again: its credential may have been used a moment ago.
            found = history.read(folder)
            if found.damage or any(item.time >= before for item in found.snapshots):
                return Pruned(0, 0)
            # The lock's file stays: another process may be waiting for it.
            disk.remove(folder / history.FILE)
            size = sum(_remove(path) for path in folder.glob("*.parquet"))
        return Pruned(len(found.snapshots), size)

    def _prune_daily(self) -> None:
        """Prune at most once a day, in a thread that no load waits for."""
        mark = self._root / PRUNED
        with _reported():
            if self._keep and not mark.exists():
                disk.replace_content(mark, b"")
            elif (
                self._keep and not 0 <= time.time() - mark.stat().st_mtime < A_DAY and _pruning.acquire(blocking=False)
            ):
                threading.Thread(target=self._prune_and_mark, args=(mark,), name="bktools-prune", daemon=True).start()

    def _prune_and_mark(self, mark: Path) -> None:
        try:
            with _reported():
                gone = self.prune_all(self._keep)
                # At the end: when the process ends before this thread, the next one continues.
                os.utime(mark)
                log.info("old snapshots removed: %d (keep_days is %d)", gone.snapshots, self._keep.days)
        finally:
            _pruning.release()

    @staticmethod
    def _name(new: Path, path: Path) -> None:
        """Give a file the name of its content; an existing file of that name has the same content, or is damaged."""
        try:
            disk.replace(new, path, patience=0)
        except OSError as error:
            # On Windows, an open file cannot be replaced; it need not be when it is undamaged.
            if not disk.is_held(error) or not _has_named_content(path):
                raise

    def _history(self, folder: Path) -> History:
        found = history.read(folder)
        if found.damage:
            warnings.warn(
                f"the list of snapshots {folder / history.FILE} is damaged: {found.damage}; the next load repairs it "
                "and keeps a copy of the damaged file. Check the disk",
                DamagedStoreWarning,
                stacklevel=3,
            )
        return found

    def _set_aside(self, path: Path, snapshot: Snapshot) -> None:
        """Rename a damaged file, unless another process has replaced it with an undamaged one."""
        # In a read-only folder the file stays, and every read of it fails.
        with contextlib.suppress(OSError), _locked(path.parent):
            try:
                sum(rows.num_rows for rows in _portions(path, snapshot))
            except (OSError, pa.ArrowException):
                path.replace(path.with_name(f"{disk.DAMAGED}{secrets.token_hex(8)}"))


def _portions(path: Path, snapshot: Snapshot) -> Iterator[pa.Table]:
    # The file is opened once, so that the checked bytes are the bytes read, even if the file is replaced.
    with pa.OSFile(str(path), "rb") as file:
        if file.size() != snapshot.size or _footer_digest(file) != snapshot.footer:
            raise OSError("it was changed after it was written")
        with pq.ParquetFile(file, page_checksum_verification=True) as parquet:
            for number in range(parquet.num_row_groups):
                yield parquet.read_row_group(number)


def _footer_digest(file: io.BufferedRandom | pa.NativeFile) -> str:
    """Return the digest of the part of a Parquet file that its page checksums do not cover."""
    file.seek(-8, os.SEEK_END)
    length = int.from_bytes(file.read(8)[:4], "little") + 8
    file.seek(-length, os.SEEK_END)
    return hashlib.sha256(file.read(length)).hexdigest()


@contextlib.contextmanager
def _locked(folder: Path, name: str = LOCK) -> Iterator[None]:
    """Hold the lock of a folder. A long wait is reported, and at last an error."""
    lock = filelock.FileLock(folder / name, mode=disk.PRIVATE_FILE)
    try:
        try:
            lock.acquire(timeout=REPORT_AFTER)
        except filelock.Timeout:
            log.warning("waiting for another process, which holds %s", lock.lock_file)
            lock.acquire(timeout=GIVE_UP_AFTER)
    except filelock.Timeout:
        raise StorageError(
            f"another process has held {lock.lock_file} for {REPORT_AFTER + GIVE_UP_AFTER:.0f} seconds: the last snapshot "
            "is unchanged; wait for that process or end it, then run again"
        ) from None
    except NotImplementedError:
        raise StorageError(
            f"the drive of {folder} has no file locks: choose another folder (BKTOOLS_CACHE_DIR)"
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _storage_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageError | ConnectionError) or error.errno is None:
            raise
        raise StorageError(
            f"the snapshot could not be written to {folder}: {disk.told(error, then='; the last one is unchanged')}"
        ) from error


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    """Log an error of automatic pruning, because no load fails for it."""
    try:
        yield
    except OSError as error:
        log.warning("old snapshots were not removed: %s", error)


def _clear(folder: Path, listed: set[str]) -> None:
    """Remove old files that the history does not list, but no rows in a folder whose history was damaged."""
    has_lost = any(folder.glob(f"{history.KEPT}*"))
    for path in folder.iterdir():
        is_kept = path.name in listed or path.name.startswith(history.KEPT)
        is_ours = path.name.startswith((disk.TEMPORARY, disk.DAMAGED)) or (path.suffix == ".parquet" and not has_lost)
        with contextlib.suppress(FileNotFoundError):
            if is_ours and not is_kept and time.time() - path.stat().st_mtime > LEFT_OVER:
                shutil.rmtree(path) if path.is_dir() else disk.remove(path)


def _remove(path: Path) -> int:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return 0
    # On Windows, a file that is being read stays; `_clear` removes it later.
    return size if disk.remove(path) else 0


def _has_named_content(path: Path) -> bool:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == path.stem


def _credential_digest(settings: Settings) -> str:
    if settings.credential_name is not None:
        return f"name:{settings.credential_name}"
    credential: Secret | None = settings.token or settings.api_key
    return hashlib.sha256(credential.reveal().encode()).hexdigest() if credential else ""
