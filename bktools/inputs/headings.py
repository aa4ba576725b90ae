"""The words that head the columns of ERP files, per field; data, no rules.

Each field has tiers of words from the most to the least telling: a later tier counts only where the file has no word of
an earlier one. Words are written as people write them, divided by `|`, a line per language or so; `columns.py` compares
them without case, spaces and punctuation. No word heads two fields of one kind of file.
"""

# ruff: noqa: RUF001 - the letters of the languages are meant

from __future__ import annotations

Tiers = tuple[str, ...]

# What a row of sums says, as `columns.normal` makes it.
TOTALS = frozenset(
    [
        "total",
        "totals",
        "grandtotal",
        "sum",
        "summe",
        "gesamt",
        "gesamtsumme",
        "somme",
        "totale",
        "totaal",
        "suma",
        "sumatotal",
        "totalgeneral",
        "totalgeral",
        "subtotal",
        "zwischensumme",
        "soustotal",
        "subtotale",
        "subtotaal",
        "razem",
        "ogolem",
        "celkem",
        "spolu",
        "osszesen",
        "toplam",
        "geneltoplam",
        "συνολο",
        "итого",
        "всего",
        "усього",
        "общо",
        "ukupno",
        "skupaj",
        "kokku",
        "kopa",
        "isviso",
        "yhteensa",
        "totalt",
        "ialt",
        "samtals",
        "合計",
        "合计",
        "總計",
        "총계",
        "합계",
        "รวม",
        "jumlah",
    ]
)

COMPANY_ID: Tiers = ("company id | company uuid | companyId | firmen id | company identifier",)

ARCHIVED: Tiers = (
    """archived | is archived | inactive | inactive account | is inactive | blocked | disabled | deleted | hidden | closed
    | archiviert | gesperrt | inaktiv | gelöscht | stillgelegt | deaktiviert | sperre | sperrkennzeichen
    | archivé | inactif | bloqué | désactivé | fermé | en sommeil | clôturé
    | archivado | inactivo | bloqueado | desactivado | cerrada | bloqueada | inactiva | archivada
    | gearchiveerd | inactief | geblokkeerd | vervallen
    | arkiverad | inaktivt | spärrad | spärrat | avslutat
    | arkiveret | spærret | inaktiv konto | lukket
    | arkivert | sperret | deaktivert | avsluttet
    | zarchiwizowane | nieaktywne | zablokowane | nieaktywny | zablokowany | zarchiwizowany
    | archiviato | inattivo | bloccato | disattivato | chiuso""",
)

ACTIVE: Tiers = (
    """active | is active | enabled | in use | is enabled
    | aktiv | ist aktiv | aktiviert | verwendet
    | actif | active oui non | est actif | activé
    | activo | activa | habilitado | habilitada
    | actief | in gebruik
    | aktivt | är aktiv | er aktiv | i bruk | används | i brug
    | aktywne | aktywny | aktywna | czy aktywne
    | attivo | attiva | abilitato""",
    "status | account status | konto status | kontostatus | statut | estado | stato | stan",
)

EXTERNAL_ID: Tiers = (
    """external id | external account id | external identifier | account uuid | record id | internal id
    | externe id | externe kennung | fremdschlüssel | konto id | eindeutige id
    | id externe | identifiant externe | identifiant | identifiant compte
    | id externo | identificador externo | id de cuenta | id cuenta
    | extern id | externe identificatie | rekening id
    | externt id | konto uid
    | ekstern id | eksternt id
    | id zewnętrzne | identyfikator zewnętrzny | identyfikator | id konta
    | id esterno | identificativo esterno | id conto""",
    "account id | id | uuid | key",
)

