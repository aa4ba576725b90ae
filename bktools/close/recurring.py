"""What comes every month and is missing in this one, and what was missing last month and came since."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools.findings.check import LEFT_OUT
from bktools.frames.columns import tables_in_one_scale
from bktools.frames.incoming import described
from bktools.frames.schema import COUNT, TEXT
from bktools.spending.expected import KEYS, expected_in, months_known

CAME, DUE, MISSING = "came", "due", "missing"
# All are of one company, which only some of the tables name.
COLUMNS = ("id", "split_line", "date", "amount", *(key for key in KEYS if key != "company_id"))


def recurring(
    entries: pa.Table, sent: pa.Table, held: pa.Table, month: str, last: str, as_of: dt.date
) -> pa.Table:
    """Return the entries that are expected in a month and missing, then those that were missing last month.

    One row per expected entry: `month` (in which it was expected), and the columns of `expected_entries`. An
    entry of last month that was missing at its close is "late" or "came" where it came since. `entries` are
    those of the month's close, `sent` and `held` the entries of the company in the journal, `as_of` is the
    day of the close. `source_of` the table has months_known: how many months before have entries.
    """
    known = _known(entries, sent, held, month)
    of_month = expected_in(known, month, as_of)
    is_named = pc.invert(pc.is_in(of_month["state"], pa.array([CAME, DUE], TEXT)))
    tables = [_of(month, of_month.filter(is_named))]
    if last:
        then = expected_in(known.filter(pc.less_equal(known["met_in"], last)), last, as_of)
        was_missing = {_key(row) for row in then.to_pylist() if row["state"] == MISSING}
        now = expected_in(known, last, as_of)
        rows = [place for place, row in enumerate(now.to_pylist()) if _key(row) in was_missing]
        tables.append(_of(last, now.take(pa.array(rows, COUNT))))
    table = pa.concat_tables(tables, promote_options="permissive")
    return described(table, {"months_known": months_known(known, month)})


def _known(entries: pa.Table, sent: pa.Table, held: pa.Table, month: str) -> pa.Table:
    """Return each entry that any close met, once, with the month of the close that met it first."""
    is_left_out = pc.and_(
        pc.equal(entries["fate"], LEFT_OUT), pc.not_equal(entries["reason"], "later_period")
    )
    current = entries.filter(pc.invert(pc.fill_null(is_left_out, False)))
    parts = [
        _met(sent, sent["sent_in"]),
        _met(held, held["first_held_in"]),
        _met(current, pa.repeat(pa.scalar(month, TEXT), len(current))),
    ]
    known = pa.concat_tables(tables_in_one_scale(*parts), promote_options="permissive")
    keys: set[Any] = set()
    places = []
    for place, key in enumerate(zip(known["id"].to_pylist(), known["split_line"].to_pylist(), strict=True)):
        if key not in keys or not key[0]:
            places.append(place)
        keys.add(key)
    return known.take(pa.array(places, COUNT))


def _met(rows: pa.Table, month: pa.Array | pa.ChunkedArray) -> pa.Table:
    columns = [name for name in COLUMNS if name in rows.column_names]
    return rows.select(columns).append_column("met_in", pc.fill_null(month, ""))


def _of(month: str, rows: pa.Table) -> pa.Table:
    return rows.add_column(0, "month", pa.repeat(pa.scalar(month, TEXT), len(rows)))


def _key(row: dict[str, Any]) -> Iterable[Any]:
    return tuple(row.get(name) for name in (*KEYS, "expected_on", "amount"))
