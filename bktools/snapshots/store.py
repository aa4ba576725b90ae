"""Snapshots in the cache folder.

Each query of each environment has its own folder, with one Parquet file for each snapshot; tokens and
addresses come and go. A file is written under another name, flushed and renamed; the rename is the commit, so
a kill at any time leaves whole snapshots only. The history of a query is the list of the files in its folder.
Names of folders are digests, never text from outside. The drive needs only renames, no locks and no hard
links.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from bktools import disk
from bktools.errors import StorageError
from bktools.settings import Settings
from bktools.settings.values import environment_name
from bktools.snapshots.pruning import Pruned, remove_left_over, superfluous
from bktools.snapshots.snapshot import DAMAGED, METADATA, About, Facts, Query, Snapshot, about_of
from bktools.wording import Sentence, reason_of

log = logging.getLogger("bktools")

SNAPSHOTS = "snapshots"

# A file whose time is that of the last automatic pruning.
PRUNED = "pruned"
A_DAY = 86_400.0
# How long every snapshot is kept; later only the last one of each month: a quarter is compared day by day.
KEPT = dt.timedelta(days=90)
# No load fails for it.
NOT_PRUNED = "old snapshots were not removed: %s"

# One pruning at a time in this process.
_pruning = threading.Lock()


class Store:
    """The snapshots of one environment."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._root = settings.cache_dir
        self._owner = (settings.environment, settings.identity)

    def history(self, query: Query) -> list[Snapshot]:
        """Return every snapshot of a query, in the order of the commits, with those that were set aside."""
        return self._snapshots_in(self.folder(query))

    def append(
        self, query: Query, rows: pa.Table, facts: Facts, history: Sequence[Snapshot] | None = None
    ) -> Snapshot:
        """Commit the newest snapshot of a query; raise `StorageError` when it cannot be written.

        It gets the number after those of the history, which may be from before the rows were fetched.
        """
        content = _file_of(rows, About(query.table, query.filters, self._owner, facts))
        folder = self.folder(query)
        with disk.storage_errors(folder, "; the last snapshot is unchanged"):
            disk.private_folder(folder)
            earlier = self.history(query) if history is None else history
            digest = hashlib.sha256(content).hexdigest()[:16]
            snapshot = Snapshot.committed(
                folder, earlier[-1].number + 1 if earlier else 1, facts.time, digest
            )
            # An existing file of this name has this content: the name has its digest.
            disk.replace_content(snapshot.path, content)
            remove_left_over(folder, now=snapshot.path.stat().st_mtime)
        self._prune_daily()
        return snapshot

    def read(self, snapshot: Snapshot) -> tuple[pa.Table, Facts] | None:
        """Return the rows of a snapshot and their facts; None when it is missing or damaged.

        Every byte is compared with the digest in the name. A damaged file is set aside under a name that
        keeps its number and time, so that `as_of` knows that there was a snapshot.
        """
        if snapshot.is_damaged:
            return None
        try:
            disk.refuse_foreign(snapshot.path)
            content = snapshot.path.read_bytes()
        except StorageError:
            raise
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
        """Return the queries that there are snapshots of in this environment."""
        # The folder's name includes the environment, so it differs for others.
        return [about.query for folder, _, about in self._folders() if self.folder(about.query) == folder]

    def prune(self, older_than: dt.timedelta, *, now: dt.datetime | None = None) -> Pruned:
        """Remove old snapshots of every query of the environment."""
        now = now or dt.datetime.now(dt.UTC)
        gone: list[Snapshot] = []
        for folder, snapshots, about in self._folders():
            if self.folder(about.query) == folder:
                gone += superfluous(snapshots, older_than, now)
        with disk.storage_errors(self._root):
            removed = [size for snapshot in gone for size in [snapshot.size()] if disk.remove(snapshot.path)]
        return Pruned(len(removed), sum(removed))

    def folder(self, query: Query) -> Path:
        """Return the folder with a query's snapshots."""
        text = json.dumps(
            [environment_name(self.settings.environment), query.table, query.filters], sort_keys=True
        )
        return self._root / SNAPSHOTS / query.table / hashlib.sha256(text.encode()).hexdigest()[:32]

    def _folders(self) -> Iterator[tuple[Path, list[Snapshot], About]]:
        """Yield each folder of the cache with its snapshots and what the newest readable one says of it."""
        for folder in sorted((self._root / SNAPSHOTS).glob("*/*/")):
            snapshots = self._snapshots_in(folder)
            abouts = (snapshot.about() for snapshot in reversed(snapshots) if not snapshot.is_damaged)
            newest = next(filter(None, abouts), None)
            if newest is not None:
                yield folder, snapshots, newest

    def _snapshots_in(self, folder: Path) -> list[Snapshot]:
        try:
            # Somebody who may write to one of these folders can put a forged snapshot there.
            for each in (*reversed(folder.parents[: len(folder.relative_to(self._root).parts)]), folder):
                disk.refuse_foreign(each)
            names = os.listdir(folder)  # noqa: PTH208 - a Path for each of thousands of files takes three times as long
        except FileNotFoundError:
            return []
        except StorageError:
            raise
        except OSError as error:
            facts = {"folder": str(folder), "why": reason_of(error)}
            raise StorageError(Sentence("error.snapshots_unreadable", **facts)) from error
        return sorted(filter(None, (Snapshot.named(folder, name) for name in names)))

    def _prune_daily(self) -> None:
        """Prune at most once a day, in a thread that no load waits for."""
        mark = self._root / PRUNED
        try:
            if not mark.exists():
                disk.replace_content(mark, b"")
            elif not 0 <= time.time() - mark.stat().st_mtime < A_DAY and _pruning.acquire(blocking=False):
                threading.Thread(
                    target=self._prune_and_mark, args=(mark,), name="bktools-prune", daemon=True
                ).start()
        except OSError as error:
            log.warning(NOT_PRUNED, error)

    def _prune_and_mark(self, mark: Path) -> None:
        try:
            gone = self.prune(KEPT)
            # At the end: when the process ends before this thread, the next one continues.
            os.utime(mark)
            log.info("old snapshots removed: %d", gone.snapshots)
        except OSError as error:
            log.warning(NOT_PRUNED, error)
        finally:
            _pruning.release()


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


def asked_by(settings: Settings, query: Query) -> str:
    """Return a digest of the credential if a query's rows depend on it, as for all companies; else ""."""
    if query.filters.get("company_id") is not None:
        return ""
    credential = settings.token or settings.api_key
    return hashlib.sha256(credential.identity.encode()).hexdigest()[:16] if credential else ""
