"""Composing on PySpark: workers compose one company at a time, and the rows are those of this machine."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
import spark as pyspark
from hand_made import COMPANY, OTHER, a_month, entry_id

from bktools import compose_export_jobs
from bktools.errors import ArgumentError, InputError, OutOfMemoryError
from bktools.export.cluster import NAMES
from bktools.frames.schema import to_arrow

pytestmark = [*pyspark.NEEDS_SPARK]


def lifted(session, frame):
    return session.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False))


def in_order(table):
    """Return rows as texts in one order; a cluster has none."""
    return sorted(str({name: row[name] for name in sorted(row)}) for row in table.to_pylist())


@pytest.fixture
def month(entries):
    """A month with every reason: entries of several companies with one ID, and categories of another company, too."""
    frames = a_month(entries)
    rows = frames["entries"].assign(supplier=["Rail", "Hotel", None] * 44 + ["Rail"])
    again = rows.tail(3).assign(company_id=OTHER)
    rows = pd.concat([rows, again], ignore_index=True)
    rows = rows.assign(line=range(2, len(rows) + 2), date=rows["date"].dt.date)
    names = {"name": "Travel", "code": "0400", "external_id": None, "tax_code_external_id": "V19"}
    accounts = frames["accounts"].assign(**names, state="IMPORTED", updated_at=pd.Timestamp("2026-10-02", tz="UTC"))
    return frames | {"entries": rows, "accounts": accounts}


def test_rows_are_those_of_this_machine(month):
    """Every table of the plan, whatever company an entry's category, account, employee or earlier export is of.

    A table takes six Spark jobs at most, with those that count rows.
    """
    session = pyspark.session()
    frame = month.pop("entries")
    expected = compose_export_jobs(frame, **month, max_entries=4, period="2026-10")
    assert expected.not_ready["reason"].nunique() > 10
    before = pyspark.jobs(session)
    lazy = {name: lifted(session, other) for name, other in month.items()}
    plan = compose_export_jobs(lifted(session, frame), **lazy, max_entries=4, period="2026-10")
    assert "not run yet: the tables entries, not_ready" in repr(plan)
    found = {"entries": plan.entries.toArrow()}
    assert 2 < pyspark.jobs(session) - before <= 6
    found |= {name: getattr(plan, name).toArrow() for name in NAMES[1:]}
    assert plan.unchecked == expected.unchecked
    for name, table in found.items():
        wanted = to_arrow(getattr(expected, name))
        assert table.column_names == wanted.column_names
        assert in_order(table) == in_order(wanted.cast(pa.schema(table.schema)))
        assert len(table)


def test_a_plan_to_submit_is_in_a_folder(entries, tmp_path):
    """Entries of a cluster are written as Parquet by the cluster, and composed from there: the same plan."""
    frame = entries(9).assign(line=range(9))
    plan = compose_export_jobs(lifted(pyspark.session(), frame), max_entries=4, to=tmp_path / "plan")
    plan.verify()
    assert plan.plan_id == compose_export_jobs(frame, max_entries=4).plan_id
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan"]


def test_what_a_cluster_refuses(entries):
    """A company that is too large, with its size, before the work starts; a selection; a missing column."""
    session = pyspark.session()
    frame = lifted(session, entries(9, company_id=[COMPANY] * 7 + [entry_id(1)] * 2))
    session.conf.set("spark.bktools.companyRows", "6")
    with pytest.raises(OutOfMemoryError, match=f"company {COMPANY} has 7 rows, and a worker gets at most 6") as caught:
        compose_export_jobs(frame)
    session.conf.unset("spark.bktools.companyRows")
    assert "\n" not in str(caught.value)
    with pytest.raises(ArgumentError, match="selection cannot select from a PySpark frame: filter the frame instead"):
        compose_export_jobs(frame, selection=[entry_id(0)])
    with pytest.raises(InputError, match="the entries have no column company_id"):
        compose_export_jobs(frame.drop("company_id"))
    with pytest.raises(AttributeError, match="no table rows"):
        compose_export_jobs(frame).rows  # noqa: B018 - reading it is the test
