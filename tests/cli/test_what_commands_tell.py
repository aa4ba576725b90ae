"""Commands tell what a file was taken as, and what a snapshot answered, also where nobody looks."""

from __future__ import annotations

import pytest


@pytest.fixture
def entries(sandbox, tmp_path):
    """A file of one entry, on a category that was made just now."""
    category = sandbox.server.add_category("Travel")
    head = "id;company_id;category_id;status;Wer"
    row = f"123e4567-e89b-42d3-a456-426614174000;{sandbox.server.company_id};{category};gebucht;Ada"
    (tmp_path / "entries.csv").write_text(f"{head}\n{row}\n", encoding="utf-8")


def test_compose_tells_what_the_file_was_taken_as(typed, entries):
    """Form, columns, words of approval, and what could not be checked."""
    said = typed("export compose entries.csv").stdout
    assert "1 rows of entries.csv (delimiter ';', encoding 'utf-8'" in said
    assert "taken as not approved: 'gebucht' (1)" in said
    assert "columns kept as text: 'Wer'" in said
    assert "not checked: employees (the entries have no employee_id)" in said


def test_import_tells_what_the_list_was_taken_as(typed, tmp_path):
    """A list that was written for a spreadsheet makes its codes known, not its formulas, and it is said."""
    row = '123e4567-e89b-42d3-a456-426614174000,"=""001000""",Bank'
    (tmp_path / "accounts.csv").write_text(f"id,external_id,name\n{row}\n", encoding="utf-8")
    said = typed("accounts import accounts.csv").stdout
    assert 'rows with cells such as ="0400", read as the text in it: 1 (line 2)' in said
    assert "001000" in typed("accounts list").stdout
    assert '="' not in typed("accounts list").stdout


def test_a_snapshot_that_answers_is_told_in_a_pipe(typed, tmp_path):
    """The note is on standard error, with the command's option; standard output is the table."""
    assert typed("employees").stderr == ""
    again = typed("employees")
    assert "27 rows from the snapshot of" in again.stderr
    assert "seconds old; --refresh asks the service\n" in again.stderr
    assert "snapshot" not in again.stdout
    assert typed("employees --refresh").stderr == ""
    typed("categories")
    (tmp_path / "chart.csv").write_text("Konto;Name\n0400;Bank\n", encoding="utf-8")
    compared = typed("accounts create --chart chart.csv").stderr
    assert "\ncategories: 240 rows from the snapshot of" in compared
    assert "refresh" not in compared


@pytest.mark.filterwarnings("always:.*is used instead")
def test_compose_asks_the_service_anew(sandbox, typed, tmp_path, request):
    """A category made after the last snapshot is known; a service that is away is told in one line."""
    typed("categories")
    request.getfixturevalue("entries")
    done = typed("export compose entries.csv")
    assert "its category was not found in the service" not in done.stdout
    assert done.stderr == ""
    sandbox.server.stop()
    done = typed("export compose entries.csv --out later.plan")
    told = done.stderr.splitlines()
    assert [line.startswith("bktools: ") for line in told] == [True, True], told
    assert all("the snapshot of" in line and "is used instead" in line for line in told)
