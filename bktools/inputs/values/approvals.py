"""Which entries a file says are approved, and which ones it says were exported already."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.reading import Reading
from bktools.wording import words

_SHOWN_WORDS, _SHOWN_CHARACTERS = 8, 60
# Codes of `export_status`, which are the tables of their words, too.
_EXPORT_STATUS = (*schema.EXPORTED_ELSEWHERE, "not_exported")


def read_approvals(reading: Reading) -> None:
    """Read `status`, `approved` and `export_status`, and note what was taken as approved.

    An unknown value in a column headed as one of approvals is a problem that counts such values: nothing is
    approved by a guess.
    """
    _read_export_status(reading)
    saying = next((field for field in ("approved", "status") if reading.has(field)), None)
    if saying is None:
        return
    column = reading.column(saying)
    reading.result["status"] = reading.or_null("status" if reading.has("status") else saying)
    stated = reading.options.get("approved_values")
    if stated is not None:
        approving = {terms.normal(value) for value in stated.split(",")} - {""}
    else:
        is_headed = reading.seen(reading.places[saying]).is_headed("approval_status")
        is_of_approvals = saying == "approved" or is_headed or reading.is_asked(saying)
        tables = ["approved", *["yes"] * (saying == "approved"), *["settled"] * is_of_approvals]
        approving = {*terms.values(*tables)}
        is_silent = approving.isdisjoint(map(terms.normal, cells.unique(column)))
        if not is_of_approvals and is_silent and reading.result["id"].null_count == len(column):
            # A bank's states say nothing of approvals, and its entries are not exported.
            return
        _ask_unknown(reading, saying, approving)
    approved = cells.each(column, lambda text: terms.normal(text) in approving, schema.FLAG)
    reading.result["approved"] = approved
    for rows, code in ((approved, "approved"), (pc.invert(approved), "not_approved")):
        if counts := _counts(column.filter(rows)):
            reading.note(code, values=_shown(counts))


def _ask_unknown(reading: Reading, saying: str, approving: set[str]) -> None:
    known = {*approving, *terms.values("not_approved", "no"), ""}
    counts = _counts(reading.column(saying))
    # A list that bktools wrote of its own jobs: ACCEPTED alone is an export.
    if {*map(terms.normal, counts)} <= {*map(terms.normal, schema.BATCH_STATES)}:
        return
    unknown = {value: count for value, count in counts.items() if terms.normal(value) not in known}
    if unknown:
        sure = [value.strip() for value in counts if terms.normal(value) in approving]
        every = [*sure, *(value.strip() for value in unknown)]
        choices = [{"approved_values": ",".join(dict.fromkeys(values)) or "none"} for values in (sure, every)]
        reading.problems.ask("approvals", choices, heading=reading.heading(saying), values=_shown(unknown))


def _read_export_status(reading: Reading) -> None:
    """Read which entries were exported elsewhere, by a status or a time of export, or the entry's status."""
    meanings = {word: code for code in _EXPORT_STATUS for word in terms.values(code)}
    codes = reading.constant(None, schema.TEXT)
    if reading.has("export_status"):
        of_flags = dict.fromkeys(terms.values("yes"), "exported")
        of_flags |= dict.fromkeys(terms.values("no"), "not_exported")
        column = reading.column("export_status")
        codes = _codes(column, meanings | of_flags)
        unknown = _counts(column.filter(pc.and_(pc.is_null(codes), pa.array(~cells.blank(column)))))
        if unknown:
            heading = reading.heading("export_status")
            reading.problems.ask(
                "export_status", [{"columns": {"export_status": ""}}], heading=heading, values=_shown(unknown)
            )
    if reading.has("exported_at"):
        has_time = pa.array(~cells.blank(reading.column("exported_at")))
        exported = pc.if_else(has_time, "exported", pa.scalar(None, schema.TEXT)).cast(schema.TEXT)
        codes = pc.coalesce(codes, exported)
    if reading.has("status"):
        codes = pc.coalesce(codes, _codes(reading.column("status"), meanings))
    if codes.null_count < len(codes):
        reading.result["export_status"] = codes


def _codes(column: pa.ChunkedArray, meanings: Mapping[str, str]) -> pa.ChunkedArray:
    return cells.each(column, lambda text: meanings.get(terms.normal(text)), schema.TEXT)


def _counts(column: pa.ChunkedArray) -> Mapping[str, int]:
    return {counted["values"]: counted["counts"] for counted in pc.value_counts(column).to_pylist()}


def _shown(counts: Mapping[str, int]) -> str:
    texts = [f"{value[:_SHOWN_CHARACTERS]!r} ({count})" for value, count in counts.items()]
    return words().listed(texts, most=_SHOWN_WORDS)
