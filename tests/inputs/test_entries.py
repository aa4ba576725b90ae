"""Accounting entries: identifiers, approval, and the frame they make."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pandas as pd
import pytest
import xlsxwriter
from bktools.inputs.entries import read_entries
from bktools.inputs.general_ledger import read_general_ledger

from bktools.errors import InputError
from bktools.export import compose_export_jobs
from bktools.frames import schema

ENTRY = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
CATEGORY = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
HEADINGS = (
    "entry_id,company_id,date,amount,currency,category_id,employee_id,status,"
    "supplier,description,cost_centre,tax_code"
)


def test_whole_entries(write):
    """All columns come with their types; a quoted newline and an exact duplicate row stay."""
    row = f'{ENTRY.upper()},{COMPANY},2026-10-31,-12.50,eur,,{CATEGORY},Approved,SJ AB,"a\nb",0100,V19\r\n'
    entries = read_entries(write(f"{HEADINGS}\r\n{row}{row}"))
    assert list(entries.columns) == [
        name
        for name in schema.ENTRIES.names
        if not name.startswith(("split_line", "category_name", "employee_name", "export_status"))
    ]
    assert len(entries) == 2
    first = entries.iloc[0]
    assert (first["id"], first["company_id"], first["employee_id"]) == (ENTRY, COMPANY, CATEGORY)
    assert first["date"] == pd.Timestamp(2026, 10, 31)
    assert first["amount"] == -12.5
    assert first["currency"] == "EUR"
    assert pd.isna(first["category_id"])
    assert (first["status"], first["description"]) == ("Approved", "a\nb")
    assert (first["supplier"], first["cost_centre"], first["tax_code"]) == ("SJ AB", "0100", "V19")
    assert entries["approved"].dtype == bool
    assert entries["line"].tolist() == [2, 4]
    assert entries.attrs["bktools"]["notes"] == ["taken as approved: 'Approved' (2)"]


def test_only_the_identifiers(write):
    """Columns that the file lacks are not in the frame, but the line is; blank rows are no entries."""
    entries = read_entries(write(f"Buchungs-ID;Firmen-ID\n{ENTRY};{COMPANY}\n;\n"))
    assert list(entries.columns) == ["id", "company_id", "line"]
    assert len(entries) == 1


def test_approval_words(write):
    """A status in ten languages tells approval; other words are none, and an empty status is null."""
    said = ["approved", "Genehmigt", "freigegeben", "godkänd", "APPROUVÉ", "not approved", "draft", "yes", ""]
    entries = read_entries(
        write("id;company_id;Status\n" + "".join(f"{ENTRY};{COMPANY};{one}\n" for one in said))
    )
    assert entries["approved"].tolist() == [True] * 5 + [False] * 4
    assert entries["status"].isna().tolist() == [False] * 8 + [True]
    assert (
        "taken as not approved: 'not approved' (1), 'draft' (1), 'yes' (1), "
        "'' (1) (else set approved_values=)" in entries.attrs["bktools"]["notes"]
    )


def test_approved_column(write):
    """In a column headed approved a yes is an approval."""
    entries = read_entries(write(f"id,company_id,Approved\n{ENTRY},{COMPANY},yes\n{ENTRY},{COMPANY},no\n"))
    assert entries["approved"].tolist() == [True, False]


@pytest.mark.parametrize(
    ("headings", "row", "message"),
    [
        ("id,company_id", f"{ENTRY}x,{COMPANY}", "line 2: 'id' must hold UUIDs such as .*, got '1b4e"),
        ("id,company_id", f"{ENTRY} ,{COMPANY}", "line 2: 'id' must hold UUIDs"),
        ("id,company_id", f'"{ENTRY}\n",{COMPANY}', "line 2: 'id' must hold UUIDs"),
        ("id,company_id", f",{COMPANY}\n{ENTRY},{COMPANY}", "line 2: 'id' must not be empty"),
        ("id,company_id", f"{ENTRY},acme", "line 2: 'company_id' must hold UUIDs"),
        ("id,company_id,category_id", f"{ENTRY},{COMPANY},{ENTRY}x", "line 2: 'category_id' must hold UUIDs"),
        ("id,company_id,employee_id", f"{ENTRY},{COMPANY},{ENTRY}x", "line 2: 'employee_id' must hold UUIDs"),
        ("id,company_id,currency", f"{ENTRY},{COMPANY},Thaler", "'currency' must hold currency codes"),
    ],
)
def test_refusals(write, headings, row, message):
    """A malformed value is named with line, column and value."""
    with pytest.raises(InputError, match=message):
        read_entries(write(f"{headings}\n{row}\n"))


def test_german_entries(write):
    """A German export with its own dates and amounts is read without an option."""
    entries = read_entries(
        write(
            "Buchungs-ID;Firmen-ID;Buchungsdatum;Betrag;Währung;Freigabestatus;Buchungstext\r\n"
            f"{ENTRY};{COMPANY};31.10.2026;1.234,56;EUR;Genehmigt;Größe\r\n",
            encoding="cp1252",
        )
    )
    assert entries["amount"].tolist() == [1234.56]
    assert entries["date"].dt.date.tolist() == [dt.date(2026, 10, 31)]
    assert entries["description"].tolist() == ["Größe"]
    assert entries["approved"].tolist() == [True]


CATEGORIES = pd.DataFrame(
    {
        "id": [CATEGORY, ENTRY, COMPANY],
        "company_id": COMPANY,
        "name": ["Travel", "Meals & drinks", "Meals & drinks"],
        "code": ["T", None, "M"],
    }
)
EMPLOYEES = pd.DataFrame(
    {
        "id": [CATEGORY],
        "company_id": COMPANY,
        "email": "anna@example.com",
        "first_name": "Anna",
        "last_name": "Ek",
    }
)


@pytest.mark.parametrize("category", [CATEGORY.upper(), "Travel", " travel", "T", "t"])
@pytest.mark.parametrize("employee", ["Anna@example.com", "Anna Ek", CATEGORY])
def test_names_are_found(write, category, employee):
    """Categories by ID, name or code, employees by ID, e-mail or name; the company is the argument's."""
    path = write(f"Expense ID,Category,Employee\n{ENTRY},{category},{employee}\n")
    entries = read_entries(path, company=COMPANY, categories=CATEGORIES, employees=EMPLOYEES)
    assert entries[["company_id", "category_id", "employee_id"]].to_numpy().tolist() == [
        [COMPANY, CATEGORY, CATEGORY]
    ]


