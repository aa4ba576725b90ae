"""What a format of accounting files is: how it is recognised, and how its chart and its general ledger are read."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bktools.contract.accounts import CompanyInFile
from bktools.errors import InputError
from bktools.frames.unpacking import MIB, UNPACKED
from bktools.inputs.table import Rows, Table

LARGEST = 2 << 30
LONGEST_LINE = 1 << 20

_HEAD = 1 << 16
_GZIP = b"\x1f\x8b"
_NUMBER = re.compile(r"[+-]?[0-9]{1,28}(?:\.[0-9]{1,10})?", re.ASCII)
_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)


@dataclass(frozen=True)
class File:
    """A file that was looked into but not read.

    Parameters
    ----------
    path : pathlib.Path
        Where it is.
    head : bytes
        Its first 64 KiB, unpacked where it is a gzip archive.
    encoding : str, optional
        What the caller said.
    """

    path: Path
    head: bytes
    encoding: str | None = None
    is_packed: bool = False

    @classmethod
    def at(cls, path: Path, encoding: str | None = None) -> File | None:
        """Return the file, None where there is none that can be looked into."""
        try:
            if not path.is_file():
                return None
            with path.open("rb") as raw:
                head = raw.read(_HEAD)
        except (OSError, ValueError):
            return None
        if not head.startswith(_GZIP):
            return cls(path, head, encoding)
        try:
            unpacked = zlib.decompressobj(31).decompress(head, _HEAD)
        except zlib.error:
            unpacked = b""
        return cls(path, unpacked, encoding, is_packed=True)

    @property
    def source(self) -> str:
        """The file, for errors."""
        return str(self.path)

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

    def pieces(self, size: int = 1 << 18) -> Iterator[bytes]:
        """Yield the file's bytes, unpacked; a file that is larger than it may be, or damaged, is an `InputError`."""
        most = UNPACKED if self.is_packed else LARGEST
        with self._opened() as stream:
            try:
                while piece := stream.read(size):
                    most -= len(piece)
                    if most < 0:
                        raise self._too_large()
                    yield piece
            except _DAMAGED:
                raise InputError(
                    "is a gzip archive that is damaged or cut off: export it again", source=self.source
                ) from None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the file's lines with their numbers from 1, without their ends."""
        left = b""
        number = 0
        for piece in self.pieces():
            *whole, left = (left + piece).split(b"\n")
            for line in whole:
                number += 1
                yield number, line.removesuffix(b"\r")
            if len(left) > LONGEST_LINE:
                raise InputError(
                    f"the line has more than {LONGEST_LINE // MIB} MB: the file is damaged, export it again",
                    source=self.source,
                    line=number + 1,
                )
        if left:
            yield number + 1, left.removesuffix(b"\r")

    def table(self, rows: Rows, nothing: str, *notes: str, **about: Any) -> Table:
        """Return rows as the table of this file; `nothing` is the error where there are none."""
        if not rows:
            raise InputError(nothing, source=self.source)
        return rows.table(self.source, heading_line=0, notes=notes, sha256=self.sha256, **about)

    def _opened(self) -> BinaryIO:
        try:
            if self.path.stat().st_size > LARGEST:
                raise self._too_large()
            return cast("BinaryIO", gzip.open(self.path)) if self.is_packed else self.path.open("rb")
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror or error})", source=self.source) from None

    def _too_large(self) -> InputError:
        most = UNPACKED if self.is_packed else LARGEST
        unpacked = "unpacks to" if self.is_packed else "has"
        return InputError(
            f"{unpacked} more than {most // MIB:,} MB: export it again in parts, by month or company",
            source=self.source,
        )


class Total(NamedTuple):
    """A sum or a count that the file states of itself.

    Parameters
    ----------
    name : str
        What the file calls it.
    stated : Decimal
        What the file says.
    found : str or Decimal
        What it is held to: `"debit"`, `"credit"`, `"rows"` or `"vouchers"`, or the reader's own count.
    """

    name: str
    stated: Decimal
    found: str | Decimal


