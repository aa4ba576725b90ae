"""GnuCash: its XML file, gzipped or plain.

An account is named by its code, or where it has none by its full name, such as `Assets:Current Assets:Bank`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from bktools.inputs.formats.format import POSTING, File, Format, Ledger, Record, Total
from bktools.inputs.formats.xml_records import from_first_element, records
from bktools.inputs.table import Rows, Table

_RECORDS = frozenset({"gnc:count-data", "gnc:account", "gnc:transaction", "trn:split"})
_SKIPPED = frozenset({"template-transactions", "schedxaction", "pricedb", "budget", "slots"})
_VALUE = re.compile(r"(-?)([0-9]{1,28})/(10{0,9})", re.ASCII)

_DEEPEST = 64


def recognises(file: File) -> bool:
    """Whether the first element is GnuCash's."""
    return from_first_element(file).startswith("<gnc-v2")


def chart(file: File) -> Table:
    """Return all accounts but the root; the external ID is GnuCash's own, which survives a renaming."""
    found = records(file, frozenset({"gnc:account"}), skipped=_SKIPPED | {"transaction"})
    accounts = {account.text("id"): account for account in found}
    rows = Rows("external_id", "code", "name", "type")
    for guid, account in accounts.items():
        if account.text("type") != "ROOT":
            rows.add(
                account.line, guid, _code(accounts, guid, account), account.text("name"), account.text("type")
            )
    return file.table(rows, "is a GnuCash file without accounts", "read as GnuCash")


def ledger(file: File) -> Ledger:
    """Return the splits of all transactions, with their value in the transaction's currency."""
    accounts: dict[str, Record] = {}
    rows = Rows(*POSTING, "amount")
    transactions = 0
    stated: list[Decimal] = []
    for record in records(file, _RECORDS, skipped=_SKIPPED):
        match record.name:
            case "gnc:count-data" if record.text("@type") == "transaction":
                stated = [record.number("", record.name)]
            case "gnc:account":
                accounts[record.text("id")] = record
            case "gnc:transaction":
                transactions += 1
            case "trn:split":
                _add(rows, record, accounts)
    totals = [Total("gnc:count-data transaction", count, Decimal(transactions)) for count in stated]
    return Ledger(
        file.table(rows, "is a GnuCash file without transactions", "read as GnuCash"), totals=totals
    )


def _code(accounts: Mapping[str, Record], guid: str, user: Record) -> str:
    """Return an account's code, or the names from the root down to it where it has none."""
    ancestry: list[Record] = []
    at = guid
    while at or not ancestry:
        account = accounts.get(at)
        if account is None or len(ancestry) == _DEEPEST:
            raise user.error(f"the account {at[:40]!r} is not in the file: save it again in GnuCash")
        ancestry.insert(0, account)
        at = account.text("parent")
    names = (account.text("name") for account in ancestry if account.text("type") != "ROOT")
    return accounts[guid].text("code") or ":".join(names)


def _add(rows: Rows, split: Record, accounts: Mapping[str, Record]) -> None:
    def of_transaction(path: str) -> str:
        return split.text_around("gnc:transaction", path)

    guid = split.text("account")
    rows.add_fields(
        split.line,
        account_code=_code(accounts, guid, split),
        account_name=accounts[guid].text("name"),
        # With the hour and the zone it was entered in, in which it was that day.
        date=of_transaction("date-posted/date")[:10],
        currency=of_transaction("currency/id"),
        text=split.text("memo") or of_transaction("description"),
        document_number=of_transaction("num"),
        voucher_id=of_transaction("id"),
        amount=_decimal(split),
    )


def _decimal(split: Record) -> str:
    value = split.text("value")
    match = _VALUE.fullmatch(value)
    if match is None:
        raise split.error(
            f"split:value is {value[:40]!r}, must be a fraction such as 12050/100: "
            "save the file again in GnuCash"
        )
    sign, digits, denominator = match.groups()
    return f"{sign}{Decimal(digits).scaleb(1 - len(denominator)):f}"


FORMATS = (Format("GnuCash", recognises, chart, ledger),)
