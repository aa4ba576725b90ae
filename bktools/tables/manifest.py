"""The manifest of a question's snapshots: what was asked, and every fetch with its time and file.

It is replaced as a whole and is the only commit point. The one before it is kept beside it: should the disk damage the
newest, the state before it can still be read.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bktools import disk
from bktools.errors import StorageError

VERSION = 1
NEWEST = "manifest.json"
PREVIOUS = "manifest-before.json"


@dataclass(frozen=True)
class Question:
    """What a snapshot answers.

    Parameters
    ----------
    operation : str
        The operation of the service.
    filters : mapping
        What it was narrowed to, without paging; None for no filter.
    """

    operation: str
    filters: Mapping[str, Any]

    @property
    def narrowed_to(self) -> dict[str, Any]:
        """The filters that narrow anything, lists in order."""
        return {
            name: sorted(value) if isinstance(value, list) else value
            for name, value in self.filters.items()
            if value is not None and value != []
        }

    def canonical(self) -> str:
        """Return the same text for the same question."""
        return json.dumps([self.operation, self.narrowed_to], sort_keys=True, ensure_ascii=True)


@dataclass(frozen=True)
class Snapshot:
    """One fetch: when, what, and the file that holds it."""

    fetched_at: str
    rows: int
    file: str
    size: int
    footer: str

    @property
    def time(self) -> dt.datetime:
        """When it was fetched, UTC."""
        return dt.datetime.fromisoformat(self.fetched_at)


@dataclass(frozen=True)
class Manifest:
    """What a manifest says."""

    question: Question
    snapshots: tuple[Snapshot, ...]


def read(folder: Path) -> Manifest | None:
    """Return the newest manifest that is whole; None where there is none."""
    for name in (NEWEST, PREVIOUS):
        content = _content(folder / name)
        found = None if content is None else parsed(content)
        if found is not None:
            return found
    return None


def write(folder: Path, question: Question, snapshots: Iterable[Snapshot]) -> None:
    """Replace the manifest. Only who holds the folder's lock may do this."""
    about = {"version": VERSION, "operation": question.operation, "filters": question.narrowed_to}
    body = json.dumps(about | {"snapshots": [asdict(item) for item in snapshots]}, sort_keys=True)
    outer = {"body": body, "sha256": hashlib.sha256(body.encode()).hexdigest()}
    before = _content(folder / NEWEST)
    if before is not None and parsed(before) is not None:
        disk.replace_content(folder / PREVIOUS, before)
    elif before is not None:
        (folder / NEWEST).replace(
            disk.temporary(folder).with_name(f"{disk.DAMAGED}{hashlib.sha256(before).hexdigest()[:16]}")
        )
    disk.replace_content(folder / NEWEST, json.dumps(outer).encode())


def parsed(content: bytes) -> Manifest | None:
    """Return what the bytes of a manifest say; None when they are not the ones that were written."""
    try:
        outer = json.loads(content)
        body = outer["body"]
        if outer["sha256"] != hashlib.sha256(body.encode()).hexdigest():
            return None
        said = json.loads(body)
        lines = tuple(Snapshot(**line) for line in said["snapshots"])
        return Manifest(Question(said["operation"], said["filters"]), lines)
    except (ValueError, KeyError, TypeError):
        return None


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"the snapshots in {path.parent} cannot be read: {error}") from error
