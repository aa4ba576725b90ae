"""Files of every make: workbooks, Parquet, and what is no table at all."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter
from bktools.inputs.chart_of_accounts import read_chart_of_accounts
from bktools.inputs.entries import read_entries

from bktools.errors import ArgumentError, InputError

ENTRY = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"


@pytest.fixture
def workbook(tmp_path):
    """Write sheets of rows, text as text and numbers as numbers, and return the path."""

    def workbook(sheets, name="chart.xlsx"):
        path = tmp_path / name
        with xlsxwriter.Workbook(path) as book:
            form = book.add_format({"num_format": "dd.mm.yyyy"})
            for title, rows in sheets.items():
                sheet = book.add_worksheet(title)
                for at, row in enumerate(rows):
                    for place, cell in enumerate(row):
                        if isinstance(cell, dt.date):
                            sheet.write_datetime(at, place, cell, form)
                        elif isinstance(cell, str):
                            sheet.write_string(at, place, cell)
                        elif cell is not None:
                            sheet.write(at, place, cell)
        return path

    return workbook


def test_workbook_chart(workbook):
    """Text cells stay text, number cells have no decimals, and the sheet with the headings is found."""
    rows = [
        ["Kontenplan"],
        [],
        ["Konto", "Bezeichnung", "Aktiv"],
        ["0400", " Maschinen \n", True],
        [],
        [401, "=Formel", False],
        ["0420", "NA", True],
    ]
    chart = read_chart_of_accounts(workbook({"Info": [["Stand", "heute"]], "Konten": rows}))
    assert chart["code"].tolist() == ["0400", "401", "0420"]
    assert chart["name"].tolist() == [" Maschinen \n", "=Formel", "NA"]
    assert chart["archived"].tolist() == [False, True, False]
    assert chart["line"].tolist() == [4, 6, 7]
    seen = chart.attrs["bktools"]
    assert (seen["sheet"], seen["heading_line"]) == ("Konten", 3)
    assert "read the sheet 'Konten'; not read: 'Info'" in seen["notes"]
    assert any(note.endswith("kept as they are: 1 (line 6)") for note in seen["notes"])


def test_workbook_sheet_is_chosen(workbook):
    """A sheet is chosen by its name or position, and one that is not there is named with those that are."""
    path = workbook({"A": [["Code", "Name"], ["1", "a"]], "B": [["Code", "Name"], ["2", "b"]]})
    assert read_chart_of_accounts(path)["code"].tolist() == ["1"]
    for sheet, code in (("B", "2"), (0, "1"), (1, "2")):
        assert read_chart_of_accounts(path, sheet=sheet)["code"].tolist() == [code]
    with pytest.raises(InputError, match="there is no sheet 'C'; found: 'A', 'B'"):
        read_chart_of_accounts(path, sheet="C")
    with pytest.raises(InputError, match="there is no sheet 2, positions are 0 to 1"):
        read_chart_of_accounts(path, sheet=2)
    with pytest.raises(ArgumentError, match="delimiter does not apply"):
        read_chart_of_accounts(path, delimiter=";")


def test_workbook_entries(workbook):
    """Cells of numbers are amounts with a point, dates are dates, and sums show no binary digits."""
    rows = [
        ["id", "company_id", "date", "amount"],
        [ENTRY, COMPANY, dt.date(2026, 10, 31), 1234.567],
        [ENTRY, COMPANY, dt.datetime(2026, 3, 4, 12, 30), 0.1 + 0.2],  # noqa: DTZ001 - Excel knows no zones
        [ENTRY, COMPANY, None, 1e15],
    ]
    entries = read_entries(workbook({"A": rows}))
    assert entries["amount"].tolist() == [1234.567, 0.3, 1000000000000000.0]
    assert entries["date"].tolist()[:2] == [pd.Timestamp(2026, 10, 31), pd.Timestamp(2026, 3, 4)]
    assert entries["date"].isna().tolist() == [False, False, True]


def test_content_counts_not_the_name(workbook, write):
    """A workbook named .csv and text named .xls are read by their content, and a note says so."""
    rows = [["Code", "Name"], ["0400", "a"]]
    chart = read_chart_of_accounts(workbook({"A": rows}, name="chart.csv"))
    assert chart["code"].tolist() == ["0400"]
    assert "read as a workbook file by its content" in chart.attrs["bktools"]["notes"][0]
    chart = read_chart_of_accounts(write("Code\tName\n0400\ta\n", "chart.xls"))
    assert chart["code"].tolist() == ["0400"]
    assert "read as a text file by its content" in chart.attrs["bktools"]["notes"][0]


def test_parquet_chart(tmp_path):
    """Parquet text stays text, numbers with nulls are whole numbers again, nulls are empty."""
    frame = pd.DataFrame(
        {"code": ["0400", "0401"], "name": ["a ", "NA"], "Tax Code": [9.0, None], "extra": [[1], [2]]}
    )
    frame.to_parquet(tmp_path / "chart.parquet")
    chart = read_chart_of_accounts(tmp_path / "chart.parquet")
    assert chart["code"].tolist() == ["0400", "0401"]
    assert chart["name"].tolist() == ["a ", "NA"]
    assert chart["tax_code_external_id"].tolist()[0] == "9"
    assert chart["tax_code_external_id"].isna().tolist() == [False, True]
    assert chart["line"].tolist() == [2, 3]
    assert "columns that are no text are not read: extra" in chart.attrs["bktools"]["notes"]


def test_parquet_entries(tmp_path):
    """Decimals come through exactly, tiny ones too, and timestamps are their dates."""
    table = pa.table(
        {
            "id": [ENTRY, ENTRY],
            "company_id": [COMPANY, COMPANY],
            "amount": pa.array([Decimal("0E-10"), Decimal("-1234.0000000001")], pa.decimal128(20, 10)),
            "date": pa.array(
                [dt.datetime(2026, 10, 31, 23, tzinfo=dt.UTC), None], pa.timestamp("us", tz="UTC")
            ),
        }
    )
    pq.write_table(table, tmp_path / "entries.parquet")
    entries = read_entries(tmp_path / "entries.parquet")
    assert entries["amount"].tolist() == [Decimal("0E-10"), -1234.0000000001]
    assert entries["date"].iloc[0] == pd.Timestamp(2026, 10, 31)
    assert entries["date"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "the file is empty"),
        ("a.xlsx", b"PK\x03\x04 broken", "is not a readable workbook"),
        ("a.csv", b"PK\x03\x04 broken", "is not a readable workbook"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 600, "is not a readable workbook"),
        ("a.parquet", b"PAR1 broken PAR1", "is not a readable Parquet file"),
        ("a.docx", b"PK\x03\x04", r"has none of the suffixes .csv"),
        ("a", b"Code,Name\n", r"has none of the suffixes"),
    ],
)
def test_what_is_no_table(write, name, content, message):
    """What cannot be a table is refused in one line that says what it is."""
    path = write(content, name)
    with pytest.raises(InputError, match=message) as caught:
        read_chart_of_accounts(path)
    assert str(caught.value).startswith(f"{path}: {message[:2]}")
    assert "\n" not in str(caught.value)


def test_what_is_not_there(tmp_path):
    """A missing file and a folder are told apart."""
    with pytest.raises(InputError, match=r"missing\.csv: there is no such file$"):
        read_chart_of_accounts(tmp_path / "missing.csv")
    with pytest.raises(InputError) as caught:
        read_chart_of_accounts(tmp_path)
    assert str(caught.value) == f"{tmp_path}: is a directory, not a file"
    with pytest.raises(InputError, match="cannot be read"):
        read_chart_of_accounts("nul\0byte.csv")


def test_empty_workbook(workbook):
    """A workbook without a cell, and one with headings alone, are told."""
    with pytest.raises(InputError, match="the workbook has no cells"):
        read_chart_of_accounts(workbook({"A": []}))
    with pytest.raises(InputError, match="headings but no rows"):
        read_chart_of_accounts(workbook({"A": [["Code", "Name"]]}))


def test_a_delimiter_that_was_named(write):
    """Any one character may be the delimiter; a quote, a line's end or two characters are refused."""
    for delimiter in "|¢ §":
        chart = read_chart_of_accounts(
            write(f"Konto{delimiter}Name\n0400{delimiter}Büro;Haus\n"), delimiter=delimiter
        )
        assert chart[["code", "name"]].to_numpy().tolist() == [["0400", "Büro;Haus"]]
    for delimiter in ("\0", '"', "\n", ";;", ""):
        with pytest.raises(ArgumentError, match="delimiter must be one character"):
            read_chart_of_accounts(write("Konto;Bezeichnung\n0400;Büro\n"), delimiter=delimiter)


