"""What a command line prints, writes and ends with: a table of promises, each shown on the sandbox."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import NamedTuple

import pytest

import bktools
from bktools.cli.exits import Exit
from bktools.sandbox import Fault

HEADINGS = "entry_id,company_id,date,amount,currency,category_id,employee_id,status,description\n"
ENTRY = (
    "123e4567-e89b-42d3-a456-426614174000,9b48711b-7e43-4f5c-8a36-341a5037711f,"
    "2026-10-01,1.00,EUR,4ba13035-6a83-484c-a695-5a4c97582ae6,,approved,x\n"
)
FILES = {
    "chart.csv": "Konto;Bezeichnung\n0400;Bank\n",
    "twice.csv": "Konto;Bezeichnung\n0400;Bank\n0400;Kasse\n",
    "empty.csv": "",
    "entries.csv": HEADINGS + ENTRY,
    "wrong.csv": HEADINGS + ENTRY + ENTRY.replace("7-", "7+", 1),
    "close/mine.txt": "mine",
}


class Promise(NamedTuple):
    """A line, its exit code, and regular expressions of what it prints; "" for nothing."""

    line: str
    code: Exit
    out: str = ""
    err: str = ""


MONTH = "--month must be a month such as 2026-10, got "
# Nothing of these is written, here or in the service.
REFUSED = {
    "a month is checked before anything is read": Promise(
        "month-end --chart missing.csv --month October", Exit.INPUT, err=f"^bktools: {MONTH}'October'$"
    ),
    "of a plan, too": Promise(
        "export compose missing.csv --month 2026-13", Exit.INPUT, err=f"^bktools: {MONTH}'2026-13'$"
    ),
    "what fails a close is one of three words": Promise(
        "month-end --fail-on all", Exit.INPUT, err="--fail-on must be one of held, error, warning, got 'all'$"
    ),
    "what fails a comparison is one of two": Promise(
        "reconcile --fail-on blue", Exit.INPUT, err="--fail-on must be one of error, warning, got 'blue'$"
    ),
    "a threshold is an amount or a share": Promise(
        "compare 2026-09 2026-10 --threshold few",
        Exit.INPUT,
        err="--threshold must be an amount such as 500, or a share",
    ),
    "a German rule": Promise(
        "month-end --month 2026-13 --language de",
        Exit.INPUT,
        err="^bktools: --month muss ein Monat wie 2026-10 sein, angegeben ist '2026-13'$",
    ),
    "a profile is one of three": Promise(
        "reconcile --out findings --profile lotus",
        Exit.INPUT,
        err="--profile must be one of excel, excel-eu, machine, got 'lotus'$",
    ),
    "a language is one of two": Promise(
        "month-end --language fr",
        Exit.USAGE,
        err="'--language': .*'fr' is not one of 'en', 'de'; see bktools",
    ),
    "a file that is missing": Promise("reconcile --chart no.csv", Exit.INPUT, err="^bktools: no.csv"),
    "an empty file": Promise("reconcile --chart empty.csv", Exit.INPUT, err="empty.csv.* empty"),
    "an account twice": Promise("accounts create --chart twice.csv --apply", Exit.INPUT, err="0400"),
    "a wrong entry is named by its line": Promise(
        "month-end --apply --entries wrong.csv", Exit.INPUT, ".", "line 3.*123e4567[+]"
    ),
    "a folder with other files is not a close's": Promise(
        "month-end --apply --out close", Exit.INPUT, ".", "--out"
    ),
    "nor is the folder one is in": Promise(
        "month-end --apply --out .", Exit.INPUT, ".", ". is the folder you are in: give another folder with"
    ),
    "a file is one of some kinds": Promise(
        "categories --output x.txt", Exit.INPUT, err="--output must end in .csv, .xlsx, .json, .parquet, got"
    ),
    "two environments are a contradiction": Promise(
        "config -e https://books.example",
        Exit.INPUT,
        err="^bktools: --sandbox cannot be combined with --environment https://books.example$",
    ),
    "an unknown batch is settled by nobody": Promise(
        "export resolve 0 --outcome released --evidence 'not seen' --by Ada", Exit.JOURNAL, err="0"
    ),
    "an option that is none": Promise("month-end --sandbx", Exit.USAGE, err="No such option: --sandbx"),
}


@pytest.mark.parametrize("promise", REFUSED)
def test_what_cannot_be_is_one_line(run, promise):
    """A wrong option or file ends with its code and one line; nothing is written, here or in the service."""
    line, code, out, err = REFUSED[promise]
    Path("close").mkdir()
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    takes_sandbox = not line.startswith("guide")
    done = run(f"{line}{' --sandbox' if takes_sandbox else ''}")
    assert done.returncode == code, done.stderr
    assert re.search(err, done.stderr, re.MULTILINE), done.stderr
    assert (done.stdout != "") == bool(out)
    assert code == Exit.USAGE or done.stderr.startswith("bktools: ")
    assert {str(path) for path in Path().rglob("*.*")} == {*FILES}
    assert run("accounts list --sandbox").stdout.count("\n") == 1


# Each on a fresh sandbox. {…} are files of the sample.
DONE = {
    "a check of every night fails on findings": Promise(
        "reconcile --sandbox --fail-on error --out findings", Exit.FINDINGS, "written to findings"
    ),
    "and only where this is wanted": Promise(
        "reconcile --sandbox", Exit.DONE, "93 rows of chart_of_accounts"
    ),
    "a plan says how the file was read, and what comes next": Promise(
        "export compose --sandbox --out a.plan",
        Exit.DONE,
        "rows of accounting_entries.csv (.|\n)*nothing was sent. Next: ",
    ),
    "a plan of nothing has no next step": Promise(
        "export compose --sandbox --month 2026-08 --out august.plan", Exit.DONE, "there is nothing to submit"
    ),
    "sums need no service for other keys than its own": Promise(
        "spend {entries} --by supplier", Exit.DONE, "supplier\tcurrency\tentries\tamount\n", "320 rows of"
    ),
    "sums of a quarter": Promise(
        "spend {entries} --by month --period 2026-Q4", Exit.DONE, r"month\tcurrency.*\n2026-10\t", "320 rows"
    ),
    "sums in the company's own currency": Promise(
        "spend {entries} --by supplier --rates rates.csv --format csv", Exit.DONE, "home_amount", "320 rows"
    ),
    "an entry of several files counts once": Promise(
        "spend {entries} {entries} --by company", Exit.DONE, "company_id\t", "320 rows are in several files"
    ),
    "a month is compared with itself": Promise(
        "versus {entries} {entries} --by supplier", Exit.DONE, "supplier\t", "0 differences"
    ),
    "shares are percent": Promise(
        "spend {entries} --by company --shares", Exit.DONE, r"\tshare\n.*\t99\.8%\n", "320 rows"
    ),
    "sides of a comparison have their names": Promise(
        "versus december.csv {entries} --by supplier --largest-first",
        Exit.DONE,
        "^supplier\tcurrency\tDecember 2026\tOctober 2026\tdifference\tpercent\tdrivers\n",
        "1 difference",
    ),
    "an empty journal has no months": Promise(
        "periods --sandbox", Exit.DONE, "^period\t[^\n]*\n$", "open: held back, and not exported since"
    ),
    "no mapping was saved": Promise("mappings", Exit.DONE, "^name\tkind", "0 mappings in "),
    "nothing was exported": Promise(
        "export status --sandbox", Exit.DONE, "^sent_at\t", "nothing was exported from here"
    ),
    "no account is known": Promise(
        "accounts list --sandbox",
        Exit.DONE,
        "^external_id\t",
        "bktools accounts create --chart FILE --sandbox --company .*bktools accounts import FILE --sandbox",
    ),
    "a German file is read aloud in German": Promise(
        "entries {entries} --language de",
        Exit.DONE,
        r"320 Zeilen aus .*(.|\n)*Summe: EUR 127\.687,41 in 274 Zeilen(.|\n)*\nHinweis: als freigegeben",
    ),
    "a German comparison has German headings, days and amounts": Promise(
        "versus december.csv {entries} --by supplier --language de",
        Exit.DONE,
        "^Lieferant\tWährung\tDezember 2026\tOktober 2026\tDifferenz\t%\tverursacht durch\n.*\t1\\d*,",
        "1 Unterschied\n",
    ),
    "a German mistake": Promise(
        "verify --sandbx --language de", Exit.USAGE, err="es gibt keine Option --sandbx; siehe bktools verify"
    ),
    "months of the journal are another command": Promise(
        "versus 2026-11 2026-10", Exit.INPUT, "^$", "bktools compare 2026-10 2026-11"
    ),
    "a sample ledger has what was exported": Promise(
        "verify --sandbox", Exit.INPUT, "^$", "first bktools month-end --sandbox --apply"
    ),
    "German outcomes": Promise(
        "accounts create --sandbox --apply --language de",
        Exit.DONE,
        "\tvorhanden\t(.|\n)*\tangelegt\t",
        "2 vorhanden: ",
    ),
    "German settings": Promise(
        "config --sandbox --language de", Exit.DONE, "^Einstellungen\n(.|\n)*  token +[(]nicht gesetzt[)]"
    ),
    "a page of the guide": Promise("guide files", Exit.DONE, "^ +\\S.*\n\n"),
    "a word of the guide": Promise("guide 'exchange rate'", Exit.DONE, "glossary\texchange rate"),
    "a word that no page of the guide has": Promise(
        "guide nowhere-at-all", Exit.DONE, "^$", "no page has .nowhere-at-all.; the pages: first-month, "
    ),
    "the version": Promise("--version", Exit.DONE, "^bktools .*Python 3"),
}


@pytest.mark.parametrize("promise", DONE)
def test_what_is_done(run, samples, promise):
    """A command prints what it promises, and ends with its code."""
    line, code, out, err = DONE[promise]
    Path("rates.csv").write_text(
        "date,currency,rate\n2026-01-01,USD,0.87\n2026-01-01,CHF,1.05\n2026-01-01,JPY,0.006\n"
        "2026-01-01,SEK,0.09\n",
        encoding="utf-8",
    )
    december = (
        samples[1].read_text(encoding="utf-8").replace("2026-10-", "2026-12-").replace("108.33", "208.33")
    )
    Path("december.csv").write_text(december, encoding="utf-8")
    done = run(line.format(chart=samples[0], entries=samples[1]))
    assert done.returncode == code, done.stderr
    assert re.search(out, done.stdout), done.stdout
    assert re.search(err or "^$", done.stderr), done.stderr


def test_a_total_of_all_currencies_is_in_the_own_one(run, samples):
    """With rates, the sum of all rows is noted beside the table: each entry converted and rounded."""
    rates = {"EUR": "1", "USD": "0.87", "CHF": "1.05", "JPY": "0.006", "SEK": "0.09"}
    rows = "".join(f"2026-01-01,{name},{rate}\n" for name, rate in rates.items() if name != "EUR")
    Path("rates.csv").write_text(f"date,currency,rate\n{rows}", encoding="utf-8")
    done = run(f"spend {samples[1]} --by supplier --rates rates.csv")
    entries = bktools.read_entries(samples[1]).dropna(subset="amount")
    pairs = zip(entries["amount"], entries["currency"], strict=True)
    amounts = [Decimal(str(amount)) * Decimal(rates[currency]) for amount, currency in pairs]
    total = sum(amount.quantize(Decimal("0.01"), ROUND_HALF_UP) for amount in amounts)
    copied = entries[entries.duplicated(["id", "date", "amount", "currency"])]
    total -= sum(Decimal(str(amount)) for amount in copied["amount"])
    assert f"in all, at the rates given: EUR {total:,}" in done.stderr


SETTINGS = {
    "nothing is configured": ("month-end", {}, Exit.CONFIGURATION, r"config\.toml.*--sandbox"),
    "files are missing": (
        "month-end",
        {"TOKEN": "hunter2"},
        Exit.INPUT,
        "--chart and --entries must be given",
    ),
    "a wrong token": (
        "month-end --apply --chart {chart} --entries {entries}",
        {"TOKEN": "hunter2"},
        Exit.REFUSED,
        "renew",
    ),
    "nobody at the address": (
        "month-end --apply --chart {chart} --entries {entries}",
        {"BASE_URL": "http://127.0.0.1:9", "RETRIES": "1"},
        Exit.UNREACHABLE,
        "127.0.0.1:9",
    ),
    "a read-only shell": (
        "month-end --apply --chart {chart} --entries {entries}",
        {"READ_ONLY": "1"},
        Exit.CONFIGURATION,
        "BKTOOLS_READ_ONLY.* is set: nothing was written",
    ),
    "an environment that nobody declared": (
        "config -e nowhere",
        {"TOKEN": ""},
        Exit.CONFIGURATION,
        "nowhere",
    ),
}


@pytest.mark.parametrize("promise", SETTINGS)
@pytest.mark.parametrize("verbose", [False, True])
def test_a_wrong_setting_has_a_way_out(run, access, samples, promise, verbose):
    """What is wrong is named, no token is shown, no folder made; --verbose adds the traceback alone."""
    line, settings, code, message = SETTINGS[promise]
    variables = access | {f"BKTOOLS_{name}": value for name, value in settings.items()} if settings else {}
    line = line.format(chart=samples[0], entries=samples[1])
    done = run(f"{line}{' --verbose' if verbose else ''}", **variables)
    assert (done.returncode, "Traceback" in done.stderr) == (code, verbose)
    assert re.search(message, done.stderr)
    assert "hunter2" not in done.stderr
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("line", "out", "err"),
    [("entries {entries}", "^320 Zeilen aus", "^$"), ("config", "^$", "keine Umgebung(.|\n)*mehr dazu")],
)
def test_the_language_of_the_config_file_needs_no_environment(run, samples, line, out, err):
    """The file's language is that of results and errors, also where no environment is configured."""
    Path("config.toml").write_text('language = "de"\n', encoding="utf-8")
    done = run(line.format(entries=samples[1]), BKTOOLS_CONFIG="config.toml")
    assert re.search(out, done.stdout), done.stdout
    assert re.search(err, done.stderr), done.stderr