@dataclass(frozen=True)
class Ledger:
    """Postings as cells, and the totals that the file states.

    Parameters
    ----------
    table : Table
        One row a posting.
    places : mapping
        Field to column: `account_code`, `account_name`, `date`, `currency`, `text`, `document_number`, `voucher_id`,
        `tax_code`, and `debit` and `credit`, or `amount` with or without `side`.
    decimal, date_format : str, optional
        Of the amounts and dates; without them the columns must show it.
    currency : str, optional
        Of all amounts where no column says it.
    totals : sequence of Total
        Held to the postings.
    movements : mapping
        Account to the sum of its postings, as the file says it.
    doubts : sequence of str
        What the reader could read in two ways, and read in one.
    is_whole : bool
        Whether every voucher must balance. False for a file that may be a part of a ledger.
    """

    table: Table
    places: Mapping[str, int]
    decimal: str | None = "."
    date_format: str | None = "%Y-%m-%d"
    currency: str | None = None
    totals: Sequence[Total] = ()
    movements: Mapping[str, Decimal] = field(default_factory=dict)
    doubts: Sequence[str] = ()
    is_whole: bool = True


class Chart(NamedTuple):
    """Accounts as cells, and the column of each field: `external_id`, `code`, `name`, `type`, `archived`."""

    table: Table
    places: Mapping[str, int]


def headed_by_fields(table: Table) -> dict[str, int]:
    """Return the column of each field of a table whose headings are fields."""
    return {field: place for place, field in enumerate(table.headings)}


Reader = Callable[[File], Chart]
LedgerReader = Callable[[File], Ledger]


class Format(NamedTuple):
    """A format: its name, how its first bytes look, and its readers, or the sentence that says why there is none.

    Each file of this folder names its formats in `FORMATS`; nothing else is needed for them to be read.
    """

    name: str
    recognises: Callable[[File], bool]
    chart: Reader | str
    ledger: LedgerReader | str


def company_in_file(number: str, name: str) -> CompanyInFile | None:
    """Return the company that a file names, None where it names none."""
    return CompanyInFile(number.strip(), name.strip()) if number.strip() or name.strip() else None


def number(text: str, name: str, file: File, line: int) -> Decimal:
    """Return a number of the form 1234.50; anything else is an `InputError` that names it."""
    if not _NUMBER.fullmatch(text):
        raise InputError(f"{name} is {text[:40]!r}, must be a number such as 1234.50", source=file.source, line=line)
    return Decimal(text)


POSTING = ("account_code", "account_name", "date", "currency", "text", "document_number", "voucher_id", "tax_code")


def chosen(table: Table, fields: Mapping[str, pa.ChunkedArray | int], *notes: str) -> tuple[Table, dict[str, int]]:
    """Return a table of some columns of another one, headed as there, and where each field is.

    Parameters
    ----------
    table : Table
        The file.
    fields : mapping
        Field to a column of the table, or to new cells.
    notes : str
        Added to the table's.
    """
    headings = [table.headings[place] if isinstance(place, int) else name for name, place in fields.items()]
    columns = [table.columns[place] if isinstance(place, int) else place for place in fields.values()]
    selected = replace(table, headings=tuple(headings), columns=columns, notes=(*table.notes, *notes))
    return selected, {name: place for place, name in enumerate(fields)}


def from_row_above(column: pa.ChunkedArray, starts: npt.NDArray[np.bool_]) -> pa.ChunkedArray:
    """Return cells where an empty one below a row that starts a voucher has the value of that row."""
    at = np.maximum.accumulate(np.where(starts, np.arange(len(starts)), 0))
    above = column.take(pa.array(at))
    empty = pa.compute.equal(pa.compute.utf8_trim_whitespace(column), "")
    return pa.compute.if_else(empty, above, column)


def first_of_each(table: Table, code: int, name: int) -> tuple[npt.NDArray[np.bool_], list[str]]:
    """Return the rows that show an account first, and a note where an account has several names."""
    codes = table.columns[code].combine_chunks().dictionary_encode().indices.to_numpy()
    _, first = np.unique(codes, return_index=True)
    kept = np.zeros(len(codes), dtype=bool)
    kept[first] = True
    pairs = pa.table({"code": table.columns[code], "name": table.columns[name]}).group_by(["code", "name"])
    renamed = len(pairs.aggregate([])) - len(first)
    return kept, [f"accounts with several names in the file, of which the first is kept: {renamed}"] * bool(renamed)
