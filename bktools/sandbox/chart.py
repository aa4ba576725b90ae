"""The chart of accounts that the first company keeps in its ERP, and how far the service knows it already."""

# ruff: noqa: RUF001 - letters of other scripts that look like Latin ones are the point

from __future__ import annotations

from typing import NamedTuple

# One line an account: code | name | type | tax code | active | in the service.
# The last column: `=` with the same content, `~` under another name, empty: not yet.
# Six digits, so that no code is one of a four-digit chart. Spaces inside the bars belong to the name.
_CHART = """
001000|Konzessionen und Lizenzen|Anlagevermögen||ja|=
002700|EDV-Software|Anlagevermögen||ja|=
006500|Unbebaute Grundstücke|Anlagevermögen||ja|
009000|Geschäftsbauten|Anlagevermögen||ja|
021000|Maschinen|Anlagevermögen||ja|=
027000|EDV-Hardware|Anlagevermögen|VSt19|ja|=
032000|Pkw|Anlagevermögen|VSt19|ja|=
035000|Lkw|Anlagevermögen|VSt19|nein|=
040000|Betriebs- und Geschäftsausstattung|Anlagevermögen|VSt19|ja|=
042000|Büroeinrichtung |Anlagevermögen|VSt19|ja|=
048000|Geringwertige Wirtschaftsgüter|Anlagevermögen|VSt19|ja|=
052000|Beteiligungen|Anlagevermögen||nein|
063000|Verbindlichkeiten gegenüber Kreditinstituten|Fremdkapital||ja|
080000|Gezeichnetes Kapital|Eigenkapital||ja|
086000|Gewinnvortrag vor Verwendung|Eigenkapital||ja|
095000|Rückstellungen für Pensionen|Fremdkapital||ja|
097000|Sonstige Rückstellungen|Fremdkapital||ja|
098000|Aktive Rechnungsabgrenzung|Umlaufvermögen||ja|=
100000|Kasse|Umlaufvermögen||ja|=
120000|Bank|Umlaufvermögen||ja|=
121000|Bank Fremdwährung (¥, $, kr)|Umlaufvermögen||ja|
136000|Geldtransit|Umlaufvermögen||ja|=
140000|Forderungen aus Lieferungen und Leistungen|Umlaufvermögen||ja|=
157000|Abziehbare Vorsteuer 7 %|Umlaufvermögen|VSt7|ja|=
157600|Abziehbare Vorsteuer 19 %|Umlaufvermögen|VSt19|ja|=
159000|Durchlaufende Posten|Umlaufvermögen||ja|
160000|Verbindlichkeiten aus Lieferungen und Leistungen|Fremdkapital||ja|=
174000|Verbindlichkeiten aus Lohn und Gehalt|Fremdkapital||ja|=
175500|Lohn- und Gehaltsverrechnung|Fremdkapital||ja|
177100|Umsatzsteuer 7 %|Fremdkapital|USt7|ja|=
177600|Umsatzsteuer 19 %|Fremdkapital|USt19|ja|=
179000|Umsatzsteuer Vorjahr|Fremdkapital||nein|=
180000|Privatentnahmen|Eigenkapital||nein|
210000|Zinsen und ähnliche Aufwendungen|Aufwand||ja|
215000|Aufwendungen aus Kursdifferenzen|Aufwand||ja|=
230000|Sonstige Aufwendungen|Aufwand||ja|
265000|Sonstige Zinsen und ähnliche Erträge|Ertrag||ja|
266000|Erträge aus Kursdifferenzen|Ertrag||ja|=
270000|Sonstige Erträge|Ertrag||ja|
310000|Fremdleistungen|Aufwand|VSt19|ja|=
312300|Sonstige Leistungen; EU (§ 13b UStG)|Aufwand|RC19|ja|
330000|Wareneingang 7 %|Aufwand|VSt7|ja|=
340000|Wareneingang 19 %|Aufwand|VSt19|ja|=
342500|Innergemeinschaftlicher Erwerb 19 %|Aufwand|IGE19|ja|
380000|Bezugsnebenkosten|Aufwand|VSt19|ja|
398000|Bestand Waren|Umlaufvermögen||ja|
410000|Löhne und Gehälter|Aufwand||ja|
413000|Gesetzliche soziale Aufwendungen|Aufwand||ja|
414000|Freiwillige soziale Aufwendungen|Aufwand||ja|=
414500|Geschenke an Arbeitnehmer|Aufwand|VSt19|ja|
416500|Aufwendungen für Altersversorgung|Aufwand||ja|
419500|Löhne für Minijobs|Aufwand||nein|
421000|Miete (unbewegliche Wirtschaftsgüter)|Aufwand|VSt19|ja|=
423000|Heizung|Aufwand|VSt19|ja|=
424000|Gas, Strom, Wasser|Aufwand|VSt19|ja|=
425000|Reinigung|Aufwand|VSt19|ja|=
426000|Instandhaltung betrieblicher Räume|Aufwand|VSt19|ja|
436000|Versicherungen|Aufwand||ja|=
438000|Beiträge|Aufwand||ja|=
439000|Sonstige Abgaben|Aufwand||ja|
450000|Fahrzeugkosten|Aufwand|VSt19|nein|=
451000|Kfz-Steuer|Aufwand||ja|
452000|Kfz-Versicherungen|Aufwand||ja|
453000|Laufende Kfz-Betriebskosten|Aufwand|VSt19|ja|=
454000|Kfz-Reparaturen|Aufwand|VSt19|ja|~
457000|Mietleasing Kfz|Aufwand|VSt19|ja|
460000|Werbekosten|Aufwand|VSt19|ja|=
463000|Geschenke abzugsfähig|Aufwand|VSt19|ja|=
463500|Geschenke nicht abzugsfähig|Aufwand||ja|
464000|Repräsentationskosten|Aufwand|VSt19|ja|
465000|Bewirtungskosten|Aufwand|VSt19|ja|~
465400|Bewirtungskosten, nicht abzugsfähig|Aufwand||ja|
466000|Reisekosten Arbeitnehmer|Aufwand||ja|=
466300|Reisekosten Arbeitnehmer, Fahrtkosten|Aufwand|VSt19|ja|=
466400|Reisekosten Arbeitnehmer, Verpflegungsmehraufwand|Aufwand||ja|
466600|Reisekosten Arbeitnehmer, Übernachtungsaufwand|Aufwand|VSt7|ja|=
467000|Reisekosten Unternehmer|Aufwand||nein|=
473000|Ausgangsfrachten|Aufwand|VSt19|ja|
478000|Fremdarbeiten (Vertrieb)|Aufwand|VSt19|ja|
482200|Abschreibungen auf immaterielle Vermögensgegenstände|Aufwand||ja|
483000|Abschreibungen auf Sachanlagen|Aufwand||ja|
485500|Sofortabschreibung GWG|Aufwand||ja|
490000|Sonstige betriebliche Aufwendungen|Aufwand||ja|=
491000|Porto|Aufwand||ja|=
492000|Telefon|Aufwand|VSt19|ja|=
492500|Telefax und Internetkosten|Aufwand|VSt19|ja|=
493000|Bürobedarf|Aufwand|VSt19|ja|=
494000|Zeitschriften, Bücher|Aufwand|VSt7|ja|
494500|Fortbildungskosten|Aufwand|VSt19|ja|
495000|Rechts- und Beratungskosten|Aufwand|VSt19|ja|
497000|Nebenkosten des Geldverkehrs|Aufwand||ja|
830000|Erlöse 7 %|Ertrag|USt7|ja|
840000|Erlöse 19 %|Ertrag|USt19|ja|=
"""

# Accounts that the service has and the ERP does not: code, name, archived.
ONLY_IN_SERVICE = (
    ("495900", "Altkonto Beratung (Migration 2024)", False),
    ("498500", "Werkzeuge und Kleingeräte", False),
    ("499900", "Testkonto – bitte löschen 🧪", True),
)

# Names under which the service knows the accounts marked `~`.
OTHER_NAMES = {"454000": "Kfz-Reparaturen & Wartung", "465000": "Bewirtung"}


class ChartAccount(NamedTuple):
    """One account of the ERP's chart."""

    code: str
    name: str
    type: str
    tax_code: str
    active: bool
    in_service: str


def chart_of_accounts() -> tuple[ChartAccount, ...]:
    """Return the chart in the order of its codes."""
    rows = (line.split("|") for line in _CHART.strip("\n").split("\n"))
    return tuple(
        ChartAccount(code, name, type_, tax, active == "ja", known) for code, name, type_, tax, active, known in rows
    )
