"""`bktools export` and `bktools journal` as users type them: prepare, approve, settle doubt."""

from __future__ import annotations

import re

import pytest
from entries_by_hand import entries_of

from bktools.cli.exits import Exit
from bktools.errors import PlanError
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
    code, said = run("export compose entries.csv --out october.plan --max-entries 4 --csv shown")
    assert (code, "10 entries ready in 3 batches" in said) == (Exit.DONE, True), said
    plan_id = re.search(r"ExportPlan (\w+)", said)[1]
    code, said = run("export submit october.plan")
    assert (code, "Nothing was sent" in said) == (Exit.DONE, True), said
    assert "  ready: EUR 101.00\n" in said
    assert sandbox.server.export_jobs() == []
    code, said = run(f"export submit october.plan --plan {plan_id} --apply --first-export --by Ada")
    assert (code, "3 batches,         10 entries  ACCEPTED" in said) == (Exit.DONE, True), said
    assert run("export submit october.plan --apply")[0] == Exit.DONE
    assert set(sandbox.server.accepted_entries().values()) == {1}
    assert re.search(r" 10 +exported ", run("export compose entries.csv --out later.plan")[1])


def test_doubt_is_settled_by_what_the_messages_say(sandbox, run, coded):
    """From UNKNOWN to the end by copying the commands that the messages show."""
    run("export compose entries.csv --out october.plan --max-entries 5")
    sandbox.server.inject(Fault("drop", "create_export_job", times=1))
    code, said = run("export submit october.plan --apply --first-export --by Ada")
    assert code == Exit.INCOMPLETE
    code, status = run("export status")
    assert (code, "outcome unknown" in status) == (Exit.INCOMPLETE, True)
    look_up = re.search(r"bktools (export status --entries --batch [^)]+)\)", said)[1]
    listed = run(look_up)[1]
    entries = set(re.findall(r"[0-9a-f-]{36}", listed))
    assert len(entries) == 5
    assert entries <= set(sandbox.server.accepted_entries())
    settle = re.search(r"bktools (export resolve .+) --outcome", status)[1]
    port = sandbox.server.base_url.rpartition(":")[2]
    assert f"--environment http://localhost:{port}" in settle
    code, said = run(f'{settle} --outcome accepted --evidence "booked as 4711" --by Ada')
    assert code == Exit.DONE
    code, said = run("export submit october.plan --apply")
    assert (code, "2 batches,         10 entries  ACCEPTED" in said) == (Exit.DONE, True), said
    assert set(sandbox.server.accepted_entries().values()) == {1}


def test_a_plan_for_another_service_is_refused(run, coded, monkeypatch):
    """What was checked against one service's journal is not sent to another one."""
    run("export compose entries.csv --out october.plan")
    monkeypatch.setenv("BKTOOLS_BASE_URL", "http://127.0.0.1:9")
    with pytest.raises(PlanError, match="nothing was sent"):
        run("export submit october.plan --apply")


def test_another_plan_than_the_one_approved_is_refused(sandbox, run, coded):
    """An approval is for one plan."""
    run("export compose entries.csv --out october.plan")
    with pytest.raises(PlanError, match="holds plan"):
        run("export submit october.plan --plan 0000 --apply")
    assert sandbox.server.export_jobs() == []


def test_a_plan_whose_name_begins_with_a_hyphen_is_submitted_as_printed(run, coded):
    """The printed command is pasted as it is: the name is no option of it."""
    _, said = run("export compose entries.csv --out=-o.csv.plan")
    command = re.search(r"Next: bktools (.*)", said)[1]
    assert run(command)[0] in {Exit.DONE, Exit.INCOMPLETE}
