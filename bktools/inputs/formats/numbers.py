"""Numbers that a file states of itself, such as totals."""

from __future__ import annotations

import re
from decimal import Decimal

from bktools.errors import InputError
from bktools.inputs.formats.format import File
from bktools.inputs.formats.xml_records import Record

_NUMBER = re.compile(r"[+-]?[0-9]{1,28}(?:\.[0-9]{1,10})?", re.ASCII)


def number(text: str, name: str, file: File, line: int) -> Decimal:
    """Return a number of the form 1234.50; anything else is an `InputError` that names it."""
    if not _NUMBER.fullmatch(text):
        raise InputError(f"{name} is {text[:40]!r}, must be a number such as 1234.50", source=file.source, line=line)
    return Decimal(text)


def stated(record: Record, path: str, file: File) -> Decimal:
    """Return a number of a record."""
    return number(record.text(path), path, file, record.line)
