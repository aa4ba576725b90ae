"""SIE 4 by its public description: all records with numbers, both encodings, whole and damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

import bktools
from bktools.errors import InputError, UnverifiedTableWarning

WORLD = Path(__file__).parents[2] / "worlds" / "inputs" / "formats" / "bok.se"
HEAD, _, VOUCHERS = WORLD.read_text(encoding="utf-8").partition("#VER A")
VOUCHERS = f"#VER A{VOUCHERS}"


def ledger(write, text, encoding="cp437", **options):
    return bktools.read_general_ledger(write(text, "bok.se", encoding), **options)


@pytest.mark.parametrize("encoding", ["cp437", "utf-8", "utf-8-sig", "cp1252"])
def test_every_record_that_carries_a_number(write, encoding):
    """Postings, struck-out and added ones, balances of two years, quantities, objects and budgets."""
    found = ledger(write, HEAD + VOUCHERS, encoding)
    assert found[["account_code", "amount", "voucher_id", "text"]].values.tolist() == [
        ["5800", 800.0, "A 1", "Biljett"],
        ["2641", 48.0, "A 1", "Tåg Göteborg"],
        ["1930", -848.0, "A 1", "Tåg Göteborg"],
        ["5800", 251.5, "(line 41)", "Rättad"],
        ["1930", -251.5, "(line 41)", 'Lunch "Ö"'],
    ]
    assert found["account_name"].tolist()[:3] == ["Resekostnader", "Ingående moms", "Företagskonto"]
    assert set(found["currency"]) == {"SEK"}
    assert found["date"].dt.strftime("%Y-%m-%d").tolist() == ["2026-10-03"] * 3 + ["2026-10-15"] * 2
    # The file's own: 10,000.00 at first, 8,900.50 at last, and 1,051.50 of costs.
    sums = found.groupby("account_code")["amount"].sum()
    assert sums.to_dict() == {"1930": -1099.5, "2641": 48.0, "5800": 1051.5}


@pytest.mark.parametrize("encoding", ["cp437", "utf-8", "cp1252"])
def test_the_chart(write, encoding):
    """Accounts with names and types, in the file's order."""
    chart = bktools.read_chart_of_accounts(write(HEAD, "bok.se", encoding))
    assert chart[["code", "name"]].values.tolist() == [
        ["1930", "Företagskonto"],
        ["2641", "Ingående moms"],
        ["5800", "Resekostnader"],
        ["9999", "Aldrig bokfört"],
    ]
    assert chart["type"].fillna("").tolist() == ["T", "", "K", ""]
    assert chart.attrs["bktools"]["company_in_file"] == ("556000-0000", "Exempel & Co AB")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "#TRANS 2641 {} 48.00",
            "#TRANS 2641 {} 47.00",
            r"voucher 'A 1' \(line 37\) does not balance: debit 847.00, credit 848.00",
        ),
        ("#UB 0 1930 8900.50", "#UB 0 1930 8900.51", r"'1930' moves by -1099.49 by .* but by -1099.50"),
        ("#RES 0 5800 1051.50", "#RES 0 5800 1000.00", r"account '5800' moves by 1000.00 .* but by 1051.50"),
        ("#UB 0 2641 48.00", "#UB 0 9999 1.00", r"account '9999' moves by 1.00 .* but by 0 by its postings"),
    ],
)
def test_what_does_not_agree(write, old, new, why):
    """A voucher or account that does not agree is one line with its name; `verify="warn"` goes on."""
    text = (HEAD + VOUCHERS).replace(old, new)
    with pytest.raises(InputError, match=why) as caught:
        ledger(write, text)
    assert "verify='warn'" in str(caught.value)
    with pytest.warns(UnverifiedTableWarning, match=why):
        found = ledger(write, text, verify="warn")
    assert len(found) == 5
    assert any("9999" in note or "A 1" in note or "moves" in note for note in found.attrs["bktools"]["notes"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (HEAD, "is a SIE 4 file without postings"),
        (HEAD.replace("#SIETYP 4", "#SIETYP 1"), "is a SIE 1 file without postings"),
        (HEAD + VOUCHERS[: VOUCHERS.index("#TRANS 1930")], "line 35: the voucher .* is not closed"),
        (HEAD + "#TRANS 1930 {} 5.00\n", "line 35: #TRANS is in no voucher"),
        (HEAD + VOUCHERS.replace('"Tåg Göteborg"', '"Tåg'), "line 35: a quote or a brace is not closed"),
        (HEAD + VOUCHERS.replace("48.00", "1E5"), "line 38: 'amount' must hold amounts with"),
        (HEAD + VOUCHERS.replace("48.00", "NaN"), "'amount' must hold amounts with"),
        (HEAD + VOUCHERS.replace("48.00", "9" * 40), "'amount' must hold amounts with"),
        (HEAD + VOUCHERS.replace("48.00", "0." + "4" * 11), "'amount' must hold amounts with"),
        (HEAD + VOUCHERS.replace("20261003", "20261332"), "must hold dates"),
        (HEAD + VOUCHERS.replace("20261003", "2026103"), "must hold dates"),
    ],
)
def test_damaged_files(write, text, why):
    """A file that is cut off or broken is one line with its place, never a part of the postings."""
    with pytest.raises(InputError, match=why) as caught:
        ledger(write, text)
    assert "\n" not in str(caught.value)