CODE: Tiers = (
    """code | account code | account number | account no | account | account nr | acct | acct no | acct code | acc no
    | accnt | acct number | gl account | gl code | gl account no | gl account number | gl account code | g/l account
    | g/l account no | ledger code | ledger account | ledger account code | ledger account number | nominal code
    | nominal account | nominal | main account | main account id | number | no | nr | account key | n/c
    | konto | kontonummer | konto nr | kontonr | kto | kto nr | ktonr | sachkonto | sachkonto nr | sachkontonummer
    | sachkontennummer | hauptbuchkonto | fibukonto | nummer | kontocode | kontonummern | saknr | fibu konto
    | compte | numéro de compte | n° compte | n° de compte | no compte | num compte | numéro compte | numéro
    | code compte | code du compte | comptenum | compte numéro | n° | compte général | compte no | numéro du compte
    | cuenta | número de cuenta | nº cuenta | nº de cuenta | n° cuenta | código | código de cuenta | código cuenta
    | cuenta contable | código de la cuenta | número cuenta | cod cuenta | cta | núm cuenta | número
    | rekening | rekeningnummer | grootboekrekening | grootboeknummer | grootboekrekeningnummer | rekeningnr
    | grootboek | rekening nr | rekeningcode | grootboekrekening nr | gbr
    | kontokod | bas konto | kontonr bas
    | kontonummer dk | finanskonto
    | kontokode | hovedbokskonto
    | numer konta | nr konta | kod konta | kod | numer | konto księgowe | symbol konta | symbol
    | conto | codice conto | codice | numero conto | n conto | codice del conto | nr conto | cod conto
    | conto contabile | numero del conto | numero
    | account value | general ledger number | gl number | gl no | account id number | código contable | cuenta código
    | acctnum | acct num | ledger no | chart code | código da conta | conta | conta contábil | nº da conta
    | kode akun | nomor akun | no akun | kode rekening | kode perkiraan
    | hesap kodu | hesap no | hesap numarası
    | κωδικός | κωδικός λογαριασμού | λογαριασμός | αριθμός λογαριασμού
    | účet | číslo účtu | kód účtu | syntetický účet
    | főkönyvi szám | főkönyvi számlaszám | számlaszám | számla | számlakód
    | cont | simbol cont | număr cont | cont contabil | cod cont
    | tili | tilinumero | tilin numero | tilinro
    | счет | код счета | номер счета | код | рахунок | код рахунку | сметка | конто | šifra konta | konts | konta numurs
    | sąskaita | sąskaitos numeris | sąskaitos kodas | kontonumber | lykill | bókhaldslykill
    | 勘定科目コード | 科目コード | 科目编码 | 科目代码 | 科目代號 | 會計科目代號 | 계정코드 | 계정과목코드 | รหัสบัญชี
    | رقم الحساب | حساب | חשבון | מספר חשבון | số hiệu | số hiệu tài khoản | mã tài khoản""",
)

NAME: Tiers = (
    """name | account name | account title | account description | gl account name | ledger name | nominal name
    | ledger account name | title | main account name | gl account description | account label | acct name
    | bezeichnung | kontobezeichnung | kontoname | kontobeschriftung | kontenbeschriftung | beschriftung | kontotext | konto bezeichnung
    | sachkontobezeichnung | sachkontenbezeichnung | benennung | kontenbezeichnung | langtext | bezeichnung konto
    | sachkontenlangtext
    | nom | intitulé | libellé | nom du compte | nom de compte | intitulé du compte | libellé du compte
    | libellé compte | intitulé compte | nom compte | comptelib | désignation
    | nombre | nombre de cuenta | nombre de la cuenta | nombre cuenta | denominación | título de la cuenta
    | denominación de la cuenta | nombre de la cuenta contable | título
    | naam | rekeningnaam | grootboekrekeningnaam | benaming | grootboekrekening omschrijving | grootboeknaam
    | rekeningomschrijving
    | namn | kontonamn | benämning | kontobenämning
    | navn | kontonavn | kontobetegnelse | betegnelse | benævnelse
    | nazwa | nazwa konta | nazwa konta księgowego
    | nome | nome conto | denominazione | descrizione conto | nome del conto | denominazione conto
    | descrizione del conto
    | acct descrip | acct desc | account desc | nome da conta | descrição da conta | designação
    | nama akun | nama rekening | nama perkiraan | nama
    | hesap adı | hesap ismi | hesap açıklaması
    | ονομασία | περιγραφή λογαριασμού | ονομασία λογαριασμού | όνομα
    | název | název účtu | názov | názov účtu
    | megnevezés | számla megnevezése | főkönyvi megnevezés | számla neve
    | denumire | denumire cont | denumirea contului
    | nimi | tilin nimi | tilinimi
    | наименование | наименование счета | название | назва | назва рахунку | назив | naziv | naziv konta | nosaukums
    | konta nosaukums | pavadinimas | sąskaitos pavadinimas | nimetus | konto nimetus | heiti
    | 勘定科目名 | 科目名 | 科目名称 | 科目名稱 | 會計科目名稱 | 계정과목명 | 계정과목 | 계정명 | ชื่อบัญชี
    | اسم الحساب | שם | שם חשבון | tên tài khoản""",
    "full name | long name | long text | gl acct long text | gl account long text | account full name",
    """description | desc | descrip | text | short text | label | descrição | açıklama | περιγραφή | popis | leírás | descriere | kuvaus | keterangan | beschreibung | kurztext | kurzbezeichnung | description du compte | descripción
    | descripción de la cuenta | concepto | omschrijving | beskrivning | beskrivelse | tekst | opis | opis konta
    | descrizione""",
)

