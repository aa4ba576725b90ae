"""SIE 4, the exchange format of Swedish bookkeeping: `#LABEL` and its fields, a record a line, vouchers in braces.

An amount is positive for debit. `#RTRANS` is a posting that was added later; the same posting follows as `#TRANS`, for
programs that do not know it, and counts once. `#BTRANS` is a posting that was struck out, and does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from bktools.caller import setting
from bktools.errors import InputError
from bktools.inputs.encoding import to_utf8, utf8_error
from bktools.inputs.formats.format import (
    POSTING,
    Chart,
    File,
    Format,
    Ledger,
    company_in_file,
    headed_by_fields,
    number,
)
from bktools.inputs.table import Rows

_FIRST = re.compile(r"\s*#(?:FLAGGA|PROGRAM|FORMAT|GEN|SIETYP)\s", re.IGNORECASE)
_FIELD = re.compile(r'\s*(?:"((?:\\"|[^"])*)"|\{([^{}]*)\}|([^\s"{}]+))')
_THIS_YEAR = "0"
# The file's checksum, and balances of objects such as cost centres.
_UNVERIFIED = ("KSUMMA", "OIB", "OUB")
# Other records, such as where the program keeps its files, may be in another encoding than the file.
_READ = frozenset(
    {
        "SIETYP", "VALUTA", "KONTO", "KTYP", "ORGNR", "FNAMN", "IB", "UB", "RES", "VER", "TRANS", "RTRANS", "{", "}",
        *_UNVERIFIED,
    }
)  # fmt: skip
_RECORD = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:#([^\s\"{}]+)|([{}])\s*\Z)")
# What programs write for å, ä, ö, é in Windows' encoding, and in the one of the format, PC8.
_IN_WINDOWS = frozenset(b"\xe5\xe4\xf6\xe9\xc5\xc4\xd6\xc9")
_IN_PC8 = frozenset(b"\x86\x84\x94\x82\x8f\x8e\x99\x90")


class _Record(NamedTuple):
    line: int
    label: str
    fields: list[str]

    def field(self, place: int) -> str:
        return self.fields[place] if place < len(self.fields) else ""


def recognises(file: File) -> bool:
    """Whether it begins with the records that every SIE file begins with."""
    return _FIRST.match(file.text) is not None


def chart(file: File) -> Chart:
    """Return the accounts (`#KONTO`) with their type (`#KTYP`)."""
    names: dict[str, tuple[int, str]] = {}
    types: dict[str, str] = {}
    number = name = ""
    encoding = _encoding(file)
    for record in _records(file, encoding):
        match record.label:
            case "KONTO":
                names[record.field(0)] = (record.line, record.field(1))
            case "KTYP":
                types[record.field(0)] = record.field(1)
            case "ORGNR":
                number = record.field(0)
            case "FNAMN":
                name = record.field(0)
    rows = Rows("code", "name", "type")
    for code, (line, account_name) in names.items():
        rows.add(line, code, account_name, types.get(code, ""))
    company = company_in_file(number, name)
    nothing = "is a SIE file without accounts (#KONTO)"
    table = file.table(rows, nothing, "read as SIE", encoding=encoding, company=company)
    return Chart(table, headed_by_fields(table))


def ledger(file: File) -> Ledger:
    """Return the postings of all vouchers, and the movement of each account by its balances of the year."""
    reader = _Reader(file)
    encoding = _encoding(file)
    found: set[str] = set()
    for record in _records(file, encoding):
        reader.take(record)
        found.add(record.label)
    reader.refuse_open_voucher()
    nothing = (
        f"is a SIE file of type {reader.type or 'unknown'} without vouchers (#VER): export it as SIE type 4, with"
        " transactions"
    )
    unverified = ", ".join(f"#{label}" for label in _UNVERIFIED if label in found)
    notes = [f"not verified: {unverified} of the file"] * bool(unverified)
    table = file.table(reader.rows, nothing, f"read as SIE type {reader.type or '4'}", *notes, encoding=encoding)
    return Ledger(
        table,
        headed_by_fields(table),
        date_format="%Y%m%d",
        currency=reader.currency,
        movements=reader.movements(),
    )


class _Reader:
    def __init__(self, file: File) -> None:
        self.rows = Rows(*POSTING, "amount")
        self.type = ""
        self.currency = "SEK"
        self._file = file
        self._names: dict[str, str] = {}
        self._balances: dict[str, dict[str, Decimal]] = {"IB": {}, "UB": {}, "RES": {}}
        self._voucher: _Record | None = None
        self._is_open = False
        self._repeated: list[str] | None = None

    def take(self, record: _Record) -> None:
        repeated, self._repeated = self._repeated, None
        match record.label:
            case "SIETYP":
                self.type = record.field(0)
            case "VALUTA":
                self.currency = record.field(0) or self.currency
            case "KONTO":
                self._names[record.field(0)] = record.field(1)
            case "IB" | "UB" | "RES" if record.field(0) == _THIS_YEAR:
                amount = number(record.field(2), f"#{record.label}", self._file, record.line)
                self._balances[record.label][record.field(1)] = amount
            case "VER":
                self.refuse_open_voucher()
                self._voucher = record
            case "{":
                self._is_open = True
            case "}":
                self._voucher, self._is_open = None, False
            case "RTRANS":
                self._post(record)
                self._repeated = record.fields
            case "TRANS" if record.fields != repeated:
                self._post(record)

    def refuse_open_voucher(self) -> None:
        if self._is_open and self._voucher:
            raise InputError(
                "the voucher that starts here is not closed by }: the file is cut off, export it again",
                source=self._file.source,
                line=self._voucher.line,
            )

    def _post(self, record: _Record) -> None:
        voucher = self._voucher
        if voucher is None or not self._is_open:
            raise InputError(
                f"#{record.label} is in no voucher (#VER and braces): export the file again",
                source=self._file.source,
                line=record.line,
            )
        series, voucher_number = voucher.field(0), voucher.field(1)
        account = record.field(0)
        self.rows.add(
            record.line,
            account,
            self._names.get(account, ""),
            voucher.field(2),
            "",
            # Account, objects, amount, date, text.
            record.field(4) or voucher.field(3),
            "",
            # A program that leaves the numbering to the one that imports the file writes no number.
            f"{series} {voucher_number or f'(line {voucher.line})'}".strip(),
            "",
            str(number(record.field(2), f"#{record.label}", self._file, record.line)),
        )

    def movements(self) -> dict[str, Decimal]:
        """Return the sum that the postings of each account must have: closing less opening balance, or the result."""
        opening, closing = self._balances["IB"], self._balances["UB"]
        return {
            account: amount - opening.get(account, Decimal()) for account, amount in closing.items()
        } | self._balances["RES"]


def _lines(file: File) -> Iterator[tuple[int, str, bytes]]:
    """Yield the lines of the records that are read, with their number and label."""
    for line, data in file.lines():
        match = _RECORD.match(data)
        label = (match[1] or match[2]).decode("ascii", errors="replace").upper() if match else ""
        if label in _READ:
            yield line, label, data


def _records(file: File, encoding: str) -> Iterator[_Record]:
    for line, label, data in _lines(file):
        try:
            text = data.decode(encoding).strip()
        except UnicodeDecodeError as error:
            raise InputError(
                f"byte 0x{data[error.start]:02X} is not valid {encoding}; set {setting('encoding')}",
                source=file.source,
                line=line,
            ) from None
        yield _Record(line, label, _fields(text, file, line)[1:] if text.startswith("#") else [])


def _fields(text: str, file: File, line: int) -> list[str]:
    fields: list[str] = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        found = _FIELD.match(text, at)
        if found is None:
            raise InputError(
                "a quote or a brace is not closed: export the file again, or close it", source=file.source, line=line
            )
        quoted, objects, plain = found.groups()
        fields.append(quoted.replace('\\"', '"') if quoted is not None else objects if objects is not None else plain)
        at = found.end()
    return fields or [""]


def _encoding(file: File) -> str:
    """Return the encoding: UTF-8 where the bytes are, else PC8 (cp437) as the format has it.

    Programs that write Windows' encoding, whatever the file says, are told by their å, ä and ö, which are Greek letters
    in PC8; in UTF-8 no character begins with a byte that is a letter in PC8.
    """
    if file.encoding is not None:
        return to_utf8(b"", file.encoding, file.source)[1]
    is_utf8, seen = True, set[int]()
    for line, _, data in _lines(file):
        if not data.isascii():
            seen |= set(data)
            is_utf8 = is_utf8 and utf8_error(data) is None
        if not is_utf8 and seen & _IN_WINDOWS and seen & _IN_PC8:
            raise InputError(
                f"holds letters of two encodings: choose one with {setting('encoding', 'cp437')} or"
                f" {setting('encoding', 'cp1252')}",
                source=file.source,
                line=line,
            )
    if is_utf8:
        return "utf-8-sig"
    return "cp1252" if seen & _IN_WINDOWS else "cp437"


FORMATS = (Format("SIE", recognises, chart, ledger),)
