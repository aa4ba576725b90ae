"""Snapshots: what was fetched, kept as Parquet with its history.

A folder per question (who asks where for what). In it, one Parquet file per content and one manifest that lists every
fetch; the manifest is the only commit point. Killed at any instant, there is the state before or the state after.
Names of files and folders are digests, never text from outside.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import filelock
import pyarrow as pa
import pyarrow.parquet as pq

from bktools import disk
from bktools.errors import StorageError
from bktools.settings import Secret, Settings
from bktools.tables import manifest
from bktools.tables.manifest import Question, Snapshot
from bktools.tables.writer import Writer, Written, footer_digest

__all__ = ["Pruned", "Question", "Shelf", "Snapshot", "shelves"]

SNAPSHOTS = "snapshots"
LOCK = "manifest.lock"

# What a process that was killed left behind is somebody's work of today or nobody's.
LEFT_OVER = 86_400.0


@dataclass(frozen=True)
class Pruned:
    """What pruning took away."""

    snapshots: int
    size: int


class Shelf:
    """The snapshots of one question.

    Parameters
    ----------
    settings : Settings
        Environment, credential and cache folder; another credential never finds this shelf.
    question : Question
        What they answer.
    """

    def __init__(self, settings: Settings, question: Question) -> None:
        self.question = question
        self.folder = settings.cache_dir / SNAPSHOTS / _key(settings, question)

    def history(self) -> list[Snapshot]:
        """Return every snapshot, oldest first."""
        found = manifest.read(self.folder)
        return [] if found is None else sorted(found.snapshots, key=lambda item: item.time)

    def newest(self, until: dt.datetime | None = None) -> Snapshot | None:
        """Return the newest snapshot, or the newest one fetched by an instant."""
        return next((item for item in reversed(self.history()) if until is None or item.time <= until), None)

    def path(self, snapshot: Snapshot) -> Path:
        """Return the Parquet file of a snapshot."""
        return self.folder / snapshot.file

    def read(self, snapshot: Snapshot) -> pa.Table | None:
        """Return a snapshot's rows, checked; None when the file is gone or damaged (it is set aside then)."""
        path = self.path(snapshot)
        try:
            return _checked(path, snapshot)
        except FileNotFoundError:
            return None
        except (OSError, pa.ArrowException):
            self._set_aside(snapshot)
            return None

    def row_groups(self, snapshot: Snapshot) -> Iterator[pa.Table]:
        """Yield a snapshot's rows in portions, each checked.

        Raises
        ------
        StorageError
            When the file is gone or damaged; the portions before are not the table.
        """
        path = self.path(snapshot)
        try:
            with _opened(path, snapshot) as file:
                for number in range(file.num_row_groups):
                    yield file.read_row_group(number)
        except (OSError, pa.ArrowException) as error:
            self._set_aside(snapshot)
            raise StorageError(f"the snapshot {path} cannot be read: {error}") from error

    def is_whole(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot's file is there and undamaged, looked at in portions."""
        try:
            found: int = sum(rows.num_rows for rows in self.row_groups(snapshot))
        except StorageError:
            return False
        return found == snapshot.rows

    @contextlib.contextmanager
    def writer(self, schema: pa.Schema) -> Iterator[Writer]:
        """Give a writer for the next snapshot; what was not committed leaves nothing behind."""
        with _said_of_disk(self.folder):
            writer = Writer(disk.private_folder(self.folder), schema)
            try:
                yield writer
            finally:
                writer.discard()

    def commit(self, written: Written, fetched_at: dt.datetime) -> Snapshot:
        """Make a written file the newest snapshot; a content that is there already takes no second file."""
        snapshot = Snapshot(fetched_at.isoformat(), written.rows, written.name, written.size, written.footer)
        # Under the lock from the name on, so that nobody prunes a file between its name and its line.
        with self._lock():
            # Over a file of that name too: it has the same content, or is damaged.
            written.path.replace(self.folder / written.name)
            disk.folder_to_disk(self.folder)
            lines = [*self.history(), snapshot]
            manifest.write(self.folder, self.question, lines)
            self._clear({line.file for line in lines})
        return snapshot

    def prune(self, older_than: dt.timedelta, *, now: dt.datetime | None = None) -> Pruned:
        """Remove snapshots older than an age, but never a month's last (UTC) nor the newest.

        Parameters
        ----------
        older_than : timedelta
            Age at which a snapshot may go.
        now : datetime, optional
            From when the age counts.
        """
        before = (now or dt.datetime.now(dt.UTC)) - older_than
        if not self.folder.exists():
            return Pruned(0, 0)
        with _said_of_disk(self.folder), self._lock():
            history = self.history()
            last_of_month = {f"{item.time.astimezone(dt.UTC):%Y-%m}": item for item in history}.values()
            kept = [item for item in history if item.time >= before or item in last_of_month]
            if len(kept) < len(history):
                # First the list, then the files: a line without its file would be a snapshot that is gone.
                manifest.write(self.folder, self.question, kept)
            files = {item.file for item in kept}
            gone = {item.file for item in history} - files
            sizes = [self._remove(self.folder / name) for name in gone]
            self._clear(files)
        return Pruned(len(history) - len(kept), sum(sizes))

    def _lock(self) -> filelock.BaseFileLock:
        return filelock.FileLock(self.folder / LOCK, mode=disk.PRIVATE_FILE)

    def _set_aside(self, snapshot: Snapshot) -> None:
        """Give a damaged file another name, unless somebody has put a whole one in its place meanwhile."""
        path = self.path(snapshot)
        # In a folder that cannot be written it stays where it is, and is refused again.
        with contextlib.suppress(OSError), self._lock():
            try:
                _checked(path, snapshot)
            except (OSError, pa.ArrowException):
                path.replace(path.with_name(f"{disk.DAMAGED}{secrets.token_hex(8)}"))

    def _clear(self, listed: set[str]) -> None:
        """Remove what no manifest lists and nobody works on any more."""
        for path in self.folder.iterdir():
            is_ours = path.name.startswith((disk.TEMPORARY, disk.DAMAGED)) or path.suffix == ".parquet"
            with contextlib.suppress(FileNotFoundError):
                if is_ours and path.name not in listed and time.time() - path.stat().st_mtime > LEFT_OVER:
                    path.unlink()

    def _remove(self, path: Path) -> int:
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            return 0
        return size


def shelves(settings: Settings) -> list[Shelf]:
    """Return the shelves of the environment and credential that the settings name; others' are not told."""
    found = []
    for folder in sorted((settings.cache_dir / SNAPSHOTS).glob("*")):
        said = manifest.read(folder) if folder.is_dir() else None
        if said is not None:
            shelf = Shelf(settings, said.question)
            # The name is a digest over who asks: it is equal for whoever asked, and for nobody else.
            if shelf.folder.name == folder.name:
                found.append(shelf)
    return found


def _checked(path: Path, snapshot: Snapshot) -> pa.Table:
    """Return the rows of a file when every byte of it is the one that was written.

    Raises
    ------
    FileNotFoundError, OSError, pyarrow.ArrowException
        When it is gone, or damaged.
    """
    with _opened(path, snapshot) as file:
        return file.read()


@contextlib.contextmanager
def _opened(path: Path, snapshot: Snapshot) -> Iterator[pq.ParquetFile]:
    # Opened once: whatever happens to the name after that, these are the bytes that are checked.
    with pa.OSFile(str(path), "rb") as file:
        if file.size() != snapshot.size or footer_digest(file) != snapshot.footer:
            raise OSError("it is not what was written")
        file.seek(0)
        with pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=True) as parquet:
            yield parquet


