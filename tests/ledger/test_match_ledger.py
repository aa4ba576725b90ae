"""Matching against the plain reference, on frames in which everything repeats."""

from __future__ import annotations

import datetime as dt
import os
from decimal import Decimal

import pandas as pd
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ledger_reference import Reference

from bktools import match_ledger
from bktools.frames.schema import DATE, TEXT

MONEY = pa.decimal128(38, 2)
IDS = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(12)]
ENTRY = {
    "entry_id": TEXT, "batch_id": TEXT, "account_code": TEXT, "amount": MONEY, "currency": TEXT, "date": DATE, "document_number": TEXT,
    "supplier": TEXT, "description": TEXT,
}  # fmt: skip
POSTING = {
    "account_code": TEXT, "amount": pa.decimal128(38, 4), "currency": TEXT, "date": DATE, "document_number": TEXT, "text": TEXT,
    "voucher_id": TEXT,
}  # fmt: skip

amounts = st.sampled_from([Decimal(text) for text in ("10.00", "10.00", "2.00", "12.00", "-10.00", "20.00", "4.00")])
days = st.sampled_from([dt.date(2026, 10, day) for day in (3, 3, 4, 6)] + [dt.date(2026, 11, 1)])
accounts = st.sampled_from(["5800", "5800", "4930"])
documents = st.sampled_from([None, None, "R-77", "r-78"])
texts = st.sampled_from([None, "Taxi Köln", "Taxi Köln #2", "Hotel Berlin", "Rechnung R-77, Hotel"])
entry = st.fixed_dictionaries(
    {
        "account_code": accounts | st.none(),
        "amount": amounts | st.none(),
        "currency": st.sampled_from(["EUR", "EUR", "USD", None]),
        "date": days | st.none(),
        "batch_id": st.sampled_from([None, "b1", "b1", "b2"]),
        "document_number": documents,
        "supplier": st.sampled_from([None, "Bahn"]),
        "description": texts,
    }
)
posting = st.fixed_dictionaries(
    {
        "account_code": accounts | st.sampled_from(["1576", "1600"]),
        "amount": amounts,
        "currency": st.sampled_from(["EUR", "EUR", "EUR", "USD", None]),
        "date": days,
        "document_number": documents | st.sampled_from(IDS[:3]),
        "text": texts | st.sampled_from([f"Beleg {IDS[0].upper()}", IDS[1]]),
        "voucher_id": st.sampled_from([None, "A 1", "A 2"]),
    }
)


RUNS = int(os.environ.get("BKTOOLS_TEST_RUNS", "10"))


def table(rows, columns):
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in columns.items()})


@settings(max_examples=RUNS, suppress_health_check=list(HealthCheck))
@given(st.lists(entry, max_size=9), st.lists(posting, max_size=11), st.integers(0, 2))
def test_the_reference(entries, postings, days):
    """Status, posting, how it was found, score and number of bookings are those of the plain reference."""
    entries = [row | {"entry_id": IDS[number]} for number, row in enumerate(entries)]
    match = match_ledger(
        table(entries, ENTRY),
        table(postings, POSTING).append_column("line", pa.array(range(len(postings)), pa.int64())),
        days=days,
    )
    expected = Reference(entries, postings, days)
    columns = ["entry_id", "status", "booked_line", "matched_by", "score", "bookings"]
    assert _rows(match.entries, columns) == [
        (IDS[number], one.status, one.posting, one.by, one.score, one.bookings)
        for number, one in enumerate(expected.found)
    ]
    answers = [IDS[expected.answers[number]] if number in expected.answers else None for number in range(len(postings))]
    assert [row[0] for row in _rows(match.postings, ["entry_id"])] == answers


def _rows(frame: pd.DataFrame, columns):
    rows = frame[columns].astype("object").itertuples(index=False)
    return [tuple(None if pd.isna(value) else value for value in row) for row in rows]
