"""Charts of accounts in the forms that ERPs write."""

from __future__ import annotations

import pytest
from bktools.inputs.chart_of_accounts import read_chart_of_accounts

from bktools.errors import ArgumentError, InputError
from bktools.frames import schema

COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
OTHER = "7c9e6679-7425-40de-944b-e07fc1f90ae7"


def notes(chart):
    return "\n".join(chart.attrs["bktools"]["notes"])


def nulls(chart, field):
    return chart[field].isna().tolist()


def test_german_chart(write):
    """A German export with BOM, CRLF and German yes needs no option, and says what it is."""
    path = write(
        "\ufeffKonto;Bezeichnung;Art;Steuerschlüssel;Aktiv\r\n"
        "0400;Technische Anlagen ;Bestand;9;ja\r\n"
        '1200;"Bank; ""Haus""";Bestand;;nein\r\n',
        name="konten.csv",
    )
    chart = read_chart_of_accounts(path, company=COMPANY.upper())
    assert list(chart.columns) == schema.CHART.names
    assert chart["external_id"].tolist() == chart["code"].tolist() == ["0400", "1200"]
    assert chart["name"].tolist() == ["Technische Anlagen ", 'Bank; "Haus"']
    assert chart["archived"].tolist() == [False, True]
    assert chart["archived"].dtype == bool
    assert chart["tax_code_external_id"].iloc[0] == "9"
    assert nulls(chart, "tax_code_external_id") == [False, True]
    assert chart["company_id"].tolist() == [COMPANY, COMPANY]
    assert chart["type"].tolist() == ["Bestand", "Bestand"]
    assert chart["line"].tolist() == [2, 3]
    seen = chart.attrs["bktools"]
    assert seen["columns"] == {
        "external_id": "Konto",
        "code": "Konto",
        "name": "Bezeichnung",
        "type": "Art",
        "tax_code_external_id": "Steuerschlüssel",
        "active": "Aktiv",
    }
    form = {"delimiter": ";", "encoding": "utf-8-sig", "heading_line": 1, "rows": 2}
    assert form.items() <= seen.items()
    assert seen["source"] == str(path)
    assert len(seen["sha256"]) == 64
    assert seen["notes"] == []


@pytest.mark.parametrize(
    ("headings", "archived", "yes"),
    [
        ("*Code,*Name", None, None),
        ("Account #,Account Name,Inactive", True, "Yes"),
        ("Account No.,Description,Active", False, "TRUE"),
        ("No.,Name,Blocked", True, "Yes"),
        ("Konto-Nr.;Kontobeschriftung;Gesperrt", True, "X"),
        ("Kontonummer;Kontobezeichnung;Aktiv", False, "Ja"),
        ("Numéro de compte;Intitulé du compte;Actif", False, "oui"),
        ("CompteNum|CompteLib", None, None),
        ("Código de cuenta;Nombre de la cuenta;Activo", False, "Sí"),
        ("Grootboekrekening;Omschrijving;Geblokkeerd", True, "ja"),
        ("Kontonummer;Benämning;Aktiv", False, "ja"),
        ("Kontonr.;Kontonavn;Spærret", True, "ja"),
        ("Kontonummer;Navn;Sperret", True, "ja"),
        ("Numer konta;Nazwa konta;Aktywne", False, "tak"),
        ("Codice conto;Descrizione;Attivo", False, "sì"),
        ("KONTO\tBEZEICHNUNG", None, None),
    ],
)
def test_headings_in_ten_languages(write, headings, archived, yes):
    """Code, name and flag are found by their headings in ten languages, whatever the delimiter."""
    delimiter = next(one for one in ";|\t," if one in headings)
    row = ["0010", "Kassa"] + ([yes] if yes else [])
    chart = read_chart_of_accounts(write(f"{headings}\n{delimiter.join(row)}\n"))
    assert chart[["code", "name"]].values.tolist() == [["0010", "Kassa"]]
    assert chart["archived"].tolist() == [bool(archived)]
    assert chart.attrs["bktools"]["delimiter"] == delimiter


