"""Checks the entries of PySpark frames: workers find the first error of each, and the entries are collected."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools.export import findings
from bktools.export.selection import selected
from bktools.export.tables import arrow_of, days_of, numbered
from bktools.frames.engine import engine
from bktools.frames.schema import TEXT
from bktools.frames.workers import Tables, in_order, on_workers

# The place of an entry in its frame. No column of a person has this name.
PLACE = "place of bktools"


def checked(entries: Any, given: Mapping[str, pa.Table], asked: Mapping[str, Any]) -> tuple[pa.Table, pa.Table]:
    """Return the entries of a PySpark frame, prepared, and the first error of each as `findings.first_errors` does.

    Whether an entry is ready depends on all lines with its ID, of whatever company, so that these come together.
    """
    checks = partial(_checked, given=given, asked=asked)
    checked_rows = on_workers(checks, {"entries": in_order(entries, PLACE)}, by="id")["entries"].sort_by(PLACE)
    rows = selected(checked_rows.drop_columns([PLACE, "reason", "message"]), None, entries)
    errors = numbered(checked_rows.select(["company_id", "id", "reason", "message"]), "row")
    with engine("compose_export_jobs", errors=errors.append_column("day", days_of(rows))) as connection:
        query = "SELECT row, reason, message FROM errors ORDER BY company_id, day, id, row"
        return rows, connection.sql(query).to_arrow_table()


def _checked(frames: Tables, given: Mapping[str, pa.Table], asked: Mapping[str, Any]) -> Tables:
    """Return entries with the first error of each. Runs on a worker."""
    given_rows = frames["entries"].sort_by(PLACE)
    rows = findings.prepared(arrow_of(given_rows.drop_columns([PLACE]), "entries"), given)
    errors = findings.first_errors(rows, given, asked).sort_by("row")
    for name in ("reason", "message"):
        rows = rows.append_column(name, pc.cast(errors.column(name), TEXT))
    return {"entries": rows.append_column(PLACE, given_rows.column(PLACE))}
