"""Locks of files: of a company, for which one process at a time sends, and of this machine's own records."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import filelock

from bktools import disk
from bktools.caller import ON_WINDOWS
from bktools.errors import JournalBusyError, StorageError
from bktools.journal.sentences import line_of
from bktools.wording import reason_of

LOCKS = "locks"
# Seconds to wait for a company's lock: a process that only checks for killed senders holds it for a moment.
LOCK_PATIENCE = 0.5
# Seconds that a write waits for the write of another process.
PATIENCE = 30.0

# Errors of a lock that another process holds; all others say that the drive has no locks.
_IS_HELD = frozenset({errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES})


@contextmanager
def held(path: Path, patience: float, busy: str) -> Iterator[None]:
    """Hold the lock of a file; the operating system releases it when the process dies.

    Raises
    ------
    JournalBusyError
        With the message `busy`, when another process holds it.
    StorageError
        When the drive does not lock files, or only says so.
    """
    lock = filelock.FileLock(path, mode=disk.PRIVATE_FILE)
    with disk.storage_errors(path):
        disk.private_folder(path.parent)
        path.touch(disk.PRIVATE_FILE)
        if reason := _without_locks(path):
            raise no_locks(path, reason)
        try:
            lock.acquire(timeout=patience)
        except filelock.Timeout:
            raise JournalBusyError(busy) from None
    try:
        if not ON_WINDOWS and _flock(path, exclusive=True) is None:
            raise no_locks(path, "it gives one lock to two at once")
        yield
    finally:
        lock.release()


def no_locks(path: Path, reason: str) -> StorageError:
    """Return the error for a drive without locks that hold, with the way out."""
    return StorageError(line_of("no_locks", folder=path.parent, reason=reason))


def _without_locks(path: Path) -> str:
    """Return why a drive does not lock files, "" where it does."""
    error = _flock(path, exclusive=False)
    return "" if error is None or error.errno in _IS_HELD else reason_of(error)


def _flock(path: Path, *, exclusive: bool) -> OSError | None:
    """Take a lock of a file for a moment, with an opening of its own; return the error where that fails."""
    try:
        import fcntl
    except ImportError:  # Windows, which always locks files
        return None
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError as error:
        return error
    finally:
        os.close(descriptor)
    return None


def sending_for(
    folder: Path, company_id: str, *, patience: float = LOCK_PATIENCE
) -> AbstractContextManager[None]:
    """Hold the lock of a company. Raises as `held` does."""
    path = folder / LOCKS / f"{hashlib.sha256(company_id.encode()).hexdigest()[:32]}.lock"
    return held(path, patience, line_of("is_sending", company=company_id))
