"""The history of one query: a line for every committed snapshot, in the order of the commits.

Replacing the whole file is the commit. Each line has a checksum and is in the file twice, so that damage in one place
loses nothing. Damage is reported at every read; the next commit repairs the file and keeps a copy of the damaged one.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from bktools import disk
from bktools.contract import rules
from bktools.errors import StorageError

FILE = "manifest.json"
# Prefix of copies of damaged histories, which may be the only record of lost snapshots.
KEPT = "damaged-manifest-"


@dataclass(frozen=True)
class Query:
    """A search of the service with its filters.

    Parameters
    ----------
    operation : str
        The operation of the service.
    filters : mapping
        Argument to value; None and an empty list are no filter.
    """

    operation: str
    filters: Mapping[str, Any]

    @property
    def narrowed_to(self) -> dict[str, Any]:
        """The filters that have a value, with lists sorted."""
        return {
            name: sorted(value) if isinstance(value, list) else value
            for name, value in self.filters.items()
            if value is not None and value != []
        }

    def canonical(self) -> str:
        """Return a text that is the same for equal queries."""
        return json.dumps([self.operation, self.narrowed_to], sort_keys=True)


@dataclass(frozen=True)
class Facts:
    """Time, number and checks of fetched rows.

    Parameters
    ----------
    fetched_at : str
        Time of the request for the first page, by this machine's clock; ISO 8601, UTC.
    rows : int
        Number of rows.
    verified : tuple of str
        The passed checks: "ids", "filters", "total", "joins".
    complaints : tuple of str
        The failed checks, which `verify="warn"` accepted.
    """

    fetched_at: str
    rows: int
    verified: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()

    @property
    def time(self) -> dt.datetime:
        """`fetched_at` as a datetime, UTC."""
        return rules.timestamp(self.fetched_at)

    @property
    def complete(self) -> bool:
        """Whether the rows are proven to be the whole table, by the service's count or by pages that join."""
        return not self.complaints and bool({"total", "joins"} & set(self.verified))


@dataclass(frozen=True)
class Snapshot(Facts):
    """A committed snapshot: the facts of its rows, and its file."""

    file: str = ""
    size: int = 0
    footer: str = ""


@dataclass(frozen=True)
class History:
    """Every snapshot of a query, in the order of the commits. Clocks do not change this order.

    Parameters
    ----------
    query : Query, optional
        None without a history, or when its damage hides the query.
    snapshots : tuple of Snapshot
        Oldest first.
    damage : str
        Description of the damage; empty for an undamaged file.
    lost : bool
        Whether a line is unreadable. The last snapshot may then not be the newest.
    owner : tuple of str
        Environment and address of the service; empty in a history of an earlier version.
    """

    query: Query | None = None
    snapshots: tuple[Snapshot, ...] = ()
    damage: str = ""
    lost: bool = False
    owner: tuple[str, ...] = field(default=(), compare=False)


def read(folder: Path) -> History:
    """Return the history in a folder, with all lines that are readable."""
    content = _content(folder / FILE)
    return History() if content is None else parsed(content)


def write(folder: Path, query: Query, snapshots: Iterable[Snapshot], owner: tuple[str, ...] = ()) -> None:
    """Replace the history. Hold the folder's lock."""
    old = _content(folder / FILE)
    if old is not None and parsed(old).damage:
        disk.replace_content(folder / f"{KEPT}{hashlib.sha256(old).hexdigest()[:16]}", old)
    bodies = [{"number": number} | asdict(item) for number, item in enumerate(snapshots, 1)]
    about = {"operation": query.operation, "filters": query.narrowed_to, "lines": len(bodies), "owner": owner}
    disk.replace_content(folder / FILE, b"".join(map(_line, [about, *bodies])) * 2)


def parsed(content: bytes) -> History:
    """Return the history from the content of its file."""
    raw = content.split(b"\n")
    found = [_body(line) for line in raw if line]
    about = next((body for body in found if "operation" in body), None)
    if about is not None and "snapshots" in about:  # written before lines had their own checksums
        return History(
            Query(about["operation"], about["filters"]), tuple(filter(None, map(_snapshot, about["snapshots"])))
        )
    numbered = {body["number"]: body for body in found if "number" in body}
    snapshots = tuple(filter(None, (_snapshot(body) for _, body in sorted(numbered.items()))))
    lost = about is None or len(snapshots) < about["lines"]
    if not lost and {} not in found and len(found) == 2 * (1 + len(snapshots)) and raw[-1] == b"":
        damage = ""
    else:
        damage = "snapshots were lost" if lost else "nothing is lost, the second copy is intact"
    if about is None:
        return History(None, snapshots, damage, lost)
    query, owner = Query(about["operation"], about["filters"]), tuple(about.get("owner", ()))
    return History(query, snapshots, damage, lost, owner)


def _line(body: Mapping[str, Any]) -> bytes:
    text = json.dumps(body)
    return json.dumps({"body": text, "sha256": _digest(text)}).encode() + b"\n"


def _body(line: bytes) -> dict[str, Any]:
    """Return the body of a line, {} when the line is damaged."""
    try:
        outer = json.loads(line)
        if outer["sha256"] != _digest(outer["body"]):
            return {}
        body = json.loads(outer["body"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    return body if isinstance(body, dict) else {}


def _snapshot(line: Mapping[str, Any]) -> Snapshot | None:
    known = {item.name: line[item.name] for item in fields(Snapshot) if item.name in line}
    try:
        found = Snapshot(**known | {name: tuple(known.get(name, ())) for name in ("verified", "complaints")})
        found.time  # noqa: B018 - raises when the date is invalid
    except (ValueError, TypeError):
        return None
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"the snapshots in {path.parent} cannot be read: {error.strerror or error}") from error
