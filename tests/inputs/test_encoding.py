"""Encodings are found by evidence, and doubts are told."""

from __future__ import annotations

import codecs
import contextlib
import encodings.aliases
import os
import tomllib
import warnings
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from bktools.inputs.chart_of_accounts import read_chart_of_accounts
from bktools.inputs.entries import read_entries

from bktools.caller import command
from bktools.errors import ArgumentError, GuessedEncodingWarning, InputError
from bktools.inputs.encoding import to_utf8

# Read here: while a test runs, no setting of bktools is in the environment.
RUNS = int(os.environ.get("BKTOOLS_TEST_RUNS", "150"))
CHARTS_OF_LANGUAGES = tomllib.loads(Path(__file__).with_name("charts.toml").read_text(encoding="utf-8"))
ENCODINGS = [
    *(f"cp{number}" for number in range(1250, 1259)),
    *(f"iso8859-{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 15, 16)),
    *(f"cp{number}" for number in (437, 737, 775, 850, 852, 855, 857, 858, 861, 862, 863, 864, 865, 866)),
    *("koi8-r", "koi8-u", "mac_roman", "mac_latin2", "mac_cyrillic", "mac_greek", "mac_turkish"),
    *("mac_iceland", "cp932", "shift_jis", "euc_jp", "iso2022_jp", "gb18030", "gbk", "big5", "euc_kr"),
    *("cp949", "cp874", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"),
]


def outcome(text, encoding):
    """Return whether a text in an encoding is right, wrong or refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GuessedEncodingWarning)
            return "right" if to_utf8(text.encode(encoding), None, "f.csv")[0].decode() == text else "wrong"
    except InputError:
        return "refused"


def has_letters_of(encoding, text):
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def outcomes(texts, names):
    """Return the outcomes of texts in encodings with their letters: some, or BKTOOLS_TEST_RUNS."""
    cases = [(text, name) for text, name in product(texts, names) if has_letters_of(name, text)]
    step = max(1, len(cases) // RUNS)
    return {case: outcome(*case) for case in cases[::step]}


def test_charts_in_their_languages():
    """Charts of 36 languages in 59 encodings: none is read wrong, and 39 of 40 are read without an option."""
    found = outcomes(["\r\n".join(rows) for rows in CHARTS_OF_LANGUAGES.values()], ENCODINGS)
    counts = Counter(found.values())
    print(f"{len(CHARTS_OF_LANGUAGES)} charts, {len(ENCODINGS)} encodings: {dict(counts)}")
    assert [case for case, what in found.items() if what == "wrong"] == []
    assert counts["right"] > 39 * counts["refused"]


def test_a_few_accounts():
    """Two or three accounts alone are read right or refused, too."""
    names = ("cp1252", "cp1250", "cp1251", "cp1254", "cp1257", "iso8859-2", "cp850", "mac_roman", "gb18030")
    parts = [
        "\r\n".join([heading, *rows[at : at + 2]])
        for heading, *rows in CHARTS_OF_LANGUAGES.values()
        for at in (0, 4, 7)
    ]
    assert "wrong" not in outcomes(parts, names).values()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "Cuenta;Nombre\r\n430;Clientes 1º trimestre\r\n431;Pagos 2ª quincena\r\n572;Banco Nº 3",
            ["cp1252", "cp850"],
        ),
        ("Cuenta;Nombre\r\n5720;Banco nº 3\r\n6290;Otros gastos de gestión", ["iso8859-1", "cp850"]),
        (
            "Conta;Nome\r\n12;Depósitos à ordem\r\n62;Rendas do N.º 4\r\n63;Honorários Ex.ª Sr.ª Lima",
            ["cp1252", "mac_roman", "cp850"],
        ),
        (
            "Konto;Name\r\n1000;Kasse\r\n1200;Bank\r\n70001;Heinz Groß\r\n70002;Otto Weiß",
            ["cp1252", "iso8859-15"],
        ),
        ("Compte;Libelle\r\n512;Banque\r\n601;Coût des achats\r\n602;Achats", ["cp1252", "iso8859-1"]),
        ("Compte;Compte\r\n601;Coût", ["cp1252"]),
    ],
)
def test_plain_text_is_no_question(text, names):
    """Ordinals of Spanish and Portuguese, ß at a word's end and û in plain French are read as is."""
    assert [outcome(text, name) for name in names] == ["right"] * len(names)


def test_a_second_reading_is_enough_to_ask():
    """Two readings that are about as likely are a question, however unlikely the third one is."""
    text = "Konto;Bezeichnung\r\n4910;Porto und Gebühren\r\n8400;Erlöse 19 % USt"
    with pytest.raises(InputError, match="could be in several encodings"):
        to_utf8(text.encode("cp850"), None, "f.csv")


def test_a_refusal_shows_the_readings():
    """Where encodings are about as likely, a line is shown as each reads it, with the option."""
    with pytest.raises(InputError) as caught:
        to_utf8("Compte;Libellé\r\n530;Caisse 100 €".encode("iso8859-15"), None, "f.csv")
    assert str(caught.value).startswith("f.csv, line 1: byte 0xE9 is not valid UTF-8")
    assert "'530;Caisse 100 €' with encoding='iso8859-15'" in str(caught.value)
    assert "'530;Caisse 100 ¤' with encoding='cp1252'" in str(caught.value)
    with pytest.raises(InputError, match="could be in several encodings") as caught:
        to_utf8(
            "Konto;Nimetus\r\n1800;Põhivara soetusmaksumus\r\n2310;Võlad tarnijatele".encode("cp850"),
            None,
            "f.csv",
        )
    assert len(caught.value.details) == 2, "a third reading is far less likely"
    with pytest.raises(InputError, match=r"€' with encoding='iso8859-15'\n.*¤' with encoding='cp1252'"):
        to_utf8(f"Compte;Libellé\r\n530;{'Caisse ' * 20}100 €".encode("iso8859-15"), None, "f.csv")
    with (
        command({"encoding": "--encoding"}),
        pytest.raises(InputError, match="read it with --encoding iso8859-15\n'530;Cai"),
    ):
        to_utf8("Compte;Libellé\r\n530;Caisse 100 €".encode("iso8859-15"), None, "f.csv")


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        ("Büro ß", "utf-8", "utf-8"),
        ("Büro", "utf-8-sig", "utf-8-sig"),
        ("Büro and\nsome more", "utf-16-le", "utf-16-le"),
        ("Büro and\nsome more", "utf-16-be", "utf-16-be"),
        ("Ταμείο\n", "utf-16-le", "utf-16-le"),
        ("Ταμείο\n", "utf-16-be", "utf-16-be"),
    ],
)
def test_unicode_is_found(text, encoding, found):
    """Text in the forms of Unicode comes back as it was written."""
    assert to_utf8(text.encode(encoding), None, "f.csv") == (text.encode(), found)


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


