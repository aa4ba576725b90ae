"""Answers of the service that could not be written to the journal, kept in files until they are."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from bktools import disk
from bktools.errors import StorageError
from bktools.journal.records import Row, now

FOLDER = "answers"


@dataclass(frozen=True)
class Answer:
    """What became of a batch: its new state and the reason, the job and its JSON as the service answered."""

    state: str
    message: str
    job_id: str | None = None
    job: str | None = None

    def values(self) -> dict[str, str | None]:
        """Return the columns of the batch that change with its state."""
        jobs = {name: value for name, value in (("job_id", self.job_id), ("job", self.job)) if value is not None}
        return {"message": self.message, "settled_at": now().isoformat(), **jobs}

    def is_in(self, row: Row) -> bool:
        """Whether the row of a batch has this answer."""
        return (row.get("state"), row.get("message"), row.get("job_id")) == (self.state, self.message, self.job_id)

    def __str__(self) -> str:
        return f"{self.state} ({self.message}{f', job {self.job_id}' if self.job_id else ''})"


class UndeliveredAnswers:
    """The files of one journal on this machine, in the folder beside the journal or of the database."""

    def __init__(self, inner: Path) -> None:
        self._folder = inner / FOLDER

    def write(self, batch_id: str, sent_at: str, answer: Answer) -> None:
        """Keep the answer to the request of a batch; raise `StorageError` where that fails."""
        with disk.storage_errors(self._folder):
            disk.private_folder(self._folder)
            # What a sender knows beside the answer is of its run alone.
            texts = {"state": answer.state, "message": answer.message, "job_id": answer.job_id, "job": answer.job}
            disk.replace_content(self._path(batch_id), json.dumps({"sent_at": sent_at, **texts}).encode())

    def read(self, row: Row) -> Answer | None:
        """Return the kept answer to the request of a batch; None when there is none, or it is of an earlier request."""
        path = self._path(row["batch_id"])
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            sent_at, answer = kept.pop("sent_at"), Answer(**kept)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise StorageError(
                f"the answer to batch {row['batch_id']} in {path} cannot be read ({error}): move the file away, then "
                "the outcome of the batch is unknown; look it up"
            ) from error
        return answer if sent_at == row["sent_at"] else None

    def take(self, other: UndeliveredAnswers) -> None:
        """Keep the answers of another journal too, whose history came here."""
        with disk.storage_errors(self._folder):
            for path in other._folder.glob("*.json"):
                disk.replace_content(disk.private_folder(self._folder) / path.name, path.read_bytes())

    def _path(self, batch_id: str) -> Path:
        return self._folder / f"{hashlib.sha256(batch_id.encode()).hexdigest()[:32]}.json"
