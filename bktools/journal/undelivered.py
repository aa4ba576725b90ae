"""Answers of the service that could not be written to the journal, kept in files until they are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bktools import disk
from bktools.errors import StorageError
from bktools.journal import version_0
from bktools.journal.records import Row, dumped, loaded, now
from bktools.journal.said import said

FOLDER = "answers"


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
        return said(self.code, self.facts)

    def values(self) -> dict[str, Any]:
        """Return the columns of the batch that change with its state."""
        jobs = {
            name: value for name, value in (("job_id", self.job_id), ("job", self.job)) if value is not None
        }
        return {"code": self.code, "facts": dumped(dict(self.facts)), "settled_at": now().isoformat(), **jobs}

    def is_in(self, row: Row) -> bool:
        """Whether the row of a batch has this answer."""
        has_facts = row.get("facts") == dumped(dict(self.facts))
        return has_facts and (row.get("state"), row.get("code"), row.get("job_id")) == (
            self.state,
            self.code,
            self.job_id,
        )

    def __str__(self) -> str:
        return f"{self.state} ({self.message}{f', job {self.job_id}' if self.job_id else ''})"


class UndeliveredAnswers:
    """The files of one environment on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def write(self, batch_id: str, sent_at: str, answer: BatchOutcome) -> None:
        """Keep the answer to the request of a batch; raise `StorageError` where that fails."""
        with disk.storage_errors(self._folder):
            disk.private_folder(self._folder)
            # The sender's other facts belong to its own run, so only the answer is kept.
            about: dict[str, Any] = {"state": answer.state, "code": answer.code, "facts": dict(answer.facts)}
            about |= {"sent_at": sent_at, "job_id": answer.job_id, "job": answer.job}
            disk.replace_content(self._path(batch_id), json.dumps(about).encode())

    def read(self, row: Row) -> BatchOutcome | None:
        """Return the answer to a batch's request; None without one, or if it is for an earlier request."""
        path = self._path(row["batch_id"])
        try:
            about = loaded(path.read_text(encoding="utf-8"))
            if "code" not in about:
                about |= version_0.answer_of(about.pop("state"), about.pop("message"))
            sent_at, answer = about.pop("sent_at"), BatchOutcome(**about)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise StorageError(
                f"the answer to batch {row['batch_id']} in {path} cannot be read ({error}): "
                "move the file away, then the outcome of the batch is unknown; look it up"
            ) from error
        return answer if sent_at == row["sent_at"] else None

    def take(self, folder: Path) -> None:
        """Keep the answers of another folder, too."""
        with disk.storage_errors(self._folder):
            for path in (folder / FOLDER).glob("*.json"):
                disk.replace_content(disk.private_folder(self._folder) / path.name, path.read_bytes())

    def _path(self, batch_id: str) -> Path:
        return self._folder / f"{hashlib.sha256(batch_id.encode()).hexdigest()[:32]}.json"
