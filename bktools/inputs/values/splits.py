"""Split entries: lines with one ID that are the parts of one entry, where the file says so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells
from bktools.inputs.reading import Reading

# What the parts of one entry have in common beside its ID.
_IN_COMMON = ("company_id", "date", "currency")


def split_entries(reading: Reading, entries: pa.Table) -> pa.Table:
    """Return entries with `split_line` and `split_lines`, unchanged where no entry is split.

    Lines with one ID, company, date and currency are the parts of one entry when a column numbers them from 1
    (or 0), or when the caller says so. Equal lines are copies of one.
    """
    are_split = reading.options.get("split_lines", False)
    if not are_split and not reading.has("split_line"):
        return entries
    counts = entries["id"].value_counts()
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1)).drop_null()
    places = np.flatnonzero(pc.is_in(entries["id"], value_set=repeated))
    rows = entries.drop_columns(["line"]).take(places).to_pylist()
    numbers = cells.trimmed(reading.or_null("split_line")).take(places).to_pylist()
    lines_of: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for place, row, number in zip(places.tolist(), rows, numbers, strict=True):
        lines_of[row["id"]][place] = {**row, "split_line": number}
    numbered = np.zeros((2, len(entries)), np.int64)
    for lines in lines_of.values():
        parts = [own for at, own in enumerate(lines.values()) if own not in [*lines.values()][:at]]
        numbers_of_parts = _numbers(parts, are_split=are_split)
        for place, own in lines.items() if numbers_of_parts else ():
            numbered[:, place] = numbers_of_parts[parts.index(own)], len(parts)
    if not numbered.any():
        return entries
    place = entries.column_names.index("line")
    for name, values in zip(("split_lines", "split_line"), numbered[::-1], strict=True):
        entries = entries.add_column(place, pa.field(name, schema.COUNT), [pa.array(values, schema.COUNT)])
    return entries


def _numbers(parts: Sequence[dict[str, Any]], *, are_split: bool) -> list[int]:
    """Return the number of each part of an entry from 1; none where they are no parts of one."""
    if len(parts) == 1 or len({tuple(map(part.get, _IN_COMMON)) for part in parts}) > 1:
        return []
    texts = [part["split_line"] or "" for part in parts]
    if all(map(str.isdecimal, texts)):
        numbers = [int(text) - min(map(int, texts)) + 1 for text in texts]
        if sorted(numbers) == [*range(1, len(parts) + 1)] and min(map(int, texts)) in (0, 1):
            return numbers
    return [*range(1, len(parts) + 1)] if are_split else []
