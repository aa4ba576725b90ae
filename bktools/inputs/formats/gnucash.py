"""GnuCash: its XML file, gzipped or plain, and the CSV files that it exports.

An account is named by its code, or where it has none by its full name, such as `Assets:Current Assets:Bank`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.inputs import cells
from bktools.inputs.formats.delimited_text import chosen, has_headings, place_of, required, table_of
from bktools.inputs.formats.format import (
    POSTING,
    Chart,
    File,
    Format,
    Ledger,
    Total,
    headed_by_fields,
)
from bktools.inputs.formats.xml_records import Record, from_first_element, records
from bktools.inputs.table import Rows

_WANTED = {
    "gnc:count-data": frozenset({"", "@type"}),
    "gnc:account": frozenset({"act:name", "act:id", "act:type", "act:code", "act:parent"}),
    "gnc:transaction": frozenset(
        {"trn:id", "trn:num", "trn:description", "trn:currency/cmdty:id", "trn:date-posted/ts:date"}
    ),
    "trn:split": frozenset({"split:memo", "split:value", "split:account"}),
}
_SKIPPED = frozenset(
    {
        "gnc:template-transactions", "gnc:schedxaction", "gnc:pricedb", "gnc:budget", "act:slots", "trn:slots",
        "split:slots", "book:slots",
    }
)  # fmt: skip
_VALUE = re.compile(r"(-?)([0-9]{1,28})/(10{0,9})", re.ASCII)

_DEEPEST = 64

_TRANSACTIONS = frozenset(
    {"transactionid", "fullaccountname", "valuenum", "amountnum", "date", "description", "number"}
)
_TREE = frozenset({"type", "fullaccountname", "fullname", "accountname", "name", "accountcode", "code", "placeholder"})


def recognises(file: File) -> bool:
    """Whether the first element is GnuCash's."""
    return from_first_element(file).startswith("<gnc-v2")


def chart(file: File) -> Chart:
    """Return the accounts but the root; the external ID is GnuCash's own, which stays when an account is renamed."""
    accounts: dict[str, Record] = {}
    rows = Rows("external_id", "code", "name", "type")
    for record in records(file, _WANTED, skipped=_SKIPPED, prefixes=True):
        if record.name == "gnc:account":
            accounts[record.text("act:id")] = record
        elif record.name == "gnc:transaction":
            break
    for guid, account in accounts.items():
        if account.text("act:type") != "ROOT":
            code = _code(accounts, guid, account.line, file)
            rows.add(account.line, guid, code, account.text("act:name"), account.text("act:type"))
    table = file.table(rows, "is a GnuCash file without accounts", "read as GnuCash")
    return Chart(table, headed_by_fields(table))


def ledger(file: File) -> Ledger:
    """Return the splits of all transactions, with their value in the transaction's currency."""
    accounts: dict[str, Record] = {}
    rows = Rows(*POSTING, "amount")
    transactions = 0
    stated: list[Decimal] = []
    for record in records(file, _WANTED, skipped=_SKIPPED, prefixes=True):
        match record.name:
            case "gnc:count-data" if record.text("@type") == "transaction":
                stated = [record.number("", file)]
            case "gnc:account":
                accounts[record.text("act:id")] = record
            case "gnc:transaction":
                transactions += 1
            case "trn:split":
                _add(rows, record, accounts, file)
    totals = [Total("gnc:count-data transaction", count, Decimal(transactions)) for count in stated]
    table = file.table(rows, "is a GnuCash file without transactions", "read as GnuCash")
    return Ledger(table, headed_by_fields(table), totals=totals)


def _code(accounts: Mapping[str, Record], guid: str, line: int, file: File) -> str:
    """Return an account's code, or the names from the root down to it where it has none."""
    names: list[str] = []
    at = guid
    while at:
        account = accounts.get(at)
        if account is None or len(names) == _DEEPEST:
            raise InputError(
                f"the account {at[:40]!r} is not in the file: save it again in GnuCash", source=file.source, line=line
            )
        if account.text("act:type") != "ROOT":
            names.insert(0, account.text("act:name"))
        at = account.text("act:parent")
    return accounts[guid].text("act:code") or ":".join(names)


