"""Submitting a plan: each batch once and in order, all companies at once, and again without sending again."""

from __future__ import annotations

import datetime as dt
import re
import signal
import threading
import time
import uuid
from collections import Counter, defaultdict
from dataclasses import replace

import pandas as pd
import pytest
import warm
from backends import BOTH
from entries_by_hand import COMPANY, company_of, entries_of, outcomes, states, submit
from raw_service import created, exactly, job, says
from scripted_server import Hold

import bktools
from bktools.errors import ArgumentError, JournalError, PlanError, StorageError
from bktools.journal import attempts
from bktools.journal.attempts import record_intent
from bktools.journal.export_jobs import earlier_exports
from bktools.journal.writing import open_for_writing
from bktools.sandbox import Fault
from bktools.service import Service
from bktools.settings import load_settings
from bktools.submit import request, sender
from bktools.submit.export_jobs import seconds_of


@pytest.fixture
def entries(service):
    return entries_of(service.settings.company, 10)


@BOTH
def test_each_batch_has_its_own_row_and_is_sent_once(sandbox, service):
    """ID, count, job and message of each batch are its own and kept, and nothing is sent again."""
    entries = entries_of(service.settings.company, 7)
    plan = bktools.compose_export_jobs(entries, max_entries=4)
    sent = submit(plan, service)
    jobs = sandbox.server.export_jobs()
    assert sent["outcome"].to_list() == ["ACCEPTED"] * 2
    assert sent["batch_id"].to_list() == plan.batches["batch_id"].to_list()
    assert (sent["company_id"] == service.settings.company).all()
    assert sent["entries"].to_list() == [4, 3] == [job["numberOfItems"] for job in jobs]
    assert sent["job_id"].to_list() == [job["id"] for job in jobs]
    assert all(job["id"] in message for message, job in zip(sent["message"], jobs, strict=True))
    history = bktools.load_export_jobs(service=service).set_index("batch_id").loc[sent["batch_id"]]
    for column, other in (("state", "outcome"), *((name, name) for name in ("job_id", "message", "entries"))):
        assert history[column].to_list() == sent[other].to_list()
    again = submit(plan, service)
    since = history["settled_at"].to_list()
    for message, before, at in zip(again["message"], sent["message"], since, strict=True):
        assert message.startswith(f"{before} (since {at:%Y-%m-%d %H:%M} UTC")
        assert message.endswith("; nothing was sent again)")
    assert sandbox.server.accepted_entries() == dict.fromkeys(entries["id"], 1)
    later = bktools.compose_export_jobs(
        entries, history=bktools.load_export_jobs(entries=True, service=service)
    )
    assert later.not_ready["reason"].to_list() == ["exported"] * 7


def test_a_lost_answer_blocks_the_company_until_it_is_settled(sandbox, service, entries):
    """UNKNOWN says which batch and how to settle it; settled by a person, the rest goes on."""
    sandbox.server.inject(Fault("drop", "create_export_job", times=1))
    plan = bktools.compose_export_jobs(entries, max_entries=5)
    sent = submit(plan, service)
    assert sent["outcome"].to_list() == ["UNKNOWN", "BLOCKED"]
    batch = sent["batch_id"][0]
    assert f"bktools export resolve {batch}" in sent["message"][0]
    # The others name it with the command, also where it is of another plan.
    assert sent["message"][1].startswith(f"Waiting: first resolve batch {batch} (outcome unknown): bktools ")
    later = submit(entries.tail(3), service, size=1, apply=False)
    assert later["outcome"].to_list() == ["BLOCKED"] * 3
    assert later["message"].str.contains(f"bktools export resolve {batch}").all()
    dry, again = (submit(plan, service, apply=apply) for apply in (False, True))
    assert again["outcome"].to_list() == dry["outcome"].to_list() == ["UNKNOWN", "BLOCKED"]
    assert again["message"].to_list() == dry["message"].to_list()

    bktools.resolve_export_job(batch, "accepted", evidence="found in the ERP", by="Ada", service=service)
    with pytest.raises(JournalError, match="is accepted"):
        bktools.resolve_export_job(batch, "released", evidence="changed my mind", by="Ada", service=service)
    assert outcomes(plan, service) == ["ACCEPTED", "ACCEPTED"]
    assert set(sandbox.server.accepted_entries().values()) == {1}


