"""What a journal can do, whatever keeps it: `Journal` keeps it in a SQLite file of the data folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from bktools.journal.file import Row


class Batch(Protocol):
    """What the journal must know of a batch before it may be sent."""

    @property
    def batch_id(self) -> str:
        """Digest of company, entries and options."""

    @property
    def company_id(self) -> str:
        """UUID of its company."""

    @property
    def entry_ids(self) -> Sequence[str]:
        """UUIDs of its entries."""

    @property
    def body(self) -> bytes:
        """The request's body."""


class ExportMemory(Protocol):
    """The memory of what was exported. Constraints of the database, not code, hold what it promises."""

    @property
    def id(self) -> str:
        """Identity of the journal. A plan that was composed against another one is refused."""

    def require_current(self) -> None:
        """Refuse to send when this is an old copy of the journal."""

    def obstacle(self, batch: Batch) -> str:
        """Return why the entries of a batch cannot be sent in it, "" when they can."""

    def sending(self, company_id: str) -> AbstractContextManager[None]:
        """Hold the right to send for a company."""

    def claim(self, batches: Iterable[Batch], plan_id: str) -> None:
        """Write batches of one company as PLANNED: from here on their entries are theirs."""

    def begin(self, batch_id: str) -> bytes:
        """Write that a batch is being sent, and return the bytes to send. On disk when this returns."""

    def settle(
        self, batch_id: str, state: str, message: str, *, job_id: str | None = None, job: str | None = None
    ) -> None:
        """Write what became of a batch."""

    def recover(self, company_id: str | None = None) -> None:
        """Turn batches whose sender died into UNKNOWN."""

    def resolve(self, batch_id: str, state: str, *, evidence: str, by: str, job_id: str | None = None) -> None:
        """Settle a batch in doubt, or withdraw one that was not sent, as a person says."""

    def history(self, table: str, company_id: str | None, batch_id: str | None, *, size: int) -> Iterable[list[Row]]:
        """Return batches, entries or events, in pieces of at most `size` rows."""

    def state_of(self, batch_id: str) -> Row | None:
        """Return a batch as it stands."""

    def newest_accepted(self, company_id: str) -> Row | None:
        """Return the batch of a company that was sent last of those whose job was created."""

    def is_known_job(self, job_id: str) -> bool:
        """Whether a job answered for another batch before."""

    def command(self, words: str) -> str:
        """Return a command as a message gives it: it names this journal's environment."""

    def in_doubt(self, company_id: str) -> Row | None:
        """Return the oldest batch in doubt, which blocks the company."""