def test_a_workbook_whose_errors_are_seen_has_no_note_of_it(workbook):
    """In a workbook whose broken cells can be told from empty ones, no note says that they cannot."""
    chart = read_chart_of_accounts(workbook({"chart": [["Konto", "Bezeichnung"], ["0400", "Büro"]]}))
    assert not any("look empty" in note for note in chart.attrs["bktools"]["notes"])


def test_workbook_without_headings(workbook):
    """Its columns are asked for; its first row is an account, as a note shows, and an empty one is none."""
    path = workbook({"Plan": [["0400", "Maschinen"], [], ["1200", "Bank"], ["4930", "Konto"]]})
    with pytest.raises(InputError, match="of the sheet 'Plan' would be read from 3 rows"):
        read_chart_of_accounts(path)
    chart = read_chart_of_accounts(path, columns={"code": "column 1", "name": "column 2"})
    assert chart["code"].tolist() == ["0400", "1200", "4930"]
    assert chart["line"].tolist() == [1, 3, 4]
    assert "its first row ('0400', 'Maschinen') is data" in "".join(chart.attrs["bktools"]["notes"])


def test_a_refusal_lists_the_sheets_that_were_not_taken(workbook):
    """Where no sheet has what is needed, each is told with its reason, and the option to choose."""
    path = workbook(
        {
            "Deckblatt": [["Nordlicht GmbH"]],
            "Leer": [],
            "Konten": [["Konto", "Wert"], ["0400", "x"], ["0500", "y"]],
            "Namen": [["Bezeichnung"], ["Bank"]],
        }
    )
    with pytest.raises(InputError) as caught:
        read_chart_of_accounts(path)
    assert str(caught.value).endswith(
        "\nread the sheet 'Konten' with 1 known heading; 'Deckblatt' has no known headings, "
        "'Leer' is empty, 'Namen' has 1 known heading: choose one with sheet='Namen'"
    )
    with pytest.raises(InputError) as caught:
        read_chart_of_accounts(path, sheet="Konten")
    assert "Deckblatt" not in str(caught.value)


