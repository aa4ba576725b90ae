"""Changes to a table at the caller's wish before it is read: cells filled down, accounts split in two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import name_of
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.frames import schema
from bktools.inputs import cells, looks
from bktools.inputs.columns import Reading
from bktools.inputs.report_rows import has_amount, report_lines, says_report
from bktools.inputs.signed_amounts import MONEY

# A code, then a name: 466300 Travel, 1-1110 BNZ Cheque Account, 400: Rent.
_JOINED = r"(?s)^\s*(?P<code>\d[\d.\-/]*)(?:\s*[:\x{B7}\x{2013}]\s*|\s+-\s+|\s+)(?P<name>\S.*)$"
_LEAST, _SHARE = 2, 0.1
# What may stand only in the first of its rows.
FILLED = ("account_code", "date", "voucher_id")


def split_accounts(reading: Reading, split: bool, code: str, name: str) -> None:  # noqa: FBT001 - the caller's own flag
    """Split the column with code and name of an account in two, and give these to the fields."""
    if not rules.flag("split_account", split):
        return
    table = reading.table
    place = next((at for at in range(len(table.headings)) if looks.hold_codes_and_names(table, at)), None)
    if place is None:
        raise ArgumentError(
            name_of("split_account"), f"needs a column of codes and names, which {table.source} has not"
        )
    column = table.columns[place]
    parts = pc.extract_regex(column, _JOINED)
    codes = pc.fill_null(pc.struct_field(parts, "code"), "")
    names = pc.coalesce(pc.struct_field(parts, "name"), column)
    is_code = pa.array(cells.matches(column, r"^\s*\d[\d.\-/]*\s*$"))
    empty = pa.scalar("", schema.TEXT)
    columns = [*table.columns, pc.if_else(is_code, empty, names)]
    columns[place] = pc.if_else(is_code, cells.trimmed(column), codes)
    headings = (*table.headings, f"{table.headings[place]} (name)")
    reading.table = replace(table, headings=headings, columns=columns)
    reading.settle(**{code: place, name: len(table.headings)})


def fill_down(reading: Reading, fields: str | None, identities: Sequence[str], *, lacks_all: bool) -> None:
    """Fill empty cells of these fields with the ones above them, in rows that hold something.

    Rows that hold nothing else are titles, such as the account above its postings: they are left out. Cells
    of report lines, and of sums without any text, stay empty.
    """
    names = [name.strip() for name in (fields or "").split(",") if name.strip()]
    for field in names:
        if field not in reading.places:
            raise ArgumentError(
                name_of("fill_down"), "must name fields that have a column, such as date,account_code", field
            )
    if not names:
        return
    columns = [*reading.table.columns]
    holds = ~np.logical_and.reduce([cells.blank(column) for column in columns])
    places = {reading.places[name] for name in names}
    others = [cells.blank(column) for place, column in enumerate(columns) if place not in places]
    is_title = holds & np.logical_and.reduce([*others, holds])
    is_filled = holds & ~report_lines(reading, identities, lacks_all=lacks_all) & ~_are_bare(reading)
    for place in places:
        column = cells.or_null(columns[place]).combine_chunks()
        above = pc.if_else(pa.array(is_filled | is_title), pc.fill_null_forward(column), column)
        columns[place] = pa.chunked_array([pc.fill_null(above, "")], schema.TEXT)
    reading.table = replace(reading.table, columns=columns)
    reading.skip({"rows skipped as titles of the rows below them": is_title}, "postings")
    reading.notes.append(f"empty cells filled with the ones above them: {', '.join(names)}")


def to_fill_down(reading: Reading) -> str:
    """Return which fields stand only in the first of their rows, in the form that `fill_down` takes."""
    rows = has_amount(reading) & ~_are_bare(reading)
    needed = []
    for field in (field for field in FILLED if reading.has(field)):
        lacks = reading.blank(field) & rows
        if len(lacks) and not lacks[0] and lacks.sum() >= max(_LEAST, _SHARE * rows.sum()):
            needed.append(field)
    return ",".join(needed)


def without_empty(reading: Reading, field: str, *named_by: str, or_text: bool = False) -> dict[str, Any]:
    """Return the option that reads rows in which a field is empty, or leaves them out.

    There is none where a row would be left out that has an amount and one of the fields `named_by`, or with
    `or_text` any text that is not of a report.
    """
    if fields := to_fill_down(reading):
        return {"fill_down": fields}
    if reading.blank(field).all():
        return {}
    # Before the amount has a column, each row may have one.
    has_money = any(reading.has(money) for money in MONEY)
    lacks = reading.blank(field) & (has_amount(reading) | (not has_money))
    if lacks.any():
        left_out = reading.table.rows(lacks).columns
        named = [reading.places[other] for other in named_by if other != field and reading.has(other)]
        texts = [left_out[place] for place in reading.free()] if or_text else []
        if any((~cells.blank(left_out[place])).any() for place in named) or any(
            (cells.matches(column, r"\pL{2}") & ~says_report(column)).any() for column in texts
        ):
            return {}
    return {"instead": {"rows_with": cells.heading_of(reading.table, reading.places[field])}}


def _are_bare(reading: Reading) -> cells.Mask:
    """Return the rows that hold money alone, as a sum does, where others hold a text, too."""
    filled = {
        place: ~cells.blank(column)
        for place, column in enumerate(reading.table.columns)
        if place not in {reading.places[field] for field in MONEY if reading.has(field)}
    }
    texts = filled.keys() - {reading.places[field] for field in FILLED if reading.has(field)}
    if not any(filled[place].any() for place in texts):
        return np.zeros(len(reading.table.lines), dtype=bool)
    are_bare: cells.Mask = has_amount(reading) & ~np.logical_or.reduce([*filled.values()])
    return are_bare


def titles_above(reading: Reading) -> int | None:
    """Return the column in which accounts stand in rows of their own above their postings, None without one.

    Such a cell is alone in its row, or heads a row of sums; no row with a date has one.
    """
    if not reading.has("date"):
        return None
    columns = reading.table.columns
    filled = [~cells.blank(column) for column in columns]
    is_alone = np.add.reduce(filled, dtype=np.int64) == 1
    dated = cells.matches(cells.or_null(reading.column("date")), r"\d") & filled[reading.places["date"]]
    return next(
        (
            place
            for place, has_cell in enumerate(filled)
            if place != reading.places["date"]
            and (has_cell & is_alone).sum() >= _LEAST
            and dated.any()
            and not (has_cell & dated).any()
            and cells.matches(columns[place], r"\pL{2}").any()
        ),
        None,
    )