def test_only_one_process_sends_for_a_company(sandbox, service, entries):
    """While somebody sends for a company, others say so, name the sender, and send for other companies."""
    company, other = service.settings.company, sandbox.server.companies()[1].id
    sandbox.server.configure_company(other, has_contra_accounts=True)
    plan = bktools.compose_export_jobs(pd.concat([entries, entries_of(other, 2, first=50)]))
    (batch,) = plan.batches.query("company_id == @company")["batch_id"]
    with open_for_writing(service.settings) as journal, journal.lock(company):
        sent = submit(plan, service).set_index("company_id")
        assert sent["outcome"].to_dict() == {company: "BLOCKED", other: "ACCEPTED"}
        assert "is sending for company" in sent.loc[company, "message"]
        sender.claim(journal, [plan.request(batch)], plan.plan_id)
        record_intent(journal, batch)
        shown = submit(plan, service, apply=False).set_index("company_id").loc[company]
        assert shown["outcome"] == "SENDING"
        assert re.fullmatch(r".+ process \d+ is sending it \(since 2.+\)", shown["message"])
    assert len(sandbox.server.export_jobs()) == 1


def test_entries_that_another_run_took_meanwhile_stop_their_company_alone(sandbox, service, monkeypatch):
    """The company whose entries went out in another batch is BLOCKED and says in which; others are sent."""
    first, second = sorted(company.id for company in sandbox.server.companies()[:2])
    for company in (first, second):
        sandbox.server.configure_company(company, has_contra_accounts=True)
    entries = pd.concat([entries_of(first, 2), entries_of(second, 4, first=50)])
    other = bktools.compose_export_jobs(entries_of(second, 1, first=53))
    claim = sender.claim

    def another_run_after(*arguments: object):
        monkeypatch.setattr(sender, "claim", claim)
        claim(*arguments)
        assert outcomes(other, service) == ["ACCEPTED"]

    monkeypatch.setattr(sender, "claim", another_run_after)
    # One after another, so that the other run comes between the two companies.
    monkeypatch.setattr("bktools.submit.export_jobs.COMPANIES", 1)
    sent = submit(entries, service, size=2)
    assert sent["outcome"].to_list() == ["ACCEPTED", "BLOCKED", "BLOCKED"]
    assert sent["message"].str.contains(str(other.batches["batch_id"][0])).to_list() == [False, True, True]
    assert set(sandbox.server.accepted_entries().values()) == {1}
    assert len(sandbox.server.accepted_entries()) == 3


def test_nothing_is_sent_when_anything_is_wrong(sandbox, service, entries):
    """One entry that was exported before, in the last batch: no batch of the plan is sent."""
    submit(entries.tail(1), service)
    with pytest.raises(PlanError, match="nothing was sent"):
        submit(entries, service, size=2)
    changed = bktools.compose_export_jobs(entries.head(9), max_entries=2)
    with pytest.raises(PlanError, match="compose"):
        submit(replace(changed, rows=changed.rows.slice(0, 8)), service)
    assert len(sandbox.server.export_jobs()) == 1


def test_a_plan_of_another_journal_is_refused(service, entries):
    """Only the journal that a plan was composed with knows the earlier exports."""
    plan = replace(bktools.compose_export_jobs(entries), journal="another")
    with pytest.raises(PlanError, match="another"):
        submit(plan, service)
    assert states(service) == []


def test_a_plan_without_the_ledger_knows_what_it_showed(service):
    """Entries that are in the books, and those that may be, stay back where the ledger is not asked again."""
    entries = entries_of(service.settings.company, 24).assign(
        date=[pd.Timestamp(2026, 10, 1 + day) for day in range(24)],
        amount=[1000 + 7 * day * day for day in range(24)],
        currency="EUR",
        account_code="490000",
        supplier=[f"Supplier {day}" for day in range(24)],
    )
    booked = entries[["date", "amount", "currency", "account_code"]].iloc[[*range(16), 20]]
    booked = booked.assign(text=[*entries["supplier"][:16], "direct debit"], voucher_id=[*entries["id"][:17]])
    ledger = pd.concat([booked, booked.assign(amount=-booked["amount"], account_code="160000")])

    def composed(**asked: pd.DataFrame) -> bktools.ExportPlan:
        with open_for_writing(service.settings) as journal:
            earlier = earlier_exports(journal, service.settings.company)
        return bktools.compose_export_jobs(entries, **earlier, **asked)

    first = composed(ledger=ledger).not_ready.set_index("id")["reason"]
    assert first.to_list() == ["already_booked"] * 16 + ["maybe_booked"]
    outcomes(composed(ledger=ledger), service)
    again = composed().not_ready.set_index("id")["reason"]
    assert (again[first.index].equals(first), {*again.drop(first.index)}) == (True, {"exported"})


