"""`bktools verify` as a user types it, against a journal of the sandbox: what arrived, and how doubt is settled with it."""

from __future__ import annotations

import re
import shlex
import uuid

import pytest
from typer.testing import CliRunner

from bktools.cli.app import app
from bktools.cli.exits import Exit
from bktools.errors import ArgumentError, InputError
from bktools.sandbox.faults import Fault

HEADING = "account;date;amount;currency;text;voucher\n"


@pytest.fixture
def run(sandbox, service, monkeypatch, tmp_path):
    """A function that runs a command against the test's sandbox and gives code and output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BKTOOLS_BASE_URL", sandbox.server.base_url)
    monkeypatch.setenv("BKTOOLS_TOKEN", sandbox.server.token)
    monkeypatch.setenv("BKTOOLS_COMPANY", sandbox.server.company_id)

    def command(line):
        done = CliRunner().invoke(app, shlex.split(line))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.output

    return command


@pytest.fixture
def entries(sandbox, run, tmp_path):
    """Four entries on a category with the account 5800, of different days and amounts, in a file and as rows."""
    account = next(account for account in sandbox.server.accounts() if not account.archived)
    (tmp_path / "accounts.csv").write_text(
        f"id,external_id,code,name,company_id\n{account.id},{account.external_id},5800,Travel,{account.company_id}\n"
    )
    run("accounts import accounts.csv")
    category = sandbox.server.add_category("Travel", account_id=account.id)
    rows = [(f"2026-10-0{day}", f"{day}1.50", f"Ticket {day}") for day in (1, 2, 3, 4)]
    lines = [
        f"{uuid.uuid4()},{sandbox.server.company_id},{date},{amount},EUR,{category},approved,{text}"
        for date, amount, text in rows
    ]
    heading = "id,company_id,date,amount,currency,category_id,status,description"
    (tmp_path / "entries.csv").write_text("\n".join([heading, *lines]), encoding="utf-8")
    return rows


def export(run, sandbox, *, lost=False):
    """Export the entries in two batches; with `lost`, the answer to the first is lost and the second waits."""
    run("export compose entries.csv --out october.plan --max-entries 2")
    if lost:
        sandbox.server.inject(Fault("drop", "create_export_job", times=1))
    return run("export submit october.plan --apply")


def write_ledger(path, rows, *, last="2026-10-30"):
    lines = [f"5800;{date};{amount};EUR;{text};A {number}" for number, (date, amount, text) in rows.items()]
    path.write_text(HEADING + "\n".join([*lines, f"1200;{last};1.00;EUR;Bank;B 1"]), encoding="utf-8")


def test_all_arrived(run, sandbox, entries, tmp_path):
    """A ledger with every entry is code 0, with the sums by currency, and nothing to do."""
    export(run, sandbox)
    write_ledger(tmp_path / "ledger.csv", dict(enumerate(entries, 1)))
    code, said = run("verify --ledger ledger.csv --month 2026-10")
    assert code == Exit.DONE, said
    assert "Ledger, 2026-10-01 to 2026-10-30: 4 exported entries: 4 booked once\n" in said
    assert "  EUR: 106.00 exported, 106.00 booked once, 0.00 missing\n" in said
    assert "error" not in said


def test_what_differs_is_listed(run, sandbox, entries, tmp_path):
    """Missing, another amount and booked twice are named with their vouchers; the folder has every table."""
    export(run, sandbox)
    rows = {1: entries[0], 2: entries[1], 3: ("2026-10-03", "35.10", "Ticket 3"), 5: entries[1]}
    write_ledger(tmp_path / "ledger.csv", rows)
    code, said = run("verify --ledger ledger.csv --out proof --profile machine")
    assert code == Exit.INCOMPLETE
    assert "1 booked once, 1 missing, 1 booked twice or more, 1 with another amount" in said
    assert 'booked 2 times on 5800: voucher A 2, "Ticket 2", line 3; voucher A 5, "Ticket 2", line 5' in said
    assert "2026-10-03, Ticket 3, EUR 31.50\tEUR 35.10 is booked instead of EUR 31.50 on 5800" in said
    assert "2026-10-04, Ticket 4, EUR 41.50\tEUR 41.50 on 5800 Travel is not in the ledger within 7 days of" in said
    written = sorted(path.name for path in (tmp_path / "proof").iterdir())
    assert written == [f"ledger_{name}.csv" for name in ("batches", "entries", "findings", "postings", "totals")]
    assert (tmp_path / "proof" / "ledger_entries.csv").stat().st_mode & 0o077 == 0


def test_a_batch_in_doubt_that_arrived_is_accepted_by_the_printed_command(run, sandbox, entries, tmp_path):
    """Every entry of the batch is booked once: the printed command records it, with the vouchers, by a person."""
    assert export(run, sandbox, lost=True)[0] == Exit.INCOMPLETE
    write_ledger(tmp_path / "ledger.csv", dict(enumerate(entries[:2], 1)))
    code, said = run("verify --ledger ledger.csv")
    assert code == Exit.DONE, said
    printed = re.search(r"record it: bktools (export resolve .+) --by NAME", said)[1]
    assert "--outcome accepted" in printed
    assert "all 2 entries are booked once in the ledger of 2026-10-01 to 2026-10-30: vouchers A 1, A 2" in printed
    assert run(f"{printed} --by Ada")[0] == Exit.DONE
    assert "outcome unknown" not in run("export status")[1]
    last = run("export history --events")[1].splitlines()[-1]
    assert last.endswith("vouchers A 1, A 2\tAda")


@pytest.mark.parametrize(
    ("last", "outcome", "text"),
    [
        ("2030-01-01", "released", "none of its 2 entries is in the ledger of 2030-01-01 to 2030-01-01, but it begins"),
        ("2026-10-30", None, "wait, export the ledger again, then verify again"),
    ],
)
def test_a_batch_in_doubt_that_did_not_arrive(run, sandbox, entries, tmp_path, last, outcome, text):
    """Nothing is released while the ledger does not cover the days of the entries and of the sending."""
    export(run, sandbox, lost=True)
    write_ledger(tmp_path / "ledger.csv", {}, last=last)
    code, said = run("verify --ledger ledger.csv")
    assert code == Exit.INCOMPLETE
    assert text in said
    assert "export resolve" not in said
    if outcome:
        write_ledger(tmp_path / "ledger.csv", {9: ("2026-09-01", "7.00", "Before")}, last=last)
        said = run("verify --ledger ledger.csv")[1]
        printed = re.search(r"record it: bktools (export resolve .+) --by NAME", said)[1]
        assert "--outcome released" in printed
        assert run(f"{printed} --by Ada")[0] == Exit.DONE
        said = run("export status")[1]
        assert "UNKNOWN" not in said
        assert "RELEASED" in said


def test_a_batch_of_which_a_part_arrived_is_settled_by_nobody(run, sandbox, entries, tmp_path):
    """A part that arrived decides neither: no command is printed."""
    export(run, sandbox, lost=True)
    write_ledger(tmp_path / "ledger.csv", {1: entries[0]}, last="2030-01-01")
    code, said = run("verify --ledger ledger.csv")
    assert code == Exit.INCOMPLETE
    assert "of its 2 entries there are 1 booked, 1 missing: settle it by hand, entry by entry" in said
    assert "export resolve" not in said


def test_a_month_that_cuts_a_batch_decides_nothing(run, sandbox, entries, tmp_path):
    """A batch of two months is not settled by the entries of one of them."""
    path = tmp_path / "entries.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("2026-10-02", "2026-09-30"), encoding="utf-8")
    export(run, sandbox, lost=True)
    write_ledger(
        tmp_path / "ledger.csv", {1: ("2026-10-01", "11.50", "Ticket 1"), 2: ("2026-10-03", "31.50", "Ticket 3")}
    )
    code, said = run("verify --ledger ledger.csv --month 2026-10")
    assert "only 1 of its 2 entries were compared: leave out --month" in said, said
    assert "export resolve" not in said


def test_a_journal_without_amounts_takes_the_file_of_the_entries(run, sandbox, entries, tmp_path):
    """Where the journal kept no amounts, the command asks for the entries, and compares with them."""
    whole = (tmp_path / "entries.csv").read_text(encoding="utf-8")
    (tmp_path / "whole.csv").write_text(whole, encoding="utf-8")
    (tmp_path / "entries.csv").write_text(
        re.sub(r",\d+\.50,|amount,", lambda found: "," if found[0][0] == "," else "", whole), encoding="utf-8"
    )
    export(run, sandbox)
    write_ledger(tmp_path / "ledger.csv", dict(enumerate(entries, 1)))
    with pytest.raises(ArgumentError, match="--entries must name the file of the entries: the journal kept no amounts"):
        run("verify --ledger ledger.csv")
    code, said = run("verify --ledger ledger.csv --entries whole.csv --month 2026-10")
    assert (code, "4 booked once" in said) == (Exit.DONE, True), said


def test_bad_input_is_one_line(run, sandbox, entries, tmp_path):
    """A month that is none, a ledger that is none, and options of a table for another format are named."""
    with pytest.raises(ArgumentError, match="--month must be a month such as 2026-10"):
        run("verify --ledger ledger.csv --month October")
    (tmp_path / "ledger.csv").write_text("a;b\n1;2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"no column found for .*--column"):
        run("verify --ledger ledger.csv")


def test_hostile_texts_are_shown_as_text(run, sandbox, entries, tmp_path):
    """Formulas, quotes and terminal escapes of a ledger reach neither the shell nor the spreadsheet as commands."""
    export(run, sandbox, lost=True)
    path = tmp_path / "ledger.csv"
    lines = [
        f"5800;{date};{amount};EUR;=cmd();$(touch owned) 'x' \x1b[31m{number}"
        for number, (date, amount, _) in enumerate(entries[:2])
    ]
    path.write_text(HEADING + "\n".join(lines), encoding="utf-8")
    code, said = run("verify --ledger ledger.csv --out proof")
    assert code == Exit.DONE, said
    printed = re.search(r"record it: bktools (export resolve .+) --by NAME", said)[1]
    words = shlex.split(printed)
    assert words[words.index("--evidence") + 1].count("$(touch owned) 'x'") == 2
    assert "'=cmd()" in (tmp_path / "proof" / "ledger_entries.csv").read_text(encoding="utf-8-sig")
