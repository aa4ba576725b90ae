"""What a format of accounting files is: how to recognise it, and how to read its chart and its ledger."""

from __future__ import annotations

import codecs
import datetime as dt
import hashlib
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
from bktools.inputs.notes import Note, damaged, note
from bktools.inputs.table import Rows, Table
from bktools.inputs.values.days import parsed

LARGEST = 2 << 30
_HEAD, _PIECE = 1 << 16, 1 << 24
_MAGIC = {b"PK\x03\x04": "workbook", b"\xd0\xcf\x11\xe0": "workbook", b"PAR1": "Parquet"}
# A number such as 1234.50, for `re` and for Arrow.
NUMBER = r"[+-]?[0-9]{1,28}(?:\.[0-9]{1,10})?"


@dataclass(frozen=True)
class File:
    """A file that was looked into but not read: its first 64 KiB, and the caller's encoding."""

    path: Path
    head: bytes
    encoding: str | None = None

    @classmethod
    def at(cls, path: object, encoding: str | None = None) -> File:
        """Look into a file; one that is not there or cannot be read is an `InputError`."""
        if not isinstance(path, str | PathLike):
            rule = "must be the path of one file: read several apart, and join them by pandas.concat"
            raise ArgumentError("path", rule, path)
        path = Path(path)
        try:
            # A pipe would be waited for until somebody writes to it, and cannot be looked through first.
            is_special = path.exists() and not path.is_file()
            head = b"" if is_special else _beginning(path)
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from None
        if is_special:
            raise damaged(str(path), "folder" if path.is_dir() else "pipe")
        return cls(path, head, encoding)

    @property
    def source(self) -> str:
        """The file, for errors."""
        return str(self.path)

    def error(self, code: str, line: int | None = None, /, **facts: Any) -> InputError:
        """Return an error that names the file, and a line of it."""
        return damaged(self.source, code, line, **facts)

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
                raise self.error("too_large", most=LARGEST // MIB)
            with self.path.open("rb") as stream:
                while piece := stream.read(_PIECE):
                    yield piece
        except OSError as error:
            raise _unreadable(self.path, error) from None

    def data(self) -> bytes:
        """Return the file's bytes."""
        return b"".join(self.pieces())

    def table(self, rows: Rows, form: str, *notes: Note, **about: Any) -> Table:
        """Return rows headed by fields as the table of a format; a file without rows is an `InputError`."""
        if not rows:
            raise self.error("no_accounts" if "code" in rows.headings else "no_postings", form=form)
        return rows.table(
            self.source,
            heading_line=0,
            places={field: place for place, field in enumerate(rows.headings)},
            notes=(note("format", name=form), *notes),
            sha256=self.sha256,
            **about,
        )


def _beginning(path: Path) -> bytes:
    with path.open("rb") as raw:
        return raw.read(_HEAD)


def _unreadable(path: Path, error: OSError | ValueError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return damaged(str(path), "no_file")
    # A path with a NUL byte is a ValueError.
    return damaged(str(path), "unreadable", why=getattr(error, "strerror", None) or str(error))


class Total(NamedTuple):
    """A sum or a count that the file states of itself, by the name that the file gives it."""

    name: str
    stated: Decimal
    # The total's subject: "debit" or "credit", or the reader's own count.
    counted: str | Decimal


@dataclass(frozen=True)
class Books:
    """Accounts or postings as cells, and the totals that the file states, which prove the postings.

    Accounts have columns for `code`, `name` and `type`, or some of them; postings have those of `POSTING`,
    and `debit` and `credit`, or `amount` with or without `side`. Foreign amounts are what was paid in
    another currency than that of the books.
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


POSTING = (
    *("account_code", "account_name", "date", "currency", "text", "document_number", "voucher_id"),
    *("tax_code", "cost_centre", "foreign_amount", "foreign_currency"),
)


def day_of(text: str) -> dt.date | None:
    """Return the day of a header's time, such as 20261003 or 2026-10-03T08:00; None where there is none."""
    return parsed(text.strip().replace("-", "")[:8], "%Y%m%d")


def company_in_file(number: str, name: str) -> CompanyInFile | None:
    """Return the company that a file names, None where it names none."""
    return CompanyInFile(number.strip(), name.strip()) if number.strip() or name.strip() else None


class Format(NamedTuple):
    """A format: its name, how its first bytes look, and what reads the file as a "chart" or a "ledger".

    `registry.py` lists them.
    """

    name: str
    recognises: Callable[[File], bool]
    read: Callable[[File, str], Books]
