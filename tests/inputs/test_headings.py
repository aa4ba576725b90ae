"""The words of files: no word is repeated or means two things, and usual headings are known."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import numpy as np
import pyarrow as pa
import pytest
from bktools.inputs.looks import FITS

from bktools.inputs import words
from bktools.inputs.columns import Reading, Vocabulary
from bktools.inputs.table import Table
from bktools.inputs.words import normal, without_extras

FILE = tomllib.loads(files("bktools.inputs").joinpath("words.toml").read_text(encoding="utf-8"))
KINDS = sorted(FILE["fields"])


def table_of(headings, *rows):
    columns = [pa.chunked_array([list(cells)], pa.large_string()) for cells in zip(*rows, strict=True)]
    return Table("f.csv", tuple(headings), columns, np.arange(2, 2 + len(rows)), 1)


def assigned(table, **chosen):
    reading = Reading(table, Vocabulary("chart", chosen))
    reading.assign(("code", "name"))
    assert reading.problems == []
    return reading.places


def test_no_word_is_there_twice():
    """A table has a word once in a language, and each language once."""
    twice = [
        (section, table, language, word)
        for section in ("headings", "values")
        for table, languages in FILE[section].items()
        for language, text in languages.items()
        for spellings in [[normal(word) for word in text.split("|")]]
        for word in spellings
        if spellings.count(word) > 1 or not word
    ]
    assert twice == []


def test_every_table_of_words_is_used():
    """A field takes its headings from tables that are there, and no table is without a use."""
    named = {
        table
        for kind in FILE["fields"].values()
        for tiers in kind.values()
        for tier in tiers
        for table in tier
    }
    others = {
        "of_a_bank",
        "balance",
        "contra_account",
        "money_in",
        "money_out",
        "of_another",
        "without_tax",
        "tax",
        "means_of_payment",
        "other_amount",
        "other_day",
        "part_of_day",
    }
    assert named | others == set(FILE["headings"])
    assert set(FILE["two_meanings"]["tables"]) <= named


@pytest.mark.parametrize("kind", KINDS)
def test_words_that_mean_two_things_are_told_apart_by_cells(kind):
    """A heading means one field of a kind of file, or the cells decide between fields they tell."""
    certain: dict[str, set[str]] = {}
    by_cells: dict[str, set[str]] = {}
    for field, tiers in words.fields(kind).items():
        for tier in tiers:
            for word in tier.certain:
                assert (field, word) not in {(one, word) for one in certain.get(word, ())}, word
                certain.setdefault(word, set()).add(field)
            for word in tier.by_cells:
                by_cells.setdefault(word, set()).add(field)
    assert {word: fields for word, fields in certain.items() if len(fields) > 1} == {}
    assert certain.keys() & by_cells.keys() == set()
    assert set().union(*by_cells.values()) <= FITS.keys() | {"external_id", "id"}


def test_values_that_mean_two_things():
    """No word says yes and no, active and archived, or both sides; totals are no report lines."""
    for one, other in (
        ("yes", "no"),
        ("active", "archived"),
        ("debit", "credit"),
        ("money_out", "money_in"),
        ("total", "footer"),
        ("approved", "not_approved"),
    ):
        assert words.values(one) & words.values(other) == set()


@pytest.mark.parametrize(
    ("heading", "same"),
    [
        ("*Code", "code"),
        ("Account #", "account"),
        ("Konto-Nr.", "kontonr"),
        ("  ENTRY_ID ", "entryid"),
        ("N° compte", "ncompte"),
        ("VAT %", "vat%"),
        (" # ", "#"),
        ("Numéro", "numero"),
        ("Währung".replace("ä", "a\u0308"), "wahrung"),
    ],
)
def test_headings_are_compared_without_decoration(heading, same):
    """Case, spaces, punctuation and marks for required columns do not matter; a percent sign does."""
    assert normal(heading) == same


@pytest.mark.parametrize(
    ("heading", "same"),
    [
        ("Betrag (EUR)", "betrag"),
        ("amount_usd", "amount"),
        ("Amount in CHF", "amount"),
        ("Importe €", "importe"),
        ("Umsatz (ohne Soll/Haben-Kz)", "umsatz"),
        ("Amount [net]", "amount"),
        ("Eurocard", "eurocard"),
    ],
)
def test_brackets_and_currencies_are_cut_from_headings(heading, same):
    """What stands in brackets, and a currency, is no part of the word."""
    assert without_extras(heading) == same


CODES = ("1000", "2000")
NAMES = ("Cash", "Sales")


@pytest.mark.parametrize(
    ("headings", "expected"),
    [
        ("*Code,*Name,*Type,*Tax Code,Description", {"code": "*Code", "name": "*Name", "type": "*Type"}),
        ("Account #,Full name,Type,Detail type,Description", {"code": "Account #", "name": "Full name"}),
        ("No.,Name,Income/Balance,Type,Blocked", {"code": "No.", "name": "Name", "archived": "Blocked"}),
        ("G/L Account,Short Text,Long Text", {"code": "G/L Account", "name": "Long Text"}),
        ("N/C,Name", {"code": "N/C", "name": "Name"}),
        (
            "id,code,name,account_type",
            {"external_id": "id", "code": "code", "name": "name", "type": "account_type"},
        ),
        (
            "Account ID,Account Name,Account Code,Description,Account Status",
            {
                "external_id": "Account ID",
                "code": "Account Code",
                "name": "Account Name",
                "active": "Account Status",
            },
        ),
        ("Account ID,Account Name", {"code": "Account ID", "name": "Account Name"}),
        ("Konto,Kontenbeschriftung,SprachId", {"code": "Konto", "name": "Kontenbeschriftung"}),
        ("Konto,Benämning,Momskod,Aktiv", {"tax_code_external_id": "Momskod", "active": "Aktiv"}),
        ("Kontonr,Kontonavn,MVA-kode", {"tax_code_external_id": "MVA-kode"}),
        (
            "Account number,Title,Status,Account type",
            {"code": "Account number", "name": "Title", "active": "Status"},
        ),
        ("AcctCode,AcctName", {"code": "AcctCode", "name": "AcctName"}),
        ("CompteNum,CompteLib", {"code": "CompteNum", "name": "CompteLib"}),
        ("Konto,Bezeichnung,Steuerschluessel", {"tax_code_external_id": "Steuerschluessel"}),
        ("Numero de compte,Intitule", {"code": "Numero de compte", "name": "Intitule"}),
        ("Code,Name,VAT %", {"tax_rate": "VAT %"}),
    ],
)
def test_headings_of_common_systems(headings, expected):
    """Headings as common ERPs write them are recognised."""
    cells = headings.split(",")
    is_name = ["name" in cell.lower() or cell in expected.get("name", "") for cell in cells]
    rows = [[NAMES[row] if name else CODES[row] for name in is_name] for row in range(2)]
    places = assigned(table_of(cells, *rows))
    assert {field: cells[places[field]] for field in expected} == expected


def test_a_chosen_column_may_serve_twice():
    """The caller who names the code's column as the external ID needs not name it again."""
    table = table_of(["Konto", "Name"], ["1", "a"])
    assert assigned(table, external_id="Konto")["code"] == 0
    table = table_of(["Konto", "Code", "Name"], ["1", "2", "a"])
    assert assigned(table, external_id="Konto")["code"] == 1
