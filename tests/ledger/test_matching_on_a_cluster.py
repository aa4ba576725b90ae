"""Matching on PySpark: workers match the ledger of one company at a time, as this machine does."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
import spark as pyspark
import worlds

from bktools import match_ledger
from bktools.errors import ArgumentError, OutOfMemoryError
from bktools.frames.schema import to_arrow
from bktools.ledger.cluster import TABLES

pytestmark = [*pyspark.NEEDS_SPARK]


def month(count):
    """Return entries and a ledger in which one is missing, one booked twice, and one with another amount."""
    entries = worlds.exported(count).drop(columns="sent_at")
    rows = entries.to_dict("records")
    postings = [line for number, row in enumerate(rows[1:]) for line in worlds.booking(number, row)]
    postings += worlds.booking(90, rows[2]) + worlds.booking(91, rows[0] | {"description": "Bahn Köln"}, amount=999)
    return entries, worlds.ledger(postings)


def lifted(session, *frames):
    table = pa.concat_tables([pa.Table.from_pandas(frame, preserve_index=False) for frame in frames])
    return session.createDataFrame(table)


def in_order(table):
    return sorted(str({name: row[name] for name in sorted(row)}) for row in table.to_pylist())


def test_rows_are_those_of_this_machine():
    """Two companies, whose entries are those of matches of their own; a table takes six Spark jobs at most."""
    session = pyspark.session()
    worlds_of = {"company-a": month(12), "company-b": month(9)}
    alone = {company: match_ledger(*frames) for company, frames in worlds_of.items()}
    sides = [
        lifted(session, *(frames[side].assign(company_id=company.upper()) for company, frames in worlds_of.items()))
        for side in (0, 1)
    ]
    before = pyspark.jobs(session)
    match = match_ledger(*sides)
    found = {"findings": match.findings.toArrow()}
    assert 2 < pyspark.jobs(session) - before <= 6
    found |= {name: getattr(match, name).toArrow() for name in TABLES if name != "findings"}
    for name, table in found.items():
        parts = [to_arrow(getattr(one, name).assign(company_id=company)) for company, one in alone.items()]
        wanted = pa.concat_tables(parts, promote_options="permissive").select(table.column_names)
        assert in_order(table) == in_order(wanted.cast(table.schema))
        assert len(table)
    about = {row["company_id"]: row for row in match.companies.toArrow().to_pylist()}
    for company, one in alone.items():
        assert about[company]["not_from_export"] == one.not_from_export
        assert about[company]["unchecked"] == "; ".join(one.unchecked)
        assert (about[company]["ledger_from"], about[company]["lacking"]) == (one.ledger_from, one.lacking)


def test_a_ledger_without_companies_is_that_of_the_only_one():
    """With one company the ledger needs no column; with two the row is refused, and a company that is too large."""
    session = pyspark.session()
    entries, ledger = month(5)
    alone = match_ledger(entries, ledger)
    one = lifted(session, entries.assign(company_id="company-a"))
    match = match_ledger(one, ledger)
    found = match.entries.select("entry_id", "status", "company_id").toArrow().sort_by("entry_id")
    assert found["status"].to_pylist() == alone.entries.sort_values("entry_id")["status"].to_list()
    assert set(found["company_id"].to_pylist()) == {"company-a"}
    two = lifted(session, entries.assign(company_id="company-a"), entries.assign(company_id="company-b"))
    with pytest.raises(ArgumentError, match="ledger has rows without a company, and the frames have 2 companies: add"):
        match_ledger(two, ledger)
    session.conf.set("spark.bktools.companyRows", "4")
    with pytest.raises(OutOfMemoryError, match="company company-a has 5 rows, and a worker gets at most 4"):
        match_ledger(one, ledger[:0].assign(company_id=pd.Series(dtype="str")))
    session.conf.unset("spark.bktools.companyRows")
