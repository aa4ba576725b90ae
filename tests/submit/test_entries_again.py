"""Entries that come again after their export: changed, or under another ID."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from entries_by_hand import entries_of, submit

import bktools
from bktools.sandbox.faults import Fault

TRAVEL = "00000000-0000-4000-8000-0000000000c1"
MEALS = "00000000-0000-4000-8000-0000000000c2"


def amounts(*texts: str) -> pd.Series:
    return pd.Series([Decimal(text) for text in texts], dtype=pd.ArrowDtype(pa.decimal128(12, 2)))


def bought(company: str, first: int = 0) -> pd.DataFrame:
    """Return two entries with all facts."""
    return entries_of(company, 2, first).assign(
        date=pd.to_datetime(["2026-10-05", "2026-10-06"]),
        amount=amounts("1203.73", "88.00"),
        currency="EUR",
        category_id=TRAVEL,
        supplier=["ACME", "Müller"],
        tax_code="V19",
    )


def again(sent: pd.DataFrame, entries: pd.DataFrame, service, **options):
    """Export some entries, and compose others with the history."""
    submit(sent, service)
    history = bktools.load_export_jobs(entries=True, service=service)
    return bktools.compose_export_jobs(entries, history=history, **options)


CHANGES = [
    ({"amount": amounts("1213.73", "88.00")}, "amount 1,203.73 → 1,213.73"),
    ({"currency": ["USD", "EUR"]}, "currency EUR → USD"),
    ({"date": pd.to_datetime(["2026-10-07", "2026-10-06"])}, "date 2026-10-05 → 2026-10-07"),
    ({"category_id": [MEALS.upper(), TRAVEL]}, f"category {TRAVEL} → {MEALS}"),
    ({"tax_code": [None, "V19"]}, "tax code V19 → nothing"),
    ({"supplier": ["ACME GmbH", "Müller"]}, "supplier ACME → ACME GmbH"),
    (
        {"amount": amounts("1000.00", "88.00"), "tax_code": ["V7", "V19"]},
        "amount 1,203.73 → 1,000.00, tax code V19 → V7",
    ),
]


def test_a_changed_entry_is_an_error_with_before_and_after(sandbox, service):
    """What was exported is compared with what comes again; the error names both."""
    sent = [bought(sandbox.server.company_id, first=2 * number) for number in range(len(CHANGES))]
    changed = [entries.assign(**change) for entries, (change, _) in zip(sent, CHANGES, strict=True)]
    plan = again(pd.concat(sent), pd.concat(changed), service)
    assert plan.not_ready["reason"].value_counts().to_dict() == dict.fromkeys(
        ("changed_since_export", "exported"), len(CHANGES)
    )
    changes = plan.findings.query("check == 'changed_since_export'").set_index("id")
    assert set(changes["severity"]) == {"error"}
    message = [f"Exported with other data: {message}" for _, message in CHANGES]
    assert changes["message"].to_dict() == dict(
        zip([entries["id"][0] for entries in sent], message, strict=True)
    )


@pytest.mark.parametrize(
    "unchanged",
    [
        lambda entries: entries,
        lambda entries: entries.drop(columns=["supplier", "tax_code", "category_id"]),
        lambda entries: entries.assign(amount=entries["amount"].astype(pd.ArrowDtype(pa.decimal128(20, 4)))),
        lambda entries: entries.assign(supplier=[" ACME", "Müller "], description="new", cost_centre="4711"),
    ],
)
def test_the_same_data_is_no_change(sandbox, service, unchanged):
    """What either side lacks is not compared; decimals, spaces and other columns are no change."""
    entries = bought(sandbox.server.company_id)
    assert set(again(entries, unchanged(entries), service).not_ready["reason"]) == {"exported"}
    others = bought(sandbox.server.company_id, first=10)
    bare = others[["id", "company_id"]]
    assert set(again(bare, unchanged(others), service).not_ready["reason"]) == {"exported"}


def test_a_plan_without_a_history_does_not_pass_over_a_change(sandbox, service):
    """Entries submitted again count as accepted only while their data are those that were sent."""
    sent = bought(sandbox.server.company_id)
    shown = [
        submit(sent.assign(amount=amounts(amount, "88.00")), service, apply=apply).iloc[0]
        for amount, apply in (("1203.73", True), ("1203.73", True), ("1213.73", False), ("1213.73", True))
    ]
    assert [row["outcome"] for row in shown] == ["ACCEPTED", "ACCEPTED", "BLOCKED", "BLOCKED"]
    assert "1 of its entries have other data now" in shown[3]["message"]
    assert sent["id"][0] in shown[3]["message"]
    assert set(sandbox.server.accepted_entries().values()) == {1}


@pytest.mark.parametrize("is_in_doubt", [False, True])
def test_the_same_facts_under_another_id_are_a_warning(sandbox, service, is_in_doubt):
    """A reissued entry is compared with what was sent, also in doubt; in one file, it is held back."""
    if is_in_doubt:
        sandbox.server.inject(Fault("drop", "create_export_job", times=1))
    sent = bought(sandbox.server.company_id)
    copies = bought(sandbox.server.company_id, first=10).assign(supplier=["acme ", "Schmidt"])
    plan = again(sent, copies, service, month="2026-11")
    (changes,) = plan.findings.query("check == 'suspected_second_export'").to_dict("records")
    assert (changes["severity"], len(plan.entries)) == ("warning", 2)
    assert all(text in changes["message"] for text in ("2026-10-05", "ACME", "2026-10"))
    file = pd.concat([sent, copies], ignore_index=True)
    history = bktools.load_export_jobs(entries=True, service=service)
    held = bktools.compose_export_jobs(file, history=history).not_ready.set_index("id")
    assert (held.loc[copies["id"][0], "reason"], len(held)) == ("sent_under_another_id", 3)
    # Until a person says that both were bought.
    both_bought = bktools.compose_export_jobs(file, history=history, not_booked=[copies["id"][0]])
    assert set(both_bought.entries["id"]) == set(copies["id"])
