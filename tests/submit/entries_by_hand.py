"""Entries and accounts made by hand, to be submitted."""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Iterable

import pandas as pd

import bktools

COMPANY = "9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d"


def entries_of(company: str, count: int, first: int = 0) -> pd.DataFrame:
    """Return entries of a company; those of other numbers are others."""
    ids = [str(uuid.UUID(int=number + 1, version=4)) for number in range(first, first + count)]
    return pd.DataFrame({"id": ids, "company_id": [company] * count})


def company_of(number: int) -> str:
    """Return a company of a number."""
    return f"00000000-0000-4000-8000-{number:012d}"


def entries_of_each(companies: Iterable[str]) -> pd.DataFrame:
    """Return an entry of each company."""
    each = [entries_of(company, 1, number) for number, company in enumerate(companies)]
    return pd.concat(each, ignore_index=True)


def submit(work: pd.DataFrame | bktools.ExportPlan, service, *, size: int = 500, **options) -> pd.DataFrame:
    """Send a plan, or one of entries in batches of a size; return a row for each batch."""
    is_plan = isinstance(work, bktools.ExportPlan)
    plan = work if is_plan else bktools.compose_export_jobs(work, max_entries=size)
    usual = {"apply": True, "service": service, "first_export": True, "by": "Ada"}
    # The jobs of a sandbox take a moment, those of a raw service none.
    usual |= {} if service.settings.is_sandbox else {"wait": 0}
    return bktools.submit_export_jobs(plan, **usual | options)


def outcomes(work: pd.DataFrame | bktools.ExportPlan, service, **options) -> list[str]:
    """Send a plan or entries; return the outcome of each batch."""
    return submit(work, service, **options)["outcome"].to_list()


def states(service, **options) -> list[str]:
    """Return the states that the journal has of batches."""
    return bktools.load_export_jobs(service=service, **options)["state"].to_list()


def to_create(*accounts: dict[str, object]) -> bktools.Reconciliation:
    """Return the reconciliation of a chart of these accounts with a service that has none of them."""
    return _reconciled(json.dumps(accounts))


@functools.cache
def _reconciled(accounts: str) -> bktools.Reconciliation:
    named = json.loads(accounts)
    chart = pd.DataFrame(
        [{"company_id": COMPANY, "code": None, "archived": False} | account for account in named]
    )
    known = pd.DataFrame(columns=["company_id", "external_id", "state"], dtype="str")
    categories = pd.DataFrame({name: pd.Series(dtype="str") for name in ("id", "company_id", "name")})
    return bktools.reconcile_accounts(chart, known, categories.assign(archived=pd.Series(dtype="bool")))
