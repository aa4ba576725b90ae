"""Workbooks → grids of text: numbers as Excel shows them, dates in ISO form."""

from __future__ import annotations

import datetime as dt
import gc
import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from functools import cache, partial
from typing import Any
from xml.sax.saxutils import unescape

import numpy as np
import pyarrow as pa
import python_calamine as calamine

from bktools.errors import InputError, SheetNotFoundError
from bktools.frames import schema
from bktools.frames.unpacking import MIB, archive_size
from bktools.inputs.table import HEAD_ROWS, Grid, Mask

_ZIP = b"PK"
# A sheet as Excel's own limits have it would fill the memory; a table of a million rows has few columns.
_MOST_CELLS = 60_000_000
_LARGEST_OLD_WORKBOOK = 256 * MIB
# A cell of a sheet's XML: its place, its attributes, and what is in it.
_CELL = re.compile(rb"<c\b([^>]*?)(?:/>|>(.*?)</c>)", re.DOTALL)
_PLACE, _STYLE = re.compile(rb' r="([A-Z]+)(\d+)"'), re.compile(rb'\bs="(\d+)"')
_ERROR, _VALUE = re.compile(rb'\bt="e"'), re.compile(rb"<v>(.*?)</v>", re.DOTALL)
# A cell far to the right or far below, which would make a sheet of empty cells.
_FAR = re.compile(rb' r="(?:[A-Z]{3}\d|[A-Z]{2}\d{5}|[A-Z]*\d{6})')
# A format of zeros alone, such as 000000, shows a code with its leading zeros.
_ZEROS = re.compile(
    rb'<numFmt\b[^>]*\bnumFmtId="(\d+)"[^>]*\bformatCode="(0{2,20})"|<numFmt\b[^>]*'
    rb'\bformatCode="(0{2,20})"[^>]*\bnumFmtId="(\d+)"'
)


def read_workbook(data: bytes, sheet: str | int | None, source: str) -> list[Grid]:
    """Return the sheet that is asked for, else all that are shown and hold cells.

    A workbook that cannot be read, is locked, is larger than it may be, or has no such sheet is an
    `InputError`.
    """
    if data.startswith(_ZIP):
        archive_size(data, kind="workbook", source=source)
    elif len(data) > _LARGEST_OLD_WORKBOOK:
        raise InputError("is too large for a workbook of this kind: save it as XLSX", source=source)
    parts = _Parts(data)
    try:
        book = calamine.load_workbook(io.BytesIO(data))
        names = _asked(book, sheet, source)
        for name in names:
            _refuse_cells(parts, name, source)
        with _no_collection():
            grids = [_grid(book, name, parts) for name in names]
    except InputError:
        raise
    except calamine.PasswordError:
        raise InputError("the workbook is locked with a password: save it without", source=source) from None
    # A panic of the parser is no Exception.
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(
            f"is not a readable workbook ({why}); save it again as XLSX", source=source
        ) from None
    filled = [grid for grid in grids if any(map(any, grid.head))]
    if not filled:
        raise InputError("the workbook has no cells on a sheet that is shown", source=source)
    return filled


