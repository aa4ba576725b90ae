"""Mappings: what was settled once is remembered for files with the same headings."""

from __future__ import annotations

import shlex
import shutil
import stat
from pathlib import Path

import pytest
import xlsxwriter
from typer.testing import CliRunner

from bktools.cli.app import app
from bktools.errors import ArgumentError, InputError
from bktools.inputs.mappings import FileMapping, folder, read_mapping, write_mapping

HEADINGS = "Nr 1;Wann;Wieviel"
POSTINGS = f"{HEADINGS}\n4930;03/04/2026;1,234\n1200;03/04/2026;-1,234\n"


SETTLED = shlex.split(
    "--column 'account_code=Nr 1' --column date=Wann --column amount=Wieviel --decimal , "
    "--date-format %d/%m/%Y"
)


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A ledger whose headings nobody else has, and its mapping `house`, which settles it."""
    path = tmp_path_factory.mktemp("october") / "october.csv"
    path.write_text(POSTINGS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BKTOOLS_CONFIG", str(path.with_name("config.toml")))
        assert isinstance(run("ledger", path).exception, InputError)
        done = run("ledger", path, *SETTLED, "--save-mapping", "house")
        assert done.exit_code == 0, done.output
        assert f"mapping 'house' saved as {folder() / 'house.toml'}" in done.output
        return path, folder() / "house.toml"


@pytest.fixture
def october(saved, tmp_path):
    """Copies of the ledger, and of its mapping in the test's own folder."""
    path, mapping = saved
    folder().mkdir()
    shutil.copy2(mapping, folder())
    return Path(shutil.copy(path, tmp_path))


def test_next_month_needs_no_option(october):
    """Another file with these headings, in any order and below a title, is read with their mapping."""
    november = october.with_name("november.csv")
    november.write_text("Buchungen November\n\nWieviel;Wann;Nr 1\n5,678;03/11/2026;4930\n", encoding="utf-8")
    done = run("ledger", november)
    assert done.exit_code == 0, done.output
    assert "mapping 'house' used for november.csv" in done.output
    assert "4930\t1\t5.678" in done.output


def test_a_workbook_with_the_same_headings(october):
    """The mapping of a text is that of a workbook, too; what the cells say themselves needs no option."""
    path = october.with_name("december.xlsx")
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for line, row in enumerate(
            (HEADINGS.split(";"), ("4930", "03/12/2026", "1,5"), ("1200", "03/12/2026", "-1,5"))
        ):
            sheet.write_row(line, 0, row)
    done = run("ledger", path, "--summary")
    assert "mapping 'house' used for december.xlsx" in done.output, done.output


def test_a_file_that_is_longer_than_what_is_looked_into(october):
    """The headings of a long file are known, wherever its first 64 KiB end, also within a letter."""
    rows = "".join(
        f"{'ä' * 150}{number};03/12/2026;{amount}\n" for number in range(120) for amount in ("1,5", "-1,5")
    )
    december = october.with_name("december.csv")
    december.write_text(f"{HEADINGS}\n{rows}", encoding="utf-8")
    assert "mapping 'house' used for december.csv" in run("ledger", december, "--summary").output


def test_explicit_options_win(october):
    """An option goes before what was remembered, and the rest stays."""
    done = run(
        "ledger", october, "--decimal", ".", "--output", october.with_name("made.csv"), "--profile", "machine"
    )
    assert done.exit_code == 0, done.output
    assert "4930,2026-04-03,1234," in october.with_name("made.csv").read_text(encoding="utf-8")


def test_other_headings_are_another_file(october):
    """A column more, or another kind of file, and the mapping is not used."""
    october.write_text(POSTINGS.replace("Wieviel", "Wieviel;Wozu"), encoding="utf-8")
    done = run("ledger", october)
    assert isinstance(done.exception, InputError)
    assert "mapping" not in done.output
    october.write_text(POSTINGS, encoding="utf-8")
    assert "mapping" not in run("reconcile", "--sandbox", "--chart", october).output


def test_a_mapping_can_be_mailed(october, tmp_path, monkeypatch):
    """The TOML file alone is enough in another user's folder; only its owner can read the new one."""
    written = folder() / "house.toml"
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    monkeypatch.setenv("BKTOOLS_CONFIG", str(tmp_path / "colleague" / "config.toml"))
    folder().mkdir(parents=True)
    (tmp_path / "colleague" / "config.toml").touch()
    shutil.copy(written, folder() / "from anna.toml")
    assert "mapping 'from anna' used" in run("ledger", october).output


def test_list_and_show(october):
    """`list` has a line for each mapping, `show` the file as it is."""
    listed = run("mappings", "list").output
    assert "house\tledger\t3\taccount_code=Nr 1, date=Wann, amount=Wieviel, decimal=,, date_format=" in listed
    assert run("mappings", "show", "house").output.startswith(
        (folder() / "house.toml").read_text(encoding="utf-8")
    )
    assert "there is no such mapping" in str(run("mappings", "show", "other").exception)


