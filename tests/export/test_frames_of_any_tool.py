"""Entries and what stands beside them in frames of any tool, with columns of any name and type."""

from __future__ import annotations

import uuid
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hand_made import COMPANY

from bktools import compose_export_jobs
from bktools.errors import ArgumentError, InputError

OTHER = "00000000-0000-4000-8000-00000000000f"


def test_something_else_than_entries_is_refused():
    """The line says what is needed."""
    for wrong in (None, 7, [1]):
        with pytest.raises(ArgumentError, match="must be a"):
            compose_export_jobs(wrong)


def test_frames_of_a_plan_are_composed_again(entries):
    """Part of a plan, and what was repaired of the rest, are entries like any others."""
    plan = compose_export_jobs(entries(6, approved=[True] * 4 + [False] * 2), max_entries=3)
    part = compose_export_jobs(plan.entries.head(3))
    repaired = compose_export_jobs(plan.not_ready.assign(approved=True))
    for again, count in ((part, 3), (repaired, 2)):
        again.verify()
        assert (len(again.entries), len(again.not_ready), len(again.batches)) == (count, 0, 1)
        assert "entries ready" in repr(again)
    assert list(part.entries.columns) == list(plan.entries.columns)


@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars", "lazy", "duckdb"])
@pytest.mark.parametrize("name", ["category_archived", "journal_state", "account_known", "id_key", "reason", "message"])
def test_columns_of_any_name_change_no_check(entries, kind, name):
    """Columns that an analyst joined beforehand are carried along, whatever they are called."""
    frame = entries(2, category_id=OTHER).assign(**{name: "x"})
    lift = {
        "pandas": lambda rows: rows,
        "arrow": lambda rows: pa.Table.from_pandas(rows, preserve_index=False),
        "polars": pl.from_pandas,
        "lazy": lambda rows: pl.from_pandas(rows).lazy(),
        "duckdb": lambda rows: duckdb.connect().from_arrow(pa.Table.from_pandas(rows, preserve_index=False)),
    }[kind]
    history = pd.DataFrame({"entry_id": [frame["id"][0]], "state": ["ACCEPTED"]})
    plan = compose_export_jobs(lift(frame), history=lift(history) if kind == "lazy" else None)
    expected = ["exported"] if kind == "lazy" else []
    assert plan.not_ready["reason"].to_list() == expected
    assert len(plan.entries) == 2 - len(expected)


def test_names_of_its_own_are_refused_where_they_would_meet(entries):
    """A lazy frame is joined as it is, so the names that joins make must be free."""
    frame = pl.from_pandas(entries(2).assign(bktools_row=1)).lazy()
    with pytest.raises(InputError, match="names that begin with bktools_ are taken, rename it"):
        compose_export_jobs(frame)
    assert len(compose_export_jobs(entries(2).assign(bktools_row=[1, 0])).entries) == 2


@pytest.mark.parametrize("lift", [lambda frame: frame, lambda frame: pl.from_pandas(frame).lazy()])
def test_a_category_on_several_rows_holds_back_what_any_of_them_does(entries, lift):
    """Two snapshots put together: the same plan each time, and no entry on a category that one of them has archived."""
    one = {"id": OTHER, "company_id": COMPANY, "archived": False, "account_id": OTHER}
    frame = entries(3, category_id=OTHER)
    for changed, reason in (
        ({"archived": True}, "archived_category"),
        ({"account_id": None}, "no_account"),
        ({"company_id": OTHER}, "category_of_other_company"),
    ):
        both = pd.DataFrame([one, one | changed])
        for categories in (both, both.iloc[::-1]):
            plan = compose_export_jobs(lift(frame), categories=lift(categories))
            assert plan.not_ready["reason"].to_list() == [reason] * 3


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"approved": [1.0, 0.0]}, "column approved of the entries holds double, it must be True or False"),
        ({"amount": [2**62, 2**62]}, "too large to be added exactly"),
        ({"amount": [Decimal(9 * 10**37), Decimal(9 * 10**37)]}, "too large to be added exactly"),
    ],
)
def test_more_columns_that_are_not_what_they_must_be(entries, columns, said):
    """One line names the column and the rule."""
    with pytest.raises(InputError, match=said):
        compose_export_jobs(entries(2, **columns))


def test_columns_of_one_name_are_refused(entries):
    """Which of the two is meant is not guessed."""
    frame = entries(2)
    doubled = pd.concat([frame, frame[["id"]]], axis="columns")
    for wrong in (doubled, pa.Table.from_arrays([frame["id"].array] * 2, names=["id", "id"])):
        with pytest.raises(InputError, match="2 columns of the entries are named 'id'"):
            compose_export_jobs(wrong)


def test_types_of_other_tools_are_read(entries):
    """UUID objects, Arrow's UUIDs and views, small decimals, and frames without rows are what they are elsewhere."""
    frame = entries(4, category_id=OTHER, amount=[Decimal("1.10")] * 4, approved=True)
    expected = compose_export_jobs(frame)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    objects = frame.assign(**{name: frame[name].map(uuid.UUID) for name in ("id", "company_id", "category_id")})
    views = table.cast(
        pa.schema([pa.field(f.name, pa.string_view() if f.type == pa.large_string() else f.type) for f in table.schema])
    )
    small = table.set_column(
        table.schema.get_field_index("amount"), "amount", table["amount"].cast(pa.decimal64(18, 2))
    )
    for other in (objects, views, small):
        plan = compose_export_jobs(other)
        assert (plan.plan_id, list(plan.totals["amount"])) == (expected.plan_id, [Decimal("4.40")])
    nothing = pd.DataFrame({"id": [], "company_id": [], "archived": [], "account_id": []})
    empty = compose_export_jobs(
        frame, categories=nothing, accounts=nothing, history=pd.DataFrame({"entry_id": [], "state": []})
    )
    assert set(empty.not_ready["reason"]) == {"unknown_category"}


def test_amounts_without_currency_are_shown(entries):
    """What is ready is shown whole, whether it says its currency or not."""
    plan = compose_export_jobs(entries(3, amount=[Decimal("1.10")] * 3, currency=["EUR", None, None]))
    assert "ready: EUR 1.10" in repr(plan)
    assert "ready: no currency 2.20" in repr(plan)
