"""The service's rate limit during a submission: waited for, and sent again after a new intent."""

from __future__ import annotations

import threading
import time

import pytest
from entries_by_hand import COMPANY, company_of, entries_of, entries_of_each, outcomes, submit
from raw_service import IN_PROGRESS, answering, created, in_turn

import bktools


def limit(retry_after: str = "0"):
    """Return an answer that is the rate limit's."""
    body = '{"type": "RATE_LIMITED", "message": "too many requests"}'
    return answering(429, body, retry_after=retry_after)


def test_the_rate_limit_is_waited_for(talking, capsys):
    """After the wait, the batch is a new request with a new intent; the run says why it waits."""
    with talking(in_turn(limit("1"), created), read=30.0) as (raw, service):
        begin = time.monotonic()
        assert outcomes(entries_of(COMPANY, 2), service, wait=0, progress=True) == ["ACCEPTED"]
        assert time.monotonic() - begin >= 1
        steps = bktools.load_export_jobs(events=True, service=service)["after"].to_list()
        assert steps == ["PLANNED", "SENDING", "PLANNED", "SENDING", "ACCEPTED"]
        assert (len(raw.requests), set(raw.accepted.values())) == (2, {1})
    assert "Waiting 1 s, because the service's rate limit is reached" in capsys.readouterr().err


def test_three_in_a_row_stop_the_run(talking):
    """A limit that stays reached after each wait ends the run; a later run goes on where it stopped."""
    with talking(in_turn(*[limit()] * 3, created), read=30.0) as (raw, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 3), max_entries=1)
        sent = submit(plan, service)
        assert sent["outcome"].to_list() == ["PLANNED", "BLOCKED", "BLOCKED"]
        assert "429 (its rate limit) 3 times in a row" in sent["message"][0]
        assert len(raw.requests) == 3
        assert outcomes(plan, service) == ["ACCEPTED"] * 3
        assert set(raw.accepted.values()) == {1}


def test_companies_that_meet_the_limit_together_count_once(talking):
    """Companies whose requests are all on their way at the first 429 are exported after one wait."""
    companies = [company_of(number) for number in range(5)]
    together = threading.Barrier(len(companies))

    def answer(raw, request):
        if len(raw.requests) > len(companies):
            return created(raw, request)
        # However late a thread begins: an earlier answer would make the others wait at once.
        together.wait(timeout=20)
        return limit("1")(raw, request)

    with talking(answer, read=30.0, at_once=True) as (raw, service):
        assert outcomes(entries_of_each(companies), service) == ["ACCEPTED"] * 5
        assert len(raw.requests) == 2 * len(companies)
        assert set(raw.accepted.values()) == {1}


def test_a_wait_that_is_too_long_stops_the_run(talking):
    """A wait of an hour is shown at once, for every company, and nothing more is sent."""
    entries = entries_of_each(map(company_of, range(5)))
    with talking(limit("3600"), read=30.0) as (raw, service):
        sent = submit(entries, service)
        assert set(sent["outcome"]) <= {"PLANNED", "BLOCKED"}
        assert sent["message"].str.contains("asks to wait 3,600 s").all()
        assert len(raw.requests) <= 5


@pytest.mark.parametrize("is_later", [False, True], ids=["the same run", "a later run"])
def test_a_job_in_progress_after_a_429_leaves_a_doubt(talking, is_later):
    """It may be the job of the request that was answered 429."""
    limits = [limit()] * (3 if is_later else 1)
    with talking(in_turn(created, *limits, answering(409, IN_PROGRESS))) as (raw, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 2), max_entries=1)
        if is_later:
            assert outcomes(plan, service) == ["ACCEPTED", "PLANNED"]
        assert outcomes(plan, service) == ["ACCEPTED", "UNKNOWN"]
        assert len(raw.requests) == len(limits) + 2
