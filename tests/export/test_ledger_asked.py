"""A ledger is asked before sending: what it holds is not sent, and it frees only what it proves to lack."""

from __future__ import annotations

import json
from decimal import Decimal

import pandas as pd
import pytest
from hand_made import OTHER, entries_of, entry_id

from bktools import compose_export_jobs
from bktools.errors import ArgumentError
from bktools.wording import reader


def of_month(month: int, count: int, account: str | None = "490000") -> pd.DataFrame:
    """Return entries of a month, one a day, with amounts that no other entries add up to."""
    return entries_of(
        count,
        id=[entry_id(1000 * month + day) for day in range(count)],
        date=pd.to_datetime([f"2026-{month:02}-{1 + day:02}" for day in range(count)]),
        amount=[Decimal(10_000 * month + 7 * day * day) / 100 for day in range(count)],
        supplier=[f"Supplier {month}-{day}" for day in range(count)],
        account_code=account,
    )


def both_sides(rows: pd.DataFrame) -> pd.DataFrame:
    """Return postings of a cost account, and their opposite on the bank's."""
    bank = rows.assign(amount=[-amount for amount in rows["amount"]], account_code="160000")
    return pd.concat([rows.assign(account_code="490000"), bank], ignore_index=True)


def one_by_one(entries: pd.DataFrame, days_later: int = 0) -> pd.DataFrame:
    """Return a ledger with a voucher for each entry."""
    rows = entries[["amount", "currency"]].assign(date=entries["date"] + pd.Timedelta(days=days_later))
    return both_sides(rows.assign(text=entries["supplier"], voucher_id=entries["id"]))


def by_month(entries: pd.DataFrame) -> pd.DataFrame:
    """Return a ledger with one sum for each month."""
    sums = entries.groupby(entries["date"].dt.to_period("M"))["amount"].sum()
    days = [month.to_timestamp(how="end").normalize() for month in sums.index]
    return both_sides(pd.DataFrame({"date": days, "amount": [*sums], "currency": "EUR", "text": "Expenses"}))


OCTOBER = of_month(10, 24)


def test_what_the_books_hold_is_not_sent(monkeypatch):
    """A proven entry is held back with its voucher; a free posting of the amount waits for a person."""
    monkeypatch.setattr(reader, "language", "de")
    other = one_by_one(OCTOBER.iloc[[20]]).assign(text="Lastschrift", voucher_id="H1")
    ledger = pd.concat([one_by_one(OCTOBER.iloc[:16]), other], ignore_index=True)
    plan = compose_export_jobs(OCTOBER, ledger=ledger)
    held = plan.not_ready.set_index("id")
    places = {entry: json.loads(facts)["voucher"].split(", ") for entry, facts in held["facts"].items()}
    assert {*held["reason"].loc[OCTOBER["id"][:16]]} == {"already_booked"}
    vouchers = {entry: entry for entry in OCTOBER["id"][:16]} | {OCTOBER["id"][20]: "H1"}
    assert all({vouchers[entry], ".10.2026"} <= {*place, place[0][2:]} for entry, place in places.items())
    assert "ledger_style" not in plan.unchecked
    waiting = held.index[held["reason"] == "maybe_booked"].to_list()
    assert waiting == [OCTOBER["id"][20]]
    again = compose_export_jobs(OCTOBER, ledger=ledger, not_booked=waiting)
    assert sorted(again.entries["id"]) == sorted(OCTOBER["id"][16:])


def test_a_split_entry_of_which_one_line_is_proven():
    """It is not in the books as a whole: a person looks at its proven line, and both lines wait."""
    split = OCTOBER.assign(split_line=[*[0] * 14, 1, 2, *[0] * 8])
    one = [name for name in split if name not in ("split_line", "amount")]
    split.loc[15, one] = split.loc[14, one]
    held = compose_export_jobs(split, ledger=one_by_one(OCTOBER.iloc[:15])).not_ready
    own = held[held["id"] == OCTOBER["id"][14]]
    assert sorted(own["reason"]) == ["maybe_booked", "other_line_not_ready"]


def test_a_posting_with_its_own_number_holds_an_entry_back():
    """With another amount, or where the ledger shows no style, a person looks at it before it is sent."""
    entries = OCTOBER.assign(document_number=[f"INV-{1500 + row}" for row in range(len(OCTOBER))])
    by_hand = entries.iloc[[20]].assign(amount=[Decimal("3.10")], supplier="Card INV-1520", id="H1")
    for shown in (16, 0):
        ledger = pd.concat([one_by_one(entries.iloc[:shown]), one_by_one(by_hand)], ignore_index=True)
        held = compose_export_jobs(entries, ledger=ledger).not_ready.set_index("id")["reason"]
        assert held.index[held == "maybe_booked"].to_list() == [entries["id"][20]]


def test_other_charges_of_a_supplier_hold_nothing_back():
    """They are of other entries; one whose amount no entry has waits, if it is of the entry's days."""
    entries = OCTOBER.assign(supplier="Taxi", description=[f"Ride {row}" for row in range(len(OCTOBER))])
    november = of_month(11, 12).assign(supplier="Taxi")
    booked = one_by_one(pd.concat([entries.iloc[:6], november]))
    plan = compose_export_jobs(entries, ledger=booked)
    assert sorted(plan.entries["id"]) == sorted(entries["id"][6:])
    slip = entries.iloc[[12]].assign(amount=[Decimal("3.10")], id="H1")
    held = compose_export_jobs(entries, ledger=pd.concat([booked, one_by_one(slip)])).not_ready
    assert {*held.loc[held["reason"] == "maybe_booked", "id"]} >= {entries["id"][12]}


