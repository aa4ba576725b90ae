"""Snapshots in the cache folder.

Each query of each credential and environment has its own folder, with one Parquet file for each snapshot. A file is
written under another name, flushed and renamed; the rename is the commit, so a kill at any time leaves whole snapshots
only. The history of a query is the list of the files in its folder. Names of folders are keyed digests, never text from
outside. The drive needs only renames, no locks and no hard links.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import hmac
import json
import logging
import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from bktools import disk
from bktools.errors import StorageError
from bktools.settings import Secret, Settings
from bktools.snapshots.pruning import Pruned, remove_left_over, superfluous
from bktools.snapshots.snapshot import DAMAGED, METADATA, About, Facts, Query, Snapshot, about_of

log = logging.getLogger("bktools")

SNAPSHOTS = "snapshots"
SECRET_BYTES = 32

# A file whose time is that of the last automatic pruning.
PRUNED = "pruned"
A_DAY = 86_400.0
# No load fails for it.
NOT_PRUNED = "old snapshots were not removed: %s"

# One pruning at a time in this process.
_pruning = threading.Lock()


class Store:
    """The snapshots of one credential in one environment; another credential never finds them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._root = settings.cache_dir
        self._owner = (settings.environment, settings.identity)

    def history(self, query: Query) -> list[Snapshot]:
        """Return every snapshot of a query, in the order of the commits, with those that were set aside."""
        return _snapshots_in(self.folder(query))

    def append(self, query: Query, rows: pa.Table, facts: Facts, history: Sequence[Snapshot] | None = None) -> Snapshot:
        """Commit the newest snapshot of a query; raise `StorageError` when it cannot be written.

        It gets the number after those of the history, which may be the one that was read before the rows were fetched.
        """
        content = _file_of(rows, About(query.table, query.filters, self._owner, facts))
        folder = self.folder(query)
        with disk.storage_errors(folder, "; the last snapshot is unchanged"):
            disk.private_folder(folder)
            earlier = self.history(query) if history is None else history
            digest = hashlib.sha256(content).hexdigest()[:16]
            snapshot = Snapshot.committed(folder, earlier[-1].number + 1 if earlier else 1, facts.time, digest)
            # An existing file of this name has this content: the name has its digest.
            disk.replace_content(snapshot.path, content)
            remove_left_over(folder, now=snapshot.path.stat().st_mtime)
        self._prune_daily()
        return snapshot

    def read(self, snapshot: Snapshot) -> tuple[pa.Table, Facts] | None:
        """Return the rows of a snapshot and their facts; None when it is missing or damaged.

        Every byte is compared with the digest in the name. A damaged file is set aside under a name that keeps its number
        and time, so that `as_of` knows that there was a snapshot.
        """
        if snapshot.is_damaged:
            return None
        try:
            content = snapshot.path.read_bytes()
        except OSError as error:
            log.warning("the snapshot %s cannot be read: %s", snapshot.path, error.strerror or error)
            return None
        if hashlib.sha256(content).hexdigest()[:16] == snapshot.digest:
            with contextlib.suppress(ValueError, pa.ArrowException):
                rows = pq.ParquetFile(pa.BufferReader(content)).read()
                return rows.replace_schema_metadata(None), about_of(rows.schema).facts
        log.warning("the snapshot %s is damaged: it is set aside, check the disk", snapshot.path)
        # In a read-only folder the file stays, and every read of it fails.
        with contextlib.suppress(OSError):
            disk.replace(snapshot.path, snapshot.path.with_name(f"{DAMAGED}{snapshot.path.name}"), patience=0)
        return None

    def queries(self) -> list[Query]:
        """Return the queries that this credential has snapshots of in this environment."""
        # The folder's name includes environment and credential, so it differs for others.
        return [about.query for folder, _, about in self._folders() if self.folder(about.query) == folder]

    def newest_of_another_credential(self, query: Query) -> Snapshot | None:
        """Return the newest snapshot of a query that another credential loaded, of the same environment and service."""
        own = self.folder(query)
        others = (
            snapshots[-1]
            for folder, snapshots, about in self._folders(query.table)
            if folder != own and about.owner == self._owner and about.query == query
        )
        return max(others, key=lambda snapshot: snapshot.time, default=None)

    def prune(self, older_than: dt.timedelta, *, now: dt.datetime | None = None) -> Pruned:
        """Remove old snapshots of every query, and those that a renewed credential has left behind.

        Those are the snapshots of another credential of this environment, for a query that this credential has a
        snapshot of, if their newest one is old.
        """
        now = now or dt.datetime.now(dt.UTC)
        folders = list(self._folders())
        own = {folder: about.query for folder, _, about in folders if self.folder(about.query) == folder}
        gone: list[Snapshot] = []
        for folder, snapshots, about in folders:
            if folder in own:
                gone += superfluous(snapshots, older_than, now)
            elif about.owner == self._owner and about.query in own.values():
                is_used = any(snapshot.time >= now - older_than for snapshot in snapshots)
                gone += [] if is_used else snapshots
        with disk.storage_errors(self._root):
            removed = [size for snapshot in gone for size in [snapshot.size()] if disk.remove(snapshot.path)]
        return Pruned(len(removed), sum(removed))

    def folder(self, query: Query) -> Path:
        """Return the folder with a query's snapshots."""
        canonical = json.dumps([query.table, query.filters], sort_keys=True)
        text = json.dumps([*self._owner, _credential_digest(self.settings), canonical])
        return self._root / SNAPSHOTS / query.table / hmac.new(self._secret, text.encode(), "sha256").hexdigest()[:32]

    def _folders(self, table: str = "*") -> Iterator[tuple[Path, list[Snapshot], About]]:
        """Yield every folder of the cache with its snapshots and what the newest readable one says of itself."""
        for folder in sorted((self._root / SNAPSHOTS).glob(f"{table}/*/")):
            snapshots = _snapshots_in(folder)
            abouts = (snapshot.about() for snapshot in reversed(snapshots) if not snapshot.is_damaged)
            newest = next(filter(None, abouts), None)
            if newest is not None:
                yield folder, snapshots, newest

    @cached_property
    def _secret(self) -> bytes:
        """The key of the cache's digests, made by the first process that needs it."""
        path = self._root / "key" / "secret"
        try:
            if not path.exists():
                _make_secret(path)
            secret = path.read_bytes()
        except OSError as error:
            raise StorageError(
                f"the cache folder {self._root} cannot be used: {path.name}: {disk.reason_of(error)} (set by BKTOOLS_CACHE_DIR)"
            ) from error
        if len(secret) != SECRET_BYTES:
            raise StorageError(
                f"{path} is damaged: restore it from a backup, or remove it, which makes the snapshots in {self._root} "
                "unusable"
            )
        return secret

    def _prune_daily(self) -> None:
        """Prune at most once a day, in a thread that no load waits for."""
        mark = self._root / PRUNED
        keep = self.settings.keep_days
        try:
            if keep and not mark.exists():
                disk.replace_content(mark, b"")
            elif keep and not 0 <= time.time() - mark.stat().st_mtime < A_DAY and _pruning.acquire(blocking=False):
                threading.Thread(target=self._prune_and_mark, args=(mark,), name="bktools-prune", daemon=True).start()
        except OSError as error:
            log.warning(NOT_PRUNED, error)

    def _prune_and_mark(self, mark: Path) -> None:
        keep = dt.timedelta(days=self.settings.keep_days)
        try:
            gone = self.prune(keep)
            # At the end: when the process ends before this thread, the next one continues.
            os.utime(mark)
            log.info("old snapshots removed: %d (keep_days is %d)", gone.snapshots, keep.days)
        except OSError as error:
            log.warning(NOT_PRUNED, error)
        finally:
            _pruning.release()


