"""`bktools verify` as a user types it: what arrived, and how doubt is settled with it."""

from __future__ import annotations

import datetime as dt
import json
import re
import uuid
from decimal import Decimal

import pytest

from bktools.cli.exits import Exit
from bktools.errors import ArgumentError, InputError
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
    """Another amount, booked twice and missing are findings with vouchers; the folder has every table."""
    export(run, sandbox)
    rows = {1: entries[0], 2: entries[1], 3: ("2026-10-03", "35.10", "Ticket 3"), 5: entries[1]}
    write_ledger(tmp_path / "ledger.csv", rows)
    code, text = run("verify --ledger ledger.csv --out proof --profile machine")
    assert code == Exit.INCOMPLETE
    assert "voucher A 2" in text
    facts = result(run, "verify --ledger ledger.csv")
    assert facts["entries"] == {"booked": 1, "missing": 1, "another_amount": 1, "booked_twice": 1}
    assert {row["check"] for row in facts["findings"]} == {"another_amount", "booked_twice", "missing"}
    assert [row["difference"] for row in facts["open_accounts"]] == ["-16.40"]
    written = {path.name: path.stat().st_mode & 0o077 for path in (tmp_path / "proof").iterdir()}
    tables = ("entries", "findings", "open_groups", "postings", "settlements", "totals")
    assert {f"ledger_{name}.csv": 0 for name in tables}.items() <= written.items()


def test_a_batch_in_doubt_that_arrived_is_accepted_by_the_printed_command(run, sandbox, entries, tmp_path):
    """Every entry of the batch is booked once: the printed command records it with the vouchers."""
    earlier = add_earlier(run, tmp_path)
    assert export(run, sandbox, lost=True)[0] == Exit.INCOMPLETE
    write_ledger(
        tmp_path / "ledger.csv",
        {**earlier, **dict(enumerate(entries[:2], 1))},
        last="2030-01-01",
        around=["2026-08-31"],
    )
    code, said = run(VERIFY)
    assert code == Exit.INCOMPLETE, said
    assert "--outcome accepted" in printed(said)
    evidence = (
        "All 2 entries of the batch are booked once in the ledger of 2026-08-31 to 2030-01-01: "
        "voucher A 1, voucher A 2"
    )
    assert evidence in printed(said)
    assert run(f"{printed(said)} --by Ada")[0] == Exit.DONE
    assert "outcome unknown" not in run("export status")[1]
    last = run("export status --events")[1].splitlines()[-1]
    assert "voucher A 1, voucher A 2\tAda\t" in last
    assert run(VERIFY)[0] == Exit.DONE


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
    """Let two days pass: a person's word about a batch is taken from the day after its request on."""
    day_after = dt.datetime.now(dt.UTC) + dt.timedelta(days=2)
    return lambda: monkeypatch.setattr("bktools.journal.clock.now", lambda: day_after)


def test_a_batch_that_did_not_arrive_is_released_and_sent_again_once(
    run, sandbox, entries, tmp_path, tomorrow
):
    """The ledger shows an earlier batch alone: done as printed, every entry is accepted once."""
    earlier = add_earlier(run, tmp_path)
    sandbox.server.inject(Fault("error", "create_export_job", times=1, status=503))
    assert run("export compose entries.csv --out october.plan --max-entries 4")[0] == Exit.DONE
    run("export submit october.plan --apply --first-export --by Ada --wait 5")
    tomorrow()
    write_ledger(tmp_path / "ledger.csv", earlier, last="2030-01-01", around=["2026-08-31", "2026-10-30"])
    code, said = run(VERIFY)
    assert code == Exit.INCOMPLETE
    assert "--outcome released" in printed(said)
    assert run(f"{printed(said)} --by Ada")[0] == Exit.DONE
    run("export submit october.plan --apply --first-export --by Ada --wait 5")
    accepted = sandbox.server.accepted_entries()
    assert list(accepted.values()) == [1] * (len(entries) + len(earlier))


