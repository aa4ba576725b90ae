"""Encodings are found by evidence, and doubts are told."""

from __future__ import annotations

import codecs
import contextlib
import encodings.aliases

import pytest

from bktools.errors import ArgumentError, InputError
from bktools.inputs.chart_of_accounts import read_chart_of_accounts
from bktools.inputs.encoding import to_utf8


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        ("Büro ß", "utf-8", "utf-8"),
        ("Büro", "utf-8-sig", "utf-8-sig"),
        ("Büro and some more", "utf-16-le", "utf-16-le"),
        ("Büro and some more", "utf-16-be", "utf-16-be"),
        ("Büro \u2013 „Haus“", "cp1252", "cp1252"),
        ("Försäljning på café, Ærø", "cp1252", "cp1252"),
        ("Śródki trwałe, należności", "cp1250", "cp1250"),
        ("PÓŁPRODUKTY, należności", "cp1250", "cp1250"),
        ("Büromöbel, Straße", "cp850", "cp850"),
        ("Umlaute: ä, ö, ü", "cp850", "cp850"),
        ("Āa" * 9 + "aa", "utf-16-be", "utf-16-be"),
        ("Büromöbel", "mac_roman", "mac_roman"),
        ("\u2013 Kasse \u2013", "cp1252", "cp1252"),
        ("ŻÓŁĆ", "cp1250", "cp1250"),
        ("Contribuições não pagas", "cp1252", "cp1252"),
        ("Kasse (€)", "cp1252", "cp1252"),
    ],
)
def test_encodings_are_found(text, encoding, found):
    """Text in the encodings of ERPs comes back as it was written."""
    assert to_utf8(text.encode(encoding), None, "f.csv")[:2] == (text.encode(), found)


CHARTS = {
    "cp1252": [
        "Bank £ account, Cash, Turnover £m, Sales £1000",
        "Bank £ account",
        "Bank A£ account",
        "Turnover £m net",
        "Kasse (¥, $, kr)",
        "Gas (m³), Water (m²)",
        "Büroausstattung, Löhne und Gehälter, Straße, Kasse (¥, $, kr), Bank £ account, Gas m³",
        "Créances clients, Règlement à créer, Trésorerie, Prêts reçus, Œuvres sociales",
        "Lønninger, Købsmoms, Årets resultat",
        "Contribuições não pagas, Depósitos à ordem, Provisões",
        "Attività, Liquidità, Più, Debiti verso società",
    ],
    "cp1250": [
        "Środki trwałe, Należności od odbiorców, Zużycie materiałów, Ładunki",
        "ŚRODKI TRWAŁE, RACHUNEK BIEŻĄCY, USŁUGI OBCE, ŁADUNKI, DZIAŁ",
        "Ładunek",
        "i Ładunek",
        "Łódka",
        "Kapitał",
        "Dlouhodobý majetek, Běžný účet, Závazky vůči zaměstnancům, Tržby za zboží",
        "Krátkodobé pohľadávky, Bežný účet, Záväzky voči zamestnancom",
        "Előleg, Vevőkövetelések, Jegyzett tőke, Műszaki gépek, Személyi jellegű ráfordítások",
        "Račun, Troškovi plaća, Obveze prema dobavljačima, Građevine",
        "Cheltuieli de deplasări, Mărfuri, Clienţi, Datorii faţă de angajaţi",
    ],
    "cp850": ["Büromöbel, Löhne und Gehälter, Bank £ account", "Attività, Liquidità, Perché, Più, Così"],
    "mac_roman": ["Attività, Liquidità, Più, Perché", "Contribuições não pagas, Provisões"],
}


@pytest.mark.parametrize(("encoding", "text"), [(name, text) for name, texts in CHARTS.items() for text in texts])
def test_names_of_accounts_are_found(encoding, text):
    """A mark such as £ stays what it is beside the letters of any language, and the letters of a language stay hers."""
    assert to_utf8(text.encode(encoding), None, "f.csv")[:2] == (text.encode(), encoding)


