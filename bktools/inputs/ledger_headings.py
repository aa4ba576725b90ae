"""The words that head the columns of general ledgers, per field; data, no rules. See `headings.py`."""

# ruff: noqa: RUF001 - letters of other languages that look like Latin ones are the point

from __future__ import annotations

from bktools.inputs.headings import CODE, ENTRIES, TAX_CODE, Tiers

LEDGER: dict[str, Tiers] = {
    "account_name": (
        """account name | account title | account description | gl account name | ledger name | nominal name | account label
        | kontobezeichnung | kontoname | kontobeschriftung | kontotext | sachkontobezeichnung
        | intitulé du compte | libellé du compte | libellé compte | nom du compte | comptelib | intitulé compte
        | nombre de cuenta | nombre de la cuenta | nombre cuenta | denominación de la cuenta
        | rekeningnaam | grootboekrekeningnaam | grootboeknaam | rekeningomschrijving | naam rekening
        | kontonamn | kontobenämning | kontonavn | nazwa konta | nome conto | denominazione conto | descrizione conto
        | nome da conta | descrição da conta | název účtu | názov účtu | számla neve | denumire cont | tilin nimi
        | hesap adı | nama akun""",
    ),
    "account_code": (
        """account | account code | account number | account no | account nr | account id | gl account | g/l account
        | gl account number | gl code | ledger account | ledger code | nominal code | nominal account | main account
        | konto | kontonummer | konto nr | kontonr | kto nr | sachkonto | sachkontonummer
        | compte | comptenum | numéro de compte | n° compte | n° de compte | compte général | numéro compte
        | cuenta | código de cuenta | cuenta contable | número de cuenta | nº cuenta
        | rekening | rekeningnummer | grootboekrekening | grootboeknummer | rekeningnr
        | kontokod | kontokode | finanskonto | hovedbokskonto | numer konta | nr konta | symbol konta
        | conto | codice conto | numero conto | conta | código da conta | účet | číslo účtu | főkönyvi szám | cont
        | tili | tilinumero | hesap kodu""",
        *CODE,
    ),
    "debit": (
        """debit | debits | debit amount | dr | amount debit
        | soll | sollbetrag | soll betrag | débit | montant débit | debe | importe debe | debet | debetbedrag | debet bedrag
        | dare | importo dare | wn | winien | kwota wn | kwota winien | débito | valor débito | má dáti | md | tartozik
        | debet belopp | debet beløp | borç | дебет""",
    ),
    "credit": (
        """credit | credits | credit amount | cr | amount credit
        | haben | habenbetrag | haben betrag | crédit | montant crédit | haber | importe haber | creditbedrag | credit bedrag
        | avere | importo avere | ma | kwota ma | crédito | valor crédito | dal | követel | kredit | kredit belopp
        | kredit beløp | alacak | кредит""",
    ),
    "side": (
        """d/c | dc | debit/credit | debit credit | dr/cr | drcr | c/d | debit credit indicator | debit credit code
        | s/h | sh | soll/haben | soll haben | soll/haben kennzeichen | soll haben kennzeichen | shkz
        | sens | sens écriture | d/h | debe/haber | debe haber | debet/credit | debetcredit | creditdebet
        | d/k | debet/kredit | debetkredit | dare/avere | d/a | wn/ma | winien/ma | md/d | t/k | b/a | borç/alacak""",
    ),
    "amount": ENTRIES["amount"],
    "date": ENTRIES["date"],
    "currency": ENTRIES["currency"],
    "voucher_id": (
        """voucher | voucher id | voucher no | voucher number | journal entry | journal entry number | journal number
        | journal no | journal id | entry number | entry no | transaction id | transaction no | transaction number | je number
        | ecriturenum | numéro d'écriture | numéro écriture | n° écriture | no écriture
        | asiento | número de asiento | nº asiento | num asiento | n° asiento | póliza
        | boekstuk | boekstuknummer | boekingsnummer | verifikation | verifikationsnummer | ver nr | vernr | verifikat
        | bilag | bilagsnummer | bilagsnr | buchungsnummer | buchungsnr | buchungssatz | journalnummer
        | numer dowodu księgowego | nr zapisu | numero registrazione | n registrazione | tosite | tositenumero | fiş no""",
    ),
    "document_number": (
        """document number | document no | document | doc no | doc number | reference | ref | reference number | invoice number
        | invoice no | belegfeld 1 | belegnummer | beleg nr | belegnr | beleg | rechnungsnummer
        | pieceref | pièce | n° pièce | numéro de pièce | référence | documento | número de documento | nº documento
        | referencia | documentnummer | factuurnummer | referentie | fakturanummer | referens | dokumentnummer
        | numer dokumentu | nr dokumentu | nr dowodu | numero documento | n documento | riferimento | číslo dokladu""",
    ),
    "text": ENTRIES["description"],
    "tax_code": TAX_CODE,
}
