"""What a format of accounting files is: how to recognise it, and how to read its chart and its ledger."""

from __future__ import annotations

import codecs
import datetime as dt
import hashlib
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from bktools.contract.accounts import CompanyInFile
from bktools.errors import ArgumentError, InputError
from bktools.frames.parquet import MIB
from bktools.inputs.notes import Note
from bktools.inputs.table import Grid, Rows, Table

LARGEST = 2 << 30
HEAD, _PIECE = 1 << 16, 1 << 24
_MAGIC = {b"PK\x03\x04": "workbook", b"\xd0\xcf\x11\xe0": "workbook", b"PAR1": "Parquet"}
# For `re` and for Arrow.
NUMBER = r"[+-]?[0-9]{1,28}(?:\.[0-9]{1,10})?"
_NUMBER = re.compile(NUMBER)


@dataclass(frozen=True)
class File:
    """A file that was looked into but not read: its first 64 KiB, and the caller's encoding."""

    path: Path
    head: bytes
    encoding: str | None = None

    @classmethod
    def at(cls, path: str | PathLike[str], encoding: str | None = None) -> File:
        """Look into a file; one that is not there or cannot be read is an `InputError`."""
        if not isinstance(path, str | PathLike):
            raise ArgumentError(
                "path",
                "must be the path of one file: read several apart, and join them by pandas.concat",
                path,
            )
        path = Path(path)
        try:
            # A pipe would be waited for until somebody writes to it, and cannot be looked through first.
            is_special = path.exists() and not path.is_file()
            head = b"" if is_special else _beginning(path)
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from None
        if is_special:
            what = (
                "a directory, not a file"
                if path.is_dir()
                else "a device or a pipe, not a file: save it first"
            )
            raise InputError(f"is {what}", source=str(path))
        return cls(path, head, encoding)

    @property
    def source(self) -> str:
        """The file, for errors."""
        return str(self.path)

    def error(self, why: str, line: int | None = None) -> InputError:
        """Return an error that names the file, and a line of it."""
        return InputError(why, source=self.source, line=line)

    @property
    def kind(self) -> str:
        """What it is by its bytes: a workbook, Parquet or text."""
        return next((kind for magic, kind in _MAGIC.items() if self.head.startswith(magic)), "text")

    @cached_property
    def text(self) -> str:
        """The head as text to look for words in, not to keep."""
        if self.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return self.head.decode("utf-16", errors="replace")
        return self.head.removeprefix(codecs.BOM_UTF8).decode("latin-1")

    @cached_property
    def sha256(self) -> str:
        """Of the file's bytes."""
        with self.path.open("rb") as raw:
            return hashlib.file_digest(raw, "sha256").hexdigest()

    def pieces(self) -> Iterator[bytes]:
        """Yield the file's bytes; refuse a file that is larger than it may be."""
        try:
            if self.path.stat().st_size > LARGEST:
                raise self.error(
                    f"has more than {LARGEST // MIB:,} MB: export it again in parts, by month or company"
                )
            with self.path.open("rb") as stream:
                while piece := stream.read(_PIECE):
                    yield piece
        except OSError as error:
            raise _unreadable(self.path, error) from None

    def data(self) -> bytes:
        """Return the file's bytes."""
        return b"".join(self.pieces())

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the file's lines with their numbers from 1, without their ends."""
        for number, line in enumerate(io.BytesIO(self.data()), 1):
            yield number, line.rstrip(b"\r\n")

    def table(self, rows: Rows, nothing: str, *notes: Note, **about: Any) -> Table:
        """Return rows headed by fields as this file's table; `nothing` is the error if there are no rows."""
        if not rows:
            raise self.error(nothing)
        places = {field: place for place, field in enumerate(rows.headings)}
        about_rows = {"heading_line": 0, "places": places, "notes": notes, "sha256": self.sha256}
        return rows.table(self.source, **about_rows | about)


def _beginning(path: Path) -> bytes:
    with path.open("rb") as raw:
        return raw.read(HEAD)


