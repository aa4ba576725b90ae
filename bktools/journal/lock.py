"""The lock of a company: one process at a time may send for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock

from bktools import disk
from bktools.errors import JournalBusyError
from bktools.journal.records import LOCK_PATIENCE, now, this_process

LOCKS = "locks"  # created before the first batch is sent, and after the journal


@contextmanager
def held(path: Path, patience: float, busy: Callable[[], str]) -> Iterator[None]:
    """Hold the lock of a file; the operating system releases it when the process dies.

    Raise `JournalBusyError` with the message that `busy` returns, when another process holds it.
    """
    lock = filelock.FileLock(path, mode=disk.PRIVATE_FILE)
    with disk.storage_errors(path):
        disk.private_folder(path.parent)
        try:
            lock.acquire(timeout=patience)
        except filelock.Timeout:
            raise JournalBusyError(busy()) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def sending_for(folder: Path, company_id: str, *, patience: float = LOCK_PATIENCE) -> Iterator[None]:
    """Hold the lock of a company. A message about it names the holding process. Raises as `held` does."""
    lock = folder / LOCKS / f"{hashlib.sha256(company_id.encode()).hexdigest()[:32]}.lock"
    # The file only serves messages: without it they say "another process".
    holder = lock.with_suffix(".holder")

    def busy() -> str:
        name = ""
        with suppress(OSError):
            name = holder.read_text(encoding="utf-8", errors="replace")
        name = name or "another process"
        return f"{name} is sending for company {company_id}: nothing was sent by this one; run again later"

    with held(lock, patience, busy):
        with suppress(OSError):
            holder.touch(disk.PRIVATE_FILE)
            holder.write_text(f"{this_process()} (since {now():%Y-%m-%d %H:%M:%S} UTC)", encoding="utf-8")
        yield
