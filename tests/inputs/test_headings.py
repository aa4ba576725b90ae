"""The vocabularies contradict neither themselves nor each other."""

from __future__ import annotations

from itertools import combinations

import pytest

from bktools.inputs.columns import Vocabulary, normal
from bktools.inputs.headings import ACCOUNTS, CHART, ENTRIES


@pytest.mark.parametrize("fields", [CHART, ENTRIES, ACCOUNTS], ids=["chart", "entries", "accounts"])
def test_no_word_heads_two_fields(fields):
    """A heading means one field of a kind of file."""
    words = {field: frozenset().union(*tiers) for field, tiers in Vocabulary(fields).fields.items()}
    shared = {(a, b): words[a] & words[b] for a, b in combinations(words, 2) if words[a] & words[b]}
    assert shared == {}


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


def test_no_word_is_in_two_tiers():
    """A word tells as much as its tier says."""
    for fields in (CHART, ENTRIES, ACCOUNTS):
        for tiers in Vocabulary(fields).fields.values():
            assert sum(map(len, tiers)) == len(frozenset().union(*tiers))


@pytest.mark.parametrize(
    ("headings", "found"),
    [
        ("*Code,*Name,*Type,*Tax Code,Description,Dashboard", {"code": "*Code", "name": "*Name", "type": "*Type"}),
        ("Account #,Full name,Type,Detail type,Description,Total balance", {"code": "Account #", "name": "Full name"}),
        ("No.,Name,Income/Balance,Account Type,Blocked", {"code": "No.", "name": "Name", "archived": "Blocked"}),
        ("G/L Account,Short Text,Long Text", {"code": "G/L Account", "name": "Long Text"}),
        ("N/C,Name", {"code": "N/C", "name": "Name"}),
        ("id,code,name,account_type", {"external_id": "id", "code": "code", "name": "name", "type": "account_type"}),
        (
            "Account ID,Account Name,Account Code,Description,Account Status",
            {"external_id": "Account ID", "code": "Account Code", "name": "Account Name", "active": "Account Status"},
        ),
        ("Konto,Kontenbeschriftung,SprachId", {"code": "Konto", "name": "Kontenbeschriftung"}),
        ("Konto,Benämning,Momskod,Aktiv", {"tax_code_external_id": "Momskod", "active": "Aktiv"}),
        ("Kontonr,Kontonavn,MVA-kode", {"tax_code_external_id": "MVA-kode"}),
        ("Account number,Title,Status,Account type", {"code": "Account number", "name": "Title", "active": "Status"}),
        ("AcctCode,AcctName", {"code": "AcctCode", "name": "AcctName"}),
        ("CompteNum,CompteLib", {"code": "CompteNum", "name": "CompteLib"}),
        ("Konto,Bezeichnung,Steuerschluessel", {"tax_code_external_id": "Steuerschluessel"}),
        ("Numero de compte,Intitule", {"code": "Numero de compte", "name": "Intitule"}),
        ("Code,Name,VAT %", {"tax_rate": "VAT %"}),
    ],
)
def test_headings_of_common_systems(headings, found):
    """Headings as common ERPs write them are recognised."""
    cells = headings.split(",")
    places = Vocabulary(CHART).assign(cells, "f.csv", ("code", "name"))
    assert {field: cells[places[field]] for field in found} == found


def test_a_chosen_column_may_serve_twice():
    """The caller who names the code's column as the external ID needs not name it again."""
    cells = ["Konto", "Name"]
    assert Vocabulary(CHART, {"external_id": "Konto"}).assign(cells, "f", ("code", "name"))["code"] == 0
    cells = ["Konto", "Code", "Name"]
    assert Vocabulary(CHART, {"external_id": "Konto"}).assign(cells, "f", ("code", "name"))["code"] == 1
