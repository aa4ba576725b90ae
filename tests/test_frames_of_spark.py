"""Plans and reconciliations of PySpark frames are those of pandas; one file, so that Java starts once."""

from __future__ import annotations

import datetime as dt
import importlib.util
import subprocess
import sys
import uuid
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import reconcile_world as world
from hand_made import COMPANY, entries_of, entry_id
from spark import NEEDS_SPARK, ROWS, connect_port, lifted, session

import bktools
from bktools import compose_export_jobs
from bktools.errors import ArgumentError, InputError
from bktools.reconcile import reconcile_accounts

pytestmark = [*NEEDS_SPARK]

COMPANIES = 100


def are_the_same_plans(plan, expected):
    """Assert that two plans agree in everything that is shown, kept or sent."""
    for name in ("plan_id", "unchecked", "options"):
        assert getattr(plan, name) == getattr(expected, name)
    for name in ("batches", "entries", "not_ready", "totals", "findings"):
        pd.testing.assert_frame_equal(getattr(plan, name), getattr(expected, name))
    for request, wanted in zip(plan.requests(), expected.requests(), strict=True):
        assert (request.body, request.entry_data) == (wanted.body, wanted.entry_data)


def test_a_plan_of_many_companies_is_submitted(tmp_path):
    """A month of 100 companies, in two files and with shared entries, is composed as in pandas."""
    sandbox = bktools.Sandbox(
        tmp_path / "group", companies=COMPANIES, categories=1, employees=1, job_seconds=0.01
    )
    with sandbox as service:
        companies = [company.id for company in sandbox.server.companies()]
        for company in companies:
            sandbox.server.configure_company(company, has_contra_accounts=True, has_integration=True)
        frame = month_of(companies)
        plan = compose_export_jobs(lifted(frame))
        sent = bktools.submit_export_jobs(plan, apply=True, service=service)
        exported = bktools.load_export_jobs(entries=True, service=service)
    expected = compose_export_jobs(frame)
    are_the_same_plans(plan, expected)
    assert {"duplicate", "conflicting", "not_approved"} <= {*plan.not_ready["reason"]}
    assert expected.batches["company_id"].nunique() == COMPANIES
    assert sent["outcome"].to_list() == ["ACCEPTED"] * len(expected.batches)
    assert sorted(exported["entry_id"]) == sorted(expected.entries["id"])


def month_of(companies):
    """Return entries of companies; some are unapproved, some repeated, some IDs in two companies."""
    chance = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "id": [str(uuid.UUID(bytes=chance.bytes(16), version=4)) for _ in range(ROWS)],
            "company_id": chance.choice(companies, ROWS),
            "supplier": chance.choice(["Rail", "Hotel", "Taxi"], ROWS),
            "date": [dt.date(2026, 10, 1 + day) for day in chance.integers(0, 31, ROWS).tolist()],
            "amount": pd.array(
                [Decimal(cents).scaleb(-2) for cents in chance.integers(0, 10_000, ROWS).tolist()],
                dtype=pd.ArrowDtype(pa.decimal128(12, 2)),
            ),
            "currency": "EUR",
            "category_id": "travel",
            "approved": chance.random(ROWS) > 0.01,
        }
    )
    moved = frame.tail(30).assign(company_id=companies[0])
    return pd.concat([frame, frame.head(50), moved], ignore_index=True)


@pytest.mark.long
def test_what_is_refused():
    """A selection, a missing column, and flags that are numbers, as one line each."""
    frame = entries_of(9, company_id=COMPANY).assign(date=dt.date(2026, 10, 1))
    for error, changed, words in (
        (
            InputError,
            frame.drop(columns="company_id"),
            "entries: needs the column company_id: give it as read_entries",
        ),
        (InputError, frame.assign(approved=1), "entries: column approved must be true or false, is int64"),
    ):
        with pytest.raises(error, match=words) as caught:
            compose_export_jobs(lifted(changed))
        assert "\n" not in str(caught.value)
    with pytest.raises(ArgumentError, match="filter the frame instead"):
        compose_export_jobs(lifted(frame), selection=[entry_id(0)])


def are_the_same_reconciliations(result, expected):
    """Assert that two reconciliations agree in every table and in what is shown."""
    for name in ("findings", "coverage", "actions", "unused_accounts", "suggestions"):
        pd.testing.assert_frame_equal(getattr(result, name), getattr(expected, name))
    assert repr(result) == repr(expected)


def test_a_reconciliation_of_many_companies():
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
    are_the_same_reconciliations(result, reconcile_accounts(**world.in_pandas(given)))
    assert result.findings["message"].str.contains("last list imported 2026-10-02").any()
    assert result.findings["company_id"].nunique() >= COMPANIES


@pytest.mark.long
def test_a_chart_beside_frames_of_pandas():
    """A chart without a company is the only one's; a wrong frame is one line at once."""
    rows = world.plain()
    rows["chart"][0] |= {"name": "Machines and more"}
    tables = world.tables(rows)
    chart = lifted(tables["chart"].drop_columns("company_id"))
    given = world.in_pandas(tables) | {"chart": chart}
    are_the_same_reconciliations(reconcile_accounts(**given), reconcile_accounts(**world.in_pandas(tables)))
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


@pytest.mark.long
@pytest.mark.skipif(
    importlib.util.find_spec("grpc_status") is None, reason="Spark Connect comes with the extra spark"
)
def test_spark_connect():
    """A process that is connected to a Spark server composes and reconciles, shows and hands over frames."""
    session()
    script = Path(__file__).with_name("spark_connect.py")
    command = [sys.executable, script, f"sc://127.0.0.1:{connect_port()}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["compose", "reconcile", "collect"], done.stderr[-4000:]
