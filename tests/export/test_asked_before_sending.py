"""Entries that were exported or booked are held back: by file, by journal, by ledger."""

from __future__ import annotations

import json
from decimal import Decimal

import pandas as pd
import pytest
from hand_made import entry_id

from bktools import compose_export_jobs
from bktools.errors import ArgumentError

OTHER_COMPANY = "00000000-0000-4000-8000-00000000000f"
COUNT = 24


@pytest.mark.parametrize("status", ["exported", "queued", "in_progress"])
def test_what_the_file_says_was_exported_is_not_sent(entries, status):
    """An entry that its file calls exported, or about to be, is held back; others are sent."""
    plan = compose_export_jobs(entries(2, export_status=[status, "not_exported"]))
    assert plan.not_ready[["id", "reason"]].to_numpy().tolist() == [[entry_id(0), "exported_elsewhere"]]
    assert json.loads(plan.not_ready["facts"][0]) == {"elsewhere": status}
    assert plan.entries["id"].to_list() == [entry_id(1)]


def test_what_a_person_recorded_as_exported_is_not_sent(entries):
    """The IDs that the journal has as exported elsewhere are held back, whatever their letters."""
    plan = compose_export_jobs(entries(2), exported_elsewhere=[entry_id(1).upper()])
    assert plan.not_ready[["id", "reason"]].to_numpy().tolist() == [[entry_id(1), "exported_elsewhere"]]


def month(entries) -> pd.DataFrame:
    """Entries of one account with amounts that no other entries add up to."""
    return entries(
        COUNT,
        amount=[Decimal(10_000 + 7 * number * number) / 100 for number in range(COUNT)],
        date=pd.to_datetime([f"2026-10-{1 + number:02}" for number in range(COUNT)]),
        supplier=[f"Supplier {number}" for number in range(COUNT)],
        account_code=["490000"] * COUNT,
    )


def booked(frame: pd.DataFrame) -> pd.DataFrame:
    """The ledger with a voucher for each entry."""
    sides = []
    for side, account, sign in (("cost", "490000", 1), ("bank", "160000", -1)):
        rows = frame[["date", "amount", "currency"]].assign(account_code=account, side=side)
        rows["amount"] = [sign * amount for amount in rows["amount"]]
        sides.append(rows.assign(text=frame["supplier"], voucher_id=[f"V{number}" for number in frame.index]))
    return pd.concat(sides, ignore_index=True).drop(columns="side")


def held(plan) -> dict[str, str]:
    """The reason of each entry that is held back."""
    return dict(zip(plan.not_ready["id"], plan.not_ready["reason"], strict=True))


def test_what_the_books_hold_is_not_sent(entries):
    """Entries that the ledger has are held back with their voucher; the others are ready as before."""
    frame = month(entries)
    plan = compose_export_jobs(frame, ledger=booked(frame.iloc[:16]))
    assert held(plan) == dict.fromkeys(frame["id"][:16], "already_booked")
    told = [json.loads(facts)["voucher"] for facts in plan.not_ready.sort_values("id")["facts"]]
    assert told == [f"V{number}" for number in range(16)]
    assert sorted(plan.entries["id"]) == sorted(frame["id"][16:])
    assert "ledger_style" not in plan.unchecked


def test_a_free_posting_of_the_amount_waits_for_a_person(entries):
    """A posting of another text may be the entry's: it is named, until a person says that it is not."""
    frame = month(entries)
    other = booked(frame.iloc[[20]]).assign(text="Lastschrift", voucher_id="H1")
    ledger = pd.concat([booked(frame.iloc[:16]), other], ignore_index=True)
    plan = compose_export_jobs(frame, ledger=ledger)
    assert held(plan)[frame["id"][20]] in ("maybe_booked", "already_booked")
    (facts,) = plan.not_ready.set_index("id").loc[[frame["id"][20]], "facts"]
    assert json.loads(facts)["voucher"] == "H1"
    waiting = [entry for entry, reason in held(plan).items() if reason == "maybe_booked"]
    again = compose_export_jobs(frame, ledger=ledger, not_booked=waiting)
    assert {*waiting} <= {*again.entries["id"]}


def test_a_ledger_that_shows_nothing_holds_nothing_back(entries):
    """A ledger whose way of booking is not known holds nothing back, and the plan names it."""
    frame = month(entries)
    strange = booked(frame.iloc[:3]).assign(account_code="999999")
    plan = compose_export_jobs(frame, ledger=strange)
    assert len(plan.entries) == COUNT
    assert "ledger_style" in plan.unchecked


def test_a_ledger_is_of_one_company(entries):
    """Entries of two companies are not asked of one ledger."""
    frame = month(entries)
    frame.loc[0, "company_id"] = OTHER_COMPANY
    with pytest.raises(ArgumentError, match=r"^ledger is of one company"):
        compose_export_jobs(frame, ledger=booked(frame))