@pytest.mark.parametrize(
    ("encoding", "text"), [(name, text) for name, texts in CHARTS.items() for text in texts]
)
def test_names_of_accounts_are_not_read_wrong(encoding, text):
    """A few names are read right or refused, whatever marks stand beside them."""
    assert outcome(text, encoding) in {"right", "refused"}


def test_a_guess_is_a_warning():
    """A likely encoding is a warning that names the option; one that was set is none."""
    data = "Konto;Name\n4910;Porto und Gebühren".encode("cp1252")
    with pytest.warns(GuessedEncodingWarning, match="read as cp1252.*with encoding='cp1252'"):
        assert to_utf8(data, None, "f.csv")[1] == "cp1252"
    assert to_utf8(data, "cp1252", "f.csv")[1] == "cp1252"


def test_set_encoding_wins():
    """The encoding that the caller names is taken, with or without its mark."""
    assert to_utf8("ł".encode("cp1250"), "cp1250", "f")[:2] == ("ł".encode(), "cp1250")
    assert to_utf8(codecs.BOM_UTF16_LE + "ł".encode("utf-16-le"), "utf-16", "f")[0] == "ł".encode()
    assert to_utf8(codecs.BOM_UTF8 + b"a", "utf-8", "f")[0] == b"a"
    assert to_utf8("ä".encode(), "latin-1", "f")[0] == "Ã¤".encode()


