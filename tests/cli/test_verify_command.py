"""`bktools verify` as a user types it: what arrived, and how doubt is settled with it."""

from __future__ import annotations

import datetime as dt
import json
import re
import shlex
import uuid
from decimal import Decimal

import pytest

from bktools.cli.exits import Exit
from bktools.errors import ArgumentError
from bktools.sandbox.faults import Fault

# The ledgers of the tests end in 2030: their postings were there when they were exported.
VERIFY = "verify --ledger ledger.csv --exported-at 2030-02-01"
HEADING = "account;date;amount;currency;text;voucher\n"


@pytest.fixture
def run(command):
    """A function that runs a command against the test's sandbox and gives code and output."""
    return command


@pytest.fixture
def entries(sandbox, run, tmp_path):
    """Four entries on the account 5800, of different days and amounts, in a file and as rows."""
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
    """Export two batches; with `lost`, the answer to the first is lost and the second waits."""
    run("export compose entries.csv --out october.plan --max-entries 2")
    if lost:
        sandbox.server.inject(Fault("drop", "create_export_job", times=1))
    return run("export submit october.plan --apply --first-export --by Ada --wait 5")


def balanced(lines):
    """Return the lines of a ledger, and the other side of each on an account of its own."""
    cells = (line.split(";", 3) for line in lines)
    return [*lines, *(f"2990;{date};{-Decimal(amount)};{rest}" for _, date, amount, rest in cells)]


def write_ledger(path, rows, *, last="2026-10-30", around=()):
    """Write the rows on 5800 by the numbers of their vouchers, and postings of the bank on other days."""
    lines = [f"5800;{date};{amount};EUR;{text};A {number}" for number, (date, amount, text) in rows.items()]
    lines += [f"1200;{date};1.00;EUR;Bank;B {number}" for number, date in enumerate((last, *around), 1)]
    path.write_text(HEADING + "\n".join(balanced(lines)), encoding="utf-8")


def result(run, line):
    """Return the JSON object of a command."""
    said = run(f"{line} --format json")[1]
    return json.loads(said[said.index("{") :])


def test_what_differs_is_listed(run, sandbox, entries, tmp_path):
    """Missing, another amount and booked twice are named with their vouchers; the folder has every table."""
    export(run, sandbox)
    rows = {1: entries[0], 2: entries[1], 3: ("2026-10-03", "35.10", "Ticket 3"), 5: entries[1]}
    write_ledger(tmp_path / "ledger.csv", rows)
    code, said = run("verify --ledger ledger.csv --out proof --profile machine")
    assert code == Exit.INCOMPLETE
    assert "1 booked, 1 open, 1 with another amount, 1 booked twice or more" in said
    assert 'voucher A 2, "Ticket 2", line 3, voucher A 5, "Ticket 2", line 5' in said
    assert "Ticket 3, EUR 31.50\tEUR 35.10 is booked instead of EUR 31.50 (difference 3.60) on 5800" in said
    # Half of the entries show no style: nothing is called missing.
    assert "5800 Travel, 2026-10-04\t1 entry: EUR 41.50 exported" in said
    assert "by hand" not in said
    assert "control totals: 1 of 1 account with a difference" in said
    assert "2026-10, EUR: exported 106.00, in the ledger 89.60, difference -16.40" in said
    (account,) = result(run, "verify --ledger ledger.csv")["open_accounts"]
    assert account["difference"] == "-16.40"
    written = sorted(path.name for path in (tmp_path / "proof").iterdir())
    assert written == [
        f"ledger_{name}.csv"
        for name in ("entries", "findings", "open_groups", "postings", "settlements", "totals")
    ]
    assert (tmp_path / "proof" / "ledger_entries.csv").stat().st_mode & 0o077 == 0


