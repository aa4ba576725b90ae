"""A whole month closed from Python, on the real sandbox."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import pyarrow as pa
import pytest

import bktools
from bktools.close.steps import month_to_close
from bktools.errors import ArgumentError


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


def test_entries_without_dates_need_a_month(service, samples, tmp_path):
    """With a month that is given, all of them are its entries."""
    chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company).head(5)
    entries = bktools.read_entries(samples[1]).head(20)
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
