"""The sample ledger: read and matched as an ERP's would be, it has the planted differences and no others."""

from __future__ import annotations

import bktools
from bktools.sandbox import write_sample_ledger, write_sample_months


def test_the_planted_differences_are_found(samples, service, tmp_path):
    """Four entries in euros did not plainly arrive, one is late; other currencies are booked, too."""
    chart = bktools.read_chart_of_accounts(samples[0])
    categories = bktools.load_categories(service=service)
    known = bktools.load_accounts(service=service)
    bktools.create_accounts(bktools.reconcile_accounts(chart, known, categories), apply=True, service=service)
    accounts = bktools.load_accounts(service=service)
    history = bktools.load_export_jobs(entries=True, service=service)
    known = {"categories": categories, "accounts": accounts, "history": history}
    entries = bktools.read_entries(samples[1])
    plan = bktools.compose_export_jobs(entries, **known, company=service.settings.company)
    bktools.submit_export_jobs(plan, apply=True, service=service)
    exported = bktools.load_export_jobs(entries=True, service=service)
    ledger = bktools.read_general_ledger(write_sample_ledger(exported, tmp_path))
    found = bktools.match_ledger(exported, ledger)
    euros = found.entries[found.entries["currency"] == "EUR"]["status"].value_counts().to_dict()
    planted = "missing booked_twice another_amount another_account"
    assert euros == dict.fromkeys(planted.split(), 1) | {"booked": (exported["currency"] == "EUR").sum() - 4}
    assert sorted(found.entries["days_late"].dropna().unique()) == [0, 3]
    assert set(found.entries[found.entries["currency"] != "EUR"]["status"]) == {"booked"}
    assert len(found.findings) == 4


def test_six_months_and_a_budget(tmp_path):
    """The sample has unique entries of each month, one unusual amount, and a budget of all cost centres."""
    entries_file, budget_file = write_sample_months(tmp_path)
    entries, budget = bktools.read_entries(entries_file), bktools.read_entries(budget_file, currency="EUR")
    assert entries["id"].is_unique
    months = [f"2026-{month:02}" for month in range(5, 11)]
    assert sorted(entries["date"].dt.strftime("%Y-%m").unique()) == months
    assert entries["amount"].max() == 48211
    assert set(budget["cost_centre"]) == set(entries["cost_centre"])
