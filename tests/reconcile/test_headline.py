"""The first line that a reconciliation shows: every count is of what it says."""

from __future__ import annotations

import reconcile_world as world

from bktools.frames import schema
from bktools.reconcile import reconcile_accounts


def test_the_headline_counts_findings_accounts_and_categories():
    """Findings are counted by severity, accounts by action, and covered categories of all."""
    rows = world.plain()
    more = [rows["chart"][0] | {"external_id": f"07{number}", "code": f"07{number}"} for number in range(3)]
    rows["chart"] += more
    rows["accounts"][0]["name"] = "Other"
    rows["categories"].append(rows["categories"][0] | {"id": "c-9", "name": "Third", "account_id": None})
    result = reconcile_accounts(
        **{noun: schema.to_pandas(table) for noun, table in world.tables(rows).items()}
    )
    assert repr(result).splitlines()[0] == (
        "Reconciliation: 5 findings (1 error, 4 warning, 0 info); "
        "accounts: 3 create, 1 unchanged, 1 update; 2 of 3 categories covered"
    )
    del rows["chart"][2:]
    rows["accounts"][0]["name"] = rows["chart"][0]["name"]
    one = reconcile_accounts(**{noun: schema.to_pandas(table) for noun, table in world.tables(rows).items()})
    assert repr(one).startswith(
        "Reconciliation: 1 finding (1 error, 0 warning, 0 info); accounts: 2 unchanged;"
    )


def test_each_severity_has_its_mark():
    """What is an error, a warning or good to know is told apart at a glance, and counted with its check."""
    rows = world.plain()
    rows["chart"][0]["name"] = None
    rows["accounts"][1]["name"] = "Other"
    rows["categories"][0]["archived"] = True
    result = reconcile_accounts(
        **{noun: schema.to_pandas(table) for noun, table in world.tables(rows).items()}
    )
    lines = repr(result).splitlines()
    for severity, mark in {"error": "✖", "warning": "▲", "info": "●"}.items():
        counts = result.findings.loc[result.findings["severity"] == severity, "check"].value_counts()
        assert len(counts)
        assert f"{mark} {severity}" in result._repr_html_()
        for check, count in counts.items():
            assert any(line.split()[:3] == [severity, str(count), check] for line in lines)