@pytest.mark.parametrize("order", ["le", "be"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_mark_says_the_order_of_bytes(encoding, order):
    """UTF-16 and UTF-32 with a mark are read in its order, whatever was named or found."""
    own = f"{encoding}-{order}"
    data = "\ufeffłódź;1\n".encode(own)
    for named in (encoding, own, encoding.replace("-", "_").upper(), None):
        assert to_utf8(data, named, "f") == ("łódź;1\n".encode(), own)


def test_a_mark_of_utf8_is_left_out():
    """The mark of UTF-8 is no part of the text, and the encoding is told with or without it."""
    assert to_utf8(codecs.BOM_UTF8 + b"a", "utf-8-sig", "f") == (b"a", "utf-8-sig")
    assert to_utf8(codecs.BOM_UTF8 + b"a", "utf-8", "f") == (b"a", "utf-8-sig")
    assert to_utf8(b"a", "utf-8-sig", "f") == (b"a", "utf-8-sig")
    assert to_utf8(codecs.BOM_UTF8 + b"a", "cp1252", "f") == ("ï»¿a".encode(), "cp1252")


@pytest.mark.parametrize(
    "encoding", ["klingon", "base64", "rot13", "undefined", "idna", "", "\0", "\ud800", 1252]
)
def test_what_is_no_encoding_of_files(encoding):
    """A name that Python knows no text encoding by is refused by name, whatever Python says of it."""
    with pytest.raises(ArgumentError, match="encoding must be an encoding such as utf-8 or cp1252"):
        to_utf8(b"a", encoding, "f")


@pytest.mark.parametrize(
    "data", [b"a-%b;\n1;2\n", bytes(range(256)), b"a\\ud800+2AA-\\", b"\xff\xfe\x00\xd8"]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_encoding_reads_or_refuses(data):
    """With any encoding of Python, bytes become text or one clear line."""
    for encoding in {*encodings.aliases.aliases.values(), "punycode", "unicode_escape"}:
        with contextlib.suppress(ArgumentError, InputError):
            assert to_utf8(data, encoding, "f")[0].decode()


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (
            "Büro\nHöhe\n".encode() + "Öl\n".encode("cp1252"),
            None,
            r"line 3: byte 0xD6 is not valid UTF-8.*mixed.*set encoding=",
        ),
        ("Büro\n".encode("cp1252") * 50 + "Öl\n".encode(), None, r"line 1: byte 0xFC .*mixed"),
        (
            "\n日本語\n".encode() + "Öl\n".encode("cp1252"),
            None,
            r"line 3: byte 0xD6 is not valid UTF-8.*mixed",
        ),
        (codecs.BOM_UTF8 + b"a\n\xff\n", None, r"line 2: byte 0xFF is not valid utf-8"),
        (b"a\nb\n\xe4\n", "utf-8", r"line 3: byte 0xE4 is not valid utf-8; set encoding="),
        (b"a\n\x81\n", "cp1252", r"line 2: byte 0x81 is not valid cp1252"),
        (b"\nx\xb0y\n", None, r"line 2: byte 0xB0 is not valid UTF-8, and no other.*set encoding="),
        (b"a,b\nc,\0\n", None, r"line 2: the text has a NUL byte"),
    ],
)
def test_refusals(data, encoding, message):
    """Bytes that do not fit are named with their line."""
    with pytest.raises(InputError, match=message):
        to_utf8(data, encoding, "f.csv")


@pytest.mark.filterwarnings("ignore::bktools.errors.GuessedEncodingWarning")
@pytest.mark.parametrize("text", ["Café ?", "Caf?", "Déjeuner d?affaires"])
def test_a_space_of_windows_between_thousands(write, text):
    """A no-break space in amounts and a question mark where a letter was lost are text of Windows."""
    path = write(
        f"Date;Amount;Text\n2026-10-01;1\xa0234,50;{text}\n2026-10-02;2\xa0000,00;x\n", encoding="cp1252"
    )
    read = read_entries(path)
    assert read.attrs["bktools"]["encoding"] == "cp1252"
    assert read["amount"].to_list() == [1234.5, 2000.0]
    assert read["description"][0] == text


def test_romanian_with_commas_or_cedillas(write):
    """The bytes are the same: the likelier reading is taken with a warning that shows the other."""
    text = (
        "Simbol cont;Denumire\n101;Capital social și rezerve\n401;Furnizori și creditori\n628;Deplasări "
        "și detașări\n"
    )
    path = write(text, encoding="iso8859-16")
    with pytest.warns(GuessedEncodingWarning, match="Capital social și rezerve' with encoding='iso8859-16'"):
        read_chart_of_accounts(path)
    names = read_chart_of_accounts(path, encoding="iso8859-16")["name"].tolist()
    assert names == ["Capital social și rezerve", "Furnizori și creditori", "Deplasări și detașări"]


@pytest.mark.parametrize(
    ("mark", "chosen", "of_mark"),
    [
        (codecs.BOM_UTF16_BE, "utf-16-le", "utf-16-be"),
        (codecs.BOM_UTF16_LE, "utf-16-be", "utf-16-le"),
        (codecs.BOM_UTF16_LE, "utf-8", "utf-16-le"),
        (codecs.BOM_UTF8, "utf-16-le", "utf-8"),
    ],
)
def test_a_mark_that_says_otherwise_is_named(mark, chosen, of_mark):
    """Unicode of another form than the mark says would be other letters: refused in one line."""
    data = mark + "Code;Name\n0400;Bank\n".encode(of_mark)
    with pytest.raises(
        InputError, match=rf"^f: .* the mark of {of_mark}, not of {chosen}: leave encoding= out$"
    ):
        to_utf8(data, chosen, "f")
    assert to_utf8(data, of_mark, "f")[0].startswith(b"Code;Name")