def test_text_is_kept_to_the_letter(write):
    """Zeros, spaces, newlines, emoji, right-to-left text, formulas and words that look like nulls stay."""
    rtl = "\u05e7\u05d5\u05e4\u05d4 \u202e"
    names = [" a ", "b\r\nc\nd", "\U0001f4b6", rtl, "=1+1", "NA", "null", 'q"q', "'0"]
    rows = "".join(f'00{at},"{name.replace(chr(34), chr(34) * 2)}"\r\n' for at, name in enumerate(names))
    chart = read_chart_of_accounts(write("Code,Name\r\n" + rows))
    assert chart["name"].tolist() == names
    assert chart["code"].tolist() == [f"00{at}" for at in range(len(names))]
    assert chart["line"].tolist() == [2, 3, 6, 7, 8, 9, 10, 11, 12]


def test_external_id_beside_code(write):
    """A column of its own for the external ID is taken, and codes may then repeat."""
    chart = read_chart_of_accounts(write("External ID,Code,Name\nA-1,400,x\nA-2,400,y\n"))
    assert chart["external_id"].tolist() == ["A-1", "A-2"]
    assert chart["code"].tolist() == ["400", "400"]


def test_title_lines_and_sections(write):
    """Lines above the headings, titles of sections, repeated headings and blank rows are no accounts."""
    chart = read_chart_of_accounts(
        write(
            "Kontenplan 2026\n\nFirma: "
            "Muster;;\nKonto;Bezeichnung;Art\n;Anlagen;\n0400;Maschinen;B\n;;\nUmlauf;;\n"
            "Konto;Bezeichnung;Art\n1200;Bank;B\n\n"
        )
    )
    assert chart["code"].tolist() == ["0400", "1200"]
    assert chart["line"].tolist() == [6, 10]
    assert chart.attrs["bktools"]["heading_line"] == 4
    assert "rows skipped as titles of sections, not accounts: 2 (lines 5, 8)" in notes(chart)
    assert "rows skipped as headings that are repeated: 1 (line 9)" in notes(chart)


def test_totals_are_no_accounts(write):
    """A word in the code column alone is a total; an account without a name is none."""
    chart = read_chart_of_accounts(write("Code;Name;Type;Balance\n1;a;A;1\n2;b;A;2\nTotal;;;3\nBANK;;A;0\n"))
    assert chart["code"].tolist() == ["1", "2", "BANK"]
    assert "rows skipped as totals, not accounts: 1 (line 4)" in notes(chart)


def test_columns_as_said(write):
    """A mapping wins over recognition, and an empty heading leaves a field out."""
    path = write("Key,Konto,Label,Tax Code\n7,0400,Machines,V9\n")
    columns = {"external_id": "Konto", "code": "key", "name": "Label", "tax_code_external_id": None}
    chart = read_chart_of_accounts(path, columns=columns)
    assert chart[["external_id", "code", "name"]].values.tolist() == [["0400", "7", "Machines"]]
    assert nulls(chart, "tax_code_external_id") == [True]


def test_a_heading_of_punctuation_can_be_named(write):
    """A heading such as # is known by its own sign, also below title lines with empty cells."""
    chart = read_chart_of_accounts(write("Chart;\n#;Name\n0400;a\n"), columns={"code": "#"})
    assert chart[["code", "name"]].values.tolist() == [["0400", "a"]]


