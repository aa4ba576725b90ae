"""Snapshots: what was fetched, kept as Parquet with its history.

A folder per question (who asks where for what). In it, one Parquet file per content and one manifest that lists every
fetch; the manifest is replaced as a whole and is the only commit point. Killed at any instant, there is the state
before or the state after. Names of files and folders are digests, never text from outside.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import hmac
import io
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import filelock
import pyarrow as pa
import pyarrow.parquet as pq

from bktools.errors import StorageError
from bktools.settings import Secret, Settings

SCHEMA_VERSION = 1
MANIFEST = "manifest.json"
PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


@dataclass(frozen=True)
class Question:
    """What a snapshot answers.

    Parameters
    ----------
    operation : str
        The operation of the service.
    filters : mapping
        What it was narrowed to, without paging; None for no filter.
    """

    operation: str
    filters: Mapping[str, Any]

    def canonical(self) -> str:
        """Return the same text for the same question."""
        filters = {
            name: sorted(value) if isinstance(value, list) else value
            for name, value in self.filters.items()
            if value is not None and value != []
        }
        return json.dumps([self.operation, filters], sort_keys=True, ensure_ascii=True)


@dataclass(frozen=True)
class Snapshot:
    """One fetch: when, what, and the file that holds it."""

    fetched_at: str
    rows: int
    file: str
    size: int
    footer: str

    @property
    def time(self) -> dt.datetime:
        """When it was fetched, UTC."""
        return dt.datetime.fromisoformat(self.fetched_at)


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
        self.folder = settings.cache_dir / "snapshots" / _key(settings, question)

    def history(self) -> list[Snapshot]:
        """Return every snapshot, oldest first; a damaged manifest is set aside and counts as none."""
        path = self.folder / MANIFEST
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageError(f"the snapshots in {self.folder} cannot be read: {error}") from error
        try:
            outer = json.loads(raw)
            body = outer["body"]
            whole = outer["sha256"] == hashlib.sha256(body.encode()).hexdigest()
            found = [Snapshot(**line) for line in json.loads(body)["snapshots"]] if whole else []
        except (ValueError, KeyError, TypeError):
            whole, found = False, []
        if not whole:
            self._set_aside(path)
        return found

    def newest(self, until: dt.datetime | None = None) -> Snapshot | None:
        """Return the newest snapshot, or the newest one fetched by an instant."""
        found = [item for item in self.history() if until is None or item.time <= until]
        return max(found, key=lambda item: item.time, default=None)

    def path(self, snapshot: Snapshot) -> Path:
        """Return the Parquet file of a snapshot."""
        return self.folder / snapshot.file

    def read(self, snapshot: Snapshot) -> pa.Table | None:
        """Return a snapshot's rows, checked; None when the file is damaged, which is then set aside."""
        path = self.path(snapshot)
        try:
            # Opened once: whatever happens to the name after that, these are the bytes that were checked.
            with path.open("rb") as file:
                table = _checked_table(file, snapshot)
        except FileNotFoundError:
            return None
        except (OSError, pa.ArrowException):
            table = None
        if table is None:
            self._set_aside(path)
        return table

    @contextlib.contextmanager
    def writer(self, schema: pa.Schema) -> Iterator[Writer]:
        """Give a writer for the next snapshot; what was not committed leaves nothing behind."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
            writer = Writer(self, schema)
        except OSError as error:
            raise StorageError(f"no snapshot can be written to {self.folder}: {error}") from error
        try:
            yield writer
        except OSError as error:
            if isinstance(error, StorageError) or not _is_of_disk(error):
                raise
            raise StorageError(
                f"the snapshot could not be written to {self.folder}: {error.strerror or error}; the last one is as it was"
            ) from error
        finally:
            writer.discard()

    def _append(self, snapshot: Snapshot) -> None:
        # Only one process at a time reads the list, adds its line and replaces it.
        with filelock.FileLock(self.folder / "manifest.lock", mode=PRIVATE_FILE):
            lines = [asdict(item) for item in [*self.history(), snapshot]]
            about = {"version": SCHEMA_VERSION, "operation": self.question.operation, "filters": self.question.filters}
            body = json.dumps(about | {"snapshots": lines}, sort_keys=True)
            outer = {"body": body, "sha256": hashlib.sha256(body.encode()).hexdigest()}
            temporary = _temporary(self.folder)
            try:
                with _exclusive(temporary) as file:
                    file.write(json.dumps(outer).encode())
                    _to_disk(file)
                temporary.replace(self.folder / MANIFEST)
            finally:
                temporary.unlink(missing_ok=True)
            _folder_to_disk(self.folder)

    def _set_aside(self, path: Path) -> None:
        # Another process may have set it aside first.
        with contextlib.suppress(FileNotFoundError):
            path.replace(path.with_name(f"damaged-{secrets.token_hex(8)}"))


class Writer:
    """Rows on their way into a snapshot, in a file of their own until it is committed."""

    def __init__(self, shelf: Shelf, schema: pa.Schema) -> None:
        self._shelf = shelf
        self._path = _temporary(shelf.folder)
        self._file = _exclusive(self._path)
        repeating = [field.name for field in schema if field.name.endswith("_id")]
        self._parquet = pq.ParquetWriter(
            self._file,
            schema,
            compression="zstd",
            use_dictionary=repeating,
            write_page_checksum=True,
        )
        self.rows = 0

    def write(self, table: pa.Table) -> None:
        """Add rows."""
        self._parquet.write_table(table)
        self.rows += table.num_rows

    def commit(self, fetched_at: dt.datetime) -> Snapshot:
        """Make the rows the newest snapshot."""
        folder = self._shelf.folder
        self._parquet.close()
        _to_disk(self._file)
        self._file.close()
        with self._path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
            footer = _footer_digest(file)
            file.seek(0)
            written = pq.ParquetFile(file).metadata.num_rows
        if written != self.rows:
            raise StorageError(f"{self.rows} rows were written to {folder}, {written} can be read back")
        name = f"{content}.parquet"
        size = self._path.stat().st_size
        # Over a file of that name too: it has the same content, or is damaged.
        self._path.replace(folder / name)
        _folder_to_disk(folder)
        snapshot = Snapshot(fetched_at.isoformat(), self.rows, name, size, footer)
        self._shelf._append(snapshot)  # noqa: SLF001 - one room
        return snapshot

    def discard(self) -> None:
        """Leave nothing behind that was not committed."""
        try:
            self._parquet.close()
            self._file.close()
        except (OSError, pa.ArrowException):
            pass  # a full disk refuses the rest of a file that is removed in the next line
        finally:
            self._path.unlink(missing_ok=True)


def _is_of_disk(error: OSError) -> bool:
    return error.errno is not None and not isinstance(error, ConnectionError)


def _key(settings: Settings, question: Question) -> str:
    who = [settings.environment, settings.identity, _credential_digest(settings), SCHEMA_VERSION]
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
        cache_dir.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
        temporary = _temporary(cache_dir)
        with _exclusive(temporary) as file:
            file.write(secrets.token_bytes(32))
            _to_disk(file)
        try:
            # A link, unlike a rename, fails when somebody else was first.
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
        return path.read_bytes()
    except OSError as error:
        raise StorageError(f"the cache folder {cache_dir} cannot be written: {error}") from error


def _temporary(folder: Path) -> Path:
    return folder / f"tmp-{secrets.token_hex(8)}"


def _exclusive(path: Path) -> io.BufferedWriter:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), PRIVATE_FILE)
    return os.fdopen(descriptor, "wb")


def _to_disk(file: io.BufferedWriter) -> None:
    file.flush()
    os.fsync(file.fileno())


def _folder_to_disk(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows cannot open a folder, and writes its entries by itself
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _checked_table(file: io.BufferedReader, snapshot: Snapshot) -> pa.Table | None:
    """Return the rows of an open file when every byte of it is the one that was written."""
    if _footer_digest(file) != snapshot.footer:
        return None
    file.seek(0)
    table = pq.ParquetFile(file, page_checksum_verification=True).read()
    return table if table.num_rows == snapshot.rows else None


def _footer_digest(file: io.BufferedReader) -> str:
    """Return the digest of the part of a Parquet file that its page checksums do not cover."""
    file.seek(-8, os.SEEK_END)
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little") + 8
    file.seek(-length, os.SEEK_END)
    return hashlib.sha256(file.read(length)).hexdigest()
