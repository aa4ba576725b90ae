"""Old snapshots that may go: those that neither a recent day, nor a month, nor the newest state needs."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bktools import disk
from bktools.snapshots.snapshot import Snapshot

A_WEEK = dt.timedelta(days=7)

# Seconds after which a temporary file is taken for a leftover of a killed process.
LEFT_OVER = 86_400.0


@dataclass(frozen=True)
class Pruned:
    """The number of snapshots that pruning removed, and the bytes it freed."""

    snapshots: int
    size: int


def superfluous(snapshots: Sequence[Snapshot], older_than: dt.timedelta, now: dt.datetime) -> list[Snapshot]:
    """Return the snapshots of a query that may be removed.

    After a week, a snapshot with the rows of the one before, of the same day (UTC), goes. Of those older than
    an age, the last one of each month (UTC) stays. The newest one always stays.
    """
    repeated = {
        later
        for before, later in pairwise(snapshots)
        if later is not snapshots[-1]
        and later.time < now - A_WEEK
        and before.time.date() == later.time.date()
        and _have_equal_rows(before, later)
    }
    others = [snapshot for snapshot in snapshots if snapshot not in repeated]
    last = {(snapshot.time.year, snapshot.time.month): snapshot for snapshot in others}.values()
    old = [snapshot for snapshot in others[:-1] if snapshot.time < now - older_than and snapshot not in last]
    return [*repeated, *old]


def remove_left_over(folder: Path, *, now: float) -> None:
    """Remove the temporary files of killed processes; `now` is the time of the drive's own clock."""
    for path in folder.glob(f"{disk.TEMPORARY}*"):
        with contextlib.suppress(FileNotFoundError):
            if now - path.stat().st_mtime > LEFT_OVER:
                disk.remove(path)


def _have_equal_rows(one: Snapshot, other: Snapshot) -> bool:
    """Whether two files differ at most in their footers, where the facts are; times there have one length."""
    if one.is_damaged or other.is_damaged or one.size() != other.size():
        return False
    try:
        return _rows_in(one.path) == _rows_in(other.path)
    except OSError:
        return False


def _rows_in(path: Path) -> bytes:
    content = path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    return content[:-footer]