def test_the_months_of_the_ledger_are_compared(run, sandbox, entries, tmp_path):
    """Without a month, entries of months that the ledger lacks are counted apart; none at all is code 10."""
    september = add_earlier(run, tmp_path)
    export(run, sandbox)
    write_ledger(tmp_path / "ledger.csv", dict(enumerate(entries, 1)))
    code, said = run("verify --ledger ledger.csv")
    assert (code, "4 exported entries: 4 booked\n" in said) == (Exit.DONE, True), said
    assert "  EUR: 106.00 exported, 106.00 booked, 0.00 missing\n" in said
    assert "not compared: 2 entries of 2026-09, a month that is not in the ledger" in said
    assert run("verify --ledger ledger.csv --month 2026-09")[0] == Exit.INCOMPLETE
    write_ledger(tmp_path / "ledger.csv", september, last="2026-09-30")
    assert "2 exported entries: 2 booked" in run("verify --ledger ledger.csv")[1]
    write_ledger(tmp_path / "ledger.csv", {}, last="2027-01-05")
    assert run("verify --ledger ledger.csv")[0] == Exit.INCOMPLETE


def test_a_batch_in_doubt_that_arrived_is_accepted_by_the_printed_command(run, sandbox, entries, tmp_path):
    """Every entry of the batch is booked: the printed command records it with the vouchers."""
    earlier = add_earlier(run, tmp_path)
    assert export(run, sandbox, lost=True)[0] == Exit.INCOMPLETE
    write_ledger(
        tmp_path / "ledger.csv",
        {**earlier, **dict(enumerate(entries[:2], 1))},
        last="2030-01-01",
        around=["2026-08-31"],
    )
    code, said = run(VERIFY)
    assert code == Exit.DONE, said
    assert "--outcome accepted" in printed(said)
    evidence = (
        "All 2 entries of the batch are booked once in the ledger of 2026-08-31 to 2030-01-01: "
        "voucher A 1, voucher A 2"
    )
    assert evidence in printed(said)
    assert run(f"{printed(said)} --by Ada")[0] == Exit.DONE
    assert "outcome unknown" not in run("export status")[1]
    last = run("export history --events")[1].splitlines()[-1]
    assert last.endswith("voucher A 1, voucher A 2\tAda")


def add_earlier(run, tmp_path):
    """Export and accept an earlier batch of two entries; return the rows that its postings have."""
    path = tmp_path / "entries.csv"
    whole = path.read_text(encoding="utf-8")
    heading, first, *_ = whole.splitlines()
    company, category = first.split(",")[1], first.split(",")[5]
    rows = [("2026-09-07", "7.10", "Early 1"), ("2026-09-08", "8.20", "Early 2")]
    lines = [
        f"{uuid.uuid4()},{company},{date},{amount},EUR,{category},approved,{text}"
        for date, amount, text in rows
    ]
    path.write_text("\n".join([heading, *lines]), encoding="utf-8")
    run("export compose entries.csv --out september.plan")
    assert run("export submit september.plan --apply --first-export --by Ada")[0] == Exit.DONE
    path.write_text(whole, encoding="utf-8")
    return {f"E{number}": row for number, row in enumerate(rows)}


def printed(said):
    """Return the printed command that records an outcome, up to the name of the person."""
    return re.search(r"record it: bktools (export resolve .+) --by NAME", said)[1]


@pytest.fixture
def tomorrow(monkeypatch):
    """A person's word about a batch is taken from the day after its request on."""
    monkeypatch.setattr(
        "bktools.journal.resolving.now", lambda: dt.datetime.now(dt.UTC) + dt.timedelta(days=2)
    )


def test_a_batch_that_did_not_arrive_is_released_and_sent_again_once(
    run, sandbox, entries, tmp_path, tomorrow
):
    """The ledger shows an earlier batch alone: done as printed, every entry is accepted once."""
    earlier = add_earlier(run, tmp_path)
    sandbox.server.inject(Fault("error", "create_export_job", times=1, status=503))
    assert run("export compose entries.csv --out october.plan --max-entries 4")[0] == Exit.DONE
    run("export submit october.plan --apply --first-export --by Ada --wait 5")
    write_ledger(tmp_path / "ledger.csv", earlier, last="2030-01-01", around=["2026-08-31", "2026-10-30"])
    code, said = run(VERIFY)
    assert code == Exit.INCOMPLETE
    assert "None of the 4 entries of the batch is in the ledger of 2026-08-31 to 2030-01-01, and" in said
    assert "--outcome released" in printed(said)
    assert run(f"{printed(said)} --by Ada")[0] == Exit.DONE
    run("export submit october.plan --apply --first-export --by Ada --wait 5")
    accepted = sandbox.server.accepted_entries()
    assert list(accepted.values()) == [1] * (len(entries) + len(earlier))


