"""Reconciliations of PySpark frames are those of the same rows in pandas."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
import reconcile_world as world
from reconcile_engines import in_pandas
from spark import NEEDS_SPARK, ROWS, lifted

from bktools.errors import ArgumentError, InputError
from bktools.reconcile import reconcile_accounts

pytestmark = [*NEEDS_SPARK]

COMPANIES = 100


def are_the_same(result, expected):
    """Assert that two reconciliations agree in every table and in what is shown."""
    for name in ("findings", "coverage", "actions", "unused_accounts", "summary", "suggestions"):
        pd.testing.assert_frame_equal(getattr(result, name), getattr(expected, name))
    assert repr(result) == repr(expected)


def test_many_companies():
    """A hundred wrong companies, with an imported list: the same tables in the same order."""
    tables = []
    for number in range(COMPANIES // len(world.COMPANIES) + 1):
        rows = world.seeded(number, ROWS // COMPANIES)
        # An account that nobody knows yet: its message names the list that was imported.
        rows["chart"].append({**rows["chart"][0], "external_id": "9999", "code": "9999"})
        for row in (row for found in rows.values() for row in found):
            row["company_id"] += f"-{number}"
        tables.append(world.tables(rows))
    given = {noun: pa.concat_tables(table[noun] for table in tables) for noun in tables[0]}
    accounts = given["accounts"]
    times = pa.array([pd.Timestamp("2026-10-02", tz="UTC")] * len(accounts), pa.timestamp("us", tz="UTC"))
    given["accounts"] = accounts.append_column("updated_at", times)
    assert sum(map(len, given.values())) >= ROWS
    result = reconcile_accounts(**{noun: lifted(table) for noun, table in given.items()})
    are_the_same(result, reconcile_accounts(**in_pandas().frames(given)))
    assert result.findings["message"].str.contains("last list imported 2026-10-02").any()
    assert result.findings["company_id"].nunique() >= COMPANIES


@pytest.mark.long
def test_a_chart_beside_frames_of_pandas():
    """A chart without a company is the only one's; a wrong frame is one line at once."""
    rows = world.plain()
    rows["chart"][0] |= {"name": "Machines and more"}
    tables = world.tables(rows)
    chart = lifted(tables["chart"].drop_columns("company_id"))
    given = in_pandas().frames(tables) | {"chart": chart}
    are_the_same(reconcile_accounts(**given), reconcile_accounts(**in_pandas().frames(tables)))
    categories = given["categories"]
    for error, changed, words in (
        (
            InputError,
            {"chart": chart.drop("archived")},
            "^chart: needs the column archived: give it as read_chart_of_accounts returns it$",
        ),
        (
            ArgumentError,
            {"categories": categories.assign(company_id=["y", "z"])},
            "the frames have 3 companies",
        ),
        (
            InputError,
            {"categories": categories.assign(archived=None)},
            "archived is empty in 2 rows: fill it$",
        ),
        (ArgumentError, {"accounts": None}, "^accounts must be a frame"),
    ):
        with pytest.raises(error, match=words):
            reconcile_accounts(**given | changed)