def test_unknown_and_ambiguous_names_are_listed(write):
    """Unknown and ambiguous names are listed with suggestions; a column of unknown names is refused."""
    path = write(f"id,Category,Employee\n{ENTRY},Travl,Bo\n{ENTRY},Meals & drinks,Anna Ek\n")
    with pytest.raises(InputError) as caught:
        read_entries(path, company=COMPANY, categories=CATEGORIES, employees=EMPLOYEES)
    assert "'Travl' (did you mean 'Travel'" in str(caught.value)
    assert "'Meals & drinks' could be 2 of them" in str(caught.value)
    entries = read_entries(path, columns={"category_id": ""}, company=COMPANY, employees=EMPLOYEES)
    assert entries["employee_id"].tolist() == ["Bo", CATEGORY]
    assert entries["employee_name"].tolist() == ["Bo", "Anna Ek"]
    assert "'Employee' holds unknown or ambiguous names: 'Bo'" in "".join(entries.attrs["bktools"]["notes"])


@pytest.mark.parametrize("lost", ["?ukasz W?jcik", "\ufffdukasz W\ufffdjcik"])
def test_a_name_that_lost_letters_is_told(write, lost):
    """A question mark in place of a letter is told with the name that it may be, and with what to do."""
    people = pd.concat([EMPLOYEES, EMPLOYEES.assign(id=ENTRY, first_name="Łukasz", last_name="Wójcik")])
    path = write(f"id,Employee\n{ENTRY},{lost}\n{CATEGORY},Anna Ek\n")
    entries = read_entries(path, company=COMPANY, employees=people)
    notes = "".join(entries.attrs["bktools"]["notes"])
    assert "has lost letters ('Łukasz Wójcik'?)" in notes
    assert entries["employee_id"][0] == lost