@contextlib.contextmanager
def _said_of_disk(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageError | ConnectionError) or error.errno is None:
            raise
        raise StorageError(
            f"the snapshot could not be written to {folder}: {error.strerror or error}; the last one is as it was"
        ) from error


def _key(settings: Settings, question: Question) -> str:
    who = [settings.environment, settings.identity, _credential_digest(settings), manifest.VERSION]
    text = json.dumps([*who, question.canonical()])
    return hmac.new(_secret(settings.cache_dir), text.encode(), "sha256").hexdigest()


def _credential_digest(settings: Settings) -> str:
    if settings.credential_name is not None:
        return f"name:{settings.credential_name}"
    credential: Secret | None = settings.token or settings.api_key
    return hashlib.sha256(credential.reveal().encode()).hexdigest() if credential else ""


def _secret(cache_dir: Path) -> bytes:
    """Return the secret of the cache, made once; several processes agree on the first one."""
    path = cache_dir / "secret"
    try:
        return path.read_bytes()
    except FileNotFoundError:
        pass
    try:
        made = disk.temporary(disk.private_folder(cache_dir))
        with disk.exclusive(made) as file:
            file.write(secrets.token_bytes(32))
            disk.to_disk(file)
        try:
            # A link, unlike a rename, fails when somebody else was first.
            os.link(made, path)
        except FileExistsError:
            pass
        finally:
            made.unlink()
        return path.read_bytes()
    except OSError as error:
        raise StorageError(f"the cache folder {cache_dir} cannot be written: {error}") from error
