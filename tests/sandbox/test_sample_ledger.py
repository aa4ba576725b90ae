"""The sample ledger: read and matched as an ERP's would be, it has the planted differences and no others."""

from __future__ import annotations

import bktools
from bktools.sandbox import write_sample_ledger


def test_the_planted_differences_are_found(samples, service, tmp_path):
    """Of the entries in euros five did not plainly arrive; those in other currencies are booked at the rates of the ledger."""
    chart = bktools.read_chart_of_accounts(samples[0])
    categories = bktools.load_categories(service=service)
    known = bktools.load_accounts(service=service)
    bktools.create_accounts(bktools.reconcile_accounts(chart, known, categories), apply=True, service=service)
    accounts = bktools.load_accounts(service=service)
    history = bktools.load_export_jobs(entries=True, service=service)
    plan = bktools.compose_export_jobs(
        bktools.read_entries(samples[1]), categories=categories, accounts=accounts, history=history,
        company=service.settings.company,
    )  # fmt: skip
    bktools.submit_export_jobs(plan, apply=True, service=service)
    exported = bktools.load_export_jobs(entries=True, service=service)
    ledger = bktools.read_general_ledger(write_sample_ledger(exported, tmp_path))
    found = bktools.match_ledger(exported, ledger)
    euros = found.entries[found.entries["currency"] == "EUR"]["status"].value_counts().to_dict()
    planted = dict.fromkeys(("missing", "booked_twice", "another_amount", "another_account", "another_date"), 1)
    assert euros == planted | {"booked": (exported["currency"] == "EUR").sum() - 5}
    assert set(found.entries[found.entries["currency"] != "EUR"]["status"]) == {"booked"}
    assert len(found.findings) == 5
