"""SIE 4, the exchange format of Swedish bookkeeping: `#LABEL` and its fields, a record a line, vouchers in braces.

An amount is positive for debit. `#RTRANS` is a posting that was added later; the same posting follows as `#TRANS`, for
programs that do not know it, and counts once. `#BTRANS` is a posting that was struck out, and does not count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
    encoding, records = _records(file)
    accounts = {record.field(0): record for record in records if record.label == "KONTO"}
    types = {record.field(0): record.field(1) for record in records if record.label == "KTYP"}
    rows = Rows("code", "name", "type")
    for code, record in accounts.items():
        rows.add(record.line, code, record.field(1), types.get(code, ""))
    company = company_in_file(_last(records, "ORGNR"), _last(records, "FNAMN"))
    nothing = "is a SIE file without accounts (#KONTO)"
    table = file.table(rows, nothing, "read as SIE", encoding=encoding, company=company)
    return Chart(table, headed_by_fields(table))


def ledger(file: File) -> Ledger:
    """Return the postings of all vouchers, and the movement of each account by its balances of the year."""
    encoding, records = _records(file)
    names = {record.field(0): record.field(1) for record in records if record.label == "KONTO"}
    rows = Rows(*POSTING, "amount")
    voucher = opened = None
    repeated: list[str] = []
    for record in records:
        match record.label:
            case "VER":
                if opened:
                    break
                voucher = record
            case "{":
                opened = voucher
            case "}":
                voucher = opened = None
            case "RTRANS" | "TRANS" if record.label == "RTRANS" or record.fields != repeated:
                _post(rows, record, opened, names, file)
        repeated = record.fields if record.label == "RTRANS" else []
    if opened:
        raise InputError(
            "the voucher that starts here is not closed by }: the file is cut off, export it again",
            source=file.source,
            line=opened.line,
        )
    kind = _last(records, "SIETYP")
    nothing = (
        f"is a SIE file of type {kind or 'unknown'} without vouchers (#VER): export it as SIE type 4, with transactions"
    )
    table = file.table(rows, nothing, f"read as SIE type {kind or '4'}", *_unverified(records), encoding=encoding)
    opening, closing, results = (_balances(records, label, file) for label in ("IB", "UB", "RES"))
    # The sum that the postings of an account must have is its closing less its opening balance, or its result.
    movements = {code: amount - opening.get(code, Decimal()) for code, amount in closing.items()}
    return Ledger(
        table,
        headed_by_fields(table),
        date_format="%Y%m%d",
        currency=_last(records, "VALUTA") or "SEK",
        movements=movements | results,
    )


def _last(records: Sequence[_Record], label: str) -> str:
    return next((record.field(0) for record in reversed(records) if record.label == label), "")


def _balances(records: Sequence[_Record], label: str, file: File) -> dict[str, Decimal]:
    of_year = (record for record in records if record.label == label and record.field(0) == _THIS_YEAR)
    return {record.field(1): _amount(record, file) for record in of_year}


def _unverified(records: Sequence[_Record]) -> list[str]:
    labels = {record.label for record in records}
    listed = ", ".join(f"#{label}" for label in _UNVERIFIED if label in labels)
    return [f"not verified: {listed} of the file"] * bool(listed)


def _post(rows: Rows, record: _Record, voucher: _Record | None, names: Mapping[str, str], file: File) -> None:
    if voucher is None:
        raise InputError(
            f"#{record.label} is in no voucher (#VER and braces): export the file again",
            source=file.source,
            line=record.line,
        )
    # Of a posting: account, objects, amount, date, text; of a voucher: series, number, date, text.
    account = record.field(0)
    # A program that leaves the numbering to the one that imports the file writes no number.
    number = voucher.field(1) or f"(line {voucher.line})"
    rows.add_fields(
        record.line,
        account_code=account,
        account_name=names.get(account, ""),
        date=voucher.field(2),
        text=record.field(4) or voucher.field(3),
        voucher_id=f"{voucher.field(0)} {number}".strip(),
        amount=str(_amount(record, file)),
    )


def _amount(record: _Record, file: File) -> Decimal:
    return number(record.field(2), f"#{record.label}", file, record.line)


def _records(file: File) -> tuple[str, list[_Record]]:
    """Return the encoding of a file, and those of its records that are read."""
    lines = []
    for line, data in file.lines():
        match = _RECORD.match(data)
        label = (match[1] or match[2]).decode("ascii", errors="replace").upper() if match else ""
        if label in _READ:
            lines.append((line, label, data))
    encoding = _encoding(file, lines)
    records = []
    for line, label, data in lines:
        try:
            text = data.decode(encoding).strip()
        except UnicodeDecodeError as error:
            raise InputError(
                f"byte 0x{data[error.start]:02X} is not valid {encoding}; set {setting('encoding')}",
                source=file.source,
                line=line,
            ) from None
        records.append(_Record(line, label, _fields(text, file, line)[1:] if text.startswith("#") else []))
    return encoding, records


def _fields(text: str, file: File, line: int) -> list[str]:
    fields: list[str] = []
    at = 0
    while at < len(text):
        match = _FIELD.match(text, at)
        if match is None:
            raise InputError(
                "a quote or a brace is not closed: export the file again, or close it", source=file.source, line=line
            )
        quoted, objects, plain = match.groups()
        fields.append(quoted.replace('\\"', '"') if quoted is not None else objects if objects is not None else plain)
        at = match.end()
    return fields or [""]


def _encoding(file: File, lines: Sequence[tuple[int, str, bytes]]) -> str:
    """Return the encoding: UTF-8 where the bytes are, else PC8 (cp437) as the format has it.

    Programs that write Windows' encoding, whatever the file says, are told by their å, ä and ö, which are Greek letters
    in PC8; in UTF-8 no character begins with a byte that is a letter in PC8.
    """
    if file.encoding is not None:
        return to_utf8(b"", file.encoding, file.source)[1]
    if utf8_error(b"\n".join(data for _, _, data in lines)) is None:
        return "utf-8-sig"
    seen: set[int] = set()
    for line, _, data in lines:
        seen |= {*data}
        if seen & _IN_WINDOWS and seen & _IN_PC8:
            raise InputError(
                f"holds letters of two encodings: choose one with {setting('encoding', 'cp437')} or"
                f" {setting('encoding', 'cp1252')}",
                source=file.source,
                line=line,
            )
    return "cp1252" if seen & _IN_WINDOWS else "cp437"


FORMATS = (Format("SIE", recognises, chart, ledger),)
