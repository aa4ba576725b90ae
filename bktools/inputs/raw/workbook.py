"""Workbooks → raw tables of text: numbers as Excel shows them, dates in ISO form."""

from __future__ import annotations

import datetime as dt
import io
import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from typing import Any
from xml.sax.saxutils import unescape

import numpy as np
import pyarrow as pa
import python_calamine as calamine

from bktools.errors import InputError, SheetNotFoundError
from bktools.frames import schema
from bktools.frames.parquet import MIB, UNPACKED
from bktools.inputs.notes import damaged
from bktools.inputs.table import Mask, RawTable, no_collection
from bktools.wording import words

_ZIP = b"PK"
# A sheet as Excel's own limits have it would fill the memory; a table of a million rows has few columns.
_MOST_CELLS = 60_000_000
# A cell of a sheet's XML: its place, its attributes, and what is in it.
_CELL = re.compile(rb"<c\b([^>]*?)(?:/>|>(.*?)</c>)", re.DOTALL)
_PLACE, _STYLE = re.compile(rb"""\br=["']([A-Za-z]+)(\d+)"""), re.compile(rb'\bs="(\d+)"')
_ERROR, _VALUE = re.compile(rb'\bt="e"'), re.compile(rb"<v>(.+?)</v>", re.DOTALL)
_FORMULA = re.compile(rb"<f\b[^>]*?(?:/>|>(.*?)</f>)", re.DOTALL)
# A sheet with an error, or with a formula whose value the program did not save.
_LACKING = re.compile(rb't="e"|(?:</f>|<f\b[^>]*/>)\s*(?:<v\s*/>|<v></v>)?\s*</c>')
# A cell so far to the right or below that there may be too many.
_FAR = re.compile(rb"""r=["'](?:[A-Za-z]{3}\d|[A-Za-z]{2}\d{5}|[A-Za-z]\d{7})""")
# A format of zeros alone, such as 000000, shows a code with its leading zeros.
_ZEROS = re.compile(
    rb'<numFmt\b[^>]*\bnumFmtId="(\d+)"[^>]*\bformatCode="(0{2,20})"|<numFmt\b[^>]*'
    rb'\bformatCode="(0{2,20})"[^>]*\bnumFmtId="(\d+)"'
)


def read_workbook(data: bytes, sheet: str | int | None, source: str) -> list[RawTable]:
    """Return the sheet that is asked for, else all that are shown and hold cells.

    A workbook that cannot be read, is locked, is larger than it may be, or has no such sheet is an
    `InputError`.
    """
    try:
        parts = _Parts(data, source)
        parts.refuse_size(len(data))
        book = calamine.load_workbook(io.BytesIO(data))
        names = _asked(book, sheet, source)
        with no_collection():
            raw_tables = [_raw_table(book, name, parts) for name in names]
    except InputError:
        raise
    except calamine.PasswordError:
        raise damaged(source, "locked") from None
    # A panic of the parser is no Exception.
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise damaged(source, "no_workbook", why=why) from None
    rows = (row for raw in raw_tables for row in raw.head)
    if not data.startswith(_ZIP) and any("\0" in cell for row in rows for cell in row):
        raise damaged(source, "half_texts")
    filled = [raw for raw in raw_tables if any(map(any, raw.head))]
    if not filled:
        raise damaged(source, "empty_workbook")
    return filled


def _asked(book: Any, sheet: str | int | None, source: str) -> list[str]:
    names: list[str] = book.sheet_names
    is_there = 0 <= sheet < len(names) if isinstance(sheet, int) else sheet in names
    if sheet is not None and not is_there:
        why = words()("file.error.no_sheet", sheet=repr(sheet), names=", ".join(map(repr, names)))
        raise SheetNotFoundError(why, source=source)
    if sheet is not None:
        return [names[sheet] if isinstance(sheet, int) else sheet]
    shown = [
        one.name
        for one in book.sheets_metadata
        if (one.visible, one.typ) == (calamine.SheetVisibleEnum.Visible, calamine.SheetTypeEnum.WorkSheet)
    ]
    return shown or names


def _raw_table(book: Any, name: str, parts: _Parts) -> RawTable:
    xml = parts.sheet(name)
    rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
    columns: list[pa.Array] = []
    numbers: list[Mask] = []
    for cells in zip(*rows, strict=True):
        kinds = [*map(type, cells)]
        are_numbers = {*kinds} & {int, float}
        columns.append(_texts(cells, {*kinds}))
        numbers.append(np.fromiter(map(are_numbers.__contains__, kinds), bool, len(kinds)))
    return RawTable(
        [pa.chunked_array([column], schema.TEXT) for column in _as_shown(columns, xml, parts.widths)],
        np.arange(1, len(rows) + 1, dtype=np.int64),
        sheet=name,
        numbers=numbers,
    )


def _texts(cells: Sequence[Any], kinds: set[type]) -> pa.Array:
    """Return cells as Excel shows them; a whole number has no decimals, so that account 400 is not 400.0."""
    texts = cells
    if kinds != {str}:
        # Fifteen digits are what Excel keeps and shows: a sum stored as 0.30000000000000004 is 0.3 there.
        texts = [
            cell if cell.__class__ is str else f"{cell:.15g}" if cell.__class__ is float else _written(cell)
            for cell in cells
        ]
    if float in kinds:
        pairs = zip(cells, texts, strict=True)
        texts = [
            f"{Decimal(text):f}" if "e" in text and cell.__class__ is float else text for cell, text in pairs
        ]
    return pa.array(texts, schema.TEXT)


