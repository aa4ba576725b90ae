"""A user's script over every public name, for a type checker in strict mode; it is checked, not run."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import bktools


def close_a_month(folder: Path) -> pd.DataFrame:
    """Load, reconcile, create, compose, submit, report."""
    with bktools.connect("sandbox") as service:
        company: str | None = service.settings.company
        categories: pd.DataFrame = bktools.load_categories(company, refresh=True, service=service)
        employees: pd.DataFrame = bktools.load_employees(company, service=service)
        employee: pd.Series = bktools.get_employee(str(employees["id"].iloc[0]), service=service)
        balance: pd.Series = bktools.get_balance(service=service)
        print(employee["email"], balance["current"], bktools.check("sandbox", company=company)["outcome"])

        chart: pd.DataFrame = bktools.read_chart_of_accounts(folder / "chart.csv", columns={"code": "Konto"})
        bktools.import_accounts(folder / "accounts.csv", company=company, service=service)
        known: pd.DataFrame = bktools.load_accounts(company, service=service)
        found: bktools.Reconciliation = bktools.reconcile_accounts(chart, known, categories)
        created: pd.DataFrame = bktools.create_accounts(found, apply=True, service=service)
        changes: pd.DataFrame = bktools.compare("2026-08", "2026-09", service=service)
        print(changes, bktools.compare("2026-09", "2026-10", service=service))

        entries: pd.DataFrame = bktools.read_entries(folder / "entries.xlsx", sheet=0, money="decimal")
        ledger: pd.DataFrame = bktools.read_general_ledger(folder / "ledger.se", verify="warn")
        print(ledger["amount"].sum())
        history: pd.DataFrame = bktools.load_export_jobs(company, entries=True, service=service)
        match: bktools.LedgerMatch = bktools.match_ledger(history, ledger, style="entry")
        proof: list[Path] = match.to_csv(folder / "proof")
        print(match.has_arrived, match.counts.get("missing"), proof)
        picker = bktools.pick_entries(entries, categories=categories, selection=entries["amount"] > 0)
        code: str = picker.code
        plan: bktools.ExportPlan = bktools.compose_export_jobs(
            entries, selection=picker.selection, categories=categories, accounts=known, history=history
        )
        jobs: pd.DataFrame = bktools.submit_export_jobs(
            plan, apply=False, wait=dt.timedelta(minutes=1), service=service
        )
        bktools.resolve_export_job(
            str(plan.batches["batch_id"].iloc[0]),
            "not_created",
            evidence="looked it up",
            by="me",
            service=service,
        )

        close = bktools.close_month(
            chart, entries, month="2026-10", folder=folder / "october", service=service
        )
        print(close.folder, close.state, close.entries, close.changes)
        print(bktools.close_month(chart, entries, folder=False, threshold="5%", service=service).to_do)

        bktools.close_period("2026-10", by="Ada", company=company, service=service)
        bktools.reopen_period(
            "2026-10", by="Ada", reason="an invoice came late", company=company, service=service
        )
        periods: pd.DataFrame = bktools.load_periods(company, service=service)
        record: bktools.PeriodRecord = bktools.record_of("2026-10", company, service=service)
        arrived: bktools.LedgerMatch = bktools.match_ledger(record.exported, ledger)
        print(periods, record.lines, arrived.entries["status"])

        bktools.plot_coverage(found)
        bktools.plot_coverage(found, figure=Figure(), title="October")
        bktools.plot_money(plan, title="October")
        spent: pd.DataFrame = bktools.spend(entries, ["month", "category"], categories=categories)
        print(bktools.versus(entries, entries.head(10), by=["supplier"], threshold="5%"))
        expected: pd.DataFrame = bktools.expected_entries(entries, "2026-10")
        print(expected, bktools.spend(entries, period="2026-Q3", rates={"USD": 0.87, "CHF": "1.05"}))
        charts = bktools.plot_spend(spent, title="October", currency="EUR") | bktools.plot_money(plan)
        charts["EUR"].set_title("October")
        print(bktools.show(spent, rows=5))
        table: Path = bktools.to_csv(jobs, folder / "jobs.csv", profile="excel-eu")
        workbook: Path = bktools.to_excel({"created": created, "jobs": jobs}, folder / "close.xlsx")
        outcomes: list[str] = bktools.Outcomes(jobs).next_steps
        print(code, table, workbook, outcomes)
        return jobs


def in_arrow(
    plan: bktools.ExportPlan, found: bktools.Reconciliation, match: bktools.LedgerMatch
) -> list[str]:
    """Hand every table to another tool."""
    tables = plan.to_arrow() | found.to_arrow() | match.to_arrow()
    return sorted(tables | {"plan": bktools.to_arrow(plan.entries)})


def of_frames(jobs: pd.DataFrame, folder: Path) -> list[Path]:
    """Take values of pandas and NumPy as arguments, and write files."""
    bktools.load_categories(jobs["company_id"], ids=jobs["id"], as_of=pd.Period("2026-10"))
    bktools.record_of(pd.Timestamp("2026-10-31"))
    bktools.compose_export_jobs(jobs, max_entries=np.int64(100), month=dt.date(2026, 10, 31))
    return [bktools.to_csv(jobs, folder / "jobs.csv"), bktools.to_excel(jobs, f"{folder}/jobs.xlsx")]


def what_people_filled_in(book: Path, categories: pd.DataFrame, known: pd.DataFrame) -> int:
    """Read a workbook back and check it."""
    filled: pd.DataFrame = bktools.read_fixes(book, month="2026-10")
    checked: pd.DataFrame = bktools.check_fixes(filled, categories, known)
    return int((checked["outcome"] == "done").sum())


def own_sandbox(folder: Path) -> int:
    """Run against a sandbox of its own."""
    with bktools.Sandbox(folder, seed=2, job_seconds=0.01) as service:
        page = service.search_categories(str(service.settings.company), limit=5)
        names: list[str] = [category.name for category in page.data]
        mails: set[str] = set()
        for people in service.pages("employees", limit=100, email="ada@example.com"):
            mails |= {person.email for person in people if person.email}
        return len(names) + len(mails)


def somebody(employee_id: str) -> str:
    """Ask a service of one's own for a person, and tell what went wrong."""
    settings: dict[str, Any] = {"data_dir": "here"}
    try:
        with bktools.connect(
            "https://books.example.com", token=lambda: "t", timeout=30, retries=2, **settings
        ) as service:
            return str(bktools.get_employee(employee_id, service=service)["email"])
    except bktools.errors.NotFoundError as error:
        return error.detail
    except bktools.errors.BktoolsError as error:
        return str(error)
