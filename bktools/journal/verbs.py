"""The interface of a journal; `Journal` implements it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from bktools.journal.facts import Facts
from bktools.journal.records import Row


class Batch(Protocol):
    """The properties of a batch that the journal needs."""

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

    @property
    def facts(self) -> Sequence[Facts]:
        """The facts of its entries, in the order of `entry_ids`; empty when nothing is known."""


class ExportMemory(Protocol):
    """The record of exported entries. Database constraints, not code, enforce its rules."""

    @property
    def id(self) -> str:
        """Identity of the journal. A plan that was composed against another one is refused."""

    def require_current(self) -> None:
        """Refuse to send when this is an old copy of the journal."""

    def obstacle(self, batch: Batch) -> str:
        """Return the reason why a batch cannot be sent, "" when it can."""

    def sending(self, company_id: str) -> AbstractContextManager[None]:
        """Hold the company's lock."""

    def claim(self, batches: Iterable[Batch], plan_id: str, period: str | None = None) -> None:
        """Write batches of one company as PLANNED; from then on no other batch can take their entries."""

    def begin(self, batch_id: str) -> bytes:
        """Write that a batch is being sent, and return the request body. The journal is then on disk."""

    def settle(
        self, batch_id: str, state: str, message: str, *, job_id: str | None = None, job: str | None = None
    ) -> None:
        """Write the outcome of a batch."""

    def recover(self, company_id: str | None = None) -> None:
        """Turn batches whose sender was killed into UNKNOWN."""

    def resolve(self, batch_id: str, state: str, *, evidence: str, by: str, job_id: str | None = None) -> None:
        """Record a person's finding: resolve an UNKNOWN batch, or withdraw a PLANNED one."""

    def history(self, table: str, company_id: str | None, batch_id: str | None, *, size: int) -> Iterable[list[Row]]:
        """Yield batches, entries or events, in lists of at most `size` rows."""

    def state_of(self, batch_id: str) -> Row | None:
        """Return the row of a batch, None where there is none."""

    def newest_accepted(self, company_id: str) -> Row | None:
        """Return the ACCEPTED batch of a company that was sent last."""

    def is_known_job(self, job_id: str) -> bool:
        """Whether the journal has a batch with this job."""

    def command(self, words: str) -> str:
        """Return a command ready to be run: it names this journal's environment."""

    def in_doubt(self, company_id: str) -> Row | None:
        """Return the oldest UNKNOWN batch of a company, which blocks it."""

    def kept_answer(self, row: Row) -> str:
        """Return the answer to a batch that this machine received and could not write, "" for none."""
