"""Files that are recognised and not read: `not_read.toml` lists them."""

from __future__ import annotations

import re
import tomllib
import zipfile
from functools import cache
from importlib.resources import files

from bktools.inputs.formats.format import File
from bktools.inputs.formats.xml_records import from_first_element

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
    """Raise an error for a file that is recognised and not read, which says what is read."""
    texts = [text.lstrip().replace("\r\n", "\n") for text in (from_first_element(file), file.text)]
    for name, look in _listed().items():
        if any(map(look.match, texts)):
            raise file.error("not_read", name=name)
    if file.head.startswith(_GZIP) or _is_archive(file):
        raise file.error("archive")
    # The directory of the container may be anywhere in it.
    if file.head.startswith(_OLE) and _LOCKED in file.data():
        raise file.error("locked")


@cache
def _listed() -> dict[str, re.Pattern[str]]:
    """Return how each kind begins, by its name."""
    text = files(__package__).joinpath("not_read.toml").read_text(encoding="utf-8")
    return {name: re.compile(look) for name, look in tomllib.loads(text).items()}


def _is_archive(file: File) -> bool:
    is_workbook = any(name in file.head for name in _WORKBOOK_IN_ZIP)
    is_workbook |= file.path.suffix.casefold() in _WORKBOOKS
    return file.head.startswith(_ZIP) and not is_workbook and zipfile.is_zipfile(file.path)