TAX_CODE: Tiers = (
    """tax code external id | tax code | tax code id | tax key | vat code | gst code | default tax code | sales tax code
    | tax type | vat key | tax code name | default vat code | external tax code
    | steuerschlüssel | steuercode | steuerkennzeichen | ust schlüssel | mwst schlüssel | mwst code | ust code
    | bu schlüssel | umsatzsteuerschlüssel | steuer schlüssel | steuerkürzel | mehrwertsteuerschlüssel | mwskz
    | mwst kennzeichen
    | code tva | code taxe | code de tva | code de taxe | clé tva
    | código iva | código de iva | código de impuesto | código impuesto | clave iva
    | btw code | btwcode | standaard btw code
    | momskod | moms kod
    | momskode | mva kode | mvakode | avgiftskode
    | kod vat | kod podatku | kod podatkowy | stawka vat kod
    | codice iva | codice imposta | cod iva""",
)

# A rate is a percentage: never the identifier of a tax code.
TAX_RATE: Tiers = (
    """vat rate | tax rate | vat % | tax % | vat percent | tax percent | gst rate | vat percentage | tax percentage
    | steuersatz | mwst satz | ust satz | mehrwertsteuersatz | umsatzsteuersatz | mwst % | ust % | steuer %
    | taux tva | taux de tva | taux de taxe | tva % | % tva
    | tipo iva | tipo de iva | % iva | iva % | porcentaje iva
    | btw % | btw percentage | btw tarief
    | momssats | moms % | momsprocent | mva sats | mva % | momsprosent
    | stawka vat | stawka podatku | vat stawka
    | aliquota iva | aliquota""",
)

TYPE: Tiers = (
    """type | account type | class type | acct type
    | art | kontoart | kontotyp | typ | kontenart | kontenklasse
    | type de compte | nature | type compte
    | tipo | tipo de cuenta | tipo cuenta
    | soort | rekeningsoort | rekeningtype | type rekening | soort rekening
    | kontotype
    | typ konta | rodzaj konta | rodzaj
    | tipo conto | tipo di conto""",
)

CHART: dict[str, Tiers] = {
    "external_id": EXTERNAL_ID,
    "code": CODE,
    "name": NAME,
    "archived": ARCHIVED,
    "active": ACTIVE,
    "tax_code_external_id": TAX_CODE,
    "tax_rate": TAX_RATE,
    "type": TYPE,
    "company_id": COMPANY_ID,
}

# Beside the fields of an entry: the number of a part of a split entry, and the amount of the whole entry.
SPLITS: dict[str, Tiers] = {
    "split_line": (
        """split line | split line number | split number | split no | split position | split item | split zeile
        | splitbuchung nr | aufteilungsposition | ligne de ventilation | numéro de ventilation | línea de división
        | splitregel | delrad | delpost""",
        "line number | line no | line item | zeilennummer | positionsnummer | numéro de ligne | número de línea",
    ),
    "entry_total": (
        """entry total | expense total | receipt total | transaction total | split total | total of entry | belegsumme
        | gesamtbetrag des belegs | total du reçu | total de la dépense | total del gasto | totaal van de bon
        | kvittots summa""",
    ),
}