def test_an_old_intent_is_not_sent(talking, monkeypatch):
    """The age is asked with the connection open, before the first byte: no request, and the batch waits."""
    monkeypatch.setattr(attempts, "MOST_AGE", -1.0)
    with talking(created) as (raw, service):
        assert outcomes(entries_of(COMPANY, 2), service) == ["PLANNED"]
        assert (raw.requests, states(service)) == ([], ["PLANNED"])


def test_entries_with_other_data_than_were_sent_are_not_accepted_again(sandbox, service, entries):
    """Submitted again, entries count as accepted only in the plan with the data that were sent."""
    shown = [
        submit(entries.assign(amount=amount, currency="EUR"), service, apply=apply).iloc[0]
        for amount, apply in ((10, True), (10, True), (11, False), (11, True))
    ]
    assert [row["outcome"] for row in shown] == ["ACCEPTED", "ACCEPTED", "BLOCKED", "BLOCKED"]
    assert "compose again with history=load_export_jobs(entries=True)" in shown[3]["message"]
    assert set(sandbox.server.accepted_entries().values()) == {1}


def test_a_split_entry_is_sent_once(sandbox, service):
    """Its ID is once in the body and counts as one entry; the journal keeps each line, exactly."""
    lines = entries_of(service.settings.company, 4).assign(
        date=pd.to_datetime(["2026-10-01", "2026-10-01", "2026-10-02", "2026-10-03"]),
        amount=[10.0, 5.5, 7.0, 1.0],
        currency="EUR",
        split_line=[1, 2, 0, 0],
        split_lines=[2, 2, 0, 0],
    )
    lines.loc[1, "id"] = lines["id"][0]
    split, *others = lines["id"].unique()
    plan = bktools.compose_export_jobs(lines, max_entries=2)
    bodies = [plan.request(batch).entry_ids for batch in plan.batches["batch_id"]]
    assert bodies == [[split, others[0]], others[1:]]
    assert outcomes(plan, service) == ["ACCEPTED"] * 2
    assert sandbox.server.accepted_entries() == dict.fromkeys((split, *others), 1)
    history = bktools.load_export_jobs(entries=True, service=service)
    kept = history.loc[history["entry_id"] == split, ["split_line", "amount"]]
    assert kept.to_numpy().tolist() == [[1, 10.0], [2, 5.5]]
    record = bktools.record_of("2026-10", service=service)
    assert record.lines[0].startswith("exported: 3 entries, EUR 23.50")


@pytest.mark.parametrize(
    ("expires_in", "wait", "seconds"),
    [
        (1, 300.0, 1.0),
        # Milliseconds are not believed: an hour, as without them.
        (3_600_000, dt.timedelta(seconds=0.5), 0.5),
        (3600, 0, 0.0),
    ],
)
def test_a_job_gets_its_time_before_the_next_batch(talking, expires_in, wait, seconds):
    """At most its `expiresIn`, and at most the wait that is asked for."""
    moments = []

    def answer(raw, request):
        moments.append(time.monotonic())
        raw.accepted.update(request["accountingEntryIds"])
        return says(201, job(request, expiresIn=expires_in))

    with talking(answer) as (_, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 2), max_entries=1)
        assert outcomes(plan, service, wait=wait) == ["ACCEPTED"] * 2
        assert seconds - 0.1 <= moments[1] - moments[0] < seconds + 5


@pytest.mark.parametrize("wait", [-1, float("nan"), "5", None, True])
def test_a_wait_that_is_none_is_refused(wait):
    """A wrong argument is named, before anything is sent."""
    with pytest.raises(ArgumentError, match="wait must be a number of seconds"):
        seconds_of(wait)


# Companies at once


def entries_of_batches(companies, batches):
    """Return two entries for each batch of each company."""
    owners = companies * 2 * batches
    return pd.DataFrame({"id": [str(uuid.uuid4()) for _ in owners], "company_id": owners})