def test_other_columns_pass_through(write):
    """Columns that are no field are text under their own headings in the frame and in the plan."""
    entries = read_entries(write(f"id,company_id,Receipt,Message\n{ENTRY},{COMPANY},R-1,hi\n"))
    assert entries["Receipt"].tolist() == ["R-1"]
    plan = compose_export_jobs(entries)
    assert plan.entries["Receipt"].tolist() == ["R-1"]
    assert plan.entries["Message (column 4)"].tolist() == ["hi"]


@pytest.mark.parametrize(
    ("headings", "found"),
    [
        ("Lieferant;Kostenstelle;Steuerschlüssel", "Lieferant;Kostenstelle;Steuerschlüssel"),
        ("Händler;KOST1 - Kostenstelle;USt-Schlüssel", "Händler;KOST1 - Kostenstelle;USt-Schlüssel"),
        ("Fournisseur;Centre de coût;Code TVA", "Fournisseur;Centre de coût;Code TVA"),
        ("Proveedor;Centro de costes;Código IVA", "Proveedor;Centro de costes;Código IVA"),
        ("Leverancier;Kostenplaats;BTW-code", "Leverancier;Kostenplaats;BTW-code"),
        ("Leverantör;Kostnadsställe;Momskod", "Leverantör;Kostnadsställe;Momskod"),
        ("Leverandør;Omkostningssted;Momskode", "Leverandør;Omkostningssted;Momskode"),
        ("Dostawca;Centrum kosztów;Kod VAT", "Dostawca;Centrum kosztów;Kod VAT"),
        ("Fornitore;Centro di costo;Codice IVA", "Fornitore;Centro di costo;Codice IVA"),
        ("Merchant;Vendor;Supplier Name;Cost Center;VAT Code", "Supplier Name;Cost Center;VAT Code"),
        ("Merchant;Vendor;Cost centre;Tax code;VAT %", "Vendor;Cost centre;Tax code"),
    ],
)
def test_supplier_cost_centre_and_tax_code(write, headings, found):
    """The texts that bookkeepers look for are fields in the words of many languages; a rate is no code."""
    names = headings.split(";")
    entries = read_entries(write(f"Date;{headings}\n2026-10-31;{headings}\n"))
    fields = ["supplier", "cost_centre", "tax_code"]
    assert entries[fields].to_numpy().tolist() == [found.split(";")]
    assert [entries[name].tolist() for name in names if name not in found.split(";")] == [
        [name] for name in names if name not in found.split(";")
    ]


def test_entries_without_ids(write):
    """A file without entry IDs is read, and its entries are not ready because of that."""
    entries = read_entries(write("Date,Amount\n2026-10-31,1.50\nTotal,1.50\n"), company=COMPANY)
    assert entries["amount"].tolist() == [1.5]
    assert entries["id"].isna().all()
    assert "no entry IDs of the service" in "".join(entries.attrs["bktools"]["notes"])
    assert compose_export_jobs(entries).not_ready["reason"].tolist() == ["no_service_id"]


