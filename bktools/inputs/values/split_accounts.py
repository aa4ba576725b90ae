"""A column that holds the code and the name of an account in one cell, such as `466300 Travel`."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells
from bktools.inputs.columns import most
from bktools.inputs.reading import Reading
from bktools.inputs.table import Table

# A code, then a name: 466300 Travel, 1-1110 BNZ Cheque Account, 400: Rent. A day is no code.
_JOINED = r"(?s)^\s*(?P<code>\d[\d.\-/]*)(?:\s*[:\x{B7}\x{2013}]\s*|\s+-\s+|\s+)(?P<name>\S.*)$"
_CODE_AND_NAME = re.compile(r"^\s*\d[\d.\-/]*(?:\s*[:·–]\s*|\s+-\s+|\s+)\S*[^\W\d_]{2}")


def codes_and_names(table: Table) -> list[int]:
    """Return the columns that hold a code and a name in most of their cells."""
    return [place for place, texts in enumerate(table.samples) if most(texts, _CODE_AND_NAME.match, 0.5)]


def split_accounts(reading: Reading, code: str, name: str) -> None:
    """Split the column of codes and names in two, where it is asked; ask about it where no code is found."""
    if {code, name} <= reading.asked.keys():
        return
    joined = [
        place
        for place in codes_and_names(reading.table)
        if place in (*reading.free(), *map(reading.places.get, (code, name)))
    ]
    is_open = code not in reading.places or reading.places[code] in joined
    # In a report, a title or a cell has both.
    if joined and is_open and not (reading.options.get("split_account") or reading.proofs):
        heading = reading.table.headings[joined[0]]
        reading.problems.ask("code_and_name", [{"split_account": True}], heading=heading, field=code)
    if joined and (is_open or reading.options.get("split_account")):
        # Also where it is asked, so that its cells are asked about in the same question.
        _split(reading, joined[0], code, name)


def _split(reading: Reading, place: int, code: str, name: str) -> None:
    table, column = reading.table, reading.table.columns[place]
    parts = pc.extract_regex(column, _JOINED)
    codes = pc.fill_null(pc.struct_field(parts, "code"), "")
    names = pc.coalesce(pc.struct_field(parts, "name"), column)
    is_code = pa.array(cells.matches(column, r"^\s*\d[\d.\-/]*\s*$"))
    # A posting's account may have no code. In a chart, such a row is a title.
    codes = pc.if_else(pc.equal(codes, ""), names, codes) if reading.kind == "ledger" else codes
    reading.places[code] = place
    reading.put(code, pc.if_else(is_code, cells.trimmed(column), codes))
    names = pc.if_else(is_code, pa.scalar("", schema.TEXT), names)
    reading.add(name, names, f"{table.headings[place]} (name)")
