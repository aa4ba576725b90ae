"""`bktools ledger` in a terminal: sums of accounts, postings as CSV, and contradictory files."""

from __future__ import annotations

from pathlib import Path

import pytest
import xlsxwriter
from typer.testing import CliRunner

from bktools.cli.app import app
from bktools.cli.exits import exit_of
from bktools.errors import InputError

FILES = Path(__file__).parent.parent / "inputs" / "formats" / "files"


def run(*arguments):
    return CliRunner().invoke(app, ["ledger", *map(str, arguments)])


def test_sums_of_accounts():
    """Each account with its sum, and the totals of the file, with what was recognised."""
    done = run(FILES / "accounts.se")
    assert done.exit_code == 0
    assert "1930\tFöretagskonto\tSEK\t2\t-1198.50" in done.output
    assert "5 postings, 2 vouchers from 2026-10-03 to 2026-10-15: debit 1198.50, credit 1198" in done.output
    assert "encoding 'cp437'" in done.output


def test_postings_as_csv(tmp_path):
    """The postings are written with codes as text and a plain amount."""
    done = run(FILES / "datev_postings.csv", "--output", tmp_path / "postings.csv", "--profile", "machine")
    assert done.exit_code == 0
    first, second = (tmp_path / "postings.csv").read_text(encoding="utf-8").splitlines()[:2]
    assert first == "account_code,date,amount,currency,text,document_number,voucher_id,tax_code,line"
    assert second == "4930,2026-10-03,119.00,EUR,Bürobedarf,R-77,3,9,3"


@pytest.mark.filterwarnings("default::bktools.errors.UnverifiedTableWarning")
def test_a_file_that_does_not_agree(tmp_path):
    """A voucher that does not balance ends the command with the option that goes on all the same."""
    path = tmp_path / "bad.se"
    path.write_bytes((FILES / "accounts.se").read_bytes().replace(b"-848.00", b"-840.00"))
    done = run(path)
    assert isinstance(done.exception, InputError)
    assert exit_of(done.exception) == 4
    assert "'A 1' (line 15) does not balance: debit 848.00, credit 840.00" in str(done.exception)
    assert str(done.exception).endswith("or read it anyway with --verify warn")
    assert run(path, "--verify", "warn").exit_code == 0


def test_a_sheet_is_chosen(tmp_path):
    """A workbook's ledger is read from the sheet that --sheet names."""
    with xlsxwriter.Workbook(tmp_path / "ledger.xlsx") as book:
        for title, amount in (("2025", 1), ("2026", 2)):
            sheet = book.add_worksheet(title)
            for line, row in enumerate([["Account", "Date", "Amount"], ["5800", "2026-10-31", amount]]):
                sheet.write_row(line, 0, row)
    done = run(tmp_path / "ledger.xlsx", "--sheet", "2026")
    assert done.exit_code == 0, done.output
    assert "debit 2, credit 0" in done.output


@pytest.mark.parametrize(
    ("option", "value"), [("--decimal", ","), ("--column", "amount=Belopp"), ("--delimiter", ";")]
)
def test_options_of_tables(option, value):
    """An option that the format makes needless is refused by its own name."""
    done = run(FILES / "accounts.se", option, value)
    assert str(done.exception).startswith(f"{option} does not apply to a file of the format SIE")
