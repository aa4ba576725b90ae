"""A batch of entries as it is sent and as the journal keeps it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bktools.frames.schema import ENTRY_DATA
from bktools.frames.tables import split_lines, texts_of

# A line of an entry: its ID, the number of the line (0 in an entry of one line), `ENTRY_DATA` as text.
EntryData = tuple[Any, ...]


@dataclass(frozen=True)
class BatchRequest:
    """The request for a batch, and the entries that it is made of.

    `batch_id` is a digest of company, entries and options; `rows` are the lines of the entries, None where
    nothing is known of them.
    """

    batch_id: str
    company_id: str
    entry_ids: list[str]
    body: bytes
    rows: pa.Table | None = None

    @functools.cached_property
    def entry_data(self) -> list[EntryData]:
        """What the journal keeps of each line, as `EntryData`: exact amounts, and null where unknown."""
        rows = self.rows
        if rows is None:
            return []
        lines = split_lines(rows).to_pylist()
        # Only the lines of split entries repeat an ID.
        ids = rows.column("id").to_pylist() if any(lines) else self.entry_ids
        return list(zip(ids, lines, *(texts_of(rows, name) for name in ENTRY_DATA), strict=True))
