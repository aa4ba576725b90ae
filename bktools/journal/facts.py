"""What the journal keeps of each entry in a person's terms: its facts when its batch was claimed.

A claim is an event with the digest of its facts, so the chain of events covers them. A batch that is claimed again with
other facts gets another claim; earlier ones stay, and the newest one counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Protocol

from bktools.frames.schema import FACTS

# The values of the columns `FACTS` of an entry, as text; the amount is exact.
Facts = tuple[str | None, ...]

KEPT = "KEPT"
# The facts of the newest claim are not known, because a backup from before it was restored.
NOT_KEPT = "NOT KEPT"

COLUMNS = (*FACTS, "period")

NEWEST_CLAIMS = "SELECT subject_id AS batch_id, max(event_id) AS claim FROM events WHERE subject = 'facts' GROUP BY 1"
NEWEST_DIGEST = "SELECT message FROM events WHERE subject = 'facts' AND subject_id = ? ORDER BY event_id DESC LIMIT 1"
CLAIMS = "SELECT event_id, subject_id, message FROM events WHERE subject = 'facts' AND after = 'KEPT'"
OF_CLAIM = f"SELECT entry_id, {', '.join(COLUMNS)} FROM facts WHERE batch_id = ? AND claim = ? ORDER BY entry_id"
DATES = "SELECT date FROM facts WHERE batch_id = ?1 AND claim = (SELECT max(claim) FROM facts WHERE batch_id = ?1)"
INSERT = f"INSERT INTO facts VALUES (?, ?, ?{', ?' * len(COLUMNS)})"

HELD_BACK = ("close", "place", "entry_id", "reason", "message", *FACTS)
INSERT_HELD_BACK = f"INSERT INTO held_back VALUES (?, ?{', ?' * len(HELD_BACK[2:])})"
CLOSES = "SELECT event_id, subject_id, message FROM events WHERE subject = 'close'"
OF_CLOSE = f"SELECT {', '.join(HELD_BACK[2:])} FROM held_back WHERE close = ? ORDER BY place"

_DATE = list(FACTS).index("date")


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


def facts_of(batch: Batch, period: str | None) -> list[Facts]:
    """Return entry ID, facts and period of each entry of a batch, in the order of the IDs.

    Parameters
    ----------
    batch : Batch
        The batch.
    period : str, optional
        The period of the close that sends it, as 2026-10. Default: the month of each entry's date.
    """
    of_entries = zip(batch.entry_ids, batch.facts, strict=bool(batch.facts))
    return sorted((entry, *facts, period or (facts[_DATE] or "")[:7] or None) for entry, facts in of_entries)


def dates_of(batch: Batch) -> list[str | None]:
    """Return the dates of the entries of a batch; None where one is not known."""
    return [facts[_DATE] for facts in batch.facts] or [None]


def digest_of(rows: Sequence[Sequence[Any]]) -> str:
    """Return the digest of rows of facts in the order of their entry IDs."""
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()
