"""SIE 4, the exchange format of Swedish bookkeeping: `#LABEL` and fields on each line, vouchers in braces.

An amount is positive for debit. `#TRANS` alone is a posting: by the format, one that was added later
(`#RTRANS`) follows again as `#TRANS`, and one that was struck out (`#BTRANS`) does not count.
"""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from bktools.caller import setting
from bktools.inputs.formats.format import NUMBER, Books, company_in_file, day_of, made_table
from bktools.inputs.notes import note
from bktools.inputs.raw.encoding import encoding_named, is_utf8
from bktools.inputs.raw.source import Source
from bktools.inputs.table import Rows, no_collection

_FIRST = re.compile(r"\s*#(?:FLAGGA|PROGRAM|FORMAT|GEN|SIETYP)\s", re.IGNORECASE)
_THIS_YEAR = "0"
# The objects of a posting are pairs of a dimension and a number; the dimension 1 has cost centres.
_OBJECT = re.compile(r'"?(\d+)"?\s+("[^"]*"|\S+)')
_COST_CENTRE = "1"
_OF_ACCOUNTS = frozenset({"KONTO", "KTYP", "ORGNR", "FNAMN"})
# Records that are read. Others, such as where the program keeps its files, may be in another encoding.
_OF_LEDGERS = _OF_ACCOUNTS | {
    *("VER", "TRANS", "IB", "UB", "RES", "SIETYP", "VALUTA", "GEN", "{", "}"),
}
_POSTING = ("account_code", "account_name", "date", "text", "voucher_id", "cost_centre", "amount")
# A record's label and the text behind it, or a brace alone on its line.
_RECORD = re.compile(rb'\s*(?:#([^\s"{}]+)|([{}])(?=\s*$))\s*(.*)', re.DOTALL)
# A field in quotes, in braces, or bare; last a quote or a brace that is not closed.
_FIELD = re.compile(r'"(?:\\"|[^"])*"|\{[^{}]*\}|[^\s"{}]+|["{}]')
_UNCLOSED = frozenset('"{}')
_MOST_FIELDS = 6
_NUMBER = re.compile(NUMBER)
# The bytes for å, ä, ö, é in the format's own encoding, PC8, and in that of Windows.
_LETTERS = {
    "cp437": b"\x86\x84\x94\x82\x8f\x8e\x99\x90",
    "cp1252": b"\xe5\xe4\xf6\xe9\xc5\xc4\xd6\xc9",
}


# A record: the line it is on, its label in capitals, and the text behind it.
_Record: TypeAlias = tuple[int, str, str]


class _Voucher(NamedTuple):
    """What the record of a voucher says."""

    line: int
    id: str
    date: str
    text: str


class _Contents:
    """What the records of a file say."""

    def __init__(self, file: Source, records: Iterator[_Record]) -> None:
        self._file = file
        # The fields of each record outside of vouchers, by label.
        self.fields: dict[str, list[tuple[int, Sequence[str]]]] = defaultdict(list)
        # Accounts stand before vouchers.
        self.names: dict[str, str] = {}
        self.postings = Rows(*_POSTING)
        self.with_own_date: list[int] = []
        voucher: _Voucher | None = None
        opened: _Voucher | None = None
        for line, label, text in records:
            if label == "{":
                opened = voucher
            elif label == "}":
                voucher = opened = None
            elif label == "TRANS":
                if opened is None:
                    raise file.error("sie_posting", line)
                self._post(line, self._fields(line, text), opened)
            elif label == "VER" and opened is None:
                series, number, date, words, *_ = self._fields(line, text)
                # A program that leaves the numbering to the one that imports the file writes no number.
                voucher = _Voucher(line, f"{series} {number or f'(line {line})'}".strip(), date, words)
            elif label == "VER":
                break
            else:
                fields = self._fields(line, text)
                self.fields[label].append((line, fields))
                if label == "KONTO":
                    self.names[fields[0]] = fields[1]
        if opened is not None:
            raise file.error("sie_voucher", opened.line)

    def _fields(self, line: int, text: str) -> list[str]:
        """Return the fields of a record; those that it lacks are empty."""
        fields = _FIELD.findall(text)
        if not _UNCLOSED.isdisjoint(fields):
            raise self._file.error("sie_unclosed", line)
        bare = [part[1:-1] if part[0] in '"{' else part for part in fields]
        bare += [""] * (_MOST_FIELDS - len(bare))
        return [part.replace('\\"', '"') for part in bare] if "\\" in text else bare

    def _post(self, line: int, fields: Sequence[str], voucher: _Voucher) -> None:
        account, objects, amount, date, text, *_ = fields
        if date and date != voucher.date:
            self.with_own_date.append(line)
        centre = _cost_centre(objects) if objects else ""
        name, words = self.names.get(account, ""), text or voucher.text
        self.postings.add(line, account, name, voucher.date, words, voucher.id, centre, amount)

    def value(self, label: str) -> str:
        """Return the first field of the last record of a label, "" without one."""
        return self.fields[label][-1][1][0] if self.fields[label] else ""

    def balances(self, label: str) -> dict[str, Decimal]:
        """Return the amounts of a label of this year by account."""
        balances = {}
        for line, (year, account, amount, *_) in self.fields[label]:
            if not _NUMBER.fullmatch(amount):
                raise self._file.error("no_number", line, name=f"#{label}", value=amount[:40])
            if year == _THIS_YEAR:
                balances[account] = Decimal(amount)
        return balances


