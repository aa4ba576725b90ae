"""Entries that are ready → batches: one company each, bounded, by date, then ID."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.export.identity import Array
from bktools.export.plan import ExportOptions, batch_digest
from bktools.frames.schema import COUNT, DATE, TEXT

BATCHES = pa.schema(
    {"batch_id": TEXT, "company_id": TEXT, "entries": COUNT, "first_date": DATE, "last_date": DATE},
)

# Few enough groups are sorted digit by digit, in one pass.
FEW = 2**16

NO_DATE = np.iinfo(np.int32).max
EPOCH = np.datetime64(0, "D")


def days_of(rows: pa.Table) -> Array:
    """Return the day of each row since 1970, `NO_DATE` where there is none.

    Raises
    ------
    InputError
        When the column `date` holds something else than dates.
    """
    if "date" not in rows.column_names or pa.types.is_null(rows.schema.field("date").type):
        return np.full(rows.num_rows, NO_DATE, dtype=np.int32)
    kind = rows.schema.field("date").type
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        raise InputError(f"the column date of the entries holds {kind}, not dates: read them with read_entries")
    days = pc.cast(pc.cast(rows.column("date"), DATE, safe=False), pa.int32())
    found: Array = pc.fill_null(days, int(NO_DATE)).to_numpy()
    return found


def in_order(by_id: Array, companies: Array, days: Array) -> tuple[Array, Array]:
    """Return rows in the order of sending, and where in it each company begins.

    Parameters
    ----------
    by_id : array of int32
        The rows that are sent, in the order of their IDs.
    companies : array of int32
        The place of each row's company among all; of every row of the table.
    days : array of int32
        As `days_of` returns them.
    """
    company, day = companies[by_id], days[by_id]
    has_day = day != NO_DATE
    first, last = (day[has_day].min(), day[has_day].max()) if has_day.any() else (0, 0)
    span = int(last) - int(first) + 2
    place = np.where(has_day, day - first, np.int32(span - 1))
    largest = int(company.max(initial=0)) * span + span
    group = company.astype(np.uint16 if largest < FEW else np.int64) * span + place
    order = np.argsort(group.astype(np.uint16) if largest < FEW else group, kind="stable")
    begins = np.flatnonzero(np.diff(company[order], prepend=-1))
    return by_id[order], begins


def batched(
    ready: pa.Table, begins: Array, days: Array, size: int, options: ExportOptions
) -> tuple[pa.Table, pa.DictionaryArray]:
    """Return the batches of rows in the order of sending, and the batch ID of each row."""
    found: list[dict[str, Any]] = []
    company_ids = ready.column("company_id").take(pa.array(begins)).to_pylist()
    ids = ready.column("id")
    for company_id, start, stop in _batch_bounds(company_ids, begins, ready.num_rows, size):
        known = days[start:stop][days[start:stop] != NO_DATE]
        found.append(
            {
                "batch_id": batch_digest(company_id, ids.slice(start, stop - start).to_pylist(), options),
                "company_id": company_id,
                "entries": stop - start,
                "first_date": (EPOCH + known[0]).item() if len(known) else None,
                "last_date": (EPOCH + known[-1]).item() if len(known) else None,
            }
        )
    batches = pa.Table.from_pylist(found, schema=BATCHES)
    counts = batches.column("entries").to_numpy()
    of_row = np.repeat(np.arange(len(found), dtype=np.int32), counts)
    return batches, pa.DictionaryArray.from_arrays(of_row, batches.column("batch_id").combine_chunks())


def _batch_bounds(company_ids: list[str], begins: Array, rows: int, size: int) -> Iterator[tuple[str, int, int]]:
    bounds = [*begins.tolist(), rows]
    for company_id, begin, end in zip(company_ids, bounds[:-1], bounds[1:], strict=True):
        for start in range(begin, end, size):
            yield company_id, start, min(start + size, end)
