"""JPK_KR, the audit file of Polish ledgers: accounts with balances, a journal of vouchers, postings."""

from __future__ import annotations

from decimal import Decimal

from bktools.inputs.formats.format import POSTING, File, Format, Ledger, Record, Total
from bktools.inputs.formats.xml_records import from_first_element, records
from bktools.inputs.notes import note
from bktools.inputs.table import Rows, Table

_SIDES = {"Winien": "debit", "Ma": "credit"}
_RECORDS = frozenset({"Naglowek", "ZOiS", "Dziennik", "DziennikCtrl", "KontoZapis", "KontoZapisCtrl"})


def recognises(file: File) -> bool:
    """Whether a file is a JPK of ledgers in its first edition; JPK_KR_PD has other elements."""
    return from_first_element(file).startswith("<JPK") and 'kodSystemowy="JPK_KR (' in file.text


def chart(file: File) -> Table:
    """Return the accounts of the statement of balances (ZOiS)."""
    rows = Rows("code", "name", "type")
    for record in records(file, frozenset({"ZOiS"})):
        rows.add(record.line, record.text("KodKonta"), record.text("OpisKonta"), record.text("TypKonta"))
    return file.table(
        rows, "is a JPK_KR file without accounts (ZOiS): export it whole", note("format", name="JPK_KR")
    )


def ledger(file: File) -> Ledger:
    """Return the postings (KontoZapis) with the date, document and text of their voucher (Dziennik)."""
    names: dict[str, str] = {}
    vouchers: dict[str, dict[str, str]] = {}
    rows = Rows(*POSTING, "debit", "credit")
    currency = "PLN"
    journal_sum, journal_rows, lines = Decimal(), 0, 0
    totals: list[Total] = []
    for record in records(file, _RECORDS):
        match record.name:
            case "Naglowek":
                currency = record.text("DomyslnyKodWaluty") or currency
            case "ZOiS":
                names[record.text("KodKonta")] = record.text("OpisKonta")
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
                _add(rows, record, vouchers, names)
            case "DziennikCtrl":
                totals += record.totals(
                    LiczbaWierszyDziennika=Decimal(journal_rows), SumaKwotOperacji=journal_sum
                )
            case "KontoZapisCtrl":
                totals += record.totals(
                    LiczbaWierszyKontoZapisj=Decimal(lines), SumaWinien="debit", SumaMa="credit"
                )
    nothing = "is a JPK_KR file without postings (KontoZapis): export it whole"
    return Ledger(file.table(rows, nothing, note("format", name="JPK_KR")), currency=currency, totals=totals)


def _add(rows: Rows, record: Record, vouchers: dict[str, dict[str, str]], names: dict[str, str]) -> None:
    number = record.text("NrZapisu")
    voucher = vouchers.get(number)
    if voucher is None:
        raise record.error(
            f"NrZapisu {number[:40]!r} is not in the journal (Dziennik), so that its date is unknown: "
            "export the file whole"
        )
    for side, column in _SIDES.items():
        account = record.text(f"KodKonta{side}")
        # A posting has two sides, and a filler stands where it has one alone.
        if record.text(f"Kwota{side}") and (account in names or record.number(f"Kwota{side}")):
            own = {"account_code": account, "account_name": names.get(account, ""), "voucher_id": number}
            own |= {
                "text": record.text(f"OpisZapisu{side}") or voucher["text"],
                column: record.text(f"Kwota{side}"),
            }
            rows.add_fields(record.line, **voucher | own)


FORMATS = (Format("JPK_KR", recognises, chart, ledger),)
