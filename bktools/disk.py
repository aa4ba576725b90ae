"""Files that are whole or not there: private, written beside their place, and on the disk before they take it."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bktools.errors import BktoolsError, StorageError

PRIVATE_FILE = 0o600
# Less what the user's umask takes away, as for any file that a program makes.
SHARED_FILE = 0o666
PRIVATE_FOLDER = 0o700

TEMPORARY = "tmp-"
DAMAGED = "damaged-"


def temporary(folder: Path) -> Path:
    """Return a name that nobody else has."""
    return folder / f"{TEMPORARY}{secrets.token_hex(8)}"


def exclusive(path: Path, mode: int = PRIVATE_FILE) -> io.BufferedWriter:
    """Open a new file, by default one that its owner alone can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    return os.fdopen(descriptor, "wb")


def private_folder(path: Path) -> Path:
    """Make a folder that its owner alone can read, and those above it that are not there."""
    for folder in (*reversed(path.parents), path):
        folder.mkdir(exist_ok=True, mode=PRIVATE_FOLDER)
    return path


def to_disk(file: io.BufferedWriter) -> None:
    """Return when the file's content is on the disk."""
    file.flush()
    os.fsync(file.fileno())


def folder_to_disk(folder: Path) -> None:
    """Return when the folder's names are on the disk."""
    if os.name == "nt":
        return  # Windows cannot open a folder, and writes its entries by itself
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Give a name in the same folder, which leaves nothing behind unless it is renamed."""
    name = temporary(path.parent)
    try:
        yield name
    finally:
        name.unlink(missing_ok=True)


def replace_content(path: Path, content: bytes) -> None:
    """Give a file another content, as a whole: killed at any instant, it has the old one or the new one."""
    _replace(path, lambda file: file.write(content))


def write_whole(path: str | Path, write: Callable[[IO[bytes]], object], *, private: bool = True) -> Path:
    """Write a file that somebody asked for, the whole of it or nothing.

    Parameters
    ----------
    path : path
        The file; one that is there is replaced.
    write : callable
        Is given the open file.
    private : bool
        Whether its owner alone can read it; else whoever may read the files that its owner makes.

    Raises
    ------
    StorageError
        When the disk refuses; what was there is as it was.
    """
    path = Path(path)
    with storage_errors(path):
        _replace(path, write, private=private)
    return path


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn what the disk refuses into one line."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BktoolsError):
            raise
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error


def _replace(path: Path, write: Callable[[IO[bytes]], object], *, private: bool = True) -> None:
    with beside(path) as new:
        with exclusive(new, PRIVATE_FILE if private else SHARED_FILE) as file:
            write(file)
            to_disk(file)
        new.replace(path)
    folder_to_disk(path.parent)
