"""A person's word: about a batch, an entry or a month; once, with name and evidence, and not too early."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json

import pyarrow as pa
import pytest
from backends import BOTH
from batches import COMPANY, ENTRIES, LOOKED, OTHER_COMPANY, batch, begun, claimed, entry, send, state

import bktools
from bktools.errors import ArgumentError, JournalError
from bktools.journal.attempts import record_intent, record_outcome
from bktools.journal.export_jobs import earlier_exports, open_questions
from bktools.journal.resolving import resolve
from bktools.journal.sent_log import BatchOutcome
from bktools.journal.statements import (
    record_exported_elsewhere,
    record_not_booked,
    record_verification,
    undo_exported_elsewhere,
    verifications_of,
)
from bktools.journal.unknown_outcomes import sendings_in_doubt
from bktools.journal.writing import open_for_writing
from bktools.wording.numbers import moment

COMPANIES = [COMPANY, OTHER_COMPANY]
LIST = {"by": "Ada", "evidence": "the service's list of exports of 3 October"}


@pytest.fixture
def doubts(service, today):
    """A batch in doubt of each of two companies, sent the day before."""
    today("2026-11-20T10:00")
    with open_for_writing(service.settings) as journal:
        for number, company in enumerate(COMPANIES):
            send(journal, batch(f"batch-{number}", number, company=company), "UNKNOWN")
    today("2026-11-21T10:00")


def test_a_batch_in_doubt_is_named_with_the_way_to_settle_it(journal, service):
    """The line names batch, company, time, three entries and one command for this one batch."""
    send(journal, wanted := batch("a", *range(5)), "UNKNOWN")
    (row,) = journal.unknown(COMPANY)
    (line,) = open_questions(service=service)
    company = service.settings.title_of(COMPANY)
    for part in (
        f"outcome unknown: batch a of {company}, sent {moment(row['sent_at'])}, may have been booked",
        f"its 5 entries in the accounting system ({', '.join(wanted.entry_ids[:3])} and 2 more; ",
        f"bktools export status --entries --batch a --company {COMPANY} --sandbox)",
        f"bktools export resolve a --company {COMPANY} --sandbox --outcome ",
        '--outcome "accepted|released" --evidence "..." --by NAME',
    ):
        assert part in line
    facts = {"id": [entry(7)] * 2, "split_line": [1, 2], "amount": ["7.10", "5"]}
    lines = pa.table(facts | {"currency": ["EUR"] * 2, "supplier": ["Hotel"] * 2})
    split = dataclasses.replace(batch("b", 7, company=OTHER_COMPANY), rows=lines)
    send(journal, split, "UNKNOWN")
    assert "(Hotel, EUR 12.10; " in open_questions(OTHER_COMPANY, service=service)[0], "once, with its sum"
    lines = open_questions(service=service)
    assert open_questions(OTHER_COMPANY.upper(), service=service) == lines[1:]
    assert open_questions(batch="a", service=service) == lines[:1]


@BOTH
def test_an_accepted_batch_keeps_the_job_that_was_looked_up(doubts, service):
    """Its UUID is written in one way, the event names who looked, and a job answers for one batch."""
    job = "ABCDEF00-0000-4000-8000-000000000001"
    bktools.resolve_export_job("batch-1", "accepted", **LOOKED, job_id=job, service=service)
    jobs = bktools.load_export_jobs(COMPANIES[1], service=service)
    assert jobs[["state", "job_id"]].to_numpy().tolist() == [["ACCEPTED", job.lower()]]
    last = bktools.load_export_jobs(events=True, batch="batch-1", service=service).iloc[-1]
    assert (last["message"], last["done_by"]) == (LOOKED["evidence"], "Ada")
    with pytest.raises(JournalError, match="belongs to batch batch-1"):
        bktools.resolve_export_job("batch-0", "accepted", **LOOKED, job_id=job, service=service)


# Moments of the request, of the job's end in seconds, and of the look; whether the batch may be released.
LOOKS = [
    ("2026-11-20T10:00", None, "2026-11-20T23:59", False),
    ("2026-11-20T10:00", None, "2026-11-21T00:00", True),
    ("2026-11-20T23:50", None, "2026-11-21T00:10", False),
    ("2026-11-20T23:50", None, "2026-11-21T01:00", True),
    ("2026-11-20T10:00", 80_000, "2026-11-21T08:00", False),
    ("2026-11-20T10:00", 80_000, "2026-11-21T09:00", True),
    ("2026-11-20T10:00", 1_764_000_000_000, "2026-11-21T09:00", True),
]


@pytest.mark.parametrize(("sent", "expires", "looked", "is_released"), LOOKS)
def test_a_batch_is_released_from_the_day_after_its_request_on(
    opened, today, sent, expires, looked, is_released
):
    """Before, its request may be under way, and that nothing is booked says nothing. Accepted at once."""
    today(sent)
    attempt = begun(opened, batch("a", 0))
    job = None if expires is None else json.dumps({"expiresIn": expires})
    record_outcome(opened, attempt, BatchOutcome("UNKNOWN", "wrong_job", {"answered": "x"}, job=job))
    today(looked)
    if not is_released:
        with pytest.raises(JournalError, match="may still be under way: nothing was recorded; look again"):
            resolve(opened, "a", "RELEASED", **LOOKED)
    resolve(opened, "a", "RELEASED" if is_released else "ACCEPTED", **LOOKED)


@pytest.mark.parametrize(("expires", "seconds"), [(7200, 7200), (60, 3600), (None, 3600), (86_400_000, 3600)])
def test_a_job_ends_after_what_the_service_said(doubts, service, expires, seconds):
    """The longest of the company's jobs counts; more than a day is not believed."""
    with open_for_writing(service.settings) as journal:
        with journal.transaction() as connection:
            sql = "UPDATE batches SET job = $1 WHERE batch_id = 'batch-0'"
            connection.execute(sql, [json.dumps({"expiresIn": expires})])
        ends = dt.datetime.fromisoformat(journal.row_of("batch-0")["sent_at"]) + dt.timedelta(seconds=seconds)
        assert sendings_in_doubt(journal, COMPANIES[0]) == {"batch-0": (ends, "")}


