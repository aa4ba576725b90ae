"""Cuts ready entries into batches of one company."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from bktools.export.plan import BATCHES, ExportOptions, batch_digest
from bktools.export.tables import days_of
from bktools.frames.schema import TEXT


def batch_ids(ready: pa.Table, size: int, options: ExportOptions) -> pa.Array:
    """Return the batch ID of each ready entry; the entries are in the order of sending."""
    ids, names, counts = ready.column("id"), [], []
    begin = 0
    for company in ready.column("company_id").value_counts().to_pylist():
        end = begin + company["counts"]
        for first in range(begin, end, size):
            counts.append(min(size, end - first))
            names.append(batch_digest(company["values"], ids.slice(first, counts[-1]).to_pylist(), options))
        begin = end
    return pa.array(names, TEXT).take(pa.array(np.repeat(np.arange(len(names)), counts)))


def batches_of(ready: pa.Table) -> pa.Table:
    """Return the batches of the ready entries, in the order of sending."""
    rows = ready.select(["batch_id", "company_id"]).append_column("day", days_of(ready))
    found = rows.group_by(["batch_id", "company_id"], use_threads=False)
    batches = found.aggregate([([], "count_all"), ("day", "min"), ("day", "max")])
    return batches.rename_columns(BATCHES.names).cast(BATCHES)
