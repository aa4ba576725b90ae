"""What is in doubt, told for each company, and resolved by a person."""

from __future__ import annotations

import datetime as dt
import re

import pandas as pd
import pytest
from backends import BOTH
from batches import COMPANY, OTHER_COMPANY, batch, send

import bktools
from bktools.errors import ArgumentError, JournalError, StorageError
from bktools.journal.export_jobs import accept_export_jobs, answer_to_all, open_questions
from bktools.journal.undelivered import BatchOutcome
from bktools.journal.unknown_outcomes import sendings_in_doubt
from bktools.journal.writing import open_for_writing

COMPANIES = [COMPANY, OTHER_COMPANY]


@pytest.fixture
def doubts(service):
    """A batch in doubt of each of two companies."""
    with open_for_writing(service.settings) as journal:
        for number, company in enumerate(COMPANIES):
            send(journal, batch(f"batch-{number}", number, company=company), "UNKNOWN")


def test_questions_are_those_of_the_company_or_batch_that_was_asked_for(doubts, service):
    """All of them by default; of one company or of one batch alone."""
    told = open_questions(service=service)
    assert all(f"company {company}" in line for company, line in zip(COMPANIES, told, strict=True))
    assert open_questions(COMPANIES[1].upper(), service=service) == told[1:]
    assert open_questions(batch="batch-0", service=service) == told[:1]
    assert open_questions(COMPANIES[1], batch="batch-0", service=service) == []
    with pytest.raises(ArgumentError, match="company must be a UUID"):
        open_questions("7", service=service)


@BOTH
def test_the_job_that_was_found_is_kept(doubts, service):
    """Its UUID is written in one way, and the frame says what it is of."""
    job = "ABCDEF00-0000-4000-8000-000000000001"
    bktools.resolve_export_job("batch-1", "accepted", evidence="seen", by="Ada", job_id=job, service=service)
    jobs = bktools.load_export_jobs(COMPANIES[1], service=service)
    assert jobs[["state", "job_id"]].to_numpy().tolist() == [["ACCEPTED", job.lower()]]
    with open_for_writing(service.settings) as journal:
        origin = {"environment": "sandbox", "table": "export jobs", "journal": journal.id}
    assert jobs.attrs["bktools"] == origin | {"rows": 1, "complete": True}


@BOTH
def test_a_letter_is_evidence_and_a_name(doubts, service):
    """Short words are kept as they are; blanks are none, and the argument is named."""
    for argument in ("evidence", "by"):
        said = {"evidence": "x", "by": "A"} | {argument: " "}
        with pytest.raises(ArgumentError, match=argument):
            bktools.resolve_export_job("batch-0", "released", service=service, **said)
    bktools.resolve_export_job("batch-0", "released", evidence=" x ", by="A", service=service)
    jobs = bktools.load_export_jobs(service=service)
    assert jobs["state"].to_list() == ["RELEASED", "UNKNOWN"]
    events = bktools.load_export_jobs(events=True, batch="batch-0", service=service)
    last = events.iloc[-1]
    assert (last["message"], last["done_by"]) == ("x", "A")
    assert pd.isna(jobs["job_id"][0])


@BOTH
def test_several_are_accepted_with_one_evidence(doubts, service):
    """Batches that a person names become ACCEPTED, each with an event; where one cannot, none does."""
    told = {"evidence": "all 2 booked", "by": "Ada", "service": service}
    with pytest.raises(JournalError, match="batch other was not found"):
        accept_export_jobs(["batch-0", "other"], **told)
    assert bktools.load_export_jobs(service=service)["state"].to_list() == ["UNKNOWN", "UNKNOWN"]
    accept_export_jobs(["batch-1", "batch-0"], **told)
    events = bktools.load_export_jobs(events=True, service=service)
    settled = events[events["after"] == "ACCEPTED"]
    assert set(settled["message"]) == {"all 2 booked"}
    assert settled["batch_id"].to_list() == ["batch-1", "batch-0"]
    assert answer_to_all(service=service) == ""


def test_the_answer_to_all_names_the_batches_that_were_shown(doubts, service):
    """A batch whose outcome becomes unknown after the line was printed is not settled by it."""
    line = answer_to_all(service=service)
    assert re.search(r"export resolve (.*?) --", line)[1].split() == ["batch-0", "batch-1"]
    assert answer_to_all(COMPANIES[0], service=service) == ""


@pytest.mark.parametrize(
    ("expires", "seconds"),
    [("7200", 7200), ("60", 3600), ("-1", 3600), ("null", 3600), ("1764000000000", 10**9)],
)
def test_a_job_ends_after_what_the_service_said(doubts, service, expires, seconds):
    """The longest of the company's jobs counts; a number beyond any calendar is a job that has not ended."""
    with open_for_writing(service.settings) as journal:
        journal.claim([batch("batch-9", 9)], "plan")
        with journal.transaction() as connection:
            sql = "UPDATE batches SET job = ? WHERE batch_id = 'batch-9'"
            connection.execute(sql, (f'{{"expiresIn": {expires}}}',))
        sent_at = dt.datetime.fromisoformat(journal.state_of("batch-0")["sent_at"])
    ends = sent_at + dt.timedelta(seconds=seconds)
    assert sendings_in_doubt(COMPANIES[0], service=service) == {"batch-0": (ends, "")}


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"sent_at": "t"}', '{"sent_at": "t", "state": "PLANNED", "x": 1}', "7"]
)
def test_a_kept_answer_that_is_damaged_is_one_clear_error(doubts, service, content):
    """It names the file, and what happens without it: the batch is in doubt."""
    with open_for_writing(service.settings) as journal:
        row = journal.state_of("batch-0")
        answer = BatchOutcome("PLANNED", "not_sent", {"message": "said"})
        journal.undelivered.write("batch-0", row["sent_at"], answer)
        path = journal.undelivered._path("batch-0")
        path.write_text(content)
        said = rf"batch batch-0 in {re.escape(str(path))} cannot be read .*move the file away"
        with pytest.raises(StorageError, match=said):
            journal.undelivered.read(row)
        path.unlink()
        assert journal.undelivered.read(row) is None


@pytest.mark.parametrize(
    ("argument", "value"),
    [("batch_id", ["batch-0"]), ("batch_id", None), ("outcome", ["released"]), ("outcome", None)],
)
def test_an_argument_that_is_no_text_is_named(doubts, service, argument, value):
    """Neither the database nor Python is asked what a list is."""
    arguments = {"batch_id": "batch-0", "outcome": "released", "evidence": "seen", "by": "Ada"}
    arguments[argument] = value
    with pytest.raises(ArgumentError, match=f"{argument} must be text"):
        bktools.resolve_export_job(**arguments, service=service)
    with pytest.raises(ArgumentError, match="batch must be text"):
        bktools.load_export_jobs(batch=["batch-0"], service=service)


@BOTH
def test_a_text_that_no_database_takes_is_one_clear_error(doubts, service):
    """A terminal that is not in UTF-8 hands on letters that are none: nothing is recorded."""
    with pytest.raises(StorageError, match=r"cannot be written: .*surrogates not allowed"):
        bktools.resolve_export_job("batch-0", "released", evidence="seen", by="J\udcfcrg", service=service)
    assert bktools.load_export_jobs(batch="batch-0", service=service)["state"].to_list() == ["UNKNOWN"]