def test_an_unexplained_posting_on_its_account_releases_nothing_until_a_person_explains_it(
    run, sandbox, entries, tmp_path
):
    """A posting that may be a sum of the batch is printed; explained, it is part of the evidence."""
    earlier = add_earlier(run, tmp_path)
    export(run, sandbox, lost=True)
    rows = {**earlier, 7: ("2026-10-12", "77.00", "Manual"), 8: ("2026-09-11", "88.00", "Manual")}
    write_ledger(tmp_path / "ledger.csv", rows, last="2030-01-01", around=["2026-08-31"])
    said = run(VERIFY)[1]
    assert "open: None of the 2 entries is proven to be in the ledger" in said, said
    assert '2026-10-12, 5800, EUR 77.00, voucher A 7, "Manual", line' in said
    assert "export resolve" not in said
    said = run(f"{VERIFY} --explained 'A 7' --explained 'A 8'")[1]
    assert "--outcome released" in printed(said)
    assert "explained by hand: A 7, A 8" in printed(said)
    with pytest.raises(ArgumentError, match="--explained must name a voucher or a document of the ledger"):
        run(f"{VERIFY} --explained 'A 99'")


@pytest.mark.parametrize(
    ("last", "text"),
    [
        ("2026-10-30", "wait, export the ledger again, then verify again"),
        ("2030-01-01", "export the ledger from before 2026-10-01, then verify again"),
    ],
)
def test_a_ledger_that_is_cut_releases_nothing(run, sandbox, entries, tmp_path, last, text):
    """Nothing is released while the ledger does not cover the days of the entries and of the sending."""
    export(run, sandbox, lost=True)
    write_ledger(tmp_path / "ledger.csv", {}, last=last)
    code, said = run(VERIFY)
    assert code == Exit.INCOMPLETE
    assert text in said
    assert "export resolve" not in said


def test_json_has_the_settlement(run, sandbox, entries, tmp_path, tomorrow):
    """A part that arrived decides neither: JSON and a file of the folder have the evidence."""
    earlier = add_earlier(run, tmp_path)
    export(run, sandbox, lost=True)
    rows = {**earlier, 1: entries[0]}
    write_ledger(tmp_path / "ledger.csv", rows, last="2030-01-01", around=["2026-08-31"])
    (settlement,) = result(run, VERIFY)["settlements"]
    assert (settlement["outcome"], settlement["reason"]) == (None, "in_part")
    assert len(settlement["postings"]) == 1
    code, said = run(f"{VERIFY} --out proof --profile machine")
    batch = settlement["batch_id"]
    assert code == Exit.INCOMPLETE
    assert f"outcome unknown: batch {batch} with 2 entries" in said
    assert f"batch {batch}, outcome unknown: open: Only a part of the 2 entries" in said
    assert "settle it by hand" in said
    assert "export resolve" not in said
    written = tmp_path / "proof" / "ledger_settlements.csv"
    assert batch in written.read_text(encoding="utf-8")
    run(f"export resolve {batch} --outcome released --by Ada --evidence 'voucher A 1'")
    run(f"{VERIFY} --out proof --profile machine")
    assert len(written.read_text(encoding="utf-8").splitlines()) == 1


def test_a_month_that_cuts_a_batch_decides_nothing(run, sandbox, entries, tmp_path):
    """A batch of two months is not settled by the entries of one of them."""
    path = tmp_path / "entries.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("2026-10-02", "2026-09-30"), encoding="utf-8")
    export(run, sandbox, lost=True)
    write_ledger(
        tmp_path / "ledger.csv",
        {1: ("2026-10-01", "11.50", "Ticket 1"), 2: ("2026-10-03", "31.50", "Ticket 3")},
    )
    said = run(f"{VERIFY} --month 2026-10")[1]
    assert "outcome unknown: open: " in said, said
    assert "export resolve" not in said


