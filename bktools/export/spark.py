"""Checks the entries of PySpark frames: workers find the first error of each, and the entries are collected."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools.export.findings import Checker
from bktools.export.tables import arrow_of, numbered, with_lines
from bktools.frames.columns import days_of
from bktools.frames.engine import engine
from bktools.frames.schema import TEXT
from bktools.frames.workers import Tables, in_order, on_workers

# The number of an entry's row in its frame. No column of a person has this name.
ROW_NUMBER = "row number of bktools"


def checked(entries: Any, checker: Checker) -> tuple[pa.Table, pa.Table]:
    """Return the entries of a PySpark frame as `arrow_of` does, and the first errors as `Checker.first_errors` does.

    Whether an entry is ready depends on all lines with its ID, of whatever company, so that these come together.
    """
    checks = partial(_checked, checker=checker)
    checked_rows = on_workers(checks, {"entries": in_order(entries, ROW_NUMBER)}, by="id")["entries"].sort_by(
        ROW_NUMBER
    )
    rows = with_lines(checked_rows.drop_columns([ROW_NUMBER, "reason", "message"]))
    errors = numbered(checked_rows.select(["company_id", "id", "reason", "message"]), "row")
    with engine("compose_export_jobs", errors=errors.append_column("day", days_of(rows))) as connection:
        query = "SELECT row, reason, message FROM errors ORDER BY company_id, day, id, row"
        return rows, connection.sql(query).to_arrow_table()


def _checked(frames: Tables, checker: Checker) -> Tables:
    """Return entries with the first error of each. Runs on a worker."""
    entries = frames["entries"].sort_by(ROW_NUMBER)
    rows = arrow_of(entries.drop_columns([ROW_NUMBER]), "entries")
    errors = checker.first_errors(rows).sort_by("row")
    for name in ("reason", "message"):
        rows = rows.append_column(name, pc.cast(errors.column(name), TEXT))
    return {"entries": rows.append_column(ROW_NUMBER, entries.column(ROW_NUMBER))}
