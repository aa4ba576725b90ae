"""A whole month closed from Python, on the real sandbox."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import pyarrow as pa
import pytest

import bktools
from bktools.close.steps import month_to_close
from bktools.errors import ArgumentError, InputError


@pytest.fixture
def given(service, samples):
    """A few accounts and entries of the samples."""
    chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)
    return chart.head(5), bktools.read_entries(samples[1]).head(20)


def test_a_month_is_closed_once(october):
    """Planned, applied, applied again: what was done is done once, and each folder is kept."""
    planned, first, second = october.planned, october.first, october.again
    steps = "categories employees reconciled created plan jobs close"
    assert " ".join(october.steps) == steps
    assert october.jobs_planned == 0
    assert (first.record.state, october.fixed.record.state) == ("OPEN", "CLOSED")
    assert "planned, nothing was sent" in repr(planned)
    assert first.run.outcomes("jobs") == {"ACCEPTED": 3}
    assert (second.run.jobs, len(second.figures.jobs)) == ([], 3)
    assert set(october.accepted.values()) == {1}
    assert planned.folder == first.folder == second.folder
    kept = {second.folder, first.earlier_folder, second.earlier_folder}
    assert {*second.folder.parent.glob("october*")} == kept
    assert f"written to {second.folder}" in repr(second)


def month_from_now(months: int) -> str:
    """Return a month before or after the one of today."""
    today = dt.datetime.now().astimezone()
    years, place = divmod(today.year * 12 + today.month - 1 + months, 12)
    return f"{years:04}-{place + 1:02}"


@pytest.mark.parametrize("apply", [False, True])
def test_a_month_that_has_not_begun_is_refused(sandbox, service, given, tmp_path, apply):
    """Planned or applied: nothing of it is sent or recorded, and no folder is written."""
    with pytest.raises(ArgumentError, match=r"month must have begun: today is 20\d\d-\d\d-\d\d, got "):
        bktools.close_month(
            *given, month=month_from_now(1), apply=apply, folder=tmp_path / "next", service=service
        )
    assert sandbox.server.export_jobs() == []
    assert bktools.load_periods(service=service).empty
    assert list(tmp_path.iterdir()) == []


def test_a_month_that_has_not_ended_is_not_approved(service, given, tmp_path):
    """Nothing is sent."""
    options = {"apply": True, "approved_by": "Grace", "folder": tmp_path / "close", "service": service}
    current = month_from_now(0)
    with pytest.raises(ArgumentError, match=r"closes .+, which has not ended"):
        bktools.close_month(*given, month=current, **options)
    assert bktools.load_periods(service=service).empty


def test_entries_without_dates_need_a_month(service, given, tmp_path):
    """The month is not guessed, and dates that are text are refused."""
    chart, entries = given
    with pytest.raises(ArgumentError, match="month must be given: the entries have no dates"):
        bktools.close_month(chart, entries.drop(columns="date"), service=service)
    with pytest.raises(InputError, match="date"):
        bktools.close_month(chart, entries.assign(date="1.10.2026"), service=service)
    closed = bktools.close_month(
        chart, entries.assign(date=pd.NaT), month="2026-10", folder=tmp_path / "undated", service=service
    )
    assert len(closed.entries) == len(entries)
    assert not (closed.entries["reason"] == "later_period").any()


TODAY = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("months", "month"),
    [
        (["2026-10"], "2026-10"),
        (["2026-10", "2026-11", "2062-03"], "2026-10"),
        (["2026-11", "2026-12"], "2026-11"),
        (["2026-09", "2026-10"], None),
        (["2026-12"], None),
    ],
)
def test_the_default_month(months, month):
    """The only month that has ended, or the current one; of several, or in the future, it is asked."""
    frame = pa.table({"date": [dt.date.fromisoformat(f"{one}-15") for one in months]})
    if month is not None:
        assert month_to_close(frame, None, TODAY, is_approved=False) == month
    else:
        with pytest.raises(ArgumentError, match=f"must be given: the entries are of {', '.join(months)}"):
            month_to_close(frame, None, TODAY, is_approved=False)
