"""Nothing is lost in silence: small files with a planted fault have all their rows, or it is asked."""

from __future__ import annotations

import re
import warnings

import pytest

import bktools
from bktools.errors import QuestionError

# Headings and three rows of files as programs write them; the amount stands last but one.
ENTRIES = {
    "English": ("Date,Description,Amount,Currency", "2026-10-{n:02},Lunch {n},{n}2.50,EUR"),
    "German": ("Buchungstag;Verwendungszweck;Betrag;Währung", "{n:02}.10.2026;Essen {n};-{n}2,50;EUR"),
    "French": ("Date;Libellé;Montant;Devise", "2{n}/10/2026;Repas {n};{n}2,50;EUR"),
    "Spanish": ("Fecha;Concepto;Importe;Divisa", "2{n}/10/2026;Comida {n};-{n}2,50;EUR"),
    "Italian": ("Data operazione;Descrizione;Importo;Divisa", "2{n}/10/2026;Pranzo {n};{n}2,50;EUR"),
    "Dutch": ("Datum;Omschrijving;Bedrag;Munt", "2026-10-{n:02};Lunch {n};{n}2,50;EUR"),
    "Swedish": ("Bokföringsdag;Text;Belopp;Valuta", "2026-10-{n:02};Lunch {n};-{n}2,50;SEK"),
    "Polish": ("Data operacji;Opis operacji;Kwota;Waluta", "2026-10-{n:02};Obiad {n};-{n}2,50;PLN"),
    "Portuguese": ("Data;Descrição;Valor;Moeda", "2026-10-{n:02};Almoço {n};{n}2,50;BRL"),
    "Russian": ("Дата операции;Описание;Сумма;Валюта", "2{n}.10.2026;Обед {n};-{n}2,50;RUB"),
    "with IDs": (
        "id,date,amount,currency",
        "1b4e28ba-2fa1-41d2-883f-0016d3cca42{n},2026-10-{n:02},{n}2.50,EUR",
    ),
    "debit and credit": ("Date,Text,Debit,Credit,Currency", "2026-10-{n:02},Lunch {n},{n}2.50,,EUR"),
    "a side": ("Date,Text,Amount,D/C,Currency", "2026-10-{n:02},Lunch {n},{n}2.50,D,EUR"),
    "months in words": ("Date,Text,Amount,Currency", "{n} Oct 2026,Lunch {n},{n}2.50,GBP"),
    "brackets": ("Date,Text,Amount,Currency", "2026-10-{n:02},Lunch {n},({n}2.50),USD"),
    "tabs": ("Date\tText\tAmount\tCurrency", "2026-10-{n:02}\tLunch {n}\t{n}2.50\tEUR"),
}
LEDGERS = {
    "English": ("Date,Account,Debit,Credit,Text", "2026-10-{n:02},580{n},{n}2.50,,Lunch"),
    "German": ("Datum;Konto;Soll;Haben;Buchungstext", "{n:02}.10.2026;580{n};{n}2,50;;Essen"),
    "signed": ("Posting date,GL account,Amount,Memo", "2026-10-{n:02},580{n},{n}2.50,Lunch"),
    "Spanish": ("Fecha;Cuenta;Debe;Haber;Concepto", "2{n}/10/2026;580{n};{n}2,50;0,00;Comida"),
}
CHARTS = {
    "English": ("Code,Name,Type", "580{n},Travel {n},Expense"),
    "German": ("Konto;Bezeichnung;Art", "580{n};Reisekosten {n};Aufwand"),
    "Swedish": ("Konto;Benämning;Typ", "580{n};Resor {n};Kostnad"),
    "Polish": ("Numer konta;Nazwa konta;Rodzaj", "580{n};Podróże {n};Koszty"),
}
READERS = {
    "entries": bktools.read_entries,
    "ledger": bktools.read_general_ledger,
    "chart": bktools.read_chart_of_accounts,
}


