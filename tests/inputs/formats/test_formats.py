"""The table of formats: files of each as people have them, unread ones, and hostile ones."""

from __future__ import annotations

import io
import json
import time
import zipfile
from pathlib import Path
from random import Random

import pytest
import warm

import bktools
from bktools.caller import command
from bktools.errors import ArgumentError, InputError, QuestionError
from bktools.inputs.formats.registry import FORMATS, recognised
from bktools.inputs.raw.source import Source

FILES = Path(__file__).parent / "files"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


def postings(path, **options):
    """Return date, account and amount of each posting as text."""
    frame = bktools.read_general_ledger(path, **options)
    rows = frame[["date", "account_code", "amount"]].itertuples(index=False)
    return [[f"{date:%Y-%m-%d}", code, f"{amount:.2f}"] for date, code, amount in rows]


@pytest.mark.parametrize("name", [name for name, said in EXPECTED.items() if "accounts" in said])
def test_charts_of_files_as_people_have_them(name):
    """Codes, names and encoding are those that are written beside the file."""
    chart = bktools.read_chart_of_accounts(FILES / name)
    assert chart[["code", "name"]].values.tolist() == EXPECTED[name]["accounts"]
    assert chart.attrs["bktools"]["encoding"] in {EXPECTED[name]["encoding"], None}


@pytest.mark.parametrize("name", [name for name, said in EXPECTED.items() if "postings" in said])
def test_ledgers_of_files_as_people_have_them(name):
    """Date, account and signed amount are those that are written beside the file."""
    assert postings(FILES / name) == EXPECTED[name]["postings"]