def test_what_the_note_about_missing_ids_proposes(write):
    """A column with a UUID of its own in each row is named, and read so; a budget, which has no dates, has no
    such note.
    """
    rows = "".join(f"2026-10-0{day},1.50,6fa459ea-ee8a-4ca4-894e-00000000000{day}\n" for day in (1, 2))
    file = write(f"Date,Amount,Post-GUID\n{rows}")
    assert "columns={'id': 'Post-GUID'}" in "".join(read_entries(file).attrs["bktools"]["notes"])
    assert not read_entries(file, columns={"id": "Post-GUID"})["id"].isna().any()
    budget = read_entries(write("Category,Amount\nTravel,1.50\n"))
    assert "entry IDs" not in "".join(budget.attrs["bktools"]["notes"])


@pytest.mark.parametrize(
    ("content", "amounts"),
    [
        ("Date;Soll;Haben\n2026-10-31;1,50;\n2026-10-31;;2\n2026-10-31;0;3,00\n", ["1.50", "-2.00", "-3.00"]),
        ("Date;Soll;Haben\n2026-10-31;1,50;\n2026-10-31;2,00;\n", ["1.50", "2.00"]),
        ("Date;Soll;Haben\n2026-10-31;;1,50\n2026-10-31;;2\n", ["-1.50", "-2.00"]),
        ("Date;Betrag;S/H\n2026-10-31;1,50;S\n2026-10-31;2,00;H\n", ["1.50", "-2.00"]),
        ("Date;Montant;Sens\n2026-10-31;1,50;D\n2026-10-31;2,00;C\n", ["1.50", "-2.00"]),
        ("Date;Amount;Type\n2026-10-31;1,50;Debit\n2026-10-31;2,00;Credit\n", ["1.50", "-2.00"]),
        ("Date;Amount;Type\n2026-10-31;1,50;Card\n2026-10-31;2,00;Cash\n", ["1.50", "2.00"]),
        ("Date;Montant;Sens\n2026-10-31;1,50;D\n2026-10-31;-2,00;C\n", ["1.50", "-2.00"]),
    ],
)
def test_amounts_get_their_sign(write, content, amounts):
    """A column beside the amounts, or one for debit and one for credit, gives one signed amount."""
    assert [str(one) for one in read_entries(write(content), money="decimal")["amount"]] == amounts


def test_signs_that_contradict_are_refused(write):
    """Amounts with signs that contradict the column are refused, and so is a row on both sides."""
    with pytest.raises(InputError, match=r"signs of their own, which do not agree.*'sign': 'Sens'"):
        read_entries(write("Amount;Sens\n-1,00;D\n" + "2,00;D\n" * 5))
    with pytest.raises(InputError, match=r"signs of their own, which do not agree.*'sign': ''"):
        read_entries(write("Amount;Sens\n-1,00;D\n2,00;D\n"))
    with pytest.raises(InputError, match="line 2: 'Soll' and 'Haben' must not both hold an amount"):
        read_entries(write("Soll;Haben\n1,00;2,00\n"))


def test_a_column_is_proposed_by_the_names_in_it(write):
    """A required column under a heading of its own is proposed by its values, and so is each of two."""
    categories = pd.DataFrame(
        {"id": [CATEGORY, ENTRY], "company_id": [COMPANY] * 2, "name": ["Travel", "Meals"]}
    )
    text = f"id;Wozu;Was\n{ENTRY};travel;x\n{COMPANY};;x\n"
    options = {"company": COMPANY, "categories": categories, "required": ("category_id",)}
    with pytest.raises(InputError, match=r"no column .*: read it with columns=\{'category_id': 'Wozu'\}"):
        read_entries(write(text), **options)
    entries = read_entries(write(text), columns={"category_id": "Wozu"}, **options)
    assert entries["category_id"].fillna("").tolist() == [CATEGORY, ""]
    with pytest.raises(
        InputError, match=r"(?s)read it with columns=.*look like 'category_id': 'Wozu', 'Was'"
    ):
        read_entries(write(text.replace("x", "Meals")), **options)


