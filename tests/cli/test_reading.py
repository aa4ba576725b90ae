"""Files: shown on three commands, kept as a mapping there, and found by all others."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

import bktools
from bktools.cli.exits import Exit
from bktools.errors import ArgumentError
from bktools.inputs.mappings import folder

# A ledger whose headings no dictionary has.
LEDGER = "Nr 1;Wann;Wieviel\n4930;03/04/2026;1,234\n1200;03/04/2026;-1,234\n"
SETTLED = (
    "--column 'account_code=Nr 1' --column date=Wann --column amount=Wieviel --decimal , "
    "--date-format %d/%m/%Y --currency EUR"
)
FORMATS = Path(__file__).parent.parent / "inputs" / "formats" / "files"
CHART = "Kontonr alt;Bezeichnung;Kontotyp\n0400;Bank;Aktiva\n0500;Kasse;Aktiva\n"


def commands_in(text: str) -> list[str]:
    """Return the commands of a message, each as it would be pasted."""
    return re.findall(r"^  bktools (.*)$", text, re.MULTILINE)


@pytest.fixture
def ledger(run):
    """A ledger that is read with options, which the mapping `house` keeps."""
    Path("october.csv").write_text(LEDGER, encoding="utf-8")
    done = run(f"ledger october.csv {SETTLED} --save-mapping house")
    assert done.returncode == Exit.DONE, done.stderr
    assert f'mapping "house" saved as {folder() / "house.toml"}' in done.stderr
    return Path("october.csv")


def test_a_file_is_shown(run, samples):
    """Form, fields and columns, days, sums by currency, notes, first and last rows; all as data, too."""
    done = run("entries", samples[1])
    for text in (
        r"^320 rows of accounting_entries.csv \(.*delimiter ,",
        r"^id +← +entry_id$",
        "^Days: 2026-10-01 to 2026-10-31$",
        r"^Sum: EUR 127,687.41 in 274 rows$",
        "^Note: taken as not approved: ",
        "^First and last rows:\nid\tcompany_id",
    ):
        assert re.search(text, done.stdout, re.MULTILINE), text
    facts = json.loads(run("entries", samples[1], "--format", "json").stdout)
    assert (facts["rows"], facts["columns"]["id"]) == (320, "entry_id")
    assert facts["days"] == {"first": "2026-10-01", "last": "2026-10-31"}
    assert {"currency": "EUR", "rows": 274, "amount": "127687.41"} in facts["sums"]
    shown = run("chart", samples[0], "--output", "chart.csv")
    assert (shown.returncode, "93 rows written to chart.csv" in shown.stderr) == (Exit.DONE, True)


def test_a_file_that_is_not_understood_ends_with_commands_that_work(run):
    """What another command prints is pasted, then the command is run again, and works; next month at once."""
    Path("chart.csv").write_text(CHART, encoding="utf-8")
    refused = run("reconcile --chart chart.csv --sandbox")
    assert refused.returncode == Exit.INPUT
    assert "\nThen run this again.\n" in refused.stderr
    (pasted,) = commands_in(refused.stderr)
    assert pasted == "chart chart.csv --column 'code=Kontonr alt' --save-mapping chart"
    assert run(pasted).returncode == Exit.DONE
    again = run("reconcile --chart chart.csv --sandbox")
    assert (again.returncode, again.stderr) == (Exit.DONE, 'mapping "chart" used for chart.csv\n')
    Path("november.csv").write_text(CHART.replace("0500", "0600"), encoding="utf-8")
    assert run("accounts create --chart november.csv --sandbox").returncode == Exit.DONE


def test_each_choice_is_a_command(run):
    """Several choices are one command each; a value that only the user knows is refused with what to put."""
    Path("my card.csv").write_text(
        'Datum,Laden,Betrag\n03/10/2026,Bahn,"1,234"\n04/10/2026,Rewe,"-5,600"\n', encoding="utf-8"
    )
    pasted = commands_in(run("spend 'my card.csv' --by supplier").stderr)
    assert len(pasted) == 4
    for line in pasted:
        refused = run(line)
        assert refused.returncode == Exit.INPUT
        assert (
            "--currency must be the code of a currency in ISO 4217, such as EUR, got 'CODE'" in refused.stderr
        )
    assert run(pasted[0].replace("CODE", "EUR")).returncode == Exit.DONE
    done = run("spend 'my card.csv' --by Laden")
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["Laden", "Bahn", "Rewe"]


def test_the_account_list_is_shown_by_chart(run):
    """The account export of the spend tool that is not understood is read by `chart --account-list`."""
    head = "Kennung,Ext Nr,Titel"
    row = "123e4567-e89b-42d3-a456-426614174000,0400,Bank"
    Path("list.csv").write_text(f"{head}\n{row}\n", encoding="utf-8")
    refused = run("accounts import list.csv --sandbox")
    assert refused.returncode == Exit.INPUT
    for line in commands_in(refused.stderr):
        assert line.startswith("chart list.csv --account-list ")
    columns = "--column id=Kennung --column 'external_id=Ext Nr' --column name=Titel --headings 1"
    assert run(f"chart list.csv --account-list {columns} --save-mapping list").returncode == Exit.DONE
    assert "1 account known now" in run("accounts import list.csv --sandbox").stdout


def test_a_mapping_is_found_by_the_headings(run, ledger):
    """Another file with these headings, in any order and below a title, needs no option; options go first."""
    november = Path("november.csv")
    november.write_text("Buchungen November\n\nWieviel;Wann;Nr 1\n5,678;03/11/2026;4930\n", encoding="utf-8")
    done = run("ledger november.csv")
    assert (done.returncode, done.stderr) == (Exit.DONE, 'mapping "house" used for november.csv\n')
    assert "EUR 5.678" in done.stdout
    assert "\t1234.00\tEUR" in run("ledger october.csv --decimal .").stdout
    november.write_text(LEDGER.replace("Wieviel", "Wieviel;Wozu"), encoding="utf-8")
    other = run("ledger november.csv")
    assert (other.returncode, "mapping" in other.stderr) == (Exit.INPUT, False)


def test_a_mapping_is_named(run, ledger, tmp_path, monkeypatch):
    """A team keeps a mapping beside its scripts and names its file; one of another kind is not used."""
    shutil.copy(folder() / "house.toml", "team.toml")
    (folder() / "house.toml").unlink()
    assert run("ledger october.csv").returncode == Exit.INPUT
    done = run("ledger october.csv --mapping team.toml")
    assert 'mapping "team" used for october.csv' in done.stderr
    assert "is a mapping of ledger, not of entries" in run("entries october.csv --mapping team.toml").stderr
    assert "there is no such mapping" in run("ledger october.csv --mapping none").stderr
    assert run(f"ledger october.csv {SETTLED} --save-mapping other.toml").returncode == Exit.DONE
    assert Path("other.toml").is_file()


def test_a_mapping_of_another_kind_is_said(run, ledger):
    """A command reads a file without a mapping that is of another kind of file, and says so."""
    Path("entries.csv").write_text("Date,Amount,Currency\n2026-10-01,5.00,EUR\n", encoding="utf-8")
    done = run("spend entries.csv --by month --mapping house")
    assert "mapping house not used for entries.csv" in done.stderr


def test_mappings_are_listed(run, ledger):
    """Each mapping has a line with its options and its file."""
    (row,) = json.loads(run("mappings --format json").stdout)
    assert (row["name"], row["kind"], row["headings"]) == ("house", "ledger", 3)
    assert "decimal=," in row["options"]
    assert row["file"] == str(folder() / "house.toml")
    shutil.copy(folder() / "house.toml", folder() / "twin.toml")
    assert "used for october.csv" in run("ledger october.csv").stderr
    twin = (folder() / "twin.toml").read_text(encoding="utf-8").replace('"decimal" = ","', '"decimal" = "."')
    (folder() / "twin.toml").write_text(twin, encoding="utf-8")
    assert "mappings house, twin are for the same headings" in run("ledger october.csv").stderr


def test_files_with_the_same_headings_keep_lines_of_their_own(run):
    """Lines to skip are of one file: that of another month keeps its mapping; an empty heading is none."""
    for month in ("10", "11"):
        rows = f",2026-{month}-01,Bahn,5.00,EUR\n,2026-{month}-02,,7.00,EUR\n"
        Path(f"m{month}.csv").write_text(f",Date,Supplier,Amount,Currency\n{rows}", encoding="utf-8")
        done = run(f"entries m{month}.csv --skip-rows 3 --save-mapping m{month}")
        assert (done.returncode, "in place of" in done.stderr) == (Exit.DONE, False)
    for month in ("10", "11"):
        assert f'mapping "m{month}" used for m{month}.csv' in run(f"spend m{month}.csv --by month").stderr


@pytest.mark.parametrize("name", ["../house", "", "a/b", "x" * 64, "CON", "ends in a space "])
def test_a_name_that_is_none_is_refused(run, ledger, name):
    """A name never leads out of the folder, and can be a file on every system; nothing is saved."""
    before = sorted(folder().iterdir())
    done = run("ledger", "october.csv", *shlex.split(SETTLED), "--save-mapping", name)
    assert (done.returncode, "the name of a mapping must" in done.stderr) == (Exit.INPUT, True)
    assert sorted(folder().iterdir()) == before


def test_a_damaged_mapping_stops_only_what_names_it(run, ledger):
    """Other commands warn in one line and go on; the list of mappings has the reason and the way out."""
    damaged = folder() / "damaged.toml"
    damaged.write_text((folder() / "house.toml").read_text().replace('"amount"', '"amounts"'))
    done = run("ledger october.csv")
    warning, used = done.stderr.splitlines()
    assert (done.returncode, used) == (Exit.DONE, 'mapping "house" used for october.csv')
    assert warning.startswith(f"bktools: {damaged}: is not a readable mapping")
    assert "delete it" in warning
    named = run("ledger october.csv --mapping damaged")
    assert (named.returncode, named.stderr.count("\n")) == (Exit.INPUT, 1)
    rows = json.loads(run("mappings --format json").stdout)
    (row,) = (row for row in rows if row["name"] == "damaged")
    assert (row["kind"], row["file"]) == (None, str(damaged))
    assert row["options"].startswith("is not a readable mapping")


def test_an_unknown_field_is_refused_and_not_saved(run, ledger):
    """The message has the fields that there are, and the closest one."""
    before = sorted(folder().iterdir())
    done = run(f"ledger october.csv {SETTLED} --column original_amount=Wieviel --save-mapping journal")
    assert (done.returncode, sorted(folder().iterdir())) == (Exit.INPUT, before)
    assert "\nbktools: --column must name one of debit_account, " in done.stderr
    assert "(did you mean foreign_amount?), got 'original_amount'" in done.stderr
    with pytest.raises(ArgumentError, match="columns must name one of"):
        bktools.read_general_ledger("october.csv", columns={"original_amount": "Wieviel"})


def test_a_ledger_that_contradicts_itself_is_read_anyway_as_printed(run):
    """What another command prints is pasted: the mapping of a file without headings is named."""
    text = (FORMATS / "accounts.se").read_bytes().replace(b"-848.00", b"-840.00")
    Path("bad ledger.se").write_bytes(text)
    line = "export compose --sandbox --ledger 'bad ledger.se' --out a.plan"
    refused = run(line)
    assert refused.returncode == Exit.INPUT
    pasted = re.search(r"^  bktools (.*)$", refused.stderr, re.MULTILINE)[1]
    named = re.search(r"Then run this again with (.*)\.", refused.stderr)[1]
    assert run(pasted).returncode == Exit.DONE
    assert run(f"{line} {named}").returncode == Exit.DONE


def _spent_in_two_files(run, file, *, since):
    """Write the first 100 lines of a file, and those from a line on, as two: `spend` adds up the same."""
    rows = file.read_text(encoding="utf-8").splitlines()
    Path("first.csv").write_text("\n".join(rows[:100]), encoding="utf-8")
    Path("second.csv").write_text("\n".join([rows[0], *rows[since:]]), encoding="utf-8")
    done = run("spend first.csv second.csv --by currency --format json")
    whole = run("spend", file, "--by", "currency", "--format", "json")
    assert json.loads(done.stdout) == json.loads(whole.stdout)
    return done


def test_several_files_of_entries_are_one(run, samples):
    """The rows of several files are joined, and notes say which file they are of."""
    _spent_in_two_files(run, samples[1], since=100)
    close = run("month-end --sandbox --entries first.csv --entries second.csv --out close --format json")
    assert close.returncode == Exit.DONE, close.stderr
    assert "320 rows of first.csv, second.csv" in close.stderr
    # The folder has a copy of each file.
    inputs = json.loads(Path("close/manifest.json").read_text(encoding="utf-8"))["inputs"]
    copies = {Path(one["source"]).name: Path("close", one["file"]) for one in inputs.values()}
    for name in ("first.csv", "second.csv"):
        assert copies[name].read_bytes() == Path(name).read_bytes()
        assert copies[name].name in Path("close/README.txt").read_text(encoding="utf-8")


def test_an_entry_of_several_files_counts_once(run, samples):
    """Equal rows of two months' files are one entry; of one with other data the file named last counts."""
    rows = samples[1].read_text(encoding="utf-8").splitlines()
    done = _spent_in_two_files(run, samples[1], since=90)
    assert "10 rows are in several files" in done.stderr
    changed = rows[95].replace("2026", "2025", 1)
    assert changed != rows[95]
    Path("second.csv").write_text("\n".join([rows[0], changed]), encoding="utf-8")
    for files, years in (("first.csv second.csv", {"2025", "2026"}), ("second.csv first.csv", {"2026"})):
        done = run(f"spend {files} --by month --format json")
        assert {row["month"][:4] for row in json.loads(done.stdout)} == years
        assert f"the data in {files.split()[0]} are not used" in done.stderr


