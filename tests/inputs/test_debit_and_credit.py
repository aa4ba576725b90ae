"""Words for debit and credit, in general ledgers and in entries."""

from __future__ import annotations

import pytest
from bktools.inputs.entries import read_entries
from bktools.inputs.general_ledger import read_general_ledger

from bktools.errors import InputError

PAIRS = (
    *("D/C", "S/H", "D/K", "D/H", "D/A", "T/K", "B/A", "MD/D", "Wn/Ma", "Дт/Кт", "χ/π", "Dr./Cr.", "DR/CR"),
    *("db/cr", "Soll/Haben", "Débit/Crédit", "Debe/Haber", "Dare/Avere", "Debet/Kredit", "Winien/Ma"),
    *("Tartozik/Követel", "Borç/Alacak", "Cargo/Abono", "дебет/кредит", "De\u0301bit/Cre\u0301dit"),
)


def column(words, heading="Side"):
    rows = "".join(f"1930;2026-10-31;{amount},00;{word}\n" for amount, word in enumerate(words, 1))
    return f"Account;Date;Amount;{heading}\n{rows}"


@pytest.mark.parametrize("pair", PAIRS)
def test_a_pair_says_the_same_in_ledgers_and_entries(write, pair):
    """The first word of each pair is debit and positive, the second one is credit, whoever reads it."""
    path = write(column(pair.split("/")))
    for frame in (
        read_general_ledger(path, columns={"side": "Side"}),
        read_entries(path, columns={"sign": "Side"}),
    ):
        assert frame["amount"].tolist() == [1.0, -2.0]


@pytest.mark.filterwarnings("ignore::bktools.errors.UnverifiedTableWarning")
@pytest.mark.parametrize(
    ("heading", "words", "amounts"),
    [
        ("MD/D", ["D", "D"], [-1, -2]),
        ("D/C", ["D", "D"], [1, 2]),
        ("D/C", ["S", "H"], [1, -2]),
        ("D/K", ["D", "Kredit"], [1, -2]),
    ],
)
def test_a_heading_names_its_letters(write, heading, words, amounts):
    """D is the credit of MD and the debit of C; other words keep their meaning under a heading."""
    path = write(column(words, heading))
    ledger = read_general_ledger(path, verify="warn")
    for frame in (ledger, read_entries(path, columns={"sign": heading})):
        assert frame["amount"].tolist() == [float(amount) for amount in amounts]


@pytest.mark.parametrize("words", [["D", "X"], ["S", "SH"], ["MD", "H"], ["T", "A"]])
def test_a_word_of_another_pair_is_refused(write, words):
    """A column headed as sides is never read in part: a cell that says neither is named."""
    path = write(column(words, "D/C"))
    with pytest.raises(InputError, match=rf"line \d: 'D/C' must say .*got '({'|'.join(words)})'"):
        read_general_ledger(path)
    with pytest.raises(InputError, match=r"must say debit or credit.*leave it out: columns=\{'sign': ''\}"):
        read_entries(path)
    assert read_entries(path, columns={"sign": ""})["amount"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("words", "amounts"),
    [
        (["C", "C"], [1, 2]),
        (["C", "D"], [-1, 2]),
        (["A", "B"], [-1, 2]),
        (["K", "H"], [1, 2]),
        (["Credit", "Credit"], [-1, -2]),
        (["out", "in"], [1, -2]),
        (["Card", "Cash"], [1, 2]),
    ],
)
def test_one_letter_under_a_heading_of_any_meaning(write, words, amounts):
    """C alone may be short for card: letters count where both sides of a pair are there."""
    entries = read_entries(write(column(words, "Type")))
    assert entries["amount"].tolist() == [float(amount) for amount in amounts]


def test_money_that_comes_in_is_no_side_of_a_ledger(write):
    """In and out say what a bank account does, not which side of a ledger an amount is on."""
    with pytest.raises(InputError, match="line 2: 'Side' must say debit or credit"):
        read_general_ledger(write(column(["in", "out"])), columns={"side": "Side"})
