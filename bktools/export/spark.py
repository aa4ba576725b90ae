"""Checks the entries of PySpark frames: workers find each entry's first error; entries are collected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.export.findings import Checker, Naming, in_order_of_sending
from bktools.frames.schema import TEXT
from bktools.frames.tables import days_of, typed
from bktools.frames.workers import Tables, in_order, on_workers

# The number of an entry's row in its frame. No column of a person has this name.
ROW_NUMBER = "row number of bktools"
FIRST_ERROR = ("reason", "facts")


@dataclass(frozen=True)
class CheckedByWorkers:
    """As `Checked`: entries of which workers found the first errors. All findings are found here."""

    checker: Checker
    order: pl.DataFrame
    unchecked: tuple[str, ...]
    books: Mapping[str, Any] = field(default_factory=dict)

    def find(
        self, entries: pa.Table, named: Naming, before_sending: frozenset[str] = frozenset()
    ) -> pa.Table:
        """Return all findings, as `Checked.find` does."""
        return self.checker.check(entries).find(entries, named, before_sending)


def checked_by_workers(entries: Any, checker: Checker) -> tuple[pa.Table, CheckedByWorkers]:
    """Return the entries of a PySpark frame as `typed` does, and what workers found of them.

    Without a history, whether an entry is ready depends on all lines with its ID, of whatever company, and
    on no other entry: these lines come together.
    """
    checks = partial(_checked, checker=checker)
    rows = on_workers(checks, {"entries": in_order(entries, ROW_NUMBER)}, by="id")["entries"].sort_by(
        ROW_NUMBER
    )
    reasons = {name: rows[name] for name in FIRST_ERROR}
    if "line" not in rows.column_names:
        reasons["facts"] = _with_lines(reasons["facts"], rows[ROW_NUMBER])
    rows = typed(rows.drop_columns([ROW_NUMBER, *FIRST_ERROR]), "entries")
    keys = pa.table({"company_id": rows["company_id"], "day": days_of(rows), "id": rows["id"]} | reasons)
    order = in_order_of_sending(pl.DataFrame(keys).with_row_index("row"))
    return rows, CheckedByWorkers(checker, order, checker.unchecked(rows.column_names))


def _checked(frames: Tables, checker: Checker) -> Tables:
    """Return entries with the first error of each; the line of a row may be its number. Runs on a worker."""
    entries = frames["entries"].sort_by(ROW_NUMBER)
    has_lines = "line" in entries.column_names
    named = entries if has_lines else entries.append_column("line", entries[ROW_NUMBER])
    rows = typed(named.drop_columns([ROW_NUMBER]), "entries")
    first_errors = checker.check(rows).rows
    rows = rows if has_lines else rows.drop_columns(["line"])
    for name in FIRST_ERROR:
        rows = rows.append_column(name, pc.cast(first_errors[name].to_arrow(), TEXT))
    return {"entries": rows.append_column(ROW_NUMBER, entries.column(ROW_NUMBER))}


def _with_lines(facts: pa.ChunkedArray, numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return facts as JSON that name the lines of the whole frame, in place of the numbers of its rows."""
    lines = dict(zip(numbers.to_pylist(), count(1), strict=False))

    def named(text: str) -> str:
        known = msgspec.json.decode(text)
        known["id_lines"] = [lines[number] for number in known["id_lines"]]
        return str(msgspec.json.encode(known), "utf-8")

    texts = (named(text) if text and '"id_lines"' in text else text for text in facts.to_pylist())
    return pa.chunked_array([pa.array(texts, TEXT)])
