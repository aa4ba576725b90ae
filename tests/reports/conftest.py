"""One whole close on a sandbox, made once: the tables that reports are written from."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

import bktools
from bktools.reports.close import Close


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
            known=known,
        )