def _unreadable(path: Path, error: OSError | ValueError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file", source=str(path))
    # A path with a NUL byte is a ValueError.
    return InputError(f"cannot be read ({getattr(error, 'strerror', None) or error})", source=str(path))


class Total(NamedTuple):
    """A sum or a count that the file states of itself, by the name that the file gives it."""

    name: str
    stated: Decimal
    # The total's subject: "debit" or "credit", or the reader's own count.
    counted: str | Decimal


@dataclass(frozen=True)
class Ledger:
    """Postings as cells, and the totals that the file states, which are held to the postings.

    The table has columns for `account_code`, `date`, `debit` and `credit` or `amount` with or without `side`,
    and some of `account_name`, `currency`, `text`, `document_number`, `voucher_id`, `tax_code`,
    `cost_centre`, `foreign_amount` and `foreign_currency`: what was paid in another currency than that of the
    books.
    """

    table: Table
    decimal: str = "."
    # Without it the dates show it.
    date_format: str | None = "%Y-%m-%d"
    # The currency of all amounts for which no column says it.
    currency: str | None = None
    totals: Sequence[Total] = ()
    # Account to the sum of its postings, as the file says it.
    movements: Mapping[str, Decimal] = field(default_factory=dict)
    # Values that the reader could read in two ways, and read in one.
    doubts: Sequence[Note] = ()
    # The day on which the file was exported, as it says.
    exported_at: dt.date | None = None
    # Whether every voucher must balance. False for a table, which may be a part of a ledger.
    is_whole: bool = True


def day_of(text: str | None) -> dt.date | None:
    """Return the day of a header's time, such as 20261003 or 2026-10-03T08:00; None where there is none."""
    try:
        return dt.datetime.strptime((text or "").strip().replace("-", "")[:8], "%Y%m%d").date()  # noqa: DTZ007 - a day alone
    except ValueError:
        return None


class Format(NamedTuple):
    """A format: its name, how its first bytes look, and its readers.

    A chart has columns for `external_id`, `code`, `name`, `type` and `archived`, or some of them.

    Each file of this folder names its formats in `FORMATS`; nothing else is needed for them to be read.
    """

    name: str
    recognises: Callable[[File], bool]
    chart: Callable[[File], Table]
    ledger: Callable[[File], Ledger]


class TableFormat(NamedTuple):
    """A format that is a report as a table: its name, and its postings, None for another table.

    Files of this folder name these formats in `TABLE_FORMATS`.
    """

    name: str
    ledger: Callable[[File, Grid], Ledger | None]


def company_in_file(number: str, name: str) -> CompanyInFile | None:
    """Return the company that a file names, None where it names none."""
    return CompanyInFile(number.strip(), name.strip()) if number.strip() or name.strip() else None


def is_number(text: str) -> bool:
    """Whether a text is a number of the form 1234.50."""
    return _NUMBER.fullmatch(text) is not None


class Record(NamedTuple):
    """A record of a file with its texts by their names, and the records around it, outermost first."""

    name: str
    source: str
    line: int
    texts: dict[str, str]
    around: tuple[Record, ...] = ()

    def text(self, *names: str) -> str:
        """Return the first of these texts that is not empty."""
        return next((self.texts[name] for name in names if self.texts.get(name)), "")

    def text_around(self, record: str, *names: str) -> str:
        """Return a text of the record of that name around this one."""
        return next((one.text(*names) for one in self.around if one.name == record), "")

    def number(self, name: str, called: str = "") -> Decimal:
        """Return a text of the form 1234.50; anything else is an `InputError` that names it."""
        text = self.text(name)
        if not is_number(text):
            raise self.error(f"{called or name} is {text[:40]!r}, must be a number such as 1234.50")
        return Decimal(text)

    def totals(self, **counted: str | Decimal) -> list[Total]:
        """Return those of these totals that the record states."""
        return [Total(name, self.number(name), value) for name, value in counted.items() if self.text(name)]

    def error(self, why: str) -> InputError:
        """Return an error that names the record's line."""
        return InputError(why, source=self.source, line=self.line)


POSTING = (
    *("account_code", "account_name", "date", "currency", "text", "document_number", "voucher_id"),
    *("tax_code", "cost_centre", "foreign_amount", "foreign_currency"),
)
