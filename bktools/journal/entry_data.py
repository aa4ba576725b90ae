"""What the journal keeps of each entry for people: its data when its batch was claimed (table `entry_data`).

A batch that is claimed again with other data has these from then on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from bktools.frames.batches import BatchRequest, EntryData
from bktools.frames.schema import COMPARED, ENTRY_DATA

COLUMNS = (*ENTRY_DATA, "period")

DATED = """
    SELECT entry_id, date FROM batch_entries LEFT JOIN entry_data USING (batch_id, entry_id)
    WHERE batch_id = $1
"""
NAMES = ("batch_id", "entry_id", "split_line", *COLUMNS)

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


def changed(sent: Iterable[Mapping[str, Any]], batch: BatchRequest) -> list[str]:
    """Return the entries of a batch whose data differ from the sent ones; unknown data are not compared."""
    before, after = defaultdict(list), defaultdict(list)
    for row in sent:
        before[row["entry_id"]].append([_comparable(name, row[name]) for name in COMPARED])
    for entry, _, *values in batch.entry_data:
        data = dict(zip(ENTRY_DATA, values, strict=True))
        after[entry].append([_comparable(name, data[name]) for name in COMPARED])
    return [entry for entry, lines in after.items() if _differ(before[entry], lines)]


def _differ(before: list[list[str]], after: list[list[str]]) -> bool:
    """Return whether lines of an entry differ in a column that is known for each line before and after."""
    comparable = [
        column for column in range(len(COMPARED)) if all(line[column] for line in (*before, *after))
    ]
    return bool(comparable and before) and sorted(
        [line[column] for column in comparable] for line in before
    ) != sorted([line[column] for column in comparable] for line in after)


def _comparable(name: str, value: str | None) -> str:
    if name == "amount" and value is not None:
        return f"{Decimal(value).normalize():f}"
    text = (value or "").strip()
    return text.lower() if name == "category_id" else text
