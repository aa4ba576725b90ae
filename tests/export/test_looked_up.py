"""A ledger frees only entries of which it proves that they are not booked."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from decimal import Decimal

import pandas as pd
import pytest

import bktools
from bktools.errors import PlanError
from bktools.export.looked_up import looked_up

COMPANY = "123e4567-e89b-42d3-a456-426614174000"
SINCE, EXPORTED = "2026-11-15", dt.date(2026, 11, 16)


def entries_of(month: int, count: int, account: str | None = "490000") -> pd.DataFrame:
    """Return entries of a month, one a day."""
    return pd.DataFrame(
        {
            "id": [str(uuid.UUID(int=1000 * month + day)) for day in range(count)],
            "company_id": COMPANY,
            "date": pd.to_datetime([f"2026-{month:02}-{1 + day:02}" for day in range(count)]),
            "amount": [Decimal(10_000 * month + 7 * day * day) / 100 for day in range(count)],
            "currency": "EUR",
            "account_code": account,
            "supplier": [f"Supplier {month}-{day}" for day in range(count)],
        }
    )


def by_month(entries: pd.DataFrame) -> pd.DataFrame:
    """Return a ledger with one sum for each month."""
    sums = entries.groupby(entries["date"].dt.to_period("M"))["amount"].sum()
    days = [month.to_timestamp(how="end").normalize() for month in sums.index]
    sides = [
        pd.DataFrame({"date": days, "amount": [sign * money for money in sums], "account_code": code})
        for code, sign in (("490000", 1), ("160000", -1))
    ]
    return pd.concat(sides, ignore_index=True).assign(currency="EUR", text="Expenses")


def one_by_one(entries: pd.DataFrame, days_later: int = 0) -> pd.DataFrame:
    """Return a ledger with a posting for each entry."""
    sides = [
        pd.DataFrame({"date": entries["date"] + pd.Timedelta(days=days_later)}).assign(
            amount=[sign * money for money in entries["amount"]],
            account_code=code,
            currency="EUR",
            text=entries["supplier"],
            voucher_id=entries["id"],
        )
        for code, sign in (("490000", 1), ("160000", -1))
    ]
    return pd.concat(sides, ignore_index=True)


def freed(
    sent: pd.DataFrame, waiting: pd.DataFrame, ledger: pd.DataFrame, until: str = "2026-11-15"
) -> list[str]:
    """Return the waiting entries that a ledger frees after earlier ones were sent; it ends with the rent."""
    months = sent["date"].dt.strftime("%Y-%m")
    history = sent.rename(columns={"id": "entry_id"}).assign(state="ACCEPTED", batch_id=months, period=months)
    rent = pd.DataFrame({"date": pd.to_datetime([until] * 2), "account_code": ["700000", "160000"]})
    rent = rent.assign(amount=[Decimal("7.77"), Decimal("-7.77")], currency="EUR", text="Rent")
    rent = rent.assign(voucher_id="rent") if "voucher_id" in ledger else rent
    books = pd.concat([ledger, rent], ignore_index=True)
    # A ledger that is exported on its last day, or on the one after the restore.
    exported_at = max(EXPORTED, rent["date"][0].date()).isoformat()
    books.attrs["bktools"] = {"source": "books.se", "sha256": "0", "exported_at": exported_at}
    plan = bktools.compose_export_jobs(waiting, history=history, ledger=books)
    return sorted(looked_up(plan, COMPANY, SINCE).entries)


SENT = pd.concat([entries_of(9, 24), entries_of(10, 24)], ignore_index=True)
WAITING = entries_of(11, 5)


def test_entries_are_freed_where_each_has_a_posting():
    """Where entries are booked one by one, the ones without a posting are missing: they are sent again."""
    assert freed(SENT, WAITING, one_by_one(SENT)) == sorted(WAITING["id"])


def test_a_sum_that_follows_may_hold_them():
    """Where months are booked as sums, entries wait until their month is over, as the message says."""
    sent = pd.concat([entries_of(month, 24) for month in range(5, 11)], ignore_index=True)
    with pytest.raises(PlanError, match=r"with a ledger that reaches (2026-12-0\d|2026-11-30)") as refused:
        freed(sent, WAITING, by_month(sent))
    (day,) = re.findall(r"reaches ([\d-]+)", str(refused.value))
    assert freed(sent, WAITING, by_month(sent), until=day) == sorted(WAITING["id"])


def test_what_is_booked_later_may_follow():
    """Where entries are booked ten days later, those of the last ten days wait."""
    ledger = one_by_one(SENT, days_later=10)
    waiting = entries_of(11, 12)
    assert freed(SENT, waiting, ledger) == sorted(waiting["id"][:5])


def test_postings_that_are_dated_ahead_show_nothing():
    """A ledger reaches no further than the day of its export, whatever is dated after it."""
    plan_until = one_by_one(SENT, days_later=10)
    ahead = pd.concat([plan_until, one_by_one(entries_of(12, 1)).assign(account_code="700000")])
    waiting = entries_of(11, 12)
    assert freed(SENT, waiting, ahead) == sorted(waiting["id"][:6])


def test_entries_without_an_account_wait():
    """Of an entry without an account no ledger shows that it is missing."""
    unknown = entries_of(12, 2, account=None).assign(date=pd.to_datetime(["2026-11-04", "2026-11-05"]))
    waiting = pd.concat([WAITING[:3], unknown], ignore_index=True)
    assert freed(SENT, waiting, one_by_one(SENT)) == sorted(WAITING["id"][:3])
