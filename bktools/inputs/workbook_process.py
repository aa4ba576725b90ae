"""The cells of a workbook, read in a separate process. `workbook.py` runs this file without bktools.

Standard input is a line of JSON (the sheet, and how many bytes of memory may be taken) and then the workbook.
Standard output is a line of JSON: the names of all sheets, the size of each column of those that were asked
for, and their cells that hold an error, or a formula without a value, which the parser gives as empty cells.
Behind that line stand the columns: the text of each cell with a NUL behind it, and where a column has numbers
a byte for each cell.
"""

from __future__ import annotations

import datetime as dt
import gc
import io
import json
import os
import posixpath
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import python_calamine as calamine

if TYPE_CHECKING:
    # What few workbooks need is imported where it is used: this process starts anew for each of them.
    import zipfile
    from xml.etree.ElementTree import Element

Broken = list[tuple[int, int, str]]

_EMPTY_FORMULA = "a formula whose value was not saved: open the workbook in a spreadsheet and save it"
# Elements whose attributes say where a cell is, and what it holds.
_TELLING = {"table", "row", "table-row", "c", "table-cell", "covered-table-cell"}
# A sheet without any of these has no broken cell, and is not read a second time. The bytes are looked for
# first, which is much faster.
_SUSPECT = re.compile(rb"""\bt\s*=\s*["']e["']|<(?:\w+:)?f[\s/>]""")
_IN_SUSPECT = (b"<f", b":f", b'"e"', b"'e'")
_END = "\0"


def main() -> None:
    """Answer one request."""
    # The cells are no garbage, and this process ends with them.
    gc.disable()
    request = json.loads(sys.stdin.buffer.readline())
    _limit(request["memory"], request["seconds"])
    cells: list[bytes] = []
    try:
        answer, cells = _answer(sys.stdin.buffer.read(), request["sheet"])
    except calamine.PasswordError:
        answer = {"failure": "locked"}
    except MemoryError:
        answer = {"failure": "too large"}
    # A panic of the parser is no Exception.
    except BaseException as error:  # noqa: BLE001 - whatever it is, this process ends here
        answer = {"failure": "damaged", "why": " ".join(str(error).split())[:200] or type(error).__name__}
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.writelines(cells)
    sys.stdout.buffer.flush()
    # Nothing is left to do: freeing the cells one by one takes as long as writing them.
    os._exit(0)


