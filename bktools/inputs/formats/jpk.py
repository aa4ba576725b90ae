"""JPK_KR, the audit file of Polish ledgers: accounts with balances, a journal of vouchers, postings."""

from __future__ import annotations

from decimal import Decimal

from bktools.inputs.formats.format import POSTING, Books, Total, made_table
from bktools.inputs.formats.xml_records import Record, records
from bktools.inputs.raw.source import Source
from bktools.inputs.table import Rows

_SIDES = {"Winien": "debit", "Ma": "credit"}
_RECORDS = frozenset({"Naglowek", "ZOiS", "Dziennik", "DziennikCtrl", "KontoZapis", "KontoZapisCtrl"})


def recognises(file: Source) -> bool:
    """Whether a file is a JPK of ledgers in its first edition; JPK_KR_PD has other elements."""
    return file.first_element.startswith("<JPK") and 'kodSystemowy="JPK_KR (' in file.text


def read(file: Source, encoding: str | None) -> Books:
    """Return the accounts (ZOiS), or the postings (KontoZapis) with what their voucher (Dziennik) says."""
    accounts, postings = Rows("code", "name", "type"), Rows(*POSTING, "debit", "credit")
    names: dict[str, str] = {}
    vouchers: dict[str, dict[str, str]] = {}
    currency = "PLN"
    journal_sum, journal_rows, lines = Decimal(), 0, 0
    totals: list[Total] = []
    for record in records(file, encoding, _RECORDS):
        match record.name:
            case "Naglowek":
                currency = record.text("DomyslnyKodWaluty") or currency
            case "ZOiS":
                code, names[code], account_type = map(record.text, ("KodKonta", "OpisKonta", "TypKonta"))
                accounts.add(record.line, code, names[code], account_type)
            case "Dziennik":
                journal_rows += 1
                journal_sum += record.number("DziennikKwotaOperacji")
                vouchers[record.text("NrZapisuDziennika")] = {
                    "date": record.text("DataOperacji"),
                    "text": record.text("OpisOperacji"),
                    "document_number": record.text("NrDowoduKsiegowego"),
                }
            case "KontoZapis":
                lines += 1
                _add(postings, record, vouchers, names)
            case "DziennikCtrl":
                counted = Decimal(journal_rows)
                totals += record.totals(LiczbaWierszyDziennika=counted, SumaKwotOperacji=journal_sum)
            case "KontoZapisCtrl":
                counted = Decimal(lines)
                sides = {"SumaWinien": "debit", "SumaMa": "credit"}
                totals += record.totals(LiczbaWierszyKontoZapisj=counted, **sides)
    table = made_table(file, accounts if file.kind == "chart" else postings, "JPK_KR")
    return Books(table, currency=currency, totals=totals)


def _add(rows: Rows, record: Record, vouchers: dict[str, dict[str, str]], names: dict[str, str]) -> None:
    number = record.text("NrZapisu")
    voucher = vouchers.get(number)
    if voucher is None:
        raise record.error("jpk_voucher", value=number[:40])
    for side, column in _SIDES.items():
        account, amount = record.text(f"KodKonta{side}"), record.text(f"Kwota{side}")
        # A posting has two sides, and a filler stands where it has one alone.
        if amount and (account in names or record.number(f"Kwota{side}")):
            own = {"account_code": account, "account_name": names.get(account, ""), "voucher_id": number}
            own |= {"text": record.text(f"OpisZapisu{side}") or voucher["text"], column: amount}
            rows.add_fields(record.line, **voucher | own)