UNKNOWN = {
    "Dzień": ["2026-10-01", "2026-10-02", "2026-10-03"],
    "Ile": ["11.50", "12", "-13.50"],
    "Kto": ["anna@example.com"] * 3,
    "Numer": ["R.12", "R.13", "R.14"],
    "Wersja": ["4.10.20", "4.10.21", "4.10.22"],
    "Kod": ["01.20", "01.21", "01.22"],
    "Stawka": ["19.00 %", "7.00 %", "7.00 %"],
    "Termin": ["31.10", "30.11", "29.12"],
}


def of_columns(columns):
    return "\n".join([";".join(columns), *map(";".join, zip(*columns.values(), strict=True)), ""])


def test_columns_under_unknown_headings_are_proposed_by_their_values(write):
    """Dates and amounts are proposed without headings, e-mails in a note; lookalikes pass through."""
    path = write(of_columns(UNKNOWN))
    with pytest.raises(InputError) as caught:
        read_entries(path, company=COMPANY, employees=EMPLOYEES)
    assert caught.value.settings == (("columns", {"date": "Dzień"}), ("columns", {"amount": "Ile"}))
    chosen = {"date": "Dzień", "amount": "Ile"}
    entries = read_entries(path, columns=chosen, company=COMPANY, employees=EMPLOYEES)
    assert entries["date"].dt.day.tolist() == [1, 2, 3]
    assert entries["amount"].tolist() == [11.5, 12.0, -13.5]
    assert {"Numer", "Wersja", "Kod", "Stawka", "Termin", "Kto"} <= set(entries.columns)
    note = (
        "no column found for 'employee_id', 'Kto' looks like it: choose one with columns={'employee_id': "
        "'Kto'}, or"
    )
    note += " leave it out with columns={'employee_id': ''}"
    assert note in entries.attrs["bktools"]["notes"]
    known = read_entries(path, columns={**chosen, "employee_id": "Kto"}, company=COMPANY, employees=EMPLOYEES)
    assert known["employee_id"].tolist() == [CATEGORY] * 3


@pytest.mark.parametrize(("field", "heading"), [("date", "Dzień"), ("amount", "Ile")])
def test_two_columns_that_look_alike_are_both_shown(write, field, heading):
    """Where two columns could be a field both are listed, with the option that chooses one."""
    path = write(of_columns(UNKNOWN | {"Jeszcze": UNKNOWN[heading]}))
    with pytest.raises(InputError, match=rf"(?s){field!r}.* look like '{field}': '{heading}', 'Jeszcze'"):
        read_entries(path, company=COMPANY, employees=EMPLOYEES)


def test_columns_and_values_are_in_one_refusal(write):
    """A missing column and unreadable values are one message; its command settles what it can."""
    text = 'id,Datum,Amount,Status,Spent at\n{id},03/04/2026,"1,234",x,2026-10-31\n'
    path = write(text.format(id=ENTRY))
    with pytest.raises(InputError) as caught:
        read_entries(path, required=("category_id",))
    said = str(caught.value)
    assert "3 problems: (1) no column found for 'category_id'" in said
    assert ": read it with columns={'category_id': 'HEADING'}, date_format='%d/%m/%Y', decimal='.'\n" in said
    with pytest.raises(InputError) as caught:
        read_entries(write(text.format(id=f"{ENTRY}x")), required=("category_id",))
    assert "4 problems" in str(caught.value)
    assert caught.value.details[0] == "No option settles (2): correct the file"


