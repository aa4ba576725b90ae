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
@pytest.mark.parametrize("is_kept", [True, False], ids=["facts in the journal", "sent without facts"])
def test_the_same_data_is_no_change(sandbox, service, unchanged, is_kept):
    """What either side lacks is not compared; decimals, spaces and other columns are no change."""
    entries = bought(sandbox.server.company_id)
    sent = entries if is_kept else entries[["id", "company_id"]]
    assert set(again(sent, unchanged(entries), service).not_ready["reason"]) == {"exported"}


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


@pytest.fixture(params=[False, True], ids=["accepted", "in doubt"])
def company(request, sandbox) -> str:
    """A company whose next export job is accepted, or whose answer is lost."""
    if request.param:
        sandbox.server.inject(Fault("drop", "create_export_job", times=1))
    return sandbox.server.company_id


def test_the_same_facts_under_another_id_are_a_warning(company, service):
    """A reissued entry is compared with what was sent, also in an earlier month and in doubt."""
    copies = bought(company, first=10).assign(supplier=["acme ", "Schmidt"])
    plan = again(bought(company), copies, service, period="2026-11")
    (changes,) = plan.findings.query("check == 'suspected_second_export'").to_dict("records")
    batch = bktools.load_export_jobs(service=service)["batch_id"][0]
    assert changes["severity"] == "warning"
    assert all(text in changes["message"] for text in ("2026-10-05", "ACME", "2026-10", batch))
    assert len(plan.entries) == 2


def test_the_same_facts_under_another_id_in_one_file_are_held_back(company, service):
    """Of a sent entry and its twin in one file none is sent, until a person says both were bought."""
    copies = bought(company, first=10).assign(supplier=["acme ", "Schmidt"])
    file = pd.concat([bought(company), copies], ignore_index=True)
    plan = again(bought(company), file, service)
    held = plan.not_ready.set_index("id")
    assert held.loc[copies["id"][0], "reason"] == "sent_under_another_id"
    assert len(held) == 3
    assert list(plan.entries["id"]) == [copies["id"][1]]
    history = bktools.load_export_jobs(entries=True, service=service)
    both_bought = bktools.compose_export_jobs(file, history=history, not_booked=[copies["id"][0]])
    assert set(both_bought.entries["id"]) == set(copies["id"])
    warnings = set(both_bought.findings.query("severity == 'warning'")["check"])
    assert warnings == {"suspected_second_export", "suspected_duplicate"}
