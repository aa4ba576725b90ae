"""`bktools export` as users type it: prepare, approve, settle doubt, and the history of all of it."""

from __future__ import annotations

import re
import time
from decimal import Decimal
from itertools import groupby

import pandas as pd
import pyarrow as pa
import pytest
from clocks import DAY, set_clock
from entries_by_hand import entries_of, submit

import bktools
from bktools.cli.exits import Exit
from bktools.errors import ArgumentError, InputError, PlanError
from bktools.frames.schema import EXPORT_EVENTS, EXPORTED_ENTRIES
from bktools.sandbox.faults import Fault


@pytest.fixture
def coded(sandbox, service, run, tmp_path):
    """A file of ten entries, each on a category whose account is known."""
    accounts = [account for account in sandbox.server.accounts() if not account.archived]
    listed = "".join(f"{each.id},{each.external_id},x,{each.company_id}\n" for each in accounts)
    (tmp_path / "accounts.csv").write_text(f"id,external_id,name,company_id\n{listed}", encoding="utf-8")
    run("accounts import accounts.csv")
    category = sandbox.server.add_category("Travel", account_id=accounts[0].id)
    frame = entries_of(sandbox.server.company_id, 10).assign(
        category_id=category, amount="10.10", currency="EUR", date="2026-10-01", status="approved"
    )
    frame.to_csv(tmp_path / "entries.csv", index=False)
    return tmp_path / "entries.csv"


def test_one_prepares_and_another_approves(sandbox, run, coded):
    """Compose writes a file, submit shows it, submit --apply sends it, and a second time sends nothing."""
    code, message = run("export compose entries.csv --out october.plan --max-entries 4 --csv shown")
    assert (code, "10 entries ready in 3 batches" in message) == (Exit.DONE, True), message
    # The first line about the plan asks for an earlier export.
    assert 0 < message.index("nothing of company") < message.index("ExportPlan")
    plan_id = re.search(r"ExportPlan (\w+)", message)[1]
    with pytest.raises(PlanError, match="holds plan"):
        run("export submit october.plan --plan 0000 --apply")
    code, message = run("export submit october.plan")
    assert (code, "Nothing was sent" in message) == (Exit.DONE, True), message
    assert "  ready: EUR 101.00\n" in message
    assert sandbox.server.export_jobs() == []
    code, message = run(f"export submit october.plan --plan {plan_id} --apply --first-export --by Ada")
    assert (code, "3 ACCEPTED" in message) == (Exit.DONE, True), message
    assert run("export submit october.plan --apply")[0] == Exit.DONE
    assert set(sandbox.server.accepted_entries().values()) == {1}
    assert re.search(r" 10 +exported ", run("export compose entries.csv --out later.plan")[1])


def test_doubt_is_settled_by_what_the_messages_say(sandbox, run, coded):
    """From UNKNOWN to the end by copying the commands that the messages show."""
    run("export compose entries.csv --out october.plan --max-entries 5")
    sandbox.server.inject(Fault("drop", "create_export_job", times=1))
    code, message = run("export submit october.plan --apply --first-export --by Ada")
    assert code == Exit.INCOMPLETE
    code, status = run("export status")
    assert (code, "outcome unknown" in status) == (Exit.INCOMPLETE, True)
    look_up = re.search(r"bktools (export status --entries --batch [^)]+)\)", message)[1]
    listed = run(look_up)[1]
    entries = set(re.findall(r"[0-9a-f-]{36}", listed))
    assert len(entries) == 5
    assert entries <= set(sandbox.server.accepted_entries())
    settle = re.search(r"bktools (export resolve .+) --outcome", status)[1]
    port = sandbox.server.base_url.rpartition(":")[2]
    assert f"--environment http://localhost:{port}" in settle
    code, message = run(f'{settle} --outcome accepted --evidence "booked as 4711" --by Ada')
    assert code == Exit.DONE
    code, message = run("export submit october.plan --apply")
    assert (code, "2 ACCEPTED" in message) == (Exit.DONE, True), message
    assert set(sandbox.server.accepted_entries().values()) == {1}