@pytest.fixture
def group(tmp_path):
    """A sandbox with ten companies that can export, whose jobs take a second."""
    sandbox = bktools.Sandbox(tmp_path / "group", companies=10, categories=4, employees=4, job_seconds=0.9)
    with sandbox as sandbox.service:
        sandbox.ids = [company.id for company in sandbox.server.companies()]
        for company in sandbox.ids:
            sandbox.server.configure_company(company, has_contra_accounts=True, has_integration=True)
        yield sandbox


def test_companies_are_sent_at_once_and_each_in_order(group):
    """Ten companies with three jobs each take the time of one; a refusal or a doubt stops its own alone."""
    refused, lost, *others = group.ids
    group.server.configure_company(refused, has_contra_accounts=False)
    group.server.inject(Fault("drop", company=lost, operation="create_export_job", times=1))
    plan = bktools.compose_export_jobs(entries_of_batches(group.ids, 3), max_entries=2)
    began = time.monotonic()
    sent = submit(plan, group.service)
    # One company after another they take at least 15 s.
    assert time.monotonic() - began < 12
    # One row a batch, company by company, in the order of the plan.
    assert sent["batch_id"].to_list() == plan.batches["batch_id"].to_list()
    shown = {company: own["outcome"].to_list() for company, own in sent.groupby("company_id")}
    assert shown.pop(refused) == ["REJECTED", "BLOCKED", "BLOCKED"]
    assert shown.pop(lost) == ["UNKNOWN", "BLOCKED", "BLOCKED"]
    assert shown == dict.fromkeys(others, ["ACCEPTED"] * 3)
    jobs = defaultdict(list)
    for created_job in group.server.export_jobs():
        jobs[created_job["companyId"]].append(created_job["id"])
    history = bktools.load_export_jobs(service=group.service).sort_values("sent_at").set_index("company_id")
    for company, own in sent[sent["company_id"].isin(others)].groupby("company_id", sort=False):
        assert own["job_id"].to_list() == jobs[company]
        in_time = history.loc[company]
        assert (in_time["sent_at"].iloc[1:].array >= in_time["settled_at"].iloc[:-1].array).all()
    assert set(group.server.accepted_entries().values()) == {1}


def test_a_journal_that_cannot_be_written_loses_no_answer(group, monkeypatch):
    """Requests on their way end first, every lost outcome is in the error, and nothing more is sent."""
    original, together = request.record_outcome, threading.Barrier(10)

    def full(*_):
        together.wait(timeout=20)
        raise StorageError("no space left")

    monkeypatch.setattr(request, "record_outcome", full)
    with pytest.raises(StorageError) as error:
        submit(entries_of_batches(group.ids, 2), group.service, size=2)
    monkeypatch.setattr(request, "record_outcome", original)
    booked = group.server.export_jobs()
    assert len(booked) == 10
    assert all(f"is accepted (job {job['id']}" in str(error.value) for job in booked)
    assert Counter(states(group.service)) == {"UNKNOWN": 10, "PLANNED": 10}


def sends_until_interrupted(address, folders, ids):
    """Send an entry of each company, three a minute, until somebody interrupts it."""
    entries = pd.DataFrame({"id": ids, "company_id": ids})
    with bktools.connect(address, token="t", requests_per_minute=3, **folders) as service:
        yield "ready"
        try:
            submit(entries, service)
        except KeyboardInterrupt:
            yield "interrupted"


def test_ctrl_c_while_many_are_sent(talking, tmp_path):
    """Requests that wait for their rate were not sent; those on their way are in doubt."""
    ids = [company_of(number) for number in range(8)]

    with talking(exactly(Hold())) as (raw, _):
        folders = {f"{name}_dir": tmp_path / name for name in ("cache", "data", "sent_log")}
        with warm.Process(sends_until_interrupted, raw.url, folders, ids) as process:
            assert process.read() == "ready"
            while len(raw.requests) < 3:
                time.sleep(0.02)
            time.sleep(0.3)
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.read() == "interrupted"
            assert time.monotonic() - began < 5
            assert process.wait() == 0
        assert len(raw.requests) == 3
        with Service(load_settings(raw.url, env={}, token="t", **folders)) as service:
            assert Counter(states(service)) == {"UNKNOWN": 3, "PLANNED": 5}
