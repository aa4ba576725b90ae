"""The entries of a plan as it holds them: codes, which few entries have alone, as dictionaries.

An entry takes less than half of what it takes as a row of text; `whole` makes text again.
"""

from __future__ import annotations

import pyarrow as pa

from bktools.export.identity import Array

CODES = ("batch_id", "company_id", "currency", "category_id", "employee_id", "status")


def compact(entries: pa.Table, order: Array | None = None) -> pa.Table:
    """Return entries with their codes as dictionaries, in an order of rows if one is given.

    One column after the other: `take` puts all pieces of a column together first, and the longest ones go first, so
    that this happens while there is the most room.
    """
    places = None if order is None else pa.array(order)
    names = sorted(entries.column_names, key=lambda name: entries.column(name).nbytes, reverse=True)
    made: dict[str, pa.ChunkedArray] = {}
    for name in names:
        column = entries.column(name)
        if name in CODES and (pa.types.is_large_string(column.type) or pa.types.is_string(column.type)):
            column = column.dictionary_encode()
        made[name] = column if places is None else column.take(places)
    return pa.table({name: made[name] for name in entries.column_names})


def whole(entries: pa.Table) -> pa.Table:
    """Return entries with their codes as text."""
    for name in CODES:
        index = entries.schema.get_field_index(name)
        if index >= 0 and pa.types.is_dictionary(entries.schema.field(index).type):
            entries = entries.set_column(index, name, entries.column(index).cast(pa.large_string()))
    return entries