def test_evidence_is_kept_for_good(sandbox, run):
    """After a release and a new submission the events still say who released the batch, and why."""
    sandbox.server.inject(Fault("drop", "create_export_job", times=1))
    plan = bktools.compose_export_jobs(entries_of(sandbox.server.company_id, 1))
    begun = pd.Timestamp.now(tz="UTC")
    word = {"apply": True, "first_export": True, "by": "Ada"}
    assert bktools.submit_export_jobs(plan, **word)["outcome"].to_list() == ["UNKNOWN"]
    batch = plan.batches["batch_id"][0]
    # A day later its job has ended, which the sandbox's own clock does not know.
    while any(job["status"] in {"pending", "in_progress"} for job in sandbox.server.export_jobs()):
        time.sleep(0.02)
    with set_clock() as clock:
        clock.ahead = DAY
        run(f'export resolve {batch} --outcome released --evidence "no booking of 31 Oct" --by Ada')
        assert bktools.submit_export_jobs(plan, apply=True)["outcome"].to_list() == ["ACCEPTED"]
    events = bktools.load_export_jobs(events=True)
    assert list(events.columns) == EXPORT_EVENTS.names
    steps = ["PLANNED", "SENDING", "UNKNOWN", "RELEASED", "PLANNED", "SENDING", "ACCEPTED"]
    assert [step for step, _ in groupby(events["after"])] == steps
    assert events["before"].isna().to_list() == [True] + [False] * (len(events) - 1)
    released = events[events["after"] == "RELEASED"].iloc[0]
    assert (released["done_by"], released["message"]) == ("Ada", "no booking of 31 Oct")
    assert (released["batch_id"], released["company_id"]) == (batch, sandbox.server.company_id)
    assert begun <= released["at"] <= pd.Timestamp.now(tz="UTC") + DAY
    assert events["at"].is_monotonic_increasing
    shown = run(f"export status --events --batch {batch}")[1]
    assert re.search(rf"\t{batch}\tRELEASED\tno booking of 31 Oct\tAda\n", shown)
    with pytest.raises(ArgumentError, match="events cannot be combined with entries"):
        run("export status --events --entries")


def test_the_history_has_what_was_known_of_each_entry(sandbox, service):
    """Dates are dates, amounts exact; the history still serves as the history of the next plan."""
    entries = entries_of(sandbox.server.company_id, 3).assign(
        date=pd.to_datetime(["2026-10-31", "2026-10-01", "2026-10-02"]),
        amount=pd.Series(
            [Decimal(1500), Decimal("-12.50"), Decimal("3.125")], dtype=pd.ArrowDtype(pa.decimal128(9, 3))
        ),
        currency=["JPY", "EUR", "KWD"],
        supplier=["=HYPERLINK()", "<b>Müller</b>", None],
    )
    submit(entries, service)
    history = bktools.load_export_jobs(entries=True, service=service)
    assert list(history.columns) == EXPORTED_ENTRIES.names
    kept = history.set_index("entry_id").loc[entries["id"].to_list()]
    assert kept["amount"].to_list() == [1500.0, -12.5, 3.125]
    assert kept["date"].to_list() == entries["date"].to_list()
    assert kept["supplier"].to_list()[:2] == ["=HYPERLINK()", "<b>Müller</b>"]
    assert set(kept["period"]) == {"2026-10"}
    again = bktools.compose_export_jobs(entries, history=history)
    assert again.not_ready["reason"].to_list() == ["exported"] * 3
    lean = bktools.compose_export_jobs(entries, history=history[["entry_id", "state"]])
    assert lean.not_ready["reason"].to_list() == ["exported"] * 3


def test_anothers_history_brings_what_was_booked(run, tmp_path, sandbox):
    """What was refused or released is no export; with jobs that are open, the list is refused."""
    states = ["ACCEPTED", "RELEASED", "REJECTED"]
    listed = entries_of(sandbox.server.company_id, 4).rename(columns={"id": "entry_id"})
    listed = listed.assign(date="2026-10-01", amount="1.00", currency="EUR")
    command = f"export import history.csv --company {sandbox.server.company_id} --by Ada"
    command += ' --evidence "history of Bob"'
    listed.assign(state=[*states, "ACCEPTED"]).to_csv(tmp_path / "history.csv", index=False)
    code, text = run(command)
    assert (code, "2 entries recorded" in text) == (Exit.DONE, True), text
    listed.assign(state=[*states, "PLANNED"]).to_csv(tmp_path / "history.csv", index=False)
    with pytest.raises(InputError, match="jobs that are PLANNED"):
        run(command)