@lru_cache(1 << 12)
def _cost_centre(objects: str) -> str:
    numbers: dict[str, str] = dict(_OBJECT.findall(objects))
    return numbers.get(_COST_CENTRE, "").strip('"')


def recognises(file: Source) -> bool:
    """Whether a file begins with the records that every SIE file begins with."""
    return _FIRST.match(file.text) is not None


def read(file: Source, encoding: str | None) -> Books:
    """Return the accounts, or the postings and the movement of each account by its balances of the year."""
    wanted = _OF_ACCOUNTS if file.kind == "chart" else _OF_LEDGERS
    encoding, records = _records(file, wanted, encoding and encoding_named(encoding))
    with no_collection():
        contents = _Contents(file, records)
    if file.kind == "chart":
        types = {fields[0]: fields[1] for _, fields in contents.fields["KTYP"]}
        line_of = {fields[0]: line for line, fields in contents.fields["KONTO"]}
        rows = Rows("code", "name", "type")
        for code, name in contents.names.items():
            rows.add(line_of[code], code, name, types.get(code, ""))
        company = company_in_file(contents.value("ORGNR"), contents.value("FNAMN"))
        return Books(made_table(file, rows, "SIE", encoding=encoding, company=company))
    lines = contents.with_own_date
    notes = [note("date_of_voucher", count=len(lines), lines=lines[:4])] if lines else []
    form = f"SIE {contents.value('SIETYP') or '4'}"
    # An account's postings must have this sum: its closing less its opening balance, or its result.
    opening, closing, results = map(contents.balances, ("IB", "UB", "RES"))
    moved = {code: amount - opening.get(code, Decimal()) for code, amount in closing.items()}
    # Closing balances that all repeat the opening ones say nothing of the postings.
    moved = moved if any(moved.values()) else {}
    return Books(
        made_table(file, contents.postings, form, *notes, encoding=encoding),
        currency=contents.value("VALUTA") or "SEK",
        movements=moved | results,
        exported_at=day_of(contents.value("GEN")),
    )


def _records(file: Source, wanted: frozenset[str], encoding: str | None) -> tuple[str, Iterator[_Record]]:
    """Return the encoding and the wanted records."""
    lines: list[int] = []
    labels: list[str] = []
    read: list[bytes] = []
    for line, data in enumerate(file.data().removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        match = _RECORD.match(data)
        label = (match[1] or match[2]).decode("ascii", "replace").upper() if match else ""
        if match and label in wanted:
            lines.append(line)
            labels.append(label)
            read.append(match[3])
    whole = b"\n".join(read)
    encoding = encoding or _encoding(file, whole, lines)
    try:
        texts = whole.decode(encoding).split("\n")
    except UnicodeDecodeError as error:
        line = lines[whole.count(b"\n", 0, error.start)]
        facts = {"byte": f"{whole[error.start]:02X}", "encoding": encoding, "option": setting("encoding")}
        raise file.error("sie_byte", line, **facts) from None
    return encoding, zip(lines, labels, texts, strict=False)


def _encoding(file: Source, whole: bytes, lines: Sequence[int]) -> str:
    """Return the encoding of the records: UTF-8 where the bytes are, else PC8 (cp437) as the format has it.

    Programs that write Windows' encoding, whatever the file says, are told by their å, ä and ö, which are
    Greek letters in PC8; in UTF-8 no character begins with a byte that is a letter in PC8.
    """
    if is_utf8(whole):
        return "utf-8"
    first_of = {
        name: min((at for letter in letters if (at := whole.find(letter)) >= 0), default=-1)
        for name, letters in _LETTERS.items()
    }
    if min(first_of.values()) >= 0:
        line = lines[whole.count(b"\n", 0, max(first_of.values()))]
        first, second = (setting("encoding", name) for name in _LETTERS)
        raise file.error("sie_encodings", line, first=first, second=second)
    return "cp437" if first_of["cp1252"] < 0 else "cp1252"