@pytest.mark.parametrize("amounts", [[0.0000001, 0.25], [1.234, None]])
def test_numbers_of_a_workbook(workbook, amounts):
    """A number that Excel stores as 1E-07 has all its decimals, and an empty cell makes no text of others."""
    rows = [[ENTRY, COMPANY, amount] for amount in amounts]
    read = read_entries(workbook({"A": [["id", "company_id", "amount"], *rows]}))["amount"]
    assert read.dropna().tolist() == [amount for amount in amounts if amount is not None]


def test_tiny_and_missing_numbers_of_a_parquet_file(tmp_path):
    """Beside a number with an exponent, a missing one is missing and the others are themselves."""
    table = pa.table({"id": [ENTRY] * 3, "company_id": [COMPANY] * 3, "amount": [1e-7, None, 2.5]})
    pq.write_table(table, tmp_path / "entries.parquet")
    amounts = read_entries(tmp_path / "entries.parquet")["amount"]
    assert amounts.isna().tolist() == [False, True, False]
    assert amounts.dropna().tolist() == [1e-07, 2.5]


@pytest.mark.parametrize("heading", [3, ["Konto"], b"Konto"])
def test_a_column_is_named_by_text(write, heading):
    """A heading that is no text is the caller's mistake, and named with its field."""
    with pytest.raises(ArgumentError, match=r"columns\['code'\] must be a heading of the file"):
        read_chart_of_accounts(write("Konto;Name\n1;a\n"), columns={"code": heading})


def test_options_of_another_kind_of_file_are_refused(tmp_path, write):
    """Encoding, delimiter and sheet of a Parquet file, and the sheet of a text, are refused, not ignored."""
    pq.write_table(pa.table({"Konto": ["1"], "Name": ["a"]}), tmp_path / "chart.parquet")
    assert read_chart_of_accounts(tmp_path / "chart.parquet")["code"].tolist() == ["1"]
    for name, value in (("encoding", "utf-8"), ("delimiter", ";"), ("sheet", 0)):
        with pytest.raises(ArgumentError, match=f"{name} does not apply to .*, a Parquet file"):
            read_chart_of_accounts(tmp_path / "chart.parquet", **{name: value})
    with pytest.raises(ArgumentError, match=r"sheet does not apply to .*, got .A.$"):
        read_chart_of_accounts(write("Code,Name\n1,a\n"), sheet="A")
