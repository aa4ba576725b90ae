"""One whole close on a sandbox, made once: the tables that reports are written from."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import bktools
from bktools.reports.month_end import Close

MONEY = pd.ArrowDtype(pa.decimal128(38, 2))

# What a spreadsheet or a careless writer would change.
AWKWARD = [
    "0400",
    "12345678901234567",
    "1E5",
    "1-2",
    "=SUM(1)",
    "+49 221 101",
    "-12,50 Skonto",
    "@name",
    "\tTab",
    "'apostrophe",
    "'=1+1",
    '="0400"',
    'say "so", twice; or not',
    "Zeile eins\nZeile zwei",
    "trailing ",
    " 0400",
    "Größe ÄÖÜß",
    "会議費 🥨",
    "دعوة عشاء",
    None,
    "true",
    "null",
    "NaN",
]


@pytest.fixture(scope="session")
def awkward() -> pd.DataFrame:
    """A frame with every type of column that bktools hands on, and text that is easily spoilt."""
    rows = len(AWKWARD)
    amounts = [Decimal(text) if text else None for text in ["-12.50", "0.00", "", "99999999999999999.99"] * 6][:rows]
    return pd.DataFrame(
        {
            "code": pd.Series(AWKWARD, dtype="str"),
            "amount": pd.array(amounts, dtype=MONEY),
            "date": pd.to_datetime(["2026-10-31"] * (rows - 1) + [None]).as_unit("s"),
            "at": pd.Series([pd.Timestamp("2026-10-31T23:59:59Z")] * (rows - 1) + [pd.NaT]).dt.as_unit("us"),
            "archived": [True, False] * (rows // 2) + [True] * (rows % 2),
            "count": range(rows),
        }
    )


@pytest.fixture(scope="session")
def close(samples: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Close:
    """The close of October on a sandbox, applied."""
    chart_file, entries_file = samples
    with bktools.Sandbox(tmp_path_factory.mktemp("close"), job_seconds=0.05) as service:
        company = service.settings.company
        chart = bktools.read_chart_of_accounts(chart_file, company=company)
        entries = bktools.read_entries(entries_file)
        categories = bktools.load_categories(company, service=service)
        employees = bktools.load_employees(company, service=service)
        before = bktools.reconcile_accounts(chart, bktools.load_accounts(company, service=service), categories)
        accounts = bktools.create_accounts(before, apply=True, service=service)
        known = bktools.load_accounts(company, service=service)
        plan = bktools.compose_export_jobs(
            entries, categories=categories, accounts=known, employees=employees, company=company, max_entries=100
        )
        jobs = bktools.submit_export_jobs(plan, apply=True, wait=30, service=service)
        return Close(
            period="2026-10",
            environment="sandbox",
            company=company,
            applied=True,
            begun_at=dt.datetime(2026, 11, 2, 8, 30, tzinfo=dt.UTC),
            categories=categories,
            employees=employees,
            chart=chart,
            entries=entries,
            before=before,
            after=bktools.reconcile_accounts(chart, known, categories),
            accounts=accounts,
            plan=plan,
            jobs=jobs,
            history=bktools.load_export_jobs(company, service=service),
        )
