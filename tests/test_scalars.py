"""Values as NumPy, pandas and Arrow have them are arguments everywhere, and mean what Python's own mean."""

from __future__ import annotations

import datetime as dt
from functools import partial

import numpy as np
import pandas as pd
import pytest

import bktools
from bktools.contract import rules
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