@contextmanager
def _no_collection() -> Iterator[None]:
    """Look for no garbage meanwhile: cells are new objects by the million, and all of them are used."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _asked(book: Any, sheet: str | int | None, source: str) -> list[str]:
    names: list[str] = book.sheet_names
    if isinstance(sheet, int) and not 0 <= sheet < len(names):
        why = f"there is no sheet {sheet}, positions are 0 to {len(names) - 1}"
        raise SheetNotFoundError(why, source=source)
    if isinstance(sheet, str) and sheet not in names:
        raise SheetNotFoundError(
            f"there is no sheet {sheet!r}; found: {', '.join(map(repr, names))}", source=source
        )
    if sheet is not None:
        return [names[sheet] if isinstance(sheet, int) else sheet]
    shown = (calamine.SheetVisibleEnum.Visible, calamine.SheetTypeEnum.WorkSheet)
    return [one.name for one in book.sheets_metadata if (one.visible, one.typ) == shown] or names


def _grid(book: Any, name: str, parts: _Parts) -> Grid:
    rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
    columns: list[pa.Array] = []
    numbers: list[Mask] = []
    for cells in zip(*rows, strict=True):
        columns.append(_texts(cells))
        kinds = {*map(type, cells)} & {int, float}
        numbers.append(
            np.array([*map(kinds.__contains__, map(type, cells))]) if kinds else np.zeros(len(cells), bool)
        )
    columns = parts.with_zeros(name, columns)
    head = [list(row) for row in zip(*(column[:HEAD_ROWS].to_pylist() for column in columns), strict=True)]
    return Grid(
        head,
        range(1, len(head) + 1),
        [pa.chunked_array([column[HEAD_ROWS:]], schema.TEXT) for column in columns],
        np.arange(HEAD_ROWS + 1, max(len(rows), HEAD_ROWS) + 1, dtype=np.int64),
        sheet=name,
        numbers=numbers,
        broken=partial(parts.broken, name),
    )


def _texts(cells: Sequence[Any]) -> pa.Array:
    if {*map(type, cells)} != {str}:
        cells = [cell if cell.__class__ is str else _WRITERS[type(cell)](cell) for cell in cells]
    return pa.array(cells, schema.TEXT)


def _of_number(number: float) -> str:
    """Return a number as text; a whole one has no decimals, so that account 400 is not 400.0."""
    # Fifteen digits are what Excel keeps and shows: a sum stored as 0.30000000000000004 is 0.3 there.
    text = f"{number:.15g}"
    if "e" not in text:
        return text
    return str(int(number)) if number.is_integer() else f"{Decimal(text):f}"


def _of_time(moment: dt.datetime) -> str:
    return moment.date().isoformat() if moment.time() == dt.time() else moment.isoformat()


class _Writers(dict[type, Callable[[Any], str]]):
    """How a cell of each type is written."""

    def __missing__(self, kind: type) -> Callable[[Any], str]:
        return str


_WRITERS: Mapping[type, Callable[[Any], str]] = _Writers(
    {
        float: _of_number,
        bool: lambda cell: str(cell).lower(),
        dt.datetime: _of_time,
        dt.date: dt.date.isoformat,
        dt.time: dt.time.isoformat,
    }
)


class _Parts:
    """What an XLSX says beside the values that the parser gives: sizes, formats of numbers, broken cells."""

    def __init__(self, data: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(data)) if data.startswith(_ZIP) else None
        self._xml = cache(self._read_sheet)

    def _part(self, name: str) -> bytes:
        with suppress(KeyError):
            return self._archive.read(name) if self._archive else b""
        return b""

    def _read_sheet(self, name: str) -> bytes:
        """Return the XML of a sheet, empty for a workbook of another kind."""
        targets = dict(
            _attributes(self._part("xl/_rels/workbook.xml.rels"), b"Relationship", b"Id", b"Target")
        )
        sheets = dict(_attributes(self._part("xl/workbook.xml"), b"sheet", b"name", b"r:id"))
        target = targets.get(sheets.get(name, ""), "")
        return self._part(posixpath.normpath(posixpath.join("/xl", target))[1:]) if target else b""

    def count(self, name: str) -> int:
        """Return how many cells a sheet with far cells has: its last line times its last column."""
        xml = self._xml(name)
        if not _FAR.search(xml):
            return 0
        places = _PLACE.findall(xml)
        return max(int(line) for _, line in places) * (1 + max(_column(letters) for letters, _ in places))

    def with_zeros(self, name: str, columns: list[pa.Array]) -> list[pa.Array]:
        """Return columns in which a number of the format 000000 has its leading zeros."""
        styles = self._part("xl/styles.xml")
        widths = {own or other: len(zeros or behind) for own, zeros, behind, other in _ZEROS.findall(styles)}
        cell_formats = re.search(rb"<cellXfs\b.*?</cellXfs>", styles, re.DOTALL)
        if not widths or not cell_formats:
            return columns
        ids = re.findall(rb'<xf\b[^>]*?\bnumFmtId="(\d+)"', cell_formats[0])
        by_style = {b"%d" % style: widths[one] for style, one in enumerate(ids) if one in widths}
        texts: dict[int, list[str]] = {}
        for place, line, attributes, _ in _cells_of(self._xml(name)):
            style = _STYLE.search(attributes)
            if style and style[1] in by_style and place < len(columns):
                column = texts.setdefault(place, columns[place].to_pylist())
                if column[line - 1].isdecimal():
                    column[line - 1] = column[line - 1].zfill(by_style[style[1]])
        return [
            pa.array(texts[place], schema.TEXT) if place in texts else one
            for place, one in enumerate(columns)
        ]

    def broken(self, name: str) -> Mapping[tuple[int, int], str]:
        """Return the cells (line, column) that hold an error, or a formula whose value was not saved."""
        wrong: dict[tuple[int, int], str] = {}
        for place, line, attributes, inside in _cells_of(self._xml(name)):
            found = _VALUE.search(inside)
            value = found[1].decode(errors="replace")[:20] if found else ""
            cell = _PLACE.search(attributes)
            at = b"".join(cell.groups()).decode() if cell else ""
            if _ERROR.search(attributes):
                wrong[line, place] = f"{at} holds the error {value}"
            elif b"<f" in inside and not value and b't="str"' not in attributes:
                wrong[line, place] = f"{at} holds a formula whose value was not saved"
        return wrong


def _refuse_cells(parts: _Parts, name: str, source: str) -> None:
    if parts.count(name) > _MOST_CELLS:
        why = (
            f"the sheet {name!r} takes up more than {_MOST_CELLS:,} cells: delete what lies far below and to "
            "the right of the table, or save the table as CSV (UTF-8)"
        )
        raise InputError(why, source=source)


def _attributes(xml: bytes, element: bytes, *names: bytes) -> Iterator[tuple[str, str]]:
    """Yield two attributes of each element of a name, in any order."""
    for tag in re.findall(rb"<(?:\w+:)?" + element + rb"\s[^>]*>", xml):
        found = [re.search(rb"\b" + name + rb'\s*=\s*"([^"]*)"', tag) for name in names]
        if all(found):
            first, second = (
                unescape(one[1].decode(errors="replace"), {"&quot;": '"'}) for one in found if one
            )
            yield first, second


def _cells_of(xml: bytes) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Yield column (from 0), line, attributes and content of each cell."""
    for attributes, inside in _CELL.findall(xml):
        if place := _PLACE.search(attributes):
            yield _column(place[1]), int(place[2]), attributes, inside


@cache
def _column(letters: bytes) -> int:
    place = 0
    for letter in letters:
        place = place * 26 + letter - 64
    return place - 1
