"""What a command line prints, writes and ends with: a table of promises, each shown on the sandbox."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from world_files import lines_of, pairs

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


def promise_of(case: dict[str, str]) -> str:
    """Return the promise of a line of the tables."""
    return case["promise"]


@pytest.mark.parametrize("case", lines_of("cli/refused.csv"), ids=promise_of)
def test_what_cannot_be_is_one_line(run, case):
    """A wrong option or file ends with its code and one line; nothing is written, here or in the service."""
    line, code = case["line"], Exit[case["code"]]
    Path("close").mkdir()
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    done = run(f"{line} --sandbox")
    assert done.returncode == code, done.stderr
    assert re.search(case["err"], done.stderr, re.MULTILINE), done.stderr
    assert (done.stdout != "") == bool(case["out"])
    assert code == Exit.USAGE or done.stderr.startswith("bktools: ")
    assert {str(path) for path in Path().rglob("*.*")} == {*FILES}
    assert run("accounts list --sandbox").stdout.count("\n") == 1


@pytest.mark.parametrize("case", lines_of("cli/done.csv"), ids=promise_of)
def test_what_is_done(run, samples, case):
    """A command prints what it promises, and ends with its code, each on a fresh sandbox."""
    Path("rates.csv").write_text(
        "date,currency,rate\n2026-01-01,USD,0.87\n2026-01-01,CHF,1.05\n2026-01-01,JPY,0.006\n"
        "2026-01-01,SEK,0.09\n",
        encoding="utf-8",
    )
    december = (
        samples[1].read_text(encoding="utf-8").replace("2026-10-", "2026-12-").replace("108.33", "208.33")
    )
    Path("december.csv").write_text(december, encoding="utf-8")
    done = run(case["line"].format(entries=samples[1]))
    assert done.returncode == Exit[case["code"]], done.stderr
    assert re.search(case["out"], done.stdout), done.stdout
    assert re.search(case["err"] or "^$", done.stderr), done.stderr


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


@pytest.mark.parametrize("case", lines_of("cli/wrong_settings.csv"), ids=promise_of)
@pytest.mark.parametrize("verbose", [False, True])
def test_a_wrong_setting_has_a_way_out(run, access, samples, case, verbose):
    """What is wrong is named, no token is shown, no folder made; --verbose adds the traceback alone."""
    settings = {f"BKTOOLS_{name}": value for name, value in pairs(case["settings"]).items()}
    variables = access | settings if settings else {}
    line = case["line"].format(chart=samples[0], entries=samples[1])
    done = run(f"{line}{' --verbose' if verbose else ''}", **variables)
    assert (done.returncode, "Traceback" in done.stderr) == (Exit[case["code"]], verbose)
    assert re.search(case["err"], done.stderr)
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
    assert (done.returncode, "no space left" in done.stderr) == (Exit.STORAGE, True)
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
