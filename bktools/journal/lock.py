"""The right to send for a company: one process at a time, told by the operating system."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from bktools.errors import JournalBusyError
from bktools.journal.journal import now, this_process


@contextmanager
def sending_for(folder: Path, company_id: str) -> Iterator[None]:
    """Hold the right to send for a company; the system takes it back when the process dies.

    Raises
    ------
    JournalBusyError
        At once, when another process holds it; the message says who.
    """
    lock, holder = _files(folder, company_id)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        raise JournalBusyError(
            f"{_who(holder)} sends for company {company_id} right now: nothing was sent from here, run again later"
        ) from None
    try:
        holder.write_text(f"{this_process()} (since {now():%Y-%m-%d %H:%M:%S} UTC)", encoding="utf-8")
        yield
    finally:
        lock.release()


def is_free(folder: Path, company_id: str) -> bool:
    """Whether no living process sends for a company."""
    lock, _ = _files(folder, company_id)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        return False
    lock.release()
    return True


def _files(folder: Path, company_id: str) -> tuple[filelock.BaseFileLock, Path]:
    locks = folder / "locks"
    locks.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = hashlib.sha256(company_id.encode()).hexdigest()[:32]
    return filelock.FileLock(locks / f"{name}.lock", mode=0o600), locks / f"{name}.holder"


def _who(holder: Path) -> str:
    try:
        return holder.read_text(encoding="utf-8")
    except FileNotFoundError:
        return "another process"
