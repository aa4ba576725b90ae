"""SIE 4, the exchange format of Swedish bookkeeping: `#LABEL` and its fields, a record a line, vouchers in braces.

An amount is positive for debit. `#RTRANS` is a posting that was added later; the same posting follows as `#TRANS`, for
programs that do not know it, and counts once. `#BTRANS` is a posting that was struck out, and does not count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from bktools.caller import setting
from bktools.inputs.encoding import to_utf8, utf8_error
from bktools.inputs.formats.format import POSTING, File, Format, Ledger, Record, company_in_file
from bktools.inputs.table import Rows, Table

_FIRST = re.compile(r"\s*#(?:FLAGGA|PROGRAM|FORMAT|GEN|SIETYP)\s", re.IGNORECASE)
_FIELD = re.compile(r'\s*(?:"((?:\\"|[^"])*)"|\{([^{}]*)\}|([^\s"{}]+))')
_THIS_YEAR = "0"
# The objects of a posting are pairs of a dimension and a number; the dimension 1 has cost centres.
_OBJECT = re.compile(r'"?(\d+)"?\s+("[^"]*"|\S+)')
_COST_CENTRE = "1"
# The file's checksum, and balances of objects such as cost centres.
_UNVERIFIED = ("KSUMMA", "OIB", "OUB")
# Fields of the records that are read. Others, such as where the program keeps its files, may be in another encoding.
_FIELDS = {
    "KONTO": ("account", "name"),
    "KTYP": ("account", "type"),
    "VER": ("series", "number", "date", "text"),
    **dict.fromkeys(("TRANS", "RTRANS"), ("account", "objects", "amount", "date", "text", "quantity", "sign")),
    **dict.fromkeys(("IB", "UB", "RES"), ("year", "account", "amount")),
    **dict.fromkeys(("SIETYP", "VALUTA", "ORGNR", "FNAMN"), ("value",)),
    **dict.fromkeys(("{", "}", *_UNVERIFIED), ()),
}
_RECORD = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:#([^\s\"{}]+)|([{}])\s*\Z)")
# What programs write for å, ä, ö, é in Windows' encoding, and in the one of the format, PC8.
_IN_WINDOWS = frozenset(b"\xe5\xe4\xf6\xe9\xc5\xc4\xd6\xc9")
_IN_PC8 = frozenset(b"\x86\x84\x94\x82\x8f\x8e\x99\x90")


def recognises(file: File) -> bool:
    """Whether it begins with the records that every SIE file begins with."""
    return _FIRST.match(file.text) is not None


def chart(file: File) -> Table:
    """Return the accounts (`#KONTO`) with their type (`#KTYP`)."""
    encoding, records = _records(file)
    accounts = {record.text("account"): record for record in records if record.name == "KONTO"}
    types = {record.text("account"): record.text("type") for record in records if record.name == "KTYP"}
    rows = Rows("code", "name", "type")
    for code, record in accounts.items():
        rows.add(record.line, code, record.text("name"), types.get(code, ""))
    company = company_in_file(_last(records, "ORGNR"), _last(records, "FNAMN"))
    nothing = "is a SIE file without accounts (#KONTO)"
    return file.table(rows, nothing, "read as SIE", encoding=encoding, company=company)


def ledger(file: File) -> Ledger:
    """Return the postings of all vouchers, and the movement of each account by its balances of the year."""
    encoding, records = _records(file)
    names = {record.text("account"): record.text("name") for record in records if record.name == "KONTO"}
    rows = Rows(*POSTING, "amount")
    voucher = opened = None
    repeated: dict[str, str] = {}
    for record in records:
        match record.name:
            case "VER":
                if opened:
                    break
                voucher = record
            case "{":
                opened = voucher
            case "}":
                voucher = opened = None
            case "RTRANS" | "TRANS" if record.name == "RTRANS" or record.texts != repeated:
                _post(rows, record, opened, names)
        repeated = record.texts if record.name == "RTRANS" else {}
    if opened:
        raise opened.error("the voucher that starts here is not closed by }: the file is cut off, export it again")
    kind = _last(records, "SIETYP")
    nothing = (
        f"is a SIE file of type {kind or 'unknown'} without vouchers (#VER): export it as SIE type 4, with transactions"
    )
    labels = {record.name for record in records}
    unverified = ", ".join(f"#{label}" for label in _UNVERIFIED if label in labels)
    notes = [f"read as SIE type {kind or '4'}", *[f"not verified: {unverified} of the file"] * bool(unverified)]
    opening, closing, results = (_balances(records, label) for label in ("IB", "UB", "RES"))
    # The sum that the postings of an account must have is its closing less its opening balance, or its result.
    movements = {code: amount - opening.get(code, Decimal()) for code, amount in closing.items()}
    return Ledger(
        file.table(rows, nothing, *notes, encoding=encoding),
        date_format="%Y%m%d",
        currency=_last(records, "VALUTA") or "SEK",
        movements=movements | results,
    )


def _last(records: Sequence[Record], label: str) -> str:
    return next((record.text("value") for record in reversed(records) if record.name == label), "")


def _balances(records: Sequence[Record], label: str) -> dict[str, Decimal]:
    of_year = (record for record in records if record.name == label and record.text("year") == _THIS_YEAR)
    return {record.text("account"): record.number("amount", f"#{label}") for record in of_year}


def _post(rows: Rows, record: Record, voucher: Record | None, names: Mapping[str, str]) -> None:
    if voucher is None:
        raise record.error(f"#{record.name} is in no voucher (#VER and braces): export the file again")
    # A program that leaves the numbering to the one that imports the file writes no number.
    number = voucher.text("number") or f"(line {voucher.line})"
    rows.add_fields(
        record.line,
        account_code=record.text("account"),
        account_name=names.get(record.text("account"), ""),
        date=voucher.text("date"),
        text=record.text("text") or voucher.text("text"),
        voucher_id=f"{voucher.text('series')} {number}".strip(),
        amount=str(record.number("amount", f"#{record.name}")),
        cost_centre=dict(_OBJECT.findall(record.text("objects"))).get(_COST_CENTRE, "").strip('"'),
    )


def _records(file: File) -> tuple[str, list[Record]]:
    """Return the encoding of a file, and those of its records that are read."""
    lines = []
    for line, data in file.lines():
        match = _RECORD.match(data)
        label = (match[1] or match[2]).decode("ascii", errors="replace").upper() if match else ""
        if label in _FIELDS:
            lines.append((Record(label, file.source, line, {}), data))
    encoding = _encoding(file, lines)
    for record, data in lines:
        try:
            text = data.decode(encoding).strip()
        except UnicodeDecodeError as error:
            raise record.error(
                f"byte 0x{data[error.start]:02X} is not valid {encoding}; set {setting('encoding')}"
            ) from None
        if text.startswith("#"):
            record.texts.update(zip(_FIELDS[record.name], _fields(text, record)[1:], strict=False))
    return encoding, [record for record, _ in lines]


def _fields(text: str, record: Record) -> list[str]:
    matches = list(_FIELD.finditer(text))
    if sum(len(match[0]) for match in matches) < len(text):
        raise record.error("a quote or a brace is not closed: export the file again, or close it")
    return [match[match.lastindex or 0].replace('\\"', '"') for match in matches]


def _encoding(file: File, lines: Sequence[tuple[Record, bytes]]) -> str:
    """Return the encoding: UTF-8 where the bytes are, else PC8 (cp437) as the format has it.

    Programs that write Windows' encoding, whatever the file says, are told by their å, ä and ö, which are Greek letters
    in PC8; in UTF-8 no character begins with a byte that is a letter in PC8.
    """
    if file.encoding is not None:
        return to_utf8(b"", file.encoding, file.source)[1]
    if utf8_error(b"\n".join(data for _, data in lines)) is None:
        return "utf-8-sig"
    seen: set[int] = set()
    for record, data in lines:
        seen |= {*data}
        if seen & _IN_WINDOWS and seen & _IN_PC8:
            raise record.error(
                f"holds letters of two encodings: choose one with {setting('encoding', 'cp437')} or"
                f" {setting('encoding', 'cp1252')}"
            )
    return "cp1252" if seen & _IN_WINDOWS else "cp437"


FORMATS = (Format("SIE", recognises, chart, ledger),)