ENTRIES: dict[str, Tiers] = {
    "id": (
        """entry id | id | expense id | accounting entry id | bookkeeping entry id | entry uuid | accounting entry uuid | uuid
        | journal entry id
        | buchungs id | buchung id | buchungssatz id | id buchung | eintrags id
        | id écriture | identifiant écriture | id de l'écriture | identifiant de l'écriture
        | id asiento | id del asiento | identificador del asiento
        | boeking id | boekings id | id boeking | boekingsid
        | verifikat id | verifikations id | bokförings id
        | posterings id | bogførings id | postering id | bilags id
        | id wpisu | id księgowania | id zapisu
        | id registrazione | id scrittura | identificativo registrazione""",
    ),
    "company_id": COMPANY_ID,
    "date": (
        """date | entry date | booking date | posting date | accounting date | transaction date
        | datum | buchungsdatum | buchungstag
        | date comptable | date d'écriture | date écriture | date de comptabilisation | ecrituredate
        | fecha | fecha contable | fecha de contabilización | fecha asiento | fecha del asiento
        | boekdatum | boekingsdatum
        | bokföringsdatum | verifikationsdatum
        | dato | bogføringsdato | posteringsdato | bokføringsdato
        | data księgowania | data | data wpisu
        | data registrazione | data contabile | data di registrazione
        | expense date | transactiedatum | tanggal | tarih | ημερομηνία | datum účtování | dátum | data înregistrării
        | päivämäärä | pvm | data lançamento""",
        """document date | belegdatum | date de pièce | fecha documento | documentdatum | dokumentdatum | bilagsdato
        | data dokumentu | data documento | invoice date | value date | valutadatum""",
    ),
    "amount": (
        """amount | gross amount | total amount | entry amount
        | betrag | buchungsbetrag | umsatz | bruttobetrag
        | montant | montant ttc
        | importe | monto
        | bedrag
        | belopp
        | beløb | beløp
        | kwota
        | importo""",
        "value | total | wert | valor | valeur | waarde",
    ),
    "sign": (
        """debit credit | credit debit | creditdebet | debet credit | dc | d c | dr cr | cr dr | debit credit indicator
        | credit debit indicator | soll haben | soll haben kennzeichen | soll haben kz | s h | sh | kennzeichen s h
        | sens | débit crédit | débit ou crédit | debe haber | dare avere | af bij | debet kredit | d k | k d | kd
        | winien ma""",
        "type | transaction type | entry type | art | typ | tipo",
    ),
    "debit": (
        """debit | debit amount | soll | sollbetrag | soll betrag | débit | montant débit | debe | cargo | dare | debet
        | debetbedrag | debetbelopp | winien | kwota wn | má dáti | tartozik | borç | χρέωση | débito | дебет | debiit""",
    ),
    "credit": (
        """credit | credit amount | haben | habenbetrag | haben betrag | crédit | montant crédit | haber | abono | avere
        | creditbedrag | kredit | kreditbelopp | ma | kwota ma | dal | követel | alacak | πίστωση | crédito | кредит
        | kreedit""",
    ),
    "currency": (
        """currency | currency code | ccy | currency iso | iso currency
        | währung | währungscode | wkz | währungskennzeichen | waehrung
        | devise | code devise | monnaie
        | moneda | divisa | código de moneda | código moneda
        | valuta | valutacode | munt
        | valutakod | valutakode
        | waluta | kod waluty
        | codice valuta""",
    ),
    "category_id": (
        """category id | category uuid | bookkeeping category id | bookkeeping category uuid
        | kategorie id | buchungskategorie id
        | id catégorie | identifiant catégorie | id de catégorie
        | id categoría | id de categoría
        | categorie id
        | kategori id
        | id kategorii
        | id categoria""",
        """category | category name | expense category | kategorie | buchungskategorie | catégorie
        | categoría | categorie | kategori | kategoria | categoria""",
        "category code",
    ),
    "employee_id": (
        """employee id | employee uuid | user id
        | mitarbeiter id | mitarbeitenden id
        | id employé | id salarié | identifiant salarié | identifiant employé
        | id empleado | id de empleado
        | medewerker id | werknemer id
        | anställnings id | medarbetar id
        | medarbejder id | ansatt id
        | id pracownika
        | id dipendente""",
        """employee email | user email | cardholder email | mitarbeiter email | e-mail | email | employee code""",
        """employee | user | cardholder | card holder | employee name | spender | mitarbeiter | mitarbeitende | karteninhaber | employé | salarié
        | collaborateur | titulaire | empleado | medewerker | kaarthouder | anställd | kortinnehavare | medarbejder
        | kortholder | ansatt | pracownik | dipendente""",
    ),
    "status": (
        """status | state | approval status | entry status | approval state
        | buchungsstatus | freigabestatus | genehmigungsstatus
        | statut | état | statut d'approbation
        | estado | estado de aprobación
        | goedkeuringsstatus
        | godkännandestatus | attest status
        | godkendelsesstatus | godkjenningsstatus
        | stan | status zatwierdzenia
        | stato | stato approvazione""",
    ),
    "approved": (
        """approved | is approved | genehmigt | freigegeben | approuvé | aprobado | goedgekeurd | godkänd | godkendt
        | godkjent | zatwierdzone | zatwierdzony | approvato | attesterad""",
    ),
    "description": (
        """description | text | narration | reference text
        | beschreibung | buchungstext | verwendungszweck | bemerkung | notiz
        | libellé | description de l'écriture | commentaire | ecriturelib
        | descripción | concepto | comentario
        | omschrijving
        | beskrivning | verifikationstext
        | beskrivelse | tekst
        | opis
        | descrizione | causale""",
        "memo",
        "note | notes | comment | remark | remarks",
    ),
    "supplier": (
        """supplier name | vendor name | merchant name | name of supplier | lieferantenname | händlername | kreditorenname
        | nom du fournisseur | nom fournisseur | nombre del proveedor | nombre proveedor | naam leverancier
        | leveranciersnaam | leverantörsnamn | leverantörens namn | leverandørnavn | nazwa dostawcy | nome fornitore
        | nome do fornecedor | název dodavatele | názov dodávateľa | szállító neve | nume furnizor | denumire furnizor
        | toimittajan nimi""",
        """supplier | vendor | lieferant | fournisseur | proveedor | leverancier | leverantör | leverandør | dostawca
        | fornitore | fornecedor | dodavatel | dodávateľ | szállító | furnizor | toimittaja | tedarikçi | προμηθευτής
        | pemasok | поставщик | постачальник | доставчик | dobavljač | dobavitelj | tarnija | piegādātājs | tiekėjas
        | 仕入先 | 供应商 | 供應商 | 공급업체 | nhà cung cấp""",
        """merchant | händler | kreditor | commerçant | comercio | winkelier | handelaar | handlare | forhandler
        | sprzedawca | kontrahent | esercente | comerciante | obchodník | kereskedő | comerciant | kauppias | satıcı
        | payee | paid to | creditor""",
    ),
    "cost_centre": (
        """cost centre | cost center | cost centre code | cost center code | cost centre name | cost center name
        | kostenstelle | kostenstellennummer | kst | kost 1 | kost1 kostenstelle
        | centre de coût | centre de coûts | centre de frais
        | centro de coste | centro de costes | centro de costo | centro de costos | ceco
        | kostenplaats | kostnadsställe | omkostningssted | kostnadssted | koststed
        | centrum kosztów | miejsce powstawania kosztów | mpk | centro di costo | centro de custo | centro de custos
        | nákladové středisko | nákladové stredisko | költséghely | centru de cost | kustannuspaikka
        | masraf merkezi | maliyet merkezi | κέντρο κόστους | pusat biaya | центр затрат | мвз | центр витрат
        | mjesto troška | stroškovno mesto | kulukoht | izmaksu centrs | kaštų centras
        | 原価センタ | 成本中心 | 코스트센터 | trung tâm chi phí""",
    ),
    "tax_code": TAX_CODE,
    **SPLITS,
}

ACCOUNTS: dict[str, Tiers] = {
    "id": (
        """id | uuid | account id | account uuid | bookkeeping account id | service id | konto id | konto uuid
        | kontoid | identifiant | id du compte | id compte | id de cuenta | id cuenta | rekening id | id konta | id conto""",
    ),
    "external_id": (
        """external id | external account id | external identifier | externe id | externe kennung | id externe
        | identifiant externe | id externo | identificador externo | extern id | externt id | ekstern id
        | eksternt id | id zewnętrzne | identyfikator zewnętrzny | id esterno""",
    ),
    "code": CODE,
    "name": NAME,
    "archived": ARCHIVED,
    "active": ACTIVE,
    "tax_code_external_id": TAX_CODE,
    "tax_rate": TAX_RATE,
    "company_id": COMPANY_ID,
}