def test_a_guess_is_told():
    """An encoding that was not certain is in the notes, with the option that sets it."""
    assert "set encoding=" in to_utf8("ö".encode("cp1252"), None, "f.csv")[2][0]
    assert to_utf8("ö".encode("cp1252"), "cp1252", "f.csv")[2] == []


def test_set_encoding_wins():
    """The encoding that the caller names is taken, with or without its mark."""
    assert to_utf8("ł".encode("cp1250"), "cp1250", "f")[:2] == ("ł".encode(), "cp1250")
    assert to_utf8(codecs.BOM_UTF16_LE + "ł".encode("utf-16-le"), "utf-16", "f")[0] == "ł".encode()
    assert to_utf8(codecs.BOM_UTF8 + b"a", "utf-8", "f")[0] == b"a"
    assert to_utf8("ä".encode(), "latin-1", "f")[0] == "Ã¤".encode()


@pytest.mark.parametrize(
    ("mark", "encoding", "named"),
    [
        (codecs.BOM_UTF8, "utf-8", "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32"),
        (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be", "utf-32-be"),
    ],
)
def test_a_mark_is_no_text(mark, encoding, named):
    """The mark of an encoding is left out where the file is read in it, whether it was named or found."""
    data = mark + "łä".encode(encoding)
    assert to_utf8(data, named, "f")[0] == "łä".encode()
    assert to_utf8(data, None, "f")[0] == "łä".encode()


@pytest.mark.parametrize("encoding", ["klingon", "base64", "rot13", "undefined", "idna", "", "\0", "\ud800", 1252])
def test_what_is_no_encoding_of_files(encoding):
    """A name that Python knows no text encoding by is refused by name, whatever Python says of it."""
    with pytest.raises(ArgumentError, match="encoding must be an encoding such as utf-8 or cp1252") as caught:
        to_utf8(b"a", encoding, "f")
    assert repr(encoding) in str(caught.value)


@pytest.mark.parametrize("encoding", sorted({*encodings.aliases.aliases.values(), "punycode", "unicode_escape"}))
@pytest.mark.parametrize("data", [b"a-%b;\n1;2\n", bytes(range(256)), b"a\\ud800+2AA-\\", b"\xff\xfe\x00\xd8"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_encoding_reads_or_refuses(encoding, data):
    """With any encoding of Python, bytes become text or one clear line."""
    with contextlib.suppress(ArgumentError, InputError):
        assert to_utf8(data, encoding, "f")[0].decode()


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (
            "Büro\nHöhe\n".encode() + "Öl\n".encode("cp1252"),
            None,
            r"line 3: byte 0xD6 is no UTF-8.*mixed.*set encoding=",
        ),
        ("Büro\n".encode("cp1252") * 50 + "Öl\n".encode(), None, r"line 1: byte 0xFC .*mixed"),
        ("\n日本語\n".encode() + "Öl\n".encode("cp1252"), None, r"line 3: byte 0xD6 is no UTF-8.*mixed"),
        (codecs.BOM_UTF8 + b"a\n\xff\n", None, r"line 2: byte 0xFF is no utf-8"),
        (b"a\nb\n\xe4\n", "utf-8", r"line 3: byte 0xE4 is no utf-8; set encoding="),
        (b"a\n\x81\n", "cp1252", r"line 2: byte 0x81 is no cp1252"),
        (b"\nx\xb0y\n", None, r"line 2: byte 0xB0 is no UTF-8, and no other.*set encoding="),
        (b"a,b\nc,\0\n\0", None, r"line 2: the text has a NUL byte.*set encoding="),
        (b"+2AA-", "utf-7", r"is no utf-7 text; set encoding="),
    ],
)
def test_refusals(data, encoding, message):
    """Bytes that do not fit are named with their line."""
    with pytest.raises(InputError, match=message):
        to_utf8(data, encoding, "f.csv")


def test_chart_in_utf16(write):
    """Excel's "Unicode text", UTF-16 with tabs, is a chart without an option."""
    chart = read_chart_of_accounts(write("Konto\tBezeichnung\r\n0400\tBüro\r\n", "konten.txt", "utf-16"))
    assert chart[["code", "name"]].values.tolist() == [["0400", "Büro"]]
    assert chart.attrs["bktools"]["encoding"] == "utf-16-le"