def test_hostile_texts_are_shown_as_text(run, sandbox, entries, tmp_path):
    """Formulas, quotes and escapes of a ledger reach neither shell nor spreadsheet as commands."""
    rows = [*add_earlier(run, tmp_path).values(), *entries[:2]]
    export(run, sandbox, lost=True)
    path = tmp_path / "ledger.csv"
    lines = [
        f"5800;{date};{amount};EUR;=cmd();$(touch owned) 'x' \x1b[31m{number}"
        for number, (date, amount, _) in enumerate(rows)
    ]
    lines += [f"1200;{date};1.00;EUR;Bank;B {date}" for date in ("2026-08-31", "2030-01-01")]
    path.write_text(HEADING + "\n".join(balanced(lines)), encoding="utf-8")
    code, said = run(f"{VERIFY} --out proof")
    assert code == Exit.DONE, said
    words = shlex.split(printed(said))
    assert words[words.index("--evidence") + 1].count("$(touch owned) 'x'") == 2
    assert "'=cmd()" in (tmp_path / "proof" / "ledger_entries.csv").read_text(encoding="utf-8-sig")


def test_a_mapping_keeps_how_the_ledger_books(run, sandbox, entries, tmp_path):
    """`bktools ledger` keeps --style and --reverse-sign with the headings; `verify` takes them from there."""
    export(run, sandbox)
    write_ledger(
        tmp_path / "ledger.csv",
        {number: (day, f"-{amount}", text) for number, (day, amount, text) in enumerate(entries, 1)},
    )
    for options, sign in (
        ("--style month --reverse-sign", -1),
        ("--style entry --keep-sign", 1),
    ):
        assert run(f"ledger ledger.csv {options} --save-mapping erp")[0] == Exit.DONE
        assert result(run, "verify --ledger ledger.csv")["habits"]["sign"] == sign


def test_a_verification_is_remembered(run, sandbox, entries, tmp_path):
    """A verified month is in the journal with who did it; the next verification says what moved since."""
    export(run, sandbox)
    write_ledger(tmp_path / "ledger.csv", dict(enumerate(entries, 1)))
    with pytest.raises(ArgumentError, match="needs --month and --by"):
        run(f"{VERIFY} --record")
    code, said = run(f"{VERIFY} --month 2026-10 --record --by Ada")
    assert (code, "Recorded: 2026-10 was verified by Ada" in said) == (Exit.DONE, True)
    assert "nothing moved" in run(f"{VERIFY} --month 2026-10")[1]
    write_ledger(tmp_path / "ledger.csv", dict(enumerate([*entries, ("2026-10-20", "99.00", "Late")], 1)))
    later = run(f"{VERIFY} --month 2026-10")[1]
    assert re.search(
        r"Since the verification of .* by Ada:\n(.*\n)*  account 5800: +1 posting more, 99.00", later
    ), later


def test_what_was_exported_elsewhere_is_not_sent(run, sandbox, entries):
    """Entries exported by hand are recorded once and not sent; after that is undone, they are sent."""
    code, said = run('export import entries.csv --by Ada --evidence "list of exports"')
    assert (code, "4 entries recorded as exported elsewhere" in said) == (Exit.DONE, True)
    run("export compose entries.csv --out none.plan")
    assert run("export submit none.plan --apply --first-export --by Ada")[0] == Exit.DONE
    assert sandbox.server.accepted_entries() == {}
    undo = re.search(r"bktools (export undo-import \d+) ", said)[1]
    assert run(f'{undo} --by Ada --evidence "it failed"')[0] == Exit.DONE
    run("export compose entries.csv --out all.plan")
    assert run("export submit all.plan --apply --first-export --by Ada")[0] == Exit.DONE
    assert set(sandbox.server.accepted_entries().values()) == {1}
