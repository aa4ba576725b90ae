"""`bktools export` as users type it: prepare, approve, settle a doubt by the printed command, look back."""

from __future__ import annotations

import re
from itertools import groupby

import pytest
from entries_by_hand import entries_of

import bktools
from bktools.cli.exits import Exit
from bktools.errors import InputError, PlanError
from bktools.frames.schema import EXPORT_EVENTS
from bktools.sandbox.faults import Fault


@pytest.fixture
def listed(sandbox, run, tmp_path):
    """A file of ten entries, each on a category whose account is known."""
    accounts = [account for account in sandbox.server.accounts() if not account.archived]
    lines = "".join(f"{each.id},{each.external_id},x,{each.company_id}\n" for each in accounts)
    (tmp_path / "accounts.csv").write_text(f"id,external_id,name,company_id\n{lines}", encoding="utf-8")
    run("accounts import accounts.csv")
    category = sandbox.server.add_category("Travel", account_id=accounts[0].id)
    entries = entries_of(sandbox.server.company_id, 10).assign(
        category_id=category, amount="10.10", currency="EUR", date="2026-10-01", status="approved"
    )
    entries.to_csv(tmp_path / "entries.csv", index=False)


def test_one_prepares_another_approves_and_a_doubt_is_settled(sandbox, run, listed):
    """From the file of entries to the end by copying the commands that the messages show."""
    code, message = run("export compose entries.csv --out october.plan --max-entries 5")
    assert (code, "10 entries ready in 2 batches" in message) == (Exit.DONE, True), message
    # The first line about the plan asks for an earlier export.
    assert 0 < message.index("nothing of company") < message.index("ExportPlan")
    plan_id = re.search(r"ExportPlan (\w+)", message)[1]
    with pytest.raises(PlanError, match="holds plan"):
        run("export submit october.plan --plan 0000 --apply")
    code, message = run("export submit october.plan")
    assert (code, "Nothing was sent" in message) == (Exit.DONE, True), message
    assert "  ready: EUR 101.00\n" in message
    assert sandbox.server.export_jobs() == []
    sandbox.server.inject(Fault("drop", "create_export_job", times=1))
    code, message = run(f"export submit october.plan --plan {plan_id} --apply --first-export --by Ada")
    assert code == Exit.INCOMPLETE
    code, status = run("export status")
    assert (code, "outcome unknown" in status) == (Exit.INCOMPLETE, True)
    look_up = re.search(r"bktools (export status --entries --batch [^)]+)\)", message)[1]
    entries = set(re.findall(r"[0-9a-f-]{36}", run(look_up)[1]))
    assert (len(entries), entries <= set(sandbox.server.accepted_entries())) == (5, True)
    settle = re.search(r"bktools (export resolve .+) --outcome", status)[1]
    assert f"--environment {sandbox.server.base_url}" in settle
    assert run(f'{settle} --outcome accepted --evidence "booked as 4711" --by Ada')[0] == Exit.DONE
    code, message = run("export submit october.plan --apply")
    assert (code, "2 ACCEPTED" in message) == (Exit.DONE, True), message
    assert set(sandbox.server.accepted_entries().values()) == {1}
    assert re.search(r" 10 +exported ", run("export compose entries.csv --out later.plan")[1])
    # The events say who settled the batch, and how.
    batch = settle.split()[2]
    events = bktools.load_export_jobs(events=True, batch=batch)
    assert [*events.columns] == EXPORT_EVENTS.names
    steps = [step for step, _ in groupby(events["after"])]
    assert steps == ["PLANNED", "SENDING", "UNKNOWN", "ACCEPTED"]
    assert (events.iloc[-1]["done_by"], events.iloc[-1]["message"]) == ("Ada", "booked as 4711")
    assert "\taccepted\tbooked as 4711\tAda\t" in run(f"export status --events --batch {batch}")[1]


def test_anothers_history_brings_what_was_booked(run, tmp_path, sandbox):
    """What was refused or released is no export; with jobs that are open, the list is refused."""
    states = ["ACCEPTED", "RELEASED", "REJECTED"]
    history = entries_of(sandbox.server.company_id, 4).rename(columns={"id": "entry_id"})
    history = history.assign(date="2026-10-01", amount="1.00", currency="EUR")
    command = f"export import history.csv --company {sandbox.server.company_id} --by Ada"
    command += ' --evidence "history of Bob"'
    history.assign(state=[*states, "ACCEPTED"]).to_csv(tmp_path / "history.csv", index=False)
    code, text = run(command)
    assert (code, "2 entries recorded" in text) == (Exit.DONE, True), text
    history.assign(state=[*states, "PLANNED"]).to_csv(tmp_path / "history.csv", index=False)
    with pytest.raises(InputError, match="jobs that are planned"):
        run(command)
