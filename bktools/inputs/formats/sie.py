"""SIE 4, the exchange format of Swedish bookkeeping: `#LABEL` and its fields, a record a line, vouchers in braces.

An amount is positive for debit. `#RTRANS` is a posting that was added later; the same posting follows as `#TRANS`, for
programs that do not know it, and counts once. `#BTRANS` is a posting that was struck out, and does not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import setting
from bktools.frames import schema
from bktools.inputs.cells import counted
from bktools.inputs.encoding import to_utf8, utf8_error
from bktools.inputs.formats.format import POSTING, File, Format, Ledger, company_in_file, is_number
from bktools.inputs.table import Rows, Table

_FIRST = re.compile(r"\s*#(?:FLAGGA|PROGRAM|FORMAT|GEN|SIETYP)\s", re.IGNORECASE)
# A field in quotes, in braces, or bare; the last group is a quote or a brace that is not closed.
_FIELD = re.compile(r'"((?:\\"|[^"])*)"|\{([^{}]*)\}|([^\s"{}]+)|(["{}])')
_THIS_YEAR = "0"
# The file's checksum, and balances of objects such as cost centres.
_UNVERIFIED = ("KSUMMA", "OIB", "OUB")
_POSTED = ("TRANS", "RTRANS")
# Records that are read. Others, such as where the program keeps its files, may be in another encoding.
_READ = ("KONTO", "KTYP", "VER", *_POSTED, "IB", "UB", "RES", "SIETYP", "VALUTA", "ORGNR", "FNAMN", *_UNVERIFIED)
_RECORD = re.compile(
    rb"^(?:\xef\xbb\xbf)?[^\S\n]*(?:#(?:%s)(?![^\s\"{}])[^\n]*|[{}][^\S\n]*$)" % b"|".join(map(str.encode, _READ)),
    re.IGNORECASE | re.MULTILINE,
)
# What programs write for å, ä, ö, é in Windows' encoding, and in the one of the format, PC8.
_IN_WINDOWS = frozenset(b"\xe5\xe4\xf6\xe9\xc5\xc4\xd6\xc9")
_IN_PC8 = frozenset(b"\x86\x84\x94\x82\x8f\x8e\x99\x90")


class _Record(NamedTuple):
    """A record: the line it is on, its label, and its fields without the label."""

    line: int
    label: str
    fields: Sequence[str]

    def field(self, at: int) -> str:
        """Return the field at a place, empty where the record ends before it."""
        return self.fields[at] if at < len(self.fields) else ""


def recognises(file: File) -> bool:
    """Whether it begins with the records that every SIE file begins with."""
    return _FIRST.match(file.text) is not None


def chart(file: File) -> Table:
    """Return the accounts (`#KONTO`) with their type (`#KTYP`)."""
    encoding, lines, texts = _lines(file)
    records = [*_records(file, lines, texts)]
    accounts = {record.field(0): record for record in records if record.label == "KONTO"}
    types = {record.field(0): record.field(1) for record in records if record.label == "KTYP"}
    rows = Rows("code", "name", "type")
    for code, record in accounts.items():
        rows.add(record.line, code, record.field(1), types.get(code, ""))
    values = _values(records)
    company = company_in_file(values.get("ORGNR", ""), values.get("FNAMN", ""))
    nothing = "is a SIE file without accounts (#KONTO)"
    return file.table(rows, nothing, "read as SIE", encoding=encoding, company=company)


def ledger(file: File) -> Ledger:
    """Return the postings of all vouchers, and the movement of each account by its balances of the year."""
    encoding, lines, texts = _lines(file)
    rows = Rows(*POSTING, "amount")
    others: list[_Record] = []
    dated_apart: list[int] = []
    voucher = opened = None
    # Added postings whose repetition has not come yet.
    added: Counter[tuple[object, ...]] = Counter()
    for record in _records(file, lines, texts):
        label = record.label
        if label in _POSTED:
            if opened is None:
                raise file.error(
                    f"#{label} is in no voucher (#VER and braces): export the file again", line=record.line
                )
            amount = _amount(file, record, 2)
            if label == "RTRANS":
                added[_posted(record)] += 1
            elif added:
                if added[_posted(record)] > 0:
                    added[_posted(record)] -= 1
                    continue
                added.clear()
            _, _, _, own_date, text, *_ = (*record.fields, "", "", "")
            if own_date and own_date != opened.date:
                dated_apart.append(record.line)
            rows.add(record.line, record.fields[0], "", opened.date, "", text or opened.text, "", opened.id, "", amount)
        elif label == "{":
            opened = voucher
        elif label == "}":
            voucher = opened = None
            added.clear()
        elif label == "VER":
            if opened:
                break
            voucher = _voucher(record)
        else:
            others.append(record)
    if opened:
        raise file.error(
            "the voucher that starts here is not closed by }: the file is cut off, export it again", line=opened.line
        )
    values = _values(others)
    kind = values.get("SIETYP", "")
    nothing = (
        f"is a SIE file of type {kind or 'unknown'} without vouchers (#VER): export it as SIE type 4, with transactions"
    )
    labels = {record.label for record in others}
    unverified = ", ".join(f"#{label}" for label in _UNVERIFIED if label in labels)
    notes = [f"read as SIE type {kind or '4'}", *[f"not verified: {unverified} of the file"] * bool(unverified)]
    names = {record.field(0): record.field(1) for record in others if record.label == "KONTO"}
    table = _with_names(file.table(rows, nothing, *notes, encoding=encoding), names)
    remark = "postings with a date of their own (#TRANS), read with the date of their voucher"
    table = replace(table, notes=(*table.notes, *counted(table, {remark: np.isin(table.lines, dated_apart)})))
    opening, closing, results = (_balances(file, others, label) for label in ("IB", "UB", "RES"))
    # The sum that the postings of an account must have is its closing less its opening balance, or its result.
    movements = {code: amount - opening.get(code, Decimal()) for code, amount in closing.items()}
    return Ledger(table, date_format="%Y%m%d", currency=values.get("VALUTA") or "SEK", movements=movements | results)


def _with_names(table: Table, names: Mapping[str, str]) -> Table:
    place = table.places["account_name"]
    codes = pc.dictionary_encode(table.columns[table.places["account_code"]]).combine_chunks()
    of_code = pa.array([names.get(code, "") for code in codes.dictionary.to_pylist()], schema.TEXT)
    columns = [*table.columns]
    columns[place] = pa.chunked_array([of_code.take(codes.indices)])
    return replace(table, columns=columns)


class _Voucher(NamedTuple):
    line: int
    id: str
    date: str
    text: str


def _voucher(record: _Record) -> _Voucher:
    series, number, date, text, *_ = (*record.fields, "", "", "", "")
    # A program that leaves the numbering to the one that imports the file writes no number.
    return _Voucher(record.line, f"{series} {number or f'(line {record.line})'}".strip(), date, text)


def _posted(record: _Record) -> tuple[object, ...]:
    """Return what an added posting has in common with its repetition: account, objects and amount.

    Dates, texts and signatures differ where a program writes them for one of the two alone.
    """
    account, objects, amount, *_ = record.fields
    return account, tuple(_texts(_FIELD.findall(objects))), Decimal(amount)


def _values(records: Sequence[_Record]) -> Mapping[str, str]:
    """Return the first field of the last record of each label."""
    return {record.label: record.field(0) for record in records}


def _amount(file: File, record: _Record, at: int) -> str:
    amount = record.field(at)
    if not is_number(amount):
        raise file.error(f"#{record.label} is {amount[:40]!r}, must be a number such as 1234.50", line=record.line)
    return amount


def _balances(file: File, records: Sequence[_Record], label: str) -> dict[str, Decimal]:
    of_year = (record for record in records if record.label == label and record.field(0) == _THIS_YEAR)
    return {record.field(1): Decimal(_amount(file, record, 2)) for record in of_year}


def _lines(file: File) -> tuple[str, Sequence[int], Sequence[str]]:
    """Return the encoding of a file, and its lines with records that are read, each with its number."""
    data = file.data()
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    matches = [*_RECORD.finditer(data)]
    numbers = np.searchsorted(ends, [match.start() for match in matches]) + 1
    lines = [match[0] for match in matches]
    encoding = _encoding(file, numbers, lines)
    try:
        text = b"\n".join(lines).decode(encoding)
    except UnicodeDecodeError as error:
        at = b"\n".join(lines).count(b"\n", 0, error.start)
        why = f"byte 0x{error.object[error.start]:02X} is not valid {encoding}; set {setting('encoding')}"
        raise file.error(why, line=int(numbers[at])) from None
    return encoding, numbers.tolist(), text.split("\n") if text else []


def _records(file: File, lines: Sequence[int], texts: Sequence[str]) -> Iterator[_Record]:
    for line, text in zip(lines, texts, strict=True):
        fields = _FIELD.findall(text)
        if any(unclosed for *_, unclosed in fields[1:]):
            raise file.error("a quote or a brace is not closed: export the file again, or close it", line=line)
        label = fields[0][2].removeprefix("\ufeff").removeprefix("#").upper() or fields[0][3]
        yield _Record(line, label, _texts(fields[1:]))


def _texts(fields: Sequence[tuple[str, ...]]) -> list[str]:
    return [quoted.replace('\\"', '"') or braces or bare for quoted, braces, bare, _ in fields]


def _encoding(file: File, numbers: Sequence[int], lines: Sequence[bytes]) -> str:
    """Return the encoding: UTF-8 where the bytes are, else PC8 (cp437) as the format has it.

    Programs that write Windows' encoding, whatever the file says, are told by their å, ä and ö, which are Greek letters
    in PC8; in UTF-8 no character begins with a byte that is a letter in PC8.
    """
    if file.encoding is not None:
        return to_utf8(b"", file.encoding, file.source)[1]
    if utf8_error(b"\n".join(lines)) is None:
        return "utf-8-sig"
    seen: set[int] = set()
    for number, data in zip(numbers, lines, strict=True):
        if data.isascii():
            continue
        seen |= {*data}
        if seen & _IN_WINDOWS and seen & _IN_PC8:
            raise file.error(
                f"holds letters of two encodings: choose one with {setting('encoding', 'cp437')} or"
                f" {setting('encoding', 'cp1252')}",
                line=int(number),
            )
    return "cp1252" if seen & _IN_WINDOWS else "cp437"


FORMATS = (Format("SIE", recognises, chart, ledger),)