# By file: a place in its head, and what says there when it was exported.
HEADS = {
    "accounts.se": (b"#GEN 20261101", b"#GEN %s", b"20261103"),
    "datev_postings.csv": (b"20261101120000000", b"%s", b"20261103093000000"),
    "saft.xml": (
        b"<AuditFileVersion>",
        b"<AuditFileDateCreated>%s</AuditFileDateCreated><AuditFileVersion>",
        b"2026-11-03",
    ),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_file_says_when_it_was_exported(tmp_path, name):
    """The date in the head of a ledger is kept and noted; one that is no date is none."""
    place, head, day = HEADS[name]
    for written, expected in ((day, "2026-11-03"), (b"someday", None)):
        (tmp_path / name).write_bytes((FILES / name).read_bytes().replace(place, head % written))
        about = bktools.read_general_ledger(tmp_path / name).attrs["bktools"]
        assert about["exported_at"] == expected
        assert any("2026-11-03" in note for note in about["notes"]) == (expected is not None)


def test_every_format_is_met():
    """Each of the files above is of another line of the table, and a plain table is of none."""
    found = {recognised(Source(FILES / name, "ledger")) for name in EXPECTED}
    assert found == {"SIE", "FEC", "DATEV", "SAF-T"} <= {*FORMATS}
    assert recognised(Source(FILES / "expected.json", "ledger")) is None


@pytest.mark.parametrize("argument", ["columns", "delimiter", "sheet", "decimal", "date_format"])
def test_what_a_format_states_is_not_an_argument(argument):
    """An argument that is for tables is refused for a format that says it itself."""
    value = {"columns": {"text": "Buchungstext"}, "decimal": ","}.get(argument, ";")
    with pytest.raises(ArgumentError, match=rf"{argument} does not apply to a file of the format DATEV"):
        bktools.read_general_ledger(FILES / "datev_postings.csv", **{argument: value})
    with pytest.raises(ArgumentError, match="delimiter does not apply to a file of the format SIE"):
        bktools.read_chart_of_accounts(FILES / "accounts.se", delimiter=";")


def zipped(*names):
    """Return an archive with empty members of these names."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in names:
            archive.writestr(name, b"")
    return data.getvalue()


MT940 = b":20:STARTUMS\r\n:25:10020030/1234567\r\n:28C:1/1\r\n:60F:C261001EUR1,00\r\n"
CAMT = (
    b'<?xml version="1.0"?><Document '
    b'xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt/></Document>'
)
JPK = (
    b'<?xml version="1.0"?><JPK xmlns="http://x/"><Naglowek><KodFormularza '
    b'kodSystemowy="%s">JPK</KodFormularza>'
)

NOT_READ = [
    ("a.sta", MT940, "an MT940 bank statement"),
    ("a.txt", b"{1:F01BANKDEFFXXXX0000000000}{2:O940}{4:\r\n" + MT940, "an MT940 bank statement"),
    ("a.xml", CAMT, "a CAMT bank statement"),
    ("a.bai", b"01,A,B,261003,0830,1,80,1,2/\n02,B,A,1,261003,,USD,2/\n", "a BAI2 bank statement"),
    ("a.ofx", b"OFXHEADER:100\r\nDATA:OFXSGML\r\n", "an OFX bank statement"),
    ("b.ofx", b'<?xml version="1.0"?><?OFX OFXHEADER="200"?><OFX></OFX>', "an OFX bank statement"),
    ("a.qif", b"!Type:Bank\nD10/03/2026\nT-12.50\n^\n", "a QIF file"),
    ("a.csv", b"%PDF-1.7\n", "a PDF document"),
    ("a.xls", b"<html><body><table><tr><td>1</td></tr></table>", "an HTML page"),
    ("b.xls", b"\xef\xbb\xbf<!DOCTYPE html>\n<table>", "an HTML page"),
    ("c.xls", b'<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet">', "an Excel 2003 XML"),
    ("a.numbers", zipped("Index/Document.iwa"), "an Apple Numbers document"),
    ("a.7z", b"7z\xbc\xaf\x27\x1c\x00\x04", "a 7z archive"),
    ("a.accdb", b"\x00\x01\x00\x00Standard ACE DB\x00", "a Microsoft Access database"),
    ("a.sqlite", b"SQLite format 3\x00" + bytes(84), "a SQLite database"),
    ("a.eml", b"Return-Path: <a@example.com>\r\nSubject: chart\r\n", "a mail"),
    ("a.docx", zipped("[Content_Types].xml", "word/document.xml"), "a Word document"),
    ("a.json", b'{"accounts": []}', "a JSON file"),
    ("b.json", b'\n [\n{"code": 1}]', "a JSON file"),
    ("b.csv", b"gl-cor:entryNumber,gl-cor:accountMainID,gl-cor:amount\nJE-1,5800,1.50\n", "an XBRL GL file"),
    ("a.png", b"\x89PNG\r\n\x1a\n", "a picture"),
    ("b.xml", JPK % b"JPK_V7M (2)", "a JPK file of another kind than ledgers"),
    ("c.xml", JPK % b"JPK_KR_PD (1)", "a JPK_KR_PD file"),
    ("a.xaf", b'<auditfile xmlns="http://www.auditfiles.nl/XAF/3.2">', "a Dutch XML Auditfile"),
    ("a.si", b'<?xml version="1.0"?><Sie xmlns="http://www.sie.se/sie5">', "a SIE 5 file"),
    (
        "e.xml",
        b'<?xml version="1.0"?><!DOCTYPE x [' + b" " * 70_000,
        "an XML file of a format that is not known here",
    ),
    ("d.xml", b'<?xml version="1.0"?><other/>', "an XML file of a format that is not known here"),
]


@pytest.mark.parametrize(
    ("name", "data", "kind"), NOT_READ, ids=[f"{name}-{kind}" for name, _, kind in NOT_READ]
)
def test_what_is_not_read_is_named(write, name, data, kind):
    """A file that is recognised and not read is named, with a way out, by every reader of files."""
    path = write(data, name)
    for read in (bktools.read_chart_of_accounts, bktools.read_general_ledger, bktools.read_entries):
        with pytest.raises(InputError) as caught:
            read(path)
        assert f": this is {kind}" in str(caught.value)
        assert ", which is not read here: " in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        ":20: code,name\n1000,Cash\n",
        "[Account_Code],[Account_Value]\n1000,Cash\n",
        "01,code,name\n1000,Cash,x\n",
        "From,Code,Name\na,1000,Cash\n",
        "code,name\n%PDF,Cash\n",
        "<code>,name\n1000,Cash\n",
    ],
)
def test_a_table_is_not_taken_for_something_else(write, text):
    """Tables that begin a little like a format are of none, and are not refused as another kind of file."""
    path = write(text)
    assert recognised(Source(path, "ledger")) is None
    Source(path, "ledger").refuse_not_read()


BOMB = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
HOSTILE_XML = {
    "entity bomb": (
        f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "lol">{BOMB}]><AuditFile>&l11;</AuditFile>',
        "xml, line 1: has a document type (<!DOCTYPE",
    ),
    "quadratic entity": (
        (
            '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a '
            f'"{"a" * 50_000}">]><AuditFile>{"&a;" * 10_000}</AuditFile>'
        ),
        "xml, line 1: has a document type (<!DOCTYPE",
    ),
    "entity of another file": (
        '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]><AuditFile>&a;</AuditFile>',
        "xml, line 1: has a document type (<!DOCTYPE",
    ),
    "too deep": ("<AuditFile>" + "<a>" * 100_000, "xml, line 1: elements are nested more than 64 deep"),
    "a text of 20 MB": ("<AuditFile><Header><CurrencyCode>" + "x" * (20 << 20), "the XML ends too early"),
    "a tag of 20 MB": ('<AuditFile a="' + "x" * (20 << 20), "the XML ends too early"),
    "cut off": ("<AuditFile><Header><CurrencyCode>EUR", "the XML ends too early"),
    "not well-formed": ("<AuditFile><Header></AuditFile>", "is not well-formed XML"),
    "NUL": ("<AuditFile>\0</AuditFile>", "is not well-formed XML"),
    "unknown encoding": ('<?xml version="1.0" encoding="klingon"?><AuditFile/>', "XML"),
    "nothing in it": ("<AuditFile></AuditFile>", "is a SAF-T file without"),
    "nothing in a JPK": ((JPK % b"JPK_KR (1)").decode() + "</Naglowek></JPK>", "is a JPK_KR file without"),
}


@pytest.mark.parametrize("name", HOSTILE_XML)
def test_xml_that_means_harm(write, name):
    """Damaged XML, or XML that takes memory or time, is one line within a few seconds of processor time."""
    text, why = HOSTILE_XML[name]
    path = write(text, "a.xml")
    begun = time.process_time()
    for read in (bktools.read_chart_of_accounts, bktools.read_general_ledger):
        with pytest.raises(InputError) as caught:
            read(path)
        assert why in str(caught.value)
        assert "\n" not in str(caught.value)
    assert time.process_time() - begun < 4


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", EXPECTED)
def test_any_damage(tmp_path, name):
    """Bytes cut off, changed, removed or repeated: a file is read, or refused in one line."""
    random = Random(name)
    whole = (FILES / name).read_bytes()
    path = tmp_path / name
    refused = 0
    for _ in range(20):
        data = bytearray(whole)
        for _ in range(random.randint(1, 3)):
            at, length = random.randrange(len(data)), random.randint(1, 60)
            damage = random.choice(("cut", "change", "leave out", "repeat"))
            if damage == "cut":
                del data[max(at, 1) :]
            elif damage == "change":
                data[at] = random.randrange(256)
            elif damage == "leave out":
                del data[at : at + length]
            else:
                data[at:at] = data[at : at + length]
            data = data or bytearray(b"#")
        path.write_bytes(data)
        for read in (bktools.read_general_ledger, bktools.read_chart_of_accounts):
            try:
                read(path)
            except InputError as error:
                # A file whose mark is damaged is a table, which is asked about.
                assert isinstance(error, QuestionError) or "\n" not in error.args[0]  # noqa: PT017 - some are read
                refused += 1
    assert refused > 6


def growth(small, large):
    """Read a small and a large ledger; yield the large one's rows, and the peak's growth in megabytes."""

    def peak():
        return int(Path("/proc/self/status").read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0])

    bktools.read_general_ledger(small)
    before = peak()
    yield len(bktools.read_general_ledger(large)), (peak() - before) // 1024


@pytest.mark.long
def test_memory_of_a_large_saft_file(tmp_path):
    """SAF-T is streamed: 15 MB take no more memory than the returned postings, far less than a tree."""
    path = tmp_path / "large.xml"
    line = (
        "<Line><RecordID>1</RecordID><AccountID>{}</AccountID><Analysis><AnalysisType>A</AnalysisType></Analysis>"
        "<Description>{}</Description><{}Amount><Amount>1.00</Amount></{}Amount></Line>" + " " * 200 + "\n"
    )
    transactions = 18_000
    with path.open("w", encoding="utf-8") as file:
        file.write("<AuditFile><Header><CurrencyCode>EUR</CurrencyCode></Header><GeneralLedgerEntries>")
        file.write(
            f"<NumberOfEntries>{transactions}</NumberOfEntries><TotalDebit>{transactions}.00</TotalDebit><Journal>"
        )
        for number in range(transactions):
            file.write(
                f"<Transaction><TransactionID>{number}</TransactionID><TransactionDate>2026-10-07</TransactionDate>"
            )
            file.write(
                line.format(7140, number, "Debit", "Debit") + line.format(1920, number, "Credit", "Credit")
            )
            file.write("</Transaction>")
        file.write("</Journal></GeneralLedgerEntries></AuditFile>")
    # The peak of a process that did not grow before: the small file loads all libraries.
    rows, megabytes = warm.result(growth, FILES / "saft.xml", path)
    print(f"{path.stat().st_size >> 20} MB of SAF-T: {rows:,} postings in {megabytes} MB")
    assert rows == 2 * transactions
    assert megabytes < 50


@pytest.mark.parametrize(
    "name", ["accounts.se", "000000000FEC20261231.txt", "datev_postings.csv", "saft.xml"]
)
def test_a_general_ledger_is_no_file_of_entries(name):
    """A general ledger's format is refused as entries in one line, with its format and reader."""
    with pytest.raises(
        InputError, match=r"general ledger.* (SIE|FEC|DATEV|SAF-T), .* with read_general_ledger$"
    ):
        bktools.read_entries(FILES / name)
    with command({}), pytest.raises(InputError, match=r"read it with bktools ledger$"):
        bktools.read_entries(FILES / name)
