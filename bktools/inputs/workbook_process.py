"""The cells of a workbook, read in a process of its own. `workbook.py` runs this file; it imports nothing of bktools.

Standard input is a line of JSON (the sheet, and how many bytes of memory may be taken) and then the workbook. Standard
output is a pickle of plain values: the names of all sheets, the rows of those that were asked for, and the cells of
theirs that hold an error, or a formula without a value, which the parser gives as empty cells.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import pickle
import posixpath
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

import python_calamine as calamine

Broken = list[tuple[int, int, str]]

_EMPTY_FORMULA = "a formula whose value was not saved: open the workbook in a spreadsheet and save it"
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})\Z")
# A sheet without any of these has no broken cell, and is not read a second time.
_SUSPECT = re.compile(rb"""\bt\s*=\s*["']e["']|<(?:\w+:)?f[\s/>]""")


def main() -> None:
    """Answer one request."""
    request = json.loads(sys.stdin.buffer.readline())
    _limit(request["memory"], request["seconds"])
    try:
        answer = _answer(sys.stdin.buffer.read(), request["sheet"])
    except calamine.PasswordError:
        answer = {"failure": "locked"}
    except MemoryError:
        answer = {"failure": "too large"}
    # A panic of the parser is no Exception.
    except BaseException as error:  # noqa: BLE001 - whatever it is, this process ends here
        answer = {"failure": "damaged", "why": " ".join(str(error).split())[:200] or type(error).__name__}
    pickle.dump(answer, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)


def _limit(memory: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:
        # Windows has no such limits.
        return
    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def _answer(data: bytes, sheet: str | int | None) -> dict[str, Any]:
    book = calamine.load_workbook(io.BytesIO(data))
    names = book.sheet_names
    if isinstance(sheet, int):
        asked = [names[sheet]] if 0 <= sheet < len(names) else []
    elif sheet is not None:
        asked = [sheet] if sheet in names else []
    else:
        visible = [
            one.name
            for one in book.sheets_metadata
            if one.visible == calamine.SheetVisibleEnum.Visible and one.typ == calamine.SheetTypeEnum.WorkSheet
        ]
        asked = visible or names
    sheets = {
        name: [list(map(_plain, row)) for row in book.get_sheet_by_name(name).to_python(skip_empty_area=False)]
        for name in asked
    }
    return {"names": names, "sheets": sheets, "broken": _broken(data, asked)}


def _plain(cell: object) -> object:
    if isinstance(cell, str | bool | int | float):
        return cell
    if isinstance(cell, dt.datetime) and cell.time() == dt.time():
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, dt.date | dt.time) else str(cell)


def _broken(data: bytes, asked: list[str]) -> dict[str, Broken] | None:
    """Return the broken cells by sheet, None for a kind of workbook in which they cannot be told from empty ones."""
    if not data.startswith(b"PK"):
        return None
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = set(archive.namelist())
        if "content.xml" in files:
            return _in_open_document(archive.read("content.xml"))
        if "xl/workbook.xml" not in files:
            return None
        parts = _parts(archive)
        return {name: _in_sheet(archive.read(parts[name])) for name in asked if parts.get(name) in files}


def _parts(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return the file of the archive that each sheet is in."""
    targets = {
        one.get("Id"): posixpath.normpath(posixpath.join("/xl", one.get("Target", "")))[1:]
        for event, one in _elements(archive.read("xl/_rels/workbook.xml.rels"))
        if event == "end"
    }
    return {
        one.get("name", ""): targets.get(next((value for key, value in one.items() if key.endswith("}id")), ""), "")
        for event, one in _elements(archive.read("xl/workbook.xml"))
        if event == "end" and _name(one) == "sheet"
    }


def _elements(xml: bytes) -> Iterator[tuple[str, Element]]:
    # Nothing is fetched, entities that grow are refused by expat, and this process has little memory to lose.
    return ET.iterparse(io.BytesIO(xml), events=("start", "end"))  # noqa: S314


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _own(element: Element) -> dict[str, str]:
    """Return attributes by their names without namespaces."""
    return {key.rpartition("}")[2]: value for key, value in element.items()}


def _in_sheet(xml: bytes) -> Broken:
    """Return the broken cells of an XLSX sheet: row and column (from 0), and the problem."""
    broken: Broken = []
    if not _SUSPECT.search(xml):
        return broken
    row = column = -1
    for event, one in _elements(xml):
        match event, _name(one):
            case "start", "row":
                row, column = int(one.get("r", row + 2)) - 1, -1
            case "start", "c":
                place = _REFERENCE.match(one.get("r", ""))
                row, column = (int(place[2]) - 1, _column(place[1])) if place else (row, column + 1)
            case "end", "c":
                wrong = _wrong_in_sheet(one)
                broken += [(row, column, wrong)] if wrong else []
            case "end", "row":
                one.clear()
    return broken


def _column(letters: str) -> int:
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - ord("A") + 1
    return column - 1


def _wrong_in_sheet(cell: Element) -> str | None:
    parts = {_name(part): "".join(part.itertext()).strip() for part in cell}
    if cell.get("t") == "e":
        return _error(parts.get("v", ""))
    # A formula may have made an empty text.
    is_text = cell.get("t") in {"str", "s", "inlineStr"}
    return _EMPTY_FORMULA if "f" in parts and not parts.get("v") and not is_text else None


def _error(shown: str) -> str:
    return f"the error {shown[:20]}: correct its formula and save the workbook"


def _in_open_document(xml: bytes) -> dict[str, Broken]:
    """Return the broken cells of each sheet of an ODS workbook: row and column (from 0), and the problem."""
    sheets: dict[str, Broken] = {}
    broken: Broken = []
    row = column = 0
    for event, one in _elements(xml):
        own = _own(one)
        match event, _name(one):
            case "start", "table":
                broken, row = sheets.setdefault(own.get("name", ""), []), 0
            case "start", "table-row":
                column = 0
            case "end", "table-cell" | "covered-table-cell":
                wrong = _wrong_in_open_document(one)
                broken += [(row, column, wrong)] if wrong else []
                column += int(own.get("number-columns-repeated", 1))
            case "end", "table-row":
                row += int(own.get("number-rows-repeated", 1))
                one.clear()
    return sheets


def _wrong_in_open_document(cell: Element) -> str | None:
    own, text = _own(cell), [part for part in cell if _name(part) == "p"]
    # LibreOffice says that an error is a text for others, and an error for itself.
    if any(key.endswith("calcext:1.0}value-type") and value == "error" for key, value in cell.items()):
        return _error("".join(piece for part in text for piece in part.itertext()))
    return _EMPTY_FORMULA if "formula" in own and "value-type" not in own and not text else None


if __name__ == "__main__":
    main()