def _add(rows: Rows, split: Record, accounts: Mapping[str, Record], file: File) -> None:
    guid = split.text("split:account")

    def of_transaction(path: str) -> str:
        return split.text_around("gnc:transaction", path)

    rows.add_fields(
        split.line,
        account_code=_code(accounts, guid, split.line, file),
        account_name=accounts[guid].text("act:name"),
        # With the hour and the zone it was entered in, in which it was that day.
        date=of_transaction("trn:date-posted/ts:date")[:10],
        currency=of_transaction("trn:currency/cmdty:id"),
        text=split.text("split:memo") or of_transaction("trn:description"),
        document_number=of_transaction("trn:num"),
        voucher_id=of_transaction("trn:id"),
        amount=_decimal(split, file),
    )


def _decimal(split: Record, file: File) -> str:
    value = split.text("split:value")
    match = _VALUE.fullmatch(value)
    if match is None:
        raise InputError(
            f"split:value is {value[:40]!r}, must be a fraction such as 12050/100: save the file again in GnuCash",
            source=file.source,
            line=split.line,
        )
    sign, digits, denominator = match.groups()
    return f"{sign}{Decimal(digits).scaleb(1 - len(denominator)):f}"


def recognises_transactions(file: File) -> bool:
    """Whether the headings are those of GnuCash's export of transactions in English."""
    return has_headings(file, "Transaction ID", "Full Account Name", "Value Num.")


def transactions(file: File) -> Ledger:
    """Return the splits of a CSV export; only the first one of a transaction holds its date, number and text."""
    table = table_of(file, _TRANSACTIONS, None)
    own = table.columns[required(table, "Transaction ID")]
    starts = ~cells.blank(own)
    if not starts[0]:
        raise InputError(
            "the first row has no Transaction ID: export it again", source=table.source, line=int(table.lines[0])
        )

    def above(*headings: str) -> pa.ChunkedArray:
        return _from_row_above(table.columns[required(table, *headings)], starts)

    memo, description = table.columns[required(table, "Memo")], above("Description")
    currency = pc.replace_substring_regex(above("Commodity/Currency"), r"^CURRENCY::", "")
    fields: dict[str, pa.ChunkedArray | int] = {
        "account_code": required(table, "Full Account Name"),
        "account_name": required(table, "Account Name"),
        "date": above("Date"),
        "currency": currency,
        "text": pc.if_else(pc.equal(pc.utf8_trim_whitespace(memo), ""), description, memo),
        "document_number": above("Number", "Transaction Number"),
        "voucher_id": above("Transaction ID"),
        "amount": required(table, "Value Num."),
    }
    selected, places = chosen(table, fields, "read as GnuCash's export of transactions")
    return Ledger(selected, places, decimal=None, date_format=None)


def _from_row_above(column: pa.ChunkedArray, starts: npt.NDArray[np.bool_]) -> pa.ChunkedArray:
    """Return cells where an empty one below a row that starts a voucher has the value of that row."""
    at = np.maximum.accumulate(np.where(starts, np.arange(len(starts)), 0))
    above = column.take(pa.array(at))
    empty = pc.equal(pc.utf8_trim_whitespace(column), "")
    return pc.if_else(empty, above, column)


def recognises_tree(file: File) -> bool:
    """Whether the headings are those of GnuCash's export of the account tree."""
    newer = has_headings(file, "Type", "Full Account Name", "Account Code", "Placeholder")
    return newer or has_headings(file, "type", "full_name", "code", "commoditym", "placeholder")


def tree(file: File) -> Chart:
    """Return the accounts of a CSV export of the account tree."""
    table = table_of(file, _TREE, None)
    code, full_name = (
        table.columns[required(table, *names)]
        for names in (("Account Code", "code"), ("Full Account Name", "full_name"))
    )
    fields: dict[str, pa.ChunkedArray | int] = {
        "code": pc.if_else(pc.equal(pc.utf8_trim_whitespace(code), ""), full_name, code),
        "name": required(table, "Account Name", "name"),
        "type": required(table, "Type"),
    }
    hidden = place_of(table, "Hidden")
    if hidden is not None:
        fields["archived"] = hidden
    return Chart(*chosen(table, fields, "read as GnuCash's export of the account tree"))


FORMATS = (
    Format("GnuCash", recognises, chart, ledger),
    Format(
        "GnuCash transactions",
        recognises_transactions,
        "is GnuCash's export of transactions: for a chart, export the account tree, or read the GnuCash file itself",
        transactions,
    ),
    Format(
        "GnuCash account tree",
        recognises_tree,
        tree,
        "is GnuCash's export of the account tree: for the ledger, export the transactions, or read the GnuCash file itself",
    ),
)
