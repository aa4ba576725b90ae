"""Files that are recognised and not read, each with the way to one that is: `not_read.toml` lists them."""

from __future__ import annotations

import re
import tomllib
import zipfile
from functools import cache
from importlib.resources import files

from bktools.errors import InputError
from bktools.inputs.formats.format import File
from bktools.inputs.formats.xml_records import from_first_element

_UNPACK = "unpack it and read the file in it"
_OPEN = "open it in a spreadsheet and save it as CSV (UTF-8), XLSX or Parquet"
_ZIP = b"PK\x03\x04"
_WORKBOOK_IN_ZIP = (
    b"xl/",
    b"content.xml",
    b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
    b"[Content_Types].xml",
)
_WORKBOOKS = {".xlsx", ".xlsm", ".xlsb", ".ods"}
# Microsoft's old container, and names of streams in it with what it holds then.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_IN_OLE = {
    "EncryptedPackage": ("a workbook or document locked with a password", "save it without the password"),
    "__substg1.0_": ("an Outlook mail", "save the file that is attached to it"),
    "WordDocument": ("a Word document", "save its table as CSV (UTF-8), XLSX or Parquet"),
}


def refuse_not_read(file: File) -> None:
    """Raise an error for a file that is recognised and not read, which names it and the way out."""
    texts = [text.lstrip().replace("\r\n", "\n") for text in (from_first_element(file), file.text)]
    listed = (kind for kind, look in _listed().items() if any(map(look.match, texts)))
    kind = next(listed, None) or _archive(file) or _container(file) or _dbase(file)
    if kind:
        raise InputError(f"this is {kind[0]}, which is not read here: {kind[1]}", source=file.source)


@cache
def _listed() -> dict[tuple[str, str], re.Pattern[str]]:
    """Return how each kind begins, by its name and way out."""
    text = files(__package__).joinpath("not_read.toml").read_text(encoding="utf-8")
    return {
        (name, group["way_out"]): re.compile(look)
        for group in tomllib.loads(text)["not_read"]
        for name, look in group.items()
        if name != "way_out"
    }


def _archive(file: File) -> tuple[str, str] | None:
    if file.is_packed:
        return "a gzip archive", _UNPACK
    is_workbook = any(name in file.head for name in _WORKBOOK_IN_ZIP) or file.path.suffix.casefold() in _WORKBOOKS
    if is_workbook or not file.head.startswith(_ZIP) or not zipfile.is_zipfile(file.path):
        return None
    return "a ZIP archive", _UNPACK


def _container(file: File) -> tuple[str, str] | None:
    if not file.head.startswith(_OLE):
        return None
    # The directory of the container may be anywhere in it.
    data = file.data()
    return next((kind for name, kind in _IN_OLE.items() if name.encode("utf-16-le") in data), None)


def _dbase(file: File) -> tuple[str, str] | None:
    # dBase has no magic: its name, its version, and the month and day of its last change.
    is_dbase = file.path.suffix.casefold() == ".dbf" and re.match(rb"(?s)..[\x01-\x0c][\x01-\x1f].{29}", file.head)
    return ("a dBase table", _OPEN) if is_dbase else None
