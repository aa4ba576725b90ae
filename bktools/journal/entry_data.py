"""What the journal keeps of each entry for people: its data when its batch was claimed (table `entry_data`).

A batch that is claimed again with other data has these from then on.
"""

from __future__ import annotations

from bktools.frames.batches import BatchRequest, EntryData
from bktools.frames.schema import ENTRY_DATA

DATA_COLUMNS = (*ENTRY_DATA, "period")

DATED = """
    SELECT entry_id, date FROM batch_entries LEFT JOIN entry_data USING (batch_id, entry_id)
    WHERE batch_id = $1
"""
NAMES = ("batch_id", "entry_id", "split_line", *DATA_COLUMNS)

# The ID of an entry, and its date, None where that is not known.
Dated = tuple[str, str | None]
_DATE = 2 + list(ENTRY_DATA).index("date")


def rows_of(batch: BatchRequest, month: str | None) -> list[EntryData]:
    """Return the data of each entry of a batch, with its period.

    That is the month of the close that sends it, or else of its date.
    """
    return [(*line, month or (line[_DATE] or "")[:7] or None) for line in batch.entry_data]


def dated(batch: BatchRequest) -> list[Dated]:
    """Return ID and date of the entries of a batch, for each line of a split one."""
    if not batch.entry_data:
        return [(entry_id, None) for entry_id in batch.entry_ids]
    return [(line[0], line[_DATE]) for line in batch.entry_data]
