"""What a machine remembers of an environment's journal, outside of the data folder.

The newest event that it has seen, with its digest, reveals an old copy: a journal that lacks this event is
one. The identity of the computer reveals a memory that was copied with everything else.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from bktools import disk
from bktools.errors import StorageError
from bktools.journal.computer import this_computer
from bktools.journal.lock import LOCKS, PATIENCE, held
from bktools.journal.sentences import line_of
from bktools.wording import reason_of

log = logging.getLogger("bktools")

MEMORY = "memory.json"


@dataclass(frozen=True)
class Memory:
    """The memory of a machine; an empty one before its first use of the environment's journal."""

    # The random identity of this machine, and the computer's own, "" where that is not known.
    machine: str = ""
    computer: str = ""
    # The journal in use: its identity and location, and whose it is.
    journal: str = ""
    location: str = ""
    environment: str = ""
    address: str = ""
    # The newest event that this machine has seen, whoever wrote it.
    event: int = 0
    digest: str = ""
    # When that event was written.
    at: str = ""
    # The last restore that it has seen, "" for none.
    restore: str = ""
    # The companies for which this machine has sent.
    companies: tuple[str, ...] = ()
    # Up to this byte of the sent log, every answer is in the journal.
    delivered: int = 0

    @property
    def is_of_another_computer(self) -> bool:
        """Whether another computer wrote it: it was copied from there."""
        return this_computer() not in {"", self.computer} and bool(self.computer)


_NAMES = {field.name for field in fields(Memory)}


def read_memory(folder: Path) -> Memory:
    """Return the memory in a machine's folder, an empty one where there is none or its content is damaged.

    Then the sent log beside it shows whether something was sent from here.
    """
    path = folder / MEMORY
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        known = {name: value for name, value in values.items() if name in _NAMES}
        return Memory(**known | {"companies": tuple(known.get("companies", ()))})
    except (FileNotFoundError, NotADirectoryError):
        return Memory()
    except (ValueError, TypeError, AttributeError) as error:
        log.warning("this machine's memory %s is damaged: %s", path, error)
        return Memory()
    except OSError as error:
        raise StorageError(line_of("memory_unreadable", path=path, reason=reason_of(error))) from error


def memories(root: Path) -> Iterator[Memory]:
    """Yield the memories of all environments of this user."""
    for path in sorted(root.glob(f"*/{MEMORY}")):
        yield read_memory(path.parent)


def remember(folder: Path, **changes: object) -> Memory:
    """Change a memory and return it; a first one, or one of another computer, gets an identity."""
    with disk.storage_errors(folder), locked(folder, MEMORY):
        return _changed(folder, read_memory(folder), changes)


def see(folder: Path, *, sent_for: str | None, **seen: Any) -> Memory:
    """Remember the newest event of a journal, unless another process has remembered a newer one.

    After a restore that this machine had not seen, or in another journal, an older one counts anew. `seen`
    are fields of the memory.
    """
    with disk.storage_errors(folder), locked(folder, MEMORY):
        before = read_memory(folder)
        is_same = (before.journal, before.restore) == (seen["journal"], seen["restore"])
        if is_same and seen["event"] <= before.event:
            seen |= {name: getattr(before, name) for name in ("event", "digest", "at")}
        if sent_for is not None:
            seen["companies"] = tuple(sorted({*before.companies, sent_for}))
        return _changed(folder, before, seen)


def _changed(folder: Path, before: Memory, changes: dict[str, Any]) -> Memory:
    is_new = not before.machine or before.is_of_another_computer
    machine = secrets.token_hex(4) if is_new else before.machine
    after = replace(before, machine=machine, computer=this_computer() or before.computer, **changes)
    if after != before:
        disk.replace_content(folder / MEMORY, json.dumps(asdict(after), indent=1).encode())
    return after


def locked(folder: Path, name: str) -> AbstractContextManager[None]:
    """Hold a lock of this machine's records of an environment."""
    path = folder / LOCKS / f"{name}.lock"
    busy = f"another process has held {path} for {PATIENCE:g} s: nothing was sent; run again later"
    return held(path, PATIENCE, busy)