def test_a_withdrawn_batch_is_not_sent(opened, settings, monkeypatch):
    """One that waits is withdrawn; one that is sent or settled is not, also where that came meanwhile."""
    claimed(opened, batch("a", 0))
    with pytest.raises(JournalError, match="only a batch in doubt can be resolved"):
        resolve(opened, "a", "ACCEPTED", **LOOKED)
    resolve(opened, "a", "RELEASED", **LOOKED)
    claimed(opened, batch("b", 0))
    original = type(opened).lock

    def later(journal, company_id):
        monkeypatch.undo()
        with open_for_writing(settings) as other:
            send(other, batch("b", 0))
        return original(journal, company_id)

    monkeypatch.setattr(type(opened), "lock", later)
    for name, reason in (("b", "batch b is accepted"), ("a", "batch a is released"), ("c", "was not found")):
        with pytest.raises(JournalError, match=reason):
            resolve(opened, name, "RELEASED", **LOOKED)


PLACEHOLDERS = ("NAME", "...", "…", "TEXT", "REASON", "<NAME>", " ")


@pytest.mark.parametrize("argument", ["evidence", "by"])
def test_a_placeholder_is_no_word_of_a_person(opened, argument):
    """The printed command, pasted as it is, records nothing; the argument is named."""
    send(opened, batch("a", 0), "UNKNOWN")
    statements = (
        lambda **word: resolve(opened, "a", "ACCEPTED", **word),
        lambda **word: record_not_booked(opened, COMPANY, ENTRIES[:1], **word),
        lambda **word: record_exported_elsewhere(opened, COMPANY, [{"entry_id": ENTRIES[1]}], **word),
    )
    before = opened.last_event()
    for says in statements:
        for placeholder in PLACEHOLDERS:
            with pytest.raises(ArgumentError, match=argument):
                says(**LOOKED | {argument: placeholder})
    assert (state(opened, "a"), opened.last_event()) == ("UNKNOWN", before)


def test_a_verification_is_kept_and_shown(journal, service):
    """Who verified the month against which ledger, with what result; the newest is shown, all are kept."""
    ledger = {"name": "ledger.csv", "sha256": "0" * 64, "begins": "2026-10-01", "ends": "2026-11-15"}
    word = {"by": "Ada", "ledger": ledger, "entries": [{"entry_id": ENTRIES[0]}]}
    for booked, differences in ((311, []), (312, [{"entry_id": ENTRIES[0], "reason": "in November"}])):
        word |= {"result": {"booked": booked}, "differences": differences}
        record_verification(journal, COMPANY, "2026-10", **word)
    events = verifications_of(journal, COMPANY, "2026-10")
    assert [event.facts["result"] for event in events] == [{"booked": 311}, {"booked": 312}]
    assert verifications_of(journal, COMPANY, "2026-11") == []
    (row,) = bktools.load_periods(COMPANY, service=service).to_dict("records")
    shown = (row["verified_by"], row["verified_against"], json.loads(row["verified_result"]))
    assert shown == ("Ada", "ledger.csv", {"booked": 312})
    record = bktools.record_of("2026-10", company=COMPANY, service=service)
    assert "verified against ledger.csv" in record.tables["events"]["message"][0].as_py()
    with pytest.raises(ArgumentError, match="reason must be given"):
        record_verification(journal, COMPANY, "2026-10", **word | {"differences": [{"entry_id": "x"}]})


