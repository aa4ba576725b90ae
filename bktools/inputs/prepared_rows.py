"""Changes to a table at the caller's wish before it is read: cells filled down, accounts split in two."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import name_of
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.frames import schema
from bktools.inputs import cells, looks
from bktools.inputs.columns import Reading

# A code, then a name: 466300 Travel, 1-1110 BNZ Cheque Account, 400: Rent.
_JOINED = r"(?s)^\s*(?P<code>\d[\d.\-/]*)(?:\s*[:\x{B7}\x{2013}]\s*|\s+-\s+|\s+)(?P<name>\S.*)$"
_LEAST, _SHARE = 2, 0.1


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


def fill_down(reading: Reading, fields: str | None) -> None:
    """Fill empty cells of these fields with the ones above them, in rows that hold something.

    Rows that hold nothing else are titles, such as the account above its postings: they are left out.
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
    for place in places:
        filled = pc.fill_null(pc.fill_null_forward(cells.or_null(columns[place]).combine_chunks()), "")
        columns[place] = pa.chunked_array([pc.if_else(pa.array(holds), filled, "")], schema.TEXT)
    reading.table = replace(reading.table, columns=columns)
    reading.skip({"rows skipped as titles of the rows below them": is_title}, "postings")
    reading.notes.append(f"empty cells filled with the ones above them: {', '.join(names)}")


def to_fill_down(reading: Reading, *fields: str) -> str:
    """Return which fields stand only in the first of their rows, in the form that `fill_down` takes."""
    money = [reading.blank(field) for field in ("amount", "debit", "credit") if reading.has(field)]
    if not money:
        return ""
    has_amount = ~np.logical_and.reduce(money)
    needed = []
    for field in (field for field in fields if reading.has(field)):
        lacks = reading.blank(field) & has_amount
        if len(lacks) and not lacks[0] and lacks.sum() >= max(_LEAST, _SHARE * has_amount.sum()):
            needed.append(field)
    return ",".join(needed)


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