def test_a_ledger_may_be_in_several_files(run, sandbox, entries, tmp_path):
    """Files of two parts of a year are one ledger; a posting that is in both would be booked twice."""
    export(run, sandbox)
    write_ledger(tmp_path / "first.csv", dict(enumerate(entries[:2], 1)), last="2026-10-02")
    write_ledger(tmp_path / "second.csv", dict(enumerate(entries[2:], 3)))
    facts = result(run, "verify --ledger first.csv --ledger second.csv")
    assert facts["entries"] == {"booked": 4}
    write_ledger(tmp_path / "second.csv", dict(enumerate(entries[1:], 2)))
    with pytest.raises(InputError, match="have 2 postings in common, such as A 2 2026-10-02"):
        run("verify --ledger first.csv --ledger second.csv")
    write_ledger(tmp_path / "second.csv", dict(enumerate(entries[2:], 3)))
    second = (tmp_path / "second.csv").read_text(encoding="utf-8")
    (tmp_path / "second.csv").write_text(second.replace("text", "description", 1), encoding="utf-8")
    assert run("ledger second.csv --reverse-sign --save-mapping second")[0] == Exit.DONE
    with pytest.raises(InputError, match="different values of --reverse-sign"):
        run("verify --ledger first.csv --ledger second.csv")


def test_a_mapping_keeps_how_the_ledger_books(run, sandbox, entries, tmp_path):
    """`bktools ledger` keeps --style and --reverse-sign with the headings; `verify` takes them from there."""
    export(run, sandbox)
    write_ledger(
        tmp_path / "ledger.csv",
        {number: (day, f"-{amount}", text) for number, (day, amount, text) in enumerate(entries, 1)},
    )
    for options, habits in (("--reverse-sign", ("entry", -1)), ("--keep-sign", ("entry", 1))):
        assert run(f"ledger ledger.csv --style entry {options} --save-mapping erp")[0] == Exit.DONE
        shown = result(run, "verify --ledger ledger.csv")["habits"]
        assert (shown["unit"], shown["sign"]) == habits


def test_a_verification_is_remembered(run, sandbox, entries, tmp_path):
    """A verified month is in the journal with who did it; the next verification says what moved since."""
    export(run, sandbox)
    write_ledger(tmp_path / "ledger.csv", dict(enumerate(entries, 1)))
    with pytest.raises(ArgumentError, match="needs --month and --by"):
        run(f"{VERIFY} --record")
    code, said = run(f"{VERIFY} --month 2026-10 --record --by Ada")
    assert (code, "Recorded: October 2026 was verified by Ada" in said) == (Exit.DONE, True)
    assert "Nothing moved" in run(f"{VERIFY} --month 2026-10")[1]
    write_ledger(tmp_path / "ledger.csv", dict(enumerate([*entries, ("2026-10-20", "99.00", "Late")], 1)))
    later = run(f"{VERIFY} --month 2026-10")[1]
    assert re.search(
        r"since the verification of .* by Ada:\n(.*\n)*  account 5800: 99.00 \(1 posting\)", later
    ), later


def test_what_was_recorded_with_a_reason_comes_to_rest(run, sandbox, entries, tmp_path):
    """It names who recorded it and why, and needs no other reason; what is to be corrected stays so."""
    export(run, sandbox)
    two = {3: ("2026-10-03", "35.10", "Ticket 3"), 4: ("2026-10-03", "30.10", "Ticket 3")}
    write_ledger(tmp_path / "ledger.csv", {1: entries[0], 2: entries[1], **two})
    month = f"{VERIFY} --month 2026-10"
    with pytest.raises(ArgumentError, match="must give the reason of 2 differences"):
        run(f"{month} --record --by Ada")
    run(f"{month} --record --by Ada --reason vouchers-hold-them")
    findings = result(run, month)["findings"]
    assert {row["check"]: row["severity"] for row in findings} == {"missing": "error", "open": "info"}
    assert all("by Ada: vouchers-hold-them" in row["to_do"] for row in findings)
    assert "Recorded" in run(f"{month} --record --by Bob")[1]
    later = {1: entries[0], 2: entries[1], 3: ("2026-10-03", "35.20", "Ticket 3")}
    write_ledger(tmp_path / "ledger.csv", later, around=["2026-09-30"])
    with pytest.raises(ArgumentError, match="must give the reason of 1 difference,"):
        run(f"{month} --record --by Bob")
