"""Small files that were once read wrongly: each is read right, or refused with a right proposal."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pandas as pd
import pytest
import xlsxwriter
from bktools.inputs.chart_of_accounts import read_chart_of_accounts as chart
from bktools.inputs.entries import read_entries as entries
from bktools.inputs.general_ledger import read_general_ledger as ledger

from bktools.errors import InputError
from bktools.export import compose_export_jobs

COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
IDS = [f"1b4e28ba-2fa1-41d2-883f-0016d3cca42{digit}" for digit in range(4)]


def table(heading, *rows):
    return "".join(f"{row}\n" for row in (heading, *rows))


def column(frame, field):
    if field == "date":
        return frame["date"].dt.strftime("%Y-%m-%d").tolist()
    if field == "amount":
        return frame["amount"].tolist()
    if field == "archived":
        return frame[field].tolist()
    return ["" if pd.isna(value) else str(value) for value in frame[field]]


def sided(heading, debit, credit):
    """Return a ledger of one voucher, whose sides are said by words in a column of this heading."""
    return table(
        f"Konto;Datum;Betrag;{heading}",
        f"4930;2026-10-01;119,00;{debit}",
        f"1200;2026-10-01;119,00;{credit}",
        f"4940;2026-10-02;5,00;{debit}",
        f"1200;2026-10-02;5,00;{credit}",
    )


SIDES = {
    "Typ": ("Soll", "Haben"),
    "entry_type": ("Debit", "Credit"),
    "Seite": ("Soll", "Haben"),
    "Tipo": ("Cargo", "Abono"),
    "D/C": ("Debiit", "Kreedit"),
    "d/c": ("Χρέωση", "Πίστωση"),
    "Dr/Cr": ("Dr", "Cr"),
    "Type": ("Debits", "Credits"),
    "Sens": ("D", "C"),
}
READERS = {"chart": chart, "entries": entries, "ledger": ledger}
BY_READER = tomllib.loads(Path(__file__).with_name("proposals.toml").read_text(encoding="utf-8"))
CASES = {name: (READERS[kind], case) for kind, cases in BY_READER.items() for name, case in cases.items()}


def settled(read, path):
    """Read a file without options, or else with those that the refusal proposes."""
    try:
        return read(path)
    except InputError as error:
        assert error.proposal, str(error)  # noqa: PT017 - a refusal without a proposal is no right outcome
        options: dict = {}
        for name, value in error.settings:
            options[name] = {**options.get(name, {}), **value} if name == "columns" else value
        return read(path, **options)


@pytest.mark.parametrize("heading", SIDES)
def test_words_for_sides(write, heading):
    """Words for debit and credit in a column of its own give the amounts their signs."""
    frame = settled(ledger, write(sided(heading, *SIDES[heading])))
    assert frame["amount"].tolist() == [119.0, -119.0, 5.0, -5.0]


@pytest.mark.parametrize("name", [name for name, (_, case) in CASES.items() if "right" in case])
def test_proposals(write, name):
    """Each file reads as it is right, unaided or with the options that its refusal proposes."""
    read, case = CASES[name]
    frame = settled(read, write(case["text"]))
    assert {field: column(frame, field) for field in case["right"]} == case["right"]


@pytest.mark.parametrize("name", [name for name, (_, case) in CASES.items() if "refused" in case])
def test_refused_with_a_way_out(write, name):
    """What contradicts itself, or is no file of its kind, is refused with the reason."""
    read, case = CASES[name]
    with pytest.raises(InputError, match=case["refused"]):
        read(write(case["text"]))


def test_the_sheet_whose_rows_are_whole(tmp_path):
    """Of sheets without headings, the one in which each account has code and name is proposed."""
    rows = [["1", "101", "Cash"], ["1", "102", "Bank"], ["2", "201", "Loans"], ["2", "202", "Taxes"]]
    path = tmp_path / "chart.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name, cells in (
            ("By type", [*rows[:2], ["2", "Liabilities", ""], *rows[2:]]),
            ("Accounts", rows),
        ):
            sheet = book.add_worksheet(name)
            for line, row in enumerate(cells):
                sheet.write_row(line, 0, row)
    with pytest.raises(InputError) as caught:
        chart(path)
    said = str(caught.value)
    assert "read it with columns={'code': 'column 2', 'name': 'column 3'}, sheet='Accounts'" in said
    assert "accounts of the sheet 'Accounts' would be read from 4 rows" in said


def test_errors_of_a_ledger_that_may_be_a_part_of_one(write):
    """A ledger on one side, or of which most vouchers do not balance, is read with a warning."""
    path = write(CASES["a ledger on one side"][1]["text"])
    with pytest.warns(UserWarning, match="on one side"):
        assert ledger(path, verify="warn")["amount"].tolist() == [5.0, 6.0]


def test_what_sums_in_binary_leave(write):
    """Digits that binary sums leave far behind the point are no money; an option reads without them."""
    rows = ("10,2026-10-01,1699.4160000000002,", "20,2026-10-01,,1699.416", "20,2026-10-01,0,0.12345678")
    path = write(table("account,date,debit,credit", *rows))
    said = (
        r"'debit' holds amounts such as 1699.4160000000002 \(line 2\), whose last digits .* are read "
        r"with 6 decimals"
    )
    with pytest.raises(InputError, match=f"{said}: correct it .*: read it with verify='warn'"):
        ledger(path)
    with pytest.warns(UserWarning, match=said):
        read = ledger(path, verify="warn")
    assert column(read, "amount") == [1699.416, -1699.416, -0.12345678]
    with pytest.warns(UserWarning, match="such as 0.29999999999998"):
        below = ledger(
            write(table("account,date,amount", "10,2026-10-01,0.29999999999998", "20,2026-10-01,-0.3")),
            verify="warn",
        )
    assert column(below, "amount") == [0.3, -0.3]
    with pytest.raises(InputError, match="at most 28 digits, 10 of them decimals"):
        ledger(
            write(table("account,date,amount", "10,2026-10-01,0.12945678901234", "20,2026-10-01,-0.1")),
            verify="warn",
        )


def test_a_proposal_shows_rows_sums_and_dates(write):
    """The refusal shows rows as read, sums of both sides, first and last date, and the columns."""
    text = table(
        "Wann;Wieviel;Was",
        "2026-10-01;5,50;a",
        "2026-10-02;-7,25;b",
        "2026-10-03;0,50;c",
        "2026-10-09;2,00;d",
    )
    with pytest.raises(InputError) as caught:
        entries(write(text))
    shown = str(caught.value)
    for part in (
        "columns={'date': 'Wann', 'amount': 'Wieviel'}",
        "line 2: date 2026-10-01, amount 5.50",
        "line 5: date 2026-10-09",
        "positive 8.00, negative -7.25",
        "from 2026-10-01 to 2026-10-09",
    ):
        assert part in shown
    assert "sheet" not in shown, "a text has none"


def test_an_unknown_name_holds_its_entry_back_and_no_other(write):
    """One unknown category does not stop the file: its entry is not ready, a note suggests a name."""
    categories = pd.DataFrame(
        {"id": IDS[:1], "company_id": COMPANY, "name": ["Travel"], "account_id": IDS[3], "archived": False}
    )
    text = table("id;Date;Amount;Category", f"{IDS[0]};2026-10-01;5;Travel", f"{IDS[1]};2026-10-02;6;Travl")
    read = entries(write(text), company=COMPANY, categories=categories)
    assert read["category_name"].tolist() == ["Travel", "Travl"]
    assert read["category_id"].tolist()[0] == IDS[0]
    assert "'Travl' (did you mean 'Travel'?)" in "".join(read.attrs["bktools"]["notes"])
    plan = compose_export_jobs(read, categories=categories)
    assert plan.not_ready[["id", "reason"]].to_numpy().tolist() == [[IDS[1], "unknown_category"]]


def test_the_sheet_that_is_called_a_chart_of_accounts(tmp_path):
    """A sheet of that name is the chart, and no sheet of another year is proposed beside it."""
    path = tmp_path / "books.xlsx"
    for heading, is_read in (("Name", True), ("Nickname", False)):
        with xlsxwriter.Workbook(path) as book:
            budget, own = book.add_worksheet("2024"), book.add_worksheet("Chart of Accounts")
            budget.write_row(0, 0, ["Code", "Name", "Type", "Active"])
            budget.write_row(1, 0, ["9000", "Other year", "x", "yes"])
            own.write_row(0, 0, ["Code", heading])
            own.write_row(1, 0, ["1010", "Cash"])
            own.write_row(2, 0, ["2000", "Sales"])
        if is_read:
            assert column(chart(path), "code") == ["1010", "2000"]
        else:
            with pytest.raises(InputError) as caught:
                chart(path)
            assert "sheet" not in dict(caught.value.settings)


def test_a_counter_and_an_id_are_no_account(write):
    """A column that counts the rows, and one of UUIDs, is not proposed as the code of an account."""
    for heading, cell in (
        ("row id", str),
        ("company", lambda row: f"1b4e28ba-2fa1-41d2-883f-0016d3cca4{row:02}"),
    ):
        rows = [f"{cell(row)},2026-10-01,{'5,' if row % 2 else ',5'}" for row in range(1, 15)]
        with pytest.raises(InputError) as caught:
            ledger(write(table(f"{heading},date,debit,credit", *rows)))
        assert dict(caught.value.settings) == {"columns": {"account_code": "HEADING"}}, heading