@BOTH
def test_what_was_exported_elsewhere_is_not_sent(journal):
    """Neither by a dry run nor by a claim, in any batch, until a later event says that it was not."""
    rows = [{"entry_id": ENTRIES[0].upper(), "amount": "12.50", "currency": "EUR"}]
    event = record_exported_elsewhere(journal, COMPANY, rows, source="exports.csv", **LIST)
    assert journal.exported_elsewhere(COMPANY)[ENTRIES[0]]["amount"] == "12.50"
    assert journal.exported_elsewhere("other") == {}
    assert "were exported elsewhere, as Ada recorded" in str(journal.obstacle(batch("a", 0, 1)))
    with pytest.raises(JournalError, match="were exported elsewhere"):
        claimed(journal, batch("a", 0, 1))
    again = record_exported_elsewhere(journal, COMPANY, rows, **LIST)
    wrong = {"by": "Grace", "evidence": "that list was of a test company"}
    assert undo_exported_elsewhere(journal, event, **wrong) == {ENTRIES[0]: again}
    with pytest.raises(JournalError, match="was undone before"):
        undo_exported_elsewhere(journal, event, **wrong)
    assert undo_exported_elsewhere(journal, again, **wrong) == {}
    assert journal.exported_elsewhere() == {}
    claimed(journal, batch("a", 0, 1))
    with pytest.raises(JournalError, match="is not about entries exported elsewhere"):
        undo_exported_elsewhere(journal, 1, **LIST)


def test_an_entry_recorded_twice_has_the_voucher_of_its_newest_record(journal):
    """An older record that other entries keep standing does not take its voucher away."""
    record_exported_elsewhere(journal, COMPANY, [{"entry_id": entry} for entry in ENTRIES[:2]], **LIST)
    record_exported_elsewhere(journal, COMPANY, [{"entry_id": ENTRIES[0], "voucher": "V1"}], **LIST)
    known = earlier_exports(journal, COMPANY)["exported_elsewhere"]
    assert known == {ENTRIES[0]: "V1", ENTRIES[1]: None}


def test_what_waits_or_was_sent_here_is_no_export_elsewhere(journal, today):
    """A batch that waits is not begun; after a wrong release an import keeps the entries out."""
    claimed(journal, batch("a", 0, 1))
    record_exported_elsewhere(journal, COMPANY, [{"entry_id": ENTRIES[1]}], **LIST)
    with pytest.raises(JournalError, match="were exported elsewhere"):
        record_intent(journal, "a")
    assert state(journal, "a") == "PLANNED"
    today("2026-11-20T10:00")
    send(journal, batch("c", 3), "UNKNOWN")
    with pytest.raises(JournalError, match="are in batch c, which is in doubt here"):
        record_exported_elsewhere(journal, COMPANY, [{"entry_id": ENTRIES[3]}], **LIST)
    today("2026-11-21T10:00")
    resolve(journal, "c", "RELEASED", **LIST)
    record_exported_elsewhere(journal, COMPANY, [{"entry_id": ENTRIES[3]}], **LIST)
    with pytest.raises(JournalError, match="were exported elsewhere"):
        claimed(journal, batch("c", 3))


def test_the_word_that_an_entry_is_not_booked_is_kept(journal):
    """Each entry once, with the name of everybody who said so; a word about no entry is none."""
    record_not_booked(journal, COMPANY, ENTRIES[:2], by="Ada", evidence="voucher V2 is another dinner")
    record_not_booked(journal, COMPANY, ENTRIES[1:2], by="Grace", evidence="asked the accountant")
    assert earlier_exports(journal, COMPANY)["not_booked"].keys() == {*ENTRIES[:2]}
    assert [event.person for event in journal.events("not_booked")] == ["Ada", "Grace"]
    with pytest.raises(ArgumentError):
        record_not_booked(journal, COMPANY, [], **LOOKED)
