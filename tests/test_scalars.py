"""Values as NumPy, pandas and Arrow have them are arguments everywhere, and mean what Python's own mean."""

from __future__ import annotations

import datetime as dt
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bktools
from bktools.contract import rules
from bktools.contract.paging import Page
from bktools.errors import ArgumentError
from bktools.service import Service
from bktools.snapshots.options import Options, instant

OCTOBER = [
    "2026-10",
    pd.Period("2026-10"),
    pd.Period("2026-10-05", "D"),
    pd.Timestamp("2026-10-31 23:59", tz="Europe/Berlin"),
    dt.date(2026, 10, 5),
    np.datetime64("2026-10"),
    np.datetime64("2026-10-05T08:00:00.000000001"),
]
NOT_A_MONTH = ["2026-13", "2026-10-05", "0000-01", 202610, None]
NOT_A_MONTH += [pd.Period("2026Q4"), pd.Period("2026-10-05", "W"), pd.NaT]

END_OF_OCTOBER = dt.datetime(2026, 10, 31, 23, 59, 59, 999999, dt.UTC)
MOMENTS = [
    *[
        (value, END_OF_OCTOBER)
        for value in ("2026-10-31", "2026-10", pd.Period("2026-10"), dt.date(2026, 10, 31))
    ],
    *[(value, END_OF_OCTOBER) for value in (pd.Period("2026-10-31", "D"), np.datetime64("2026-10-31"))],
    (pd.Timestamp("2026-10-31 09:00", tz="Europe/Berlin"), dt.datetime(2026, 10, 31, 8, tzinfo=dt.UTC)),
    (np.datetime64("2026-10-31T08:00", "ns"), dt.datetime(2026, 10, 31, 8, tzinfo=dt.UTC)),
]


def test_months_moments_and_durations():
    """A period is its month, or its end for a moment; anything else is refused with the value."""
    assert {rules.month("month", value) for value in OCTOBER} == {"2026-10"}
    for value in NOT_A_MONTH:
        with pytest.raises(ArgumentError, match="month must be a month such as 2026-10"):
            rules.month("month", value)
    for value, meant in MOMENTS:
        assert instant("as_of", value) == meant
    wrong = (
        pd.Period("2026Q4"),
        pd.NaT,
        np.datetime64("NaT", "D"),
        20261031,
        "2026-10-32",
        "2026-W44",
        "2026W44",
    )
    for value in (*wrong, float("nan")):
        with pytest.raises(ArgumentError, match="as_of must be a day such as 2026-10-31"):
            instant("as_of", value)
    spans = (pd.Timedelta("90s"), np.timedelta64(90, "s"), np.timedelta64(90 * 10**9, "ns"))
    for value in (90, np.int64(90), np.float32(90), *spans):
        assert Options(max_age=value).max_age == dt.timedelta(seconds=90)


def test_ids_flags_and_numbers_of_frames(service: Service, samples: tuple[Path, Path]):
    """Each argument of each function takes any kind of value like Python's own, with equal results."""
    company = str(service.settings.company)
    categories = bktools.load_categories(company, service=service)
    entries = bktools.read_entries(samples[1])
    ids = categories["id"].head(3)
    twice = pd.concat([ids, ids.str.upper()])
    employee = bktools.load_employees(service=service)["id"].iloc[0]
    plan = bktools.compose_export_jobs(entries, categories=categories, company=company)
    load = partial(bktools.load_categories, service=service)
    compose = partial(bktools.compose_export_jobs, entries, categories=categories)
    submit = partial(bktools.submit_export_jobs, plan, service=service)
    get, now = partial(bktools.get_employee, service=service), dt.datetime.now(dt.UTC)
    table = [
        (load, "company", company, [pd.Series([company] * 3), np.array([company])]),
        (load, "company", company, [pd.Index([company]), np.str_(company)]),
        (load, "ids", list(ids), [twice, twice.to_numpy(), pd.Index(twice), (one for one in twice)]),
        (load, "ids", list(ids), [pa.array(twice), twice.astype("category"), set(ids)]),
        (load, "ids", list(ids), [twice.astype(pd.ArrowDtype(pa.string()))]),
        (load, "archived", True, [np.bool_(True), pa.scalar(True)]),
        (load, "refresh", False, [np.bool_(False)]),
        (load, "as_of", now, [pd.Timestamp.now("UTC"), pd.Period.now("D"), np.datetime64("today")]),
        (compose, "max_entries", 3, [np.int64(3), np.uint8(3)]),
        (compose, "month", "2026-10", OCTOBER),
        (submit, "apply", False, [np.bool_(False)]),
        (submit, "wait", 0, [np.int64(0), np.timedelta64(0, "s")]),
        (partial(service.search_categories, company), "limit", 5, [np.int64(5)]),
        (partial(service.search_categories, company), "offset", 7, [np.int32(7)]),
        (get, "employee_id", employee, [np.str_(employee), pa.scalar(employee)]),
        (partial(bktools.record_of, service=service), "month", "2026-10", OCTOBER),
    ]
    for function, argument, own, others in table:
        meant = _told(function(**{argument: own}))
        for other in others:
            assert _told(function(**{argument: other})) == meant, (function, argument, other)
    told = {"by": "Ada", "company": company, "service": service}
    close, reopen = (
        partial(bktools.close_period, **told),
        partial(bktools.reopen_period, **told, reason="late"),
    )
    for month in OCTOBER:
        close(month)
        reopen(month)
    assert set(bktools.load_periods(service=service)["period"]) == {"2026-10"}


def _told(result: object) -> str:
    """Return the content of a result as text."""
    result = [record.id for record in result.data] if isinstance(result, Page) else result
    frame = getattr(result, "batches", getattr(result, "entries", result))
    return frame.to_csv() if isinstance(frame, pd.DataFrame | pd.Series) else repr(frame)


@pytest.mark.parametrize("apply", ["no", 1, None, np.int64(1)])
def test_what_is_no_flag_never_sends(service: Service, apply: object):
    """`apply` takes True and False alone: the text "no" would otherwise send."""
    company = str(service.settings.company)
    plan = bktools.compose_export_jobs(pd.DataFrame({"id": [company], "company_id": [company]}))
    for call in (
        partial(bktools.submit_export_jobs, plan, service=service),
        partial(bktools.close_month, pd.DataFrame(), pd.DataFrame(), month="2026-10", service=service),
    ):
        with pytest.raises(ArgumentError, match="apply must be True or False"):
            call(apply=apply)
