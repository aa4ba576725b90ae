"""A person's word about a batch: asked for once, with a name and evidence, and not too early."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from backends import BOTH
from batches import COMPANY, LOOKED, OTHER_COMPANY, answer, batch, begun, claimed, send

import bktools
from bktools.errors import ArgumentError, JournalError
from bktools.journal.attempts import BatchOutcome, record_outcome
from bktools.journal.export_jobs import open_questions
from bktools.journal.resolving import resolve
from bktools.journal.unknown_outcomes import sendings_in_doubt
from bktools.journal.writing import open_for_writing

COMPANIES = [COMPANY, OTHER_COMPANY]


@pytest.fixture
def doubts(service, today):
    """A batch in doubt of each of two companies, sent the day before."""
    today("2026-11-20T10:00")
    with open_for_writing(service.settings) as journal:
        for number, company in enumerate(COMPANIES):
            send(journal, batch(f"batch-{number}", number, company=company), "UNKNOWN")
    today("2026-11-21T10:00")


@pytest.mark.parametrize(("count", "named"), [(3, ""), (5, " and 2 more")])
def test_a_batch_in_doubt_is_named_with_the_way_to_settle_it(journal, service, count, named):
    """The line names batch, company, time, three entries and one command for this one batch."""
    send(journal, wanted := batch("a", *range(count)), "UNKNOWN")
    (row,) = journal.unknown(COMPANY)
    (line,) = open_questions(service=service)
    for part in (
        f"outcome unknown: batch a of company {COMPANY}, sent {row['sent_at']}, may have been booked",
        f"its {count} entries in the accounting system ({', '.join(wanted.entry_ids[:3])}{named}; ",
        f"bktools export status --entries --batch a --company {COMPANY} --sandbox)",
        f"bktools export resolve a --company {COMPANY} --sandbox --outcome ",
        '--outcome "accepted|released" --evidence "..." --by NAME',
    ):
        assert part in line
    send(journal, batch("b", 7, company=OTHER_COMPANY), "UNKNOWN")
    lines = open_questions(service=service)
    assert open_questions(OTHER_COMPANY.upper(), service=service) == lines[1:]
    assert open_questions(batch="a", service=service) == lines[:1]
    assert open_questions(OTHER_COMPANY, batch="a", service=service) == []


@BOTH
def test_an_accepted_batch_keeps_the_job_that_was_found(doubts, service):
    """Its UUID is written in one way, the event names who found it, and the frame says what it is of."""
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


@pytest.mark.parametrize(
    ("expires", "seconds", "is_believed"),
    [(7200, 7200, True), (60, 3600, True), (-1, 3600, True), (None, 3600, True), (86_400_000, 3600, False)],
)
def test_a_job_ends_after_what_the_service_said(doubts, service, expires, seconds, is_believed):
    """The longest of the company's jobs counts; more than a day is not believed, and a line says so."""
    with open_for_writing(service.settings) as journal:
        with journal.transaction() as connection:
            sql = "UPDATE batches SET job = $1 WHERE batch_id = 'batch-0'"
            connection.execute(sql, [json.dumps({"expiresIn": expires})])
        sent_at = dt.datetime.fromisoformat(journal.state_of("batch-0")["sent_at"])
    ends = sent_at + dt.timedelta(seconds=seconds)
    assert sendings_in_doubt(COMPANIES[0], service=service) == {"batch-0": (ends, "")}
    (line,) = open_questions(COMPANIES[0], service=service)
    assert ("expires after more than 24 hours, which is not believed" in line) is not is_believed


def test_a_withdrawn_batch_is_not_sent(opened):
    """One that waits is withdrawn at once; one that is sent or settled is not."""
    claimed(opened, batch("a", 0))
    with pytest.raises(JournalError, match="only an UNKNOWN batch can be resolved"):
        resolve(opened, "a", "ACCEPTED", **LOOKED)
    resolve(opened, "a", "RELEASED", **LOOKED)
    attempt = begun(opened, batch("b", 0))
    record_outcome(opened, attempt, answer("ACCEPTED", "job-b"))
    for name in ("a", "b"):
        with pytest.raises(JournalError, match=f"batch {name} is (RELEASED|ACCEPTED)"):
            resolve(opened, name, "RELEASED", **LOOKED)
    with pytest.raises(JournalError, match="batch nobody was not found"):
        resolve(opened, "nobody", "RELEASED", **LOOKED)


def test_a_batch_that_was_sent_meanwhile_is_not_settled(opened, settings, monkeypatch):
    """A person looked, and another process sent it before the person's word came."""
    claimed(opened, batch("a", 0))
    original = type(opened).lock

    def later(journal, company_id):
        monkeypatch.undo()
        with open_for_writing(settings) as other:
            send(other, batch("a", 0))
        return original(journal, company_id)

    monkeypatch.setattr(type(opened), "lock", later)
    with pytest.raises(JournalError, match="batch a is ACCEPTED"):
        resolve(opened, "a", "RELEASED", **LOOKED)


PLACEHOLDERS = ("NAME", "name", "...", "…", "TEXT", "DATE", "REASON", "EVIDENCE", "<NAME>", " ")


@pytest.mark.parametrize("argument", ["evidence", "by"])
def test_a_placeholder_is_no_word_of_a_person(doubts, service, argument):
    """The printed command, pasted as it is, records nothing; the argument is named."""
    for placeholder in PLACEHOLDERS:
        with pytest.raises(ArgumentError, match=argument):
            bktools.resolve_export_job(
                "batch-0", "accepted", service=service, **LOOKED | {argument: placeholder}
            )
    assert bktools.load_export_jobs(service=service)["state"].to_list() == ["UNKNOWN", "UNKNOWN"]