@pytest.mark.parametrize("factor", [1, 10**8])
def test_amounts_of_any_size_are_held(factor):
    """A refund of a hundred thousand millions is met in the books as a small one is."""
    entries = OCTOBER.assign(amount=[-round(one) * factor for one in OCTOBER["amount"]], currency="VND")
    plan = compose_export_jobs(entries, ledger=one_by_one(entries.iloc[:16]))
    held = plan.not_ready.set_index("id")["reason"]
    assert {*held[held == "already_booked"].index} == {*OCTOBER["id"][:16]}
    assert sorted(plan.entries["id"]) == sorted(OCTOBER["id"][16:])


def test_sent_entries_with_more_decimals_change_nothing():
    """One of three decimals among those that were sent leaves the others comparable."""
    sent = of_month(9, 24)
    history = sent.rename(columns={"id": "entry_id"}).assign(state="ACCEPTED", batch_id="1", period="2026-09")
    dinar = history.iloc[[0]].assign(entry_id=entry_id(1), amount=[Decimal("1.234")], currency="KWD")
    ledger = one_by_one(sent)
    for before in (history, pd.concat([history, dinar], ignore_index=True)):
        plan = compose_export_jobs(OCTOBER, history=before, ledger=ledger)
        assert (len(plan.entries), "ledger_style" in plan.unchecked) == (len(OCTOBER), False)


def test_a_ledger_that_shows_nothing_holds_nothing_back():
    """A ledger whose way of booking is not known is named; entries of two companies are not asked of one."""
    others = one_by_one(OCTOBER.iloc[:3].assign(amount=[Decimal(1), Decimal(2), Decimal(3)])).assign(
        text="Rent"
    )
    plan = compose_export_jobs(OCTOBER, ledger=others)
    assert (len(plan.entries), "ledger_style" in plan.unchecked) == (len(OCTOBER), True)
    # One of other accounts cannot be compared at all.
    plan = compose_export_jobs(OCTOBER, ledger=others.assign(account_code="999999"))
    assert {*plan.unchecked} & {"ledger_style", "ledger_accounts"} == {"ledger_accounts"}
    of_two = OCTOBER.assign(company_id=[OTHER, *OCTOBER["company_id"][1:]])
    with pytest.raises(ArgumentError, match=r"^ledger is of one company"):
        compose_export_jobs(of_two, ledger=one_by_one(OCTOBER))


# After a restore, a ledger frees the entries of which it proves that they are not booked.

SENT = pd.concat([of_month(9, 24), OCTOBER], ignore_index=True)
WAITING = of_month(11, 12)
UNKNOWN = WAITING[:5].assign(account_code=["490000"] * 3 + [None] * 2)
AHEAD = both_sides(one_by_one(of_month(12, 1)).iloc[:1].assign(date=pd.Timestamp("2026-12-24")))
AHEAD = AHEAD.assign(account_code="700000")


def lacking(sent, waiting, ledger, until: str = "2026-11-15", exported: str = "2026-11-16") -> list[str]:
    """Return the waiting entries that a ledger lacks after earlier ones were sent; it ends with the rent."""
    months = sent["date"].dt.strftime("%Y-%m")
    history = sent.rename(columns={"id": "entry_id"}).assign(state="ACCEPTED", batch_id=months, period=months)
    rent = pd.DataFrame({"date": [pd.Timestamp(until)], "amount": [Decimal("7.77")], "currency": "EUR"})
    rent = both_sides(rent.assign(text="Rent", voucher_id="rent")).replace("490000", "700000")
    rent = rent if "voucher_id" in ledger else rent.drop(columns="voucher_id")
    books = pd.concat([ledger, rent], ignore_index=True)
    # A ledger that is exported on its last day, or on the one after the restore.
    books.attrs["bktools"] = {"source": "books.se", "sha256": "0", "exported_at": max(exported, until)}
    return sorted(compose_export_jobs(waiting, history=history, ledger=books).books["lacks"])


@pytest.mark.parametrize(
    ("waiting", "ledger", "count"),
    [
        (WAITING[:5], one_by_one(SENT), 5),
        (UNKNOWN, one_by_one(SENT), 3),
        (WAITING, one_by_one(SENT, days_later=10), 5),
        (WAITING, pd.concat([one_by_one(SENT, days_later=10), AHEAD]), 6),
    ],
    ids=["one by one", "without an account", "booked ten days later", "postings dated ahead"],
)
def test_a_ledger_lacks_what_it_would_have(waiting, ledger, count):
    """Entries that the books would have by the day of the ledger's export are missing: they are sent."""
    assert lacking(SENT, waiting, ledger) == sorted(waiting["id"][:count])


def test_a_sum_that_follows_may_hold_them():
    """Where months are booked as sums, entries wait until their month is over."""
    sent, waiting = pd.concat([of_month(month, 24) for month in range(5, 11)]), WAITING[:5]
    assert lacking(sent, waiting, by_month(sent)) == []
    assert lacking(sent, waiting, by_month(sent), until="2026-12-08") == sorted(waiting["id"])