def test_tax_rate_is_no_tax_code(write):
    """A rate is never the identifier of a tax code, whether the heading or the values say that it is one."""
    by_heading = read_chart_of_accounts(write("Account,Name,VAT rate\n400,a,25\n"))
    assert nulls(by_heading, "tax_code_external_id") == [True]
    assert "'VAT rate' is a tax rate" in notes(by_heading)
    path = write("*Code,*Name,*Tax Code\n400,a,0.1\n401,b,\n")
    by_value = read_chart_of_accounts(path)
    assert nulls(by_value, "tax_code_external_id") == [True, True]
    assert "'*Tax Code' holds tax rates" in notes(by_value)
    said = read_chart_of_accounts(path, columns={"tax_code_external_id": "*Tax Code"})
    assert said["tax_code_external_id"].tolist()[0] == "0.1"
    codes = read_chart_of_accounts(write("Code,Name,Tax Code\n400,a,9\n401,b,0.1\n"))
    assert codes["tax_code_external_id"].tolist() == ["9", "0.1"]


def test_lost_zeros_are_told_not_mended(write):
    """Codes shorter than the one length of those with leading zeros are named, and stay as they are."""
    chart = read_chart_of_accounts(write("Konto;Name\n0410;a\n400;b\n1200;c\n"))
    assert chart["code"].tolist() == ["0410", "400", "1200"]
    assert "lost leading zeros which others still have, kept as they are: 1 (line 3)" in notes(chart)
    assert "leading zeros" not in notes(read_chart_of_accounts(write("Konto;Name\n04;a\n0400;b\n12;c\n")))


def test_odd_accounts_are_told(write):
    """An account without a name and a code with a space at its end are kept and named."""
    chart = read_chart_of_accounts(write("Konto;Name\n0410 ;a\n0420;\n"))
    assert chart["code"].tolist() == ["0410 ", "0420"]
    assert chart["name"].tolist() == ["a", ""]
    assert "external IDs with white space at an end, which is kept: 1 (line 2)" in notes(chart)
    assert "accounts without a name: 1 (line 3)" in notes(chart)


def test_two_flag_columns(write):
    """Archived is who is archived by either column."""
    chart = read_chart_of_accounts(
        write("Code,Name,Active,Archived\n1,a,yes,no\n2,b,no,no\n3,c,yes,yes\n4,d\n")
    )
    assert chart["archived"].tolist() == [False, True, True, False]


def test_company_column(write):
    """Accounts are unique within a company; another company than the one asked for is refused."""
    path = write(f"Code,Name,company_id\n1,a,{COMPANY.upper()}\n1,b,{OTHER}\n")
    assert read_chart_of_accounts(path)["company_id"].tolist() == [COMPANY, OTHER]
    with pytest.raises(InputError, match=r"line 3: 'company_id' must be the company asked for"):
        read_chart_of_accounts(path, company=COMPANY)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Code,Name\n1,a\n2,b\n1,c\n", r"line 4: external ID '1' is on line 2 already, it must be unique"),
        ("Code,Name\n" + "1,a\n" * 6, r"line 3: .*5 rows repeat one: lines 3, 4, 5 and 2 more"),
        ("External ID,Code,Name\n,1,a\nX,2,b\n", r"line 2: 'External ID' is .* and must not be empty"),
        (f"Code,Name\n{'9' * 256},a\n", r"line 2: 'Code' must have at most 255 characters"),
        (f"Code,Name\n1,{'n' * 256}\n", r"line 2: 'Name' must have at most 255 characters"),
        ("Foo,Name\n1,a\n", r"no column found for 'code': read it with columns=\{'code': 'HEADING'\}"),
        ("Code,Foo\n1,a\n", r"no column found for 'name': read it with columns=\{'name': 'HEADING'\}"),
        (
            "Konto;Code;Name\n1;2;a\n",
            (
                r"'Konto' \(column 1\) and 'Code' \(column 2\) could each be 'code': "
                r"read it with columns=\{'code': 'Konto'\}"
            ),
        ),
        ("Code,Name,Name\n1,a,b\n", r"'Name' \(column 2\) and 'Name' \(column 3\) could each be 'name'"),
        ("Code,Name,Active\n1,a,maybe\n", r"line 2: 'Active' must say yes or no.*got 'maybe'"),
        ("Code,Name\n", "headings but no rows"),
        ("Code,Name\n,\n", "no row below the headings has a code"),
        ("Code,Name\n1,Rent, rates\n", r"line 2: 3 cells, but 2 headings \(line 1\).*delimiter="),
        ('Code,Name\n1,a\n2,"b\n3,c\n', r"line 3: a quoted cell that starts here is not closed"),
        ('Code,Name\n1,"a" b\n', r"line 2: a quoted cell that starts here is not closed properly"),
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
    ],
)
def test_refusals(write, content, message):
    """What cannot be taken as it is gets one line that names the place and the way out."""
    with pytest.raises(InputError, match=message) as caught:
        read_chart_of_accounts(write(content))
    first, *shown = str(caught.value).split("\n")
    assert "file.csv" in first
    assert bool(shown) == bool(caught.value.details or caught.value.proposal)