def test_config_shows_each_source_and_no_secret(run):
    """A value names its variable; secrets are masked; what is for another environment is not used."""
    address, proxy = "https://books.example", "http://user:hunter2@proxy.example:8080"
    variables = {"BKTOOLS_BASE_URL": address, "BKTOOLS_TOKEN": "very-secret", "BKTOOLS_PROXY": proxy}
    done = run("config", **variables)
    assert not re.search("very-secret|hunter2", done.stdout)
    rows = dict(line.split(maxsplit=1) for line in done.stdout.splitlines()[1:])
    assert rows["environment"] == f"{address}  (BKTOOLS_BASE_URL)"
    assert rows["token"] == "set, not shown  (BKTOOLS_TOKEN)"
    assert rows["api_key"] == "(not set)"
    other = run("config -e https://other.example", **variables, BKTOOLS_COMPANY="c")
    assert "(not set; BKTOOLS_COMPANY is not for https://other.example)" in other.stdout


def test_a_full_disk_leaves_nothing_behind(run, small_disk):
    """A disk that is full at the folder or the journal is reported; no half folder stays, nothing is sent."""
    line = "month-end --sandbox --apply"
    assert run(line, BKTOOLS_DATA_DIR=str(small_disk)).returncode == Exit.STORAGE
    assert list(Path().iterdir()) == []
    for path in sorted(small_disk.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    done = run(f"{line} --out {small_disk / 'close'}")
    assert (done.returncode, "No space left" in done.stderr) == (Exit.STORAGE, True)
    assert list(small_disk.iterdir()) == []


def test_a_snapshot_that_answers_is_named(typed, tmp_path):
    """A cached table is noted on standard error with the option that asks anew; the table stands alone."""
    assert typed("employees").stderr == ""
    again = typed("employees")
    assert "27 rows from the snapshot of" in again.stderr
    assert "seconds old; --refresh asks the service\n" in again.stderr
    assert "snapshot" not in again.stdout
    (tmp_path / "chart.csv").write_text("Konto;Name\n0400;Bank\n", encoding="utf-8")
    typed("categories")
    # This command has no such option.
    assert "refresh" not in typed("accounts create --chart chart.csv").stderr


@pytest.mark.filterwarnings("ignore::bktools.errors.IncompleteTableWarning")
def test_many_companies(sandbox, typed, tmp_path):
    """Some companies fail: the others are written, each failure is a line, and the exit code is 12."""
    ids = [company.id for company in sandbox.server.companies()]
    sandbox.server.inject(Fault("error", status=403, company=ids[2]))
    named = " ".join(f"--company {company}" for company in ids)
    done = typed(f"categories {named} --on-error collect --output rows.csv")
    assert done.exit_code == Exit.SOME_COMPANIES
    (line,) = (line for line in done.stderr.splitlines() if line.startswith(f"bktools: company {ids[2]}"))
    assert line.endswith("ask for access to the company, or leave it out")
    rows = (tmp_path / "rows.csv").read_text(encoding="utf-8-sig")
    assert [company in rows for company in ids[:3]] == [True, True, False]


def test_the_next_step_is_pasted_as_it_is_printed(run, access, samples):
    """A printed command names its environment, quotes for the shell, and works as it stands."""
    variables = access | {"BKTOOLS_ENVIRONMENT": "live"}
    assert run("accounts", "create", "--chart", samples[0], "--apply", **variables).returncode == Exit.DONE
    composed = run("export", "compose", samples[1], "--out", "my plan.plan", **variables)
    printed = re.search(r"Next: bktools (export submit .*)\n", composed.stdout)[1]
    assert printed == "export submit 'my plan.plan' --environment live"
    assert "run again with --apply" in run(printed, **variables).stdout
    Path("hand.csv").write_text(HEADINGS + ENTRY.replace("approved,x", "approved,Bahn"), encoding="utf-8")
    word = "--by Ada --evidence 'list of exports'"
    imported = run(f"export import hand.csv {word}", **variables)
    undo = re.search(
        r"bktools (export undo-import \d+) .*( --environment live --company \S+)\n", imported.stdout
    )
    assert run(f"{undo[1]} {word}{undo[2]}", **variables).returncode == Exit.DONE