@lru_cache(1 << 12, typed=True)
def _written(cell: Any) -> str:
    if isinstance(cell, dt.datetime) and cell.time() == dt.time():
        cell = cell.date()
    if isinstance(cell, dt.date | dt.time):
        return cell.isoformat()
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


class _Parts:
    """What an XLSX says beside the values that the parser gives: sizes, and the XML of its sheets."""

    def __init__(self, data: bytes, source: str) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(data)) if data.startswith(_ZIP) else None
        self._source = source

    def _part(self, name: str) -> bytes:
        with suppress(KeyError):
            if self._archive and name:
                with self._archive.open(name) as part:
                    return part.read()
        return b""

    def refuse_size(self, stored: int) -> None:
        """Refuse a workbook by the sizes that its archive states; an old one unpacks to about four times."""
        sizes = [part.file_size for part in self._archive.infolist()] if self._archive else [4 * stored]
        if sum(sizes) > UNPACKED:
            raise damaged(self._source, "large_workbook", most=UNPACKED // MIB)

    def sheet(self, name: str) -> bytes:
        """Return the XML of a sheet, b"" in a workbook of another kind.

        Refuse one with cells far below or far to the right, which would fill the memory. The size that a
        sheet states is not used: some programs state one cell whatever they write, and some all cells that
        have a format.
        """
        targets = dict(
            _attributes(self._part("xl/_rels/workbook.xml.rels"), b"Relationship", b"Id", b"Target")
        )
        sheets = dict(_attributes(self._part("xl/workbook.xml"), b"sheet", b"name", b"r:id"))
        target = targets.get(sheets.get(name, ""), "")
        xml = self._part(posixpath.normpath(posixpath.join("/xl", target))[1:] if target else "")
        last_line = last_column = 0
        for cell in _PLACE.finditer(xml) if _FAR.search(xml) else ():
            last_line, last_column = max(last_line, int(cell[2])), max(last_column, 1 + _column(cell[1]))
        if last_line * last_column > _MOST_CELLS:
            raise damaged(self._source, "large_sheet", sheet=name, most=_MOST_CELLS)
        return xml

    @cached_property
    def widths(self) -> Mapping[bytes, int]:
        """How many digits a number has by the style of its cell, where its format is one such as 000000."""
        styles = self._part("xl/styles.xml")
        zeros = {own or other: len(text or behind) for own, text, behind, other in _ZEROS.findall(styles)}
        cell_formats = re.search(rb"<cellXfs\b.*?</cellXfs>", styles, re.DOTALL) if zeros else None
        ids = re.findall(rb'<xf\b[^>]*?\bnumFmtId="(\d+)"', cell_formats[0]) if cell_formats else []
        return {b"%d" % style: zeros[one] for style, one in enumerate(ids) if one in zeros}


def _as_shown(columns: list[pa.Array], xml: bytes, widths: Mapping[bytes, int]) -> list[pa.Array]:
    """Return columns with leading zeros by the formats of cells, and with what stands in place of a value."""
    texts: dict[int, list[str]] = {}
    for attributes, inside in _CELL.findall(xml) if widths or _LACKING.search(xml) else ():
        cell, style = _PLACE.search(attributes), _STYLE.search(attributes)
        width, lacking = widths.get(style[1], 0) if style else 0, _lacking(attributes, inside)
        place = _column(cell[1]) if cell else len(columns)
        if cell and place < len(columns) and (width or lacking):
            column, row = texts.setdefault(place, columns[place].to_pylist()), int(cell[2]) - 1
            column[row] = lacking or (column[row].zfill(width) if column[row].isdecimal() else column[row])
    return [
        pa.array(texts[place], schema.TEXT) if place in texts else one for place, one in enumerate(columns)
    ]


def _lacking(attributes: bytes, inside: bytes) -> str:
    """Return the error of a cell, or the formula whose value was not saved; "" for any other cell."""
    value, formula = _VALUE.search(inside), _FORMULA.search(inside)
    if _ERROR.search(attributes) and value:
        return value[1].decode(errors="replace")
    is_open = formula and not value and b't="str"' not in attributes
    return f"={(formula[1] or b'').decode(errors='replace')}" if formula and is_open else ""


def _attributes(xml: bytes, element: bytes, *names: bytes) -> Iterator[tuple[str, str]]:
    """Yield two attributes of each element of a name, in any order."""
    for tag in re.findall(rb"<(?:\w+:)?" + element + rb"\s[^>]*>", xml):
        matches = [re.search(rb"\b" + name + rb'\s*=\s*"([^"]*)"', tag) for name in names]
        if all(matches):
            first, second = (
                unescape(one[1].decode(errors="replace"), {"&quot;": '"'}) for one in matches if one
            )
            yield first, second


@cache
def _column(letters: bytes) -> int:
    place = 0
    for letter in letters:
        place = place * 26 + (letter & 31)
    return place - 1
