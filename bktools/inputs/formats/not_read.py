"""Files that are recognised and not read, each with the way to one that is: data, and one function to look it up."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from bktools.errors import InputError
from bktools.inputs.formats.format import File
from bktools.inputs.formats.xml_records import root_of

_TABLE = "CSV (UTF-8), XLSX or Parquet"
_SAVE = f"save its table as {_TABLE}"
_BANK = "a bank's view, not the books: export the general ledger from the accounting system, or the statement as CSV"
_OPEN = f"open it in a spreadsheet and save it as {_TABLE}"
_UNPACK = "unpack it and read the file in it"


class Kind(NamedTuple):
    """A kind of file: how it is named in a sentence, and the way out."""

    name: str
    way_out: str


# The first bytes of a file. Those that begin like a longer one stand after it.
_BYTES: tuple[tuple[bytes, Kind], ...] = (
    (b"%PDF", Kind("a PDF document", "export the table itself from the system it came from, as CSV or XLSX")),
    (b"{\\rtf", Kind("an RTF document", _SAVE)),
    (b"%!PS", Kind("a PostScript document", "export the table itself, as CSV or XLSX")),
    (b"7z\xbc\xaf\x27\x1c", Kind("a 7z archive", _UNPACK)),
    (b"Rar!\x1a\x07", Kind("a RAR archive", _UNPACK)),
    (b"BZh", Kind("a bzip2 archive", _UNPACK)),
    (b"\xfd7zXZ", Kind("an xz archive", _UNPACK)),
    (b"(\xb5/\xfd", Kind("a Zstandard archive", _UNPACK)),
    (
        b"\x00\x01\x00\x00Standard Jet DB",
        Kind("a Microsoft Access database", f"export its table from Access as {_TABLE}"),
    ),
    (
        b"\x00\x01\x00\x00Standard ACE DB",
        Kind("a Microsoft Access database", f"export its table from Access as {_TABLE}"),
    ),
    (
        b"SQLite format 3\x00",
        Kind("a SQLite database", f"export its table as {_TABLE}; in GnuCash, save the book as XML"),
    ),
    (b"\x89PNG", Kind("a picture", "export the table itself, as CSV or XLSX")),
    (b"\xff\xd8\xff", Kind("a picture", "export the table itself, as CSV or XLSX")),
    (b"GIF8", Kind("a picture", "export the table itself, as CSV or XLSX")),
    (b"II*\x00", Kind("a picture", "export the table itself, as CSV or XLSX")),
    (b"MM\x00*", Kind("a picture", "export the table itself, as CSV or XLSX")),
    (b"ARROW1", Kind("an Arrow (Feather) file", "save it as Parquet")),
    (b"Obj\x01", Kind("an Avro file", "save it as Parquet")),
    (b"ORC", Kind("an ORC file", "save it as Parquet")),
    (b"MZ", Kind("a program", "it is no data file")),
    (b"\x7fELF", Kind("a program", "it is no data file")),
)

# The first element of an XML file, and a text that its head holds.
_XML: tuple[tuple[str, str, Kind], ...] = (
    ("Document", "camt.05", Kind("a CAMT bank statement (ISO 20022)", _BANK)),
    ("Document", "pain.", Kind("a payment order (ISO 20022)", _BANK)),
    ("OFX", "", Kind("an OFX bank statement", _BANK)),
    ("JPK", "JPK_KR_PD", Kind("a JPK_KR_PD file", "export JPK_KR, or the ledger as CSV or XLSX")),
    ("JPK", "", Kind("a JPK file of another kind than ledgers", "export JPK_KR, or the ledger as CSV or XLSX")),
    ("auditfile", "", Kind("a Dutch XML Auditfile (XAF)", "export the ledger as CSV or XLSX")),
    ("Sie", "", Kind("a SIE 5 file", "export SIE 4")),
    ("SieEntry", "", Kind("a SIE 5 file", "export SIE 4")),
    ("DataSet", "gdpdu", Kind("the index of a GDPdU export", "read the text file of the ledger beside it")),
    ("Workbook", "schemas-microsoft-com:office:spreadsheet", Kind("an Excel 2003 XML workbook", _OPEN)),
    (
        "CrossIndustryInvoice",
        "",
        Kind("an electronic invoice", "export the chart or ledger from the accounting system"),
    ),
    ("Invoice", "", Kind("an electronic invoice", "export the chart or ledger from the accounting system")),
    ("xbrl", "", Kind("an XBRL report", "export the chart or ledger as CSV or XLSX")),
    ("html", "", Kind("an HTML page, whatever its name ends with", _OPEN)),
    ("plist", "", Kind("a property list", f"{_SAVE}")),
)
_PAGE = re.compile(r"(?is)\s*(?:<!doctype html|<html|<head|<meta|<table|<div|<style|<body)")
_OTHER_XML = Kind("an XML file of a format that is not known here", f"export it as {_TABLE}")

# What the first lines of a text look like.
_TEXTS: tuple[tuple[str, Kind], ...] = (
    (r"(?:\{1:F01[^\n]*\{4:\s*)?:20:[^\n]*\n(?:[^\n]*\n){0,3}?:25:", Kind("an MT940 bank statement", _BANK)),
    (r"\{1:F01", Kind("a SWIFT message", _BANK)),
    (r"OFXHEADER:", Kind("an OFX bank statement", _BANK)),
    (r"(?:!Option:[^\n]*\n)*!(?:Type|Account)\b", Kind("a QIF file", _BANK)),
    (r"!(?:HDR|TRNS|ACCNT|CUST|VEND)\t", Kind("a QuickBooks IIF file", "export the report as CSV or XLSX")),
    (r"01,[^,\n]*,[^,\n]*,\d{6},\d{0,4},[^\n]*/\s*\n0[23],", Kind("a BAI2 bank statement", _BANK)),
    (r"(?=[^\n]{128}\r?\n)0{5}\d{6}[^\n]*\n1", Kind("a CODA bank statement", _BANK)),
    (r"(?=[^\n]{80}\r?\n)11\d{18}[^\n]*\n(?:22|33)\d", Kind("a Norma 43 bank statement", _BANK)),
    (
        r"(?:From \S+ \w{3} \w{3} |(?:Return-Path|Received|Delivered-To|MIME-Version|Message-ID): )",
        Kind("a mail", "save the file that is attached to it"),
    ),
    (r"[^\n]*accountMainID\b", Kind("an XBRL GL file", "export the chart or ledger as an ordinary CSV or XLSX table")),
    (r"BEGIN:V(?:CARD|CALENDAR)", Kind("a contact or a calendar", "export the chart or ledger as CSV or XLSX")),
    (
        r"(?s)\{\s*\"documentInfo\".*xbrl-csv",
        Kind("the description of an xBRL-CSV report", "read the CSV file beside it"),
    ),
    (r"[{\[]\s*[\"{\[\]}]", Kind("a JSON file", f"export it as {_TABLE}")),
    (r"\.?(?:19|20)\d\d[/-]\d\d[/-]\d\d (?:open|\*|txn) ", Kind("a plain-text ledger", f"export it as {_TABLE}")),
)
_COMPILED = tuple((re.compile(pattern), kind) for pattern, kind in _TEXTS)

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Names inside of an archive, and of streams in Microsoft's old container.
_IN_ZIP: tuple[tuple[bytes, Kind], ...] = (
    (b"Index/Document.iwa", Kind("an Apple Numbers document", "in Numbers, export it as CSV or XLSX")),
    (b"Index.zip", Kind("an Apple Numbers document", "in Numbers, export it as CSV or XLSX")),
    (b"word/", Kind("a Word document", _SAVE)),
    (b"ppt/", Kind("a PowerPoint document", _SAVE)),
    (b"application/vnd.oasis.opendocument.text", Kind("a text document", _SAVE)),
)
_WORKBOOK_IN_ZIP = (
    b"xl/",
    b"content.xml",
    b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
    b"[Content_Types].xml",
)
_IN_OLE: tuple[tuple[str, Kind], ...] = (
    ("EncryptedPackage", Kind("a workbook or document locked with a password", "save it without the password")),
    ("__substg1.0_", Kind("an Outlook mail", "save the file that is attached to it")),
    ("WordDocument", Kind("a Word document", _SAVE)),
)


def refuse_not_read(path: str | PathLike[str]) -> None:
    """Raise an error for a file that is recognised and not read, which names it and the way out."""
    file = File.at(Path(path))
    if file is None:
        return
    kind = next((found for look in _LOOKS if (found := look(file)) is not None), None)
    if kind is not None:
        raise InputError(f"this is {kind.name}, which is not read here: {kind.way_out}", source=file.source)


def _by_bytes(file: File) -> Kind | None:
    return next((kind for magic, kind in _BYTES if file.head.startswith(magic)), None)


def _by_archive(file: File) -> Kind | None:
    if file.is_packed:
        return Kind("a gzip archive", _UNPACK)
    if not file.head.startswith(_ZIP):
        return None
    found = next((kind for name, kind in _IN_ZIP if name in file.head), None)
    is_workbook = any(name in file.head for name in _WORKBOOK_IN_ZIP) or file.path.suffix.casefold() in _WORKBOOKS
    return found or (None if is_workbook or not zipfile.is_zipfile(file.path) else Kind("a ZIP archive", _UNPACK))


_WORKBOOKS = {".xlsx", ".xlsm", ".xlsb", ".ods"}


def _by_container(file: File) -> Kind | None:
    if not file.head.startswith(_OLE):
        return None
    # The directory of the container may be anywhere in it.
    wanted = [(name.encode("utf-16-le"), kind) for name, kind in _IN_OLE]
    before = b""
    for piece in file.pieces(1 << 20):
        for name, kind in wanted:
            if name in before + piece:
                return kind
        before = piece[-64:]
    return None


def _by_xml(file: File) -> Kind | None:
    if _PAGE.match(file.text):
        return Kind("an HTML page, whatever its name ends with", _OPEN)
    text = file.text.lstrip()
    name, _ = root_of(file)
    found = next((kind for root, word, kind in _XML if name.casefold() == root.casefold() and word in text), None)
    return found or (_OTHER_XML if text.startswith(("<?xml", "<!DOCTYPE")) else None)


def _by_text(file: File) -> Kind | None:
    text = file.text.lstrip().replace("\r\n", "\n")[:4096]
    return next((kind for pattern, kind in _COMPILED if pattern.match(text)), None)


def _by_dbase(file: File) -> Kind | None:
    # dBase has no magic: its name, its version, and the month and day of its last change.
    head = file.head
    is_dbase = (
        file.path.suffix.casefold() == ".dbf" and len(head) > 32 and 1 <= head[2] <= 12 and 1 <= head[3] <= 31  # noqa: PLR2004
    )
    return Kind("a dBase table", _OPEN) if is_dbase else None


_LOOKS: tuple[Callable[[File], Kind | None], ...] = (
    _by_bytes, _by_archive, _by_container, _by_xml, _by_text, _by_dbase,
)  # fmt: skip