def planted(heading: str, rows: list[str], kind: str) -> dict[str, str]:
    """Return the text of a file with each fault by its name."""
    mark = delimiter_of(heading)
    cells = rows[1].split(mark)
    # The first cell of an amount, which each kind but a chart has.
    at = next((at for at, cell in enumerate(cells) if re.search(r"\d[.,]50", cell)), None)
    faults = {
        "no fault": rows,
        "second headings": [*rows[:2], heading, *rows[2:]],
        "other headings": [
            *rows[:2],
            mark.join([*heading.split(mark)[::-1], "Status"]),
            rows[2] + mark + "x",
        ],
        "wider row": [rows[0], f"{rows[1]}{mark}7", rows[2]],
        "narrower row": [rows[0], mark.join(cells[:-1]), rows[2]],
        "blank line": [rows[0], "", *rows[1:]],
        "footer": [*rows, "Printed by somebody on a Monday"],
        "title above": rows,
    }
    if at is not None:
        blank, total = [*cells], ["" for _ in cells]
        blank[at], total[0], total[at] = "", "Total", "37.50"
        faults["blank amount"] = [rows[0], mark.join(blank), rows[2]]
        faults["total"] = [*rows, mark.join(total)]
        broken = [*cells]
        broken[at] = "1,00.00"
        faults["broken amount"] = [rows[0], mark.join(broken) if mark != "," else rows[1], rows[2]]
    if kind == "entries" and heading.startswith("id"):
        faults["foreign ID"] = [rows[0], mark.join(["100764431180", *cells[1:]]), rows[2]]
    title = "A company\nOctober\n"
    return {
        name: (title if name == "title above" else "") + "\n".join([heading, *own]) + "\n"
        for name, own in faults.items()
    }


def delimiter_of(heading: str) -> str:
    return next(mark for mark in ";\t," if mark in heading)


def quoted(text: str, mark: str) -> str:
    """Return a text with quotes around its cells."""
    return re.sub(f"[^{mark}\n]+", r'"\g<0>"', text)


WORLDS = [
    (kind, f"{name}{quotes}", fault, quoted(text, delimiter_of(heading)) if quotes else text)
    for kind, worlds in (("entries", ENTRIES), ("ledger", LEDGERS), ("chart", CHARTS))
    for name, (heading, row) in worlds.items()
    for fault, text in planted(heading, [row.format(n=n) for n in (1, 2, 3)], kind).items()
    for quotes in ("", " in quotes")
]


@pytest.mark.parametrize(
    ("kind", "name", "fault", "text"), WORLDS, ids=lambda one: one if len(one) < 20 else ""
)
def test_no_row_is_lost_in_silence(write, kind, name, fault, text):
    """A file has its three rows, and a note about any other line; or the question that its fault asks for."""
    options = {"verify": "warn"} if kind == "ledger" else {}
    path = write(text)
    asked, frame = set(), None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            frame = READERS[kind](path, **options)
        except QuestionError as question:
            asked = {problem.code for problem in question.problems}
    assert asked <= ASKED.get(fault, set())
    if frame is None:
        return
    lines = [line for line, own in enumerate(text.splitlines(), 1) if own.strip()]
    assert len(frame) == 3
    assert {*frame["line"]} <= {*lines}
    notes = {note["code"] for note in frame.attrs["bktools"]["note_facts"]}
    assert fault not in NOTED or notes & NOTED[fault], notes


# What is asked about a fault, and the notes about what is read all the same.
ASKED = {
    "other headings": {"tables", "no_column"},
    "wider row": {"width"},
    "narrower row": {"currency_contradiction"},
    "blank amount": {"rows_lack_amount"},
    "broken amount": {"broken_amount"},
    "total": {"report_rows"},
}
NOTED = {
    "second headings": {"headings_repeated"},
    "footer": {"titles", "rows_without_amount"},
    "title above": {"rows_above"},
    "total": {"rows_of_a_report"},
    "foreign ID": {"ids_not_of_the_service"},
}


def test_there_are_40_files():
    """The small files, each with its faults."""
    assert len({(kind, name) for kind, name, *_ in WORLDS}) >= 40