@pytest.mark.parametrize(
    ("title", "name", "year"),
    [
        ("Journal 2026-10", "file.csv", 2026),
        ("Periode;10/2026\nNordlicht GmbH;", "file.csv", 2026),
        ("Zeitraum 01.10.2026 - 31.10.2026", "journal-2026.csv", 2026),
        ("Nordlicht GmbH", "journal-2025-10.csv", 2025),
        ("Zeitraum 01.12.2025 - 31.01.2026", "file.csv", None),
        ("Journal 2026-10", "export-2027-01-03.csv", None),
        ("Nordlicht GmbH", "file.csv", None),
    ],
)
def test_a_year_comes_from_the_title(write, title, name, year):
    """Dates without a year take the only year in the rows above and the name, or are refused."""
    path = write(f"{title}\nDatum;Betrag\n31.10.;1,50\n01.11.;2,50\n", name)
    if year is None:
        with pytest.raises(
            InputError, match=r"'Datum' .* without a year, such as '31\.10\.'.*: put one year"
        ):
            read_entries(path)
        return
    entries = read_entries(path)
    assert entries["date"].dt.date.tolist() == [dt.date(year, 10, 31), dt.date(year, 11, 1)]
    assert (
        f"'Datum' has no year: {year} taken from the file's title or name"
        in entries.attrs["bktools"]["notes"]
    )


def test_a_year_comes_from_the_title_of_a_workbook(tmp_path):
    """The rows above the headings of a sheet say the year, too, in entries and in general ledgers."""
    with xlsxwriter.Workbook(tmp_path / "journal.xlsx") as book:
        sheet = book.add_worksheet("Journal")
        for line, row in enumerate(
            [["Journal", "10/2026"], [], ["Konto", "Datum", "Betrag"], ["5800", "31.10.", 1.5]]
        ):
            sheet.write_row(line, 0, row)
    for reader in (read_entries, read_general_ledger):
        assert reader(tmp_path / "journal.xlsx")["date"].dt.date.tolist() == [dt.date(2026, 10, 31)]


@pytest.mark.parametrize(
    ("heading", "cells", "expected"),
    [
        ("Netto", ["1.000,00", "20,50"], [1000.0, 20.5]),
        ("USt", ["190,00", ""], [190.0, None]),
        ("MwSt-Satz", ["19", "7"], ["19", "7"]),
        ("Steuer", ["19", "07"], ["19", "07"]),
        ("Netto", ["1.000,00", "siehe Beleg"], ["1.000,00", "siehe Beleg"]),
        ("Belegnummer", ["10,50", "11,50"], ["10,50", "11,50"]),
    ],
)
def test_net_and_tax_are_amounts(tmp_path, heading, cells, expected):
    """Columns of amounts beside the amount are amounts by heading and cells; others stay text."""
    path = tmp_path / "entries.csv"
    path.write_text(
        f"Datum;Betrag;{heading}\n01.10.2026;1.190,00;{cells[0]}\n02.10.2026;24,40;{cells[1]}\n",
        encoding="utf-8",
    )
    read = read_entries(path)
    assert [None if pd.isna(value) else value for value in read[heading]] == expected
    notes = [note for note in read.attrs["bktools"]["notes"] if heading in note]
    assert bool(notes) == isinstance(expected[0], str)


def test_both_forms_of_amounts_are_the_same_amounts(write):
    """Only the type of the amounts differs, the source is kept, and plans have the same entries."""
    plain = {"1204.50": "EUR", "-12.30": "EUR", "88.05": "CHF", "3000.00": "CHF"}
    rows = [f"{ENTRY[:-1]}{place},{COMPANY},{','.join(row)}" for place, row in enumerate(plain.items())]
    path = write("\n".join(["id,company_id,amount,currency", *rows]))
    exact, floats = read_entries(path, money="decimal"), read_entries(path)
    assert exact["amount"].tolist() == [Decimal(amount) for amount in plain]
    assert floats["amount"].tolist() == [float(amount) for amount in plain]
    assert floats.drop(columns="amount").equals(exact.drop(columns="amount"))
    assert floats.attrs["bktools"] == exact.attrs["bktools"]
    plans = [compose_export_jobs(entries) for entries in (exact, floats)]
    assert plans[0].rows.equals(plans[1].rows)
    assert plans[0].held.equals(plans[1].held)
    path = write(f"id,company_id\n{ENTRY},{COMPANY}\n")
    assert read_entries(path, money="decimal").equals(read_entries(path))
