"""Split entries: lines with one ID that are the parts of one entry, where the file says so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells
from bktools.inputs.reading import Reading
from bktools.inputs.values.amounts import Figures

# The fields that say which lines are parts of one entry.
SPLITS = ("split_line", "entry_total")


class _Line(NamedTuple):
    """A line of the file, with the number and the total that say that it is a part of an entry."""

    place: int
    cells: dict[str, Any]
    number: str | None
    total: Decimal | None

    @property
    def content(self) -> tuple[Any, ...]:
        """All that it says; lines with equal content are copies of one."""
        return (*self.cells.values(), self.number, self.total)


def split_entries(reading: Reading, entries: pa.Table) -> pa.Table:
    """Return entries with `split_line` and `split_lines`, unchanged where no entry is split.

    Lines with one ID, company, date and currency are the parts of one entry when a column numbers them from 1
    (or 0), or when they add up to the total that stands beside each, or when the caller says so. Equal lines
    are copies of one.
    """
    are_split = reading.options.get("split_lines", False)
    columns = {name: reading.column(name) for name in SPLITS if reading.has(name)}
    if not columns and not are_split:
        return entries
    numbers = cells.trimmed(columns["split_line"]) if "split_line" in columns else None
    totals = None
    if "entry_total" in columns:
        figures = Figures.of(columns["entry_total"])
        totals, _ = figures.values(reading.options.get("decimal") or figures.own_mark)
    counts = entries["id"].value_counts()
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1)).drop_null()
    places = np.flatnonzero(pc.is_in(entries["id"], value_set=repeated))
    rows = entries.drop_columns(["line"]).take(places).to_pylist()
    stated = (
        [None] * len(rows) if column is None else column.take(places).to_pylist()
        for column in (numbers, totals)
    )
    lines_of: dict[str, list[_Line]] = defaultdict(list)
    for line in map(_Line, places.tolist(), rows, *stated):
        lines_of[line.cells["id"]].append(line)
    numbered = np.zeros((2, len(entries)), np.int64)
    for lines in lines_of.values():
        of_place = _numbered(lines, are_split=are_split)
        for place, number in of_place.items():
            numbered[:, place] = number, max(of_place.values())
    if not numbered.any():
        return entries
    place = entries.column_names.index("line")
    for name, values in zip(("split_lines", "split_line"), numbered[::-1], strict=True):
        entries = entries.add_column(place, pa.field(name, schema.COUNT), [pa.array(values, schema.COUNT)])
    return entries


def _numbered(lines: Sequence[_Line], *, are_split: bool) -> dict[int, int]:
    """Return the number of each line in its entry by its place in the file; empty where nothing is split."""
    if len({tuple(map(line.cells.get, ("company_id", "date", "currency"))) for line in lines}) > 1:
        return {}
    different = list({line.content: line for line in lines}.values())
    numbers = [line.number for line in different]
    if len(different) > 1 and all(number is not None and number.isdecimal() for number in numbers):
        values = sorted(int(number) for number in numbers if number)
        if values in ([*range(1, len(numbers) + 1)], [*range(len(numbers))]):
            return {line.place: int(line.number or 0) - values[0] + 1 for line in lines}
    if _add_up(lines):
        return {line.place: number for number, line in enumerate(lines, 1)}
    if len(different) > 1 and (are_split or _add_up(different)):
        order = {line.content: number for number, line in enumerate(different, 1)}
        return {line.place: order[line.content] for line in lines}
    return {}


def _add_up(lines: Sequence[_Line]) -> bool:
    """Return whether the amounts of lines add up to the total beside each of them; signs may stand apart."""
    amounts: list[Any] = [line.cells.get("amount") for line in lines]
    total, *others = {line.total for line in lines}
    is_known = total is not None and not others and None not in amounts
    return is_known and abs(sum(amounts)) == abs(total or 0)
