"""What a machine remembers of an environment's journal, outside of the data folder.

The newest event that it has seen, with its digest, reveals an old copy: a journal that lacks this event is
one. A machine without a memory is a newcomer.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from bktools import disk
from bktools.journal.lock import held
from bktools.journal.records import PATIENCE

log = logging.getLogger("bktools")

MEMORY = "memory.json"


@dataclass(frozen=True)
class Memory:
    """The memory of a machine; an empty one before its first use of the environment's journal."""

    # The random identity of this machine.
    machine: str = ""
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


_NAMES = {field.name for field in fields(Memory)}


def read_memory(folder: Path) -> Memory:
    """Return the memory in a machine's folder, an empty one where there is none or it cannot be read."""
    try:
        values = json.loads((folder / MEMORY).read_text(encoding="utf-8"))
        known = {name: value for name, value in values.items() if name in _NAMES}
        return Memory(**known | {"companies": tuple(known.get("companies", ()))})
    except (FileNotFoundError, NotADirectoryError):
        return Memory()
    except (OSError, ValueError, TypeError, AttributeError) as error:
        log.warning("the memory of this machine in %s cannot be read: %s", folder, error)
        return Memory()


def memories(root: Path) -> Iterator[Memory]:
    """Yield the memories of all environments of this user."""
    for path in sorted(root.glob(f"*/{MEMORY}")):
        yield read_memory(path.parent)


def remember(folder: Path, **changes: object) -> Memory:
    """Change a memory and return it; a first one gets the machine's identity."""
    with disk.storage_errors(folder), locked(folder, MEMORY):
        before = read_memory(folder)
        after = replace(before, **{"machine": before.machine or secrets.token_hex(4)} | changes)  # type: ignore[arg-type]
        if after != before:
            disk.replace_content(folder / MEMORY, json.dumps(asdict(after), indent=1).encode())
    return after


def see(
    folder: Path,
    *,
    journal: str,
    event: int,
    digest: str,
    at: str,
    restore: str,
    sent_for: str | None,
    **about: str,
) -> Memory:
    """Remember the newest event of a journal, unless another process has remembered a newer one.

    After a restore that this machine had not seen, or in another journal, an older one counts anew.
    """
    with disk.storage_errors(folder), locked(folder, "see"):
        before = read_memory(folder)
        changes: dict[str, object] = {"journal": journal, "restore": restore, **about}
        if (before.journal, before.restore) != (journal, restore) or event > before.event:
            changes |= {"event": event, "digest": digest, "at": at}
        if sent_for is not None:
            changes["companies"] = tuple(sorted({*before.companies, sent_for}))
        return remember(folder, **changes)


def locked(folder: Path, name: str) -> AbstractContextManager[None]:
    """Hold a lock of this machine's records of an environment."""
    path = folder / "locks" / f"{name}.lock"
    return held(
        path,
        PATIENCE,
        lambda: f"another process has held {path} for {PATIENCE:g} s: nothing was sent; run again later",
    )