def test_a_column_of_category_names_is_named_by_its_option(run):
    """Without the service the names stay names; a later command finds them by the mapping."""
    entry = "123e4567-e89b-42d3-a456-42661417400"
    rows = [f"{entry}{number},2026-10-03,12.50,EUR,{name}\n" for number, name in enumerate(["Travel", ""])]
    Path("e.csv").write_text("".join(["id,date,amount,currency,Spent for\n", *rows]))
    done = run("entries e.csv --column 'category_id=Spent for' --save-mapping house")
    assert (done.returncode, "category_name  ←  Spent for" in done.stdout) == (Exit.DONE, True), done.stderr
    done = run("spend e.csv --by category_name --format json")
    assert json.loads(done.stdout)[0]["category_name"] == "Travel", done.stderr
    # A budget has other headings than the entries, which the mapping is for.
    Path("budget.csv").write_text("category_name,amount\nTravel,10.00\n")
    done = run("versus e.csv budget.csv --by category_name --mapping house --format json")
    assert [row["difference"] for row in json.loads(done.stdout)] == ["2.50", "12.50"], done.stderr
    # A budget is compared by its own keys.
    Path("budget.csv").write_text("cost_centre,amount\n100,10.00\n")
    Path("own.csv").write_text("date,amount,currency,cost_centre\n2026-10-03,12.50,EUR,100\n")
    done = run("versus own.csv budget.csv --sandbox --output versus.csv --profile machine")
    assert "100,EUR,12.50,10.00,2.50,25.0," in Path("versus.csv").read_text(encoding="utf-8"), done.stderr


@pytest.mark.parametrize(("options", "currency"), [("", "EUR"), ("-e us", "USD")])
def test_amounts_without_a_currency_are_in_that_of_the_selected_environment(run, access, options, currency):
    """Also where another environment is the configured one."""
    us = {"base_url": access["BKTOOLS_BASE_URL"], "token": access["BKTOOLS_TOKEN"], "currency": "USD"}
    us |= {"company": access["BKTOOLS_COMPANY"]}
    Path("config.toml").write_text(
        'environment = "at"\n[at]\nbase_url = "https://at.example"\ntoken = "a"\ncurrency = "EUR"\n[us]\n'
        + "".join(f'{name} = "{value}"\n' for name, value in us.items())
    )
    Path("e.csv").write_text("date,amount,supplier\n2026-10-03,12.50,Train\n")
    done = run(f"spend e.csv --by supplier --format json {options}", BKTOOLS_CONFIG="config.toml")
    assert json.loads(done.stdout)[0]["currency"] == currency, done.stderr
