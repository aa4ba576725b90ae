"""The lock of a company: one process at a time may send for it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock

from bktools import disk
from bktools.errors import JournalBusyError, StorageError
from bktools.journal.records import LOCK_PATIENCE, now, this_process

LOCKS = "locks"  # created before the first batch is sent, and after the journal


@contextmanager
def sending_for(folder: Path, company_id: str, *, patience: float = LOCK_PATIENCE) -> Iterator[None]:
    """Hold the lock of a company; the operating system releases it when the process dies.

    Raises
    ------
    JournalBusyError
        When another process holds it; the message names that process.
    StorageError
        When the lock's file cannot be created.
    """
    name = hashlib.sha256(company_id.encode()).hexdigest()[:32]
    lock = filelock.FileLock(folder / LOCKS / f"{name}.lock", mode=0o600)
    holder = folder / LOCKS / f"{name}.holder"
    try:
        disk.private_folder(holder.parent)
        lock.acquire(timeout=patience, poll_interval=LOCK_PATIENCE / 10)
    except filelock.Timeout:
        raise JournalBusyError(
            f"{_holder_name(holder)} is sending for company {company_id}: nothing was sent by this one; run again later"
        ) from None
    except OSError as error:
        raise StorageError(f"the lock {lock.lock_file} cannot be taken: {error}") from error
    try:
        # The file only serves messages: without it they say "another process".
        with suppress(OSError):
            _write_private(holder, f"{this_process()} (since {now():%Y-%m-%d %H:%M:%S} UTC)")
        yield
    finally:
        lock.release()


def _holder_name(holder: Path) -> str:
    try:
        return holder.read_text(encoding="utf-8", errors="replace") or "another process"
    except OSError:
        return "another process"


def _write_private(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