def test_arguments_are_checked(write):
    """An unknown field, and a company that is none, are refused."""
    path = write("Code,Name\n1,a\n")
    with pytest.raises(ArgumentError, match=r"columns may map these fields: code, external_id.*, got '"):
        read_chart_of_accounts(path, columns={"number": "Code"})
    with pytest.raises(ArgumentError, match="company must be a UUID"):
        read_chart_of_accounts(path, company="acme")


def test_short_rows_and_surplus_empty_cells(write):
    """Rows without their last empty cells, and rows with empty cells too many, are whole rows."""
    chart = read_chart_of_accounts(write("Code,Name,Tax Code\n1,a\n2,b,V,,\n"))
    assert chart["name"].tolist() == ["a", "b"]
    assert nulls(chart, "tax_code_external_id") == [True, False]


def test_a_file_without_headings(write):
    """Columns without headings are named by place; the first row is an account, and a note shows it."""
    path = write("1010;Kassa\n1220;Bank\n1930;Konto\n")
    with pytest.raises(InputError, match=r"columns=\{'code': 'column 1', 'name': 'column 2'\}"):
        read_chart_of_accounts(path)
    chart = read_chart_of_accounts(path, columns={"code": "column 1", "name": "column 2"})
    assert chart["code"].tolist() == ["1010", "1220", "1930"]
    assert chart["line"].tolist() == [1, 2, 3]
    assert "the file has no headings: its first row ('1010', 'Kassa') is data" in notes(chart)


def test_accounts_without_a_code(write):
    """An account has more than a name in its row and is kept without a code; a title has nothing else."""
    chart = read_chart_of_accounts(
        write("Code,Name,Balance\n,Main account,5.00\n,Assets,\n200,Sales,1.00\n,Total,6.00\n")
    )
    assert chart["name"].tolist() == ["Main account", "Sales"]
    assert nulls(chart, "code") == nulls(chart, "external_id") == [True, False]
    assert "accounts without a code, kept: 1 (line 2)" in notes(chart)
    assert "rows skipped as totals, not accounts: 1 (line 5)" in notes(chart)


def test_columns_and_values_are_in_one_refusal(write):
    """Two columns for one field, a word that is no flag and a repeated ID are one refusal."""
    path = write("Konto;Name;Bezeichnung;Aktiv\n0400;Bank;Bank;vielleicht\n0400;Kasse;Kasse;ja\n")
    with pytest.raises(InputError) as caught:
        read_chart_of_accounts(path)
    said = str(caught.value)
    assert "2 problems: (1) 'Name' (column 2) and 'Bezeichnung' (column 3) could each be 'name'" in said
    assert "(2) line 2: 'Aktiv' must say yes or no" in said
    assert "read it with columns={'name': 'Name'}" in said.splitlines()[0]
    assert "\nThen: " in said
    with pytest.raises(InputError, match=r"2 problems: .*'Aktiv' must say yes or no.*'0400' is on line 2"):
        read_chart_of_accounts(path, columns={"name": "Name"})
