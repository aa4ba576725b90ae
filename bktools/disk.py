"""Files that are whole or not there: private, written beside their place, and on the disk before they take it."""

from __future__ import annotations

import errno
import io
import os
import secrets
import shutil
import stat
import sys
import tempfile
import time
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

# Seconds that somebody has to begin to read a named pipe.
READER_AWAITED = 30.0


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
    """Temporary path in the same folder, deleted unless renamed."""
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
        The file. One that is there is replaced and keeps its permissions; behind a link, the file that it leads to. A
        device, a pipe and this process's own output are written to.
    write : callable
        Is given the open file.
    private : bool
        Whether its owner alone can read a new file; otherwise the user's umask decides.

    Raises
    ------
    StorageError
        When the disk refuses; what was there is as it was.
    """
    path = Path(path)
    with storage_errors(path):
        try:
            found = path.stat()
        except FileNotFoundError:
            found = None
        if found is not None and (_standard(found) is not None or not stat.S_ISREG(found.st_mode)):
            _write_special(path, found, write)
        else:
            mode = stat.S_IMODE(found.st_mode) if found else None
            _replace(Path(os.path.realpath(path)), write, private=private, mode=mode)
    return path


def is_standard_output(path: str | Path) -> bool:
    """Return whether a path is where this process's standard output goes, such as /dev/stdout."""
    try:
        return _standard(Path(path).stat()) == 1
    except OSError:
        return False


def _standard(found: os.stat_result) -> int | None:
    """Return which of the process's own outputs a file is, None for another file."""
    for handle in (1, 2):
        try:
            if os.path.samestat(found, os.fstat(handle)):
                return handle
        except OSError:
            # A process may have been started without it.
            continue
    return None


def _write_special(path: Path, found: os.stat_result, write: Callable[[IO[bytes]], object]) -> None:
    """Write to what cannot be replaced; nothing goes there before all of the content is made."""
    with tempfile.TemporaryFile() as whole:
        write(whole)
        whole.seek(0)
        with os.fdopen(_opened(path, found), "wb") as target:
            shutil.copyfileobj(whole, target)


def _opened(path: Path, found: os.stat_result) -> int:
    handle = _standard(found)
    if handle is not None:
        # The same place in the file as what is printed: opened anew, it would be written from its beginning.
        sys.stdout.flush()
        return os.dup(handle)
    if not stat.S_ISFIFO(found.st_mode):
        return os.open(path, os.O_WRONLY)
    end = time.monotonic() + READER_AWAITED
    while True:
        try:
            pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > end:
                raise StorageError(f"nobody has read the pipe {path} for {READER_AWAITED:.0f} seconds") from None
            time.sleep(0.05)
        else:
            os.set_blocking(pipe, True)
            return pipe


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn what the disk refuses into one line."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BktoolsError):
            raise
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error


def _replace(
    path: Path, write: Callable[[IO[bytes]], object], *, private: bool = True, mode: int | None = None
) -> None:
    with beside(path) as new:
        with exclusive(new, PRIVATE_FILE if private else SHARED_FILE) as file:
            if mode is not None:
                new.chmod(mode)
            write(file)
            to_disk(file)
        new.replace(path)
    folder_to_disk(path.parent)
