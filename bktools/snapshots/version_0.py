"""Takes over a cache of version 0, which kept a history for each credential in folders with keyed names."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

from bktools import disk
from bktools.snapshots.snapshot import DAMAGED, About, Snapshot

# The key of the folders' names; it is removed when all of them are taken over.
_KEY = "key"


def take_over(
    root: Path, folders: list[tuple[Path, list[Snapshot], About]], name: Callable[[About], Path]
) -> None:
    """Give the snapshots of all credentials of an environment one history, in the order of their times.

    `name` returns the folder of a snapshot's query. Every step renames: after a kill the next load goes on.
    """
    histories: dict[Path, list[Snapshot]] = {}
    for _, snapshots, about in folders:
        histories.setdefault(name(about), []).extend(snapshots)
    with contextlib.suppress(FileNotFoundError):
        for target, snapshots in histories.items():
            disk.private_folder(target)
            snapshots.sort(key=lambda snapshot: snapshot.time)
            # From the newest on, so that no file takes the name of one that is still to be renamed.
            for number, snapshot in reversed([*enumerate(snapshots, 1)]):
                new = Snapshot.committed(target, number, snapshot.time, snapshot.digest).path
                disk.replace(
                    snapshot.path, new.with_name(f"{DAMAGED if snapshot.is_damaged else ''}{new.name}")
                )
        shutil.rmtree(root / _KEY)


def is_left(root: Path) -> bool:
    """Whether a cache is of version 0."""
    return (root / _KEY).exists()
