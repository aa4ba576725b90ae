"""Writes files completely or not at all: to a private temporary file, flushed to disk, then renamed."""

from __future__ import annotations

import io
import os
import re
import secrets
import shlex
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar

from bktools.caller import ON_WINDOWS
from bktools.errors import BktoolsError, StorageError
from bktools.wording import Sentence, reason_of, words

Result = TypeVar("Result")
Failed = TypeVar("Failed", bound=Exception)

PRIVATE_FILE = 0o600
# Before the user's umask.
SHARED_FILE = 0o666
PRIVATE_FOLDER = 0o700

# Engines that read a folder of files skip names with a dot.
TEMPORARY = ".tmp-"

# Windows errors: access denied (replacing an open file), sharing violation, lock violation.
_HELD = frozenset({5, 32, 33})
# Seconds to wait for another program to close a file: virus scanners hold new files for a moment.
PATIENCE = 3.0
_LOOK = 0.05

# Devices in every folder of Windows, with any extension: a file of such a name is written to the device.
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
_NOT_IN_NAMES = re.compile(r'[<>:"|?*\\/\x00-\x1f]')


def temporary(folder: Path) -> Path:
    """Return an unused path in a folder."""
    return folder / f"{TEMPORARY}{secrets.token_hex(8)}"


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a private folder that is deleted after use. On Windows, a file that is being read stays."""
    return tempfile.TemporaryDirectory(prefix="bktools-", ignore_cleanup_errors=ON_WINDOWS)


def exclusive(path: Path, mode: int = PRIVATE_FILE) -> io.BufferedWriter:
    """Create and open a file that does not exist yet; by default, only its owner can read it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    return os.fdopen(descriptor, "wb")


@contextmanager
def new_file(path: Path) -> Iterator[None]:
    """Reserve the name of a new file, so that only one of two writers goes on; a failed block removes it.

    Raises `StorageError` when the file exists, or cannot be created.
    """
    with storage_errors(path):
        try:
            exclusive(path).close()
        except FileExistsError:
            raise StorageError(Sentence("error.file_exists", path=str(path))) from None
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def private_folder(path: Path) -> Path:
    """Create a folder, and its missing parents, that only the owner can read."""
    for folder in (*reversed(path.parents), path):
        folder.mkdir(exist_ok=True, mode=PRIVATE_FOLDER)
    return path


def refuse_foreign(path: Path, variable: str = "BKTOOLS_CACHE_DIR") -> None:
    """Raise `StorageError` when another user owns a file or folder of bktools, or may write to it.

    `variable` names the setting of the folder. Root may write anywhere, so what root owns is not refused.
    Windows has no such permissions.
    """
    if ON_WINDOWS:
        return
    status, facts = path.stat(), {"path": str(path), "variable": variable}
    if status.st_uid not in {os.geteuid(), 0}:
        raise StorageError(Sentence("error.file_of_another_user", **facts))
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StorageError(Sentence("error.file_open_to_others", **facts, quoted=shlex.quote(str(path))))


def to_disk(file: io.BufferedWriter) -> None:
    """Flush a file's content to the disk."""
    file.flush()
    os.fsync(file.fileno())


def folder_to_disk(folder: Path) -> None:
    """Flush a folder's list of files to the disk."""
    if ON_WINDOWS:
        return  # it cannot open a folder, and writes its entries by itself
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder; the file is deleted unless renamed."""
    name = temporary(path.parent)
    try:
        yield name
    finally:
        remove(name)


def is_held(error: OSError) -> bool:
    """Return whether an operation failed because a program holds the file open; only Windows refuses this."""
    return getattr(error, "winerror", None) in _HELD


def repeated(
    call: Callable[[], Result],
    kind: type[Failed],
    patience: float,
    *,
    may_pass: Callable[[Failed], bool] = lambda _: True,
) -> Result:
    """Return the result of a call, repeated for some seconds while it fails in a way that may pass."""
    end = time.monotonic() + patience
    while True:
        try:
            return call()
        except kind as error:
            if not may_pass(error) or time.monotonic() > end:
                raise
        time.sleep(_LOOK)


def replace(source: Path, target: Path, *, patience: float | None = None) -> None:
    """Rename a file or folder, over an existing file. Wait some seconds while another program holds one.

    A folder never replaces another one.
    """
    repeated(
        lambda: source.replace(target), OSError, PATIENCE if patience is None else patience, may_pass=is_held
    )


def remove(path: Path) -> bool:
    """Remove a file that is no longer needed. If another program holds it open, keep it and return False."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        if not is_held(error):
            raise
        return False
    return True


def file_name(text: str) -> str:
    """Return a text as a file name that every system allows: Windows reserves some characters and names."""
    name = _NOT_IN_NAMES.sub("_", text).strip().rstrip(". ") or "_"
    return f"_{name}" if _DEVICE.fullmatch(name) else name


def require_file_name(path: Path) -> None:
    """Raise `StorageError` on Windows for a file name that it reads as a device or changes."""
    name = path.name
    if ON_WINDOWS and (file_name(name) != name):
        raise StorageError(Sentence("error.name_on_windows", path=str(path), other=file_name(name)))


def replace_content(path: Path, content: bytes) -> None:
    """Replace a file's content. After a kill at any time the file has the old content or the new one."""
    _replace(path, lambda file: file.write(content))


def write_whole(path: str | Path, write: Callable[[IO[bytes]], object], *, private: bool = True) -> Path:
    """Write an output file completely or not at all.

    Parameters
    ----------
    path : path
        The file. An existing file is replaced and keeps its permissions; a link is followed. A device or a
        pipe is refused.
    write : callable
        Receives the open file and writes to it.
    private : bool
        Whether only the owner can read a new file; otherwise the user's umask decides.

    Raises
    ------
    StorageError
        When the file cannot be written; an existing file is unchanged.
    """
    path = Path(path)
    require_file_name(path)
    with storage_errors(path):
        status = path.stat() if path.exists() else None
        if status is not None and not stat.S_ISREG(status.st_mode):
            raise StorageError(Sentence("error.no_ordinary_file", path=str(path)))
        mode = stat.S_IMODE(status.st_mode) if status else None
        _replace(Path(os.path.realpath(path)), write, private=private, mode=mode)
    return path


@contextmanager
def storage_errors(path: Path, then: str = "") -> Iterator[None]:
    """Turn an operating system error into a `StorageError` of one line, with a text after its reason."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BktoolsError):
            raise
        why = words()("error_part.file_is_held") if is_held(error) else reason_of(error)
        raise StorageError(Sentence("error.not_written", path=str(path), why=why, then=then)) from error


def _replace(
    path: Path, write: Callable[[IO[bytes]], object], *, private: bool = True, mode: int | None = None
) -> None:
    with beside(path) as new:
        with exclusive(new, PRIVATE_FILE if private else SHARED_FILE) as file:
            if mode is not None:
                new.chmod(mode)
            write(file)
            to_disk(file)
        replace(new, path)
    folder_to_disk(path.parent)
