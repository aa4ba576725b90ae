"""What comes every month and is missing in this one, and what was missing last month and came since."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pyarrow as pa

from bktools.findings.check import LEFT_OUT
from bktools.frames.arrow import to_arrow
from bktools.frames.incoming import described
from bktools.spending.expected import KEYS, expected_in, months_known

MISSING = "missing"
# All are of one company, which only some of the tables name.
OF_HABIT = tuple(key for key in KEYS if key != "company_id")
HABIT_COLUMNS = ("id", "split_line", "date", "amount", *OF_HABIT)

c = pl.col


def recurring(
    entries: pa.Table,
    sent: pa.Table,
    held: pa.Table,
    month: str,
    last: str,
    as_of: dt.date,
    *,
    elsewhere: pa.Table,
) -> pa.Table:
    """Return the entries that are expected in a month and missing, then those that were missing last month.

    One row per expected entry: `month` (in which it was expected), and the columns of `expected_entries`. An
    entry of last month that was missing at its close is "late" or "came" where it came since. `entries` are
    those of the month's close, `sent`, `held` and `elsewhere` the entries of the company in the journal, of
    which the last were known before any close; `as_of` is the day of the close. `source_of` the table has
    months_known: how many months before have entries.
    """
    is_of_others = (c.fate == LEFT_OUT) & (c.reason != "later_period")
    current = pl.DataFrame(entries).filter(~is_of_others.fill_null(value=False))
    parts = (
        pl.DataFrame(sent).with_columns(met_in=c.sent_in.fill_null("")),
        pl.DataFrame(held).with_columns(met_in=c.sent_in.fill_null("")),
        current.with_columns(met_in=pl.lit(month)),
    )
    met = pl.concat([part.select("id") for part in parts])
    others = pl.DataFrame(elsewhere).join(met, on="id", how="anti").with_columns(met_in=pl.lit(""))
    # Each entry that any close met, once, with the month of the close that met it first.
    known = pl.concat(
        [
            part.select(name for name in (*HABIT_COLUMNS, "met_in") if name in part.columns)
            for part in (*parts, others)
        ],
        how="diagonal_relaxed",
    ).filter(c.id.is_null() | (c.id == "") | pl.struct("id", "split_line").is_first_distinct())
    everything = to_arrow(known)
    of_month = expected_in(everything, month, as_of).filter(~c.state.is_in(["came", "due"]))
    tables = [of_month.select(pl.lit(month).alias("month"), pl.all())]
    if last:
        then = expected_in(to_arrow(known.filter(c.met_in <= last)), last, as_of).filter(c.state == MISSING)
        now = expected_in(everything, last, as_of)
        keys = [*(name for name in OF_HABIT if name in now.columns), "expected_on", "amount"]
        was_missing = now.join(then, on=keys, how="semi", nulls_equal=True, maintain_order="left")
        tables.append(was_missing.select(pl.lit(last).alias("month"), pl.all()))
    table = to_arrow(pl.concat(tables, how="vertical_relaxed"))
    return described(table, {"months_known": months_known(everything, month)})
