"""SIE 4, the exchange format of Swedish bookkeeping: `#LABEL` and fields on each line, vouchers in braces.

An amount is positive for debit. `#RTRANS` is a posting that was added later; the same posting follows as
`#TRANS`, for programs that do not know it, and counts once. `#BTRANS` is a posting that was struck out, and
does not count.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import setting
from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs import cells
from bktools.inputs.encoding import read_text, utf8_error
from bktools.inputs.formats.format import NUMBER, File, Format, Ledger, company_in_file, day_of, is_number
from bktools.inputs.notes import Note, note
from bktools.inputs.table import Mask, Rows, Table

_FIRST = re.compile(r"\s*#(?:FLAGGA|PROGRAM|FORMAT|GEN|SIETYP)\s", re.IGNORECASE)
_THIS_YEAR = "0"
# The objects of a posting are pairs of a dimension and a number; the dimension 1 has cost centres.
_OBJECT = re.compile(r'"?(\d+)"?\s+("[^"]*"|\S+)')
_COST_CENTRE = "1"
# The file's checksum, and balances of objects such as cost centres.
_UNVERIFIED = ("KSUMMA", "OIB", "OUB")
_POSTED = ("TRANS", "RTRANS")
# Records that are read. Others, such as where the program keeps its files, may be in another encoding.
_READ = frozenset(
    (
        *("KONTO", "KTYP", "VER", "IB", "UB", "RES", "SIETYP", "VALUTA", "ORGNR", "FNAMN", "GEN", "{", "}"),
        *(*_POSTED, *_UNVERIFIED),
    )
)
_LABEL = re.compile(rb'#([^\s"{}]+)|([{}])\Z')
_LONGEST_LABEL = 10
# A field in quotes, in braces, or bare; the last group is a quote or a brace that is not closed.
_FIELD = re.compile(r'"((?:\\"|[^"])*)"|\{([^{}]*)\}|([^\s"{}]+)|(["{}])')
# The same for Arrow, with its quotes and braces.
_ONE_FIELD = r'(?:"(?:\\"|[^"])*"|\{[^{}]*\}|[^\s"{}]+)'
_SPACED = r"\s+"
_OF_VOUCHER = ("series", "number", "date", "text")
_OF_POSTING = ("account", "objects", "amount", "date", "text", "quantity", "sign")
# The bytes for å, ä, ö, é in Windows' encoding, and in the format's own, PC8.
_IN_WINDOWS = tuple(b"\xe5\xe4\xf6\xe9\xc5\xc4\xd6\xc9")
_IN_PC8 = tuple(b"\x86\x84\x94\x82\x8f\x8e\x99\x90")
_SPACE = pa.scalar(" ", schema.TEXT)

Texts: TypeAlias = pa.Array


class _Records(NamedTuple):
    """The records that are read: for each the line it is on, its label in capitals, and its text."""

    file: File
    encoding: str
    lines: Sequence[int]
    labels: Sequence[str]
    texts: Sequence[str]
    # The places of the records by label.
    places: Mapping[str, Sequence[int]]

    def fields(self, at: int) -> list[str]:
        """Return the fields of a record."""
        fields = _FIELD.findall(self.texts[at])
        if any(unclosed for *_, unclosed in fields):
            raise self.error(at, "a quote or a brace is not closed: export the file again, or close it")
        return [quoted.replace('\\"', '"') or braces or bare for quoted, braces, bare, _ in fields[1:]]

    def of(self, label: str) -> Iterator[list[str]]:
        """Yield the fields of each record of a label; those that a record lacks are empty."""
        return ([*self.fields(at), *[""] * len(_OF_POSTING)] for at in self.places.get(label, ()))

    def value(self, label: str) -> str:
        """Return the first field of the last record of a label, empty without one."""
        return ["", *(fields[0] for fields in self.of(label))][-1]

    def columns(self, places: Sequence[int], names: Sequence[str]) -> dict[str, Texts]:
        """Return fields of records as columns by the names of their places."""
        texts = pa.array([self.texts[at] for at in places], schema.TEXT)
        fields = "".join(f"(?:{_SPACED}(?P<{name}>{_ONE_FIELD})" for name in names) + ")?" * len(names)
        parts = pc.extract_regex(texts, rf"^\s*#\S+{fields}(?:{_SPACED}{_ONE_FIELD})*\s*$")
        columns = {name: _bare(pc.struct_field(parts, name)) for name in names}
        # Fields without white space between them, and quotes that are not closed.
        others = np.flatnonzero(pc.is_null(parts)).tolist()
        if others:
            rows = [[*self.fields(places[row]), *[""] * len(names)] for row in others]
            flags = np.zeros(len(places), dtype=bool)
            flags[others] = True
            for name, values in zip(names, zip(*rows, strict=False), strict=False):
                columns[name] = pc.replace_with_mask(
                    columns[name], pa.array(flags), pa.array(values, schema.TEXT)
                )
        return columns

    def error(self, at: int, why: str) -> InputError:
        """Return an error that names the line of a record."""
        return self.file.error(why, line=self.lines[at])


def _bare(fields: Texts) -> Texts:
    """Return fields without the quotes or braces around them."""
    inside = pc.replace_substring_regex(fields, r'(?s)^["{](.*)["}]$', r"\1")
    bare: Texts = pc.fill_null(pc.replace_substring(inside, '\\"', '"'), "")
    return bare


def recognises(file: File) -> bool:
    """Whether a file begins with the records that every SIE file begins with."""
    return _FIRST.match(file.text) is not None


def chart(file: File) -> Table:
    """Return the accounts (`#KONTO`) with their type (`#KTYP`)."""
    records = _records(file)
    types = {code: kind for code, kind, *_ in records.of("KTYP")}
    named = zip(records.places.get("KONTO", ()), records.of("KONTO"), strict=True)
    accounts = {code: (at, name) for at, (code, name, *_) in named}
    rows = Rows("code", "name", "type")
    for code, (at, name) in accounts.items():
        rows.add(records.lines[at], code, name, types.get(code, ""))
    company = company_in_file(records.value("ORGNR"), records.value("FNAMN"))
    nothing = "is a SIE file without accounts (#KONTO)"
    return file.table(rows, nothing, note("format", name="SIE"), encoding=records.encoding, company=company)


def ledger(file: File) -> Ledger:
    """Return the postings of all vouchers, and the movement of each account by its balances of the year."""
    records = _records(file)
    kind = records.value("SIETYP")
    postings, vouchers = _postings(records)
    if not postings:
        raise file.error(
            f"is a SIE file of type {kind or 'unknown'} without vouchers (#VER): export it as SIE type 4, "
            "with transactions"
        )
    table = _posted(records, postings, vouchers, note("format", name=f"SIE type {kind or '4'}"))
    opening, closing, results = (_balances(records, label) for label in ("IB", "UB", "RES"))
    # An account's postings must have this sum: its closing less its opening balance, or its result.
    movements = {code: amount - opening.get(code, Decimal()) for code, amount in closing.items()}
    currency = records.value("VALUTA") or "SEK"
    return Ledger(
        table,
        date_format="%Y%m%d",
        currency=currency,
        movements=movements | results,
        exported_at=day_of(records.value("GEN")),
    )


def _postings(records: _Records) -> tuple[list[int], list[int]]:
    """Return the places of the postings, and beside each that of its voucher."""
    postings: list[int] = []
    vouchers: list[int] = []
    voucher = opened = -1
    for at, label in enumerate(records.labels):
        if label in _POSTED:
            if opened < 0:
                raise records.error(at, f"#{label} is in no voucher (#VER and braces): export the file again")
            postings.append(at)
            vouchers.append(opened)
        elif label == "{":
            opened = voucher
        elif label == "}":
            voucher = opened = -1
        elif label == "VER":
            if opened >= 0:
                break
            voucher = at
    if opened >= 0:
        raise records.error(
            opened, "the voucher that starts here is not closed by }: the file is cut off, export it again"
        )
    return postings, vouchers


def _posted(records: _Records, postings: Sequence[int], vouchers: Sequence[int], form: Note) -> Table:
    """Return the table of the postings, each with what its voucher says."""
    own = records.columns(postings, _OF_POSTING)
    for wrong in np.flatnonzero(~cells.matches(own["amount"], rf"^{NUMBER}\z")).tolist():
        _amount(records, postings[wrong], own["amount"][wrong].as_py())
    of_voucher = [*dict.fromkeys(vouchers)]
    row = np.searchsorted(of_voucher, vouchers)
    whole = {name: column.take(row) for name, column in records.columns(of_voucher, _OF_VOUCHER).items()}
    # A program that leaves the numbering to the one that imports the file writes no number.
    lines = pa.array([f"(line {records.lines[at]})" for at in vouchers], schema.TEXT)
    number = pc.if_else(pc.equal(whole["number"], ""), lines, whole["number"])
    names = {code: name for code, name, *_ in records.of("KONTO")}
    fields = {
        "account_code": own["account"],
        "account_name": pa.array(map(names.get, own["account"].to_pylist()), schema.TEXT).fill_null(""),
        "date": whole["date"],
        "text": pc.if_else(pc.equal(own["text"], ""), whole["text"], own["text"]),
        "voucher_id": cells.trimmed(pc.binary_join_element_wise(whole["series"], number, _SPACE)),
        "cost_centre": _cost_centres(own["objects"]),
        "amount": own["amount"],
    }
    unverified = [f"#{label}" for label in _UNVERIFIED if label in records.places]
    table = Table(
        records.file.source,
        tuple(fields),
        [pa.chunked_array([column]) for column in fields.values()],
        np.array([records.lines[at] for at in postings], dtype=np.int64),
        0,
        encoding=records.encoding,
        sha256=records.file.sha256,
        places={name: place for place, name in enumerate(fields)},
    )
    apart = cells.mask(pc.and_(pc.not_equal(own["date"], ""), pc.not_equal(own["date"], whole["date"])))
    notes = [form, *([note("not_verified", names=unverified)] if unverified else [])]
    is_repetition = _repeat(records, postings, vouchers, own)
    notes += cells.noted(table, "date_of_voucher", apart & ~is_repetition)
    return replace(table, notes=tuple(notes)).rows(~is_repetition)


def _cost_centres(objects: Texts) -> Texts:
    encoded = pc.dictionary_encode(objects)
    numbers = [dict(_OBJECT.findall(text)).get(_COST_CENTRE, "") for text in encoded.dictionary.to_pylist()]
    centres: Texts = pa.array([number.strip('"') for number in numbers], schema.TEXT).take(encoded.indices)
    return centres


def _repeat(
    records: _Records, postings: Sequence[int], vouchers: Sequence[int], own: Mapping[str, Texts]
) -> Mask:
    """Return which postings repeat added ones: those behind them with their account, objects and amount.

    Dates, texts and signatures differ where a program writes them for one of the two alone.
    """
    repeated = np.zeros(len(postings), dtype=bool)
    if "RTRANS" not in records.places:
        return repeated
    # Added postings whose repetition has not come yet.
    waiting: Counter[tuple[object, ...]] = Counter()
    columns = (own[name].to_pylist() for name in ("account", "objects", "amount"))
    rows = zip(postings, vouchers, *columns, strict=True)
    for row, (at, voucher, account, objects, amount) in enumerate(rows):
        posting = (voucher, account, *objects.replace('"', " ").split(), Decimal(amount))
        if records.labels[at] == "RTRANS":
            waiting[posting] += 1
        elif waiting[posting]:
            repeated[row] = True
            waiting[posting] -= 1
        else:
            waiting.clear()
    return repeated


def _balances(records: _Records, label: str) -> dict[str, Decimal]:
    stated = zip(records.places.get(label, ()), records.of(label), strict=True)
    return {
        account: _amount(records, at, amount)
        for at, (year, account, amount, *_) in stated
        if year == _THIS_YEAR
    }


def _amount(records: _Records, at: int, amount: str) -> Decimal:
    if not is_number(amount):
        raise records.error(at, f"#{records.labels[at]} is {amount[:40]!r}, must be a number such as 1234.50")
    return Decimal(amount)


def _records(file: File) -> _Records:
    """Return the records of a file that are read."""
    lines: list[int] = []
    labels: list[str] = []
    read: list[bytes] = []
    places: dict[str, list[int]] = {}
    label_of: dict[bytes, str] = {}
    for line, data in enumerate(file.data().removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        words = data.split(None, 1)
        word = words[0] if words else b""
        label = label_of.get(word)
        if label is None:
            label = label_of[word[:_LONGEST_LABEL]] = _label(word)
        if label and (label[0] not in "{}" or len(words) == 1):
            places.setdefault(label, []).append(len(lines))
            lines.append(line)
            labels.append(label)
            read.append(data.rstrip(b"\r"))
    whole = b"\n".join(read)
    encoding = _encoding(file, whole, lines)
    try:
        texts = whole.decode(encoding).split("\n")
    except UnicodeDecodeError as error:
        line = lines[whole.count(b"\n", 0, error.start)]
        why = f"byte 0x{whole[error.start]:02X} is not valid {encoding}; set {setting('encoding')}"
        raise file.error(why, line=line) from None
    return _Records(file, encoding, lines, labels, texts, places)


def _label(word: bytes) -> str:
    """Return the label that the first word of a line begins with, none for a record that is not read."""
    match = _LABEL.match(word)
    label = (match[1] or match[2]).decode("ascii", errors="replace").upper() if match else ""
    return label if label in _READ else ""


def _encoding(file: File, whole: bytes, lines: Sequence[int]) -> str:
    """Return the encoding of the records: UTF-8 where the bytes are, else PC8 (cp437) as the format has it.

    Programs that write Windows' encoding, whatever the file says, are told by their å, ä and ö, which are
    Greek letters in PC8; in UTF-8 no character begins with a byte that is a letter in PC8.
    """
    if file.encoding is not None:
        return read_text(b"", file.encoding, file.source, lambda _: set()).encoding
    if utf8_error(whole) is None:
        return "utf-8"
    first_of = {
        name: min((at for letter in letters if (at := whole.find(letter)) >= 0), default=None)
        for name, letters in (("cp1252", _IN_WINDOWS), ("cp437", _IN_PC8))
    }
    if None not in first_of.values():
        at = max(at for at in first_of.values() if at is not None)
        raise file.error(
            f"holds letters of two encodings: choose one with {setting('encoding', 'cp437')} or"
            f" {setting('encoding', 'cp1252')}",
            line=lines[whole.count(b"\n", 0, at)],
        )
    return "cp437" if first_of["cp1252"] is None else "cp1252"


FORMATS = (Format("SIE", recognises, chart, ledger),)
