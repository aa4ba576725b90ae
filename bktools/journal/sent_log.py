"""The log of what this machine sends for an environment: one file outside of the data folder.

A line is written before a request, with its entries, and directly after the answer, before the journal has
it. So an answer in hand outlives a journal that cannot be written, and the next run brings it there. Lines
are only ever added.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bktools import disk
from bktools.errors import StorageError
from bktools.journal.memory import locked
from bktools.journal.sentences import line_of, sentence_of
from bktools.wording import reason_of

log = logging.getLogger("bktools")

SENT_LOG = "sent.log"
CHECKSUM = 16  # characters of a line's digest


@dataclass(frozen=True)
class BatchOutcome:
    """The outcome of a batch: its new state with code and facts, the job, and the service's JSON of it."""

    state: str
    code: str
    facts: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    job_id: str | None = None
    job: str | None = None

    @property
    def message(self) -> str:
        """The sentence about it."""
        return sentence_of(self.code, self.facts)

    @property
    def has_job(self) -> bool:
        """Whether the service answered with a job."""
        return bool(self.job_id or self.job)


@dataclass(frozen=True)
class SentLine(BatchOutcome):
    """A line of the sent log: the intent of an attempt (state SENDING), or its outcome."""

    at: str = ""
    journal: str = ""
    attempt: str = ""
    batch_id: str = ""
    company_id: str = ""
    # The entries of an intent.
    entry_ids: Sequence[str] = ()

    @property
    def is_intent(self) -> bool:
        """Whether the line was written before the request."""
        return self.state == "SENDING"


def append(folder: Path, line: SentLine) -> None:
    """Append a line and flush it to the disk."""
    path = folder / SENT_LOG
    body = json.dumps(asdict(line))
    content = f"{_checksum(body)} {body}\n".encode()
    try:
        with disk.storage_errors(path), locked(folder, SENT_LOG):
            is_new = not path.exists()
            path.touch(disk.PRIVATE_FILE)
            with path.open("ab+") as file:
                if file.seek(0, os.SEEK_END):
                    file.seek(-1, os.SEEK_END)
                    # Start a new line after one that a kill cut short.
                    content = content if file.read(1) == b"\n" else b"\n" + content
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if is_new:
                disk.folder_to_disk(folder)
    except StorageError as error:
        raise StorageError(line_of("sent_log_not_written", reason=error)) from error


def lines_from(folder: Path, offset: int = 0) -> tuple[list[SentLine], int]:
    """Return the whole lines from a byte of the log on, and the byte behind the last of them."""
    path = folder / SENT_LOG
    try:
        with path.open("rb") as file:
            # A log that was put back from an older copy is shorter: it is read from its start.
            offset = file.seek(offset if offset <= file.seek(0, os.SEEK_END) else 0)
            content = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return [], 0
    except OSError as error:
        raise StorageError(line_of("sent_log_unreadable", path=path, reason=reason_of(error))) from error
    # A last line that is not whole yet is read the next time.
    whole = content.rfind(b"\n") + 1
    lines = []
    for line in filter(None, content[:whole].splitlines()):
        checksum, _, body = line.decode("ascii", errors="replace").partition(" ")
        if checksum == _checksum(body):
            lines.append(SentLine(**json.loads(body)))
        else:
            log.warning("skipped a damaged line of %s", path)
    return lines, offset + whole


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:CHECKSUM]
