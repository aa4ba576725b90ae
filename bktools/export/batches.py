"""Cuts ready entries into batches of one company."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.export.plan import BATCHES, ExportOptions, batch_digest
from bktools.export.tables import days_of
from bktools.frames.schema import COUNT, TEXT


def batch_ids(ready: pa.Table, size: int, options: ExportOptions) -> pa.Array:
    """Return the batch ID of each ready row; the rows are in the order of sending, the lines of an entry together."""
    begins = np.flatnonzero(_begins_entry(ready))
    entries = ready.select(["id", "company_id"]).take(begins)
    ids, names, counts = entries.column("id"), [], []
    begin = 0
    for company in entries.column("company_id").value_counts().to_pylist():
        end = begin + company["counts"]
        for first in range(begin, end, size):
            counts.append(min(size, end - first))
            names.append(batch_digest(company["values"], ids.slice(first, counts[-1]).to_pylist(), options))
        begin = end
    lines = np.diff(begins, append=len(ready))
    return pa.array(names, TEXT).take(pa.array(np.repeat(np.repeat(np.arange(len(names)), counts), lines)))


def batches_of(ready: pa.Table) -> pa.Table:
    """Return the batches of the ready entries, in the order of sending."""
    rows = ready.select(["batch_id", "company_id"]).append_column("day", days_of(ready))
    rows = rows.append_column("entries", pa.array(_begins_entry(ready)).cast(COUNT))
    groups = rows.group_by(["batch_id", "company_id"], use_threads=False)
    batches = groups.aggregate([("entries", "sum"), ("day", "min"), ("day", "max")])
    return batches.rename_columns(BATCHES.names).cast(BATCHES)


def _begins_entry(ready: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return whether each row has another ID than the one before it."""
    ids = ready.column("id")
    return np.concatenate([[True][: len(ids)], pc.not_equal(ids[1:], ids[:-1]).to_numpy()]).astype(bool)
