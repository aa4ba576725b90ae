"""JPK_KR, the audit file of Polish ledgers: accounts with their balances, a journal of vouchers, and their postings."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from bktools.errors import InputError
from bktools.inputs.formats.format import POSTING, Chart, File, Format, Ledger, Total, headed_by_fields
from bktools.inputs.formats.xml_records import Record, from_first_element, records
from bktools.inputs.table import Rows

_SIDES = {"Winien": "debit", "Ma": "credit"}
_WANTED = {
    "Naglowek": frozenset({"DomyslnyKodWaluty"}),
    "ZOiS": frozenset({"KodKonta", "OpisKonta", "TypKonta"}),
    "Dziennik": frozenset(
        {"NrZapisuDziennika", "NrDowoduKsiegowego", "DataOperacji", "OpisOperacji", "DziennikKwotaOperacji"}
    ),
    "DziennikCtrl": frozenset({"LiczbaWierszyDziennika", "SumaKwotOperacji"}),
    "KontoZapis": frozenset(
        {"NrZapisu"} | {f"{name}{side}" for name in ("KodKonta", "Kwota", "OpisZapisu") for side in _SIDES}
    ),
    "KontoZapisCtrl": frozenset({"LiczbaWierszyKontoZapisj", "SumaWinien", "SumaMa"}),
}


def recognises(file: File) -> bool:
    """Whether it is a JPK of ledgers in its first edition; JPK_KR_PD has other elements."""
    return from_first_element(file).startswith("<JPK") and 'kodSystemowy="JPK_KR (' in file.text


def chart(file: File) -> Chart:
    """Return the accounts of the statement of balances (ZOiS)."""
    rows = Rows("code", "name", "type")
    for record in records(file, {"ZOiS": _WANTED["ZOiS"]}):
        rows.add(record.line, record.text("KodKonta"), record.text("OpisKonta"), record.text("TypKonta"))
    table = file.table(rows, "is a JPK_KR file without accounts (ZOiS): export it whole", "read as JPK_KR")
    return Chart(table, headed_by_fields(table))


def ledger(file: File) -> Ledger:
    """Return the postings (KontoZapis) with the date, document and text of their voucher (Dziennik)."""
    names: dict[str, str] = {}
    vouchers: dict[str, Record] = {}
    rows = Rows(*POSTING, "debit", "credit")
    currency = "PLN"
    journal_sum, journal_rows, lines = Decimal(), 0, 0
    totals: list[Total] = []
    for record in records(file, _WANTED):
        match record.name:
            case "Naglowek":
                currency = record.text("DomyslnyKodWaluty") or currency
            case "ZOiS":
                names[record.text("KodKonta")] = record.text("OpisKonta")
            case "Dziennik":
                journal_rows += 1
                journal_sum += record.number("DziennikKwotaOperacji", file)
                vouchers[record.text("NrZapisuDziennika")] = record
            case "KontoZapis":
                lines += 1
                _add(rows, record, vouchers, names, file)
            case "DziennikCtrl":
                totals += _totals(
                    record, file, LiczbaWierszyDziennika=Decimal(journal_rows), SumaKwotOperacji=journal_sum
                )
            case "KontoZapisCtrl":
                totals += _totals(
                    record, file, LiczbaWierszyKontoZapisj=Decimal(lines), SumaWinien="debit", SumaMa="credit"
                )
    table = file.table(rows, "is a JPK_KR file without postings (KontoZapis): export it whole", "read as JPK_KR")
    return Ledger(table, headed_by_fields(table), currency=currency, totals=totals)


def _totals(record: Record, file: File, **counted: str | Decimal) -> list[Total]:
    return [Total(name, record.number(name, file), value) for name, value in counted.items()]


def _add(rows: Rows, record: Record, vouchers: Mapping[str, Record], names: Mapping[str, str], file: File) -> None:
    number = record.text("NrZapisu")
    voucher = vouchers.get(number)
    if voucher is None:
        raise InputError(
            f"NrZapisu {number[:40]!r} is not in the journal (Dziennik), so that its date is unknown: export the file whole",
            source=file.source,
            line=record.line,
        )
    for side, column in _SIDES.items():
        amount, account = record.text(f"Kwota{side}"), record.text(f"KodKonta{side}")
        # A posting has two sides, and a filler stands where it has one alone.
        if amount and (account in names or record.number(f"Kwota{side}", file)):
            rows.add_fields(
                record.line,
                account_code=account,
                account_name=names.get(account, ""),
                date=voucher.text("DataOperacji"),
                text=record.text(f"OpisZapisu{side}") or voucher.text("OpisOperacji"),
                document_number=voucher.text("NrDowoduKsiegowego"),
                voucher_id=number,
                **{column: amount},
            )


FORMATS = (Format("JPK_KR", recognises, chart, ledger),)