@pytest.mark.parametrize("name", ["CON", "aux", "Com1", "ends in a space "])
def test_a_name_that_windows_reserves_is_refused(october, name):
    """A mapping is handed on to colleagues, so its name can be a file on every system; nothing is saved."""
    before = sorted(folder().iterdir())
    other = october.with_name("other.csv")
    other.write_text(POSTINGS.replace(HEADINGS, "Konto;Datum;Betrag"), encoding="utf-8")
    options = ["--decimal", ",", "--date-format", "%d/%m/%Y"]
    error = run("ledger", other, *options, "--save-mapping", name).exception
    assert isinstance(error, ArgumentError)
    assert str(error).startswith("the name of a mapping must not be one that Windows reserves or changes")
    assert sorted(folder().iterdir()) == before


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("kind = ", "Invalid value"),
        ('kind = "bank"\nheadings = ["a"]', "chart|entries|accounts|ledger"),
        ('kind = "chart"\nheadings = []', "length >= 1 - at `$.headings`"),
        ('kind = "chart"\nheadings = ["a"]\n[columns]\nprice = "a"', "[columns] has 'price'"),
        ('kind = "chart"\nheadings = ["a"]\n[options]\ndecimal = 1', "Expected `str`, got `int` - at `$."),
        ('kind = "chart"\nheadings = ["a"]\nextra = 1', "unknown field `extra`"),
        ('kind = "\udcff"', "invalid start byte"),
        ("#" * (1 << 20) + "\n", "is too large"),
    ],
)
def test_a_damaged_mapping_is_one_line(october, content, why):
    """It names the file and what is wrong, whichever command meets it."""
    damaged = folder() / "damaged.toml"
    damaged.write_bytes(content.encode(errors="surrogateescape"))
    for command in (("ledger", october), ("mappings", "list"), ("mappings", "show", "damaged")):
        error = run(*command).exception
        assert isinstance(error, InputError)
        assert str(error).startswith(f"{damaged}: ")
        assert why in str(error)
        assert "\n" not in str(error)


def test_names_that_are_none(october):
    """A name never leads out of the folder, and one set of headings has one mapping."""
    for name in ("../house", "", "a/b", "x" * 64):
        error = run("ledger", october, "--save-mapping", name).exception
        assert isinstance(error, ArgumentError)
    error = run("ledger", october, "--save-mapping", "other").exception
    assert str(error).startswith("--save-mapping must be house, the mapping that is for these headings")
    shutil.copy(folder() / "house.toml", folder() / "twin.toml")
    assert "'house' and 'twin' are for the same headings" in str(run("ledger", october).exception)


def test_what_is_not_saved(tmp_path):
    """A file without headings cannot be known again, and one that needs no option needs no mapping."""
    path = tmp_path / "file.csv"
    path.write_text("4930;2026-10-01;1.50\n1200;2026-10-01;-1.50\n" * 2, encoding="utf-8")
    fields = ("account_code", "date", "amount")
    settled = [word for at, name in enumerate(fields, 1) for word in ("--column", f"{name}=column {at}")]
    done = run("ledger", path, *settled, "--save-mapping", "none")
    assert "mapping 'none' not saved: file.csv has no headings to know it by" in done.output
    path.write_text("Account;Date;Amount\n4930;2026-10-01;1.50\n", encoding="utf-8")
    assert "is read without any option" in run("ledger", path, "--save-mapping", "none").output
    assert not folder().exists()


def test_text_that_is_unicode_stays_so(tmp_path):
    """An encoding that was remembered does not spoil a file that shows that it is UTF-8 or UTF-16."""
    path = tmp_path / "file.csv"
    text = "Nr 1;Text;Datum;Betrag\n4930;Büro;2026-10-01;1.50\n"
    path.write_text(text, encoding="cp1252")
    settled = ("--column", "account_code=Nr 1", "--encoding", "cp1252")
    assert run("ledger", path, *settled, "--save-mapping", "house").exit_code == 0
    for encoding in ("cp1252", "utf-8", "utf-8-sig", "utf-16"):
        path.write_text(text, encoding=encoding)
        made = tmp_path / "made.csv"
        done = run("ledger", path, "--output", made, "--profile", "machine")
        assert "mapping 'house' used" in done.output
        assert "Büro" in made.read_text(encoding="utf-8"), encoding


def test_any_text_is_written_to_the_letter():
    """Quotes, backslashes, newlines and control characters in headings come back as they were."""
    odd = ('a "b"', "c\\d", "e\nf", "g\x7f\x01", "ü 東京 🥨")
    made = FileMapping("odd", "chart", odd, {"code": odd[0]}, {"delimiter": "\t"})
    assert read_mapping(write_mapping(made)) == made