def test_letters_of_two_encodings(write):
    """Letters of PC8 beside those of Windows are not guessed; unread records do not count."""
    data = (HEAD + VOUCHERS).encode("cp437")
    path = write(data.replace(b"#FNAMN", '#FNAMN "Å"\n#FTYP'.encode("cp1252")), "bok.se")
    with pytest.raises(
        InputError,
        match=r"line 15: holds letters of two encodings.*choose one with encoding='cp437' or "
        r"encoding='cp1252'",
    ):
        bktools.read_general_ledger(path)
    assert len(bktools.read_general_ledger(path, encoding="cp437")) == 5
    program = '#FNR "C:\\Bokföring\\Är"\n#ADRESS "not closed\n'.encode("cp1252")
    for encoding in ("cp437", "utf-8"):
        path = write((HEAD + VOUCHERS).encode(encoding).replace(b"#GEN", program + b"#GEN"), "bok.se")
        assert bktools.read_general_ledger(path)["account_name"][2] == "Företagskonto"
        assert bktools.read_chart_of_accounts(path)["name"][0] == "Företagskonto"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_an_encoding_that_is_said_is_used(write, encoding):
    """Bytes that do not fit the encoding that was asked for are refused with their line."""
    with pytest.raises(InputError, match=f"line 14: byte 0x94 is not valid {encoding}; set encoding="):
        bktools.read_general_ledger(write(HEAD + VOUCHERS, "bok.se", "cp437"), encoding=encoding)


def test_what_is_verified_and_what_is_not_is_told(write):
    """Balances of accounts are verified; checksum and balances of objects are told as unverified."""
    found = ledger(write, HEAD.replace("#GEN", "#KSUMMA\n#GEN", 1) + VOUCHERS + "#KSUMMA 123456\n")
    notes = found.attrs["bktools"]["note_facts"]
    assert {"code": "verified", "names": None, "balances": 3} in notes


def test_postings_that_were_added_or_struck_out(write):
    """An added posting follows again as a posting, which counts; one that was struck out does not."""
    added = '#RTRANS 5800 {} 10.00 20261004 "Rättad" 0 "Åsa"\n#TRANS 5800 {} 10.00\n#BTRANS 5810 {} 9.00\n'
    read = ledger(write, f"#FLAGGA 0\n#VER A 1 20261003\n{{\n{added}#TRANS 1930 {{}} -10.00\n}}\n")
    assert read["account_code"].tolist() == ["5800", "1930"]


def test_postings_with_dates_of_their_own_are_noted(write):
    """The voucher's date counts; a note says how many postings have another one."""
    notes = ledger(write, HEAD + VOUCHERS).attrs["bktools"]["note_facts"]
    assert {"code": "date_of_voucher", "count": 1, "lines": [37]} in notes
