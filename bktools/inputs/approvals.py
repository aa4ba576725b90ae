"""Which entries a file says are approved, and which ones it says were exported already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import setting
from bktools.frames import schema
from bktools.inputs import cells, words
from bktools.inputs.columns import Reading
from bktools.inputs.words import normal
from bktools.visible import first_of

_SHOWN_WORDS = 8
# Codes of `export_status`, which are the tables of their words, too.
EXPORTED, QUEUED, IN_PROGRESS, NOT_EXPORTED = EXPORT_STATUS = (
    "exported",
    "queued",
    "in_progress",
    "not_exported",
)


def read_approvals(reading: Reading, approved_values: str | None) -> list[str]:
    """Read `status`, `approved` and `export_status`, and return notes of what was taken as approved.

    An unknown value, in a column headed as one of approvals, is an `InputError` that counts such values.
    """
    _read_export_status(reading)
    saying = next((field for field in ("approved", "status") if reading.has(field)), None)
    if saying is None:
        return []
    said = reading.column(saying)
    reading.result["status"] = reading.or_null("status" if reading.has("status") else saying)
    if approved_values is not None:
        approving = {normal(value) for value in approved_values.split(",")} - {""}
    else:
        approving = {*words.values("approved"), *(words.values("yes") if saying == "approved" else ())}
        _refuse_unknown(reading, saying, approving)
    reading.result["approved"] = words.are(said, frozenset(approving))
    return [*_taken_as(said, reading.result["approved"])]


def _refuse_unknown(reading: Reading, saying: str, approving: set[str]) -> None:
    heading = normal(reading.heading(saying))
    is_named = (
        saying == "approved" or reading.is_settled(saying) or heading in words.headings("approval_status")
    )
    known = {*approving, *words.values("not_approved"), *words.values("no"), ""}
    counts = _counts(reading.column(saying))
    unknown = {value: count for value, count in counts.items() if normal(value) not in known}
    if not is_named or not unknown:
        return
    shown = first_of([f"{cells.quoted(value)} ({count})" for value, count in unknown.items()], _SHOWN_WORDS)
    # Nothing is approved by a guess: what is not known is proposed as not approved.
    sure = [value.strip() for value in counts if normal(value) in approving]
    raise reading.table.error(
        f"{reading.heading(saying)!r} holds values that may be approvals or not: {shown}",
        details=["Add the values that count as approved, separated by commas."],
        approved_values=",".join(dict.fromkeys(sure)) or "none",
    )


def _read_export_status(reading: Reading) -> None:
    """Read which entries were exported elsewhere, by a status or a time of export, or the entry's status."""
    meanings = {word: code for code in EXPORT_STATUS for word in words.values(code)}
    codes = reading.constant(None, schema.TEXT)
    if reading.has("export_status"):
        of_flags = {
            **dict.fromkeys(words.values("yes"), EXPORTED),
            **dict.fromkeys(words.values("no"), NOT_EXPORTED),
        }
        column = reading.column("export_status")
        codes = words.codes(column, meanings | of_flags)
        unknown = _counts(column.filter(pc.and_(pc.is_null(codes), pa.array(~cells.blank(column)))))
        if unknown:
            shown = first_of(
                [f"{cells.quoted(value)} ({count})" for value, count in unknown.items()], _SHOWN_WORDS
            )
            raise reading.table.error(
                f"{reading.heading('export_status')!r} holds values that do not say whether an entry was "
                f"exported: {shown}",
                columns={"export_status": ""},
            )
    if reading.has("exported_at"):
        has_time = pa.array(~cells.blank(reading.column("exported_at")))
        codes = pc.coalesce(
            codes, pc.if_else(has_time, EXPORTED, pa.scalar(None, schema.TEXT)).cast(schema.TEXT)
        )
    if reading.has("status"):
        codes = pc.coalesce(codes, words.codes(reading.column("status"), meanings))
    if codes.null_count < len(codes):
        reading.result["export_status"] = codes


def _counts(column: pa.ChunkedArray) -> Mapping[str, int]:
    return {counted["values"]: counted["counts"] for counted in pc.value_counts(column).to_pylist()}


def _taken_as(column: pa.ChunkedArray, approved: pa.ChunkedArray) -> Iterator[str]:
    """Yield which words were taken as an approval and which were not."""
    for rows, said in ((approved, "approved"), (pc.invert(approved), "not approved")):
        if counts := _counts(column.filter(rows)):
            shown = [f"{cells.quoted(value)} ({count})" for value, count in counts.items()]
            way = f" (else set {setting('approved_values')})" if said == "not approved" else ""
            yield f"taken as {said}: {first_of(shown, _SHOWN_WORDS)}{way}"