def _limit(memory: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:
        # Windows has no such limits.
        return
    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def _answer(data: bytes, sheet: str | int | None) -> tuple[dict[str, Any], list[bytes]]:
    book = calamine.load_workbook(io.BytesIO(data))
    names = book.sheet_names
    kind = (calamine.SheetVisibleEnum.Visible, calamine.SheetTypeEnum.WorkSheet)
    asked = [one.name for one in book.sheets_metadata if (one.visible, one.typ) == kind] or names
    if sheet is not None:
        asked = [name for at, name in enumerate(names) if sheet in (at, name)]
    sheets: dict[str, list[tuple[int, int]]] = {}
    cells: list[bytes] = []
    with_empty_cells: list[str] = []
    for name in asked:
        rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
        packed = [_packed(column) for column in zip(*rows, strict=True)]
        sheets[name] = [(len(text), len(numbers)) for text, numbers in packed]
        cells += [part for parts in packed for part in parts]
        # A broken cell looks empty.
        if any(text.startswith(b"\0") or b"\0\0" in text for text, _ in packed):
            with_empty_cells.append(name)
    broken = _broken(data, with_empty_cells) if with_empty_cells else {}
    return {"names": names, "sheets": sheets, "broken": broken}, cells


def _packed(column: Sequence[object]) -> tuple[bytes, bytes]:
    """Return the texts of a column, each with a NUL behind it, and which cells are numbers, if any are."""
    kinds = {*map(type, column)}
    # Nearly all columns hold one kind of value below their heading.
    other = next(iter(kinds - {str}), str)
    texts: Sequence[Any] = column
    if kinds <= {str, other} != {str}:
        write = _TEXTS[other]
        texts = [cell if cell.__class__ is str else write(cell) for cell in column]
    elif kinds != {str}:
        texts = [_TEXTS[type(cell)](cell) for cell in column]
    text = _END.join([*texts, ""])
    if text.count(_END) > len(texts):
        text = _END.join([*(cell.replace(_END, "") for cell in texts), ""])
    of_numbers = kinds & {int, float}
    return text.encode(), bytes(map(of_numbers.__contains__, map(type, column))) if of_numbers else b""


def _of_number(number: float) -> str:
    """Return a number as text; a whole one has no decimals, so that account 400 is not 400.0."""
    # Fifteen digits are what Excel keeps and shows: a sum stored as 0.30000000000000004 is 0.3 there.
    text = f"{number:.15g}"
    if "e" not in text:
        return text
    from decimal import Decimal

    return str(int(number)) if number.is_integer() else f"{Decimal(text):f}"


def _of_time(moment: dt.datetime) -> str:
    return moment.date().isoformat() if moment.time() == dt.time() else moment.isoformat()


class _Texts(dict[type, Callable[[Any], str]]):
    """How a cell of each type is written."""

    def __missing__(self, kind: type) -> Callable[[Any], str]:
        return str


_TEXTS: Mapping[type, Callable[[Any], str]] = _Texts(
    {
        float: _of_number,
        bool: lambda cell: str(cell).lower(),
        dt.datetime: _of_time,
        dt.date: dt.date.isoformat,
        dt.time: dt.time.isoformat,
    }
)


def _broken(data: bytes, asked: list[str]) -> dict[str, Broken] | None:
    """Return broken cells by sheet; None for workbooks in which they cannot be told from empty cells."""
    if not data.startswith(b"PK"):
        return None
    import zipfile

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = set(archive.namelist())
        if "content.xml" in files:
            return _in_tables(archive.read("content.xml"))
        if "xl/workbook.xml" not in files:
            return None
        parts = _parts(archive)
        sheets = {name: archive.read(parts[name]) for name in asked if parts.get(name) in files}
        return {name: _in_tables(xml)[""] for name, xml in sheets.items() if _is_suspect(xml)}


def _is_suspect(xml: bytes) -> bool:
    return any(part in xml for part in _IN_SUSPECT) and _SUSPECT.search(xml) is not None


def _parts(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return the file of the archive that each sheet is in."""
    targets = {
        one.get("Id"): posixpath.normpath(posixpath.join("/xl", one.get("Target", "")))[1:]
        for event, one in _elements(archive.read("xl/_rels/workbook.xml.rels"))
        if event == "end"
    }
    return {
        one.get("name", ""): targets.get(
            next((value for key, value in one.items() if key.endswith("}id")), ""), ""
        )
        for event, one in _elements(archive.read("xl/workbook.xml"))
        if event == "end" and _name(one) == "sheet"
    }


def _elements(xml: bytes) -> Iterator[tuple[str, Element]]:
    from xml.etree import ElementTree as ET

    # Nothing is fetched, entities that grow are refused by expat, and this process has little memory to lose.
    return ET.iterparse(io.BytesIO(xml), events=("start", "end"))  # noqa: S314


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _in_tables(xml: bytes) -> dict[str, Broken]:
    """Return broken cells of each ODS table, or of the XLSX sheet: row and column (from 0), and why."""
    from xlsxwriter.utility import xl_cell_to_rowcol

    tables: dict[str, Broken] = {"": []}
    broken = tables[""]
    row = column = 0
    for event, element in _elements(xml):
        name = _name(element)
        own = {key.rpartition("}")[2]: value for key, value in element.items()} if name in _TELLING else {}
        match event, name:
            case "start", "table":
                broken, row = tables.setdefault(own.get("name", ""), []), 0
            case "start", "row" | "table-row":
                row, column = int(own.get("r", row + 1)) - 1, 0
            case "end", "c" | "table-cell" | "covered-table-cell":
                row, column = xl_cell_to_rowcol(own["r"]) if "r" in own else (row, column)
                if wrong := _wrong(element, own):
                    broken.append((row, column, wrong))
                column += int(own.get("number-columns-repeated", 1))
            case "end", "row" | "table-row":
                row += int(own.get("number-rows-repeated", 1))
                element.clear()
    return tables


def _wrong(cell: Element, own: dict[str, str]) -> str | None:
    """Return a cell's problem, in XLSX (type `t`, formula `f`, value `v`) or ODS (attributes, text `p`)."""
    parts = {_name(part): "".join(part.itertext()).strip() for part in cell}
    # LibreOffice says that an error is a text for others, and an error for itself.
    of_libreoffice = (value for key, value in cell.items() if key.endswith("calcext:1.0}value-type"))
    if own.get("t") == "e" or "error" in of_libreoffice:
        shown = parts.get("v") or parts.get("p", "")
        return f"the error {shown[:20]}: correct its formula and save the workbook"
    # A formula may have made an empty text.
    has_value = (
        parts.get("v") or own.get("t") in {"str", "s", "inlineStr"} or "value-type" in own or "p" in parts
    )
    return None if has_value or not ("f" in parts or "formula" in own) else _EMPTY_FORMULA


if __name__ == "__main__":
    main()
