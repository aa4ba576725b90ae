"""Closes on a sandbox, made once: the tables that reports are written from, and their folders, which are only read."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from october import October, closes_of_october

import bktools
from bktools.reports.close import Close
from bktools.reports.month_end import write_month_end


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


@pytest.fixture(scope="session")
def folder(close: Close, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the close of October."""
    return write_month_end(close, tmp_path_factory.mktemp("out") / "month-end-2026-10")


@pytest.fixture(scope="session")
def october(samples: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> October:
    """October as `close_month` closes it, from the dry run to the period that is closed."""
    return closes_of_october(samples, tmp_path_factory.mktemp("october"))