def _make_secret(path: Path) -> None:
    """Make a secret in a new folder. A folder with content is never replaced, so of several processes the first one wins."""
    folder = path.parent
    new = disk.private_folder(disk.temporary(folder.parent))
    disk.replace_content(new / path.name, secrets.token_bytes(SECRET_BYTES))
    try:
        new.rename(folder)
    except OSError:
        shutil.rmtree(new)
        if not folder.exists():
            raise


def _snapshots_in(folder: Path) -> list[Snapshot]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 - a Path for each of thousands of files takes three times as long
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"the snapshots in {folder} cannot be read: {error.strerror or error}") from error
    return sorted(filter(None, (Snapshot.named(folder, name) for name in names)))


def _file_of(rows: pa.Table, about: About) -> pa.Buffer:
    """Return the content of a Parquet file with rows and what it says of itself."""
    target = pa.BufferOutputStream()
    pq.write_table(
        rows.replace_schema_metadata({METADATA: msgspec.json.encode(about)}),
        target,
        compression="zstd",
        # Foreign keys repeat; other texts rarely do.
        use_dictionary=[name for name in rows.column_names if name.endswith("_id")],
    )
    return target.getvalue()


def _credential_digest(settings: Settings) -> str:
    if settings.credential_name is not None:
        return f"name:{settings.credential_name}"
    credential: Secret | None = settings.token or settings.api_key
    return hashlib.sha256(credential.reveal().encode()).hexdigest() if credential else ""
