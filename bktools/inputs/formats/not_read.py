"""Files that are recognised and not read, each with the way to one that is: `not_read.toml` lists them."""

from __future__ import annotations

import re
import tomllib
import zipfile
from functools import cache
from importlib.resources import files

from bktools.inputs.formats.format import File
from bktools.inputs.formats.xml_records import from_first_element

_UNPACK = "unpack it and read the file in it"
_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"
_WORKBOOK_IN_ZIP = (
    b"xl/",
    b"content.xml",
    b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
    b"[Content_Types].xml",
)
_WORKBOOKS = {".xlsx", ".xlsm", ".xlsb", ".ods"}
# Microsoft's old container, and the stream in it that holds what a password locks.
_OLE, _LOCKED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "EncryptedPackage".encode("utf-16-le")


def refuse_not_read(file: File) -> None:
    """Raise an error for a file that is recognised and not read, which names it and the way out."""
    texts = [text.lstrip().replace("\r\n", "\n") for text in (from_first_element(file), file.text)]
    kinds = [kind for kind, look in _listed().items() if any(map(look.match, texts))]
    if _is_archive(file):
        kinds.append(("a gzip archive" if file.head.startswith(_GZIP) else "a ZIP archive", _UNPACK))
    # The directory of the container may be anywhere in it.
    if file.head.startswith(_OLE) and _LOCKED in file.data():
        kinds.append(("a workbook or document locked with a password", "save it without the password"))
    if kinds:
        raise file.error(f"this is {kinds[0][0]}, which is not read here: {kinds[0][1]}")


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


def _is_archive(file: File) -> bool:
    is_workbook = (
        any(name in file.head for name in _WORKBOOK_IN_ZIP) or file.path.suffix.casefold() in _WORKBOOKS
    )
    is_zip = file.head.startswith(_ZIP) and not is_workbook
    return file.head.startswith(_GZIP) or (is_zip and zipfile.is_zipfile(file.path))
