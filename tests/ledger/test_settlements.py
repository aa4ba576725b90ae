"""What a ledger says about batches in doubt, in each world of booked entries and by hand."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import pytest
from csv_worlds import NAMES, entries_of
from csv_worlds import ledger_of as ledger_of_world
from worlds import booking, exported, ledger

import bktools
from bktools.errors import ArgumentError
from bktools.ledger.settlements import Sending, settlements

EXPORTED = dt.date(2026, 12, 5)
ENDED = Sending(dt.datetime(2026, 10, 31, 19, tzinfo=dt.UTC))


def two_batches(*states):
    """Return entries in batches of six, sent one after the other, on the same accounts and month."""
    entries = exported(6 * len(states)).assign(
        batch_id=[f"batch{number // 6}" for number in range(6 * len(states))]
    )
    entries["state"] = [states[number // 6] for number in range(len(entries))]
    entries["sent_at"] = [
        pd.Timestamp(2026, 10, 20 + number // 6, tz="UTC") for number in range(len(entries))
    ]
    return entries


def ledger_of(entries, *numbers, sums=()):
    """Return a ledger with these entries singly, the other sums, and postings before and after."""
    rows = entries.to_dict("records")
    bank = [
        {"account_code": "1200", "description": "Bank", "date": pd.Timestamp(day)}
        for day in ("2026-08-01", "2026-10-15", "2026-12-01")
    ]
    postings = [line for number in numbers for line in booking(number, rows[number])]
    postings += [line for number, row in enumerate(bank) for line in booking(90 + number, row, amount=5)]
    for number, (account, day, amount) in enumerate(sums):
        row = {"account_code": account, "description": "Sum", "date": pd.Timestamp(day)}
        postings += booking(80 + number, row, amount=amount)
    return ledger(postings)


def of_batch1(entries, postings, sending=ENDED, exported_at=EXPORTED, **options):
    postings.attrs["bktools"] = {"exported_at": f"{exported_at}"}
    (found,) = settlements(entries, postings, {"batch1": sending}, **options)
    return found


def in_two_batches(name):
    """Return a world's entries, those of the last days in doubt, with its ledger and their vouchers."""
    entries, postings = entries_of(name).drop(columns="expected"), ledger_of_world(name)
    days = sorted({*entries["date"]})
    is_late = entries["date"] >= days[2 * len(days) // 3]
    entries["batch_id"] = is_late.map({True: "batch1", False: "batch0"})
    entries["state"] = is_late.map({True: "UNKNOWN", False: "ACCEPTED"})
    booked = bktools.match_ledger(entries, postings).postings
    of_late = booked["entry_id"].isin(entries["entry_id"][is_late])
    return entries, postings, [*booked["voucher_id"][of_late].unique()]


def outcome_without(entries, postings, vouchers):
    left = postings[~postings["voucher_id"].isin(vouchers)]
    return of_batch1(entries, left, ENDED, dt.date(2027, 12, 31)).outcome


def test_no_proposal_books_twice_or_loses_entries():
    """Of each world's batch: booked it is never released, absent never accepted, in part neither."""
    outcomes = []
    for name in NAMES:
        is_booked = {*entries_of(name)["expected"]} <= {"booked", "in_a_sum", "booked or in_a_sum"}
        if is_booked and "voucher_id" in ledger_of_world(name):
            entries, postings, vouchers = in_two_batches(name)
            if len(vouchers) > 1:
                parts = ([], vouchers, vouchers[::2])
                outcomes.append([outcome_without(entries, postings, part) for part in parts])
    booked, absent, in_part = zip(*outcomes, strict=True)
    assert {*booked} <= {"accepted", None}
    assert {*absent} <= {"released", None}
    assert {*in_part} == {None}
    assert booked.count("accepted") > 8
    assert absent.count("released") > 8


def test_one_of_two_fits():
    """With an accepted batch in the ledger, the doubtful batch is accepted if there, else released."""
    entries = two_batches("ACCEPTED", "UNKNOWN")
    assert of_batch1(entries, ledger_of(entries, *range(12))).outcome == "accepted"
    assert of_batch1(entries, ledger_of(entries, *range(6))).outcome == "released"


def test_nothing_is_released_without_an_accepted_batch_in_the_ledger():
    """Where no batch is known to be booked, an absence proves nothing."""
    entries = two_batches("REJECTED", "UNKNOWN")
    found = of_batch1(entries, ledger_of(entries))
    assert found.outcome is None
    assert found.reason == "no_earlier_batch"


def test_an_answer_that_may_be_elsewhere_decides_nothing():
    """While an answer may exist that the journal does not have, no outcome is proposed."""
    entries = two_batches("ACCEPTED", "UNKNOWN")
    for count in (6, 12):
        found = of_batch1(
            entries, ledger_of(entries, *range(count)), Sending(ENDED.ends_at, "an answer may be on laptop")
        )
        assert (found.outcome, found.text) == (None, "an answer may be on laptop")


def test_two_batches_in_doubt_are_judged_both_ways():
    """A batch is accepted whatever became of the other one, and not decided where that makes a difference."""
    entries = two_batches("ACCEPTED", "UNKNOWN", "UNKNOWN")
    assert of_batch1(entries, ledger_of(entries, *range(18))).outcome == "accepted"
    same, facts = entries.copy(), ["date", "amount", "account_code", "description"]
    same.loc[12:, facts] = entries.loc[6:11, facts].to_numpy()
    assert of_batch1(same, ledger_of(same, *range(12))).outcome is None


def test_nothing_is_released_before_the_job_has_ended():
    """While the job may run, and for a ledger of before its end; what is booked as a whole is accepted."""
    entries = two_batches("ACCEPTED", "UNKNOWN")
    running = Sending(dt.datetime(2026, 12, 5, 23, 59, 59, 999_999, tzinfo=dt.UTC) + dt.timedelta(hours=1))
    assert of_batch1(entries, ledger_of(entries, *range(6)), running).reason == "not_ended"
    assert of_batch1(entries, ledger_of(entries, *range(12)), running).outcome == "accepted"
    in_part = of_batch1(entries, ledger_of(entries, *range(10)), running)
    assert (in_part.reason, in_part.facts["booked"], len(in_part.facts["unproven"])) == ("not_ended", 4, 2)
    assert "Proven to be booked by now: 4; not proven, and to be looked at: 2026-" in in_part.text
    early = of_batch1(entries, ledger_of(entries, *range(6)), exported_at=dt.date(2026, 11, 3))
    assert (early.outcome, early.reason) == (None, "ends_early")


def test_an_accrual_that_is_taken_back_is_no_booking():
    """Sums that are posted at the end of the month and reversed on the next day prove nothing."""
    entries = two_batches("ACCEPTED", "UNKNOWN")
    totals = entries.tail(6).groupby("account_code")["amount"].sum()
    accrued = [(account, "2026-10-31", total) for account, total in totals.items()]
    reversed_ = [(account, "2026-11-01", -total) for account, total in totals.items()]
    found = of_batch1(entries, ledger_of(entries, *range(6), sums=[*accrued, *reversed_]))
    assert found.outcome != "accepted"


def test_another_currency_proves_nothing():
    """Numbers that agree in a ledger of another currency are no proof: the ledger shows no entry of it."""
    entries = two_batches("ACCEPTED", "UNKNOWN")
    entries.loc[6:, "currency"] = "DKK"
    postings = ledger_of(entries, *range(12)).drop(columns="currency")
    assert of_batch1(entries, postings).outcome is None


@pytest.mark.parametrize("booked", [6, 12])
def test_a_sum_of_two_batches_decides_nothing(booked):
    """Sums of a month that hold an accepted batch, alone or with another one, decide nothing."""
    entries = two_batches("ACCEPTED", "UNKNOWN")
    totals = entries.head(booked).groupby("account_code")["amount"].sum()
    sums = [(account, "2026-10-31", total) for account, total in totals.items()]
    assert of_batch1(entries, ledger_of(entries, sums=sums)).outcome is None


def test_entries_that_sum_up_to_zero_are_in_no_sum_for_certain():
    """A sum with two entries that cancel out is that without them: nothing is released."""
    entries = two_batches("ACCEPTED", "UNKNOWN").head(8)
    entries.loc[7, "amount"] = -entries.loc[6, "amount"]
    entries.loc[7, ["date", "account_code"]] = entries.loc[6, ["date", "account_code"]].to_numpy()
    found = of_batch1(entries, ledger_of(entries, *range(6)))
    assert found.outcome is None


def test_what_a_person_explained_is_evidence():
    """A posting on the batch's account needs an explanation; an absent voucher is refused."""
    entries = two_batches("ACCEPTED", "UNKNOWN")
    postings = ledger_of(entries, *range(6), sums=[("5800", "2026-10-30", 333)])
    found = of_batch1(entries, postings)
    assert found.outcome is None
    assert [posting.split(", ")[:4] for posting in found.postings] == [
        ["2026-10-30", "5800 Travel", "EUR 333.00", "voucher A 80"]
    ]
    found = of_batch1(entries, postings, explained=["A 80"])
    assert found.outcome == "released"
    assert found.text.endswith("explained by hand: A 80")
    with pytest.raises(ArgumentError, match="explained must name a voucher"):
        of_batch1(entries, postings, explained=["A 99"])
