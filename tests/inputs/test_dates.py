"""Dates are calendar dates, in the order of day and month that the whole column shows."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import pyarrow as pa
import pytest
from bktools.inputs.dates import dates

from bktools.errors import ArgumentError, InputError
from bktools.inputs.table import Table

LAST = dt.date(2026, 10, 31)


def read(texts, date_format=None, source="f.csv"):
    column = pa.chunked_array([pa.array(texts, pa.large_string())])
    table = Table(source, ("Date",), [column], np.arange(2, len(texts) + 2), 1)
    return dates(table, 0, date_format, []).to_pylist()


@pytest.mark.parametrize(
    "text",
    [
        *("2026-10-31", "20261031", "2026/10/31", "31.10.2026", "31/10/2026", "31-10-2026", "10/31/2026"),
        *("2026-10-31T23:30:00Z", "2026-10-31 23:30:00.123456+02:00", "31.10.2026 23:30"),
        *("10/31/2026 11:30 PM", "2026-10-31 9:30", "2026-10-31 23:30:05,5", "2026-10-31 11:30PM"),
        *("2026-10-31 09:30Z", "2026-10-31 09:30 UTC", "2026-10-31 09:30+02"),
    ],
)
def test_orders(text):
    """ISO and local dates are read by what they show; a time of day behind them changes nothing."""
    assert read([text, "", text]) == [LAST, None, LAST]


@pytest.mark.parametrize(
    "time",
    [
        *("T25:00:00", " 24:00", "T23:60", "T23:30:61", " 13:00 PM", " 0:30 AM", "T10:00+15:00"),
        *("T10:00+02:60", "T1000", "T"),
    ],
)
def test_a_time_that_no_clock_shows_is_refused(time):
    """The time behind a date is dropped and must still be one; the message names line and value."""
    wrong = f"2026-10-30{time}"
    said = "line 3: 'Date' must hold dates such as 2026-10-31 in one order of day and month"
    with pytest.raises(InputError, match=re.escape(f"{said} (set date_format=), got {wrong!r}")):
        read(["2026-10-31T09:30", wrong])


def test_evidence_is_the_whole_column():
    """One date whose day is over twelve decides for all."""
    assert read(["03/04/2026", "31/10/2026"]) == [dt.date(2026, 4, 3), LAST]
    assert read(["03/04/2026", "10/31/2026"]) == [dt.date(2026, 3, 4), LAST]
    assert read(["3.4.2026"]) == [dt.date(2026, 4, 3)]
    assert read(["05/05/2026"]) == [dt.date(2026, 5, 5)]


def test_ambiguous_columns_ask():
    """Where day and month could each be the other the format is asked for, and decides."""
    with pytest.raises(InputError, match=r"'03/04/2026' whose day .* month.*with date_format='%d/%m/%Y'"):
        read(["05/05/2026", "03/04/2026"])
    assert read(["03/04/2026"], "%d/%m/%Y") == [dt.date(2026, 4, 3)]
    assert read(["03/04/2026"], "%m/%d/%Y") == [dt.date(2026, 3, 4)]
    assert read(["31 Oct 26"], "%d %b %y") == [LAST]


@pytest.mark.parametrize("text", ["2026-02-30", "yesterday", "31.13.2026", "46326", "2026-10-31T", "1/2/26"])
def test_what_is_no_date_is_named(text):
    """A value that is no date is named with its line."""
    with pytest.raises(InputError, match="line 3: 'Date' must hold dates"):
        read(["2026-10-31", text])


def test_mixed_orders_are_refused():
    """A column in two orders is refused, with the line that differs."""
    with pytest.raises(InputError, match=r"line 4: 'Date' must hold dates.*'10/31/2026'"):
        read(["31/10/2026", "30/10/2026", "10/31/2026"])


def test_a_missing_year_comes_from_the_name():
    """Dates without a year take the only year in the file's name, or are refused; never 1900."""
    assert read(["31.10.", "03.10."], source="expenses-2026-10.csv") == [LAST, dt.date(2026, 10, 3)]
    assert read(["31/10", ""], source="kort_20261101.csv") == [LAST, None]
    for source in ("f.csv", "from-2025-to-2026.csv"):
        with pytest.raises(InputError, match=r"'Date' holds dates without a year, such as '31\.10\.'"):
            read(["31.10."], source=source)
    with pytest.raises(ArgumentError, match="date_format must have the year"):
        read(["31.10."], "%d.%m.")
