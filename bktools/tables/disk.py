"""Files that are whole or not there: private, written beside their place, and on the disk before they take it."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700

TEMPORARY = "tmp-"
DAMAGED = "damaged-"


def temporary(folder: Path) -> Path:
    """Return a name that nobody else has."""
    return folder / f"{TEMPORARY}{secrets.token_hex(8)}"


def exclusive(path: Path) -> io.BufferedWriter:
    """Open a new file that its owner alone can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), PRIVATE_FILE)
    return os.fdopen(descriptor, "wb")


def private_folder(path: Path) -> Path:
    """Make a folder that its owner alone can read, with the ones above it."""
    path.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
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
    with beside(path) as new:
        with exclusive(new) as file:
            file.write(content)
            to_disk(file)
        new.replace(path)
    folder_to_disk(path.parent)
